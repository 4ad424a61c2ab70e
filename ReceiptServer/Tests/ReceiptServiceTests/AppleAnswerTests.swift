import AppStoreReceipt
import Foundation
import HTTPService
import Testing

@testable import ReceiptService

/// Our answers beside Apple's. The folder that `RECEIPT_CORPUS` names has receipts of other people, and is no part of
/// the project.
struct AppleAnswerTests {
    private static let folder = ProcessInfo.processInfo.environment["RECEIPT_CORPUS"].map { URL(filePath: $0) }

    private static func names(_ suffix: String) -> [String] {
        guard let folder else { return [] }
        let files = try? FileManager.default.contentsOfDirectory(
            at: folder.appending(path: "responses"), includingPropertiesForKeys: nil)
        return (files ?? []).map(\.lastPathComponent).filter { $0.hasSuffix(suffix) }.sorted()
            .map { String($0.dropLast(suffix.count)) }
    }

    private func apples(_ file: String) throws -> [String: Any] {
        let data = try Data(contentsOf: #require(Self.folder).appending(path: "responses/\(file)"))
        return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    /// The answer of `/sandbox/verifyReceipt`.
    private func ours(_ name: String) throws -> [String: Any] {
        let receipt = try Data(contentsOf: #require(Self.folder).appending(path: "receipts/\(name).der"))
        let policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
        let routes = try ReceiptRoutes(ReceiptConfiguration(policy: policy)).routes
        let body = #"{"receipt-data":"\#(receipt.base64EncodedString())","password":"secret"}"#
        let response = RouteTable(routes).answer(
            Request(method: "POST", path: "/sandbox/verifyReceipt", body: Array(body.utf8)))
        #expect(response.status == 200)
        return try #require(JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
    }

    /// The keys at which two objects differ.
    private func difference(_ ours: [String: Any], _ apples: [String: Any]) -> Set<String> {
        Set(Set(ours.keys).union(apples.keys).filter { (ours[$0] as? NSObject) != (apples[$0] as? NSObject) })
    }

    @Test(.enabled(if: folder != nil), arguments: names(".response.json"))
    func `the answer is Apple's, but for the time and what a receipt does not contain`(name: String) throws {
        let (ours, apples) = try (ours(name), apples("\(name).response.json"))
        let receipts = try (#require(ours["receipt"] as? [String: Any]), #require(apples["receipt"] as? [String: Any]))
        #expect(difference(receipts.0, receipts.1) == ["request_date", "request_date_ms", "request_date_pst"])
        #expect(
            difference(ours, apples).isSubset(of: [
                "receipt", "latest_receipt", "latest_receipt_info", "pending_renewal_info",
            ]))
        #expect(ours["status"] as? Int == 0 && ours["environment"] as? String == "Sandbox")
    }

    @Test(.enabled(if: folder != nil), arguments: names(".notification-v1.json"))
    func `each purchase is Apple's, key by key, but for two keys that a receipt does not contain`(name: String) throws {
        let unified = try #require(apples("\(name).notification-v1.json")["unified_receipt"] as? [String: Any])
        let apples = try #require(unified["latest_receipt_info"] as? [[String: Any]])
        let ours = try #require((ours(name)["receipt"] as? [String: Any])?["in_app"] as? [[String: Any]])
        #expect(ours.count == apples.count)
        for purchase in ours {
            let id = purchase["transaction_id"] as? String
            let counterpart = try #require(apples.first { $0["transaction_id"] as? String == id })
            #expect(difference(purchase, counterpart).isSubset(of: ["subscription_group_identifier", "is_upgraded"]))
        }
    }
}
