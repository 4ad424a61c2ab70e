import AppStoreReceipt
import AppStoreServerAPI
import PurchaseLedger

/// Whether an app can be asked about, as this process knows it.
struct AppState {
    /// The failures in a row, of whatever question.
    private var failures = 0
    private var configurationFaults = 0
    /// Nothing is asked before.
    private(set) var pausedUntil = Instant.distantPast
    /// Of each endpoint: nothing is asked before, because Apple said so.
    private var sleeping: [AppStoreServerEndpoint: Instant] = [:]
    /// The fault for which nothing is asked any more but once an hour.
    private(set) var stopped: AppStoreServerError?
    /// The last fault of the configuration; `nil` since there was an answer.
    private(set) var configurationError: AppStoreServerError?

    /// The number of failures in a row after which there is one try a minute.
    private static let maximumFailures = 10
    private static let maximumConfigurationFaults = 3
    private static let longestPause = Duration.seconds(3600)

    /// Whether an endpoint can be asked. A date that is further away than any wait comes from a clock that was ahead.
    func allows(_ endpoint: AppStoreServerEndpoint, at now: Instant) -> Bool {
        !isPaused(at: now) && !(sleeping[endpoint].map { Self.isAhead($0, .seconds(86_400), of: now) } ?? false)
    }

    private func isPaused(at now: Instant) -> Bool { Self.isAhead(pausedUntil, Self.longestPause, of: now) }

    private static func isAhead(_ date: Instant, _ longest: Duration, of now: Instant) -> Bool {
        now < date && date <= now + longest
    }

    func wakes(_ endpoint: AppStoreServerEndpoint) -> Instant { max(pausedUntil, sleeping[endpoint] ?? .distantPast) }

    /// How many questions can be taken: only one to see whether there are answers again.
    var isProbing: Bool { failures >= Self.maximumFailures || configurationFaults > 0 }

    /// - Returns: Whether there was none before.
    mutating func noteAnswer() -> Bool {
        let wasStopped = stopped != nil
        (failures, configurationFaults, pausedUntil) = (0, 0, .distantPast)
        (stopped, configurationError) = (nil, nil)
        return wasStopped
    }

    /// What an error changes, for an operator.
    enum Change { case misconfigured, stopped }

    mutating func note(_ error: AppStoreServerError, of endpoint: AppStoreServerEndpoint, at now: Instant) -> Change? {
        switch error.class {
        case .configuration:
            // Of requests that were under way together, one fault counts.
            if configurationFaults == 0 || !isPaused(at: now) { configurationFaults += 1 }
            let isFirst = configurationError == nil
            configurationError = error
            let isStop = configurationFaults >= Self.maximumConfigurationFaults
            pausedUntil = now + (isStop ? Self.longestPause : .seconds(300))
            guard isStop else { return isFirst ? .misconfigured : nil }
            defer { stopped = error }
            return stopped == nil ? .stopped : nil
        case .retry:
            if error.status == 429 {
                sleeping[endpoint] = now + (error.retryAfter ?? .seconds(60))
            } else {
                failures += 1
                if failures >= Self.maximumFailures, !isPaused(at: now) { pausedUntil = now + .seconds(60) }
            }
            return nil
        // They are answers, but for an invalid id, which was never sent.
        case .restartPaging, .shortenWindow, .final, .fault:
            if error.reason != .invalidArgument(.id) { failures = 0 }
            return nil
        }
    }

    /// Forgets what was wrong with the configuration, which is another one now.
    mutating func reset() { self = AppState() }
}
