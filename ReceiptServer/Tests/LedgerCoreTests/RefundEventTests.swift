import AppStoreReceipt
import AppStoreReceiptTesting
@testable import LedgerCore
import LedgerModels
import Testing

/// Requests for refunds: who is notified, and which are old.
@Suite struct RefundEventTests {
    private typealias Change = (inout JWSBuilder) -> Void

    private func transaction(
        _ id: String, of original: String? = nil, _ product: String = "coins", type: ProductType = .consumable,
        signed: Double = 0, _ change: Change = { _ in }
    ) -> JWSBuilder {
        var builder = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: product, transactionID: id, signedDate: day(signed))
        (builder.productType, builder.purchaseDate, builder.quantity) = (type, day(0), 1)
        builder.originalTransactionID = original ?? id
        change(&builder)
        return builder
    }

    /// A request for the refund of a transaction, signed on a day.
    private func request(
        _ transaction: JWSBuilder, signed: Double, uuid: String = "4ad0"
    ) throws -> VerifiedEvidence {
        var builder = JWSBuilder.notification(
            .consumptionRequest, bundleID: Minted.bundleID,
            transaction: try transaction.signed(by: Minted.authority.get()), signedDate: day(signed))
        builder.notificationUUID = uuid
        return .notification(try Minted.notification(builder))
    }

    /// The events about requests, also those about purchases without an owner.
    private func requests(_ ledger: MemoryLedger) -> [LedgerEvent] {
        (ledger.events + ledger.effects.unownedEvents).filter { $0.kind == .refundRequested }
    }

    @Test(
        arguments: [
            // Something is left.
            (nil, 12, true), (.revoked(5, percent: 50), 12, true), (.revoked(12, percent: 50), 12, false),
            // Nothing is left, by a refund that Apple signed before the request, with it, or after it.
            (.revoked(5), 5, true), (.revoked(5), 10, true), (.revoked(5), 12, false),
            // Apple had dated the refund ahead.
            (.revoked(15), 8, false),
        ] as [(Refund?, Double, Bool)])
    func `a request of day 10 is old if a refund came after it, or Apple signed later that nothing is left`(
        _ refund: Refund?, signed: Double, isNotified: Bool
    ) throws {
        let ledger = MemoryLedger(notifiesLifecycles: true)
        let sold = transaction("1") { $0.quantity = 4 }
        try ledger.redeem(Minted.evidence(sold), for: "anna", at: day(1))
        var later = sold
        later.signedDate = day(signed)
        if let refund {
            (later.revocationDate, later.revocationReason) = (day(refund.date), .other)
            later.revocationPercentage = refund.percent.map { $0 * 1000 }
            later.revocationType = refund.percent.map { _ in .proratedRefund }
        }
        try ledger.record(Minted.evidence(later), at: day(20))
        try ledger.record(request(sold, signed: 10), at: day(20))
        #expect(requests(ledger).count == (isNotified ? 1 : 0))
    }

    /// What Apple refunded, and on which day.
    struct Refund: Sendable {
        let date: Double
        let percent: Int64?

        static func revoked(_ date: Double, percent: Int64? = nil) -> Refund { Refund(date: date, percent: percent) }
    }

    @Test(arguments: [(10, 5, true), (20, 15, false)] as [(Double, Double, Bool)])
    func `an upgrade makes no request old, and the refund of the period that was upgraded does`(
        revoked: Double, requested: Double, isNotified: Bool
    ) throws {
        let ledger = MemoryLedger(notifiesLifecycles: true)
        let old = period("1", of: "1", "basic", from: 0)
        try ledger.redeem(Minted.evidence(old), for: "anna", at: day(1))
        var upgraded = old
        (upgraded.isUpgraded, upgraded.revocationDate, upgraded.signedDate) = (true, day(revoked), day(10))
        try ledger.record(Minted.evidence(upgraded), at: day(25))
        try ledger.record(Minted.evidence(period("2", of: "1", "gold", from: 10)), at: day(25))
        try ledger.record(request(old, signed: requested), at: day(25))
        #expect(requests(ledger).count == (isNotified ? 1 : 0))
    }

    @Test func `nobody is notified of a request about what another customer paid for, or what is not for sale`() throws
    {
        func count(
            forSale: [String]? = nil, uuid: String = "4ad0", _ change: Change = { _ in }
        ) throws -> Int {
            let ledger = MemoryLedger(forSale: forSale, notifiesLifecycles: true)
            let sold = transaction("1", signed: 0, change)
            try ledger.redeem(Minted.evidence(sold), for: "anna", at: day(1))
            try ledger.record(request(sold, signed: 2, uuid: uuid), at: day(2))
            return requests(ledger).count
        }
        #expect(try count() == 1 && count(forSale: ["coins"]) == 1)
        #expect(try count { $0.ownershipType = .familyShared } == 0)
        #expect(try count { ($0.ownershipType, $0.appTransactionID) = (.assigned, "701") } == 0)
        #expect(try count(forSale: ["gems"]) == 0)
        // Apple signs no such id, and the tables hold none.
        #expect(try count(uuid: String(repeating: "4", count: 256)) == 0)
    }

    @Test(arguments: ["anna", "ben"])
    func `of two copies of a purchase, the one that the request is about is notified`(_ second: String) throws {
        let ledger = MemoryLedger(notifiesLifecycles: true)
        for (id, account) in [("1", "anna"), ("2", second)] {
            try ledger.redeem(
                Minted.evidence(transaction(id, "pro", type: .nonConsumable)), for: account, at: day(1))
        }
        // Apple signs later that the others restore the first.
        for id in ["1", "2", "3"] {
            let copy = transaction(id, of: "1", "pro", type: .nonConsumable, signed: 2)
            try ledger.record(request(copy, signed: 3), at: day(3))
        }
        let events = requests(ledger)
        #expect(events.map(\.account) == ["anna", second, "anna"])
        #expect(events.map(\.transactionID) == ["1", "2", "3"] && events.map(\.quantity) == [1, 1, 0])
        #expect(events.map { $0.lifecycle?.grantedAs } == ["1", "2", "1"])
    }
}
