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
        #expect(Self.kinds(other) == [["product-change"]])
        #expect(Self.kinds(expired, isGranted: false) == [["cancelled"]])
        // A period bought after the signature was charged.
        #expect(try Self.kinds(Self.state(signed: -1) { $0.isInBillingRetryPeriod = true }) == [[]])
        // A refund, and its reversal, do not end it again.
        let refunded = try Self.state(signed: 31, isRevoked: true) { $0.autoRenewStatus = .off }
        #expect(Self.kinds(expired, refunded, expired) == [["cancelled", "expired"], [], []])
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
        let states = try [
            Self.state(), Self.state(product: "pro") { $0.nextProductID = "basic" }, Self.state(transaction: "2"),
            Self.state(extended: 1), Self.state { $0.autoRenewStatus = .off }, Self.state { $0.nextProductID = "pro" },
            Self.state(signed: 31) { $0.isInBillingRetryPeriod = true },
            Self.state { $0.priceIncreaseStatus = .pending }, Self.state(isRevoked: true),
            Self.state(signed: 31) { $0.autoRenewStatus = .off }, Self.state(nil),
        ]
        for (index, state) in states.enumerated() {
            #expect(states.indices.filter { states[$0] == state } == [index])
        }
    }

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
