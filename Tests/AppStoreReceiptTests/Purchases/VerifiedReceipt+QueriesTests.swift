import AppStoreReceiptTesting
import SpanASN1
import TestSupport
import Testing

@testable import AppStoreReceipt

struct VerifiedReceiptQueriesTests {
    static let pro = ReceiptBuilder.Purchase.nonConsumable("pro", transactionID: "1", purchaseDate: day(0))
    static let coins = ReceiptBuilder.Purchase.consumable("coins", transactionID: "2", purchaseDate: day(0))

    @Test func `purchases of a product are those made by the date and not cancelled by then`() throws {
        let receipt = try Minted.verified(
            Self.coins, .consumable("coins", transactionID: "3", purchaseDate: day(5)).revoked(at: day(8)), Self.pro)
        func ids(_ asked: Double, includingRevoked: Bool = false) -> Set<String> {
            Set(
                receipt.purchases(of: "coins", at: day(asked), includingRevoked: includingRevoked)
                    .compactMap(\.transactionID))
        }
        #expect(ids(-1) == [])
        #expect(ids(0) == ["2"])
        #expect(ids(5) == ["2", "3"])
        #expect(ids(8) == ["2"])
        #expect(ids(8, includingRevoked: true) == ["2", "3"])
        #expect(receipt.latestPurchase(of: "coins", at: day(7))?.transactionID == "3")
        #expect(receipt.latestPurchase(of: "coins", at: day(7))?.revocationDate == day(8))
        #expect(receipt.latestPurchase(of: "coins", at: day(8))?.transactionID == "2")
        #expect(receipt.latestPurchase(of: "gems", at: day(8)) == nil)
        #expect(receipt.hasEverPurchased("coins", at: day(0)))
        #expect(!receipt.hasEverPurchased("coins", at: day(-1)))
        #expect(!receipt.hasEverPurchased("gems", at: day(9)))
    }

    @Test func `a product that was only ever cancelled was purchased, and gives nothing`() throws {
        let receipt = try Minted.verified(Self.pro.revoked(at: day(3)))
        #expect(receipt.hasEverPurchased("pro", at: day(4)))
        #expect(receipt.ownedNonConsumables(at: day(2)).map(\.revocationDate) == [day(3)])
        #expect(receipt.ownedNonConsumables(at: day(3)).isEmpty)
        #expect(receipt.isActive(productIDs: ["pro"], at: day(2)))
        #expect(!receipt.isActive(productIDs: ["pro"], at: day(3)))
        #expect(!receipt.isActive(productIDs: ["pro"], at: day(3), gracePeriod: .seconds(86_400 * 30)))
    }

    /// `é` as one scalar and as two: canonically equivalent, and not the same identifier.
    @Test func `two spellings of one character are two identifiers`() throws {
        let (one, other) = ("caf\u{E9}", "cafe\u{301}")
        let receipt = try Minted.verified(
            .nonConsumable(one, transactionID: "1", purchaseDate: day(0)),
            .nonConsumable(other, transactionID: "2", purchaseDate: day(0)),
            .autoRenewable("p", transactionID: one, purchaseDate: day(0), expiresDate: day(30)),
            .autoRenewable("p", transactionID: other, purchaseDate: day(1), expiresDate: day(30)))
        for (product, id) in [(one, "1"), (other, "2")] {
            #expect(receipt.purchases(of: product, at: day(1)).map(\.transactionID) == [id])
        }
        #expect(receipt.ownedNonConsumables(at: day(1)).count == 2)
        #expect(receipt.subscriptions(at: day(1)).count == 2)
        #expect(receipt.originalTransactionIDs.count == 4)
        #expect(receipt.latestPurchase(of: "cafe", at: day(1)) == nil)
    }

