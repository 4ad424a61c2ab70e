public import AppStoreReceipt
import StrictText

/// An event that couldn't be delivered.
public struct DeadLetter: Sendable {
    /// The id of the event.
    public let id: String
    /// The event, as it would have been delivered.
    public let event: String
    /// The last failure.
    public let failure: String
}

/// An event to deliver.
struct OutgoingEvent: Sendable {
    let id: String
    let account: String
    let event: String
    let attempts: Int64
    /// Whether it doesn't wait for other events of its account.
    var isUrgent = false
}

extension OutgoingEvent {
    fileprivate init(_ row: SQLRow, of account: String, isUrgent: Bool = false) throws(LedgerError) {
        self.init(
            id: try row.text("id"), account: account, event: try row.text("event"),
            attempts: try row.integer("attempts"), isUrgent: isUrgent)
    }
}

extension LeasedQueue {
    /// The accounts with events to deliver, one after the other.
    static let accounts = LeasedQueue(table: "accounts", key: ["account"], condition: "due_at IS NOT NULL")
    /// The events that wait for no other: of each account, at most the first.
    static let urgentEvents = LeasedQueue(
        table: "outbox", key: ["id"],
        condition: """
            state = 'urgent' AND NOT EXISTS (SELECT 1 FROM outbox AS earlier WHERE earlier.state = 'urgent'
                AND earlier.account = outbox.account AND earlier.sequence < outbox.sequence)
            """)
}

/// The queries for events. Each uses an index, however many events there are.
enum OutboxQuery {
    /// The first pending event of the account `$1`, and when the first urgent one is due if it comes before that.
    static let first = """
        SELECT id, event, attempts, (SELECT urgent.due_at FROM outbox AS urgent WHERE urgent.state = 'urgent'
            AND urgent.account = $1 AND urgent.sequence < outbox.sequence ORDER BY urgent.sequence LIMIT 1) AS urgent_at
        FROM outbox WHERE account = $1 AND state = 'pending' ORDER BY sequence LIMIT 1
        """

    /// The dates of the oldest events in a state, up to `limit` of them.
    static func oldest(_ state: String, limit: Int) -> String {
        "SELECT made_at FROM outbox WHERE state = '\(state)' ORDER BY made_at LIMIT \(limit)"
    }

    /// Events that were delivered before `$1`, up to 1000 of them.
    static let old = """
        SELECT id FROM outbox WHERE state = 'delivered' AND made_at < $1 ORDER BY made_at LIMIT 1000
        """
}

extension PurchaseLedger {
    /// The time that a server has to deliver an event. After that, another server assumes a crash and delivers it.
    static let eventLease = Duration.seconds(25)
    /// The maximum time between two attempts.
    private static let maximumDelay = Duration.seconds(3600)
    /// The maximum number of events to count.
    static let maximumCount = 10_000

    /// Returns events to deliver: the urgent ones, and at most one for each account, the first that is pending. Other
    /// callers don't get these, or events of these accounts, until `lease` has passed.
    ///
    /// - Parameter isNewestFirst: If `true`, takes half (rounded up) from the newest due events and the rest from the
    ///   oldest; otherwise the reverse. Neither new events nor the backlog wait for the other.
    func takeEvents(
        limit: Int, lease: Duration, isNewestFirst: Bool = false, at now: Instant
    ) throws(LedgerError) -> [OutgoingEvent] {
        let end = now + lease
        return try store.write { (connection) throws(LedgerError) in
            for queue in [LeasedQueue.accounts, .urgentEvents] { try connection.mendDates(of: queue, at: now) }
            var events: [OutgoingEvent] = []
            let urgent = try connection.take(
                "id, account, event, attempts", from: .urgentEvents, limit: limit, until: end, at: now)
            for row in urgent { events.append(try OutgoingEvent(row, of: row.text("account"), isUrgent: true)) }
            let rest = limit - urgent.count
            for (isNewest, count) in [(isNewestFirst, (rest + 1) / 2), (!isNewestFirst, rest)] {
                let missing = count - (events.count - urgent.count)
                for row in try connection.take(
                    "account", from: .accounts, isNewestFirst: isNewest, limit: missing, until: end, at: now)
                {
                    let account = try row.text("account")
                    guard let first = try connection.run(OutboxQuery.first, [.text(account)]).first else {
                        try connection.release(account, dueAt: nil)
                        continue
                    }
                    // An urgent event overtakes others, and none overtakes it.
                    if let date = try first.optionalDate("urgent_at") {
                        // One that failed is not tried again for a while. Others don't wait for this account.
                        try connection.release(account, dueAt: date > end ? date : now + .seconds(1))
                        continue
                    }
                    events.append(try OutgoingEvent(first, of: account))
                }
            }
            return events
        }
    }

