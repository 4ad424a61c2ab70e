@_spi(Ledger) import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Reconciliation
import SeededRandom

/// A shop for a year: customers, an App Store, two servers on one ledger whose clocks, networks and machines fail, and
/// an operator who restores back-ups. Everything follows from one seed.
final class SimulatedYear: @unchecked Sendable {
    struct Scale {
        var customers = 4
        var days = 365
        /// The longest time in which nobody looks at the queue.
        var longestStep = Duration.seconds(2 * 86_400)
    }

    struct Failure: Error, CustomStringConvertible { let description: String }

    struct Totals: CustomStringConvertible {
        var steps = 0, requests = 0, redemptions = 0, notifications = 0, lost = 0, events = 0, restores = 0
        var clockSteps = 0, grants = 0, attempts = 0

        var description: String {
            """
            \(steps) steps, \(redemptions) redemptions, \(notifications) notifications of which \(lost) were lost at \
            first, \(requests) requests to the App Store, \(events) events, \(attempts) attempts, \(clockSteps) steps \
            of clocks, \(restores) restored back-ups; \(grants) grants at the end
            """
        }
    }

    /// A running server.
    private final class Server {
        /// How far its clock is ahead.
        let clockError: Guarded<Duration>
        let ledger: PurchaseLedger
        let reconciler: Reconciler
        let attempts: AttemptLog
        var waitingAttempts: [(id: String, account: String, at: Instant)] = []
        var isDownUntil = Instant.distantPast
        var clockIsWrongUntil = Instant.distantPast

        init(
            _ ledger: PurchaseLedger, _ reconciler: Reconciler, _ clockError: Guarded<Duration>
        ) {
            (self.ledger, self.reconciler, self.clockError) = (ledger, reconciler, clockError)
            attempts = AttemptLog(ledger, keeping: SimulatedYear.attemptTime, withEvidence: true)
        }
    }

    /// A backup's contents, by the model.
    private struct Contents {
        var models: [OrdersModel]
        var notifications: Set<String> = []
        /// What the events of the ledger add up to, by transaction, and the last number of each account.
        var notified: [Notified: Int64] = [:]
        var sequences: [String: Int64] = [:]
        var seen: Set<String> = []
        var attempts: [String: (account: String, at: Instant)] = [:]
        var deletions: [String: Instant] = [:]
    }

    private struct Notified: Hashable {
        let account: String
        let transaction: String
    }

    /// Acts that only an operator or the backend can repeat after a restore.
    private enum Act {
        case token(customer: Int, number: Int)
        case transfer(customer: Int, from: Int, original: String?, movesTokens: Bool)
        case deletion(customer: Int, account: Int)
    }

    private static let start = Instant(millisecondsSince1970: 1_767_225_600_000)  // 2026-01-01
    private static let attemptTime = Duration.seconds(20 * 86_400)
    private static let day = Duration.seconds(86_400)
    /// The faults whose answers show which evidence the ledger got. For others, see `RandomReconciliationTests`.
    private static let faults = FakeFault.allCases.filter {
        ![.doubleMember, .huge, .future, .pageLost, .notFound, .otherTransaction].contains($0)
    }

    let seed: UInt64
    private let scale: Scale
    private(set) var totals = Totals()
    /// A digest of the log, which is the same for the same seed.
    private(set) var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    private var lastSteps: [String] = []

    private var generator: SeededGenerator
    private let store: FakeAppStore
    private let verifier: AppStoreVerifier
    private let app: AskedApp
    private let restorable: RestorableLedger
    private var servers: [Server] = []
    private let conflicts = Guarded<[String]>([])
    private var contents: Contents
    private var backUp: (contents: Contents, at: Instant)?
    private var sinceBackUp: [Act] = []
    private var missingSince: Instant?
    private var backend = Backend()
    /// Each account's greatest number in all ledgers so far.
    private var greatest: [String: Int64] = [:]
    private var ids: Set<String> = []
    /// The latest date that any clock showed.
    private var latest = start
    private enum Delivery { case taken, lost, swallowed }
    private var delivery = Delivery.taken
    private var webhookIsDownUntil = start
    /// The signing dates, by UUID.
    private var sent: [String: Instant] = [:]
    private var charges: [(customer: Int, subscription: PurchaseHistory.Subscription, date: Instant)] = []
    private var failure: (any Error)?
    private var compared = start

