import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import receipt

/// What `decode` and `asn1` show of a JWS.
@Suite struct DecodeCommandJWSTests {
    private let folder: TemporaryFolder
    private let authority: TestCertificateAuthority

    init() throws {
        folder = try TemporaryFolder()
        authority = try Minted.ellipticAuthority
    }

    private var transaction: JWSBuilder { Minted.transaction }

    private func file(_ builder: JWSBuilder) throws -> String {
        try folder.write("\(UUID().uuidString).jws", builder.signed(by: authority) + "\n")
    }

    @Test func `the header and the payload are shown, marked as unverified`() throws {
        let file = try file(transaction)
        let result = run("decode", file)
        #expect(result.status == 0 && result.errorOutput.isEmpty)
        #expect(result.output.hasPrefix("UNVERIFIED  \(file): anyone can have written this\n\n  header\n"))
        #expect(result.lines.contains { $0.hasPrefix("  alg ") && $0.hasSuffix(" ES256") })
        #expect(result.lines.count { $0.hasPrefix("  x5c[") } == 3)
        #expect(result.lines.contains { $0.hasPrefix("  x5c[2] ") && $0.contains("CN=Test Root CA") })
        #expect(result.output.contains("\n\n  transaction\n"))
        #expect(result.lines.contains { $0.hasPrefix("  signedDate ") && $0.hasSuffix(" 2025-06-15 12:00:00 UTC") })
        #expect(!result.output.contains("VERIFIED  \(file), ") && !result.output.contains("Trust anchor"))
    }

    @Test func `as JSON, the payload has the name of its kind, and no trust`() throws {
        let file = try file(transaction)
        let object = try #require(try run("decode", "--format", "json", file).objects().first)
        #expect(object["verified"] as? Bool == false && object["trust"] == nil)
        #expect((object["header"] as? NSDictionary)?["alg"] as? String == "ES256")
        #expect(((object["header"] as? NSDictionary)?["x5c"] as? [String])?.count == 3)
        let payload = try #require(object["transaction"] as? NSDictionary)
        #expect(payload["transactionId"] as? String == "1000")
        #expect(payload["signedDate"] as? String == "2025-06-15T12:00:00Z")
    }

    @Test func `the signed parts of a notification are shown, whoever sent it and in whichever form`() throws {
        let notification = try JWSBuilder.notification(
            .didRenew, bundleID: "com.example.app", transaction: transaction.signed(by: authority),
            renewalInfo: JWSBuilder.renewalInfo(productID: "pro", originalTransactionID: "1000").signed(by: authority))
        let file = try file(notification)
        let body = try folder.write("body.json", #"{"signedPayload":"\#(notification.signed(by: authority))"}"#)
        for file in [file, body] {
            let text = run("decode", file)
            #expect(text.status == 0)
            for part in ["notification", "transaction", "renewal information"] {
                #expect(text.output.contains("\n\n  \(part)\n"), "\(part)")
            }
            let object = try #require(run("decode", "--format", "json", file).objects().first)
            #expect((object["transaction"] as? NSDictionary)?["productId"] as? String == "pro")
            #expect((object["renewal_info"] as? NSDictionary)?["autoRenewStatus"] as? Int == 1)
        }
    }

    @Test func `a JWS of nobody and of no known kind is shown, too`() throws {
        let header = JWSBuilder.base64URL(Array(#"{"alg":"HS256","typ":"JWT","kid":"k"}"#.utf8))
        let payload = JWSBuilder.base64URL(Array(#"{"sub":"1","n":[1,2]}"#.utf8))
        let file = try folder.write("jwt", "\(header).\(payload).AAAA")
        let result = run("decode", file)
        #expect(result.status == 0 && result.output.contains("\n\n  payload of an unknown kind\n"))
        #expect(result.lines.contains { $0.hasPrefix("  alg ") && $0.hasSuffix(" HS256") })
        #expect(result.lines.contains { $0.hasPrefix("  n ") && $0.hasSuffix(" [1,2]") })
        let object = try #require(try run("decode", "--format", "json", file).objects().first)
        #expect((object["payload"] as? NSDictionary)?["sub"] as? String == "1")
        // A transaction without all that transactions have is one of no known kind.
        var incomplete = transaction
        incomplete.payload["productId"] = nil
        #expect(run("decode", try self.file(incomplete)).output.contains("payload of an unknown kind"))

        let listing = run("asn1", file)
        #expect(listing.status == 1)
        #expect(listing.output.hasPrefix("MALFORMED  missing-certificates: "))
        #expect(listing.output.contains("'receipt decode' shows the header and the payload"))
    }

    @Test(arguments: [
        ("eyJ", "part-count"), ("ew.e30.AAAA", "truncated"), ("eyJ.e30.AAAA", "invalid-base64url"),
        ("e30.W10.AAAA", "unexpected-type"),
        ("e30.e30.A", "invalid-base64url"), ("e30.e30.AAAA.AAAA", "part-count"), ("W10.e30.AAAA", "unexpected-type"),
        (#"{"signedPayload":"e30"}"#, "part-count"), (#"{"signedPayload":1}"#, "invalid-json"),
    ])
    func `what is no JWS is refused with its code`(text: String, code: String) throws {
        let file = try folder.write("x", text)
        let result = run("decode", file)
        #expect(result.status == 1)
        #expect(result.output.hasPrefix("REFUSED  \(file): \(code)\n"), "\(result.output)")
        let object = try #require(try run("decode", "--format", "json", file).objects().first)
        #expect((object["error"] as? NSDictionary)?["code"] as? String == code)
    }

    @Test func `a part that cannot be decoded is named`() throws {
        let file = try file(.notification(.test, bundleID: "com.example.app", transaction: "e30.e30"))
        let result = run("decode", file)
        #expect(result.status == 1 && result.output.contains("in signedTransactionInfo"))
    }

    @Test func `a JWS has no attributes`() throws {
        let result = run("decode", "--format", "attributes", try file(transaction))
        #expect(result.status == 1)
        #expect((try result.objects().first?["error"] as? NSDictionary)?["code"] as? String == "unrecognized-form")
    }

    @Test func `asn1 shows the certificates of the header`() throws {
        let body = try folder.write("body.json", #"{"signedPayload":"\#(transaction.signed(by: authority))"}"#)
        for file in [try file(transaction), body] {
            let result = run("asn1", file)
            #expect(result.status == 0 && result.errorOutput.isEmpty)
            for index in 0..<3 {
                #expect(result.output.contains("x5c[\(index)] of a JWS, offsets count from the decoded bytes\n"))
            }
            #expect(result.output.contains("Test Root CA") && result.output.contains("receiptSigningMarker"))
        }
    }

    @Test func `what a stranger wrote cannot drive a terminal`() throws {
        var builder = transaction
        builder.payload["productId"] = "pro\u{9B}31m"
        builder.payload.append("\u{202E}name", "\u{1B}[2J")
        builder.additionalHeaderMembers = [.init("kid", "\u{1B}[2J"), .init("\u{1B}", 1)]
        let result = run("decode", try file(builder))
        #expect(result.status == 0 && result.output.contains("pro\\u{9B}31m"))
        #expect(!result.output.unicodeScalars.contains { "\u{1B}\u{9B}\u{202E}".unicodeScalars.contains($0) })
    }
}
