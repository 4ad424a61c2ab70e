import AppStoreReceipt
import AppStoreServerAPI
import PurchaseLedger
import StrictText

/// The history of notifications that Apple has sent.
extension Reconciler {
    /// The maximum number of restarts of a window before it is paused, and of consecutive hours of pages without new
    /// items before it is restarted.
    private static let maximumRestarts = 3
    /// The maximum number of pages to request before other inquiries get a turn.
    private static let pagesInOneTurn = 50

    /// Requests the pages of a window, and records their notifications. Stores the position after each page, and moves
    /// the checkpoint after the last one.
    func askHistory(_ inquiry: Inquiry, _ apple: AppleApp) throws(LedgerError) {
        var inquiry = inquiry
        var (window, gap) = try ledger.historyWindow(of: inquiry, at: now)
        if let gap { options.onFinding(.gap(apple.app, from: gap.from, until: gap.until)) }
        var seen = Set(window.token.map { [UTF8Bytes($0)] } ?? [])
        var lastItems: [UTF8Bytes] = []
        let subject = PageReadings.Subject(inquiry)
        for _ in 0..<Self.pagesInOneTurn {
            let page: NotificationPage
            do throws(AppStoreServerError) {
                page = try request(apple, .notificationHistory, inquiry.priority) {
                    (client) throws(AppStoreServerError) in
                    try client.notificationHistory(window.query(inquiry), paginationToken: window.token)
                }
            } catch {
                return try failed(inquiry, &window, error, apple)
            }
            let items = try record(page, &window, apple)
            let isNew = state.withLock { $0.readings.add(items, of: subject, in: [window.from, window.until]) }
            guard page.unsigned.hasMore else {
                state.withLock { $0.readings.end(subject) }
                window.token = nil
                return try ledger.complete(inquiry, window, at: now)
            }
            let token = page.unsigned.paginationToken.flatMap { Self.isPlace($0) ? UTF8Bytes($0) : nil }
            let isRepeated = !items.isEmpty && items == lastItems
            lastItems = items
            if isNew { window.barrenHours = nil }
            let isAllowed = isNew || allowsBarrenPage(apple)
            if let token, !isRepeated, seen.insert(token).inserted {
                window.token = token.string
            } else {
                // A page or token is repeated, or the next token is missing.
                window.restart()
                (seen, lastItems) = ([], [])
                guard window.restarts <= Self.maximumRestarts else {
                    window.restarts = 0
                    return try ledger.pause(
                        inquiry, window, until: now + .seconds(900), attempts: inquiry.attempts + 1,
                        failure: "endless-pages", at: now)
                }
            }
            guard isAllowed else {
                let hours = (window.barrenHours ?? 0) + 1
                window.barrenHours = hours
                if hours > Self.maximumRestarts {
                    window.restart()
                    (window.restarts, window.barrenHours) = (0, nil)
                    state.withLock { $0.readings.end(subject) }
                }
                return try ledger.pause(
                    inquiry, window, until: Self.nextHour(after: now), attempts: inquiry.attempts + 1,
                    failure: "endless-pages", at: now)
            }
            let advanced = try ledger.advance(
                inquiry, to: window.cursor(), requestsPerHour: apple.requestsPerHour, at: now)
            // Another server has taken over the inquiry.
            guard let advanced else { return }
            inquiry = advanced.inquiry
            guard advanced.hasRequest else {
                return try ledger.pause(
                    inquiry, window, until: Self.nextHour(after: now), attempts: inquiry.attempts, failure: nil,
                    at: now)
            }
        }
        // The request taken for the next page counts as used: the next turn takes its own.
        try ledger.pause(inquiry, window, until: now, attempts: 0, failure: nil, at: now)
    }

    /// Records the items of a page, each in its own transaction. A refused item doesn't stop the others.
    ///
    /// - Returns: The names of the items.
    private func record(
        _ page: NotificationPage, _ window: inout HistoryWindow, _ apple: AppleApp
    ) throws(LedgerError) -> [UTF8Bytes] {
        var names: [UTF8Bytes] = []
        for item in page.notifications {
            switch item.notification {
            case nil: window.isFaulty = true
            case .refused(let refusal):
                window.isFaulty = true
                refuse(refusal.code, nil, of: apple.app)
            case .verified(let notification):
                if let uuid = notification.notificationUUID { names.append(UTF8Bytes(uuid)) }
                let (isNew, ended) = try ledger.record(fromHistory: notification, of: apple.app, at: evidenceDate)
                for id in ended { options.onFinding(.endedUnnotified(apple.app, transactionID: id)) }
                count(notification, isNew: isNew, isSuccess: item.sendAttempts.contains(where: \.isSuccess), apple.app)
            }
        }
        state.withLock { $0.counts.pages += 1 }
        return names
    }

    /// - Parameter events: In a dry run, the kinds of events that the notification would post.
    func count(
        _ notification: VerifiedNotification, isNew: Bool, isSuccess: Bool, _ app: AskedApp,
        wouldPost events: [String]? = nil
    ) {
        let item = ReconciliationCounts.Item(app: app, name: notification.type?.rawValue ?? "")
        state.withLock { state in
            state.counts.seen[item, default: 0] += 1
            if isNew { state.counts.recovered[item, default: 0] += 1 }
            if isNew, isSuccess { state.counts.swallowed[app, default: 0] += 1 }
        }
        guard isNew else { return }
        let uuid = notification.notificationUUID
        if let events { return options.onFinding(.missing(app, type: item.name, uuid: uuid, events: events)) }
        options.onFinding(
            isSuccess
                ? .swallowed(app, type: item.name, uuid: uuid) : .recovered(app, type: item.name, uuid: uuid))
    }

    private func failed(
        _ inquiry: Inquiry, _ window: inout HistoryWindow, _ error: AppStoreServerError, _ apple: AppleApp
    ) throws(LedgerError) {
        // Whatever the error, the next page must be requested again.
        var date = now
        switch error.class {
        case .restartPaging:
            state.withLock { $0.readings.end(PageReadings.Subject(inquiry)) }
            window.restart()
            if window.restarts > Self.maximumRestarts {
                window.restarts = 0
                date = now + .seconds(900)
            }
        case .shortenWindow:
            let from = window.from
            let isLeft = window.shorten(by: .seconds(10 * 86_400))
            let until = isLeft ? window.from : window.until
            try ledger.noteGap(of: apple.app, from: from, until: until)
            options.onFinding(.gap(apple.app, from: from, until: until))
            if !isLeft { return try ledger.complete(inquiry, window, at: now) }
        case .configuration: date = max(pausedUntil(apple.app), now + .seconds(60))
        case .retry where error.status == 429: date = now + (error.retryAfter ?? .seconds(60))
        case .retry, .final, .fault:
            // Retry the window until there is an answer: notifications are never abandoned.
            date = now + delay(afterAttempts: inquiry.attempts)
        }
        if error.class == .fault, error.code != nil { options.onFinding(.failed(inquiry, error.failure)) }
        let isFailure = error.class != .restartPaging && error.class != .shortenWindow
        try ledger.pause(
            inquiry, window, until: date, attempts: isFailure ? min(inquiry.attempts + 1, 20) : 0,
            failure: error.failure, at: now)
    }
}

extension HistoryWindow {
    func query(_ inquiry: Inquiry) -> NotificationHistoryQuery {
        var query = NotificationHistoryQuery(from: from, to: until)
        query.onlyFailures = HistoryRange(inquiry) == .failures
        return query
    }
}
