import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import Testing
import TrialSupport

/// Lifecycle events that would be false, stale or repeated.
@Suite struct LifecycleRuleTests {
    private static func withLedger(
        _ place: Place, orders: Bool = false, _ body: (PurchaseLedger) throws -> Void
    ) throws {
        var policy = LedgerPolicy()
        policy.lifecycleEvents = true
        policy.orders = orders ? OrderPolicy() : nil
        try place.withLedger(policy, body)
    }

    private static func subscribed() -> (PurchaseHistory, PurchaseHistory.Subscription) {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let subscription = history.subscribe(to: "basic", in: "group", for: .days(30), at: day(0))
        return (history, subscription)
    }

    @Test(arguments: Place.available)
    func `a charge within a grace period recovers, also if only the purchase says so`(_ place: Place) throws {
        var (history, subscription) = Self.subscribed()
        history.failToRenew(subscription, gracePeriod: .seconds(16 * 86_400))
        let second = history.renew(subscription, at: day(35))
        let first = try history.evidence(subscription.firstPeriod, signedAt: day(0))
        let renewed = try history.evidence(second, signedAt: day(36))
        let failed = try #require(
            history.verifiedNotifications(through: day(31)).first { $0.type == .didFailToRenew })
        // The notification of the charge is lost.
        try Self.withLedger(place) { ledger in
            _ = try ledger.redeem(first, for: "anna", at: day(0))
            try ledger.record(failed, at: day(30))
            _ = try ledger.redeem(renewed, for: "anna", at: day(36))
            let kinds = try ledger.posted("anna").map(\.kind)
            #expect(kinds.contains("recovered"), "charge seen later: \(kinds)")
        }
        // That of the failure is late.
        try Self.withLedger(place) { ledger in
            _ = try ledger.redeem(first, for: "anna", at: day(0))
            _ = try ledger.redeem(renewed, for: "anna", at: day(36))
            try ledger.record(failed, at: day(37))
            let kinds = try ledger.posted("anna").map(\.kind)
            #expect(!kinds.contains("billing-issue"), "charge seen before: \(kinds)")
        }
    }

    @Test(arguments: Place.available)
    func `a request that a refund answered is not notified late`(_ place: Place) throws {
        for isReversed in [true, false] {
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", quantity: 4, at: day(0))
            history.requestRefund(of: coins, at: day(1))
            if isReversed {
                history.refund(coins, at: day(2))
                history.reverseRefund(of: coins, at: day(3))
            } else {
                history.refund(coins, at: day(2), percentage: 50_000)
            }
            let sent = try history.verifiedNotifications(through: day(5))
            let index = try #require(sent.firstIndex { $0.type == .consumptionRequest })
            var late = sent
            late.append(late.remove(at: index))
            try Self.withLedger(place) { ledger in
                _ = try ledger.redeem(history.evidence(coins, signedAt: day(0)), for: "anna", at: day(0))
                for notification in late { try ledger.record(notification, at: day(6)) }
                let kinds = try ledger.posted("anna").map(\.kind)
                #expect(!kinds.contains("refund-requested"), "reversed \(isReversed): \(kinds)")
            }
        }
    }

    @Test(arguments: Place.available)
    func `a request is not notified late after a refund that a client submitted`(_ place: Place) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", quantity: 4, at: day(0))
        history.requestRefund(of: coins, at: day(1))
        history.refund(coins, at: day(2), percentage: 50_000)
        let request = try #require(
            history.verifiedNotifications(through: day(1.5)).first { $0.type == .consumptionRequest })
        try Self.withLedger(place) { ledger in
            _ = try ledger.redeem(history.evidence(coins, signedAt: day(0)), for: "anna", at: day(0))
            _ = try ledger.redeem(history.evidence(coins, signedAt: day(3)), for: "anna", at: day(3))
            try ledger.record(request, at: day(4))
            let kinds = try ledger.posted("anna").map(\.kind)
            #expect(kinds == ["granted", "adjusted"], "\(kinds)")
        }
    }

    @Test(.enabled(if: Sampling.runsSlowTests), arguments: Place.available)
    func `nothing overtakes a request for a refund at which the closure threw`(_ place: Place) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", at: day(0))
        history.requestRefund(of: coins, at: day(1))
        history.declineRefund(of: coins, at: day(2))
        try Self.withLedger(place) { ledger in
            _ = try ledger.redeem(history.evidence(coins, signedAt: day(0)), for: "anna", at: day(0))
            for notification in try history.verifiedNotifications(through: day(5)) {
                try ledger.record(notification, at: day(3))
            }
            let seen = Guarded((kinds: [String](), hasFailed: false))
            struct Refusal: Error {}
            let delivery = EventDelivery(ledger) { event in
                try seen.withLock {
                    if event.kind == .refundRequested, !$0.hasFailed {
                        $0.hasFailed = true
                        throw Refusal()
                    }
                    $0.kinds.append(event.kind.rawValue)
                }
            }
            let thread = Thread { delivery.run { _ in } }
            thread.start()
            try wait { try ledger.outboxCounts().pending == 0 }
            delivery.stop()
            while !thread.isFinished { usleep(10_000) }
            let kinds = seen.withLock { $0.kinds }
            let request = kinds.firstIndex(of: "refund-requested") ?? 9
            #expect(request < kinds.firstIndex(of: "refund-declined") ?? 0, "\(kinds)")
        }
    }

    @Test(arguments: Place.available)
    func `a request for a refund goes to the account that was granted the purchase`(_ place: Place) throws {
        try Self.withLedger(place) { ledger in
            _ = try ledger.redeem(Minted.period("2", of: "2", from: 0), for: "ben", at: day(1))
            _ = try ledger.redeem(Minted.period("1", of: "1", from: 0), for: "anna", at: day(2))
            _ = try ledger.redeem(
                Minted.period("3", of: "2", from: 30) { $0.payload["previousOriginalTransactionId"] = "1" },
                for: "ben", at: day(31))
            #expect(try ledger.owner(of: "1", bundleID: Minted.bundleID) == "anna")
            let signed = try period("1", of: "1", "basic", from: 0, signed: 32).signed(by: Minted.authority.get())
            try ledger.record(
                Minted.notification(
                    .notification(
                        .consumptionRequest, bundleID: Minted.bundleID, transaction: signed, signedDate: day(32))),
                at: day(32))
            let (annas, bens) = (try ledger.posted("anna").map(\.kind), try ledger.posted("ben").map(\.kind))
            #expect(annas.contains("refund-requested") && !bens.contains("refund-requested"), "\(annas) \(bens)")
        }
    }

    @Test(arguments: Place.available)
    func `the events of a transfer with tokens carry them`(_ place: Place) throws {
        try Self.withLedger(place, orders: true) { ledger in
            let token = try ledger.token(for: "anna").token
            var history = PurchaseHistory(bundleID: Minted.bundleID, appAccountToken: token.description)
            let subscription = history.subscribe(to: "basic", in: "group", for: .days(30), at: day(0))
            history.turnOffRenewal(of: subscription, at: day(5))
            for notification in try history.verifiedNotifications(through: day(6)) {
                try ledger.record(notification, at: day(6))
            }
            #expect(
                try ledger.posted("anna").map { $0.text("account_token") } == [token.description, token.description])
            try ledger.transfer(from: "anna", to: "ben", movesTokens: true, reason: "merged", at: day(7))
            let events = try ledger.posted("ben").map { ($0.kind, $0.text("account_token")) }
            #expect(events.map(\.0) == ["granted", "cancelled"])
            #expect(events.map(\.1) == [token.description, token.description])
        }
    }

    @Test(arguments: Place.available)
    func `of two lineages that nobody owns and that turn out to be one, nothing is listed again`(_ place: Place) throws
    {
        func notify(_ ledger: PurchaseLedger, _ period: JWSBuilder, _ renewal: JWSBuilder?, _ date: Double) throws {
            var parts = try JWSBuilder.notification(
                .didChangeRenewalStatus, bundleID: Minted.bundleID,
                transaction: period.signed(by: Minted.authority.get()),
                renewalInfo: renewal?.signed(by: Minted.authority.get()), signedDate: day(date))
            parts.payload["notificationUUID"] = .string("uuid-\(date)")
            try ledger.record(Minted.notification(parts), at: day(date))
        }
        try Self.withLedger(place) { ledger in
            var off = JWSBuilder.renewalInfo(productID: "basic", originalTransactionID: "2", signedDate: day(32))
            (off.autoRenewStatus, off.renewalDate) = (.off, day(60))
            try notify(ledger, period("1", of: "1", "basic", from: 0), nil, 1)
            try notify(ledger, period("2", of: "2", "basic", from: 30), off, 32)
            var joined = period("2", of: "2", "basic", from: 30, signed: 33)
            joined.payload["previousOriginalTransactionId"] = "1"
            try notify(ledger, joined, nil, 33)
            let kinds = try ledger.unownedEvents().map { try PostedEvent($0).kind }
            #expect(kinds == ["cancelled"], "\(kinds)")
        }
    }

    @Test(arguments: Place.available)
    func `a dry run names requests for refunds`(_ place: Place) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", at: day(0))
        history.requestRefund(of: coins, at: day(1))
        let request = try #require(
            history.verifiedNotifications(through: day(5)).first { $0.type == .consumptionRequest })
        try Self.withLedger(place) { ledger in
            _ = try ledger.redeem(history.evidence(coins, signedAt: day(0)), for: "anna", at: day(0))
            var tried = TriedNotifications()
            let tries = try ledger.trial(fromHistory: request, after: &tried, at: day(2))
            _ = try ledger.record(
                fromHistory: request, of: AskedApp(.production, Minted.bundleID), at: day(2))
            #expect(try ledger.posted("anna").map(\.kind) == ["granted", "refund-requested"])
            #expect(tries == ["refund-requested"], "\(tries ?? [])")
        }
    }

    @Test(arguments: Place.available)
    func `of a grant that was taken back in the database, events say nothing is left`(_ place: Place) throws {
        try Self.withLedger(place) { ledger in
            _ = try ledger.redeem(Minted.period("1", of: "1", from: 0), for: "anna", at: day(0))
            try ledger.store.write { (connection) throws(LedgerError) in
                _ = try connection.run("UPDATE grants SET voided_at = 1, quantity = 0")
            }
            _ = try ledger.redeem(
                Minted.renewal(signed: 5, ends: 30) { $0.autoRenewStatus = .off }, for: "anna", at: day(5))
            let events = try ledger.posted("anna")
            #expect(events.map(\.kind) == ["granted", "cancelled"] && events.last?.number("quantity") == 0)
        }
    }

    @Test(arguments: Place.available)
    func `of two requests for refunds, the later one does not overtake`(_ place: Place) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", at: day(0))
        let more = history.buyConsumable("coins", at: day(0))
        history.requestRefund(of: coins, at: day(1))
        history.requestRefund(of: more, at: day(2))
        try Self.withLedger(place) { ledger in
            for each in [coins, more] {
                _ = try ledger.redeem(history.evidence(each, signedAt: day(0)), for: "anna", at: day(0))
            }
            for notification in try history.verifiedNotifications(through: day(5)) {
                try ledger.record(notification, at: day(3))
            }
            func take(_ date: Double) throws -> [OutgoingEvent] {
                try ledger.takeEvents(limit: 10, lease: .seconds(25), at: day(date))
            }
            let first = try #require(take(3).first { $0.isUrgent })
            #expect(try take(3).allSatisfy { !$0.isUrgent })
            try ledger.record([(first, "503")], maximumAttempts: 80, at: day(3))
            #expect(try take(3).allSatisfy { !$0.isUrgent })
            // It is tried again after a second, not after the lease.
            let again = try #require(take(3 + 2.0 / 86_400).first { $0.isUrgent })
            #expect(again.id == first.id)
            try ledger.record([(again, nil)], maximumAttempts: 80, at: day(3.1))
            #expect(try take(3.1).contains { $0.isUrgent && $0.id != first.id })
        }
    }
}
