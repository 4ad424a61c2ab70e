package import AppStoreReceipt
import StrictText

/// An app in an environment, about which the App Store is asked. Each has its own queue, budget and checkpoints.
package struct AskedApp: Hashable, Sendable {
    package let environment: AppStoreEnvironment
    private let id: UTF8Bytes

    package init(_ environment: AppStoreEnvironment, _ bundleID: String) {
        self.environment = environment
        id = UTF8Bytes(bundleID)
    }

    package var bundleID: String { id.string }

    init(_ key: TransactionKey) { (environment, id) = (key.environment, key.bundleID) }

    init(_ row: SQLRow) throws(LedgerError) {
        guard let environment = AppStoreEnvironment(rawValue: try row.text(0)) else {
            throw LedgerError(.storeFailed, "a row has an unknown environment")
        }
        self.init(environment, try row.text(1))
    }

    /// The values of the columns `environment` and `bundle_id`.
    var columns: [SQLValue] { [.text(environment.rawValue), .text(id.string)] }

    func key(_ transactionID: String) -> TransactionKey {
        TransactionKey(environment: environment, bundleID: id, transactionID: UTF8Bytes(transactionID))
    }
}

/// What the App Store is asked about, and when.
package struct QuestionPolicy: Sendable {
    /// Which new purchases Apple is asked to confirm.
    package enum Confirm: Hashable, Sendable {
        case none
        /// Those without a notification, so that nothing is missed, and a percentage of the others: a stolen key signs
        /// notifications, too.
        case sample(percent: Int)

        package static let unheard = sample(percent: 0)
        package static let all = sample(percent: 100)

        /// Reads `unheard`, `all`, `none` or `sample=PERCENT`.
        package init?(_ text: String) {
            let words: [(name: String, confirm: Confirm)] = [("unheard", .unheard), ("all", .all), ("none", .none)]
            if let word = words.first(where: { $0.name.hasSameBytes(as: text) }) {
                self = word.confirm
                return
            }
            let prefix = "sample="
            let digits = text.utf8.dropFirst(prefix.utf8.count)
            guard text.utf8.starts(with: prefix.utf8), 1...3 ~= digits.count,
                digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }),
                case let percent = digits.reduce(0, { $0 * 10 + Int($1 - UInt8(ascii: "0")) }), percent <= 100
            else { return nil }
            self = .sample(percent: percent)
        }
    }

    package var confirm = Confirm.unheard
    /// Whether Apple is asked every week for the refunds of those who bought in the last 90 days.
    package var sweepsRefunds = false
    /// The apps that can be asked about.
    package var apps: Set<AskedApp>

    package init(apps: Set<AskedApp>) { self.apps = apps }
}

/// Something to ask the App Store.
package struct Question: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        /// Get Transaction Info; the subject is the transaction id.
        case transaction
        /// Get All Subscription Statuses; the subject is the original transaction id.
        case statuses
        /// Get Notification History; the subject is that of a ``HistoryRange``.
        case history
        /// Get Refund History; the subject is an original transaction id of the customer.
        case refunds
    }

    /// Why it is asked. The lower priorities come first, and the first three may spend the whole budget.
    package enum Reason: String, Sendable {
        /// Notifications since the checkpoint.
        case notifications
        /// The period of a subscription ends, and nothing was heard of a renewal.
        case ending
        /// A purchase was granted, and no notification has told of it.
        case unheard
        /// What the client brought was not granted.
        case disputed
        /// A purchase was granted.
        case granted
        /// A purchase can still be refunded.
        case refundable
    }

    package static let lowPriority = 3

    package let app: AskedApp
    package let kind: Kind
    package let subject: String
    package let priority: Int
    package let reason: String
    package let madeAt: Instant
    package let dueAt: Instant
    package let attempts: Int64
    package let failure: String?
    /// How far the answers to it were read.
    package internal(set) var cursor: String?
    /// The end of the lease, by which whoever has it is recognised.
    package internal(set) var leasedUntil: Instant

    static let columns = """
        environment, bundle_id, kind, subject, priority, reason, made_at, due_at, attempts, leased_until, cursor, failure
        """

    init(_ row: SQLRow) throws(LedgerError) {
        app = try AskedApp(row)
        guard let kind = Kind(rawValue: try row.text(2)) else {
            throw LedgerError(.storeFailed, "a question has an unknown kind")
        }
        self.kind = kind
        subject = try row.text(3)
        priority = Int(try row.integer(4))
        reason = try row.text(5)
        madeAt = try row.date(6)
        dueAt = try row.date(7)
        attempts = try row.integer(8)
        leasedUntil = try row.date(9)
        cursor = try row.optionalText(10)
        failure = try row.optionalText(11)
    }

    /// The values of the primary key.
    var key: [SQLValue] { app.columns + [.text(kind.rawValue), .text(subject)] }
}

