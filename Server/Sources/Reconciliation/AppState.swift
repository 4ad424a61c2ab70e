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

    /// After so many failures in a row, there is one try a minute.
    private static let maximumFailures = 10
    private static let maximumConfigurationFaults = 3

    func isPaused(at now: Instant) -> Bool { now < pausedUntil }

    /// Whether an endpoint can be asked.
    func allows(_ endpoint: AppStoreServerEndpoint, at now: Instant) -> Bool {
        !isPaused(at: now) && sleeping[endpoint].map { $0 <= now } ?? true
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

    /// - Returns: Whether the app is stopped by it.
    mutating func note(_ error: AppStoreServerError, of endpoint: AppStoreServerEndpoint, at now: Instant) -> Bool {
        switch error.class {
        case .configuration:
            configurationFaults += 1
            configurationError = error
            let isStop = configurationFaults >= Self.maximumConfigurationFaults
            pausedUntil = now + (isStop ? .seconds(3600) : .seconds(300))
            defer { if isStop { stopped = error } }
            return isStop && stopped == nil
        case .retry:
            if error.status == 429 {
                sleeping[endpoint] = now + (error.retryAfter ?? .seconds(60))
            } else {
                failures += 1
                if failures >= Self.maximumFailures { pausedUntil = now + .seconds(60) }
            }
            return false
        // They are answers.
        case .restartPaging, .shortenWindow, .final, .fault:
            failures = 0
            return false
        }
    }

    /// Forgets what was wrong with the configuration, which is another one now.
    mutating func reset() { self = AppState() }
}