    init(_ seed: UInt64, _ scale: Scale, _ place: Place) throws {
        (self.seed, self.scale) = (seed, scale)
        generator = SeededGenerator(seed: seed)
        var options = FakeAppStore.Options()
        options.environment = .production
        options.date = Self.start
        options.tokenClock = .store
        let receiver = Guarded<NotificationReceiver>({ _ in .noResponse })
        options.receiver = { payload in receiver.withLock(\.self)(payload) }
        store = try FakeAppStore(options)
        verifier = try AppStoreVerifier(
            bundleID: options.bundleID, environments: [.production], trust: .roots([store.trustAnchor]))
        app = AskedApp(.production, options.bundleID)
        var policy = LedgerPolicy()
        policy.orders = OrderPolicy()
        policy.inquiries = InquiryPolicy(apps: [app])
        policy.inquiries?.confirm = [.unnotified, .all, .sample(percent: 30)].randomElement(using: &generator) ?? .all
        policy.inquiries?.sweepsRefunds = Bool.random(using: &generator)
        let random = Guarded(SeededGenerator(seed: generator.next()))
        let fakeStore = store
        policy.surroundings.date = { fakeStore.now }
        policy.surroundings.hasDatabaseClock = false
        policy.surroundings.random = { random.withLock { $0.next() } }
        contents = Contents(models: (0...scale.customers).map { [policy] _ in OrdersModel(policy.rules) })
        restorable = try RestorableLedger(place, servers: 2, policy, at: Self.start) { [conflicts] conflict in
            conflicts.withLock { $0.append(conflict.transactionID) }
        }
        receiver.withLock { body in body = { [unowned self] payload in self.receive(payload) } }
        try openServers()
    }

    private var now: Instant { store.now }

    private func now(_ server: Server) -> Instant {
        let date = now + server.clockError.withLock(\.self)
        latest = max(latest, date)
        return date
    }

    private func chance(_ percent: Double) -> Bool { Double.random(in: 0..<100, using: &generator) < percent }

    private func random(_ range: ClosedRange<Double>, _ unit: Duration) -> Duration {
        .milliseconds(Int64(Double.random(in: range, using: &generator) * (unit / .milliseconds(1))))
    }

    private func trace(_ text: String) {
        let line = "\(now) \(text)"
        // FNV-1a.
        for byte in line.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
        lastSteps.append(line)
        if lastSteps.count > 60 { lastSteps.removeFirst(30) }
    }

    private func require(_ isTrue: Bool, _ text: @autoclosure () -> String) throws {
        guard !isTrue else { return }
        throw Failure(description: "seed \(seed), \(now): \(text())\n\(lastSteps.suffix(30).joined(separator: "\n"))")
    }

    // MARK: Servers

    private func openServers() throws {
        servers = try restorable.servers.map { ledger in
            let error = Guarded(Duration.zero)
            let server = Server(ledger, try reconciler(ledger, error), error)
            try server.reconciler.begin()
            return server
        }
    }

    private func reconciler(_ ledger: PurchaseLedger, _ clockError: Guarded<Duration>) throws -> Reconciler {
        let clock: @Sendable () -> Instant = { [store] in store.now + clockError.withLock(\.self) }
        var clientOptions = AppStoreServerClient.Options()
        clientOptions.clock = clock
        let answer = store.inProcess()
        clientOptions.transport = { [unowned self] (request) throws(TransportFault) in
            totals.requests += 1
            let answer = try answer(request)
            trace("\(request.url.suffix(60)) \(answer.status)")
            if answer.status == 200 { recordAnswer(answer.body, at: clock()) }
            return answer
        }
        let client = try AppStoreServerClient(
            store.signer, environment: .production, verifier: verifier, options: clientOptions)
        var options = Reconciler.Options(ledger.policy.surroundings)
        options.clock = clock
        options.wait = { [unowned self] in store.setClock(now + $0) }
        options.onFinding = { [unowned self] finding in
            if case .ledger(let error) = finding { failure = failure ?? error }
        }
        return Reconciler(ledger, [AppleApp(client)], options)
    }

