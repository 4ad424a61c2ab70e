import AppStoreReceipt
@testable import LedgerCore
import LedgerModels
import Testing

/// What lifecycle events report of one state after another.
@Suite struct LifecycleStateTests {
    /// The state of a subscription whose newest period is days 0 to 30, as last signed.
    private static func state(
        signed: Double = 5, product: String = "basic", transaction: String = "1", extended: Double = 0,
        isRevoked: Bool = false, _ change: ((inout SubscriptionRenewal) -> Void)? = { _ in }
    ) throws -> LifecycleState {
        var purchase = Purchase(
            productID: product, transactionID: transaction, originalTransactionID: "1", quantity: 1,
            purchaseDate: day(0), signedDate: day(0))
        purchase.productType = .autoRenewableSubscription
        purchase.expiresDate = day(30 + extended)
        if isRevoked { purchase.revocation = .revoked(Purchase.Revocation.Details(date: day(3))) }
        (purchase.bundleID, purchase.environment) = (Minted.bundleID, .production)
        var renewal = SubscriptionRenewal(originalTransactionID: "1", signedDate: day(signed))
        renewal.environment = .production
        (renewal.autoRenewStatus, renewal.nextProductID) = (.on, product)
        change?(&renewal)
        let renewals = change == nil ? [] : [renewal]
        let decided = Entitlements(trustingStored: [purchase], renewals: renewals, at: day(400))
        return LifecycleState(try #require(decided.subscriptions.first))
    }

    private static func kinds(_ states: LifecycleState?..., isGranted: Bool = true) -> [[String]] {
        var notified: LifecycleState?
        return states.compactMap(\.self).map { state in
            let (kinds, now) = state.following(notified, isGranted: isGranted)
            notified = now
            return kinds.map(\.rawValue)
        }
    }

    @Test func `an account is notified of what becomes otherwise, and first of what is unusual`() throws {
        let quiet = try Self.state()
        let cancelled = try Self.state { $0.autoRenewStatus = .off }
        let failed = try Self.state(signed: 31) { $0.isInBillingRetryPeriod = true }
        let inGrace = try Self.state(signed: 31) { $0.gracePeriodExpiresDate = day(46) }
        let pending = try Self.state { $0.priceIncreaseStatus = .pending }
        let agreed = try Self.state { $0.priceIncreaseStatus = .accepted }
        let other = try Self.state { $0.nextProductID = "pro" }
        let expired = try Self.state(signed: 31) { ($0.autoRenewStatus, $0.expirationIntent) = (.off, .cancelled) }
        let failedForGood = try Self.state(signed: 95) {
            ($0.autoRenewStatus, $0.expirationIntent, $0.isInBillingRetryPeriod) = (.off, .billingError, false)
        }
        let again = try Self.state(product: "pro", transaction: "2")
        let unknown = try Self.state(nil)
        #expect(Self.kinds(quiet, cancelled, cancelled, quiet) == [[], ["cancelled"], [], ["uncancelled"]])
        #expect(Self.kinds(quiet, failed, inGrace, quiet) == [[], ["billing-issue"], [], ["recovered"]])
        #expect(Self.kinds(quiet, pending, agreed, quiet) == [[], ["price-increase"], ["price-increase"], []])
        #expect(Self.kinds(quiet, other, other, quiet) == [[], ["product-change"], [], ["product-change"]])
        #expect(Self.kinds(cancelled, expired) == [["cancelled"], ["expired"]])
        // Nothing recovered when Apple gave up, only when the customer subscribed again.
        #expect(
            Self.kinds(failed, failedForGood, again)
                == [["billing-issue"], ["cancelled", "expired"], ["uncancelled", "recovered", "product-change"]])
        #expect(Self.kinds(failedForGood, quiet) == [["cancelled", "expired"], ["uncancelled"]])
        // An unknown state changes nothing.
        #expect(Self.kinds(unknown, cancelled, unknown, quiet) == [[], ["cancelled"], [], ["uncancelled"]])
        #expect(Self.kinds(pending, unknown, pending) == [["price-increase"], [], []])
        #expect(Self.kinds(other) == [["product-change"]])
        #expect(Self.kinds(expired, isGranted: false) == [["cancelled"]])
        // A period bought after the signature was charged.
        #expect(try Self.kinds(Self.state(signed: -1) { $0.isInBillingRetryPeriod = true }) == [[]])
        // A refund, and its reversal, do not end it again.
        let refunded = try Self.state(signed: 31, isRevoked: true) { $0.autoRenewStatus = .off }
        #expect(Self.kinds(expired, refunded, expired) == [["cancelled", "expired"], [], []])
        // Another period ends, and so does one that was extended.
        for (transaction, extended) in [("2", 0.0), ("1", 10)] {
            func over(isRevoked: Bool) throws -> LifecycleState {
                try Self.state(signed: 45, transaction: transaction, extended: extended, isRevoked: isRevoked) {
                    $0.autoRenewStatus = .off
                }
            }
            #expect(try Self.kinds(expired, over(isRevoked: true), over(isRevoked: false))[2] == ["expired"])
        }
    }

