public import AppStoreReceipt

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Instant {
    /// The instant as a `Date`. The conversion to `Date` and back keeps milliseconds.
    public var date: Date { Date(timeIntervalSince1970: Double(millisecondsSince1970) / 1000) }

    /// Creates the instant of the millisecond nearest to a date. A date outside the range of `Instant` becomes its
    /// first or last instant.
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        self.init(millisecondsSince1970: Int64(exactly: milliseconds) ?? (milliseconds > 0 ? .max : .min))
    }
}
