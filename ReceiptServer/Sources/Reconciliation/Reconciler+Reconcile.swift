package import AppStoreReceipt
import AppStoreServerAPI
package import PurchaseLedger
import StrictText

/// The findings and results of an operator's run.
package struct ReconcileResult: Sendable {
    package internal(set) var counts = ReconciliationCounts()
    /// The number of events that a dry run would post to backends, by kind.
    package internal(set) var events: [String: Int] = [:]
    /// The number of other inquiries that a dry run would make, by priority.
    package internal(set) var due: [Int: Int] = [:]
    /// The number of inquiries that remain.
    package internal(set) var leftOver = 0
    /// Whether all notifications up to the beginning of the run were requested.
    package internal(set) var isComplete = true
    package internal(set) var gaps: [(app: AskedApp, from: Instant, until: Instant)] = []
    /// The configuration error that kept an app from being queried.
    package internal(set) var configuration: String?

    /// The exit status of the command.
    package var status: Int32 { configuration != nil ? 2 : leftOver > 0 || !isComplete ? 1 : 0 }
}

extension Reconciler {
    /// The maximum delay between retries in a run, and the maximum number of such delays.
    private static let maximumWait = Duration.seconds(120)
    private static let maximumWaits = 10

    /// Requests what the ledger lacks, once.
    ///
    /// - Parameters:
    ///   - since: The date from which to request all notifications, or `nil` to start at the checkpoints.
    ///   - account: The account to limit the run to, or `nil` for all purchases.
    ///   - isDryRun: Whether to record nothing except the requests taken from the budget.
    ///   - progress: Called at intervals with the counts so far.
    package func reconcile(
        since: Instant? = nil, account: String? = nil, dryRun isDryRun: Bool = false,
        progress: (ReconciliationCounts) -> Void = { _ in }
    ) throws(LedgerError) -> ReconcileResult {
        let start = now
        var result = ReconcileResult()
        for apple in apps {
            if isDryRun {
                try tryHistory(apple, since: since, &result, progress)
            } else if let account {
                try ask(about: account, apple, &result, progress)
            } else {
                // Refused evidence is also kept, but proves no price.
                try ledger.fillPricesFromKeptEvidence { try? apple.client.evidenceVerifier.verify($0) }
                try ledger.askFailedAgain(about: apple.app, at: now)
                if try ledger.beginHistory(of: apple.app, since: since, isUrgent: true, at: now) {
                    try ledger.askAboutSubscriptions(of: apple.app, at: now)
                }
            }
        }
        if !isDryRun, account == nil { try runToEnd(from: start, &result, progress) }
        result.counts = counts
        result.configuration = stopped.values.first.map { "\($0)" } ?? result.configuration
        for count in try ledger.inquiryCounts(at: now) {
            if let gap = count.gap { result.gaps.append((count.app, gap.from, gap.until)) }
        }
        return result
    }

    private func runToEnd(
        from start: Instant, _ result: inout ReconcileResult, _ progress: (ReconciliationCounts) -> Void
    ) throws(LedgerError) {
        var waits = 0
        while true {
            switch runOnce() {
            case .asked:
                progress(counts)
                continue
            case .idle(let date):
                let wait = date.map { $0 - now }
                // Wait briefly for retries only. Inquiries that are due later are left to the server.
                let isOpen = try openCount() > 0
                guard isOpen, stopped.isEmpty, let wait, wait <= Self.maximumWait, waits < Self.maximumWaits else {
                    break
                }
                waits += 1
                options.wait(max(wait, .milliseconds(10)))
                continue
            }
            break
        }
        result.leftOver = try openCount()
        for count in try ledger.inquiryCounts(at: now) {
            let isComplete = [count.completeUntil, count.sweptUntil].allSatisfy { $0.map { $0 >= start } ?? false }
            if !isComplete { result.isComplete = false }
        }
        let isUnauthorized = apps.contains { pausedUntil($0.app) > now } && result.leftOver > 0
        if isUnauthorized, let error = lastConfigurationError { result.configuration = "\(error)" }
    }

    /// Returns the number of inquiries that are due or have failed.
    private func openCount() throws(LedgerError) -> Int {
        var count = 0
        for apple in apps { count += try ledger.openInquiryCount(about: apple.app, at: now) }
        return count
    }

