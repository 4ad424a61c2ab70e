package import AppStoreReceipt
import StrictText

/// An app in an environment, for inquiries to the App Store. Each has its own queue, budget and checkpoints.
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
        self.init(try row.environment, try row.text("bundle_id"))
    }

    /// The values of the columns `environment` and `bundle_id`.
    var columns: [SQLValue] { [.text(environment.rawValue), .text(id.string)] }

    func key(_ transactionID: String) -> TransactionKey {
        TransactionKey(environment: environment, bundleID: id, transactionID: UTF8Bytes(transactionID))
    }
}

/// The inquiries to make, and when.
package struct InquiryPolicy: Sendable {
    /// The new purchases that Apple is asked to confirm.
    package enum Confirm: Hashable, Sendable {
        case none
        /// Those without a notification, so that nothing is missed, and a percentage of the others, because a stolen
        /// key can sign notifications, too.
        case sample(percent: Int)

        package static let unnotified = sample(percent: 0)
        package static let all = sample(percent: 100)

        /// Parses `unheard`, `all`, `none` or `sample=PERCENT`.
        package init?(_ text: String) {
            let words: [(name: String, confirm: Confirm)] = [("unheard", .unnotified), ("all", .all), ("none", .none)]
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

    package var confirm = Confirm.unnotified
    /// Whether to request, every week, the refunds of customers who bought something in the last 90 days.
    package var sweepsRefunds = false
    /// The apps to make inquiries about.
    package var apps: Set<AskedApp>

    package init(apps: Set<AskedApp>) { self.apps = apps }
}

/// An inquiry to the App Store, which waits in the queue.
package struct Inquiry: Sendable {
    package enum Kind: String, Sendable, CaseIterable {
        /// Get Transaction Info. The subject is the transaction id.
        case transaction
        /// Get All Subscription Statuses. The subject is the original transaction id.
        case statuses
        /// Get Notification History. The subject is a ``HistoryRange``.
        case history
        /// Get Refund History. The subject is an original transaction id of the customer.
        case refunds
    }

    /// The reason for the inquiry. Lower priorities come first, and the first three can use the whole budget.
    package enum Reason: String, Sendable {
        /// Notifications since the checkpoint.
        case notifications
        /// The period of a subscription is ending without evidence of a renewal.
        case ending
        /// A purchase was granted, and no notification has mentioned it.
        case unnotified = "unheard"
        /// The client submitted something that was not granted.
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
    /// The position reached in the answers.
    package internal(set) var cursor: String?
    /// The end of the lease, which identifies the holder.
    package internal(set) var leasedUntil: Instant

    static let columns = """
        environment, bundle_id, kind, subject, priority, reason, made_at, due_at, attempts, leased_until, cursor, failure
        """

    init(_ row: SQLRow) throws(LedgerError) {
        app = try AskedApp(row)
        guard let kind = Kind(rawValue: try row.text("kind")) else {
            throw LedgerError(.storeFailed, "an inquiry has an unknown kind")
        }
        self.kind = kind
        subject = try row.text("subject")
        priority = Int(try row.integer("priority"))
        reason = try row.text("reason")
        madeAt = try row.date("made_at")
        dueAt = try row.date("due_at")
        attempts = try row.integer("attempts")
        leasedUntil = try row.date("leased_until")
        cursor = try row.optionalText("cursor")
        failure = try row.optionalText("failure")
    }

    /// The values of the primary key.
    var key: [SQLValue] { app.columns + [.text(kind.rawValue), .text(subject)] }
}

/// An inquiry that a transaction of the ledger creates.
struct NewInquiry {
    let key: TransactionKey
    let kind: Inquiry.Kind
    let reason: Inquiry.Reason
    let dueAt: Instant

    /// The time in which another dispute does not repeat an inquiry.
    static let disputeTime = Duration.seconds(86_400)

    /// The values of the primary key.
    var columns: [SQLValue] {
        AskedApp(key).columns + [.text(kind.rawValue), .text(key.transactionID.string)]
    }

    var priority: Int64 {
        switch reason {
        case .notifications: 0
        case .ending: 2
        case .unnotified: 3
        case .disputed: 4
        case .granted: 5
        case .refundable: 6
        }
    }
}

extension InquiryPolicy {
    /// Returns the inquiries after a decision.
    func inquiries(
        after effects: LedgerDecision.Effects, _ cause: LedgerEvent.Cause, _ surroundings: Surroundings, at now: Instant
    ) -> [NewInquiry] {
        effects.granted.flatMap { key, original in
            confirmations(of: key, cause, surroundings, at: now) + [refunds(of: original, at: now)].compactMap(\.self)
        } + effects.periodEnds.compactMap { ending(of: $0.original, at: $0.end, now: now) }
            + effects.disputed.compactMap { dispute(of: $0, at: now) }
    }

    /// The time in which a notification usually follows a grant (Apple: within seconds; seen: 66 minutes).
    private static let unnotifiedDelay = Duration.seconds(600)
    private static let grantedDelay = Duration.seconds(3600)
    private static let disputedDelay = Duration.seconds(60)
    /// The time in which most refunds occur. Apple sets no limit.
    static let refundTime = Duration.seconds(90 * 86_400)
    package static let refundInterval = Duration.seconds(7 * 86_400)

    /// Returns the inquiries that confirm a purchase that was just granted: at most two, which share a row. If a
    /// notification has mentioned the purchase, only the second is made.
    func confirmations(
        of key: TransactionKey, _ cause: LedgerEvent.Cause, _ surroundings: Surroundings, at now: Instant
    ) -> [NewInquiry] {
        guard confirm != .none, cause != .reconciliation, apps.contains(AskedApp(key)) else { return [] }
        var inquiries: [NewInquiry] = []
        if cause != .notification {
            inquiries.append(
                NewInquiry(
                    key: key, kind: .transaction, reason: .unnotified,
                    dueAt: now + Self.spread(Self.unnotifiedDelay, by: key)))
        }
        if isInSample(surroundings) { inquiries.append(confirmation(of: key, at: now)) }
        return inquiries
    }

    /// Returns at random whether to confirm a purchase that a notification has mentioned, so that nobody can choose an
    /// id that isn't confirmed.
    func isInSample(_ surroundings: Surroundings) -> Bool {
        guard case .sample(let percent) = confirm else { return false }
        return surroundings.random() % 100 < percent
    }

    /// Returns the inquiry that confirms a purchase that a notification has mentioned.
    func confirmation(of key: TransactionKey, at now: Instant) -> NewInquiry {
        NewInquiry(
            key: key, kind: .transaction, reason: .granted, dueAt: now + Self.spread(Self.grantedDelay, by: key))
    }

    /// Returns the inquiry about a subscription whose period ends.
    func ending(of key: TransactionKey, at end: Instant, now: Instant) -> NewInquiry? {
        guard apps.contains(AskedApp(key)), let due = SubscriptionSchedule(end: end).next(after: now) else {
            return nil
        }
        return NewInquiry(key: key, kind: .statuses, reason: .ending, dueAt: due)
    }

    /// Returns the inquiry about the refunds of the customer who bought a lineage.
    func refunds(of key: TransactionKey, at now: Instant) -> NewInquiry? {
        guard sweepsRefunds, apps.contains(AskedApp(key)) else { return nil }
        return NewInquiry(
            key: key, kind: .refunds, reason: .refundable, dueAt: now + Self.spread(Self.refundInterval, by: key))
    }

    func dispute(of key: TransactionKey, at now: Instant) -> NewInquiry? {
        guard apps.contains(AskedApp(key)) else { return nil }
        return NewInquiry(key: key, kind: .transaction, reason: .disputed, dueAt: now + Self.disputedDelay)
    }

    /// Returns a time that is up to 20 % shorter or longer, so that inquiries about simultaneous grants are spread out.
    /// It is constant for a transaction.
    private static func spread(_ duration: Duration, by key: TransactionKey) -> Duration {
        // FNV-1a.
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in key.transactionID.string.utf8 { digest = (digest ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return duration * (0.8 + 0.4 * Double(digest >> 11) / Double(1 << 53))
    }
}

/// The dates for inquiries about a subscription without news.
struct SubscriptionSchedule {
    /// The end of the latest period.
    let end: Instant
    /// Whether Apple still tries to charge for the next period, which it does for 60 days.
    var isInBillingRetry = false

    private var steps: [Instant] {
        [end - .seconds(3600), end + .seconds(300), end + .seconds(3600), end + .seconds(86_400)]
    }
    private static let retryTime = Duration.seconds(60 * 86_400)

    var first: Instant { end - .seconds(3600) }

    /// The date after which no inquiry is made.
    var last: Instant { isInBillingRetry ? end + Self.retryTime : steps[3] }

    /// Returns the date of the next inquiry, or `nil` if there is none.
    func next(after now: Instant) -> Instant? {
        if let step = steps.first(where: { $0 > now }) { return step }
        let tomorrow = now + .seconds(86_400)
        return isInBillingRetry && tomorrow <= last ? tomorrow : nil
    }
}
