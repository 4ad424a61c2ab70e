import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Reconciliation
import Sampling
import SeededRandom
import Testing

/// Once faults end, a ledger that asks has the same as one that missed nothing.
@Suite struct RandomReconciliationTests {
    /// The customers of one shop.
    private static let customerCount = 25

    /// A simulation that failed, by the seed that it printed: `RECEIPT_EXTENT=sample RECEIPT_SIMULATION=SEED
    /// scripts/test Reconciliation`, or with the extent of that run.
    private static let seed = ProcessInfo.processInfo.environment["RECEIPT_SIMULATION"].flatMap { UInt64($0) }

    @Test(arguments: Place.available)
    func `once faults end, a ledger that asks has what one has that missed nothing`(_ place: Place) throws {
        var generator = SeededGenerator("reconciliation, \(place)")
        let all = Sampling.count("reconciliations")
        let count = Self.seed == nil ? all : min(all, Self.customerCount)
        var totals = Simulation.Totals()
        for done in stride(from: 0, to: count, by: Self.customerCount) {
            let locations = try [place.makeLocation(), place.makeLocation()]
            let simulation = try Simulation(
                Self.seed ?? generator.next(), customers: min(Self.customerCount, count - done), locations.map(\.text))
            try simulation.run()
            withExtendedLifetime(locations) {}
            totals.add(simulation.totals)
            if Sampling.extent == .long, (done + Self.customerCount) % 250 == 0 {
                print("reconciliation, \(place): \(done + Self.customerCount) histories, \(totals)")
            }
        }
        print("reconciliation, \(place): \(count) histories, \(totals)")
        guard Self.seed == nil else { return }
        #expect(totals.lost > 0 && totals.recovered > 0 && totals.faults > 0)
    }
}

/// A shop whose server misses notifications and stops at times, and beside it a ledger that gets everything.
private final class Simulation {
    struct Totals: CustomStringConvertible {
        var notifications = 0, lost = 0, recovered = 0, inGaps = 0
        var requests = 0, faults = 0, grants = 0, endedUnnotified = 0

        mutating func add(_ other: Totals) {
            notifications += other.notifications
            lost += other.lost
            recovered += other.recovered
            inGaps += other.inGaps
            requests += other.requests
            faults += other.faults
            grants += other.grants
            endedUnnotified += other.endedUnnotified
        }

        var description: String {
            """
            \(notifications) notifications of which \(lost) were lost, \(recovered) came back and \(inGaps) are in \
            named gaps; \(requests) requests, \(faults) of them without an answer; \(grants) grants are equal, and \
            \(endedUnnotified) periods ended without a notification
            """
        }
    }

    /// What the world does with notifications, and the requests that were made.
    private final class World: Sendable {
        enum Delivery { case taken, lost, swallowed }

        struct State {
            var delivery = Delivery.taken
            var uuids: [String: Instant] = [:]
            var taken: Set<String> = []
            var requestsByHour: [Int64: Int] = [:]
            var requests = 0
            var faults = 0
            var failures: [String] = []
        }

        let state = Guarded(State())
    }

    private(set) var totals = Totals()
    private var generator: SeededGenerator
    private let seed: UInt64
    private let world = World()
    private let store: FakeAppStore
    private let verifier: AppStoreVerifier
    private let subject: PurchaseLedger
    private let reference: PurchaseLedger
    private let apps: [AppleApp]
    private let budget: Int
    private var reconciler: Reconciler
    private let customers: ClosedRange<Int>
    private var now: Instant
    /// How long the server was up, for the bound on requests.
    private var upTime = Duration.zero
    private var bought: [(customer: Int, PurchaseHistory.Transaction)] = []
    /// The accounts for which a client submitted a transaction of a purchase.
    private var accounts: [String: Set<String>] = [:]
    private let hasTokens: Bool
    private var hasLostPage = false
    private var nextDelivery = start

    private static let start = Instant(millisecondsSince1970: 1_767_225_600_000)  // 2026-01-01

