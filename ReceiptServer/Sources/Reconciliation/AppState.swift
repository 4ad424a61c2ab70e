import AppStoreReceipt
import AppStoreServerAPI
import PurchaseLedger

/// Whether this process can query the App Store about an app.
struct AppState {
    /// The number of consecutive failures, across all inquiries.
    private var failures = 0
    private var configurationFaults = 0
    /// The date before which nothing is requested.
    private(set) var pausedUntil = Instant.distantPast
    /// For each endpoint, the date before which Apple wants no requests.
    private var sleeping: [AppStoreServerEndpoint: Instant] = [:]
    /// The error that limits requests to one an hour.
    private(set) var stopped: AppStoreServerError?
    /// The last configuration error, or `nil` if there was an answer since.
    private(set) var configurationError: AppStoreServerError?

    /// The number of consecutive failures after which there is one attempt a minute.
    private static let maximumFailures = 10
    private static let maximumConfigurationFaults = 3
    private static let longestPause = Duration.seconds(3600)

    /// Returns whether an endpoint can be queried. Ignores dates set by a clock that was ahead.
    func allows(_ endpoint: AppStoreServerEndpoint, at now: Instant) -> Bool {
        !isPaused(at: now) && !(sleeping[endpoint].map { Self.isAhead($0, .seconds(86_400), of: now) } ?? false)
    }

    private func isPaused(at now: Instant) -> Bool { Self.isAhead(pausedUntil, Self.longestPause, of: now) }

    private static func isAhead(_ date: Instant, _ longest: Duration, of now: Instant) -> Bool {
        now < date && date <= now + longest
    }

    func wakes(_ endpoint: AppStoreServerEndpoint) -> Instant { max(pausedUntil, sleeping[endpoint] ?? .distantPast) }

    /// Whether to take only one inquiry at a time, to find out whether Apple answers again.
    var isProbing: Bool { failures >= Self.maximumFailures || configurationFaults > 0 }

    /// - Returns: Whether requests had been limited to one an hour.
    mutating func noteAnswer() -> Bool {
        let wasStopped = stopped != nil
        (failures, configurationFaults, pausedUntil) = (0, 0, .distantPast)
        (stopped, configurationError) = (nil, nil)
        return wasStopped
    }

    /// The effect of an error that an operator should know.
    enum Change { case misconfigured, stopped }

    mutating func note(_ error: AppStoreServerError, of endpoint: AppStoreServerEndpoint, at now: Instant) -> Change? {
        switch error.class {
        case .configuration:
            // Count one error for requests that were under way together.
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
        // These are answers, except the error for an invalid id, which is never sent.
        case .restartPaging, .shortenWindow, .final, .fault:
            if error.reason != .invalidArgument(.id) { failures = 0 }
            return nil
        }
    }

    /// Forgets the previous errors, because the configuration has changed.
    mutating func reset() { self = AppState() }
}
