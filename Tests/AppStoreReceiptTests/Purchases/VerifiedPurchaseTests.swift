import AppStoreReceiptTesting
import TestSupport
import Testing

@testable import AppStoreReceipt

/// A purchase has its product, ids, date and quantity, whatever proves it.
@Suite struct VerifiedPurchaseTests {
    static let pro = ReceiptBuilder.Purchase.nonConsumable("pro", transactionID: "1", purchaseDate: day(0))

    private func transaction(_ change: (inout JSONValue) -> Void = { _ in }) throws -> Verified<TransactionInfo> {
        var builder = Minted.transaction
        change(&builder.payload)
        return try Minted.verifier().verifyTransaction(Minted.jws(builder))
    }

    @Test func `the purchases of a receipt are a collection, in its order`() throws {
        var builder = ReceiptBuilder(
            bundleID: Minted.bundleID,
            purchases: [
                Self.pro, .consumable("coins", transactionID: "2", quantity: 3, purchaseDate: day(1)),
                .autoRenewable(
                    "monthly", transactionID: "4", originalTransactionID: "3", purchaseDate: day(2),
                    originalPurchaseDate: day(-30), expiresDate: day(32)),
            ])
        builder.attributeOrder = .asGiven
        let receipt = try Minted.verified(builder)
        let purchases = receipt.purchases
        #expect(purchases[0].productID == "pro" && purchases[0].transactionID == "1")
        #expect(purchases.count == 3 && purchases.indices == 0..<3)
        #expect(purchases.map(\.productID) == ["pro", "coins", "monthly"])
        #expect(purchases.map(\.quantity) == [1, 3, 1])
        #expect(purchases.map(\.purchaseDate) == [day(0), day(1), day(2)])
        #expect(purchases.map(\.originalTransactionID) == ["1", "2", "3"])
        #expect(purchases.map(\.productType) == [.nonConsumable, .consumable, .autoRenewableSubscription])
        #expect(purchases.reversed().map(\.transactionID) == ["4", "2", "1"])
        #expect(purchases.last?.expiresDate == day(32) && purchases.last?.originalPurchaseDate == day(-30))
        #expect(purchases.allSatisfy { $0.environment == .production && $0.verification == receipt.verification })
        #expect(receipt.incompletePurchases.isEmpty)
        #expect(VerifiedEvidence.receipt(receipt).purchases == Array(purchases))
    }

    // MARK: What is missing

    /// How a record can lack what every purchase has that Apple is known to have signed.
    static let faults: [(String, @Sendable (inout ReceiptBuilder.Purchase) -> Void)] = [
        ("no quantity", { $0.quantity = nil }), ("no product", { $0.productID = nil }),
        ("an empty product", { $0.productID = "" }), ("no transaction id", { $0.transactionID = nil }),
        ("an empty transaction id", { $0.transactionID = "" }), ("no purchase date", { $0.purchaseDate = nil }),
        (
            "an empty purchase date",
            {
                $0.purchaseDate = nil
                $0.additionalAttributes = [.date(.purchaseDate, nil)]
            }
        ),
        (
            "nothing",
            {
                $0 = .init()
                $0.additionalAttributes = []
            }
        ),
    ]

    @Test(arguments: faults.indices, 0..<4)
    func `a record that lacks something is listed apart, and the others stay what they are`(fault: Int, place: Int)
        throws
    {
        var incomplete = ReceiptBuilder.Purchase.nonConsumable("gift", transactionID: "9", purchaseDate: day(0))
        Self.faults[fault].1(&incomplete)
        let complete = (1...3).map {
            ReceiptBuilder.Purchase.nonConsumable("pro\($0)", transactionID: "\($0)", purchaseDate: day(0))
        }
        var builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: complete)
        builder.purchases.insert(incomplete, at: place)
        builder.attributeOrder = .asGiven
        builder.writesEmptyAttributes = false
        let receipt = try Minted.verified(builder)

