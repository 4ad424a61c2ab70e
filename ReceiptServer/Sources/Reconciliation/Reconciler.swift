package import AppStoreReceipt
package import AppStoreServerAPI
package import PurchaseLedger
import ServerThreads
import StrictText
import Synchronization

/// Sends the inquiries in the ledger's queue to the App Store, and records the signed answers. Several servers can work
/// on one queue.
///
/// No request is made within a database transaction. Only state that can be lost is in memory, such as paused endpoints
/// and unfinished histories; everything else is in the tables.
package final class Reconciler: Sendable {
    /// The dependencies that tests replace.
    package struct Options: Sendable {
        /// Decides about evidence.
        package var clock: @Sendable () -> Instant
        /// Decides about the queue, unless it returns `nil`.
        package var queueClock: @Sendable () -> Instant?
        /// Returns a number from 0 up to but not including 1, used to spread out retries.
        package var random: @Sendable () -> Double
        /// Waits, in ``reconcile(since:account:dryRun:progress:)``.
        package var wait: @Sendable (Duration) -> Void = { Reconciler.sleep($0) }
        /// Called on any thread.
        package var onFinding: @Sendable (Finding) -> Void = { _ in }

        package init(_ surroundings: Surroundings = Surroundings()) {
            clock = surroundings.date
            queueClock = { surroundings.databaseDate }
            random = { Double(surroundings.random() >> 11) / Double(1 << 53) }
        }
    }

    let ledger: PurchaseLedger
    let options: Options
    let state: Mutex<State>

    struct State {
        var apps: [AppleApp]
        var states: [AskedApp: AppState] = [:]
        var counts = ReconciliationCounts()
        /// The app with which the next step begins.
        var turn = 0
        var nextCleaning = Instant.distantPast
        var isStopped = false
        /// The number of pages in an hour that had no new items although more were announced.
        var barrenPages: [AskedApp: (hour: Int64, count: Int)] = [:]
        var histories = KeptHistories()
        /// The pages read so far of unfinished answers.
        var readings = PageReadings()

        /// Returns whether a request used the current key. One that was replaced meanwhile says nothing about the next.
        func isCurrent(_ apple: AppleApp) -> Bool { apps.contains { $0.client === apple.client } }
    }

    package init(_ ledger: PurchaseLedger, _ apps: [AppleApp], _ options: Options = Options()) {
        self.ledger = ledger
        self.options = options
        state = Mutex(State(apps: apps))
    }

    /// The date of the queue.
    var now: Instant { options.queueClock() ?? options.clock() }
    var evidenceDate: Instant { options.clock() }

    package var apps: [AppleApp] { state.withLock(\.apps) }

    /// The counts since this reconciler was created.
    package var counts: ReconciliationCounts { state.withLock(\.counts) }

    /// The apps for which requests are limited to one an hour, with the reason.
    package var stopped: [AskedApp: AppStoreServerError] {
        state.withLock { state in state.states.compactMapValues(\.stopped) }
    }

    /// Replaces the keys and budgets of the same apps.
    package func replace(_ apps: [AppleApp]) {
        state.withLock { state in
            state.apps = apps
            for app in apps { state.states[app.app]?.reset() }
        }
    }

    // MARK: Running

    /// Schedules the inquiries that a server makes when it starts.
    package func begin() throws(LedgerError) {
        for apple in apps {
            if try ledger.beginHistory(of: apple.app, at: now) {
                try ledger.askAboutSubscriptions(of: apple.app, at: now)
            }
        }
    }

    /// The result of one step through the queue.
    package enum Step: Sendable, Equatable {
        /// The number of inquiries that were sent.
        case asked(Int)
        /// Nothing can be sent before a date, or `nil` if there is nothing to send.
        case idle(until: Instant?)
    }

    /// Takes a few inquiries that are due, sends them one after the other, and records the answers. It waits only for
    /// answers.
    package func runOnce() -> Step {
        do throws(LedgerError) { try ledger.refreshClock() } catch { options.onFinding(.ledger(error)) }
        let now = now
        let apps = state.withLock { state in
            state.turn += 1
            let turn = state.apps.isEmpty ? 0 : state.turn % state.apps.count
            return Array(state.apps[turn...] + state.apps[..<turn])
        }
        clean(apps, at: now)
        var next: Instant?
        for apple in apps {
            do throws(LedgerError) {
                let (count, date) = try runOnce(apple, at: now)
                if count > 0 { return .asked(count) }
                next = [next, date].compactMap(\.self).min()
            } catch {
                options.onFinding(.ledger(error))
                next = min(next ?? .distantFuture, now + .seconds(1))
            }
        }
        return .idle(until: next)
    }

    private func runOnce(_ apple: AppleApp, at now: Instant) throws(LedgerError) -> (Int, next: Instant?) {
        let appState = state.withLock { $0.states[apple.app] ?? AppState() }
        let kinds = Inquiry.Kind.allCases.filter { appState.allows($0.endpoint, at: now) }
        let wakes = Inquiry.Kind.allCases.map { appState.wakes($0.endpoint) }.filter { $0 > now }.min()
        guard !kinds.isEmpty else { return (0, wakes) }
        let taken = try ledger.takeInquiries(
            about: apple.app, of: Set(kinds), limit: appState.isProbing ? 1 : 4,
            requestsPerHour: apple.requestsPerHour, at: now)
        for inquiry in taken.inquiries { try ask(inquiry, apple) }
        guard taken.inquiries.isEmpty else { return (taken.inquiries.count, nil) }
        var dates = [wakes]
        if taken.isBudgetSpent {
            dates.append(Self.nextHour(after: now))
            dates.append(try ledger.nextInquiryDate(about: apple.app, isUrgent: true, at: now))
        } else {
            dates.append(try ledger.nextInquiryDate(about: apple.app, at: now))
        }
        let known = dates.compactMap(\.self)
        // Inquiries that are already due wait for something else: an endpoint that is paused, or the budget.
        let next = known.filter { $0 > now }.min() ?? (known.isEmpty ? nil : now + .seconds(1))
        return (0, next)
    }

    static func nextHour(after now: Instant) -> Instant {
        Instant(millisecondsSince1970: (now.secondsSince1970 / 3600 + 1) * 3_600_000)
    }

    private func clean(_ apps: [AppleApp], at now: Instant) {
        let isDue = state.withLock { state in
            let interval = Duration.seconds(600)
            // This also recovers from a clock that was ahead.
            guard state.nextCleaning <= now || state.nextCleaning > now + interval else { return false }
            state.nextCleaning = now + interval
            return true
        }
        guard isDue else { return }
        for apple in apps {
            do throws(LedgerError) {
                let count = try ledger.cleanInquiries(about: apple.app, at: now)
                if count > 0 { options.onFinding(.dropped(apple.app, count)) }
            } catch {
                options.onFinding(.ledger(error))
            }
        }
    }

    /// Processes inquiries until ``stop()`` is called. Call it on a separate thread.
    ///
    /// - Parameter threads: The number of inquiries to process at once.
    package func run(threads: Int = 4) {
        var hasBegun = false
        while !hasBegun, !isStopped {
            do throws(LedgerError) {
                try begin()
                hasBegun = true
            } catch {
                options.onFinding(.ledger(error))
                pause(.seconds(5))
            }
        }
        let others = (1..<max(threads, 1)).compactMap { _ in Thread { self.loop() } }
        loop()
        for thread in others { thread.join() }
    }

    private func loop() {
        while !isStopped {
            if case .idle = runOnce() { pause(.seconds(1)) }
        }
    }

    /// Makes ``run(threads:)`` return after its current request.
    package func stop() { state.withLock { $0.isStopped = true } }

    var isStopped: Bool { state.withLock(\.isStopped) }

    private func pause(_ duration: Duration) {
        var rest = duration
        while rest > .zero, !isStopped {
            Self.sleep(.milliseconds(100))
            rest -= .milliseconds(100)
        }
    }

    // MARK: Requests

    /// Makes a request, and records its result.
    func request<Answer>(
        _ apple: AppleApp, _ endpoint: AppStoreServerEndpoint, _ priority: Int,
        _ body: (AppStoreServerClient) throws(AppStoreServerError) -> Answer
    ) throws(AppStoreServerError) -> Answer {
        state.withLock { $0.counts.requestsByPriority[priority, default: 0] += 1 }
        do throws(AppStoreServerError) {
            let answer = try body(apple.client)
            let isResumed = state.withLock { state in
                state.counts.requests[.init(app: apple.app, endpoint: endpoint, code: "200"), default: 0] += 1
                return state.isCurrent(apple) && state.states[apple.app, default: AppState()].noteAnswer()
            }
            if isResumed { options.onFinding(.resumed(apple.app)) }
            return answer
        } catch {
            let (now, date) = (now, evidenceDate)
            let skew = error.status == 401 ? error.serverDate.map { $0 - date } : nil
            let change = state.withLock { (state) -> AppState.Change? in
                let request = ReconciliationCounts.Request(app: apple.app, endpoint: endpoint, code: error.metricCode)
                state.counts.requests[request, default: 0] += 1
                if let skew { state.counts.clockSkew[apple.app] = skew.components.seconds }
                // Apple limits the requests of an app, whatever its key.
                guard state.isCurrent(apple) || error.status == 429 else { return nil }
                return state.states[apple.app, default: AppState()].note(error, of: endpoint, at: now)
            }
            if let skew, abs(skew.components.seconds) > 60 { options.onFinding(.clockSkew(apple.app, skew)) }
            switch change {
            case .misconfigured: options.onFinding(.misconfigured(apple.app, error))
            case .stopped: options.onFinding(.stopped(apple.app, error))
            case nil: break
            }
            throw error
        }
    }

    /// Counts a page that has no new items although more pages are announced.
    ///
    /// - Returns: Whether another such page can be requested in this hour. They can use a tenth of the budget.
    func allowsBarrenPage(_ apple: AppleApp) -> Bool {
        let hour = now.secondsSince1970 / 3600
        return state.withLock { state in
            var pages = state.barrenPages[apple.app] ?? (hour, 0)
            if pages.hour != hour { pages = (hour, 0) }
            pages.count += 1
            state.barrenPages[apple.app] = pages
            return pages.count < max(1, apple.requestsPerHour / 10)
        }
    }

    func isAllowed(_ endpoint: AppStoreServerEndpoint, about app: AskedApp) -> Bool {
        state.withLock { $0.states[app]?.allows(endpoint, at: now) ?? true }
    }

    /// Counts and reports a refused part of an answer.
    func refuse(_ code: String, _ id: String?, of app: AskedApp) {
        state.withLock { $0.counts.refused[.init(app: app, name: code), default: 0] += 1 }
        options.onFinding(.refused(app, code: code, id: id))
    }

    /// Returns the time until the next attempt: a random part of 5 seconds, doubled each time up to 6 hours.
    func delay(afterAttempts attempts: Int64) -> Duration {
        let longest = min(5 * Double(1 << min(max(attempts, 0), 20)), 21_600)
        return .milliseconds(Int64(max(1, longest * options.random()) * 1000))
    }
}

extension Inquiry.Kind {
    var endpoint: AppStoreServerEndpoint {
        switch self {
        case .transaction: .transactionInfo
        case .statuses: .subscriptionStatuses
        case .history: .notificationHistory
        case .refunds: .refundHistory
        }
    }
}