/// A question that a transaction of the ledger asks.
struct NewQuestion {
    let key: TransactionKey
    let kind: Question.Kind
    let reason: Question.Reason
    let dueAt: Instant

    var priority: Int64 {
        switch reason {
        case .notifications: 0
        case .ending: 2
        case .unheard: 3
        case .disputed: 4
        case .granted: 5
        case .refundable: 6
        }
    }
}

extension QuestionPolicy {
    /// The time after a grant in which a notification usually comes (Apple: within seconds; 66 minutes were seen).
    private static let unheardDelay = Duration.seconds(600)
    private static let grantedDelay = Duration.seconds(3600)
    private static let disputedDelay = Duration.seconds(60)
    /// Apple names no end of refunds. Most are within this time.
    static let refundTime = Duration.seconds(90 * 86_400)
    package static let refundInterval = Duration.seconds(7 * 86_400)
    /// The most disputed transactions of one request that are asked about: those of a receipt are one customer's.
    static let maximumDisputedCount = 20

    /// The questions whether Apple knows a purchase that was just granted. They are one, unless a notification has told
    /// of the purchase: then only the second is asked.
    func confirmations(
        of key: TransactionKey, _ cause: LedgerEvent.Cause, _ surroundings: Surroundings, at now: Instant
    ) -> [NewQuestion] {
        guard confirm != .none, cause != .reconciliation, apps.contains(AskedApp(key)) else { return [] }
        var questions: [NewQuestion] = []
        if cause != .notification {
            questions.append(
                NewQuestion(
                    key: key, kind: .transaction, reason: .unheard, dueAt: now + Self.spread(Self.unheardDelay, by: key)
                ))
        }
        if isInSample(surroundings) { questions.append(confirmation(of: key, at: now)) }
        return questions
    }

    /// Whether a purchase that was heard of is among those that Apple is asked about: by chance, so that nobody can
    /// choose an id that is not.
    func isInSample(_ surroundings: Surroundings) -> Bool {
        guard case .sample(let percent) = confirm else { return false }
        return surroundings.random() % 100 < percent
    }

    /// The question whether Apple knows a purchase that a notification has named.
    func confirmation(of key: TransactionKey, at now: Instant) -> NewQuestion {
        NewQuestion(
            key: key, kind: .transaction, reason: .granted, dueAt: now + Self.spread(Self.grantedDelay, by: key))
    }

    /// The question what became of a subscription whose period ends.
    func ending(of key: TransactionKey, at end: Instant, now: Instant) -> NewQuestion? {
        guard apps.contains(AskedApp(key)), let due = SubscriptionSchedule(end: end).next(after: now) else {
            return nil
        }
        return NewQuestion(key: key, kind: .statuses, reason: .ending, dueAt: due)
    }

    /// The question what was refunded to whoever bought a family.
    func refunds(of key: TransactionKey, at now: Instant) -> NewQuestion? {
        guard sweepsRefunds, apps.contains(AskedApp(key)) else { return nil }
        return NewQuestion(
            key: key, kind: .refunds, reason: .refundable, dueAt: now + Self.spread(Self.refundInterval, by: key))
    }

    func dispute(of key: TransactionKey, at now: Instant) -> NewQuestion? {
        guard apps.contains(AskedApp(key)) else { return nil }
        return NewQuestion(key: key, kind: .transaction, reason: .disputed, dueAt: now + Self.disputedDelay)
    }

    /// A time that is up to 20 % shorter or longer, so that what was granted together is not asked together. The same
    /// transaction has the same.
    private static func spread(_ duration: Duration, by key: TransactionKey) -> Duration {
        // FNV-1a.
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in key.transactionID.string.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return duration * (0.8 + 0.4 * Double(digest >> 11) / Double(1 << 53))
    }
}

/// The times to ask about a subscription without news.
struct SubscriptionSchedule {
    /// The end of the period that ends last.
    let end: Instant
    /// Whether Apple still tries to charge for the next one, which it does for 60 days.
    var isInBillingRetry = false

    private var steps: [Instant] {
        [end - .seconds(3600), end + .seconds(300), end + .seconds(3600), end + .seconds(86_400)]
    }
    private static let retryTime = Duration.seconds(60 * 86_400)

    var first: Instant { end - .seconds(3600) }

    /// After it, nothing is asked.
    var last: Instant { isInBillingRetry ? end + Self.retryTime : steps[3] }

    /// The next date to ask at; `nil` if there is none.
    func next(after now: Instant) -> Instant? {
        if let step = steps.first(where: { $0 > now }) { return step }
        let tomorrow = now + .seconds(86_400)
        return isInBillingRetry && tomorrow <= last ? tomorrow : nil
    }
}