    @Test(
        arguments: [
            // In the retry period: signed before the period, at its begin, and of an older period.
            (-1, nil, nil, false), (0, nil, nil, true), (5, nil, 0, false),
            // In a grace period, which extends the period that was signed.
            (10, 20, nil, false), (10, 30, nil, false), (10, 31, nil, true), (31, 31, nil, false),
        ] as [(Double, Double?, Double?, Bool)])
    func `a charge failed if Apple still tries after the period that was signed`(
        signed: Double, grace: Double?, renews: Double?, isNotified: Bool
    ) throws {
        let state = try Self.state(signed: signed) { renewal in
            if grace == nil { renewal.isInBillingRetryPeriod = true }
            (renewal.gracePeriodExpiresDate, renewal.renewalDate) = (grace.map(day), renews.map(day))
        }
        #expect(Self.kinds(state) == [isNotified ? ["billing-issue"] : []])
    }

    @Test func `a subscription expires by what was signed after its end, and not while Apple tries`() throws {
        func isNotified(
            signed: Double, isRevoked: Bool = false, _ change: @escaping (inout SubscriptionRenewal) -> Void
        ) throws -> Bool {
            let state = try Self.state(signed: signed, isRevoked: isRevoked) { renewal in
                renewal.autoRenewStatus = .off
                change(&renewal)
            }
            return Self.kinds(state)[0].contains("expired")
        }
        #expect(try isNotified(signed: 30) { _ in })
        #expect(try !isNotified(signed: 29.999) { $0.expirationIntent = .other })
        // It can still renew.
        #expect(try !isNotified(signed: 31) { $0.autoRenewStatus = .on })
        #expect(try isNotified(signed: 31) { ($0.autoRenewStatus, $0.expirationIntent) = (.on, .productUnavailable) })
        #expect(try !isNotified(signed: 31) { $0.isInBillingRetryPeriod = true })
        // A later, unknown period runs.
        #expect(try !isNotified(signed: 31) { $0.renewalDate = day(60) })
        #expect(try isNotified(signed: 31) { $0.renewalDate = day(30) })
        #expect(try !isNotified(signed: 45) { $0.gracePeriodExpiresDate = day(46) })
        #expect(try isNotified(signed: 46) { $0.gracePeriodExpiresDate = day(46) })
        #expect(try !isNotified(signed: 31, isRevoked: true) { _ in })
        // It ended an older period.
        #expect(try !isNotified(signed: 31) { ($0.renewalDate, $0.expirationIntent) = (day(0), .cancelled) })
    }

    @Test func `an extension is of one period, and longer than what receipts round`() throws {
        let quiet = try Self.state()
        let second = 1.0 / 86_400
        #expect(try Self.kinds(quiet, Self.state(extended: 10)) == [[], ["renewal-extended"]])
        #expect(try Self.kinds(quiet, Self.state(extended: second * 0.4)) == [[], []])
        #expect(try Self.kinds(quiet, Self.state(transaction: "2", extended: 30)) == [[], []])
        #expect(try Self.kinds(Self.state(extended: 10), quiet) == [[], []])
    }

    @Test func `states are the same if all that is reported is`() throws {
        let expired = try Self.state(signed: 31) { $0.autoRenewStatus = .off }
        let refunded = try Self.state(signed: 31, isRevoked: true) { $0.autoRenewStatus = .off }
        let states = try [
            refunded, refunded.following(expired, isGranted: true).notified, expired, Self.state(),
            Self.state(product: "pro") { $0.nextProductID = "basic" }, Self.state(transaction: "2"),
            Self.state(extended: 1), Self.state { $0.autoRenewStatus = .off }, Self.state { $0.nextProductID = "pro" },
            Self.state(signed: 31) { $0.isInBillingRetryPeriod = true },
            Self.state { $0.priceIncreaseStatus = .pending }, Self.state(isRevoked: true), Self.state(nil),
        ]
        for (index, state) in states.enumerated() {
            #expect(states.indices.filter { states[$0] == state } == [index])
        }
    }

    // MARK: The newest period

    @Test func `the newest period is one that has begun, by a slow clock, too, and that was not replaced`() throws {
        func period(
            _ id: String, _ product: String = "basic", from start: Double, _ change: (inout Purchase) -> Void = { _ in }
        ) -> Purchase {
            var purchase = Purchase(
                productID: product, productType: .autoRenewableSubscription, transactionID: id,
                originalTransactionID: "1", bundleID: Minted.bundleID, environment: .production,
                purchaseDate: day(start), expiresDate: day(start + 30), signedDate: day(29.6))
            change(&purchase)
            return purchase
        }
        func newest(_ periods: [Purchase], at date: Double) throws -> String {
            let decided = Entitlements(trustingStored: periods, at: day(date))
            return try #require(decided.subscriptions.first).newestPeriod.transactionID
        }
        // Refunded before it began, as it began, and later.
        for (date, id) in [(29.8, "1"), (30, "1"), (30.001, "2"), (40, "2")] {
            let renewal = period("2", from: 30) { $0.revocation = .revoked(.init(date: day(date))) }
            #expect(try newest([period("1", from: 0), renewal], at: 50) == id)
        }
        // An upgrade cancelled the renewal, which Apple had signed. The clock is a minute behind.
        let upgraded = [("1", 0.0), ("3", 30)].map { id, start in period(id, from: start) { $0.isUpgraded = true } }
        #expect(try newest(upgraded + [period("2", "gold", from: 29.5)], at: 29.5 - 1.0 / 1440) == "2")
    }

