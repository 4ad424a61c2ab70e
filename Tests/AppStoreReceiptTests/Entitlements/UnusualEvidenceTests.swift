import AppStoreReceiptTesting
import TestSupport
import Testing

@testable @_spi(Ledger) import AppStoreReceipt

/// Evidence that Apple or Xcode signs, but seldom.
@Suite struct UnusualEvidenceTests {
    /// StoreKit Testing in Xcode signs `"webOrderLineItemId":"0"` in every transaction.
    @Test func `the web order line item 0 is none, whatever evidence has it`() throws {
        var refunded = Transaction.consumable("1", 0, revoked: 1)
        var paid = Transaction.consumable("2", 0)
        var period = Transaction.period("3", 0..<30)
        (refunded.item, paid.item, period.item) = ("0", "0", "0")
        for source in EvidenceSource.allCases {
            let entitlements = try source.entitlements(of: [refunded, paid, period], at: day(2))
            #expect(entitlements.codes == ["1": "revoked", "2": "consumable", "3": "active"])
            #expect(entitlements.items.allSatisfy { $0.purchase.webOrderLineItemID == nil })
            expectAgreement(in: entitlements)
        }
        var stored = try [refunded, paid].map { try $0.purchase() }
        for index in stored.indices { stored[index].webOrderLineItemID = "0" }
        #expect(Entitlements(trustingStored: stored, at: day(2)).codes == ["1": "revoked", "2": "consumable"])
    }

