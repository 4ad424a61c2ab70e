import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import Sampling
import SeededRandom
import Testing

/// Compares a backend that knows only answers and events with the ledger's grants.
@Suite struct BackendTests {
    @Test(arguments: Place.available)
    func `a backend that follows Deliver has what was granted, whatever happens`(_ place: Place) throws {
        var generator = SeededGenerator()
        let customers = try (1...25).map { try Customer($0, using: &generator) }
        for _ in 0..<Sampling.count("backend-histories") / customers.count {
            var world = World(try RestorableLedger(place, at: day(0)), customers, generator)
            try world.run()
            generator = world.generator
            let differences = try world.differences()
            guard differences.isEmpty else {
                Issue.record("\(differences.joined(separator: "\n"))")
                return
            }
        }
    }
}

/// The smallest histories in which a backend keeps ungranted purchases if it looks only at `granted_as`, or at numbers
/// that only answers raise.
extension BackendTests {
    @Test(arguments: Place.available)
    func `after a restored back-up, a copy is granted instead of what was lost`(_ place: Place) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let period = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0)).firstPeriod
        let copy = history.restore(period, at: day(1))
        let restorable = try RestorableLedger(place, at: day(1))
        var backend = Backend()
        func submit(_ transaction: PurchaseHistory.Transaction) throws {
            let evidence = try history.evidence(transaction, signedAt: day(1))
            backend.receive(try restorable.ledger.redeem(evidence, for: "anna", at: day(2)), for: "anna")
        }
        try restorable.backUp()
        try submit(period)
        try restorable.restore(at: day(2))
        try submit(copy)
        try submit(period)
        #expect(try restorable.ledger.grantedBalances() == backend.grants)
        #expect(backend.grants.map(\.key.transactionID) == [copy.transactionID])
    }

    @Test(arguments: Place.available)
    func `after a restored back-up, another account submits a purchase first`(_ place: Place) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
        let evidence = try history.evidence(coins, signedAt: day(1))
        let restorable = try RestorableLedger(place, at: day(1))
        var backend = Backend()
        try restorable.backUp()
        for (date, accounts) in [(day(2), ["ben"]), (day(3), ["anna", "ben"])] {
            try restorable.restore(at: date)
            for account in accounts {
                backend.receive(try restorable.ledger.redeem(evidence, for: account, at: date), for: account)
            }
        }
        #expect(try restorable.ledger.grantedBalances() == backend.grants)
        #expect(backend.grants.map(\.key.account) == ["anna"])
    }

    @Test(arguments: Place.available)
    func `a purchase that was refunded while its account was forgotten returns as refunded`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(1))
            var backend = Backend()
            let granted = try ledger.redeem(evidence, for: "anna", at: day(1))
            let name = try ledger.deleteAccount("anna")
            backend.forget("anna")
            // The answer was late.
            backend.receive(granted, for: "anna")
            history.refund(coins, at: day(2))
            try ledger.record(#require(history.verifiedNotifications(through: day(2)).last), at: day(2))
            try ledger.transfer(from: name, to: "anna", reason: "support", at: day(3))
            for event in try ledger.events() {
                let text = event.json
                backend.receive(try StoredJSON.decode(text) as Backend.Event)
            }
            #expect(backend.grants.isEmpty)
        }
    }

    @Test(arguments: Place.available)
    func `a backend that wrote what was imported into its balances counts it once, and a refund takes it back`(
        _ place: Place
    ) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
            let refunded = history.buyConsumable("coins", quantity: 2, at: day(0))
            let untouched = history.buyConsumable("coins", quantity: 1, at: day(0))
            let spent = try [coins, refunded, untouched].map { transaction in
                try #require(
                    SpentTransaction(
                        account: "anna", environment: .production, bundleID: Minted.bundleID,
                        transactionID: transaction.transactionID, originalTransactionID: nil,
                        productID: transaction.productID, quantity: transaction.quantity, date: day(0)))
            }
            var backend = Backend()
            for transaction in spent { backend.know(transaction) }
            _ = try ledger.imported(spent.map(ImportedLine.spent), at: day(1))
            #expect(try ledger.grantedBalances() == backend.grants && backend.grants.count == 3)
            let evidence = try history.evidence(coins, signedAt: day(1))
            backend.receive(try ledger.redeem(evidence, for: "anna", at: day(2)), for: "anna")
            history.refund(refunded, at: day(3))
            for notification in try history.verifiedNotifications(through: day(3)) {
                try ledger.record(notification, at: day(3))
            }
            for event in try ledger.events() {
                let text = event.json
                backend.receive(try StoredJSON.decode(text) as Backend.Event)
            }
            #expect(try ledger.grantedBalances() == backend.grants)
            #expect(backend.grants.values.map(\.quantity).sorted() == [1, 3])
        }
    }

    @Test(arguments: Place.available)
    func `what a deleted account is notified of is newer than what it was notified of before`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(1))
            var backend = Backend()
            let granted = try ledger.redeem(evidence, for: "anna", at: day(1))
            _ = try ledger.deleteAccount("anna")
            backend.forget("anna")
            let after = try ledger.redeem(evidence, for: "anna", at: day(1))
            #expect(after.sequence > granted.sequence)
            backend.receive(after, for: "anna")
            // The first answer was late.
            backend.receive(granted, for: "anna")
            #expect(backend.grants.isEmpty)
        }
    }
}

