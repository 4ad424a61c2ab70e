import AppStoreReceipt
import AppStoreReceiptTesting
@testable import LedgerCore
import LedgerModels
import Testing

/// What belongs together, and what an account keeps of it.
@Suite struct LineageTests {
    private func coins(_ id: String, _ change: (inout Purchase) -> Void = { _ in }) throws -> Submission {
        var builder = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "coins", transactionID: id, signedDate: day(0))
        builder.productType = .consumable
        var purchase = try #require(Minted.evidence(builder).purchases.first?.purchase)
        change(&purchase)
        return Submission([SubmittedPurchase(purchase)])
    }

    private func key(_ id: String, _ bundleID: String = "a", _ environment: AppStoreEnvironment = .production)
        -> TransactionKey
    {
        TransactionKey(environment: environment, bundleID: bundleID, transactionID: id)
    }

    @Test func `R6: two purchases that turn out to be one are the first owner's, and each account keeps its grants`()
        throws
    {
        let ledger = MemoryLedger()
        #expect(try ledger.redeem(coins("1"), for: "anna", at: day(1)) == [.granted])
        #expect(try ledger.redeem(coins("2"), for: "ben", at: day(2)) == [.granted])
        let joining = try coins("3") { ($0.originalTransactionID, $0.previousOriginalTransactionID) = ("2", "1") }
        #expect(ledger.redeem(joining, for: "carl", at: day(3)) == [.belongsToAnother])
        func accounts() -> [String] {
            ledger.grants.sorted { $0.transaction < $1.transaction }.map(\.account)
        }
        #expect(ledger.lineages.byID.values.map { $0.owner?.account } == ["anna"])
        #expect(accounts() == ["anna", "ben", "anna"])
        // The account that does not own it gives away its own grant alone.
        ledger.transfer(from: "ben", to: "dora", at: day(4))
        #expect(ledger.lineages.byID.values.map { $0.owner?.account } == ["anna"])
        #expect(accounts() == ["anna", "dora", "anna"])
        ledger.transfer(from: "anna", to: "ben", at: day(5))
        #expect(ledger.lineages.byID.values.map { $0.owner?.account } == ["ben"])
        #expect(accounts() == ["ben", "dora", "ben"])
    }

    @Test func `a transaction is another in another environment, in another app, and with another id`() {
        let keys = [key("1"), key("2"), key("1", "b"), key("1", "a", .sandbox)]
        #expect(Set(keys).count == 4 && key("1") == keys[0])
    }

    @Test(arguments: ["support-1", "assigned-1-2", "bought-1", "", "1\0", String(repeating: "1", count: 256)])
    func `a purchase with an id that is reserved or cannot be stored has no keys, and is undetermined`(id: String)
        throws
    {
        let ledger = MemoryLedger()
        for change in [{ $0.transactionID = id }, { $0.originalTransactionID = id }] as [(inout Purchase) -> Void] {
            #expect(try ledger.redeem(coins("1", change), for: "anna", at: day(1)) == [.undetermined])
        }
        #expect(ledger.lineages.byID.isEmpty)
    }

    @Test func `an id of 255 bytes is stored`() throws {
        let id = String(repeating: "1", count: 255)
        #expect(try MemoryLedger().redeem(coins(id), for: "anna", at: day(1)) == [.granted])
    }

    @Test func `what an operator took back in the database stays taken back`() throws {
        let ledger = MemoryLedger()
        let evidence = try coins("1")
        let key = try #require(evidence.keys.first)
        let voided = Grant(transaction: key, account: "anna", productID: "coins", quantity: 0, isVoided: true)
        #expect(ledger.grant(voided, at: day(0)))
        #expect(ledger.redeem(evidence, for: "anna", at: day(1)) == [.revoked])
        let error = #expect(throws: LedgerError.self) { try ledger.adjust(key, to: 1, at: day(2)) }
        #expect(error?.code == .notAdjustable && ledger.events.isEmpty)
    }

    /// What support set when Apple's evidence said a quantity, and what is left when it says another.
    @Test(
        arguments: [
            (0, 5, 5, 0), (0, 5, 9, 0), (2, 5, 5, 2), (2, 5, 0, 0), (2, 5, 4, 1), (2, 5, 1, 0), (6, 5, 3, 4),
        ] as [(Int64, Int64, Int64, Int64)])
    func `a refund takes from what support set, never below nothing`(
        _ set: Int64, _ then: Int64, _ signed: Int64, _ left: Int64
    ) {
        let adjusted = AdjustedQuantity(quantity: set, signedThen: then)
        #expect(adjusted.quantity(signed: signed) == left)
        var grant = Grant(transaction: key("1"), account: "anna", productID: "coins", quantity: left)
        grant.adjusted = adjusted
        #expect(grant.isTakenBack == (set == 0))
    }

    @Test func `a non-renewing subscription of unknown length is granted once, without an end`() throws {
        let ledger = MemoryLedger()
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let bought = history.buyNonRenewing("card", at: day(0))
        let card = try history.evidence(bought, signedAt: day(1))
        #expect(ledger.redeem(card, for: "anna", at: day(1)) == [.granted])
        #expect(ledger.redeem(card, for: "anna", at: day(400)) == [.alreadyYours])
        #expect(ledger.grants.map(\.until) == [nil] && ledger.effects.notices.unknownLengths == ["card"])
    }

    @Test func `a subscription is one new purchase, and each period that lasts has an end`() throws {
        let ledger = MemoryLedger(forSale: ["monthly"])
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        _ = try ledger.redeem(history.evidence(subscription.firstPeriod, signedAt: day(1)), for: "anna", at: day(1))
        let renewal = history.renew(subscription, at: day(30))
        try ledger.record(history.evidence(renewal, signedAt: day(31)), at: day(31))
        #expect(ledger.effects.newPurchases.count == 1 && ledger.effects.periodEnds.count == 2)
        history.refund(renewal, at: day(32))
        try ledger.record(history.evidence(renewal, signedAt: day(33)), at: day(33))
        #expect(ledger.effects.periodEnds.count == 2)
        // Its owner gets nothing that is not for sale.
        let gold = history.resubscribe(subscription, to: "gold", at: day(70))
        try ledger.record(history.evidence(gold, signedAt: day(71)), at: day(71))
        #expect(ledger.events.map(\.kind) == [.granted, .granted, .revoked])
    }
}