    private var running: [Server] { servers.filter { $0.isDownUntil <= now } }

    // MARK: What Apple says

    private func receive(_ payload: String) -> SendAttemptResult {
        do {
            let notification = try verifier.verifyNotification(payload)
            let uuid = notification.notificationUUID ?? ""
            if sent.updateValue(now, forKey: uuid) == nil {
                totals.notifications += 1
                if delivery != .taken { totals.lost += 1 }
            }
            trace("\(uuid) \(delivery)")
            if delivery == .swallowed { return .success }
            guard delivery == .taken, let server = running.randomElement(using: &generator) else { return .noResponse }
            let date = now(server)
            try server.ledger.record(notification, at: date)
            record(notification, at: date)
            return .success
        } catch {
            failure = failure ?? error
            return .other
        }
    }

    /// The model records a notification, if it has not.
    private func record(_ notification: VerifiedNotification, at date: Instant) {
        guard contents.notifications.insert(notification.notificationUUID ?? "").inserted else { return }
        record([.notification(notification)], at: date)
    }

    private func record(_ evidence: [VerifiedEvidence], at date: Instant) {
        let purchases = evidence.flatMap { $0.purchases.map(\.purchase) }
        let renewals = evidence.flatMap { $0.renewals.map(\.renewal) }
        for (customer, purchases) in Dictionary(grouping: purchases, by: { Self.customer($0.transactionID) }) {
            let originals = Set(purchases.map(\.originalTransactionID))
            let own = renewals.filter { originals.contains($0.originalTransactionID) }
            contents.models[customer].record(purchases, own, at: date)
        }
    }

    private static func customer(_ transaction: String) -> Int { Int(transaction).map { $0 / 1_000_000 % 1000 } ?? 0 }

    /// The model records what a server records of an answer: what Apple signed.
    private func recordAnswer(_ body: [UInt8], at date: Instant) {
        guard let json = try? JSONSerialization.jsonObject(with: Data(body)) as? [String: Any] else { return }
        func evidence(_ text: Any?) -> VerifiedEvidence? { (text as? String).flatMap { try? verifier.verify($0) } }
        if let items = json["notificationHistory"] as? [[String: Any]] {
            for case .notification(let notification)? in items.map({ evidence($0["signedPayload"]) }) {
                record(notification, at: date)
            }
        } else if let transaction = evidence(json["signedTransactionInfo"]) {
            record([transaction], at: date)
        } else if let groups = json["data"] as? [[String: Any]] {
            let items = groups.flatMap { $0["lastTransactions"] as? [[String: Any]] ?? [] }
            let transactions = items.compactMap { evidence($0["signedTransactionInfo"]) }
            record(transactions + items.compactMap { evidence($0["signedRenewalInfo"]) }, at: date)
        } else if let items = json["signedTransactions"] as? [String] {
            record(items.compactMap(evidence), at: date)
        }
    }

    // MARK: The course of things

    func run() throws {
        let end = Self.start + Self.day * scale.days
        while now < end {
            totals.steps += 1
            try fail()
            try pass(random(0.02...1, scale.longestStep))
            for _ in 0..<Int.random(in: 0...3, using: &generator) {
                try live(Int.random(in: 1...scale.customers, using: &generator))
            }
            try operate()
        }
        try finish()
    }

