public import Instants

extension Instant {
    /// The formats that ``init(specified:)`` takes.
    public static let specifiedSyntax = "a date such as \"2025-06-15T12:00:00Z\" or \"2025-06-15\""

    /// Creates an instant from a date as people write it: RFC 3339, or a day, which begins at midnight UTC.
    public init?(specified text: String) {
        guard let date = Instant(rfc3339: text) ?? Instant(rfc3339: text + "T00:00:00Z") else { return nil }
        self = date
    }
}
