package import AppStoreReceipt
import StrictText

/// The inquiries for notifications: one row for each range, which becomes due repeatedly.
extension PurchaseLedger {
    /// The intervals for requesting undelivered notifications, and all notifications.
    static let failuresInterval = Duration.seconds(900)
    static let everythingInterval = Duration.seconds(86_400)
    /// The age of a checkpoint that indicates an outage or a restored backup when a server starts. In that case, Apple
    /// may have delivered notifications that the ledger lacks.
    static let outage = Duration.seconds(3600)
    static let staleness = Duration.seconds(43_200)
    /// The maximum time until the next attempt.
    private static let longestPause = Duration.seconds(21_600)

    /// Schedules requests for the notifications since the checkpoints.
    ///
    /// - Parameters:
    ///   - date: The date from which to request everything, or `nil` to start at the checkpoints.
    ///   - isUrgent: Whether to request everything immediately, even without an outage.
    /// - Returns: Whether notifications were never requested before.
    @discardableResult
    package func beginHistory(
        of app: AskedApp, since date: Instant? = nil, isUrgent: Bool = false, at now: Instant
    ) throws(LedgerError) -> Bool {
        try store.write { (connection) throws(LedgerError) in
            let failures = Self.historyKey(app, .failures)
            let everything = Self.historyKey(app, .everything)
            let insert = """
                INSERT INTO questions (environment, bundle_id, kind, subject, priority, reason, made_at, due_at,
                    attempts, leased_until, state)
                VALUES ($1, $2, $3, $4, 0, 'notifications', $5, $5, 0, 0, 'pending')
                ON CONFLICT (environment, bundle_id, kind, subject) DO
                """
            try connection.write(
                insert + " UPDATE SET due_at = excluded.due_at, attempts = 0, state = 'pending'",
                failures + [SQLValue(now)])
            try connection.write(insert + " UPDATE SET state = 'pending'", everything + [SQLValue(now)])
            var checkpoint = try connection.lockCheckpoint(of: app)
            let isFirst = checkpoint.sweptUntil == nil
            let isOutage = checkpoint.completeUntil.map { $0 < now - Self.outage } ?? true
            if let date {
                // A process that is reading pages now stops. Windows of that run with errors are read again, too.
                let cursor = try connection.run(
                    """
                    SELECT cursor FROM questions
                    WHERE environment = $1 AND bundle_id = $2 AND kind = $3 AND subject = $4
                    """, everything
                ).first?.optionalText(0)
                let window = try cursor.map { (text) throws(LedgerError) -> HistoryWindow in
                    try StoredJSON.decode(text)
                }
                checkpoint.sweptUntil = min(date, checkpoint.sweptUntil ?? date, window?.firstFault ?? date)
                try connection.write(checkpoint, of: app)
                try connection.write(
                    """
                    UPDATE questions SET cursor = NULL, leased_until = 0
                    WHERE environment = $1 AND bundle_id = $2 AND kind = $3 AND subject = $4
                    """, everything)
            }
            if date != nil || isOutage || isUrgent {
                try connection.write(
                    """
                    UPDATE questions SET priority = 0, due_at = $5, attempts = 0, state = 'pending'
                    WHERE environment = $1 AND bundle_id = $2 AND kind = $3 AND subject = $4
                    """, everything + [SQLValue(now)])
            }
            return isFirst
        }
    }

    /// Makes due what a clock that was ahead has postponed, and ends the leases that it set.
    func mendDates(of app: AskedApp, at now: Instant) throws(LedgerError) {
        let later = Duration.seconds(3600)
        try store.write { (connection) throws(LedgerError) in
            for (range, interval) in [
                (HistoryRange.failures, Self.failuresInterval), (HistoryRange.everything, Self.everythingInterval),
            ] {
                try connection.write(
                    """
                    UPDATE questions SET due_at = $5, leased_until = 0
                    WHERE environment = $1 AND bundle_id = $2 AND kind = $3 AND subject = $4
                        AND (leased_until > $6 OR due_at > CASE WHEN attempts = 0 THEN CAST($7 AS BIGINT)
                            ELSE CAST($8 AS BIGINT) END)
                    """,
                    Self.historyKey(app, range) + [
                        SQLValue(now), SQLValue(now + Self.inquiryLease + later), SQLValue(now + interval + later),
                        SQLValue(now + Self.longestPause + later),
                    ])
            }
            for (priority, kind) in Self.queues where kind != .history {
                try connection.write(
                    """
                    UPDATE questions SET leased_until = 0
                    WHERE environment = $1 AND bundle_id = $2 AND priority = $3 AND kind = $4 AND state = 'pending'
                        AND due_at <= $5 AND leased_until > $6
                    """,
                    app.columns + [
                        .integer(priority), .text(kind.rawValue), SQLValue(now),
                        SQLValue(now + Self.inquiryLease + later),
                    ])
            }
        }
    }

    private static func historyKey(_ app: AskedApp, _ range: HistoryRange) -> [SQLValue] {
        app.columns + [.text(Inquiry.Kind.history.rawValue), .text(range.rawValue)]
    }

