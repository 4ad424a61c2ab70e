import Foundation
import TestSupport
import Testing

@testable import AppStoreReceipt

/// Our answers beside Apple's, for the receipts that have both.
struct AppleAnswerTests {
    /// The names of the receipts with an answer in a file of the given kind.
    private static func names(_ suffix: String) -> [String] {
        Corpus.files("responses").map(\.lastPathComponent).filter { $0.hasSuffix(suffix) }
            .map { String($0.dropLast(suffix.count)) }
    }
    static let answered = names(".response.json")
    static let notified = names(".notification-v1.json")

    private func object(_ path: String) throws -> [String: Any] {
        let data = try Data(contentsOf: #require(Corpus.folder).appending(path: path))
        return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    private func binary(_ name: String) throws -> [UInt8] {
        try Corpus.bytes(#require(Corpus.folder).appending(path: "receipts/\(name).der"))
    }

    private func answer(to name: String) throws -> [String: Any] {
        let text = try Data(binary(name)).base64EncodedString()
        let answer = try VerifyReceiptResponder(answeringForEveryAppIn: [.sandbox]).answer(
            to: Array("{\"receipt-data\":\"\(text)\"}".utf8))
        #expect(answer.status == .valid)
        return try #require(JSONSerialization.jsonObject(with: Data(answer.body)) as? [String: Any])
    }

    /// The keys at which two objects differ, with both values.
    private func difference(_ ours: [String: Any], _ apples: [String: Any]) -> [String: String] {
        var difference: [String: String] = [:]
        for key in Set(ours.keys).union(apples.keys) where (ours[key] as? NSObject) != (apples[key] as? NSObject) {
            let values = [ours[key], apples[key]].map { $0.map { "\($0)".prefix(40) } ?? "absent" }
            difference[key] = "ours \(values[0]), Apple's \(values[1])"
        }
        return difference
    }

    @Test(.enabled(if: Corpus.isPresent), arguments: answered)
    func `our receipt object is Apple's, but for the time of the request`(name: String) throws {
        let apples = try object("responses/\(name).response.json")
        let ours = try answer(to: name)
        let receipts = try (
            #require(ours["receipt"] as? [String: Any]), #require(apples["receipt"] as? [String: Any])
        )
        let different = difference(receipts.0, receipts.1)
        print("\(name): \(receipts.1.count) keys of `receipt`; different: \(different.sorted { $0.key < $1.key })")
        #expect(Set(different.keys) == ["request_date", "request_date_ms", "request_date_pst"])
        #expect(ours["environment"] as? String == apples["environment"] as? String)
        #expect(ours["status"] as? Int == 0)
        print("\(name): only in Apple's answer: \(Set(apples.keys).subtracting(ours.keys).sorted())")
        #expect(Set(ours.keys).isSubset(of: apples.keys))
    }

    @Test(.enabled(if: Corpus.isPresent), arguments: notified)
    func `each purchase is as in a server notification for the same receipt`(name: String) throws {
        let notification = try object("responses/\(name).notification-v1.json")
        let unified = try #require(notification["unified_receipt"] as? [String: Any])
        let apples = try #require(unified["latest_receipt_info"] as? [[String: Any]])
        let ours = try #require((answer(to: name)["receipt"] as? [String: Any])?["in_app"] as? [[String: Any]])
        var different: [String: Int] = [:]
        for purchase in ours {
            let counterpart = try #require(
                apples.first { $0["transaction_id"] as? String == purchase["transaction_id"] as? String })
            for (key, _) in difference(purchase, counterpart) { different[key, default: 0] += 1 }
        }
        print("\(name): \(ours.count) purchases, Apple's \(apples.count); different: \(different)")
        #expect(ours.count == apples.count)
        #expect(Set(different.keys) == ["subscription_group_identifier", "is_upgraded"])
    }

    @Test(.enabled(if: Corpus.isPresent), arguments: notified)
    func `the periods that Apple marks as upgraded are those that a later one ends`(name: String) throws {
        let notification = try object("responses/\(name).notification-v1.json")
        let unified = try #require(notification["unified_receipt"] as? [String: Any])
        let upgraded = try #require(unified["latest_receipt_info"] as? [[String: Any]])
            .filter { $0["is_upgraded"] as? String == "true" }.compactMap { $0["transaction_id"] as? String }
        #expect(upgraded.count == 4)
        let verifier = try AppStoreVerifier(policy: VerificationPolicy(bundleIDs: nil, environments: [.sandbox]))
        let receipt = try verifier.verifyReceipt(binary(name))
        let ended = receipt.entitlements(at: .now).items.filter { item in
            if case .upgraded = item.access { true } else { false }
        }
        #expect(Set(ended.map(\.transactionID)) == Set(upgraded))
    }
}
