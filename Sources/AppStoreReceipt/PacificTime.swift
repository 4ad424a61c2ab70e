import Instants

/// The time on the Pacific coast of the United States (America/Los_Angeles), in integers.
///
/// Daylight saving time is from the second Sunday in March to the first Sunday in November (Energy Policy Act of 2005),
/// since 2007. The rule is also applied to earlier dates, which no receipt has, because the App Store opened in 2008.
enum PacificTime {
    private static let standardOffset = -8 * 3600
    private static let daylightOffset = -7 * 3600

    /// The offset of Pacific time from UTC, in seconds: negative whole hours.
    ///
    /// - Parameter year: the year of `seconds` in UTC. The clock never changes near the end of a year.
    static func offset(atSecondsSince1970 seconds: Int64, inYear year: Int) -> Int {
        daylightSaving(in: year).contains(seconds) ? daylightOffset : standardOffset
    }

    /// The seconds since 1970 in which daylight saving time applies.
    static func daylightSaving(in year: Int) -> Range<Int64> {
        guard let first = sunday(onOrAfter: 8, 3, year), let last = sunday(onOrAfter: 1, 11, year) else { return 0..<0 }
        // Both changes are at 2 o'clock in the time that ends.
        return first + Int64(2 * 3600 - standardOffset)..<last + Int64(2 * 3600 - daylightOffset)
    }

    /// The start of a Sunday, in seconds since 1970 as if it were UTC; `nil` if ``Instant`` does not support the year.
    private static func sunday(onOrAfter day: Int, _ month: Int, _ year: Int) -> Int64? {
        guard let date = Instant(year: year, month: month, day: day) else { return nil }
        let days = date.secondsSince1970 / 86_400
        // 1970-01-04 was a Sunday.
        return (days + (3 - days % 7 + 7) % 7) * 86_400
    }
}

extension Instant {
    /// The offset of Pacific time from UTC, in seconds.
    var pacificOffset: Int { PacificTime.offset(atSecondsSince1970: secondsSince1970, inYear: components.year) }
}