/// A customer's evidence, verified once, because signatures take most of the time.
struct Customer {
    let number: Int
    /// In the order of their signing dates.
    let evidence: [(signed: Instant, evidence: VerifiedEvidence)]
    let notifications: [(signed: Instant, notification: VerifiedNotification)]
    /// All that a device has in the end.
    let everything: VerifiedEvidence
    let transactionIDs: [String]
    let accounts: [String]

    init(_ number: Int, using generator: inout SeededGenerator) throws {
        self.number = number
        accounts = ["anna", "ben", "carl"].map { "\($0)-\(number)" }
        let history = PurchaseHistory.random(customer: number, using: &generator)
        notifications = try history.verifiedNotifications(through: day(120)).map {
            ($0.notification.payload.signedDate ?? day(0), $0)
        }
        var evidence: [(Instant, VerifiedEvidence)] = []
        for signed in [10, 25, 60, 120].map({ day($0) }) {
            for builder in history.transactions(signedAt: signed) {
                evidence.append((signed, try Minted.evidence(builder)))
            }
            evidence.append((signed, try Minted.evidence(history.receipt(signedAt: signed))))
        }
        self.evidence = evidence
        everything = try Minted.evidence(history.receipt(signedAt: day(120), of: history.transactions))
        transactionIDs = history.transactions.map(\.transactionID)
    }
}

/// What happens to the purchases of customers who share a ledger, a backend, and an operator.
struct World {
    private let restorable: RestorableLedger
    private let customers: [Customer]
    private(set) var generator: SeededGenerator
    private var backend = Backend()
    /// The messages on their way to the backend, which arrive in any order.
    private var late: [Message] = []
    private var requests: [Request] = []
    private var arrived: [VerifiedNotification] = []
    /// An operator's acts since the backup, or `nil` if there is none.
    private var sinceBackUp: [Action]?
    /// The names that deleted accounts have now, by customer.
    private var forgotten: [Int: String] = [:]
    private var date = 10.0
    /// For the report of a failure: what happened, and to which customer; 0 for all.
    private var steps: [(customer: Int, text: String)] = []

    private enum Message {
        case answer(Redemption, String)
        case event(Backend.Event)
    }

    private enum Action {
        case transfer(from: String, to: String, transactionID: String?)
        /// With the account's random name, once deleted.
        case deletion(String, as: String? = nil)
        /// A quantity that support sets, or `nil` to follow the evidence.
        case adjustment(account: String, transactionID: String, quantity: Int64?)
        case product(account: String, key: String)
    }

    private struct Request {
        let evidence: VerifiedEvidence
        let account: String
        let key: String
    }

    init(_ restorable: RestorableLedger, _ customers: [Customer], _ generator: SeededGenerator) {
        self.restorable = restorable
        self.customers = customers
        self.generator = generator
    }

    /// The error for an operator's impossible request.
    private static let expected: Set<LedgerError.Code> = [.notFound, .notAdjustable, .invalidText]