    /// Extends the lease of events that are still being delivered.
    func keepEvents(_ events: [OutgoingEvent], lease: Duration, at now: Instant) throws(LedgerError) {
        guard !events.isEmpty else { return }
        // Accounts are locked in a fixed order.
        let events = events.sorted { $0.account.utf8.lexicographicallyPrecedes($1.account.utf8) }
        try store.write { (connection) throws(LedgerError) in
            for event in events {
                let statement =
                    event.isUrgent
                    ? LeasedQueue.urgentEvents.lease(
                        [.text(event.id)], until: now + lease, if: "state = 'urgent' AND attempts = $3",
                        [.integer(event.attempts)])
                    : LeasedQueue.accounts.lease(
                        [.text(event.account)], until: now + lease,
                        if: "EXISTS (SELECT 1 FROM outbox WHERE id = $3 AND state = 'pending' AND attempts = $4)",
                        [.text(event.id), .integer(event.attempts)])
                try connection.write(statement)
            }
        }
    }

    /// Records the results of deliveries.
    ///
    /// - Parameters:
    ///   - results: The events, each with its failure, or `nil`.
    ///   - maximumAttempts: The number of failures after which an event becomes a dead letter.
    func record(
        _ results: [EventSenders.Result], maximumAttempts: Int64, at now: Instant
    ) throws(LedgerError) {
        // Accounts are locked in a fixed order.
        let results = results.sorted { $0.event.account.utf8.lexicographicallyPrecedes($1.event.account.utf8) }
        try store.write { (connection) throws(LedgerError) in
            for (event, failure) in results {
                let attempts = event.attempts + 1
                let state = failure == nil ? "delivered" : attempts < maximumAttempts ? "pending" : "dead"
                // 1, 2, 4 … seconds.
                let next = now + min(Self.maximumDelay, .seconds(1 << min(attempts - 1, 12)))
                let isPending = state.hasSameBytes(as: "pending")
                try connection.lock(event.account)
                let changed = try connection.run(
                    """
                    UPDATE outbox SET leased_until = 0, state = $2, attempts = $3, failure = $4, due_at = $6,
                        delivered_at = $8
                    WHERE id = $1 AND state = $7 AND attempts = $5 RETURNING 1
                    """,
                    [
                        .text(event.id), .text(event.isUrgent && isPending ? "urgent" : state), .integer(attempts),
                        SQLValue(failure), .integer(event.attempts), event.isUrgent ? SQLValue(next) : .null,
                        .text(event.isUrgent ? "urgent" : "pending"), failure == nil ? SQLValue(now) : .null,
                    ])
                // If nothing changed, another server took the event after the lease expired.
                guard !changed.isEmpty, !event.isUrgent else { continue }
                if isPending {
                    try connection.release(event.account, dueAt: next)
                } else {
                    // The next event is due at its own date, so that those of a backlog don't count as the newest.
                    try connection.write(
                        LeasedQueue.accounts.release(
                            [.text(event.account)],
                            """
                            due_at = (SELECT CASE WHEN made_at < $2 THEN made_at ELSE $2 END FROM outbox
                                WHERE account = $1 AND state = 'pending' ORDER BY sequence LIMIT 1)
                            """, [SQLValue(now)]))
                }
            }
        }
    }

    /// Returns the events that couldn't be delivered, oldest first, up to 1000 of them.
    @available(*, noasync)
    public func deadLetters() throws(LedgerError) -> [DeadLetter] {
        try store.read { (connection) throws(LedgerError) in
            var letters: [DeadLetter] = []
            for row in try connection.run(
                "SELECT id, event, failure FROM outbox WHERE state = 'dead' ORDER BY made_at, id LIMIT 1000")
            {
                letters.append(
                    DeadLetter(
                        id: try row.text("id"), event: try row.text("event"),
                        failure: try row.optionalText("failure") ?? ""))
            }
            return letters
        }
    }