    /// Faults begin and end.
    private func fail() throws {
        if chance(20) {
            store.endFaults()
            // The App Store can be away as a whole.
            let isAway = chance(15)
            let faults = isAway ? [.unavailable] : Self.faults.filter { _ in chance(50) }
            let percent = isAway ? 100 : Int.random(in: 0...40, using: &generator)
            store.injectRandomly(seed: generator.next(), percent: percent, faults)
            delivery = [.taken, .taken, .taken, .lost, .swallowed].randomElement(using: &generator) ?? .taken
            trace("\(delivery), \(percent) % of \(faults.count) faults")
        }
        if chance(3) { webhookIsDownUntil = now + random(0...3, Self.day) }
        for (index, server) in servers.enumerated() {
            if server.clockIsWrongUntil <= now {
                server.clockError.withLock { $0 = .zero }
                if chance(4) {
                    let errors = [random(-90...90, .seconds(1)), Self.day, .zero - Self.day]
                    let error = errors.randomElement(using: &generator) ?? .zero
                    server.clockError.withLock { $0 = error }
                    server.clockIsWrongUntil = now + random(0.1...3, Self.day)
                    totals.clockSteps += 1
                    trace("clock \(index) \(error)")
                }
            }
            if server.isDownUntil <= now, chance(1.5) {
                server.isDownUntil = now + random(0.1...8, Self.day)
                // What it has not recorded is lost.
                let (down, wrong) = (server.isDownUntil, server.clockIsWrongUntil)
                let ledger = try restorable.reopen(index, at: now)
                servers[index] = Server(ledger, try reconciler(ledger, server.clockError), server.clockError)
                (servers[index].isDownUntil, servers[index].clockIsWrongUntil) = (down, wrong)
                trace("server \(index) until \(server.isDownUntil)")
            }
        }
    }

    /// Lets time pass, in which Apple charges and sends, and servers do background work.
    private func pass(_ duration: Duration) throws {
        let wasDown = servers.map { $0.isDownUntil > now }
        let end = now + duration
        while let (index, charge) = charges.enumerated().min(by: { $0.element.date < $1.element.date }),
            charge.date <= end
        {
            charges.remove(at: index)
            if charge.date > now { store.setClock(charge.date) }
            self.charge(charge.customer, charge.subscription)
        }
        store.setClock(max(end, now))
        store.deliverNotifications()
        if let failure { throw failure }
        for (index, server) in servers.enumerated() where server.isDownUntil <= now {
            if wasDown[index] { try server.reconciler.begin() }
            try work(server)
        }
        try readEvents()
        if compared + Self.day <= now {
            compared = now
            try compare()
        }
    }

    private func charge(_ customer: Int, _ subscription: PurchaseHistory.Subscription) {
        let date = now
        switch Int.random(in: 0..<20, using: &generator) {
        case 0: store.change(customer: customer) { $0.turnOffRenewal(of: subscription, at: date) }
        case 1:
            let grace: Duration? = chance(50) ? Self.day * 6 : nil
            let end = store.histories[customer]?.latestPeriod(of: subscription).expiresDate ?? date
            store.change(customer: customer) { $0.failToRenew(subscription, at: max(date, end), gracePeriod: grace) }
            // Apple tries again.
            if chance(70) { charges.append((customer, subscription, max(date, end) + random(0.5...20, Self.day))) }
        default:
            let renewal = store.change(customer: customer) { $0.renew(subscription, at: date) }
            expectCharge(customer, subscription, renewal)
        }
    }

    private func expectCharge(
        _ customer: Int, _ subscription: PurchaseHistory.Subscription, _ period: PurchaseHistory.Transaction
    ) {
        guard let end = period.expiresDate else { return }
        charges.removeAll { $0.subscription == subscription }
        charges.append((customer, subscription, end - random(0...20, .seconds(3600))))
    }

    /// Does a server's background work.
    private func work(_ server: Server) throws {
        let date = now(server)
        while try server.ledger.settleDue(at: date) > 0 {}
        for customer in 1...scale.customers { contents.models[customer].settleDue(at: date) }
        var count = 0
        while case .asked = server.reconciler.runOnce() {
            count += 1
            try require(count < 5000, "it asks for ever")
        }
        if let failure { throw failure }
        if let date = missingSince {
            let result = try server.reconciler.reconcile(since: date)
            trace("reconcile \(result.status)")
            if result.status == 0 { missingSince = nil }
        }
        try readEvents()
        try deliver(server)
        try server.attempts.write()
        for attempt in server.waitingAttempts {
            contents.attempts[attempt.id] = (attempt.account, attempt.at)
        }
        server.waitingAttempts = []
        let cleaning = now(server)
        try server.ledger.removeHistory(before: cleaning - EventDelivery.retention)
        try server.ledger.removeAttempts(before: cleaning - Self.attemptTime)
        try server.ledger.removeDeletions(at: cleaning)
        contents.attempts = contents.attempts.filter { $0.value.at >= cleaning - Self.attemptTime }
        contents.deletions = contents.deletions.filter { $0.value >= cleaning - Self.day }
    }

