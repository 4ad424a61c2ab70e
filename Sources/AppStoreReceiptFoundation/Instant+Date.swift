public import AppStoreReceipt

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Instant {
    /// The same point in time; milliseconds survive the way there and back.
    public var date: Date { Date(timeIntervalSince1970: Double(millisecondsSince1970) / 1000) }

    /// The nearest millisecond; the first or the last of all timestamps for a date that lies outside.
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1000).rounded()
        self.init(millisecondsSince1970: Int64(exactly: milliseconds) ?? (milliseconds > 0 ? .max : .min))
    }
}