    init(_ seed: UInt64, customers: Int, _ locations: [String]) throws {
        self.seed = seed
        generator = SeededGenerator(seed: seed)
        self.customers = 1...customers
        now = Self.start
        hasTokens = Bool.random(using: &generator)
        budget = Int.random(in: 150...3600, using: &generator)
        var options = FakeAppStore.Options()
        options.environment = Bool.random(using: &generator) ? .production : .sandbox
        options.date = now
        options.tokenClock = .store
        // What receives is made after the store, which verifies for it.
        let receiver = Guarded<NotificationReceiver?>(nil)
        options.receiver = { payload in receiver.withLock({ $0 })?(payload) ?? .noResponse }
        let store = try FakeAppStore(options)
        let verifier = try store.verifier()
        self.store = store
        self.verifier = verifier
        let app = AskedApp(options.environment, options.bundleID)
        var policy = LedgerPolicy()
        policy.surroundings.hasDatabaseClock = false
        if hasTokens { policy.orders = OrderPolicy() }
        reference = try PurchaseLedger(LedgerLocation(locations[1]).open(), policy, at: now)
        policy.inquiries = InquiryPolicy(apps: [app])
        policy.inquiries?.confirm =
            [.unnotified, .all, .none, .sample(percent: 30)].randomElement(using: &generator) ?? .unnotified
        subject = try PurchaseLedger(LedgerLocation(locations[0]).open(), policy, at: now)
        var clientOptions = AppStoreServerClient.Options()
        clientOptions.clock = { store.now }
        let (world, answer) = (world, store.inProcess())
        clientOptions.transport = { (request) throws(TransportFault) in
            world.state.withLock { state in
                state.requests += 1
                state.requestsByHour[store.now.secondsSince1970 / 3600, default: 0] += 1
            }
            do throws(TransportFault) {
                let answer = try answer(request)
                if answer.status != 200 { world.state.withLock { $0.faults += 1 } }
                return answer
            } catch {
                world.state.withLock { $0.faults += 1 }
                throw error
            }
        }
        let client = try AppStoreServerClient(
            store.signer, environment: options.environment, verifier: verifier, options: clientOptions)
        apps = [AppleApp(client, requestsPerHour: budget)]
        reconciler = Self.reconciler(subject, apps, store)
        let (subject, reference) = (subject, reference)
        receiver.withLock {
            $0 = { payload in Self.receive(payload, verifier, subject, reference, world, store) }
        }
    }

    private static func reconciler(
        _ ledger: PurchaseLedger, _ apps: [AppleApp], _ store: FakeAppStore
    ) -> Reconciler {
        var options = Reconciler.Options()
        options.clock = { store.now }
        options.random = { 0.5 }
        return Reconciler(ledger, apps, options)
    }

    /// The reference gets each notification when Apple sends it first; the subject if nothing is in the way.
    private static func receive(
        _ payload: String, _ verifier: AppStoreVerifier, _ subject: PurchaseLedger, _ reference: PurchaseLedger,
        _ world: World, _ store: FakeAppStore
    ) -> SendAttemptResult {
        do {
            let notification = try verifier.verifyNotification(payload)
            let uuid = notification.notificationUUID ?? ""
            let delivery = world.state.withLock { state in
                state.uuids[uuid] = notification.notification.payload.signedDate
                if state.delivery == .taken { state.taken.insert(uuid) }
                return state.delivery
            }
            try reference.record(notification, at: store.now)
            switch delivery {
            case .taken: try subject.record(notification, at: store.now)
            case .lost: return .timedOut
            // A proxy answers in the server's place.
            case .swallowed: break
            }
            return .success
        } catch {
            world.state.withLock { $0.failures.append("\(error)") }
            return .other
        }
    }

    // MARK: The course of things

    func run() throws {
        try reconciler.begin()
        // What a proxy takes comes only by asking: so no shop has nothing to recover.
        try live()
        world.state.withLock { $0.delivery = .swallowed }
        try goOn(for: .seconds(3 * 3600))
        for _ in 0..<Int.random(in: 6...10, using: &generator) {
            try live()
            try pass()
        }
        // Faults end. Notifications may still be lost; those that a proxy takes would be known a day later.
        store.endFaults()
        world.state.withLock { if $0.delivery == .swallowed { $0.delivery = .taken } }
        reconciler.replace(apps)
        try goOn(for: .seconds(3 * 86_400))
        try compare()
    }

