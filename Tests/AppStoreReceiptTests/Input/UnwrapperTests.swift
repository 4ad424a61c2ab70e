import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@testable import AppStoreReceipt

/// Where the fault of wrapped evidence is, and what a reader of many or few layers does.
@Suite struct UnwrapperTests {
    private static func error(_ text: String, isStrict: Bool = false) throws -> VerificationError {
        var policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
        policy.requiresStrictForm = isStrict
        let verifier = try AppStoreVerifier(policy: policy, trust: Minted.authority.transactionReceiptTrust)
        return try #require(throws: VerificationError.self) { try verifier.verify(text) }
    }

    private static func receipt() throws -> String {
        Data(try ReceiptBuilder(bundleID: Minted.bundleID).signed(by: Minted.authority)).base64EncodedString()
    }

    @Test func `an offset counts bytes of the received text, and is null where it was decoded`() throws {
        let faulty = "MIIC*"
        let unity = #"{"Store":"AppleAppStore","Payload":"\#(faulty)"}"#
        let plain = try Self.error(unity)
        #expect(plain.code == .invalidBase64 && plain.unwrapped == ["unity"])
        #expect(plain.offset == unity.utf8.count - 3 && plain.offsetBase == .text)
        let escaped = try Self.error(#"{"Store":"AppleAppStore","Payload":"\u004dIIC*"}"#)
        #expect(escaped.code == .invalidBase64 && escaped.offset == nil && escaped.offsetBase == nil)
        #expect(escaped.json.contains(#","offset":null,"#) && !escaped.json.contains("offset_in"))
        // An error with its position in the signed contents, or nowhere, has no other position.
        #expect(try Self.error(#"{"Store":"AppleAppStore","Payload":"\u004d"}"#).json.contains(#""offset":null"#))
        #expect(try !Self.error("200000000000001").json.contains("null"))
    }

    @Test func `an offset in a JWS counts bytes of the object that it is in`() throws {
        let head = "eyJhbGciOiJFUzI1NiJ9"
        for (name, layers) in [
            ("signedTransactionInfo", []), ("signedPayload", []), ("jwsRepresentation", ["storekit"]),
        ] {
            let object = #"{"x":1,"\#(name)":"\#(head).e30.*"}"#
            let plain = try Self.error(object)
            #expect(plain.code == .invalidBase64url && plain.unwrapped == layers, "\(name)")
            #expect(plain.offset == object.utf8.count - 3 && plain.offsetBase == .text, "\(name)")
            #expect(plain.excerpt(of: Array(object.utf8))?.contains("*") == true, "\(name)")
            let escaped = try Self.error(#"{"\#(name)":"\u0065\#(head.dropFirst()).e30.*"}"#)
            #expect(escaped.code == .invalidBase64url && escaped.offset == nil, "\(name)")
            #expect(escaped.json.contains(#""offset":null"#), "\(name)")
            let string = #""{\"\#(name)\":\"\#(head).e30.*\"}""#
            let quoted = try Self.error(string)
            #expect(quoted.code == .invalidBase64url && quoted.json.contains(#""offset":null"#), "\(name)")
            let encoded = try Self.error(#"data:,\#(object.replacing(" ", with: ""))"#)
            #expect(encoded.code == .invalidBase64url && encoded.offset == "data:,".utf8.count + plain.offset!)
        }
        let verifier = try Minted.verifier()
        let body = #" {"signedPayload":"\#(head).e30.*"}"#
        let ofApple = try #require(throws: VerificationError.self) { try verifier.verifyNotification(body) }
        #expect(ofApple.offset == body.utf8.count - 3 && ofApple.unwrapped.isEmpty)
    }

    @Test func `an offset in a transaction receipt counts bytes of the object that it is in`() throws {
        let object = #"{"receipt-data":"ewoJInNpZ25hdHVyZSIgPSAi*"}"#
        let error = try Self.error(object)
        #expect(error.code == .invalidBase64 && error.offset == object.utf8.count - 3)
    }

    @Test func `a policy that refuses evidence says what it was in`() throws {
        let verifier = try AppStoreVerifier(
            policy: VerificationPolicy(bundleIDs: ["com.example.other"], environments: [.production]),
            trust: Minted.authority.transactionReceiptTrust)
        let text = #"{"Store":"AppleAppStore","Payload":"\#(try Self.receipt())"}"#
        let error = try #require(throws: VerificationError.self) { try verifier.verify(text) }
        #expect(error.code == .bundleIDMismatch && error.unwrapped == ["unity"])
        #expect(error.json.hasPrefix(#"{"verified":false,"schema":1,"unwrapped":["unity"],"error":{"#))
    }

    @Test func `limits are of what was received and of the evidence`() throws {
        let receipt = try Self.receipt()
        var policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
        policy.limits.maximumReceiptByteCount = receipt.utf8.count / 4 * 3 - 3
        policy.limits.maximumJWSByteCount = 1000
        policy.limits.maximumTransactionReceiptByteCount = 1000
        let verifier = try AppStoreVerifier(policy: policy, trust: Minted.authority.transactionReceiptTrust)
        let unity = #"{"Store":"AppleAppStore","Payload":"\#(receipt)"}"#
        let evidence = try #require(throws: VerificationError.self) { try verifier.verify(unity) }
        #expect(evidence.code == .inputTooLarge && evidence.unwrapped == ["unity"])
        let whole = try #require(throws: VerificationError.self) {
            try verifier.verify(unity + String(repeating: " ", count: 1 << 17))
        }
        #expect(whole.code == .inputTooLarge && whole.unwrapped.isEmpty)
    }

    @Test func `the objects of Apple's names are no layer, once`() throws {
        let receipt = try Self.receipt()
        let inner = #"{\"receipt-data\":\"\#(receipt)\"}"#
        // An object in a member of such an object is one that nobody sends.
        let error = try Self.error(#"{"receipt-data":"\#(inner.replacing("\\", with: "\\\\"))"}"#)
        #expect(error.category == .client)
    }

    @Test func `a member of Apple's name that is repeated stays a malformed object`() throws {
        let receipt = try Self.receipt()
        #expect(try Self.error(#"{"receipt-data":"\#(receipt)","receipt-data":"\#(receipt)"}"#).code == .invalidJSON)
        #expect(try Self.error(#"{"receipt-data":"x","receipt-data":"\#(receipt)"}"#).code == .invalidJSON)
    }

    @Test func `without the member beside it, a member with a common name is not read`() throws {
        let error = try Self.error(#"{"Payload":"\#(try Self.receipt())"}"#)
        #expect(error.code == .evidenceInMember && error.path == "/Payload" && error.unwrapped.isEmpty)
    }

    @Test(arguments: [
        ("cordova", #"{"transaction":{"jwsRepresentation":null,"appStoreReceipt":"…"}}"#),
        ("flutter", #"{"verificationData":{"serverVerificationData":1},"serverVerificationData":"…"}"#),
        ("react-native", #"{"jwsRepresentation":{},"transactionReceipt":"…"}"#),
    ])
    func `a member of a wrapper that is no string counts as absent`(wrapper: String, object: String) throws {
        let verifier = try AppStoreVerifier(bundleID: Minted.bundleID, environments: nil, trust: Minted.trust)
        let evidence = try verifier.verify(object.replacing("…", with: try Self.receipt()))
        #expect(evidence.unwrapped == [wrapper])
    }

    @Test func `strict form names the member`() throws {
        let error = try Self.error(
            #"{"Store":"AppleAppStore","Payload":"\#(try Self.receipt())"}"#, isStrict: true)
        #expect(error.code == .evidenceInMember && error.path == "/Payload")
    }

    @Test func `a pointer is told up to a length`() throws {
        let receipt = try Self.receipt()
        let short = String(repeating: "a", count: 255)
        #expect(try Self.error(#"{"\#(short)":"\#(receipt)"}"#).path == "/\(short)")
        #expect(try Self.error(#"{"\#(short)a":"\#(receipt)"}"#).code == .missingReceiptData)
    }

    @Test func `evidence is found in up to eight objects, one in the other`() throws {
        let receipt = "\"\(try Self.receipt())\""
        func error(_ depth: Int) throws -> VerificationError {
            try Self.error((0..<depth).reduce(receipt) { text, _ in #"{"a":\#(text)}"# })
        }
        #expect(try error(8).path == String(repeating: "/a", count: 8))
        #expect(try error(9).code == .missingReceiptData)
    }

    @Test(arguments: [
        (255, "VARCHAR(255)"), (340, "VARCHAR(255)"), (1024, "syslog"), (1366, "syslog"), (1368, "syslog"),
        (4000, "Oracle"), (4096, "terminal"), (8192, "header"), (16384, "Docker"), (65535, "MySQL"),
        (1_048_576, "nginx"), (1_398_104, "nginx"),
    ])
    func `a length at which something usually cuts has its reason`(_ length: Int, _ reason: String) {
        let truncation = Truncation(arrived: 0, expected: 1, .bytes, length)
        #expect(truncation.cut?.text.contains(reason) == true)
        #expect(Truncation(arrived: 0, expected: 1, .bytes, length + 5).cut == nil)
    }

    @Test func `the advice on evidence that was cut off says what usually cuts there`() throws {
        let receipt = try Self.receipt()
        let cut = try Self.error(String(receipt.prefix(1024)))
        #expect(cut.code == .truncated && cut.found == "768 bytes")
        #expect(cut.advice.contains("1,024 is the length at which many log lines are cut"))
        #expect(!(try Self.error(String(receipt.prefix(1028))).advice.contains("1,024")))
    }

    @Test func `the other members of a batch do not have the evidence`() throws {
        let verifier = try AppStoreVerifier(
            policy: VerificationPolicy(bundleIDs: nil, environments: [.production]),
            trust: Minted.authority.transactionReceiptTrust)
        let text = #"{"user":17,"Store":"AppleAppStore","Payload":"\#(try Self.receipt())","tags":["a"]}"#
        let verdict = verifier.verdict(on: Array(text.utf8))
        #expect(try verdict.result.get().unwrapped == ["unity"])
        #expect(
            verdict.otherMembers?.text
                == #"{"user":17,"Store":"AppleAppStore","tags":["a"]}"#)
    }
}
