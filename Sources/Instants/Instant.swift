/// A point in time in whole milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
///
/// Calendar dates are those of the proleptic Gregorian calendar.
@frozen
public struct Instant: Hashable, Comparable, Sendable {
    /// The whole milliseconds since 1970-01-01T00:00:00Z; negative for earlier instants.
    public var millisecondsSince1970: Int64

    /// Creates an instant from milliseconds since 1970-01-01T00:00:00Z.
    @inlinable
    public init(millisecondsSince1970: Int64) { self.millisecondsSince1970 = millisecondsSince1970 }

    @inlinable
    public static func < (lhs: Instant, rhs: Instant) -> Bool {
        lhs.millisecondsSince1970 < rhs.millisecondsSince1970
    }

    /// The whole seconds since 1970-01-01T00:00:00Z, rounded towards the past.
    @inlinable
    public var secondsSince1970: Int64 {
        millisecondsSince1970 / 1000 - (millisecondsSince1970 % 1000 < 0 ? 1 : 0)
    }

    /// Creates an instant from a calendar date and a time of day in UTC; returns `nil` if a component is out of range.
    ///
    /// The year is 0 to 9999. A second of 60 is out of range.
    @inlinable
    public init?(
        year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0, millisecond: Int = 0
    ) {
        guard 0...9999 ~= year else { return nil }
        let (century, yearOfCentury) = UInt(bitPattern: year).quotientAndRemainder(dividingBy: 100)
        self.init(
            century: century, yearOfCentury: yearOfCentury, month: month, day: day, hour: hour, minute: minute,
            second: second, millisecond: millisecond)
    }

    /// Creates an instant from a calendar date whose year is written with four digits: two of the century, and two of
    /// the year.
    @inlinable
    package init?(
        century: UInt, yearOfCentury: UInt, month: Int, day: Int, hour: Int, minute: Int, second: Int, millisecond: Int
    ) {
        guard century < 100, yearOfCentury < 100, 1...12 ~= month, 1...31 ~= day, 0...23 ~= hour, 0...59 ~= minute,
            0...59 ~= second, 0...999 ~= millisecond
        else { return nil }
        let isLeap = (yearOfCentury == 0 ? century : yearOfCentury) & 3 == 0
        guard day <= 28 || day <= Instant.days(inMonth: month, isLeap: isLeap) else { return nil }
        // 365 days for each year, and the leap days of year 1 up to and including this one.
        let daysOfYears = Int(36_524 &* century &+ century / 4 &+ 365 &* yearOfCentury &+ yearOfCentury / 4)
        // The days before a month as if February had 30.
        let daysBeforeMonth = Int((367 &* UInt(bitPattern: month) &- 362) / 12)
        let excess = month > 2 ? 2 : isLeap ? 1 : 0
        // Year 0 begins 719,528 days before 1970.
        let days = daysOfYears &+ daysBeforeMonth &- excess &+ day &- 719_528
        let seconds = ((days &* 24 &+ hour) &* 60 &+ minute) &* 60 &+ second
        millisecondsSince1970 = Int64(seconds &* 1000 &+ millisecond)
    }

    /// The number of days in a month (1–12).
    @inlinable
    static func days(inMonth month: Int, isLeap: Bool) -> Int {
        if month == 2 { return isLeap ? 29 : 28 }
        // 31 30 31 30 31 30 31 | 31 30 31 30 31: odd up to July, even from August.
        return 30 &+ ((month &+ month >> 3) & 1)
    }

    /// The calendar date and time of day of an instant in UTC.
    package struct Components: Hashable, Sendable {
        /// The year in the proleptic Gregorian calendar. Year 0 is 1 BC.
        package var year: Int
        /// The month, 1 to 12.
        package var month: Int
        /// The day of the month, 1 to 31.
        package var day: Int
        /// The hour, 0 to 23.
        package var hour: Int
        /// The minute, 0 to 59.
        package var minute: Int
        /// The second, 0 to 59. There are no leap seconds.
        package var second: Int
        /// The millisecond, 0 to 999.
        package var millisecond: Int
    }

    /// The calendar date and time of day in UTC.
    package var components: Components {
        let (seconds, millisecond) = Instant.floorDivide(Int(millisecondsSince1970), 1000)
        let (days, secondOfDay) = Instant.floorDivide(seconds, 86_400)
        let (era, dayOfEra) = Instant.floorDivide(days + 719_468, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return Components(
            year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month,
            day: dayOfYear - (153 * marchMonth + 2) / 5 + 1,
            hour: secondOfDay / 3600, minute: secondOfDay / 60 % 60, second: secondOfDay % 60,
            millisecond: millisecond)
    }

    private static func floorDivide(_ dividend: Int, _ divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = dividend.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}

extension Instant: CustomStringConvertible {
    /// The instant in RFC 3339 and UTC, such as `2020-04-01T04:07:39Z`, with milliseconds if there are any.
    ///
    /// RFC 3339 has the years 0 to 9999. Other years are in the expanded form of ISO 8601, with a sign and at least
    /// four digits, such as `-0001-12-31T23:59:59Z` and `+12345-01-01T00:00:00Z`.
    public var description: String {
        let parts = components
        let sign = parts.year < 0 ? "-" : parts.year > 9999 ? "+" : ""
        func padded(_ value: Int, _ width: Int) -> String {
            let digits = String(value)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        let fraction = parts.millisecond == 0 ? "" : "." + padded(parts.millisecond, 3)
        return "\(sign)\(padded(abs(parts.year), 4))-\(padded(parts.month, 2))-\(padded(parts.day, 2))"
            + "T\(padded(parts.hour, 2)):\(padded(parts.minute, 2)):\(padded(parts.second, 2))\(fraction)Z"
    }
}
