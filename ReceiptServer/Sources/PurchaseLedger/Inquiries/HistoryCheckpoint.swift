package import AppStoreReceipt

/// The notifications that an inquiry covers: one row for each range, which becomes due repeatedly. The raw values are
/// the subjects of inquiries.
package enum HistoryRange: String, Sendable, CaseIterable {
    /// The notifications since the checkpoint that no server has accepted: requested every 15 minutes.
    case failures
    /// All notifications since the last complete run: every day, after an outage, and after a restored backup.
    case everything

    package var interval: Duration { .seconds(self == .failures ? 900 : 86_400) }
    /// The maximum time until the next attempt.
    package static let longestPause = Duration.seconds(21_600)
}

/// The dates up to which the notifications of an app are complete.
package struct HistoryCheckpoint: Sendable, Equatable {
    /// A period that Apple no longer had when it was requested.
    package struct Gap: Sendable, Equatable {
        package let from: Instant
        package let until: Instant

        package init(from: Instant, until: Instant) { (self.from, self.until) = (from, until) }
    }

    /// The end of the period for which the notifications that Apple couldn't deliver are complete.
    package var completeUntil: Instant?
    /// The end of the period for which all of Apple's notifications are complete.
    package var sweptUntil: Instant?
    /// The date from which something can be missing although it was requested.
    package var doubtfulFrom: Instant?
    /// The number of times that errors occurred; 0 for the second run over everything that Apple had.
    package var doubts: Int64 = 0
    package var gap: Gap?

    package init() {}
}

/// The queue's rows about notifications. `Reconciliation` decides what to request.
extension PurchaseLedger {
    /// Returns the checkpoint of an app.
    package func historyCheckpoint(of app: AskedApp) throws(LedgerError) -> HistoryCheckpoint {
        try store.read { (connection) throws(LedgerError) in try connection.checkpoint(of: app) }
    }

    /// Changes the checkpoint of an app. Meanwhile, no other server changes it.
    package func changeCheckpoint<Result>(
        of app: AskedApp, _ change: @escaping (inout HistoryCheckpoint) -> Result
    ) throws(LedgerError) -> Result {
        try store.write { (connection) throws(LedgerError) in try connection.changeCheckpoint(of: app, change) }
    }

    /// How the requests for an app's notifications begin.
    package struct HistoryStart: Sendable {
        /// Whether to request everything immediately.
        package var isUrgent: Bool
        /// Whether to give up the position reached in everything. A process that is reading pages then stops.
        package var restarts: Bool

        package init(isUrgent: Bool, restarts: Bool) { (self.isUrgent, self.restarts) = (isUrgent, restarts) }
    }

