import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import receipt

@Suite struct VerifyCommandTests {
    private let authority: TestCertificateAuthority
    private let folder: TemporaryFolder
    private let root: String
    private let receipt: String

    init() throws {
        authority = try Minted.authority
        folder = try TemporaryFolder()
        root = try folder.write("root.der", authority.root.certificate)
        let builder = ReceiptBuilder(
            bundleID: "com.example.app",
            purchases: [
                .nonConsumable("com.example.app.pro", transactionID: "1000"),
                .consumable("com.example.app.coins", transactionID: "1001", quantity: 3),
            ])
        receipt = try folder.write("receipt.der", try builder.signed(by: authority))
    }

    @Test func `a verified receipt is shown with its purchases, and with what was not checked`() throws {
        let result = run("verify", "--root", root, receipt)
        #expect(result.status == 0 && result.errorOutput.isEmpty)
        #expect(result.output.hasPrefix("VERIFIED  \(receipt), signed under the given root\n"))
        #expect(result.output.contains("  Bundle id          com.example.app\n"))
        #expect(result.output.contains("  Created            2025-06-15 12:00:00 UTC\n"))
        #expect(result.output.contains("  2 purchases\n"))
        #expect(result.lines.contains { $0.hasPrefix("  PRODUCT") && $0.contains("PURCHASED (UTC)") })
        #expect(result.lines.contains { $0.contains("com.example.app.pro ") && $0.contains(" 1000 ") })
        #expect(result.lines.contains { $0.contains("com.example.app.coins ") && $0.contains(" 3 ") })
        #expect(result.output.contains("Not checked: bundle id (--bundle-id), environment (--environment).\n"))
        #expect(result.output.contains("or who sent it.\n"))
        #expect(!result.output.contains("\u{1B}"))
    }

    @Test func `what is checked is not said to be unchecked`() {
        let result = run(
            "verify", "--root", root, "--bundle-id", "com.example.app", "--environment=production", "--environment",
            "sandbox", receipt)
        #expect(result.status == 0)
        #expect(!result.output.contains("Not checked"))
    }

    @Test(arguments: [
        ([], 0), (["--environment", "production"], 0), (["--environment", "sandbox"], 21008),
        (["--environment", "sandbox", "--environment", "production"], 0),
        (["--bundle-id", "com.example.other"], 21003),
    ])
    func `verifyReceipt's answer is printed for each input, whatever its form`(options: [String], status: Int) throws {
        let base64 = Data(try Data(contentsOf: URL(filePath: receipt))).base64EncodedString()
        let text = try folder.write("text", base64)
        let request = try folder.write("request", "{\"receipt-data\":\"\(base64)\",\"password\":\"x\"}")
        let result = run(
            ["verify", "--root", root, "--format", "verify-receipt"] + options + [receipt, text, request])
        #expect(result.status == (status == 0 ? 0 : 1))
        let answers = try result.objects()
        #expect(answers.map { $0["status"] as? Int } == [status, status, status])
        for answer in answers where status == 0 {
            #expect(answer["environment"] as? String == "Production")
            let purchases = (answer["receipt"] as? NSDictionary)?["in_app"] as? [NSDictionary]
            #expect(purchases?.map { $0["transaction_id"] as? String } == ["1000", "1001"])
        }
    }

    @Test(arguments: [("", 21002), ("hello", 21002), ("{}", 21002), ("{", 21000), ("eyJ", 21002)])
    func `verifyReceipt's answer to what is no receipt is its status`(text: String, status: Int) throws {
        let result = run("verify", "--root", root, "--format", "verify-receipt", try folder.write("text", text))
        #expect(result.status == 1)
        #expect(result.output == "{\"status\":\(status)}\n")
    }

    @Test func `colour marks the verdict on a terminal`() {
        let result = run("verify", "--root", root, receipt, style: Style(isColored: true, width: 80))
        #expect(result.output.hasPrefix("\u{1B}[1;32mVERIFIED\u{1B}[0m"))
    }

