/// The recent reports to the operator, so that a repeated report is made only once a minute.
struct RecentReports {
    private static let interval = Duration.seconds(60)
    /// The maximum number to remember: texts from a database can make any number of reasons.
    private static let maximumCount = 1000

    private var reported: [String: ContinuousClock.Instant] = [:]

    /// Returns whether something hasn't been reported within the last minute, and marks it as reported.
    mutating func isNews(_ what: String) -> Bool {
        let now = ContinuousClock.now
        if let last = reported[what], now < last + Self.interval { return false }
        if reported.count >= Self.maximumCount { reported = [:] }
        reported[what] = now
        return true
    }
}