    /// Returns the window of an inquiry: the interrupted one, or the next one since the checkpoint.
    ///
    /// - Returns: The window, and the period that Apple no longer has, if that is new.
    package func historyWindow(
        of inquiry: Inquiry, at now: Instant
    ) throws(LedgerError) -> (window: HistoryWindow, gap: (from: Instant, until: Instant)?) {
        if let cursor = inquiry.cursor { return (try StoredJSON.decode(cursor), nil) }
        let range = HistoryRange(rawValue: inquiry.subject) ?? .failures
        return try store.write { (connection) throws(LedgerError) in
            var checkpoint = try connection.lockCheckpoint(of: inquiry.app)
            let before = checkpoint.gap
            let window = checkpoint.window(range, of: inquiry.app, since: inquiry.madeAt, at: now)
            let gap = checkpoint.gap
            guard let gap, before.map({ $0 != gap }) ?? true else { return (window, nil) }
            try connection.write(checkpoint, of: inquiry.app)
            return (window, gap)
        }
    }

    /// Returns the first window of all notifications since a date, or since the last complete run. It records nothing.
    package func planHistory(of app: AskedApp, since date: Instant?, at now: Instant) throws(LedgerError)
        -> HistoryWindow
    {
        var checkpoint = try store.read { (connection) throws(LedgerError) in try connection.checkpoint(of: app) }
        if let date { checkpoint.sweptUntil = date }
        return checkpoint.window(.everything, of: app, at: now)
    }

    /// Records a period whose notifications Apple no longer has.
    package func noteGap(of app: AskedApp, from: Instant, until: Instant) throws(LedgerError) {
        try store.write { (connection) throws(LedgerError) in
            var checkpoint = try connection.lockCheckpoint(of: app)
            checkpoint.note(gapFrom: from, until: until)
            try connection.write(checkpoint, of: app)
        }
    }

    /// Records that a page was read, and takes a request for the next one from the budget.
    ///
    /// - Returns: The inquiry with its new lease, and whether there is a request for the next page, or `nil` if another
    ///   server has taken over the inquiry.
    package func advance(
        _ inquiry: Inquiry, to window: HistoryWindow, requestsPerHour: Int, at now: Instant
    ) throws(LedgerError) -> (inquiry: Inquiry, hasRequest: Bool)? {
        let text = try StoredJSON.encode(window)
        var advanced = inquiry
        advanced.cursor = text
        // The new lease must differ from the old one, because it identifies the holder.
        advanced.leasedUntil = max(now + Self.inquiryLease, inquiry.leasedUntil + .milliseconds(1))
        return try store.write { [advanced] (connection) throws(LedgerError) in
            var budget = try connection.lockBudget(of: inquiry.app, requestsPerHour, at: now)
            let rows = try connection.run(
                """
                UPDATE questions SET cursor = $6, leased_until = $7, attempts = 0 WHERE environment = $1
                    AND bundle_id = $2 AND kind = $3 AND subject = $4 AND leased_until = $5 RETURNING 1
                """,
                inquiry.key + [SQLValue(inquiry.leasedUntil), .text(text), SQLValue(advanced.leasedUntil)])
            guard !rows.isEmpty else { return nil }
            guard budget.free(Int64(inquiry.priority)) > 0 else { return (advanced, false) }
            budget.spend(Int64(inquiry.priority))
            try connection.write(budget)
            return (advanced, true)
        }
    }

    /// Moves the checkpoint after the last page of a window was read. Its notifications are already recorded.
    package func complete(
        _ inquiry: Inquiry, _ window: HistoryWindow, at now: Instant
    ) throws(LedgerError) {
        let range = HistoryRange(rawValue: inquiry.subject) ?? .failures
        let cursor = try window.following.map { (next) throws(LedgerError) in try StoredJSON.encode(next) }
        // A run that was interrupted for a long time is followed by another.
        let isOver = cursor == nil && (range == .failures || now < window.until + Self.staleness)
        let interval = range == .failures ? Self.failuresInterval : Self.everythingInterval
        let isUrgent = range == .failures || !isOver && inquiry.priority < Inquiry.lowPriority
        try store.write { (connection) throws(LedgerError) in
            let rows = try connection.run(
                """
                UPDATE questions SET cursor = $6, leased_until = 0, attempts = 0, failure = NULL, due_at = $7,
                    priority = $8
                WHERE environment = $1 AND bundle_id = $2 AND kind = $3 AND subject = $4 AND leased_until = $5
                RETURNING 1
                """,
                inquiry.key + [
                    SQLValue(inquiry.leasedUntil), SQLValue(cursor), SQLValue(isOver ? now + interval : now),
                    .integer(isUrgent ? 0 : Int64(Inquiry.lowPriority)),
                ])
            guard !rows.isEmpty else { return }
            var checkpoint = try connection.lockCheckpoint(of: inquiry.app)
            checkpoint.complete(window, range, of: inquiry.app, at: now)
            try connection.write(checkpoint, of: inquiry.app)
        }
    }

    /// Stores the position in a window, and the date to continue: after six hours at the latest.
    package func pause(
        _ inquiry: Inquiry, _ window: HistoryWindow, until date: Instant, attempts: Int64, failure: String?,
        at now: Instant
    ) throws(LedgerError) {
        let text = try StoredJSON.encode(window)
        try store.write { (connection) throws(LedgerError) in
            try connection.write(
                """
                UPDATE questions SET cursor = $6, leased_until = 0, attempts = $7, failure = $8, due_at = $9
                WHERE environment = $1 AND bundle_id = $2 AND kind = $3 AND subject = $4 AND leased_until = $5
                """,
                inquiry.key + [
                    SQLValue(inquiry.leasedUntil), .text(text), .integer(attempts), SQLValue(failure),
                    SQLValue(min(date, now + Self.longestPause)),
                ])
        }
    }
}