    @Test func `JSON is one line for each input, in their order, whatever becomes of them`() throws {
        let tampered = try folder.write("tampered.der", Array(try Data(contentsOf: URL(filePath: receipt)).dropLast(9)))
        let result = run("verify", "--format", "json", "--root", root, receipt, tampered, "no/such/file", receipt)
        #expect(result.status == 2)
        #expect(result.errorOutput == "receipt: no/such/file: No such file or directory\n")
        let objects = try result.objects()
        #expect(objects.count == 4)
        #expect(objects.map { $0["file"] as? String } == [receipt, tampered, "no/such/file", receipt])
        #expect(objects.map { $0["verified"] as? Bool } == [true, false, false, true])
        let trust = try #require(objects[0]["trust"] as? NSDictionary)
        #expect(trust["authority"] as? String == "custom-root")
        #expect(trust["validated_at"] as? String == "2025-06-15T12:00:00Z")
        #expect(trust["note"] == nil)
        let purchases = (objects[0]["receipt"] as? NSDictionary)?["in_app"] as? [NSDictionary]
        #expect(purchases?.map { $0["transaction_id"] as? String } == ["1000", "1001"])
        let error = try #require(objects[1]["error"] as? NSDictionary)
        #expect(error["code"] as? String == "truncated")
        #expect(error["stage"] as? String == "container")
        #expect(error["offset"] as? Int == 0)
        #expect(error["offset_in"] as? String == "binary")
        #expect((objects[2]["error"] as? NSDictionary)?["code"] as? String == "unreadable-file")
    }

    @Test(arguments: [
        (["--bundle-id", "com.example.other"], "bundle-id-mismatch"),
        (["--environment", "sandbox"], "environment-mismatch"),
        (["--at", "2050-01-01T00:00:00Z"], "certificate-expired"),
        (["--at", "2001-01-01T00:00:00+01:00"], "certificate-not-yet-valid"),
    ])
    func `a receipt that is not wanted is refused with its own code`(options: [String], code: String) throws {
        let result = run(["verify", "--root", root] + options + [receipt])
        #expect(result.status == 1)
        #expect(result.output.hasPrefix("REFUSED  \(receipt): \(code)\n"))
        let json = try run(["verify", "--format=json", "--root", root] + options + [receipt]).objects()
        #expect((json.first?["error"] as? NSDictionary)?["code"] as? String == code)
    }

    @Test func `a refusal says what is wrong, what stands there, where, and what to do`() {
        let file = Project.url("TestVectors/receipts/cancellation-date-unreadable.der").path
        let root = Project.url("TestVectors/authority/root.der").path
        let lines = run("verify", "--root", root, file).output.split(separator: "\n").map(String.init)
        #expect(lines.count == 4, "\(lines)")
        #expect(lines.first == "REFUSED  \(file): invalid-time")
        #expect(lines.dropFirst().first?.hasPrefix("  a date or time is malformed or does not exist: \"") == true)
        #expect(lines.dropFirst(2).first?.hasSuffix(", in payload › in_app[0] › 1712 cancellation date") == true)
        #expect(lines.last?.contains("Keep the evidence") == true)
    }

    @Test(arguments: ["creation", "now", "2025-06-15T12:00:00Z"])
    func `the date of the verdict can be chosen`(date: String) {
        #expect(run("verify", "--root", root, "--at", date, receipt).status == 0)
    }

    @Test func `without a root of one's own, only Apple's counts`() {
        let result = run("verify", receipt)
        #expect(result.status == 1)
        #expect(result.output.contains(": untrusted-chain\n"))
    }

    @Test func `of a whole chain in a root file the root is trusted, and what is left out is told`() throws {
        let chain = authority.certificates.reversed().map { pem("CERTIFICATE", $0) }.joined()
        let file = try folder.write("fullchain.pem", chain)
        let result = run("verify", "--root", file, receipt)
        #expect(result.status == 0)
        #expect(result.errorOutput.contains("\(file): 2 of 3 certificates left out: not self-signed"))
        let intermediate = try folder.write("intermediate.der", authority.intermediate.certificate)
        let refused = run("verify", "--root", intermediate, receipt)
        #expect(refused.status == 2)
        #expect(refused.errorOutput.contains("certificate 1: a trust anchor is not self-signed"))
    }

    @Test func `a root file may be PEM with several certificates and text around them`() throws {
        let other = try authority.reissued(.init())
        let text =
            "Some words\r\n"
            + pem("CERTIFICATE", other.leaf.certificate)
            .replacingOccurrences(of: "\n", with: "\r\n") + "more\n"
            + pem("CERTIFICATE", authority.root.certificate) + pem("X509 CRL", [0x30, 0])
        let file = try folder.write("roots.pem", text)
        #expect(run("verify", "--root", file, receipt).status == 0)
        #expect(run("verify", "--root", root, "--root", file, receipt).status == 0)
    }