    /// Returns the lifecycle events of the last 30 days about purchases without an owner, newest first, up to 1000 of
    /// them. They name no account.
    @available(*, noasync)
    public func unownedEvents() throws(LedgerError) -> [String] {
        try store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT event FROM unowned_events ORDER BY made_at DESC, id LIMIT 1000").map {
                (row) throws(LedgerError) in try row.text(0)
            }
        }
    }

    /// Returns the number of ``unownedEvents()``, counting up to 10,000.
    package func unownedEventCount() throws(LedgerError) -> Int {
        try store.read { (connection) throws(LedgerError) in
            let rows = try connection.run(
                "SELECT COUNT(*) FROM (SELECT 1 FROM unowned_events LIMIT \(Self.maximumCount)) AS found")
            return Int(try rows.first?.integer(0) ?? 0)
        }
    }

    /// Returns the number of events to deliver, the date of the oldest, and the number of dead letters. Each count
    /// stops at 10,000.
    @available(*, noasync)
    public func outboxCounts() throws(LedgerError) -> (pending: Int, oldestPending: Instant?, dead: Int) {
        try store.read { (connection) throws(LedgerError) in
            func count(_ state: String) throws(LedgerError) -> Int {
                let found = OutboxQuery.oldest(state, limit: Self.maximumCount)
                let rows = try connection.run("SELECT COUNT(*) FROM (\(found)) AS found")
                return Int(try rows.first?.integer(0) ?? 0)
            }
            var oldest: Instant?
            for state in ["pending", "urgent"] {
                guard let row = try connection.run(OutboxQuery.oldest(state, limit: 1)).first else { continue }
                oldest = min(oldest ?? .distantFuture, try row.date(0))
            }
            return (try count("pending") + count("urgent"), oldest, try count("dead"))
        }
    }
}

extension SQLConnection {
    /// Makes an event due again, whether or not it was delivered.
    ///
    /// - Throws: `not-found` if there is no such event.
    func sendAgain(_ eventID: String, _ surroundings: Surroundings, at now: Instant) throws(LedgerError) {
        let due = SQLValue(surroundings.dueDate(now))
        let notFound = LedgerError(.notFound, "event")
        let rows = try run("SELECT account FROM outbox WHERE id = $1", [.text(eventID)])
        guard let account = try rows.first?.text(0) else { throw notFound }
        // The caller can record the account's name.
        try lockAccount(account, .shared)
        try lock(account)
        let sent = try run(
            """
            UPDATE outbox SET state = CASE WHEN due_at IS NULL THEN 'pending' ELSE 'urgent' END, attempts = 0,
                due_at = CASE WHEN due_at IS NULL THEN due_at ELSE $2 END, delivered_at = NULL
            WHERE id = $1 RETURNING state
            """, [.text(eventID), due])
        // If there is no row, the account was deleted meanwhile, with its events.
        guard let state = try sent.first?.text(0) else { throw notFound }
        guard state.hasSameBytes(as: "pending") else { return }
        try write(
            LeasedQueue.accounts.update(
                [.text(account)], "due_at = $2", if: "(due_at IS NULL OR due_at > $2)", [due]))
    }

    /// Locks the events of an account until the end of the transaction, so that no other transaction posts or takes
    /// any.
    fileprivate func lock(_ account: String) throws(LedgerError) {
        try run("SELECT 1 FROM accounts WHERE account = $1" + dialect.rowLock, [.text(account)])
    }

    /// Lets other servers take the first pending event of an account at a date, or `nil` if there is none.
    fileprivate func release(_ account: String, dueAt date: Instant?) throws(LedgerError) {
        try write(
            LeasedQueue.accounts.release(
                [.text(account)], "due_at = $2", [date.map { SQLValue($0) } ?? .null]))
    }

    /// Makes due what a clock that was ahead has postponed. No event waits so long.
    fileprivate func mendDates(of queue: LeasedQueue, at now: Instant) throws(LedgerError) {
        let late = queue.due(after: now + LeasedQueue.longestDelay, limit: 100, lock: dialect.skippingRowLock)
        for row in try run([late])[0] {
            try write(queue.release([.text(row.text(0))], "due_at = $2", [SQLValue(now)]))
        }
    }
}
