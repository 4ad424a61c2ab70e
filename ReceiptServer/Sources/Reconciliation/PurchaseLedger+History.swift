import AppStoreReceipt
import PurchaseLedger

/// The schedule of requests for notifications.
extension PurchaseLedger {
    /// The age of a checkpoint that indicates an outage or a restored backup when a server starts. In that case, Apple
    /// may have delivered notifications that the ledger lacks.
    private static let outage = Duration.seconds(3600)
    private static let staleness = Duration.seconds(43_200)

    /// Schedules requests for the notifications since the checkpoints.
    ///
    /// - Parameters:
    ///   - date: The date from which to request everything, or `nil` to start at the checkpoints.
    ///   - isUrgent: Whether to request everything immediately, even without an outage.
    /// - Returns: Whether notifications were never requested before.
    @discardableResult
    func beginHistory(
        of app: AskedApp, since date: Instant? = nil, isUrgent: Bool = false, at now: Instant
    ) throws(LedgerError) -> Bool {
        try scheduleHistory(of: app, at: now) { (checkpoint, cursor) throws(LedgerError) in
            let isFirst = checkpoint.sweptUntil == nil
            let isOutage = checkpoint.completeUntil.map { $0 < now - Self.outage } ?? true
            if let date {
                // Windows of that run with errors are read again, too.
                let window = try cursor.map { (cursor) throws(LedgerError) in try HistoryWindow(cursor: cursor) }
                checkpoint.sweptUntil = min(date, checkpoint.sweptUntil ?? date, window?.firstFault ?? date)
            }
            return (HistoryStart(isUrgent: date != nil || isOutage || isUrgent, restarts: date != nil), isFirst)
        }
    }

    /// Returns the window of an inquiry: the interrupted one, or the next one since the checkpoint.
    ///
    /// - Returns: The window, and the period that Apple no longer has, if that is new.
    func historyWindow(
        of inquiry: Inquiry, at now: Instant
    ) throws(LedgerError) -> (window: HistoryWindow, gap: HistoryCheckpoint.Gap?) {
        if let cursor = inquiry.cursor { return (try HistoryWindow(cursor: cursor), nil) }
        return try changeCheckpoint(of: inquiry.app) { checkpoint in
            var next = checkpoint
            let window = next.window(HistoryRange(inquiry), of: inquiry.app, since: inquiry.madeAt, at: now)
            guard let gap = next.gap, gap != checkpoint.gap else { return (window, nil) }
            checkpoint = next
            return (window, gap)
        }
    }

    /// Returns the first window of all notifications since a date, or since the last complete run. It records nothing.
    func planHistory(of app: AskedApp, since date: Instant?, at now: Instant) throws(LedgerError) -> HistoryWindow {
        var checkpoint = try historyCheckpoint(of: app)
        if let date { checkpoint.sweptUntil = date }
        return checkpoint.window(.everything, of: app, at: now)
    }

    /// Records a period whose notifications Apple no longer has.
    func noteGap(of app: AskedApp, from: Instant, until: Instant) throws(LedgerError) {
        try changeCheckpoint(of: app) { $0.note(gapFrom: from, until: until) }
    }

    /// Moves the checkpoint after the last page of a window was read. Its notifications are already recorded.
    func complete(_ inquiry: Inquiry, _ window: HistoryWindow, at now: Instant) throws(LedgerError) {
        let range = HistoryRange(inquiry)
        let cursor = try window.following?.cursor()
        // A run that was interrupted for a long time is followed by another.
        let isOver = cursor == nil && (range == .failures || now < window.until + Self.staleness)
        let isUrgent = range == .failures || !isOver && inquiry.priority < Inquiry.lowPriority
        try finish(
            inquiry,
            .goesOn(
                at: isOver ? now + range.interval : now, cursor: cursor, attempts: 0,
                priority: isUrgent ? 0 : Inquiry.lowPriority),
            at: now
        ) { checkpoint in checkpoint.complete(window, range, of: inquiry.app, at: now) }
    }

    /// Stores the position in a window, and the date to continue: after six hours at the latest.
    func pause(
        _ inquiry: Inquiry, _ window: HistoryWindow, until date: Instant, attempts: Int64, failure: String?,
        at now: Instant
    ) throws(LedgerError) {
        try finish(
            inquiry,
            .goesOn(
                at: min(date, now + HistoryRange.longestPause), cursor: window.cursor(), attempts: attempts,
                failure: failure),
            at: now)
    }
}

extension HistoryRange {
    init(_ inquiry: Inquiry) { self = HistoryRange(rawValue: inquiry.subject) ?? .failures }
}

extension HistoryWindow {
    /// Reads the position that an inquiry has reached.
    init(cursor: String) throws(LedgerError) { self = try StoredJSON.decode(cursor) }

    func cursor() throws(LedgerError) -> String { try StoredJSON.encode(self) }
}
