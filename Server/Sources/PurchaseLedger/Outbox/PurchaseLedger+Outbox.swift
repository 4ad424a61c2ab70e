public import AppStoreReceipt
import ServerText
public import SpanASN1

/// An event that could not be delivered, for an operator.
public struct DeadLetter: Sendable {
    /// The id of the event.
    public let id: String
    /// The event as it would have been delivered.
    public let event: String
    /// What went wrong the last time.
    public let failure: String
}

/// An event that is to be delivered.
struct OutgoingEvent {
    let id: String
    let event: String
    let attempts: Int64
}

extension PurchaseLedger {
    /// Returns events to deliver, at most one of each account: the first that is pending. Nobody else gets them before `lease` has passed.
    func takeEvents(limit: Int, lease: Duration, at now: Instant) throws(LedgerError) -> [OutgoingEvent] {
        try store.write { (connection) throws(LedgerError) in
            let rows = try connection.run(
                """
                SELECT id, event, attempts FROM outbox
                WHERE state = 'pending' AND due_at <= $1 AND leased_until <= $1 AND NOT EXISTS (
                    SELECT 1 FROM outbox AS earlier
                    WHERE earlier.account = outbox.account AND earlier.state = 'pending'
                        AND earlier.sequence < outbox.sequence)
                ORDER BY due_at, id LIMIT $2
                """ + connection.dialect.rowLock, [SQLValue(now), .integer(Int64(limit))])
            var events: [OutgoingEvent] = []
            for row in rows {
                let event = OutgoingEvent(id: try row.text(0), event: try row.text(1), attempts: try row.integer(2))
                try connection.run(
                    "UPDATE outbox SET leased_until = $2 WHERE id = $1", [.text(event.id), SQLValue(now + lease)])
                events.append(event)
            }
            return events
        }
    }

    /// Records what became of deliveries.
    ///
    /// - Parameters:
    ///   - results: The events, with what went wrong, or `nil`.
    ///   - maximumAttempts: The number of failures after which an event is dead.
    func record(
        _ results: [(event: OutgoingEvent, failure: String?)], maximumAttempts: Int64, at now: Instant
    ) throws(LedgerError) {
        try store.write { (connection) throws(LedgerError) in
            for (event, failure) in results {
                let attempts = event.attempts + 1
                let state = failure == nil ? "delivered" : attempts < maximumAttempts ? "pending" : "dead"
                // 1, 2, 4 … seconds, at most an hour.
                let delay = Duration.seconds(min(3600, 1 << min(attempts - 1, 12)))
                try connection.run(
                    """
                    UPDATE outbox SET state = $2, attempts = $3, due_at = $4, leased_until = 0, failure = $5
                    WHERE id = $1 AND state = 'pending'
                    """,
                    [.text(event.id), .text(state), .integer(attempts), SQLValue(now + delay), SQLValue(failure)])
            }
        }
    }

    /// Returns the events that could not be delivered, the oldest first, at most 1000.
    public func deadLetters() throws(LedgerError) -> [DeadLetter] {
        try store.read { (connection) throws(LedgerError) in
            var letters: [DeadLetter] = []
            for row in try connection.run(
                "SELECT id, event, failure FROM outbox WHERE state = 'dead' ORDER BY made_at, id LIMIT 1000")
            {
                letters.append(
                    DeadLetter(id: try row.text(0), event: try row.text(1), failure: try row.optionalText(2) ?? ""))
            }
            return letters
        }
    }

    /// Delivers an event again that could not be delivered, or that was.
    ///
    /// - Throws: `not-found` if there is no such event.
    public func sendAgain(eventID: String, at now: Instant = .now) throws(LedgerError) {
        try LedgerText.check(eventID, "event id")
        try store.write { (connection) throws(LedgerError) in
            let rows = try connection.run(
                """
                UPDATE outbox SET state = 'pending', attempts = 0, due_at = $2, leased_until = 0
                WHERE id = $1 RETURNING id
                """, [.text(eventID), SQLValue(now)])
            guard !rows.isEmpty else { throw LedgerError(.notFound, "event") }
        }
    }

    /// The number of events that are to be delivered, the date of the oldest, and the number of those that could not be.
    public func outboxCounts() throws(LedgerError) -> (pending: Int, oldestPending: Instant?, dead: Int) {
        try store.read { (connection) throws(LedgerError) in
            var counts: (pending: Int, oldestPending: Instant?, dead: Int) = (0, nil, 0)
            for row in try connection.run(
                "SELECT state, COUNT(*), MIN(made_at) FROM outbox WHERE state <> 'delivered' GROUP BY state")
            {
                let count = Int(try row.integer(1))
                if try row.text(0).hasSameBytes(as: "dead") {
                    counts.dead = count
                } else {
                    counts.pending = count
                    counts.oldestPending = Instant(millisecondsSince1970: try row.integer(2))
                }
            }
            return counts
        }
    }

    /// Removes what is no longer needed: delivered events and answers to idempotency keys from before a date.
    public func removeHistory(before date: Instant) throws(LedgerError) {
        for statement in [
            """
            DELETE FROM outbox WHERE id IN (
                SELECT id FROM outbox WHERE state = 'delivered' AND made_at < $1 LIMIT 1000) RETURNING 1
            """,
            """
            DELETE FROM answers WHERE (account, idempotency_key) IN (
                SELECT account, idempotency_key FROM answers WHERE answered_at < $1 LIMIT 1000) RETURNING 1
            """,
        ] {
            // In parts, which others do not wait for.
            var count = 1000
            while count == 1000 {
                count = try store.write { (connection) throws(LedgerError) in
                    try connection.run(statement, [SQLValue(date)]).count
                }
            }
        }
    }
}
