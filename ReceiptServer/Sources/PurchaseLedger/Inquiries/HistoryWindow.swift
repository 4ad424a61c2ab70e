package import AppStoreReceipt

/// The notifications that an inquiry covers. The raw values are the subjects of inquiries.
package enum HistoryRange: String, Sendable, CaseIterable {
    /// The notifications since the checkpoint that no server has accepted: requested every 15 minutes.
    case failures
    /// All notifications since the last complete run: every day, after an outage, and after a restored backup.
    case everything
}

/// A period whose notifications are requested page by page, with the position reached. It is stored after each page.
package struct HistoryWindow: Codable, Sendable, Equatable {
    /// The beginning and the end of the window.
    package var from: Instant
    package var until: Instant
    /// The token of the next page, or `nil` for the first page.
    package var token: String?
    /// The number of times that reading was restarted.
    package var restarts = 0
    /// The number of consecutive hours that used up the limit for pages without new items, or `nil` for none.
    package var barrenHours: Int?
    /// Whether an error occurred in the window, so that an item can be missing.
    package var isFaulty = false
    /// The period from `runFrom` to `runUntil`, which successive windows of ``HistoryRange/everything`` cover.
    package var runFrom: Instant
    package var runUntil: Instant
    /// The beginning of the first window with an error.
    package var faultyFrom: Instant?
    /// Whether the run repeats an earlier one.
    package var isSecondLook = false

    /// The maximum length of a window. In a longer one, too much would be lost when a token expires.
    static let maximumLength = Duration.seconds(7 * 86_400)
    /// Returns the time that a window reaches back before the checkpoint, for notifications that Apple sent late. Known
    /// notifications are ignored.
    static func overlap(_ range: HistoryRange) -> Duration { .seconds(range == .failures ? 7200 : 86_400) }
    /// The maximum length of a routine run. A longer run catches up, and is repeated once.
    static let routineLength = Duration.seconds(3 * 86_400)
    /// The maximum number of times that a run is repeated because of errors.
    static let maximumDoubts: Int64 = 5

    init(from: Instant, until: Instant, of range: HistoryRange) {
        self.from = from
        runFrom = from
        runUntil = until
        self.until = range == .failures ? until : min(until, from + Self.maximumLength)
    }

    /// Starts over with the first page.
    package mutating func restart() {
        token = nil
        restarts += 1
        isFaulty = true
    }

    /// Drops the beginning of the window, which Apple no longer has.
    ///
    /// - Returns: Whether any of the window is left.
    package mutating func shorten(by duration: Duration) -> Bool {
        token = nil
        from += duration
        return from < until
    }

    /// The next window, or `nil` after the last.
    package var following: HistoryWindow? {
        guard until < runUntil else { return nil }
        var window = self
        window.from = until
        window.until = min(runUntil, until + Self.maximumLength)
        (window.token, window.restarts, window.barrenHours, window.isFaulty) = (nil, 0, nil, false)
        window.faultyFrom = firstFault
        return window
    }

    var firstFault: Instant? { faultyFrom ?? (isFaulty ? from : nil) }
}

/// The dates up to which the notifications of an app are complete.
struct HistoryCheckpoint {
    /// The end of the period for which the notifications that Apple couldn't deliver are complete.
    var completeUntil: Instant?
    /// The end of the period for which all of Apple's notifications are complete.
    var sweptUntil: Instant?
    /// The date from which something can be missing although it was requested.
    var doubtfulFrom: Instant?
    /// The number of times that errors occurred; 0 for the second run over everything that Apple had.
    var doubts: Int64 = 0
    /// The period that Apple no longer had when it was requested.
    var gap: (from: Instant, until: Instant)?
}