    @Test(arguments: [
        ("", "not a certificate"), ("hello", "not a certificate"),
        ("-----BEGIN CERTIFICATE-----\nMAA=\n", "a PEM block without an end at byte 0"),
        ("-----BEGIN CERTIFICATE-----\nM?A=\n-----END CERTIFICATE-----\n", "invalid base64 in a PEM block at byte 29"),
        (
            "-----BEGIN CERTIFICATE-----\nMAA=\n-----END X-----\n",
            "ends with another label than it began with at byte 42"
        ),
        ("-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n", "not a certificate"),
        ("-----BEGIN X-----\nMAA=\n-----END X-----\n", "no certificate among the PEM blocks"),
    ])
    func `a root file that has no certificate is unusable`(text: String, message: String) throws {
        let file = try folder.write("root.pem", text)
        for option in ["--root", "--xcode-root"] {
            let result = run("verify", option, file, receipt)
            #expect(result.status == 2 && result.output.isEmpty)
            #expect(result.errorOutput.hasPrefix("receipt: \(file): ") && result.errorOutput.contains(message))
        }
    }

    @Test func `StoreKit Testing is a trust of its own and says that it authenticates nobody`() throws {
        let signer = try Minted.storeKit
        let builder = ReceiptBuilder(bundleID: "com.example.app", environment: .xcode)
        let file = try folder.write("xcode.der", try builder.signed(by: signer))
        let certificate = try folder.write("xcode.pem", pem("CERTIFICATE", signer.identity.certificate))

        #expect(run("verify", file).output.contains(": untrusted-chain\n"))
        let text = run("verify", "--xcode-root", certificate, file)
        #expect(text.status == 0)
        #expect(text.output.contains("signed by StoreKit Testing, which authenticates nobody"))
        #expect(text.output.contains("Not checked: bundle id (--bundle-id).\n"))
        let trust = try run("verify", "--xcode-root", certificate, "--format", "json", file).objects()[0]["trust"]
        #expect((trust as? NSDictionary)?["authority"] as? String == "storekit-testing")
        #expect(((trust as? NSDictionary)?["note"] as? String)?.contains("authenticates nobody") == true)

        #expect(run("verify", "--xcode-root", certificate, receipt).status == 1)
    }

    @Test func `text forms are recognised, and a fault in them is placed in the text`() throws {
        let bytes = Array(try Data(contentsOf: URL(filePath: receipt)))
        let base64 = Data(bytes).base64EncodedString()
        for text in [base64, pem("PKCS7", bytes), #"{"receipt-data":"\#(base64)","password":"x"}"#] {
            #expect(run("verify", "--root", root, try folder.write("text", text)).status == 0)
        }
        let broken = run("verify", "--root", root, try folder.write("broken", "MIIB!" + base64))
        #expect(broken.status == 1)
        #expect(broken.output.contains("\n  at byte 4 of the text, in what looked like base64\n"))
        let json = try run("verify", "--format", "json", try folder.write("broken", "MIIB!")).objects()
        let error = json.first?["error"] as? NSDictionary
        #expect(error?["offset_in"] as? String == "text")
        #expect(error?["form"] as? String == "base64")
    }

    @Test func `what a stranger wrote cannot drive a terminal`() throws {
        var builder = ReceiptBuilder(
            bundleID: "com.example\u{1B}[2J",
            purchases: [.consumable("coins\u{9B}31m\nVERIFIED", transactionID: "\u{202E}1")])
        builder.applicationVersion = "1\r2"
        let file = try folder.write("evil\u{1B}[31m.der", try builder.signed(by: authority))
        for words in [["verify", "--root", root, file], ["decode", file], ["asn1", file]] {
            let result = run(words)
            #expect(result.status == 0)
            let isPlain = result.output.unicodeScalars.allSatisfy {
                $0 == "\n" || ($0.value >= 0x20 && !(0x7F...0x9F ~= $0.value) && $0 != "\u{202E}")
            }
            #expect(isPlain)
            #expect(result.output.contains("coins\\u{9B}31m\\u{A}VERIFIED"))
        }
    }
}