    private func deliver(_ server: Server) throws {
        for round in 0..<4 {
            let events = try server.ledger.takeEvents(
                limit: 8, lease: PurchaseLedger.eventLease, isNewestFirst: round % 2 == 1, at: now(server))
            if events.isEmpty { return }
            for event in events {
                let isUp = webhookIsDownUntil <= now && !chance(5)
                if isUp { backend.receive(try StoredJSON.decode(event.event) as Backend.Event) }
                trace("delivered \(event.id) \(isUp)")
                // It crashes before it knows.
                if chance(5) { continue }
                try server.ledger.record([(event, isUp ? nil : "status 500")], maximumAttempts: 80, at: now(server))
            }
        }
    }

    // MARK: Customers

    private func account(_ customer: Int, _ number: Int) -> String { "\(number == 0 ? "anna" : "ben") \(customer)" }

    /// Two of accounts, and one that nobody has.
    private func token(_ customer: Int, _ number: Int) -> String {
        "00000000-0000-4000-8000-\(100_000_000_000 + customer * 10 + number)"
    }

    private func live(_ customer: Int) throws {
        guard let server = running.randomElement(using: &generator) else { return }
        let date = now
        let choice = Int.random(in: 0..<1000, using: &generator)
        let history = store.histories[customer]
        let recent = history?.transactions.filter { $0.purchaseDate > date - Self.day * 60 } ?? []
        let any = recent.isEmpty ? nil : recent[choice % recent.count]
        let subscriptions = history?.subscriptions ?? []
        let action = Int.random(in: 0..<100, using: &generator)
        trace("customer \(customer), \(action)")
        switch action {
        case 0..<20:
            let coins = store.change(customer: customer) {
                $0.buyConsumable("coins", quantity: 1 + choice % 5, at: date)
            }
            if chance(80) { try redeem(coins, customer, server) }
        case 20..<25:
            store.change(customer: customer) { _ = $0.buyNonConsumable("pro \(choice % 3)", at: date) }
        case 25..<31:
            guard subscriptions.count < 3 else { return }
            let days = [7, 14, 30, 30].randomElement(using: &generator) ?? 30
            let subscription = store.change(customer: customer) {
                $0.subscribe(to: "every \(days)", in: "group \(choice)", for: .days(days), at: date)
            }
            expectCharge(customer, subscription, subscription.firstPeriod)
            if chance(80) { try redeem(subscription.firstPeriod, customer, server) }
        case 31..<38:
            let percentage: Int64 = chance(60) ? 100_000 : 40_000
            if let any { store.change(customer: customer) { $0.refund(any, at: date, percentage: percentage) } }
        case 38..<40: if let any { store.change(customer: customer) { $0.reverseRefund(of: any, at: date) } }
        case 40..<43:
            guard let subscription = subscriptions.randomElement(using: &generator),
                let last = history?.latestPeriod(of: subscription), let end = last.expiresDate,
                last.purchaseDate < date, date < end
            else { return }
            let period = store.change(customer: customer) {
                $0.upgrade(subscription, to: "gold \(choice % 2)", for: .days(30), at: date)
            }
            expectCharge(customer, subscription, period)
        case 43..<46:
            if let any { store.change(customer: customer) { _ = $0.restore(any, at: date) } }
        case 46..<54:
            let token =
                [token(customer, 0), token(customer, 0), token(customer, 1), token(customer, 2), nil]
                .randomElement(using: &generator) ?? nil
            store.change(customer: customer) { $0.appAccountToken = token }
        case 54..<58: try act(.token(customer: customer, number: choice % 2), server)
        case 58..<60:
            let original = chance(50) ? any?.originalTransactionID : nil
            try act(
                .transfer(
                    customer: customer, from: choice % 2, original: original,
                    movesTokens: original == nil && chance(50)), server)
        case 60: try act(.deletion(customer: customer, account: choice % 2), server)
        case 61..<64: try order(customer, choice, server)
        default: if let any { try redeem(any, customer, server) }
        }
    }