    /// Two subscriptions are of one lineage if something else is of both.
    @Test(
        arguments: [([0], 10, "2"), ([0, 60], 30, "3"), ([0], 0, "1")] as [([Double], Double, String)])
    func `of the subscriptions of a lineage, the one bought last is notified, or the first of two`(
        ones: [Double], two: Double, newest: String
    ) throws {
        let ledger = MemoryLedger(notifiesLifecycles: true)
        let link = try Minted.period("9", of: "2", from: 0) {
            $0.productType = .consumable
            ($0.payload["expiresDate"], $0.payload["previousOriginalTransactionId"]) = (nil, "1")
        }
        ledger.redeem(link, for: "anna", at: day(100))
        let last = max(ones[ones.count - 1], two)
        for (id, start) in zip(["1", "3"], ones) {
            try ledger.redeem(Minted.period(id, of: "1", from: start), for: "anna", at: day(100))
        }
        try ledger.redeem(Minted.period("2", of: "2", from: two), for: "anna", at: day(100))
        #expect(ledger.lineages.byID.count == 1)
        for original in ["1", "2"] {
            let off = try Minted.renewal(of: original, signed: last + 1, ends: last + 30) { $0.autoRenewStatus = .off }
            ledger.redeem(off, for: "anna", at: day(100))
        }
        let events = ledger.events.filter { $0.lifecycle != nil }
        #expect(events.map(\.kind) == [.cancelled] && events.map(\.transactionID) == [newest])
    }

    @Test func `nothing is notified of a subscription that is not for sale`() throws {
        for product in ["basic", "gold"] {
            let ledger = MemoryLedger(forSale: [product], notifiesLifecycles: true)
            try ledger.record(Minted.period("1", of: "1", from: 0), at: day(1))
            try ledger.record(Minted.renewal(signed: 5, ends: 30) { $0.autoRenewStatus = .off }, at: day(5))
            let isForSale = product == "basic"
            #expect(ledger.effects.unownedEvents.map(\.kind) == (isForSale ? [.cancelled] : []))
        }
    }

    @Test func `an event about a period that Apple sold later has no fact of older renewal information`() throws {
        let ledger = MemoryLedger(notifiesLifecycles: true)
        let rise = try Minted.renewal(signed: 5, ends: 365) {
            ($0.autoRenewStatus, $0.priceIncreaseStatus, $0.expirationIntent) = (.off, .pending, .cancelled)
        }
        let pieces = [
            try Minted.period("1", of: "1", from: 0) { $0.expiresDate = day(365) }, rise,
            try Minted.period("2", of: "1", from: 10) { $0.productID = "pro" },
        ]
        for piece in pieces { ledger.redeem(piece, for: "anna", at: day(11)) }
        let events = ledger.events.filter { [.cancelled, .uncancelled].contains($0.kind) }
        let facts = try events.map { try #require($0.lifecycle) }
        #expect(facts.map(\.happenedAt) == [day(5), day(10)] && facts.map(\.renewsAs) == ["basic", "pro"])
        #expect(facts.map(\.priceIncrease) == [.pending, nil] && facts.map(\.expirationReason) == [.cancelled, nil])
    }

    // MARK: Renewal information

    /// Of a period of «basic» from day 10 to 40.
    @Test(
        arguments: [
            // Signed at its begin or later.
            (10, nil, "basic", "basic", true), (11, 40, "basic", "basic", true), (11, 10, "basic", "basic", false),
            // Within the day before it begins: of its product, or with its end.
            (9.5, nil, "basic", "gold", true), (9.5, nil, "gold", "basic", true), (9.5, 40, "gold", "gold", true),
            (9.5, nil, "gold", "gold", false), (9.5, 50, "gold", "gold", false), (9.5, 10, "basic", "gold", true),
            (9.5, 9.9, "basic", "gold", false), (9, nil, "basic", "basic", true), (8.9, nil, "basic", "basic", false),
        ] as [(Double, Double?, String, String, Bool)])
    func `renewal information covers the periods that Apple knew when it signed it`(
        _ signed: Double, _ renews: Double?, _ product: String, _ next: String, _ covers: Bool
    ) {
        var period = Purchase(
            productID: "basic", transactionID: "1", originalTransactionID: "1", purchaseDate: day(10),
            signedDate: day(10))
        period.expiresDate = day(40)
        var renewal = SubscriptionRenewal(originalTransactionID: "1", signedDate: day(signed))
        (renewal.productID, renewal.nextProductID, renewal.renewalDate) = (product, next, renews.map(day))
        #expect(renewal.covers(period) == covers)
        renewal.expirationIntent = .cancelled
        #expect(renewal.covers(period) == (covers && signed >= 10))
    }
}