    /// A while in which customers buy, and clients submit what was bought.
    private func live() throws {
        if hasTokens, Int.random(in: 0..<3, using: &generator) == 0 {
            let customer = Int.random(in: customers, using: &generator)
            try both { try $0.token(for: "anna \(customer)", storing: token(customer), at: now) }
        }
        for _ in 0..<Int.random(in: 20...60, using: &generator) {
            // What Apple signs in one millisecond has no order, and a revocation counts until something newer arrives.
            now = now + .milliseconds(1)
            store.setClock(now)
            let customer = Int.random(in: customers, using: &generator)
            let kind = Int.random(in: 0..<9, using: &generator)
            let percentage: Int64 = Bool.random(using: &generator) ? 100_000 : 40_000
            let choice = Int.random(in: 0..<1000, using: &generator)
            let (date, uuid) = (now, token(customer).description)
            let hasToken = hasTokens && Bool.random(using: &generator)
            let new = store.change(customer: customer) { history -> PurchaseHistory.Transaction? in
                history.appAccountToken = hasToken ? uuid : nil
                return Self.change(&history, kind, choice, percentage, at: date)
            }
            if let new { bought.append((customer, new)) }
            if Int.random(in: 0..<3, using: &generator) > 0 { try redeemSomething() }
        }
    }

    private static func change(
        _ history: inout PurchaseHistory, _ kind: Int, _ choice: Int, _ percentage: Int64, at now: Instant
    ) -> PurchaseHistory.Transaction? {
        let any = history.transactions.isEmpty ? nil : history.transactions[choice % history.transactions.count]
        let subscription =
            history.subscriptions.isEmpty ? nil : history.subscriptions[choice % history.subscriptions.count]
        switch kind {
        case 0: return history.buyConsumable("coins", quantity: 1 + choice % 5, at: now)
        case 1: return history.buyNonConsumable("pro \(choice % 3)", at: now)
        case 2: return history.subscribe(to: "weekly", in: "group \(choice)", for: .days(2), at: now).firstPeriod
        case 3: if let any { history.refund(any, at: now, percentage: percentage) }
        case 4: if let any { history.reverseRefund(of: any, at: now) }
        case 5: if let subscription { history.turnOffRenewal(of: subscription, at: now) }
        default:
            guard let subscription, let end = history.latestPeriod(of: subscription).expiresDate,
                end - .seconds(86_400) <= now
            else { return nil }
            return history.renew(subscription, at: now)
        }
        return nil
    }

    /// A client submits a transaction, as StoreKit has it now, for its account or another one.
    private func redeemSomething() throws {
        guard let (customer, transaction) = bought.randomElement(using: &generator) else { return }
        let date = now
        let builder = store.histories[customer]?.transaction(transaction, signedAt: date)
        guard let builder else { return }
        let evidence = try verifier.verify(builder.signed(by: store.authority))
        let account = "\(Int.random(in: 0..<10, using: &generator) == 0 ? "ben" : "anna") \(customer)"
        accounts[transaction.originalTransactionID, default: []].insert(account)
        try both { try $0.redeem(evidence, for: account, at: date) }
    }