    /// Schedules requests for an app's notifications.
    ///
    /// - Parameter decide: Returns how they begin, given the checkpoint, which it can change, and the cursor of the
    ///   inquiry for everything.
    /// - Returns: The second result of `decide`.
    package func scheduleHistory<Result>(
        of app: AskedApp, at now: Instant,
        _ decide: @escaping (inout HistoryCheckpoint, _ cursor: String?) throws(LedgerError) -> (HistoryStart, Result)
    ) throws(LedgerError) -> Result {
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
            let cursor = try connection.run(
                "SELECT cursor FROM questions WHERE environment = $1 AND bundle_id = $2 AND kind = $3 AND subject = $4",
                everything
            ).first?.optionalText(0)
            let (start, result) = try connection.changeCheckpoint(of: app) { (checkpoint) throws(LedgerError) in
                try decide(&checkpoint, cursor)
            }
            if start.restarts {
                try connection.write(LeasedQueue.inquiries.release(everything, "cursor = NULL"))
            }
            if start.isUrgent {
                try connection.write(
                    LeasedQueue.inquiries.update(
                        everything, "priority = 0, due_at = $5, attempts = 0, state = 'pending'", [SQLValue(now)]))
            }
            return result
        }
    }

    /// Makes due what a clock that was ahead has postponed.
    func mendDates(of app: AskedApp, at now: Instant) throws(LedgerError) {
        let later = Duration.seconds(3600)
        try store.write { (connection) throws(LedgerError) in
            for range in HistoryRange.allCases {
                try connection.write(
                    LeasedQueue.inquiries.release(
                        Self.historyKey(app, range), "due_at = $5",
                        if: "due_at > CASE WHEN attempts = 0 THEN CAST($6 AS BIGINT) ELSE CAST($7 AS BIGINT) END",
                        [
                            SQLValue(now), SQLValue(now + range.interval + later),
                            SQLValue(now + HistoryRange.longestPause + later),
                        ]))
            }
        }
    }

    private static func historyKey(_ app: AskedApp, _ range: HistoryRange) -> [SQLValue] {
        app.columns + [.text(Inquiry.Kind.history.rawValue), .text(range.rawValue)]
    }

    /// Stores the position reached, and takes a request for the next page from the budget.
    ///
    /// - Returns: The inquiry with its new lease, and whether there is a request for the next page, or `nil` if another
    ///   server has taken over the inquiry.
    package func advance(
        _ inquiry: Inquiry, to cursor: String, requestsPerHour: Int, at now: Instant
    ) throws(LedgerError) -> (inquiry: Inquiry, hasRequest: Bool)? {
        var advanced = inquiry
        advanced.cursor = cursor
        // The new lease must differ from the old one, because it identifies the holder.
        advanced.leasedUntil = max(now + Self.inquiryLease, inquiry.leasedUntil + .milliseconds(1))
        return try store.write { [advanced] (connection) throws(LedgerError) in
            var budget = try connection.lockBudget(of: inquiry.app, requestsPerHour, at: now)
            let queue = LeasedQueue.inquiries
            let changed = try connection.run([
                queue.update(
                    inquiry.key, "cursor = $6, leased_until = $7, attempts = 0", if: queue.isHeld,
                    [SQLValue(inquiry.leasedUntil), .text(cursor), SQLValue(advanced.leasedUntil)])
            ])
            guard !changed[0].isEmpty else { return nil }
            guard budget.free(Int64(inquiry.priority)) > 0 else { return (advanced, false) }
            budget.spend(Int64(inquiry.priority))
            try connection.write(budget)
            return (advanced, true)
        }
    }
}

extension SQLConnection {
    /// Locks the checkpoint of an app until the end of the transaction. Inquiries about notifications are locked first.
    private func lockCheckpoint(of app: AskedApp) throws(LedgerError) -> HistoryCheckpoint {
        try write(
            """
            INSERT INTO history_checkpoints (environment, bundle_id, doubts) VALUES ($1, $2, 0)
            ON CONFLICT DO NOTHING
            """, app.columns)
        return try checkpoint(of: app, dialect.rowLock)
    }

    func checkpoint(of app: AskedApp, _ lock: String = "") throws(LedgerError) -> HistoryCheckpoint {
        var checkpoint = HistoryCheckpoint()
        guard
            let row = try run(
                """
                SELECT complete_until, swept_until, doubtful_from, doubts, gap_from, gap_until FROM history_checkpoints
                WHERE environment = $1 AND bundle_id = $2\(lock)
                """, app.columns
            ).first
        else { return checkpoint }
        checkpoint.completeUntil = try row.optionalDate("complete_until")
        checkpoint.sweptUntil = try row.optionalDate("swept_until")
        checkpoint.doubtfulFrom = try row.optionalDate("doubtful_from")
        checkpoint.doubts = try row.integer("doubts")
        if let from = try row.optionalDate("gap_from"), let until = try row.optionalDate("gap_until") {
            checkpoint.gap = HistoryCheckpoint.Gap(from: from, until: until)
        }
        return checkpoint
    }

    /// Changes the checkpoint of an app, which stays locked until the end of the transaction.
    func changeCheckpoint<Result>(
        of app: AskedApp, _ change: (inout HistoryCheckpoint) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        let before = try lockCheckpoint(of: app)
        var checkpoint = before
        let result = try change(&checkpoint)
        if checkpoint != before { try write(checkpoint, of: app) }
        return result
    }

    private func write(_ checkpoint: HistoryCheckpoint, of app: AskedApp) throws(LedgerError) {
        func value(_ date: Instant?) -> SQLValue { date.map { SQLValue($0) } ?? .null }
        try write(
            """
            UPDATE history_checkpoints SET complete_until = $3, swept_until = $4, doubtful_from = $5, doubts = $6,
                gap_from = $7, gap_until = $8 WHERE environment = $1 AND bundle_id = $2
            """,
            app.columns + [
                value(checkpoint.completeUntil), value(checkpoint.sweptUntil), value(checkpoint.doubtfulFrom),
                .integer(checkpoint.doubts), value(checkpoint.gap?.from), value(checkpoint.gap?.until),
            ])
    }
}
