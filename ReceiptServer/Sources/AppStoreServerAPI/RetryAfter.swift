import AppStoreReceipt

/// The `Retry-After` header as Apple uses it: a time in milliseconds since 1970, not a number of seconds.
///
/// Source: Apple, "Identifying rate limits".
enum RetryAfter {
    /// The minimum and maximum wait.
    static let bounds = Duration.seconds(1)...Duration.seconds(86_400)

    /// Returns the time to wait, or `nil` if the header isn't a number.
    ///
    /// A number above 10¹² is in milliseconds since 1970, and one above 10⁹ in seconds since 1970. A smaller one is the
    /// number of seconds from now (RFC 9110, 10.2.3), which a proxy in front of Apple can send.
    static func wait(_ header: String, at now: Instant) -> Duration? {
        let digits = header.utf8
        guard !digits.isEmpty, digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
        // A number that exceeds the integer range means the maximum wait.
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
