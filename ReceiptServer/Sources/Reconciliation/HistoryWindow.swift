import AppStoreReceipt
import PurchaseLedger

/// A period whose notifications are requested page by page, with the position reached. It is stored after each page.
struct HistoryWindow: Codable, Sendable, Equatable {
    /// The beginning and the end of the window.
    var from: Instant
    var until: Instant
    /// The token of the next page, or `nil` for the first page.
    var token: String?
    /// The number of times that reading was restarted.
    var restarts = 0
    /// The number of consecutive hours that used up the limit for pages without new items, or `nil` for none.
    var barrenHours: Int?
    /// Whether an error occurred in the window, so that an item can be missing.
    var isFaulty = false
    /// The period from `runFrom` to `runUntil`, which successive windows of ``HistoryRange/everything`` cover.
    var runFrom: Instant
    var runUntil: Instant
    /// The beginning of the first window with an error.
    var faultyFrom: Instant?
    /// Whether the run repeats an earlier one.
    var isSecondLook = false

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
    mutating func restart() {
        token = nil
        restarts += 1
        isFaulty = true
    }

    /// Drops the beginning of the window, which Apple no longer has.
    ///
    /// - Returns: Whether any of the window is left.
    mutating func shorten(by duration: Duration) -> Bool {
        token = nil
        from += duration
        return from < until
    }

    /// The next window, or `nil` after the last.
    var following: HistoryWindow? {
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
        gap = Gap(from: min(from, gap?.from ?? from), until: max(until, gap?.until ?? until))
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
