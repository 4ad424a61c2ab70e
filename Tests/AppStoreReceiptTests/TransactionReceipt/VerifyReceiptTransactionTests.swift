import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import SignatureTrust
import StrictText
import TestSupport
import Testing

struct VerifyReceiptTransactionTests {
    private static func responder(_ environments: Set<AppStoreEnvironment> = [.production]) throws
        -> VerifyReceiptResponder
    {
        var responder = try VerifyReceiptResponder(
            bundleIDs: [Minted.bundleID], environments: environments, trust: Minted.authority.transactionReceiptTrust)
        responder.clock = { day(30) }
        return responder
    }

    private static func body(_ change: (inout TransactionReceiptBuilder) -> Void = { _ in }) throws -> [UInt8] {
        var builder = TransactionReceiptBuilder(
            bundleID: Minted.bundleID, productID: "pro", transactionID: "10000000000001", purchaseDate: day(1))
        change(&builder)
        return Array("{\"receipt-data\":\"\(try builder.signedBase64(by: Minted.authority))\",\"password\":\"x\"}".utf8)
    }

    @Test func `a purchase without expiry is its purchase-info with underscores, all strings, nothing added`() throws {
        let answer = try Self.responder().answer(to: Self.body { $0.additionalValues = [.init("new-key", "1")] })
        #expect(answer.status == .valid)
        #expect(
            String(decoding: answer.body, as: UTF8.self)
                == #"{"receipt":{"original_purchase_date_pst":"2025-01-01 16:00:00 America/Los_Angeles","original_purchase_date_ms":"1735776000000","original_purchase_date":"2025-01-02 00:00:00 Etc/GMT","purchase_date_pst":"2025-01-01 16:00:00 America/Los_Angeles","purchase_date_ms":"1735776000000","purchase_date":"2025-01-02 00:00:00 Etc/GMT","unique_identifier":"00008020-0000000000000001","original_transaction_id":"10000000000001","transaction_id":"10000000000001","item_id":"500000001","product_id":"pro","quantity":"1","bid":"com.example.app","bvrs":"1.0","new_key":"1"},"status":0}"#
        )
        guard case .success(.transactionReceipt(let receipt)) = answer.result else {
            Issue.record("\(answer.result)")
            return
        }
        #expect(receipt.productID == "pro")
        var filling = try Self.responder()
        filling.fillsLatestReceiptInfo = true
        let filled = try filling.answer(to: Self.body { $0.additionalValues = [.init("new-key", "1")] })
        #expect(filled.body == answer.body)
    }

    @Test(arguments: [(31, 0), (30, 21006), (2, 21006)])
    func `a subscription is expired by the responder's clock`(expiresOn: Double, status: Int) throws {
        let expires = day(expiresOn)
        var responder = try Self.responder()
        let body = try Self.body { $0.expiresDate = expires }
        for fills in [false, true] {
            responder.fillsLatestReceiptInfo = fills
            let answer = responder.answer(to: body)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(answer.body)) as? NSDictionary)
            #expect(answer.status.rawValue == status && object["status"] as? Int == status)
            let receipt = try #require(object["receipt"] as? [String: String])
            #expect(receipt["expires_date"] == String(expires.millisecondsSince1970))
            #expect((object["latest_expired_receipt_info"] as? [String: String] == receipt) == (status == 21006))
            #expect((object["latest_receipt_info"] as? [String: String] == receipt) == (fills && status == 0))
        }
    }

    @Test func `the environment and the app decide as for receipts`() throws {
        let sandbox = try Self.body {
            ($0.transactionID, $0.originalTransactionID) = ("1000000046178817", "1000000046178817")
        }
        #expect(try Self.responder().answer(to: sandbox).status == .sandboxReceipt)
        #expect(try Self.responder([.sandbox]).answer(to: Self.body()).status == .productionReceipt)
        #expect(
            try Self.responder().answer(to: Self.body { $0.bundleID = "com.example.other" }).status == .notAuthenticated
        )
        #expect(try Self.responder().answer(to: Self.body { $0.transactionID = "1" }).status == .notAuthenticated)
        #expect(try Self.responder().answer(to: Array(#"{"receipt-data":"e30="}"#.utf8)).status == .malformedReceipt)
    }
}
