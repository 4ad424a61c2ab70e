import SpanASN1

/// The time on the Pacific coast of the United States (America/Los_Angeles), by the rules of its daylight saving and in integers.
///
/// - from 2007: second Sunday in March to first Sunday in November (Energy Policy Act of 2005)
/// - 1987–2006: first Sunday in April to last Sunday in October
/// - 1967–1986: last Sunday in April to last Sunday in October (Uniform Time Act of 1966), but from 6 January in 1974 and from 23 February
///   in 1975
///
/// Before 1967 it is standard time throughout: each place had its own rule then, and no receipt is that old.
struct PacificTime {
    private static let standardOffset = -8 * 3600
    private static let daylightOffset = -7 * 3600

    /// The years in which receipts have dates.
    private static let years = 2000..<2050
    private static let table = years.map { daylightSaving(in: $0) }
    private let table = Self.table

    /// How far Pacific time is from UTC, in seconds: whole hours, and less than none.
    ///
    /// - Parameter year: that of `seconds` in UTC; no change of the clock is near the end of a year.
    func offset(atSecondsSince1970 seconds: Int64, inYear year: Int) -> Int {
        let isListed = Self.years.contains(year)
        let daylightSaving = isListed ? table[year - Self.years.lowerBound] : Self.daylightSaving(in: year)
        return daylightSaving.contains(seconds) ? Self.daylightOffset : Self.standardOffset
    }

    /// The seconds since 1970 at which daylight saving applies.
    static func daylightSaving(in year: Int) -> Range<Int64> {
        let (first, last) =
            switch year {
            case 2007...: (sunday(onOrAfter: 8, 3, year), sunday(onOrAfter: 1, 11, year))
            case 1987...2006: (sunday(onOrAfter: 1, 4, year), sunday(onOrAfter: 25, 10, year))
            case 1975: (sunday(onOrAfter: 23, 2, year), sunday(onOrAfter: 25, 10, year))
            case 1974: (sunday(onOrAfter: 6, 1, year), sunday(onOrAfter: 25, 10, year))
            case 1967...1986: (sunday(onOrAfter: 24, 4, year), sunday(onOrAfter: 25, 10, year))
            default: (nil as Int64?, nil as Int64?)
            }
        guard let first, let last else { return 0..<0 }
        // Both at 2 o'clock of the time that ends.
        return first + Int64(2 * 3600 - standardOffset)..<last + Int64(2 * 3600 - daylightOffset)
    }

    /// The start of a Sunday, in seconds since 1970 as if it were UTC; `nil` where ``Instant`` has no such year.
    private static func sunday(onOrAfter day: Int, _ month: Int, _ year: Int) -> Int64? {
        guard let date = Instant(year: year, month: month, day: day) else { return nil }
        let days = date.secondsSince1970 / 86_400
        // 1970-01-04 was a Sunday.
        return (days + (3 - days % 7 + 7) % 7) * 86_400
    }
}
