import AppStoreReceipt
import AppStoreReceiptTesting
import LedgerTestSupport
@testable import PurchaseLedger
import Testing

/// What lifecycle events report, and to whom.
@Suite struct LifecycleTests {
    private static func withLedger(
        _ place: Place, isOn: Bool = true, orders: Bool = false, _ body: (PurchaseLedger) throws -> Void
    ) throws {
        var policy = LedgerPolicy()
        policy.lifecycleEvents = isOn
        policy.orders = orders ? OrderPolicy() : nil
        try place.withLedger(policy, body)
    }

    private static func record(
        _ history: PurchaseHistory, _ ledger: PurchaseLedger, from start: Double = 0, through end: Double
    ) throws {
        for notification in try history.verifiedNotifications(through: day(end)) {
            let date = try #require(notification.signedDate)
            if date >= day(start) { try ledger.record(notification, at: date) }
        }
    }

    private static func subscribed() -> (PurchaseHistory, PurchaseHistory.Subscription) {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let subscription = history.subscribe(to: "basic", in: "group", for: .days(30), at: day(0))
        return (history, subscription)
    }

    @Test(arguments: Place.available)
    func `without the switch, nothing is new but the version`(_ place: Place) throws {
        let year = SubscriptionYear.history()
        try Self.withLedger(place, isOn: false) { ledger in
            _ = try ledger.redeem(year.evidence(year.transactions[0], signedAt: day(0)), for: "anna", at: day(0))
            try Self.record(year, ledger, through: 365)
            let events = try ledger.posted("anna")
            #expect(events.count > 10 && events.allSatisfy { !$0.isLifecycle && $0.number("version") == 2 })
            let members = Set(events.flatMap(\.members.keys))
            #expect(members.isDisjoint(with: ["granted_as", "deadline", "request_id", "reason", "renews_as"]))
            #expect(try ledger.unownedEvents().isEmpty)
        }
    }

    @Test(arguments: Place.available)
    func `an event has what the account has under its transaction, and names another one`(_ place: Place) throws {
        var (history, subscription) = Self.subscribed()
        history.turnOffRenewal(of: subscription, at: day(5))
        let early = history.renew(subscription, at: day(29.5))
        history.turnOffRenewal(of: subscription, at: day(29.7))
        let first = subscription.firstPeriod
        let copy = history.restore(first, at: day(1))
        for (redeemed, grant) in [(first, first), (copy, copy)] {
            try Self.withLedger(place) { ledger in
                _ = try ledger.redeem(history.evidence(redeemed, signedAt: day(2)), for: "anna", at: day(2))
                try Self.record(history, ledger, through: 29.9)
                let events = try ledger.posted("anna").filter { ["cancelled", "uncancelled"].contains($0.kind) }
                #expect(events.map(\.kind) == ["cancelled", "uncancelled", "cancelled"])
                let event = try #require(events.first)
                #expect(event.text("transaction_id") == first.transactionID)
                #expect(event.text("granted_as") == grant.transactionID)
                #expect(event.number("quantity") == (grant == first ? 1 : 0))
                #expect(event.number("previous_quantity") == event.number("quantity"))
                #expect(event.text("until") == (grant == first ? "2025-01-31T00:00:00Z" : nil))
                #expect(event.text("happened_at") == "2025-01-06T00:00:00Z")
                #expect(event.text("original_transaction_id") == first.transactionID)
                // It is owned, and begins later.
                let later = try #require(events.last)
                #expect(later.text("transaction_id") == early.transactionID && later.number("quantity") == 0)
                #expect(later.text("granted_as") == nil && later.text("until") == nil)
            }
        }
    }

    @Test(arguments: Place.available)
    func `of what nobody owns, nobody is notified, and its owner is notified of what is unusual`(_ place: Place) throws
    {
        var (history, subscription) = Self.subscribed()
        history.turnOffRenewal(of: subscription, at: day(5))
        history.requestRefund(of: subscription.firstPeriod, at: day(6))
        try Self.withLedger(place) { ledger in
            try Self.record(history, ledger, through: 10)
            let unowned = try ledger.unownedEvents().map(PostedEvent.init)
            #expect(Set(unowned.map(\.kind)) == ["cancelled", "refund-requested"] && unowned.count == 2)
            #expect(try ledger.unownedEventCount() == 2)
            for name in ["account", "id", "sequence"] {
                #expect(unowned.allSatisfy { $0.text(name) == nil && $0.members.keys.contains(name) })
            }
            let evidence = try history.evidence(subscription.firstPeriod, signedAt: day(1))
            _ = try ledger.redeem(evidence, for: "anna", at: day(11))
            #expect(try ledger.posted("anna").map(\.kind) == ["granted", "cancelled"])
            _ = try ledger.redeem(evidence, for: "ben", at: day(12))
            #expect(try ledger.posted("ben").isEmpty && ledger.posted("anna").count == 2)
            try ledger.removeHistory(before: day(12))
            #expect(try ledger.unownedEvents().isEmpty)
        }
    }

