public import AppStoreReceipt

/// The length of a period of a subscription.
///
/// In the sandbox, periods are shorter than in production: use ``minutes(_:)``.
public enum BillingPeriod: Hashable, Sendable {
    /// A number of minutes.
    case minutes(Int)
    /// A number of days.
    case days(Int)
    /// A number of weeks.
    case weeks(Int)
    /// A number of calendar months.
    case months(Int)
    /// A number of calendar years.
    case years(Int)

    /// One week.
    public static let week = BillingPeriod.weeks(1)
    /// One calendar month.
    public static let month = BillingPeriod.months(1)
    /// One calendar year.
    public static let year = BillingPeriod.years(1)

    /// The duration in ISO 8601, such as `P1M`.
    public var iso8601: String {
        switch self {
        case .minutes(let count): "PT\(count)M"
        case .days(let count): "P\(count)D"
        case .weeks(let count): "P\(count)W"
        case .months(let count): "P\(count)M"
        case .years(let count): "P\(count)Y"
        }
    }

    /// Returns the end of a period.
    ///
    /// A month that lacks the day of the start ends the period on its last day: a month from January 31 ends on
    /// February 28 or 29.
    ///
    /// - Parameter start: The start of the period.
    public func end(from start: Instant) -> Instant {
        switch self {
        case .minutes(let count): start + .seconds(60 * count)
        case .days(let count): start + .seconds(86_400 * count)
        case .weeks(let count): start + .seconds(604_800 * count)
        case .months(let count): Self.adding(months: count, to: start)
        case .years(let count): Self.adding(months: 12 * count, to: start)
        }
    }

    private static func adding(months: Int, to start: Instant) -> Instant {
        let date = start.components
        let month = date.year * 12 + date.month - 1 + months
        for day in stride(from: date.day, to: 27, by: -1) {
            if let end = Instant(month, day, of: date) { return end }
        }
        // Years 0 to 9999 have dates.
        return Instant(month, date.day, of: date) ?? .distantFuture
    }
}

extension Instant {
    /// - Parameter month: The number of months since January of year 0.
    fileprivate init?(_ month: Int, _ day: Int, of time: Components) {
        self.init(
            year: month / 12, month: month % 12 + 1, day: day, hour: time.hour, minute: time.minute,
            second: time.second, millisecond: time.millisecond)
    }
}