    private var now: Instant { day(date) }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }

    private mutating func log(_ customer: Customer?, _ text: @autoclosure () -> String) {
        steps.append((customer?.number ?? 0, "\(now) \(text())"))
    }

    /// On average, 10 steps for each customer, in 110 days.
    mutating func run() throws {
        for _ in 0..<10 * customers.count {
            date += Double.random(in: 0.001...220, using: &generator) / Double(10 * customers.count)
            guard let customer = customers.randomElement(using: &generator) else { return }
            switch Int.random(in: 0..<1000, using: &generator) {
            case 0..<400: try redeem(customer)
            case 400..<580: try notify(customer)
            case 580..<650: try deliver()
            case 650..<760: receiveLate()
            case 760..<800: try restorable.ledger.settleDue(at: now)
            case 800..<860: try transfer(customer)
            case 860..<900: try adjust(customer)
            case 900..<960: try act(.deletion(customer.accounts.randomElement(using: &generator) ?? ""), customer)
            case 960..<980:
                log(nil, "back-up")
                try restorable.backUp()
                sinceBackUp = []
            default: try restore()
            }
        }
        try finish()
    }

    // MARK: Steps

    private mutating func redeem(_ customer: Customer) throws {
        let account = customer.accounts[[0, 0, 0, 0, 0, 0, 1, 1, 1, 2].randomElement(using: &generator) ?? 0]
        let signed = customer.evidence.filter { $0.signed <= now }
        guard let evidence = signed.randomElement(using: &generator)?.evidence else { return }
        if chance(20), let request = requests.randomElement(using: &generator) {
            try submit(request.evidence, for: request.account, key: request.key, customer)
        } else if chance(30) {
            let request = Request(evidence: evidence, account: account, key: "key \(date)")
            requests.append(request)
            try submit(evidence, for: account, key: request.key, customer)
        } else {
            try submit(evidence, for: account, customer)
        }
    }

    private mutating func submit(
        _ evidence: VerifiedEvidence, for account: String, key: String? = nil, _ customer: Customer
    ) throws {
        let answer = try restorable.ledger.redeem(evidence, for: account, idempotencyKey: key, at: now)
        let outcomes = answer.outcomes.map { "\($0.transactionID) \($0.outcome) as \($0.grantedAs ?? "-")" }
        log(customer, "\(account) \(answer.sequence): \(outcomes.joined(separator: ", "))")
        send(.answer(answer, account))
    }

    /// A message is received, lost, late, or received twice.
    private mutating func send(_ message: Message) {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0, 1: break
        case 2, 3: late.append(message)
        case 4:
            receive(message)
            late.append(message)
        default: receive(message)
        }
    }

    private mutating func receive(_ message: Message) {
        switch message {
        case .answer(let answer, let account): backend.receive(answer, for: account)
        case .event(let event): backend.receive(event)
        }
    }

    private mutating func receiveLate() {
        late.shuffle(using: &generator)
        for message in late.prefix(2) { receive(message) }
        late = Array(late.dropFirst(chance(50) ? 2 : 0))
    }

    private mutating func notify(_ customer: Customer) throws {
        let signed = customer.notifications.filter { $0.signed <= now }
        guard let notification = signed.randomElement(using: &generator)?.notification else { return }
        arrived.append(notification)
        log(customer, "notification \(notification.notification.payload.type?.rawValue ?? "")")
        try restorable.ledger.record(notification, at: now)
    }

    private mutating func deliver() throws {
        for _ in 0..<4 {
            let events = try restorable.ledger.takeEvents(limit: 100, lease: .zero, at: now)
            for event in events {
                let received: Backend.Event = try StoredJSON.decode(event.event)
                switch Int.random(in: 0..<10, using: &generator) {
                case 0:
                    // A dead letter, which an operator can send again.
                    try restorable.ledger.record([(event, "status 500")], maximumAttempts: 1, at: now)
                case 1:
                    // It arrived, but the ledger does not know it.
                    receive(.event(received))
                case 2:
                    receive(.event(received))
                    late.append(.event(received))
                    try restorable.ledger.record([(event, nil)], maximumAttempts: 80, at: now)
                default:
                    receive(.event(received))
                    try restorable.ledger.record([(event, nil)], maximumAttempts: 80, at: now)
                }
            }
        }
    }

    private mutating func transfer(_ customer: Customer) throws {
        let from =
            (customer.accounts + [forgotten[customer.number]].compactMap(\.self)).randomElement(using: &generator) ?? ""
        let others = customer.accounts.filter { $0 != from }
        let action = Action.transfer(
            from: from, to: others.randomElement(using: &generator) ?? "",
            transactionID: chance(50) ? customer.transactionIDs.randomElement(using: &generator) : nil)
        try act(action, customer)
    }

    private mutating func adjust(_ customer: Customer) throws {
        let account = customer.accounts.randomElement(using: &generator) ?? ""
        if chance(20) { return try act(.product(account: account, key: "support \(date)"), customer) }
        let quantities: [Int64?] = [0, 1, 2, 7, nil]
        let action = Action.adjustment(
            account: account, transactionID: customer.transactionIDs.randomElement(using: &generator) ?? "",
            quantity: quantities.randomElement(using: &generator) ?? nil)
        try act(action, customer)
    }

    private mutating func adjust(_ change: Adjustment.Change, of account: String, key: String?) throws {
        let answer = try restorable.ledger.adjust(
            Adjustment(change, reason: "support", idempotencyKey: key), of: account, at: now)
        // Operators repeat what was lost, as clients do.
        log(nil, "\(account) \(answer.sequence): \(answer.name.transactionID) has \(answer.quantity)")
    }

    /// Performs an operator's act, even for an unknown purchase or account.
    private mutating func act(_ action: Action, _ customer: Customer?) throws {
        log(customer, "\(action)")
        var done = action
        do {
            switch action {
            case .transfer(let from, let to, let transactionID):
                try restorable.ledger.transfer(
                    from: from, to: to, transactionID: transactionID, reason: "support", at: now)
            case .deletion(let account, _):
                let name = try restorable.ledger.deleteAccount(account)
                done = .deletion(account, as: name)
                if let customer = customers.first(where: { $0.accounts.contains(account) }) {
                    forgotten[customer.number] = name
                }
                backend.forget(account)
                // Clients don't submit again what support granted, so drop late events about it to a deleted account.
                late.removeAll { message in
                    guard case .event(let event) = message else { return false }
                    return event.account == account && event.transaction_id.hasPrefix("support-")
                }
            case .adjustment(let account, let transactionID, let quantity):
                let name = TransactionName(
                    environment: .production, bundleID: Minted.bundleID, transactionID: transactionID)
                try adjust(quantity.map { .quantity(name, $0) } ?? .asSigned(name), of: account, key: nil)
            case .product(let account, let key):
                let change = Adjustment.Change.product(
                    environment: .production, bundleID: Minted.bundleID, productID: "gift", quantity: 5)
                try adjust(change, of: account, key: key)
            }
            sinceBackUp?.append(done)
        } catch let error as LedgerError where Self.expected.contains(error.code) {}
    }

    private mutating func restore() throws {
        guard let lost = sinceBackUp else { return }
        log(nil, "restored")
        try restorable.restore(at: now)
        // As RUNBOOK.md says. Clients return at any time.
        for notification in arrived { try restorable.ledger.record(notification, at: now) }
        // A repeated deletion gives a new name, so later transfers from the old name use the new one.
        var names: [String: String] = [:]
        var again: [Action] = []
        for var action in lost {
            if case .transfer(let from, let to, let transactionID) = action, let name = names[from] {
                action = .transfer(from: name, to: to, transactionID: transactionID)
            }
            sinceBackUp = []
            try act(action, nil)
            if case .deletion(_, let old?) = action, case .deletion(_, let new?)? = sinceBackUp?.last {
                names[old] = new
            }
            again.append(sinceBackUp?.last ?? action)
        }
        sinceBackUp = again
    }

    /// All clients submit their evidence once more, and everything that is pending is delivered.
    private mutating func finish() throws {
        date = max(date, 120) + 1
        log(nil, "the end")
        if chance(50) { late.forEach { receive($0) } }
        for customer in customers {
            for account in customer.accounts.shuffled(using: &generator) {
                let answer = try restorable.ledger.redeem(customer.everything, for: account, at: now)
                backend.receive(answer, for: account)
            }
        }
        for letter in try restorable.ledger.deadLetters() {
            try restorable.ledger.sendAgain(eventID: letter.id, at: now)
        }
        while case let events = try restorable.ledger.takeEvents(limit: 100, lease: .zero, at: now), !events.isEmpty {
            for event in events { receive(.event(try StoredJSON.decode(event.event))) }
            try restorable.ledger.record(events.map { ($0, nil) }, maximumAttempts: 80, at: now)
        }
        late.shuffle(using: &generator)
        late.forEach { receive($0) }
    }

    private static func text(_ balance: Backend.Balance?) -> String {
        balance.map { "\($0.quantity) until \($0.until ?? "ever")" } ?? "nothing"
    }

    /// The differences between the backend and the ledger, with the customers' histories.
    func differences() throws -> [String] {
        let granted = try restorable.ledger.grantedBalances()
        let known = backend.grants
        return Set(granted.keys).union(known.keys).filter { granted[$0] != known[$0] }.map { grant in
            let customer = customers.first { $0.accounts.contains(grant.account) }?.number
            let steps = steps.filter { $0.customer == customer || $0.customer == 0 }.map(\.text)
            return """
                \(grant.account) \(grant.transactionID): granted \(Self.text(granted[grant])), the backend has \(Self.text(known[grant]))
                \(steps.joined(separator: "\n"))
                """
        }
    }
}
