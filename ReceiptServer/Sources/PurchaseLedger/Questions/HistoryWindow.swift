package import AppStoreReceipt

/// Which notifications a question about them is for. The raw values are the subjects.
package enum HistoryRange: String, Sendable, CaseIterable {
    /// Those that no server has taken, since the checkpoint: every 15 minutes.
    case failures
    /// All of them, since they were last all asked for: every day, after an outage, and after a back-up was restored.
    case everything
}

/// A time whose notifications are asked for page by page, and how far that is. It is stored after each page.
package struct HistoryWindow: Codable, Sendable, Equatable {
    /// The beginning and the end of the window.
    package var from: Instant
    package var until: Instant
    /// The token of the next page; `nil` for the first one.
    package var token: String?
    /// How often reading began anew.
    package var restarts = 0
    /// In how many hours in a row as many pages were asked for that brought nothing new as may be; `nil` for none.
    package var barrenHours: Int?
    /// Whether something went wrong in the window, so that an item can be missing.
    package var isFaulty = false
    /// The windows of ``HistoryRange/everything`` follow each other, from `runFrom` to `runUntil`.
    package var runFrom: Instant
    package var runUntil: Instant
    /// The beginning of the first window in which something went wrong.
    package var faultyFrom: Instant?
    /// Whether the run looks again at what was asked for before.
    package var isSecondLook = false

    /// The longest window. Beyond it, what was read would be lost with a token that expires.
    static let maximumLength = Duration.seconds(7 * 86_400)
    /// How far a window reaches back before the checkpoint, for notifications that Apple was late to send. Known
    /// notifications are ignored.
    static func overlap(_ range: HistoryRange) -> Duration { .seconds(range == .failures ? 7200 : 86_400) }
    /// A longer run is a catch-up, at which is looked again.
    static let routineLength = Duration.seconds(3 * 86_400)
    /// How often is looked again because something went wrong.
    static let maximumDoubts: Int64 = 5

    init(from: Instant, until: Instant, of range: HistoryRange) {
        self.from = from
        runFrom = from
        runUntil = until
        self.until = range == .failures ? until : min(until, from + Self.maximumLength)
    }

    /// Begins with the first page again.
    package mutating func restart() {
        token = nil
        restarts += 1
        isFaulty = true
    }

    /// Leaves out the beginning, which Apple does not have any more.
    ///
    /// - Returns: Whether something is left.
    package mutating func shorten(by duration: Duration) -> Bool {
        token = nil
        from += duration
        return from < until
    }

    /// The window after this one; `nil` after the last.
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

/// Until when the notifications of an app are complete.
struct HistoryCheckpoint {
    /// Those that Apple could not deliver.
    var completeUntil: Instant?
    /// All that Apple has.
    var sweptUntil: Instant?
    /// From when on something can be missing although it was asked for.
    var doubtfulFrom: Instant?
    /// How often that was so; 0 for the second look at all that Apple had.
    var doubts: Int64 = 0
    /// What Apple did not have any more when it was asked.
    var gap: (from: Instant, until: Instant)?
}

extension SQLConnection {
    /// Waits until no other transaction changes the checkpoint of an app, and keeps others from it. Questions about
    /// notifications are locked before.
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
        checkpoint.completeUntil = try row.optionalDate(0)
        checkpoint.sweptUntil = try row.optionalDate(1)
        checkpoint.doubtfulFrom = try row.optionalDate(2)
        checkpoint.doubts = try row.integer(3)
        if let from = try row.optionalDate(4), let until = try row.optionalDate(5) { checkpoint.gap = (from, until) }
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
    /// How long Apple keeps notifications, less a day for clocks: 180 days, in the sandbox 30.
    static func kept(_ app: AskedApp) -> Duration {
        .seconds((app.environment == .production ? 179 : 29) * 86_400)
    }

    /// Forgets what a clock noted that was ahead: until when it was true is not known. A checkpoint of another server
    /// can be a little ahead, by less than any overlap.
    private mutating func forgetFuture(at now: Instant) {
        let latest = now + .seconds(3600)
        if let date = completeUntil, date > latest { completeUntil = nil }
        if let date = sweptUntil, date > latest { sweptUntil = nil }
    }

    mutating func note(gapFrom from: Instant, until: Instant) {
        gap = (min(from, gap?.from ?? from), max(until, gap?.until ?? until))
    }

    /// Returns the first window of a run, and notes what Apple has no more.
    ///
    /// - Parameter date: When notifications were to be asked for first; `nil` if they were not.
    mutating func window(
        _ range: HistoryRange, of app: AskedApp, since date: Instant? = nil, at now: Instant
    ) -> HistoryWindow {
        // A server can be down for long before it has asked anything.
        let start = sweptUntil ?? completeUntil
        forgetFuture(at: now)
        let oldest = now - Self.kept(app)
        let known = range == .failures ? completeUntil : sweptUntil
        // Apple can have been late to send what it had signed before it was asked.
        let mayMiss = (known ?? start).map { $0 - HistoryWindow.overlap(.everything) } ?? date
        if let mayMiss, mayMiss < oldest { note(gapFrom: mayMiss, until: oldest) }
        var from: Instant
        if let known {
            from = known - HistoryWindow.overlap(range)
        } else {
            // The first run asks for everything.
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

    /// Notes that the last page of a window was read.
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
                // What cannot be asked for without a fault is named, and not asked for in vain for ever.
                note(gapFrom: fault, until: window.runUntil)
            }
            if window.firstFault == nil, !window.isSecondLook,
                window.runUntil - window.runFrom > HistoryWindow.routineLength
            {
                // By then, Apple has the beginning no more.
                let isAll = window.runUntil - window.runFrom >= Self.kept(app)
                (doubtfulFrom, doubts) = (window.runFrom, isAll ? 0 : 1)
            } else {
                (doubtfulFrom, doubts) = (nil, 0)
            }
        }
    }
}