    @Test func `the end of a receipt is no length of its purchases`() throws {
        let season = Transaction(id: "1", product: "season", type: .nonRenewingSubscription, start: 0)
        let endless = Transaction(id: "2", type: .autoRenewableSubscription, start: 0)
        let old = Transaction(id: "3", product: "old", type: nil, start: 0)
        var builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: [season.record, endless.record, old.record])
        builder.receiptType = "ProductionVPP"
        builder.expirationDate = day(100)
        let receipt = try Minted.verified(builder)
        func decided(_ asked: Double, days: Int? = nil) -> Entitlements {
            let types = days.map { ["season": CatalogType.nonRenewing(days: $0)] } ?? [:]
            let decided = Entitlements(receipt.purchases, at: day(asked), productTypes: ProductCatalog(types))
            expectAgreement(in: decided)
            return decided
        }
        #expect(decided(5).codes == ["1": "length-unknown", "2": "undetermined", "3": "undetermined"])
        #expect(decided(100).codes == ["1": "expired", "2": "expired", "3": "expired"])
        #expect(decided(5, days: 10).codes["1"] == "active" && decided(10, days: 10).codes["1"] == "expired")
        #expect(decided(99, days: 200).items(of: "season").map(\.access) == [.active(until: day(100))])
        #expect(decided(5).subscriptions.isEmpty)
    }

    @Test(arguments: [nil, -1])
    func `what a prorated refund leaves of a consumable is not there before it is bought`(revoked: Double?) throws {
        var purchase = try Transaction.consumable("1", 0, quantity: 4, revoked: 1, percentage: 50_000).purchase()
        purchase.revocationDate = revoked.map(day)
        #expect(Entitlements(trustingStored: [purchase], at: day(-0.5)).codes == ["1": "not-yet"])
        #expect(Entitlements(trustingStored: [purchase], at: day(0)).items[0].access == .consumable(quantity: 2))
    }

    @Test func `a subscription is found by an id from before a migration although no period has it`() throws {
        var new = try Transaction.period("2", 10..<40).purchase()
        (new.originalTransactionID, new.previousOriginalTransactionID) = ("new", "old")
        var renewal = SubscriptionRenewal(originalTransactionID: "old", signedDate: day(41))
        (renewal.environment, renewal.gracePeriodExpiresDate) = (new.environment, day(50))
        let entitlements = Entitlements(trustingStored: [new], renewals: [renewal], at: day(45))
        #expect(entitlements.subscription(originalTransactionID: "old")?.originalTransactionID == "new")
        #expect(entitlements.codes == ["2": "active"])
    }

    @Test func `a restored transaction says what the original id was before a migration`() throws {
        var old = try Transaction.period("1", 0..<30).purchase()
        old.originalTransactionID = "old"
        var new = try Transaction.period("2", 10..<40, "premium").purchase()
        new.originalTransactionID = "new"
        var restored = new
        (restored.transactionID, restored.purchaseDate) = ("3", day(11))
        restored.previousOriginalTransactionID = "old"
        for order in permutations([old, new, restored]) {
            let entitlements = Entitlements(trustingStored: order, at: day(12))
            #expect(entitlements.codes == ["1": "upgraded", "2": "active", "3": "active"])
            #expect(entitlements.subscriptions.count == 1)
        }
    }

    @Test func `what was signed together decides alike in every order, whatever it contradicts itself about`() throws {
        let first = try Transaction.consumable("1", 0, quantity: 10, revoked: 5, percentage: 50_000).purchase()
        let changes: [(inout Purchase) -> Void] = [
            { $0.revocationDate = day(6) }, { $0.revocationPercentage = 25_000 }, { $0.revocationReason = .appIssue },
            { $0.revocationType = .fullRefund }, { $0.originalPurchaseDate = day(-1) },
            { $0.previousOriginalTransactionID = "8" }, { $0.evidenceExpirationDate = day(9) },
            { $0.offer = PurchaseOffer(type: .introductory, period: "P1M") },
            { $0.appAccountToken = AppAccountToken(signed: "a") }, { $0.isRevoked = nil }, { $0.isUpgraded = nil },
        ]
        for (change, revoked) in changes.flatMap({ change in [true, false].map { (change, $0) } }) {
            var one = first
            one.isRevoked = revoked
            var other = one
            change(&other)
            for asked in [4.0, 5.5, 7] {
                let decided = permutations([one, other]).map { Entitlements(trustingStored: $0, at: day(asked)) }
                #expect(decided[0].items == decided[1].items)
            }
        }
    }

    @Test func `a renewal that an upgrade replaced before it began does not end the upgrade`() throws {
        // Apple signs a renewal up to a day before it begins. The upgrade comes in between.
        let transactions = [
            Transaction.period("1", 0..<30, isUpgraded: true), .period("2", 29.5..<59.5, "premium"),
            .period("3", 30..<60, isUpgraded: true),
        ]
        for source in [EvidenceSource.transactions, .stored] {
            #expect(
                try source.entitlements(of: transactions, at: day(40)).codes
                    == ["1": "upgraded", "2": "active", "3": "upgraded"])
        }
    }

    /// Apple sends a renewal when it charges, and may never send it again.
    @Test(arguments: [(29.2, true), (29.5, false), (29.6, false)])
    func `a renewal that was last signed before an upgrade is cancelled by it`(signed: Double, isCancelled: Bool) throws
    {
        for renewed in ["basic", "silver"] {
            let purchases = try [
                Transaction.period("1", 0..<30).purchase(signed: 20),
                Transaction.period("2", 29.5..<59.5, "premium").purchase(signed: 29.5),
                Transaction.period("3", 30..<60, renewed).purchase(signed: signed),
            ]
            for order in permutations(purchases) {
                let codes = Entitlements(trustingStored: order, at: day(45)).codes
                #expect(
                    codes
                        == (isCancelled
                            ? ["1": "upgraded", "2": "active", "3": "upgraded"]
                            : ["1": "upgraded", "2": "upgraded", "3": "active"]))
            }
        }
    }

    @Test func `a renewal that an upgrade cancelled is never the current period`() throws {
        for (revoked, asked) in [(nil, 65), (33, 45)] as [(Double?, Double)] {
            for isUpgraded in [true, false] {
                let purchases = try [
                    Transaction.period("1", 0..<30, isUpgraded: true).purchase(signed: 45),
                    Transaction.period("2", 29.5..<59.5, "premium", revoked: revoked).purchase(signed: 45),
                    Transaction.period("3", 30..<60, isUpgraded: isUpgraded).purchase(signed: isUpgraded ? 45 : 29.2),
                ]
                let entitlements = Entitlements(trustingStored: purchases, at: day(asked))
                #expect(entitlements.subscriptions.map(\.currentPeriod.transactionID) == ["2"])
            }
        }
    }

    @Test func `renewal information that was signed together decides alike in every order`() throws {
        let purchase = try Transaction.period("1", 0..<30).purchase()
        let renewals = ["basic", "premium"].map { product in
            var renewal = SubscriptionRenewal(originalTransactionID: "1", signedDate: day(31))
            (renewal.environment, renewal.productID) = (purchase.environment, product)
            renewal.gracePeriodExpiresDate = day(46)
            return renewal
        }
        let decided = permutations(renewals).map {
            Entitlements(trustingStored: [purchase], renewals: $0, at: day(40))
        }
        #expect(decided[0].items == decided[1].items && decided[0].subscriptions == decided[1].subscriptions)
    }

    @Test func `a revocation without a date counts always, also of a period that was upgraded`() throws {
        var revoked = try Transaction.period("1", 0..<30, isUpgraded: true).purchase()
        revoked.isRevoked = true
        let next = try Transaction.period("2", 20..<50, "premium").purchase()
        for order in permutations([revoked, next]) {
            #expect(Entitlements(trustingStored: order, at: day(5)).codes == ["1": "upgraded", "2": "not-yet"])
            #expect(Entitlements(trustingStored: order, at: day(25)).codes == ["1": "upgraded", "2": "active"])
        }
    }

    @Test func `an upgrade that was refunded without a date does not bring the old period back`() throws {
        let old = try Transaction.period("1", 0..<30).purchase()
        var upgrade = try Transaction.period("2", 20..<50, "premium").purchase()
        upgrade.isRevoked = true
        for order in permutations([old, upgrade]) {
            #expect(Entitlements(trustingStored: order, at: day(25)).codes == ["1": "upgraded", "2": "revoked"])
        }
        let subscription = Entitlements(trustingStored: [upgrade], at: day(25)).subscriptions.first
        #expect(subscription?.expiresDate == day(20) && subscription?.isActive == false)
    }
}