    private func token(_ customer: Int) -> AppAccountToken {
        var own = SeededGenerator(seed: seed &+ UInt64(customer))
        let digits = own.bytes(16).map { String(format: "%02x", $0) }.joined()
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            text.append(digit)
        }
        return AppAccountToken(text)!
    }

    private func both<Result>(_ body: (PurchaseLedger) throws -> Result) throws {
        for ledger in [subject, reference] { _ = try body(ledger) }
    }

    /// Time passes, with other faults than before.
    private func pass() throws {
        store.endFaults()
        // No answer shows that a page was lost. The next day's look finds it, unless it is lost again: so it is lost
        // once.
        let faults = FakeFault.allCases.filter { $0 != .pageLost && Int.random(in: 0..<3, using: &generator) > 0 }
        store.injectRandomly(
            seed: generator.next(), percent: Int.random(in: 0...40, using: &generator), faults)
        if !hasLostPage, Int.random(in: 0..<4, using: &generator) == 0 {
            hasLostPage = true
            store.inject(.pageLost, into: .notificationHistory)
        }
        let delivery = [World.Delivery.taken, .taken, .lost, .lost, .swallowed].randomElement(using: &generator)
        world.state.withLock { $0.delivery = delivery ?? .taken }
        let hour = Duration.seconds(3600)
        switch Int.random(in: 0..<10, using: &generator) {
        case 0, 1:
            // The server is down, for longer than Apple keeps notifications at times.
            world.state.withLock { $0.delivery = .lost }
            let hours =
                Int.random(in: 0..<12, using: &generator) == 0 ? 190 * 24 : Int.random(in: 1...240, using: &generator)
            try move(to: now + hour * hours)
            reconciler = Self.reconciler(subject, apps, store)
            // Until Apple answers again, the start is repeated.
            try reconciler.begin()
        case 2:
            reconciler.replace(apps)
            try goOn(for: hour * Int.random(in: 1...48, using: &generator))
        default: try goOn(for: hour * Int.random(in: 1...20, using: &generator))
        }
    }

    private func move(to date: Instant) throws {
        now = date
        store.setClock(date)
        // Finding what to send takes time.
        if nextDelivery <= date {
            nextDelivery = date + .seconds(7200)
            store.deliverNotifications()
        }
        for ledger in [subject, reference] { while try ledger.settleDue(at: date) > 0 {} }
        if let failure = world.state.withLock({ $0.failures.first }) {
            throw Failure(description: "seed \(seed): \(failure)")
        }
    }

    private struct Failure: Error, CustomStringConvertible { let description: String }

    /// Lets the server run.
    private func goOn(for duration: Duration) throws {
        let end = now + duration
        upTime += duration
        while true {
            var steps = 0
            var next: Instant?
            while true {
                guard case .idle(let until) = reconciler.runOnce() else {
                    steps += 1
                    if steps > 5000 { throw Failure(description: "seed \(seed): it asks for ever at \(now)") }
                    continue
                }
                next = until
                break
            }
            guard now < end else { return }
            // Stop for Apple's attempts and due inquiries before.
            try move(to: min(max(next ?? end, now + .milliseconds(1)), now + .seconds(3600), end))
        }
    }

    // MARK: What must be

    private func compare() throws {
        let recorded = try Self.texts(subject, "SELECT uuid FROM notifications").map(\.[0])
        let (all, taken) = world.state.withLock { ($0.uuids, $0.taken) }
        let missing = all.filter { !Set(recorded).contains($0.key) }
        let gap = try #require(subject.inquiryCounts(at: now).first).gap
        for (uuid, date) in missing {
            let isInGap = gap.map { $0.from <= date && date <= $0.until } ?? false
            #expect(isInGap, "seed \(seed): \(uuid) of \(date) is missing, and no gap says so")
        }
        totals.notifications = all.count
        totals.lost = all.count - taken.count
        totals.inGaps = missing.count
        totals.recovered = totals.lost - missing.count
        try compareGrants(missing)
        compareRequests()
    }

    /// Owners and quantities are equal, but for what is in a gap, and for periods that began and ended without a
    /// notification.
    private func compareGrants(_ missing: [String: Instant]) throws {
        let affected = try affectedCustomers(missing)
        func rows(_ ledger: PurchaseLedger) throws -> [String: [String]] {
            let rows = try Self.texts(
                ledger,
                """
                SELECT transaction_id, account, CAST(quantity AS TEXT), COALESCE(CAST(until AS TEXT), '')
                FROM grants JOIN identifiers ON id = identifier_id
                WHERE quantity > 0
                """)
            return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], Array($0.dropFirst())) })
        }
        let (mine, others) = (try rows(subject), try rows(reference))
        func owners(_ ledger: PurchaseLedger) throws -> [String: String] {
            let rows = try Self.texts(
                ledger,
                """
                SELECT transaction_id, account FROM identifiers JOIN families ON families.id = family_id
                WHERE account IS NOT NULL
                """)
            return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
        }
        let (myOwners, otherOwners) = (try owners(subject), try owners(reference))
        let recorded = Set(
            try Self.texts(subject, "SELECT transaction_id FROM evidence JOIN identifiers ON id = identifier_id").map(
                \.[0]))
        func isUnnotified(_ id: String, _ row: [String]) -> Bool {
            mine[id] == nil && Int64(row[2]).map { $0 <= now.millisecondsSince1970 } ?? false
        }
        let unnotified = others.filter { !affected.contains($0.key) && isUnnotified($0.key, $0.value) }
        totals.endedUnnotified += unnotified.count
        for id in unnotified.keys { #expect(recorded.contains(id), "seed \(seed): nothing says that there was \(id)") }
        // The account of a period's token owns the subscription once the period was granted. Until then, whoever
        // submits an ended one does.
        let transactions = hasTokens ? store.histories.values.flatMap(\.transactions) : []
        let claimed = Set(transactions.filter { unnotified[$0.transactionID] != nil }.map(\.originalTransactionID))
        var free: [String: Set<String>] = [:]
        for transaction in transactions where claimed.contains(transaction.originalTransactionID) {
            free[transaction.transactionID] = accounts[transaction.originalTransactionID] ?? []
        }
        for (id, row) in others where !affected.contains(id) && unnotified[id] == nil {
            // Without an owner, nobody is granted anything.
            if free[id] != nil, myOwners[id] == nil, mine[id] == nil { continue }
            let account = free[id] == nil ? row[0] : myOwners[id]
            #expect(mine[id]?.first == account && mine[id]?[1] == row[1], "seed \(seed): transaction \(id)")
            totals.grants += 1
        }
        for (id, row) in mine where others[id] == nil && !affected.contains(id) {
            Issue.record("seed \(seed): transaction \(id) is granted as \(row), and should not be")
        }
        for id in Set(myOwners.keys).union(otherOwners.keys) where !affected.contains(id) {
            let owner = myOwners[id]
            let isBearer = owner.map { free[id]?.contains($0) ?? false } ?? (free[id] != nil)
            #expect(owner == otherOwners[id] || isBearer, "seed \(seed): owner of \(id)")
        }
    }

    /// The transactions of the customers about whom a notification is missing.
    private func affectedCustomers(_ missing: [String: Instant]) throws -> Set<String> {
        guard !missing.isEmpty else { return [] }
        let ids = try Self.texts(reference, "SELECT uuid, COALESCE(transaction_id, '') FROM notifications")
            .filter { missing[$0[0]] != nil }.map { $0[1] }
        let histories = store.histories.values.filter { history in
            history.transactions.contains { ids.contains($0.transactionID) }
        }
        return Set(histories.flatMap { $0.transactions.flatMap { [$0.transactionID, $0.originalTransactionID] } })
    }

    /// Requests are bounded: by the budget in each hour, and altogether by what there is to ask.
    private func compareRequests() {
        let state = world.state.withLock(\.self)
        totals.requests = state.requests
        totals.faults = state.faults
        let most = state.requestsByHour.values.max() ?? 0
        #expect(most <= budget, "seed \(seed): \(most) requests in an hour")
        let days = Int(upTime / .seconds(86_400)) + 1
        let periods = store.histories.values.reduce(0) { $0 + $1.transactions.count }
        // Every answer that is wrong can be asked for again, and makes a window be looked at again.
        let useful = 120 * days + 5 * (all / 20 + 60) + 84 * periods
        let bound = useful + 6 * state.faults
        #expect(state.requests <= bound, "seed \(seed): \(state.requests) requests, at most \(bound)")
    }

    private var all: Int { world.state.withLock { $0.uuids.count } }

    private static func texts(_ ledger: PurchaseLedger, _ query: String) throws -> [[String]] {
        let rows = try ledger.store.read { (connection) throws(LedgerError) in try connection.run(query) }
        return try rows.map { row in try row.values.indices.map { try row.text($0) } }
    }
}