        #expect(receipt.purchases.map(\.productID) == ["pro1", "pro2", "pro3"])
        #expect(receipt.purchases.map(\.transactionID) == ["1", "2", "3"])
        #expect(receipt.purchases.count == 3 && receipt.purchases.allSatisfy { $0.givesAccess(at: day(1)) })
        #expect(VerifiedEvidence.receipt(receipt).purchases.map(\.productID) == ["pro1", "pro2", "pro3"])
        // It is still in the receipt, where it was.
        #expect(receipt.incompletePurchases.map(\.index) == [place])
        #expect(receipt.incompletePurchases == [receipt.inAppPurchases[place]])
        #expect(receipt.inAppPurchases.count == 4)
        #expect(receipt.json.components(separatedBy: "\"product_id\":\"pro").count == 4)
    }

    @Test func `a receipt of nothing but such records has no purchase`() throws {
        let receipt = try Minted.verified(.init(), .init())
        #expect(receipt.purchases.isEmpty && receipt.purchases.first == nil)
        #expect(receipt.incompletePurchases.count == 2)
    }

    @Test func `a record without ids of its first transaction is complete, and has its own`() throws {
        var purchase = Self.pro
        (purchase.originalTransactionID, purchase.originalPurchaseDate) = (nil, nil)
        (purchase.productType, purchase.itemID, purchase.webOrderLineItemID) = (nil, nil, nil)
        let receipt = try Minted.verified(purchase)
        #expect(receipt.incompletePurchases.isEmpty)
        #expect(receipt.purchases[0].originalTransactionID == "1")
        #expect(receipt.purchases[0].originalPurchaseDate == nil && receipt.purchases[0].productType == nil)
    }

    @Test func `a transaction without a purchase date is verified, and is no purchase`() throws {
        let verified = try transaction { $0["purchaseDate"] = nil }
        #expect(verified.purchase == nil && verified.productID == "pro")
        #expect(VerifiedEvidence.transaction(verified).purchases.isEmpty)
        var builder = Minted.transaction
        builder.payload["purchaseDate"] = nil
        let notification = try JWSBuilder.notification(
            .oneTimeCharge, bundleID: Minted.bundleID, transaction: Minted.jws(builder))
        let evidence = try Minted.verifier().verify(Minted.jws(notification))
        #expect(evidence.purchases.isEmpty && evidence.nothing == .noProduct)
    }

    // MARK: One type for both

    @Test func `a receipt and a transaction of one purchase say the same of it`() throws {
        let (bought, first, ends) = (day(10), day(-20), day(40))
        var purchase = ReceiptBuilder.Purchase.autoRenewable(
            "pro", transactionID: "1000", originalTransactionID: "7", purchaseDate: bought,
            originalPurchaseDate: first, expiresDate: ends
        ).revoked(at: day(12))
        (purchase.quantity, purchase.webOrderLineItemID) = (2, "34")
        let receipt = try Minted.verified(purchase)
        let transaction = try transaction {
            $0["originalTransactionId"] = "7"
            $0["purchaseDate"] = .integer(bought.millisecondsSince1970)
            $0["originalPurchaseDate"] = .integer(first.millisecondsSince1970)
            $0["expiresDate"] = .integer(ends.millisecondsSince1970)
            $0["revocationDate"] = .integer(day(12).millisecondsSince1970)
            $0["quantity"] = 2
            $0["type"] = "Auto-Renewable Subscription"
            $0["webOrderLineItemId"] = "34"
        }
        for purchase in [receipt.purchases[0], try #require(transaction.purchase)] {
            #expect(purchase.productID == "pro" && purchase.transactionID == "1000")
            #expect(purchase.originalTransactionID == "7" && purchase.quantity == 2)
            #expect(purchase.purchaseDate == bought && purchase.originalPurchaseDate == first)
            #expect(purchase.expiresDate == ends && purchase.productType == .autoRenewableSubscription)
            #expect(purchase.isRevoked == true && purchase.revocationDate == day(12))
            #expect(purchase.webOrderLineItemID == "34" && purchase.isUpgraded != true)
            #expect(purchase.environment == .production && purchase.verification.authority == .customRoot)
            #expect(purchase.givesAccess(at: day(11)) && !purchase.givesAccess(at: day(12)))
        }
    }

    @Test(arguments: ["ProductionVPP", "ProductionVPPSandbox"])
    func `a purchase of a receipt that expires gives access until then`(type: String) throws {
        var builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: [Self.pro])
        builder.receiptType = type
        builder.expirationDate = day(10)
        let purchase = try Minted.verified(builder).purchases[0]
        #expect(purchase.evidenceExpirationDate == day(10))
        #expect(purchase.givesAccess(at: day(10) - .milliseconds(1)) && !purchase.givesAccess(at: day(10)))
    }

    @Test func `a purchase gives access at no instant before it was made, but for slow clocks, and at the last`() throws
    {
        let purchase = try Minted.verified(Self.pro).purchases[0]
        #expect(!purchase.givesAccess(at: .distantPast) && !purchase.givesAccess(at: day(0) - .milliseconds(300_001)))
        #expect(purchase.givesAccess(at: day(0)) && purchase.givesAccess(at: .distantFuture))
    }

    /// 0 stands for none, as in every purchase that is no subscription.
    @Test func `a web order line item id of 0 is none`() throws {
        var purchase = Self.pro
        purchase.webOrderLineItemID = "0"
        #expect(try Minted.verified(purchase).purchases[0].webOrderLineItemID == nil)
    }
}