    @Test func `only non-consumables are owned, each once`() throws {
        let receipt = try Minted.verified(
            Self.pro, Self.coins, .nonConsumable("pro", transactionID: "9", purchaseDate: day(4)),
            .nonConsumable("skins", transactionID: "5", purchaseDate: day(1)),
            ReceiptBuilder.Purchase(
                productID: "season", transactionID: "6", productType: .nonRenewingSubscription, purchaseDate: day(0)),
            SubscriptionCase.period("7", 0..<30))
        #expect(Set(receipt.ownedNonConsumables(at: day(5)).compactMap(\.transactionID)) == ["9", "5"])
        #expect(receipt.ownedNonConsumables(at: day(0)).compactMap(\.transactionID) == ["1"])
        for product in ["coins", "season"] { #expect(!receipt.isActive(productIDs: [product], at: day(5))) }
        #expect(receipt.isActive(productIDs: ["coins", "skins"], at: day(5)))
        #expect(!receipt.isActive(productIDs: [], at: day(5)))
    }

    @Test func `a refund of one purchase leaves another of the same product`() throws {
        let receipt = try Minted.verified(
            Self.pro.revoked(at: day(2)), .nonConsumable("pro", transactionID: "8", purchaseDate: day(3)))
        #expect(!receipt.isActive(productIDs: ["pro"], at: day(2.5)))
        #expect(receipt.ownedNonConsumables(at: day(4)).compactMap(\.transactionID) == ["8"])
    }

    @Test(arguments: [
        (29.9, Duration.zero, true), (30, .zero, false), (30, .milliseconds(1), true),
        (32, .seconds(2 * 86_400), false),
        (31.9, .seconds(2 * 86_400), true), (40, .seconds(-86_400), false), (20, .seconds(-86_400 * 20), true),
        (9999, .seconds(Int64.max), true), (-1, .seconds(Int64.max), false),
    ])
    func `a grace period begins at the end of a period`(asked: Double, grace: Duration, isActive: Bool) throws {
        let receipt = try Minted.verified(SubscriptionCase.period("1", 0..<30))
        #expect(receipt.isActive(productIDs: ["basic"], at: day(asked), gracePeriod: grace) == isActive)
    }

    @Test func `a cancelled period has no grace`() throws {
        let receipt = try Minted.verified(SubscriptionCase.period("1", 0..<30, cancelled: 10))
        #expect(!receipt.isActive(productIDs: ["basic"], at: day(10), gracePeriod: .seconds(86_400)))
    }

    @Test func `an introductory offer is used, or not seen`() throws {
        let receipt = try Minted.verified(
            SubscriptionCase.period("1", 0..<7, trial: true, cancelled: 2),
            SubscriptionCase.period("2", 10..<40, "news"))
        let used = receipt.introductoryOffer(productIDs: ["basic", "premium"], at: day(5))
        #expect(used == .used(try #require(receipt.inAppPurchases.first { $0.transactionID == "1" })))
        #expect(receipt.introductoryOffer(productIDs: ["basic"], at: day(-1)) == .notSeenInThisReceipt)
        #expect(receipt.introductoryOffer(productIDs: ["news"], at: day(50)) == .notSeenInThisReceipt)
        #expect(receipt.introductoryOffer(productIDs: [], at: day(50)) == .notSeenInThisReceipt)
    }

    @Test func `original transaction ids are listed once`() throws {
        var withoutOriginal = Self.coins
        withoutOriginal.originalTransactionID = nil
        let receipt = try Minted.verified(
            SubscriptionCase.period("5", 0..<30), SubscriptionCase.period("6", 30..<60), withoutOriginal)
        #expect(Set(receipt.originalTransactionIDs) == ["1", "2"])
        #expect(receipt.originalTransactionIDs.count == 2)
    }

    @Test(arguments: ["ProductionVPP", "ProductionVPPSandbox"])
    func `a volume purchase gives nothing once its receipt has expired`(type: String) throws {
        var builder = ReceiptBuilder(bundleID: "com.example.app", purchases: [Self.pro])
        builder.receiptType = type
        builder.expirationDate = day(10)
        let receipt = try Minted.verified(builder)
        #expect(!receipt.isExpired(at: day(9)) && receipt.isExpired(at: day(10)))
        #expect(receipt.isActive(productIDs: ["pro"], at: day(9)))
        #expect(!receipt.isActive(productIDs: ["pro"], at: day(10)))
        #expect(receipt.ownedNonConsumables(at: day(10)).isEmpty)
        #expect(receipt.hasEverPurchased("pro", at: day(10)))
    }

    @Test func `a purchase without a date is dated by the receipt`() throws {
        var pro = Self.pro
        pro.purchaseDate = nil
        var builder = ReceiptBuilder(bundleID: "com.example.app", purchases: [pro])
        builder.creationDate = day(20)
        let receipt = try Minted.verified(builder)
        #expect(!receipt.isActive(productIDs: ["pro"], at: day(19)))
        #expect(receipt.isActive(productIDs: ["pro"], at: day(20)))
    }
}
