import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import StrictText
import TestSupport
import Testing

@testable import generate_vectors

@Suite struct ReceiptBuilderJSONTests {
    /// What `receipt decode --format json` prints.
    private static func json(_ receipt: [UInt8]) throws -> [UInt8] {
        var writer = JSONWriter()
        writer.decoding(.success(try UnverifiedEvidence(decoding: receipt)), from: .file("a file"))
        return writer.bytes
    }

    private static let receipts: [[UInt8]] = {
        let vectors = Result {
            try JSONDecoder().decode([VectorExpectation].self, from: Tree.contents("expectations.json"))
                .filter { $0.verdict == "accepted" && !$0.file.hasPrefix("requests/") }
                .map { Array(try Tree.contents($0.file)) }
        }
        return ((try? vectors.get()) ?? []) + Corpus.receipts.compactMap { try? Corpus.bytes($0) }
    }()

    @Test func `a decoded receipt is minted again with all fields, unknown attributes and the order of purchases`()
        throws
    {
        #expect(Self.receipts.count > 80)
        for receipt in Self.receipts {
            let json = try Self.json(receipt)
            let minted = try ReceiptBuilder(json: json).signed(by: Minted.authority)
            let again = try Self.json(minted)
            let isEqual = again == json
            #expect(isEqual, "\(String(decoding: json.prefix(300), as: UTF8.self))")
        }
    }

    @Test func `a few keys are enough for a receipt that verifies`() throws {
        let json = #"{"bundle_id": "com.example.app", "in_app": [{"product_id": "pro", "transaction_id": "1"}, {}]}"#
        let receipt = try Minted.verifier(environments: [.production]).verifyReceipt(
            ReceiptBuilder(json: Array(json.utf8)).signed(by: Minted.authority))
        #expect(receipt.inAppPurchases.map(\.productID) == ["pro", nil])
        #expect(receipt.creationDate == ReceiptBuilder.defaultCreationDate)
        #expect(receipt.applicationVersion == nil)
    }

    @Test(
        arguments: [
            (#"{"bundle_idd": "x"}"#, .unknownKey, 1),
            (#"{"in_app": [{"bundle_id": "x"}]}"#, .unknownKey, 13),
            (#"{"bundle_id": "x", "bundle_id": "x"}"#, .repeatedKey, 19),
            (#"{"bundle_id": 7}"#, .unexpectedValue, 14),
            (#"{"app_item_id": "7"}"#, .unexpectedValue, 16),
            (#"{"app_item_id": 1.5}"#, .unexpectedValue, 16),
            (#"{"app_item_id": 9223372036854775808}"#, .unexpectedValue, 16),
            (#"{"receipt_creation_date": "yesterday"}"#, .unexpectedValue, 26),
            (#"{"opaque_value": "0g"}"#, .unexpectedValue, 17),
            (#"{"opaque_value": "012"}"#, .unexpectedValue, 17),
            (#"{"in_app": {}}"#, .unexpectedValue, 11),
            (#"{"in_app": [{"is_trial_period": 1}]}"#, .unexpectedValue, 32),
            (#"{"unknown_attributes": [{"version": 1}]}"#, .unexpectedValue, 24),
            (#"{"bundle_id": "x"} {}"#, .malformedJSON, 19),
            (#"{"bundle_id": "x""#, .malformedJSON, 17),
            (#"[]"#, .unexpectedValue, 0),
            (#""#, .malformedJSON, 0),
            (#"{"receipt": {"bundle_idd": "x"}}"#, .unknownKey, 13),
            (#"{"receipt": []}"#, .unexpectedValue, 12),
        ] as [(String, ReceiptSpecificationError.Code, Int)])
    func `what is no specification is refused, with the place`(
        _ json: String, _ code: ReceiptSpecificationError.Code, _ offset: Int
    ) throws {
        let error = #expect(throws: ReceiptSpecificationError.self) { try ReceiptBuilder(json: Array(json.utf8)) }
        #expect(error?.code == code && error?.offset == offset)
    }

    @Test func `null is as good as no key`() throws {
        let builder = try ReceiptBuilder(json: Array(#"{"bundle_id": "x", "platform": null, "in_app": null}"#.utf8))
        #expect(builder.platform == nil && builder.purchases.isEmpty && builder.bundleID == "x")
    }
}
