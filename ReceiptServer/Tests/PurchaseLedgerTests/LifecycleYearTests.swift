import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import LedgerTestSupport
@testable import PurchaseLedger
import Reconciliation
import Sampling
import SeededRandom
import Testing
import TrialSupport

/// The events of a year in the life of one subscription.
@Suite struct LifecycleYearTests {
    private static let policy = {
        var policy = LedgerPolicy()
        policy.lifecycleEvents = true
        return policy
    }()

    /// What Apple signed about the year, verified once.
    private static let year = Result {
        let history = SubscriptionYear.history()
        var redeemed: [VerifiedEvidence] = []
        for signed in stride(from: 0.5, to: 365, by: 40) {
            for builder in history.transactions(signedAt: day(signed)) { redeemed.append(try Minted.evidence(builder)) }
        }
        return (
            history: history, notifications: try history.verifiedNotifications(through: SubscriptionYear.end),
            redeemed: redeemed, first: try history.evidence(history.transactions[0], signedAt: day(0))
        )
    }

    // MARK: In order

    private static let columns = [
        "day", "Apple signs", "events", "access", "will renew", "renews as", "charge", "price",
    ]

    /// `UPDATE_ARTICLES=1 swift test --filter LifecycleYearTests` writes the table.
    @Test(arguments: Place.available)
    func `by notifications in order, the events are those of the reference, each once`(_ place: Place) throws {
        let year = try Self.year.get()
        try place.withLedger(Self.policy) { ledger in
            var rows: [[String]] = []
            var count = 0
            _ = try ledger.redeem(year.first, for: "anna", at: day(0))
            for notification in year.notifications {
                let date = try #require(notification.signedDate)
                try ledger.record(notification, at: date)
                while try ledger.settleDue(at: date) > 0 {}
                let events = try ledger.posted("anna")
                rows.append(try Self.row(notification, events.dropFirst(count).map(\.kind), ledger, at: date))
                count = events.count
                // Sent again, it says nothing.
                try ledger.record(notification, at: date)
                #expect(try ledger.posted("anna").count == count)
            }
            #expect(try ledger.contradictions(of: "anna", at: SubscriptionYear.end) == [])
            let head = "| \(Self.columns.joined(separator: " | ")) |\n|\(Self.columns.map { _ in " --- |" }.joined())\n"
            #expect(
                try Document("REFERENCE.md").has(
                    rows.map { "| \($0.joined(separator: " | ")) |" }, after: head, before: "\n\n"))
        }
    }

    private static func row(
        _ notification: VerifiedNotification, _ kinds: [String], _ ledger: PurchaseLedger, at date: Instant
    ) throws -> [String] {
        func number(_ date: Instant) -> String {
            String((date.millisecondsSince1970 - day(0).millisecondsSince1970) / 86_400_000)
        }
        let subscription = try #require(ledger.entitlements(of: "anna", at: date).subscriptions.first)
        let renewal = subscription.renewal
        let type = [notification.type?.rawValue, notification.subtype?.rawValue].compactMap(\.self)
        let end = number(subscription.expiresDate)
        let isRevoked = if case .revoked = subscription.access { true } else { false }
        let charge =
            subscription.isInGracePeriod
            ? "failed, grace"
            : renewal?.isInBillingRetryPeriod == true ? "failed" : subscription.expirationReason?.rawValue
        return [
            number(date), type.map { "`\($0)`" }.joined(separator: " "),
            kinds.map { "`\($0)`" }.joined(separator: ", "),
            subscription.isActive ? "until \(end)" : isRevoked ? "refunded" : "ended \(end)",
            subscription.willRenew.map { $0 ? "yes" : "no" } ?? "", renewal?.nextProductID ?? "", charge ?? "",
            subscription.priceIncrease.map { $0 == .none ? "" : $0.rawValue } ?? "",
        ]
    }

    // MARK: In any order

    @Test(arguments: Place.available)
    func `in any order, half lost and repeated, two ledgers say the same, and the last events are true`(
        _ place: Place
    ) throws {
        var generator = SeededGenerator("lifecycle, \(place)")
        let year = try Self.year.get()
        let all = year.notifications.map(VerifiedEvidence.notification) + year.redeemed
        let count = Sampling.count("lifecycle-histories" + (place == .sqlite ? "" : "-postgresql"))
        var policy = Self.policy
        for number in 0..<count {
            policy.wholeLineageLimit = number % 4 == 0 ? 24 : 1
            // Some owners are known late.
            let claimed = [day(0), day(0), day(Double.random(in: 1...400, using: &generator))].randomElement(
                using: &generator)
            var kept = all.filter { evidence in
                if case .notification = evidence { return Bool.random(using: &generator) }
                return Int.random(in: 0..<12, using: &generator) == 0
            }
            kept += kept.filter { _ in Int.random(in: 0..<5, using: &generator) == 0 }
            kept.append(year.first)
            var states: [String] = []
            for isInOrder in [true, false] {
                let location = try place.makeLocation()
                let servers = try (0..<2).map { _ in try PurchaseLedger(location.text, policy: policy) }
                let arriving = kept.enumerated().map { index, evidence in
                    let days = [0, 1, 20, 90].randomElement(using: &generator) ?? 0
                    let delay = isInOrder ? 0 : Int64.random(in: 0...Int64(86_400_000 * days), using: &generator)
                    let date = index == kept.count - 1 ? claimed ?? day(0) : Self.signed(evidence)
                    return (date: date + .milliseconds(delay), evidence)
                }
                for (date, evidence) in arriving.sorted(by: { $0.date < $1.date }) {
                    let ledger = try #require(servers.randomElement(using: &generator))
                    while try ledger.settleDue(at: date) > 0 {}
                    if case .notification(let notification) = evidence {
                        try ledger.record(notification, at: date)
                    } else {
                        _ = try ledger.redeem(evidence, for: "anna", at: date)
                    }
                }
                let faults = try servers[0].contradictions(of: "anna", at: day(500))
                #expect(faults == [], "seed \(Sampling.seed), history \(number)")
                states.append(try servers[1].entitlements(of: "anna", at: day(500)).json)
                try Self.checkBackend(servers[0], using: &generator)
                withExtendedLifetime(location) {}
            }
            #expect(states[0] == states[1], "seed \(Sampling.seed), history \(number)")
        }
    }

    // MARK: Asking Apple

    @Test(arguments: Place.available)
    func `a ledger that gets little and asks Apple says the same in the end, and the last events are true`(
        _ place: Place
    ) throws {
        var generator = SeededGenerator("lifecycle with --ask-apple, \(place)")
        for _ in 0..<Sampling.count("lifecycle-reconciliations") {
            let percent = [0, 10, 50].randomElement(using: &generator) ?? 0
            let year = try AskedYear(place, notified: percent, seed: generator.next())
            try year.run()
            let faults = try year.ledger.contradictions(of: "anna", at: SubscriptionYear.end)
            #expect(faults == [], "seed \(Sampling.seed), \(percent) % notified")
            #expect(try year.state(year.ledger) == year.state(year.reference))
            #expect(try year.ledger.posted("anna").contains { $0.text("cause") == "reconciliation" })
            try Self.checkBackend(year.ledger, using: &generator)
        }
    }

    private static func signed(_ evidence: VerifiedEvidence) -> Instant {
        if case .notification(let notification) = evidence { return notification.signedDate ?? .distantPast }
        return evidence.purchases.map(\.purchase.signedDate).max() ?? .distantPast
    }

    /// A backend that applies all events by the tutorial's rule, in any order, has what was granted.
    private static func checkBackend(_ ledger: PurchaseLedger, using generator: inout SeededGenerator) throws {
        var backend = Backend()
        let rows = try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT event FROM outbox")
        }
        for row in rows.shuffled(using: &generator) {
            let text = try row.text(0)
            backend.receive(try StoredJSON.decode(text) as Backend.Event)
        }
        #expect(try backend.grants == ledger.grantedBalances())
    }
}

