import AppStoreReceipt

/// The header `Retry-After` as Apple means it: a time in milliseconds since 1970, not a number of seconds.
///
/// Source: Apple, "Identifying rate limits".
enum RetryAfter {
    /// What no wait is shorter or longer than.
    static let bounds = Duration.seconds(1)...Duration.seconds(86_400)

    /// Returns how long to wait; `nil` for a header that is no number.
    ///
    /// A number beyond 10¹² is milliseconds since 1970, and one beyond 10⁹ seconds since 1970. A smaller one is the
    /// number of seconds from now (RFC 9110, 10.2.3), as a proxy in front of Apple may write it.
    static func wait(_ header: String, at now: Instant) -> Duration? {
        let digits = header.utf8
        guard !digits.isEmpty, digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
        // More digits than an integer has are still a number: the longest wait.
        guard let number = Int64(header) else { return bounds.upperBound }
        let wait: Duration
        if number > 1_000_000_000_000 {
            wait = Instant(millisecondsSince1970: number) - now
        } else if number > 1_000_000_000 {
            wait = Instant(millisecondsSince1970: number * 1000) - now
        } else {
            wait = .seconds(number)
        }
        return min(max(wait, bounds.lowerBound), bounds.upperBound)
    }
}
