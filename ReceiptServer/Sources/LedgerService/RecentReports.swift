/// Recent reports to the operator. A report that repeats is made once a minute.
struct RecentReports {
    private static let interval = Duration.seconds(60)
    /// Reasons can have texts of a database, without a limit to their number.
    private static let maximumCount = 1000

    private var told: [String: ContinuousClock.Instant] = [:]

    /// Whether something was not told within a minute. It counts as told from then on.
    mutating func isNews(_ what: String) -> Bool {
        let now = ContinuousClock.now
        if let last = told[what], now < last + Self.interval { return false }
        if told.count >= Self.maximumCount { told = [:] }
        told[what] = now
        return true
    }
}
