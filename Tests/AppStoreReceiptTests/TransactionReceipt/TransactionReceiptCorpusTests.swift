import AppStoreReceipt
import Foundation
import SignatureTrust
import StrictText
import TestSupport
import Testing

@Suite(.enabled(if: Corpus.isPresent, "RECEIPT_CORPUS names no folder of receipts"))
struct TransactionReceiptCorpusTests {
    private static let files = Corpus.files("ios6").filter { $0.pathExtension == "b64" }

    private static func verifier(
        allowsRSA1024: Bool, _ environments: Set<AppStoreEnvironment> = [.production, .sandbox],
        bundleIDs: Set<String>? = nil
    ) throws -> AppStoreVerifier {
        var policy = VerificationPolicy(bundleIDs: bundleIDs, environments: environments)
        policy.allowsRSA1024TransactionReceipts = allowsRSA1024
        return try AppStoreVerifier(policy: policy)
    }

    private static func text(_ prefix: String) throws -> [UInt8] {
        let file = try #require(files.first { $0.lastPathComponent.contains(prefix) })
        return try Corpus.bytes(file)
    }

    private static func code(_ text: [UInt8], _ verifier: AppStoreVerifier) -> String? {
        do throws(VerificationError) {
            _ = try verifier.verify(text)
            return nil
        } catch {
            return error.code.rawValue
        }
    }

    @Test func `the corpus has five transaction receipts`() { #expect(Self.files.count == 5) }

    private static let verdicts: [(String, String?)] = [
        ("0d8829", nil), ("48b378", nil), ("b0032b", nil), ("mock", "missing-key"), ("f5ead8", "unsupported-version"),
    ]

    @Test(arguments: verdicts)
    func `with RSA-1024 allowed, three are genuine, also without their unsigned environment`(
        name: String, code: String?
    ) throws {
        let text = try Self.text(name)
        #expect(try Self.code(text, Self.verifier(allowsRSA1024: true)) == code)
        #expect(try Self.code(text, Self.verifier(allowsRSA1024: false)) == code ?? "rsa-1024-not-allowed")
        #expect(
            try Self.code(text, Self.verifier(allowsRSA1024: true, bundleIDs: ["com.example.app"])) == code
                ?? "bundle-id-mismatch")
        #expect(
            try Self.code(text, Self.verifier(allowsRSA1024: true, [.production])) == code ?? "environment-mismatch")
        // The list itself, without its base64.
        let list = try #require(Data(base64Encoded: Data(text), options: .ignoreUnknownCharacters))
        #expect(try Self.code(Array(list), Self.verifier(allowsRSA1024: true)) == code)
    }

    @Test func `what Apple signed of a subscription is read, and shows as an expired purchase in the sandbox`() throws {
        let receipt = try Self.verifier(allowsRSA1024: true).verifyTransactionReceipt(Self.text("48b378"))
        #expect(receipt.version == .version2 && receipt.verification.digest == .sha1)
        #expect(receipt.verification.authority == .apple)
        #expect(
            receipt.verification.anchor.description
                == "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024")
        #expect(receipt.inferredEnvironment == .sandbox)
        #expect(receipt.purchase?.productID == "yearly" && receipt.purchase?.quantity == 1)
        #expect(receipt.purchaseDate == Instant(rfc3339: "2015-11-18T04:34:41Z"))
        #expect(receipt.expiresDate == Instant(rfc3339: "2015-11-24T06:34:41Z"))
        #expect(receipt.verification.validationDate == receipt.purchaseDate)
    }

    @Test func `Apple's answer is reproduced`() throws {
        var responder = try VerifyReceiptResponder(
            policy: {
                var policy = VerificationPolicy(bundleIDs: nil, environments: [.sandbox])
                policy.allowsRSA1024TransactionReceipts = true
                return policy
            }())
        let body =
            Array(#"{"receipt-data":""#.utf8) + (try Self.text("48b378")).filter { $0 > 0x20 } + Array(#""}"#.utf8)
        let answer = responder.answer(to: body)
        #expect(answer.status == .subscriptionExpired)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? NSDictionary)
        #expect(object["status"] as? Int == 21006)
        let receipt = try #require(object["receipt"] as? [String: String])
        #expect(
            receipt.count == 19 && receipt["original_purchase_date_pst"] == "2015-11-17 08:34:41 America/Los_Angeles")
        #expect(object["latest_expired_receipt_info"] as? [String: String] == receipt)
        responder.clock = { Instant(millisecondsSince1970: 1_447_900_000_000) }
        #expect(responder.answer(to: body).status == .valid)
    }

    /// No other evidence is accepted with RSA-1024.
    @Test func `RSA-1024 for transaction receipts changes nothing for other evidence`() throws {
        let verifier = try Self.verifier(allowsRSA1024: true)
        #expect(verifier.policy.algorithms == AlgorithmPolicy())
    }
}
