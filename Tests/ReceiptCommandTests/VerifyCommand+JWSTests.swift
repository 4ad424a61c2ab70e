import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import receipt

@Suite struct VerifyCommandJWSTests {
    private let authority: TestCertificateAuthority
    private let folder: TemporaryFolder
    private let root: String

    init() throws {
        authority = try Minted.ellipticAuthority
        folder = try TemporaryFolder()
        root = try folder.write("root.der", authority.root.certificate)
    }

    private var transaction: JWSBuilder { Minted.transaction }

    private func file(_ builder: JWSBuilder) throws -> String {
        try folder.write("\(UUID().uuidString).jws", builder.signed(by: authority) + "\n")
    }

    private var notification: JWSBuilder {
        get throws {
            try .notification(
                .didRenew, subtype: .billingRecovery, bundleID: "com.example.app",
                transaction: transaction.signed(by: authority),
                renewalInfo: JWSBuilder.renewalInfo(productID: "pro", originalTransactionID: "1000")
                    .signed(by: authority))
        }
    }

    @Test func `a transaction is shown with Apple's names and readable dates`() throws {
        let file = try file(transaction)
        let result = run("verify", "--root", root, "--bundle-id", "com.example.app", file)
        #expect(result.status == 0 && result.errorOutput.isEmpty)
        #expect(result.output.hasPrefix("VERIFIED  \(file), transaction signed under the given root\n"))
        for line in ["productId", "pro"].map({ "  " + $0 }) { #expect(result.output.contains(line)) }
        #expect(result.lines.contains { $0.hasPrefix("  signedDate ") && $0.hasSuffix(" 2025-06-15 12:00:00 UTC") })
        #expect(result.lines.contains { $0.hasPrefix("  price ") && $0.hasSuffix(" 1990") })
        #expect(result.output.contains("Not checked: environment (--environment).\n"))
    }

    @Test func `a notification is shown with its verified parts`() throws {
        let file = try file(notification)
        let text = run("verify", "--root", root, file)
        #expect(text.status == 0)
        #expect(text.output.hasPrefix("VERIFIED  \(file), notification signed under the given root\n"))
        #expect(text.output.contains("\n\n  transaction\n") && text.output.contains("\n\n  renewal information\n"))
        #expect(text.lines.contains { $0.hasPrefix("  data.bundleId ") && $0.hasSuffix(" com.example.app") })
        #expect(!text.output.contains("signedTransactionInfo"))

        let object = try #require(run("verify", "--root", root, "--format", "json", file).objects().first)
        #expect(object["verified"] as? Bool == true)
        #expect((object["trust"] as? NSDictionary)?["authority"] as? String == "custom-root")
        let notification = try #require(object["notification"] as? NSDictionary)
        #expect(notification["subtype"] as? String == "BILLING_RECOVERY")
        #expect(notification["signedDate"] as? String == "2025-06-15T12:00:00Z")
        #expect((notification["data"] as? NSDictionary)?.allKeys.count == 4)
        #expect((object["transaction"] as? NSDictionary)?["transactionId"] as? String == "1000")
        #expect((object["renewal_info"] as? NSDictionary)?["autoRenewStatus"] as? Int == 1)
    }

    @Test func `every kind has its name in JSON, and is one line`() throws {
        let builders: [(String, JWSBuilder)] = [
            ("transaction", transaction), ("renewal_info", .renewalInfo(productID: "pro", originalTransactionID: "1")),
            ("app_transaction", .appTransaction(bundleID: "com.example.app")),
            ("notification", .notification(.test, bundleID: "com.example.app")),
            ("realtime_request", .realtimeRequest(productID: "pro", originalTransactionID: "1")),
        ]
        for (name, builder) in builders {
            var builder = builder
            builder.payload["new"] = .raw("{ \"a \\\" b\" :\n[ 1, 2.50 ,null] }")
            builder.payload["signedDate2"] = .null
            let result = run(
                "verify", "--format=json", "--root", root, "--app-apple-id", "1234567890", try file(builder))
            #expect(result.status == 0 && result.lines.count == 1)
            #expect(try result.objects().first?[name] is NSDictionary)
            #expect(result.output.contains(#""new":{"a \" b":[1,2.50,null]}"#))
        }
    }

    @Test func `nested objects of a transaction are shown field by field`() throws {
        var builder = transaction
        builder.payload["commitmentInfo"] = ["commitmentPrice": 990, "commitmentExpiresDate": 1_749_988_800_000]
        builder.payload["advancedCommerceInfo"] = [
            "items": [["SKU": "a"], ["SKU": "b", "revocationDate": 1_749_988_800_000]]
        ]
        let file = try file(builder)
        let text = run("verify", "--root", root, file)
        #expect(text.lines.contains { $0.hasPrefix("  commitmentInfo.commitmentExpiresDate ") && $0.hasSuffix(" UTC") })
        #expect(text.lines.contains { $0.hasPrefix("  advancedCommerceInfo.items[1].SKU ") && $0.hasSuffix(" b") })
        let object = try run("verify", "--root", root, "--format", "json", file).objects().first?["transaction"]
        let items = ((object as? NSDictionary)?["advancedCommerceInfo"] as? NSDictionary)?["items"] as? [NSDictionary]
        #expect(items?.last?["revocationDate"] as? String == "2025-06-15T12:00:00Z")
    }

    @Test(arguments: [
        (["--bundle-id", "com.example.other"], "bundle-id-mismatch", "policy"),
        (["--environment", "sandbox"], "environment-mismatch", "policy"),
        (["--at", "2050-01-01T00:00:00Z"], "certificate-expired", "chain"),
    ])
    func `what is not wanted is refused with its own code`(_ options: [String], _ code: String, _ stage: String) throws
    {
        let file = try file(transaction)
        let result = run(["verify", "--root", root] + options + [file])
        #expect(result.status == 1 && result.output.hasPrefix("REFUSED  \(file): \(code)\n"))
        let json = try run(["verify", "--format=json", "--root", root] + options + [file]).objects()
        let error = try #require(json.first?["error"] as? NSDictionary)
        #expect(error["code"] as? String == code && error["stage"] as? String == stage)
    }

    @Test func `a fault is placed in the part and in what it is a fault of`() throws {
        let stranger = try Minted.ellipticStranger
        let forged = try file(
            .notification(.refund, bundleID: "com.example.app", transaction: transaction.signed(by: stranger)))
        let text = run("verify", "--root", root, forged)
        #expect(text.status == 1 && text.output.contains(": untrusted-chain\n"))
        #expect(text.output.contains("\n  at byte 0 of the certificates, in signedTransactionInfo\n"))
        let object = try #require(run("verify", "--root", root, "--format=json", forged).objects().first)
        let error = try #require(object["error"] as? NSDictionary)
        #expect(error["part"] as? String == "signedTransactionInfo" && error["offset_in"] as? String == "certificates")

        #expect(run("verify", forged).output.contains(": untrusted-chain\n"))
        #expect(run("verify", try folder.write("cut.jws", "eyJ")).output.contains(": part-count\n"))
    }

    @Test func `the app's Apple id is a number, and checked`() throws {
        let request = try file(.realtimeRequest(productID: "pro", originalTransactionID: "1"))
        let wrong = run("verify", "--root", root, "--app-apple-id", "1", request)
        #expect(wrong.status == 1 && wrong.output.contains(": app-apple-id-mismatch\n"))
        for text in ["0", "-1", "x"] {
            let result = run("verify", "--app-apple-id=" + text, request)
            #expect(result.status == 2 && result.errorOutput.hasPrefix("receipt: --app-apple-id cannot be"))
        }
        // Without a bundle id in the request, that of the command line cannot be checked but by the Apple id: no fault
        // of the input.
        #expect(run("verify", "--root", root, "--bundle-id", "com.example.app", request).status == 2)
    }

    @Test func `receipts and StoreKit 2 data are verified side by side, each under its root`() throws {
        let receipts = try Minted.authority
        let receipt = try folder.write(
            "receipt.der", try ReceiptBuilder(bundleID: "com.example.app").signed(by: receipts))
        let other = try folder.write("other.der", receipts.root.certificate)
        let file = try file(transaction)
        let result = run("verify", "--root", root, "--root", other, receipt, file)
        #expect(result.status == 0)
        #expect(run("verify", "--root", other, receipt, file).status == 1)
        #expect(run("verify", "--root", root, receipt, file).status == 1)
    }

    @Test func `Xcode's data is verified with its certificate, and says that it authenticates nobody`() throws {
        var specification = StoreKitTestingSigner.specification
        specification.keyKind = .p256
        let signer = try StoreKitTestingSigner(specification)
        let certificate = try folder.write("xcode.der", signer.identity.certificate)
        for environment in ["Xcode", "LocalTesting"] {
            var builder = transaction
            builder.payload["environment"] = .string(environment)
            let file = try folder.write("xcode.jws", try builder.signed(by: signer))
            let result = run("verify", "--xcode-root", certificate, file)
            #expect(result.status == 0 && result.output.contains("which authenticates nobody"))
            #expect(run("verify", file).output.contains(": certificate-count\n"))
        }
    }

    @Test func `what a stranger wrote in signed data cannot drive a terminal`() throws {
        var builder = transaction
        builder.payload["productId"] = "pro\u{9B}31m"
        builder.payload.append("\u{202E}name", "\u{1B}[2J")
        let result = run("verify", "--root", root, try file(builder))
        #expect(result.status == 0 && result.output.contains("pro\\u{9B}31m"))
        #expect(!result.output.unicodeScalars.contains { "\u{1B}\u{9B}\u{202E}".unicodeScalars.contains($0) })
    }
}