/// The year with an App Store that loses notifications: a ledger that asks, and one that gets them all.
private final class AskedYear {
    let ledger: PurchaseLedger
    let reference: PurchaseLedger
    private let store: FakeAppStore
    private let reconciler: Reconciler
    private let locations: [Place.Location]

    init(_ place: Place, notified percent: Int, seed: UInt64) throws {
        var options = FakeAppStore.Options()
        options.environment = .production
        options.date = day(0)
        options.tokenClock = .store
        let receiver = Guarded<NotificationReceiver>({ _ in .noResponse })
        options.receiver = { payload in receiver.withLock(\.self)(payload) }
        let store = try FakeAppStore(options)
        let verifier = try store.verifier()
        var policy = LedgerPolicy()
        policy.lifecycleEvents = true
        locations = try [place.makeLocation(), place.makeLocation()]
        let reference = try PurchaseLedger(locations[1].text, policy: policy)
        policy.inquiries = InquiryPolicy(apps: [AskedApp(.production, options.bundleID)])
        let ledger = try PurchaseLedger(locations[0].text, policy: policy)
        let random = Guarded(SeededGenerator(seed: seed))
        receiver.withLock { body in
            body = { payload in
                do {
                    let notification = try verifier.verifyNotification(payload)
                    try reference.record(notification, at: store.now)
                    let chance = random.withLock { Int.random(in: 0..<100, using: &$0) }
                    // Something in front of the server swallows the others.
                    if chance < percent { try ledger.record(notification, at: store.now) }
                    return .success
                } catch {
                    return .other
                }
            }
        }
        var clientOptions = AppStoreServerClient.Options()
        clientOptions.clock = { store.now }
        clientOptions.transport = store.inProcess()
        let client = try AppStoreServerClient(
            store.signer, environment: .production, verifier: verifier, options: clientOptions)
        var reconcilerOptions = Reconciler.Options()
        reconcilerOptions.clock = { store.now }
        reconcilerOptions.random = { 0.5 }
        reconciler = Reconciler(ledger, [AppleApp(client)], reconcilerOptions)
        (self.store, self.ledger, self.reference) = (store, ledger, reference)
        store.change(customer: 1) { $0 = SubscriptionYear.history() }
    }

    func run() throws {
        try reconciler.begin()
        let history = SubscriptionYear.history()
        let first = try #require(history.transaction(history.transactions[0], signedAt: day(0)))
        let evidence = try store.verifier().verify(first.signed(by: store.authority))
        for ledger in [ledger, reference] { _ = try ledger.redeem(evidence, for: "anna", at: day(0)) }
        while store.now < SubscriptionYear.end {
            store.deliverNotifications()
            while case .asked = reconciler.runOnce() {}
            store.setClock(min(store.now + .seconds(43_200), SubscriptionYear.end))
            for ledger in [ledger, reference] { while try ledger.settleDue(at: store.now) > 0 {} }
        }
        while case .asked = reconciler.runOnce() {}
    }

    /// What does not depend on when Apple was asked last.
    func state(_ ledger: PurchaseLedger) throws -> [String] {
        try ledger.entitlements(of: "anna", at: SubscriptionYear.end).subscriptions.map { subscription in
            """
            \(subscription.expiresDate) \(subscription.willRenew as Bool?) \(subscription.renewal?.nextProductID ?? "") \
            \(subscription.priceIncrease as Subscription.PriceIncrease?) \(subscription.periods.count) \
            \(subscription.expirationReason as Subscription.ExpirationReason?)
            """
        }
    }
}