    private func redeem(_ transaction: PurchaseHistory.Transaction, _ customer: Int, _ server: Server) throws {
        guard let history = store.histories[customer] else { return }
        let evidence: VerifiedEvidence
        if chance(15) {
            evidence = try verifier.verify(history.receipt(signedAt: now).signed(by: store.authority))
        } else if let builder = history.transaction(transaction, signedAt: now) {
            evidence = try verifier.verify(builder.signed(by: store.authority))
        } else {
            return
        }
        let number = chance(10) ? 1 : 0
        let token = [nil, nil, token(customer, 0), token(customer, 1)].randomElement(using: &generator) ?? nil
        try redeem(evidence, customer, number, token.flatMap { AppAccountToken($0) }, server)
    }

    private func redeem(
        _ evidence: VerifiedEvidence, _ customer: Int, _ number: Int, _ token: AppAccountToken?, _ server: Server
    ) throws {
        totals.redemptions += 1
        let (name, date) = (account(customer, number), now(server))
        let answer = try server.ledger.redeem(evidence, for: name, accountToken: token, at: date)
        let expected = contents.models[customer].redeem(evidence, for: name, token, at: date)
        let outcomes = answer.outcomes.map { "\($0.outcome.rawValue) \($0.mayFinish)" }
        trace("\(name) \(answer.sequence) \(zip(evidence.transactionIDs, outcomes).map { "\($0) \($1)" })")
        try require(outcomes == expected, "expected \(expected)")
        try readEvents()
        // A later number is not less.
        let before = greatest[name] ?? 0
        try require(answer.sequence >= before, "an answer has \(answer.sequence) after \(before)")
        greatest[name] = answer.sequence
        if chance(90) { backend.receive(answer, for: name) }
        let time = String(UInt64(clamping: date.millisecondsSince1970), radix: 16)
        let digits = String(1 << 60 | generator.next() >> 4, radix: 16)
        let id = String(repeating: "0", count: 12 - time.utf8.count) + time + digits
        server.attempts.add(
            Attempt(
                id, of: name, Array("evidence \(id)".utf8), code: "ok", answer.outcomes, order: answer.sequence,
                at: date))
        server.waitingAttempts.append((id, name, date))
        totals.attempts += 1
    }

    private func order(_ customer: Int, _ choice: Int, _ server: Server) throws {
        let (name, date) = (account(customer, choice % 2), now(server))
        let product = ["coins", "pro 0", "every 30"][choice % 3]
        let order = try server.ledger.placeOrder(
            for: name, productID: product, bundleID: app.bundleID, in: .production, at: date)
        trace("order \(order.id) \(order.token)")
        contents.models[customer].add(
            .init(
                id: order.id, account: name, productID: product, createdAt: date, token: order.token, shopOrderID: nil))
        if contents.models[customer].tokens[order.token] == nil {
            try require(
                contents.models[customer].token(order.token, for: name, at: date) == true, "the order's token is taken")
        }
        try require(contents.models[customer].tokens[order.token]?.account == name, "the order has another's token")
    }

    // MARK: Operators