    @Test(arguments: Place.available)
    func `events go to the owner of the time, who is notified of the state first`(_ place: Place) throws {
        var (history, subscription) = Self.subscribed()
        history.turnOffRenewal(of: subscription, at: day(5))
        history.turnOnRenewal(of: subscription, at: day(15))
        try Self.withLedger(place) { ledger in
            let evidence = try history.evidence(subscription.firstPeriod, signedAt: day(0))
            _ = try ledger.redeem(evidence, for: "anna", at: day(0))
            try Self.record(history, ledger, through: 10)
            try ledger.transfer(from: "anna", to: "ben", reason: "support", at: day(11))
            #expect(try ledger.posted("anna").map(\.kind) == ["granted", "cancelled", "revoked"])
            #expect(try ledger.posted("ben").map(\.kind) == ["granted", "cancelled"])
            #expect(try ledger.posted("ben").last?.text("cause") == "transfer")
            #expect(try ledger.posted("ben").last?.number("quantity") == 1)
            let name = try ledger.deleteAccount("ben", at: day(12))
            try Self.record(history, ledger, from: 12, through: 20)
            #expect(try ledger.posted("ben").isEmpty && ledger.posted(name).map(\.kind) == ["uncancelled"])
            #expect(try ledger.posted("anna").count == 3)
        }
    }