    private var lastConfigurationError: AppStoreServerError? {
        state.withLock { state in state.states.values.lazy.compactMap(\.configurationError).first }
    }

    // MARK: One account

    private func ask(
        about account: String, _ apple: AppleApp, _ result: inout ReconcileResult,
        _ progress: (ReconciliationCounts) -> Void
    ) throws(LedgerError) {
        for (kind, id) in try ledger.subjects(of: account, in: apple.app, at: now) {
            var left: String?
            do throws(RecoveryError) {
                switch kind {
                case .statuses:
                    let answer = try ask(apple, .subscriptionStatuses) { (client) throws(AppStoreServerError) in
                        try client.subscriptionStatuses(of: id)
                    }
                    left = try Self.onLedger { () throws(LedgerError) in try record(answer, about: id, apple) }
                case .transaction, .history, .refunds:
                    _ = try recover(.transaction(id), of: apple.app)
                }
            } catch {
                switch error {
                case .ledger(let error): throw error
                case .error(let error):
                    left = error.failure
                    if error.class == .configuration { result.configuration = "\(error)" }
                case .notFound: break
                case .refused(let items): left = items.first?.code ?? "refused"
                case .budgetSpent: left = "budget-spent"
                case .unavailable, .otherApp, .incomplete: left = "unavailable"
                }
            }
            if let left {
                result.leftOver += 1
                options.onFinding(.leftOver(apple.app, id: id, reason: left))
            }
            progress(counts)
        }
    }

    // MARK: Dry run

    /// Requests the notifications since the checkpoint, and reports those the ledger lacks, recording nothing.
    private func tryHistory(
        _ apple: AppleApp, since: Instant?, _ result: inout ReconcileResult,
        _ progress: (ReconciliationCounts) -> Void
    ) throws(LedgerError) {
        var next: HistoryWindow? = try ledger.planHistory(of: apple.app, since: since, at: now)
        var failures: Int64 = 0
        var tried = TriedNotifications()
        var seen: Set<UTF8Bytes> = []
        while var window = next {
            let page: NotificationPage
            do throws(RecoveryError) {
                page = try ask(apple, .notificationHistory) { [window] (client) throws(AppStoreServerError) in
                    try client.notificationHistory(
                        NotificationHistoryQuery(from: window.from, to: window.until), paginationToken: window.token)
                }
                failures = 0
            } catch {
                switch error {
                case .ledger(let error): throw error
                case .error(let error) where error.class == .configuration: result.configuration = "\(error)"
                case .error(let error) where error.class == .shortenWindow && window.shorten(by: .seconds(864_000)):
                    next = window
                    continue
                case .error(let error) where error.class == .restartPaging && window.restarts < 3:
                    window.restart()
                    next = window
                    continue
                default:
                    failures += 1
                    if failures < Self.maximumWaits {
                        options.wait(min(delay(afterAttempts: failures), Self.maximumWait))
                        continue
                    }
                }
                result.isComplete = false
                return
            }
            state.withLock { $0.counts.pages += 1 }
            var isNew = false
            for item in page.notifications {
                switch item.notification {
                case .verified(let notification):
                    if let uuid = notification.notificationUUID, seen.insert(UTF8Bytes(uuid)).inserted { isNew = true }
                    let kinds = try ledger.trial(fromHistory: notification, after: &tried, at: evidenceDate)
                    for kind in kinds ?? [] { result.events[kind, default: 0] += 1 }
                    count(
                        notification, isNew: kinds != nil, isSuccess: item.sendAttempts.contains(where: \.isSuccess),
                        apple.app, wouldPost: kinds)
                case .refused(let refusal): refuse(refusal.code, nil, of: apple.app)
                case nil: break
                }
            }
            progress(counts)
            if page.unsigned.hasMore, let token = page.unsigned.paginationToken, Self.isPlace(token),
                window.token.map({ !$0.hasSameBytes(as: token) }) ?? true, isNew || allowsBarrenPage(apple)
            {
                window.token = token
                next = window
            } else {
                if page.unsigned.hasMore { result.isComplete = false }
                next = window.following
            }
        }
        for count in try ledger.inquiryCounts(at: now) where count.app == apple.app {
            for (priority, date) in count.oldest where date <= now { result.due[priority] = count.pending[priority] }
        }
    }
}