    private func act(_ act: Act, _ server: Server) throws {
        let date = now(server)
        trace("\(act)")
        sinceBackUp.append(act)
        do {
            switch act {
            case .token(let customer, let number):
                let (token, name) = (AppAccountToken(token(customer, number))!, account(customer, number))
                let expected = contents.models[customer].token(token, for: name, at: date)
                var isNew: Bool?
                do throws(LedgerError) {
                    isNew = try server.ledger.token(for: name, storing: token, at: date).isNew
                } catch {
                    guard error.code == .tokenTaken else { throw error }
                }
                try require(isNew == expected, "\(String(describing: isNew)), and not \(String(describing: expected))")
            case .transfer(let customer, let from, let original, let movesTokens):
                let (name, other) = (account(customer, from), account(customer, 1 - from))
                let expected = contents.models[customer].transfer(
                    from: name, to: other, original, movesTokens: movesTokens)
                let count = try server.ledger.transfer(
                    from: name, to: other, transactionID: original, in: original.map { _ in .production },
                    movesTokens: movesTokens, reason: "test", at: date)
                try require(count == expected, "\(count) were moved, and not \(expected)")
            case .deletion(let customer, let number):
                try readEvents()
                let name = account(customer, number)
                // Even for an account that the ledger doesn't know: a server can still have its attempts.
                contents.deletions = contents.deletions.filter { $0.value >= date - Self.day }
                contents.deletions[name] = date
                contents.attempts = contents.attempts.filter { $0.value.account != name }
                // Whatever the clocks of the servers say.
                for server in servers { server.waitingAttempts.removeAll { $0.account == name } }
                let forgotten = try server.ledger.deleteAccount(name, at: date)
                trace(forgotten)
                contents.models[customer].forget(name, as: forgotten)
                backend.forget(name)
                for (key, quantity) in contents.notified where key.account == name {
                    contents.notified[key] = nil
                    contents.notified[Notified(account: forgotten, transaction: key.transaction)] = quantity
                }
            }
        } catch let error as LedgerError where error.code == .notFound {
            trace("not found")
        }
        try readEvents()
    }

    private func operate() throws {
        if chance(backUp == nil ? 5 : 2) {
            try readEvents()
            try restorable.backUp()
            trace("back-up")
            backUp = (contents, now)
            sinceBackUp = []
        } else if let backUp, chance(backUp.at + Self.day * 20 < now ? 0 : 3) {
            try restore(backUp.contents, from: backUp.at)
        }
    }

    private func restore(_ saved: Contents, from date: Instant) throws {
        try readEvents()
        trace("restored from \(date)")
        totals.restores += 1
        servers = []
        // The new server's clock must not be behind an earlier one.
        store.setClock(max(now, latest) + .seconds(1))
        try restorable.restore(at: now)
        contents = saved
        conflicts.withLock { $0 = contents.models.flatMap(\.conflicts) }
        try openServers()
        let acts = sinceBackUp
        sinceBackUp = []
        for act in acts { try self.act(act, servers[0]) }
        missingSince = date
    }

    // MARK: What must be

    /// Reads the events that are new, and checks their numbers.
    private func readEvents() throws {
        for event in try restorable.ledger.events() where contents.seen.insert(event.id).inserted {
            totals.events += 1
            trace(event.json)
            try require(ids.insert(event.id).inserted, "there was another event \(event.id)")
            let before = max(contents.sequences[event.account] ?? 0, greatest[event.account] ?? 0)
            try require(event.sequence > before, "an event has \(event.sequence) after \(before)")
            contents.sequences[event.account] = event.sequence
            greatest[event.account] = event.sequence
            let key = Notified(account: event.account, transaction: event.transactionID)
            if event.cause != .transfer {
                try require(
                    event.previousQuantity == contents.notified[key] ?? 0,
                    "\(event.previousQuantity) before, and not \(contents.notified[key] ?? 0)")
            }
            contents.notified[key] = Int64(event.quantity)
        }
    }

    private func rows(_ statement: String) throws -> [SQLRow] {
        try restorable.ledger.store.read { (connection) throws(LedgerError) in try connection.run(statement) }
    }

