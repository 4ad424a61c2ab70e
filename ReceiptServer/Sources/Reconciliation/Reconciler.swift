package import AppStoreReceipt
package import AppStoreServerAPI
package import PurchaseLedger
import ServerThreads
import StrictText
import Synchronization

/// Asks the App Store what the ledger's queue says, and records what Apple signed. Several servers may work on one
/// queue.
///
/// Nothing is asked inside of a transaction of the database. All that it knows by itself is which endpoints Apple wants
/// left alone; everything else is in the tables.
package final class Reconciler: Sendable {
    /// What tests replace.
    package struct Options: Sendable {
        package var clock: @Sendable () -> Instant
        /// A number from 0 to less than 1, by which attempts are spread.
        package var random: @Sendable () -> Double
        /// Waits, in ``reconcile(since:account:dryRun:progress:)``.
        package var wait: @Sendable (Duration) -> Void = { Reconciler.sleep($0) }
        /// Called on any thread.
        package var onFinding: @Sendable (Finding) -> Void = { _ in }

        package init(_ surroundings: Surroundings = Surroundings()) {
            clock = surroundings.date
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
        /// With which app the next look begins.
        var turn = 0
        var nextCleaning = Instant.distantPast
        var isStopped = false
        /// The pages of an hour that brought nothing new, and said that there are more.
        var barrenPages: [AskedApp: (hour: Int64, count: Int)] = [:]
        var histories = KeptHistories()
        /// The pages read so far of unfinished answers.
        var readings = PageReadings()
    }

    package init(_ ledger: PurchaseLedger, _ apps: [AppleApp], _ options: Options = Options()) {
        self.ledger = ledger
        self.options = options
        state = Mutex(State(apps: apps))
    }

    var now: Instant { options.clock() }

    package var apps: [AppleApp] { state.withLock(\.apps) }

    /// What was counted since it was made.
    package var counts: ReconciliationCounts { state.withLock(\.counts) }

    /// The apps about which nothing is asked but once an hour, with the reason.
    package var stopped: [AskedApp: AppStoreServerError] {
        state.withLock { state in state.states.compactMapValues(\.stopped) }
    }

    /// Uses other keys and budgets from now on, for the same apps.
    package func replace(_ apps: [AppleApp]) {
        state.withLock { state in
            state.apps = apps
            for app in apps { state.states[app.app]?.reset() }
        }
    }

    // MARK: Running

    /// Makes due what is to be asked when a server starts.
    package func begin() throws(LedgerError) {
        for apple in apps {
            if try ledger.beginHistory(of: apple.app, at: now) {
                try ledger.askAboutSubscriptions(of: apple.app, at: now)
            }
        }
    }

    /// What one look at the queue did.
    package enum Step: Sendable, Equatable {
        /// The number of questions asked.
        case asked(Int)
        /// Nothing can be asked before a date; `nil` if nothing is to be asked at all.
        case idle(until: Instant?)
    }

    /// Takes a few questions that are due, asks them one after the other, and records the answers. It never waits but
    /// for answers.
    package func runOnce() -> Step {
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
        let kinds = Question.Kind.allCases.filter { appState.allows($0.endpoint, at: now) }
        let wakes = Question.Kind.allCases.map { appState.wakes($0.endpoint) }.filter { $0 > now }.min()
        guard !kinds.isEmpty else { return (0, wakes) }
        let taken = try ledger.takeQuestions(
            about: apple.app, of: Set(kinds), limit: appState.isProbing ? 1 : 4,
            requestsPerHour: apple.requestsPerHour, at: now)
        for question in taken.questions { try ask(question, apple) }
        guard taken.questions.isEmpty else { return (taken.questions.count, nil) }
        var dates = [wakes]
        if taken.isBudgetSpent {
            dates.append(Self.nextHour(after: now))
            dates.append(try ledger.nextQuestionDate(about: apple.app, isUrgent: true))
        } else {
            dates.append(try ledger.nextQuestionDate(about: apple.app))
        }
        let known = dates.compactMap(\.self)
        // What is due already waits for something else: a kind that sleeps, or the budget.
        let next = known.filter { $0 > now }.min() ?? (known.isEmpty ? nil : now + .seconds(1))
        return (0, next)
    }

    static func nextHour(after now: Instant) -> Instant {
        Instant(millisecondsSince1970: (now.secondsSince1970 / 3600 + 1) * 3_600_000)
    }

    private func clean(_ apps: [AppleApp], at now: Instant) {
        let isDue = state.withLock { state in
            let interval = Duration.seconds(600)
            // Also after a clock was ahead.
            guard state.nextCleaning <= now || state.nextCleaning > now + interval else { return false }
            state.nextCleaning = now + interval
            return true
        }
        guard isDue else { return }
        for apple in apps {
            do throws(LedgerError) {
                let count = try ledger.cleanQuestions(about: apple.app, at: now)
                if count > 0 { options.onFinding(.dropped(apple.app, count)) }
            } catch {
                options.onFinding(.ledger(error))
            }
        }
    }

    /// Asks until ``stop()`` is called. Call it on a thread of its own.
    ///
    /// - Parameter threads: How many questions are asked at once.
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

    /// Makes ``run(threads:)`` return after the request that it is at.
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

    /// Makes a request, and notes what came of it.
    func request<Answer>(
        _ apple: AppleApp, _ endpoint: AppStoreServerEndpoint, _ priority: Int,
        _ body: (AppStoreServerClient) throws(AppStoreServerError) -> Answer
    ) throws(AppStoreServerError) -> Answer {
        state.withLock { $0.counts.requestsByPriority[priority, default: 0] += 1 }
        do throws(AppStoreServerError) {
            let answer = try body(apple.client)
            let isResumed = state.withLock { state in
                state.counts.requests[.init(app: apple.app, endpoint: endpoint, code: "200"), default: 0] += 1
                return state.states[apple.app, default: AppState()].noteAnswer()
            }
            if isResumed { options.onFinding(.resumed(apple.app)) }
            return answer
        } catch {
            let now = now
            let skew = error.status == 401 ? error.serverDate.map { $0 - now } : nil
            let change = state.withLock { state in
                let request = ReconciliationCounts.Request(app: apple.app, endpoint: endpoint, code: error.metricCode)
                state.counts.requests[request, default: 0] += 1
                if let skew { state.counts.clockSkew[apple.app] = skew.components.seconds }
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

    /// Counts a page that brings nothing new, though it says that there are more.
    ///
    /// - Returns: Whether another one may be asked for in this hour: such pages may take a tenth of the budget.
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

    /// Counts something that was refused.
    func refuse(_ code: String, _ id: String?, of app: AskedApp) {
        state.withLock { $0.counts.refused[.init(app: app, name: code), default: 0] += 1 }
        options.onFinding(.refused(app, code: code, id: id))
    }

    /// The time until the next attempt: 5 seconds, doubled each time, at most 6 hours, and a random part of that.
    func delay(afterAttempts attempts: Int64) -> Duration {
        let longest = min(5 * Double(1 << min(max(attempts, 0), 20)), 21_600)
        return .milliseconds(Int64(max(1, longest * options.random()) * 1000))
    }
}

extension Question.Kind {
    var endpoint: AppStoreServerEndpoint {
        switch self {
        case .transaction: .transactionInfo
        case .statuses: .subscriptionStatuses
        case .history: .notificationHistory
        case .refunds: .refundHistory
        }
    }
}