    @Test(arguments: Place.available)
    func `a request for a refund has its id, its reason and its deadline, of any product`(_ place: Place) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
        history.requestRefund(of: coins, at: day(1), reason: .fulfillmentIssue)
        history.declineRefund(of: coins, at: day(2))
        history.requestRefund(of: coins, at: day(3))
        history.refund(coins, at: day(4))
        let sent = try history.verifiedNotifications(through: day(5))
        let kinds = ["granted", "refund-requested", "refund-declined", "refund-requested", "revoked"]
        try Self.withLedger(place) { ledger in
            for notification in sent + sent {
                if try ledger.posted("anna").isEmpty {
                    _ = try ledger.redeem(history.evidence(coins, signedAt: day(0)), for: "anna", at: day(0))
                }
                try ledger.record(notification, at: notification.signedDate ?? day(0))
            }
            let events = try ledger.posted("anna")
            #expect(events.map(\.kind) == kinds)
            let requested = events[1]
            #expect(requested.text("request_id") == sent[1].notificationUUID)
            #expect(requested.text("reason") == "FULFILLMENT_ISSUE")
            #expect(requested.text("deadline") == "2025-01-02T12:00:00Z")
            #expect(requested.text("happened_at") == "2025-01-02T00:00:00Z")
            #expect(requested.number("quantity") == 3 && requested.text("granted_as") == coins.transactionID)
            #expect(events[2].text("request_id") == sent[2].notificationUUID && events[2].text("deadline") == nil)
            #expect(Set([1, 2, 3].map { events[$0].text("request_id") }).count == 3)
        }
        // An older notification about the refund is ignored.
        for (order, expected) in [
            ([2, 1], ["refund-declined"]), ([3, 2, 1], ["refund-requested"]), ([4, 3, 2, 1], ["revoked"]),
            ([1, 3, 2], ["refund-requested", "refund-requested"]),
        ] {
            try Self.withLedger(place) { ledger in
                _ = try ledger.redeem(history.evidence(coins, signedAt: day(0)), for: "anna", at: day(0))
                for index in order { try ledger.record(sent[index], at: day(6)) }
                #expect(try ledger.posted("anna").dropFirst().map(\.kind) == expected, "\(order)")
            }
        }
        // A client that sends the purchase signed anew does not hide the request.
        try Self.withLedger(place) { ledger in
            _ = try ledger.redeem(history.evidence(coins, signedAt: day(1.5)), for: "anna", at: day(2))
            try ledger.record(sent[1], at: day(2))
            #expect(try ledger.posted("anna").map(\.kind) == ["granted", "refund-requested"])
        }
    }

    @Test(arguments: Place.available)
    func `nothing is known of the renewal for whom somebody else bought it`(_ place: Place) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let shared = history.subscribe(
            to: "basic", in: "group", for: .days(30), at: day(0), ownershipType: .familyShared)
        history.turnOffRenewal(of: shared, at: day(5))
        history.extend(shared, by: .seconds(86_400), at: day(6))
        history.requestRefund(of: shared.firstPeriod, at: day(7))
        try Self.withLedger(place) { ledger in
            _ = try ledger.redeem(history.evidence(shared.firstPeriod, signedAt: day(0)), for: "anna", at: day(0))
            try Self.record(history, ledger, through: 60)
            #expect(try ledger.posted("anna").map(\.kind) == ["granted", "changed"])
        }
    }

    @Test(arguments: Place.available)
    func `what arrives before anything else of a subscription is notified with its owner`(_ place: Place) throws {
        var (history, subscription) = Self.subscribed()
        history.turnOffRenewal(of: subscription, at: day(5))
        let renewal = try Minted.evidence(#require(history.renewalInfo(of: subscription, signedAt: day(6))))
        let evidence = try history.evidence(subscription.firstPeriod, signedAt: day(0))
        for order in [[renewal, evidence], [evidence, renewal]] {
            try Self.withLedger(place, orders: true) { ledger in
                for piece in order { _ = try ledger.redeem(piece, for: "anna", at: day(7)) }
                #expect(try ledger.posted("anna").map(\.kind) == ["granted", "cancelled"])
            }
        }
    }

    @Test(arguments: Place.available)
    func `two servers that learn the same at the same time notify it once`(_ place: Place) throws {
        var policy = LedgerPolicy()
        policy.lifecycleEvents = true
        let (year, location) = (SubscriptionYear.history(), try place.makeLocation())
        let servers = try (0..<2).map { [policy] _ in try PurchaseLedger(location.text, policy: policy) }
        _ = try servers[0].redeem(year.evidence(year.transactions[0], signedAt: day(0)), for: "anna", at: day(0))
        let failures = Guarded<[String]>([])
        for notification in try year.verifiedNotifications(through: SubscriptionYear.end) {
            let date = try #require(notification.signedDate)
            inThreads(4) { number in
                do {
                    try servers[number % 2].record(notification, at: date)
                } catch { failures.withLock { $0.append("\(error)") } }
            }
        }
        #expect(failures.withLock(\.self) == [])
        #expect(try servers[0].contradictions(of: "anna", at: SubscriptionYear.end) == [])
        let kinds = try servers[1].posted("anna").filter(\.isLifecycle).map(\.kind)
        #expect(kinds.count == 21, "\(kinds)")
    }

    // MARK: Delivery

    @Test(arguments: Place.available)
    func `a request for a refund waits for no other event, and is a dead letter as others are`(_ place: Place) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", at: day(0))
        history.requestRefund(of: coins, at: day(1))
        try Self.withLedger(place) { ledger in
            _ = try ledger.redeem(history.evidence(coins, signedAt: day(0)), for: "anna", at: day(0))
            let granted = try ledger.takeEvents(limit: 8, lease: .seconds(25), at: day(0))
            #expect(granted.count == 1)
            try ledger.record(granted.map { ($0, "status 500") }, maximumAttempts: 80, at: day(0))
            try Self.record(history, ledger, through: 1)
            #expect(try ledger.outboxCounts().pending == 2)
            // The failed event is due in an hour; the request is due at once, and again after its lease.
            let now = day(1)
            let hour = Duration.seconds(3600)
            try ledger.store.write { (connection) throws(LedgerError) in
                _ = try connection.run("UPDATE accounts SET due_at = $1", [SQLValue(now + hour)])
            }
            func take(_ date: Instant) throws -> [OutgoingEvent] {
                try ledger.takeEvents(limit: 8, lease: .seconds(25), at: date)
            }
            var taken = try take(now)
            #expect(try taken.map { try PostedEvent($0.event).kind } == ["refund-requested"])
            #expect(try take(now + .seconds(24)).isEmpty)
            taken = try take(now + .seconds(25))
            #expect(taken.count == 1)
            try ledger.record(taken.map { ($0, "status 500") }, maximumAttempts: 80, at: now + .seconds(26))
            #expect(try take(now + .seconds(26)).isEmpty)
            taken = try take(now + .seconds(27))
            #expect(taken.map(\.attempts) == [1])
            try ledger.record(taken.map { ($0, "status 500") }, maximumAttempts: 2, at: now + .seconds(28))
            #expect(try ledger.deadLetters().count == 1 && take(now + .seconds(60)).isEmpty)
            try ledger.sendAgain(eventID: taken[0].id, at: now + .seconds(61))
            taken = try take(now + .seconds(61))
            #expect(taken.map(\.isUrgent) == [true])
            try ledger.record(taken.map { ($0, nil) }, maximumAttempts: 80, at: now + .seconds(62))
            #expect(try ledger.outboxCounts().pending == 1 && take(now + .seconds(63)).isEmpty)
            #expect(try take(now + hour).count == 1)
        }
    }
}