extension SQLConnection {
    /// Locks the checkpoint of an app until the end of the transaction. Inquiries about notifications are locked first.
    func lockCheckpoint(of app: AskedApp) throws(LedgerError) -> HistoryCheckpoint {
        try write(
            "INSERT INTO history_checkpoints (environment, bundle_id, doubts) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING",
            app.columns)
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
            checkpoint.gap = (from, until)
        }
        return checkpoint
    }

    func write(_ checkpoint: HistoryCheckpoint, of app: AskedApp) throws(LedgerError) {
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

extension HistoryCheckpoint {
    /// Returns the time that Apple keeps notifications (180 days, in the sandbox 30), less a day for clocks.
    static func kept(_ app: AskedApp) -> Duration {
        .seconds((app.environment == .production ? 179 : 29) * 86_400)
    }

    /// Drops dates that a fast clock recorded, because the true ones are unknown. A checkpoint from another server can
    /// be slightly ahead, by less than any overlap.
    private mutating func forgetFuture(at now: Instant) {
        let latest = now + .seconds(3600)
        if let date = completeUntil, date > latest { completeUntil = nil }
        if let date = sweptUntil, date > latest { sweptUntil = nil }
    }

    mutating func note(gapFrom from: Instant, until: Instant) {
        gap = (min(from, gap?.from ?? from), max(until, gap?.until ?? until))
    }

    /// Returns the first window of a run, and records what Apple no longer has.
    ///
    /// - Parameter date: The date when notifications were first to be requested, or `nil` if they never were.
    mutating func window(
        _ range: HistoryRange, of app: AskedApp, since date: Instant? = nil, at now: Instant
    ) -> HistoryWindow {
        // A server can be down for a long time before its first request.
        let start = sweptUntil ?? completeUntil
        forgetFuture(at: now)
        let oldest = now - Self.kept(app)
        let known = range == .failures ? completeUntil : sweptUntil
        // Apple may have sent late what it had signed before the last run.
        let mayMiss = (known ?? start).map { $0 - HistoryWindow.overlap(.everything) } ?? date
        if let mayMiss, mayMiss < oldest { note(gapFrom: mayMiss, until: oldest) }
        var from: Instant
        if let known {
            from = known - HistoryWindow.overlap(range)
        } else {
            // A first run covers everything.
            from = range == .failures ? now - HistoryWindow.maximumLength : oldest
        }
        var isSecondLook = false
        if range == .everything, let doubtfulFrom {
            let isLost = doubts > 0 || known.map { $0 < oldest } ?? false
            if isLost, doubtfulFrom < oldest { note(gapFrom: doubtfulFrom, until: oldest) }
            from = min(from, doubtfulFrom)
            isSecondLook = true
        }
        var window = HistoryWindow(from: max(from, oldest), until: now, of: range)
        window.isSecondLook = isSecondLook
        return window
    }

    /// Records that the last page of a window was read.
    mutating func complete(_ window: HistoryWindow, _ range: HistoryRange, of app: AskedApp, at now: Instant) {
        forgetFuture(at: now)
        switch range {
        case .failures: completeUntil = max(completeUntil ?? window.until, window.until)
        case .everything:
            sweptUntil = window.until
            guard window.following == nil else { return }
            completeUntil = max(completeUntil ?? window.until, window.until)
            if let fault = window.firstFault {
                if doubts < HistoryWindow.maximumDoubts {
                    (doubtfulFrom, doubts) = (fault, doubts + 1)
                    return
                }
                // Record as a gap what can't be read without errors, instead of retrying forever.
                note(gapFrom: fault, until: window.runUntil)
            }
            if window.firstFault == nil, !window.isSecondLook,
                window.runUntil - window.runFrom > HistoryWindow.routineLength
            {
                // When the run is repeated, Apple no longer has its beginning.
                let isAll = window.runUntil - window.runFrom >= Self.kept(app)
                (doubtfulFrom, doubts) = (window.runFrom, isAll ? 0 : 1)
            } else {
                (doubtfulFrom, doubts) = (nil, 0)
            }
        }
    }
}