    /// The ledger has what the model has.
    private func compare() throws {
        var grants: [String: LedgerState.Row] = [:]
        for row in try rows(
            "SELECT transaction_id, account, quantity FROM grants JOIN identifiers ON id = identifier_id")
        {
            let id = try row.text(0)
            try require(grants[id] == nil, "two accounts were granted \(id)")
            grants[id] = .init(account: try row.text(1), quantity: try row.integer(2))
        }
        let expected = contents.models.reduce(into: [:]) { $0.merge($1.grants) { first, _ in first } }
        try require(grants == expected, differences(grants, expected))
        let notified = contents.notified.filter { $0.value > 0 }
        let given = grants.filter { $0.value.quantity > 0 }
        let byAccount = given.map { (Notified(account: $0.value.account, transaction: $0.key), $0.value.quantity) }
        try require(notified == Dictionary(uniqueKeysWithValues: byAccount), "the events do not add up to the grants")
        totals.grants = given.count
        var owners: [String: String] = [:]
        let originals = Set(contents.models.flatMap(\.owners.keys))
        for row in try rows(
            """
            SELECT transaction_id, account FROM identifiers JOIN families ON family_id = families.id
            WHERE account IS NOT NULL
            """
        ) {
            if case let id = try row.text(0), originals.contains(id) { owners[id] = try row.text(1) }
        }
        let expectedOwners = contents.models.reduce(into: [:]) { $0.merge($1.owners) { first, _ in first } }
        try require(owners == expectedOwners, differences(owners, expectedOwners))
        let conflicts = conflicts.withLock { $0.sorted() }
        try require(conflicts == contents.models.flatMap(\.conflicts).sorted(), "conflicts \(conflicts)")
        let notifications = Set(try rows("SELECT uuid FROM notifications").map { try $0.text(0) })
        try require(notifications == contents.notifications, "the notifications differ")
        let attempts = Set(try rows("SELECT request_id FROM attempts").map { try $0.text(0) })
        try require(attempts == Set(contents.attempts.keys), "the attempts differ")
        let deletions = try rows("SELECT deleted_at FROM deletions").map { try $0.date(0) }.sorted()
        try require(deletions == contents.deletions.values.sorted(), "the deletions differ")
    }

    private func differences<Value: Equatable>(_ found: [String: Value], _ expected: [String: Value]) -> String {
        Set(found.keys).union(expected.keys).sorted().filter { found[$0] != expected[$0] }.map {
            "\($0): \(String(describing: found[$0])), and not \(String(describing: expected[$0]))"
        }.joined(separator: "; ")
    }

    /// Faults end. The ledger then knows everything, and the backend what the ledger knows.
    private func finish() throws {
        store.endFaults()
        if delivery == .swallowed { delivery = .taken }
        webhookIsDownUntil = now
        for server in servers {
            server.clockError.withLock { $0 = .zero }
            server.clockIsWrongUntil = .distantFuture
            if server.isDownUntil > now { try server.reconciler.begin() }
            server.isDownUntil = now
        }
        for _ in 0..<16 { try pass(.seconds(6 * 3600)) }
        delivery = .taken
        try compare()
        try require(missingSince == nil, "the ledger was not reconciled with the App Store")
        let missing = sent.keys.filter { !contents.notifications.contains($0) }.sorted()
        try require(missing.isEmpty, "\(missing) never arrived")
        let ledger = try restorable.ledger
        for count in try ledger.inquiryCounts(at: now) {
            // A clock that is a day behind asks for half a year before the shop opened. Apple no longer has its first
            // day.
            try require(count.gap.map { $0.until < Self.start } ?? true, "there is a gap")
        }
        try require(ledger.unknownTransactions().isEmpty, "Apple does not know what it signed")
        for customer in 1...scale.customers {
            guard let history = store.histories[customer] else { continue }
            let everything = try verifier.verify(
                history.receipt(signedAt: now, of: history.transactions).signed(by: store.authority))
            for number in [0, 1] {
                let answer = try ledger.redeem(everything, for: account(customer, number), at: now)
                _ = contents.models[customer].redeem(everything, for: account(customer, number), nil, at: now)
                backend.receive(answer, for: account(customer, number))
            }
        }
        while case let events = try ledger.takeEvents(limit: 100, lease: .zero, at: now), !events.isEmpty {
            for event in events { backend.receive(try StoredJSON.decode(event.event) as Backend.Event) }
            try ledger.record(events.map { ($0, nil) }, maximumAttempts: 80, at: now)
        }
        try readEvents()
        try compare()
        try require(ledger.deadLetters().isEmpty, "there are dead letters")
        try require(ledger.grantedBalances() == backend.grants, "the backend has something else than the ledger")
        trace("\(try LedgerState(ledger).grants.sorted { $0.key < $1.key })")
    }
}
