import Foundation
import StrictText
import Testing

@testable import AppStoreReceipt

/// Pacific time against the system's time zone data.
struct PacificTimeTests {
    /// From the first year of the rule.
    static let years = 2007...2040

    @Test(.enabled(if: TimeZone(identifier: "America/Los_Angeles") != nil))
    func `Pacific time is that of the time zone data, day by day, and hour by hour around each change`() throws {
        let zone = try #require(TimeZone(identifier: "America/Los_Angeles"))
        var changes = 0
        var checked = 0
        func check(_ seconds: Int64) -> Int {
            let instant = Instant(millisecondsSince1970: seconds * 1000)
            let offset = PacificTime.offset(atSecondsSince1970: seconds, inYear: instant.components.year)
            let expected = zone.secondsFromGMT(for: Date(timeIntervalSince1970: TimeInterval(seconds)))
            if offset != expected { Issue.record("\(instant): \(offset), but by the data \(expected)") }
            checked += 1
            return offset
        }
        let first = try #require(Instant(year: Self.years.lowerBound, month: 1, day: 1)).secondsSince1970
        let end = try #require(Instant(year: Self.years.upperBound + 1, month: 1, day: 1)).secondsSince1970
        var last = check(first)
        for day in stride(from: first + 86_400, to: end, by: 86_400) {
            let offset = check(day)
            guard offset != last else { continue }
            last = offset
            changes += 1
            for hour in stride(from: day - 2 * 86_400, through: day + 86_400, by: 3600) {
                for second in [hour - 1, hour] { _ = check(second) }
            }
        }
        #expect(changes == 2 * Self.years.count)
        print("Pacific time: \(checked) times checked, \(changes) changes of the clock")
    }

    @Test(arguments: [
        (2015, "2015-03-08T10:00:00Z", "2015-11-01T09:00:00Z"), (2007, "2007-03-11T10:00:00Z", "2007-11-04T09:00:00Z"),
        // Before 2007 the law was another, and the rule here is the same.
        (2006, "2006-03-12T10:00:00Z", "2006-11-05T09:00:00Z"),
    ])
    func `daylight saving begins and ends at two o'clock of the time that ends`(
        year: Int, first: String, last: String
    ) throws {
        let range = PacificTime.daylightSaving(in: year)
        #expect(range.lowerBound == Instant(rfc3339: first)?.secondsSince1970)
        #expect(range.upperBound == Instant(rfc3339: last)?.secondsSince1970)
    }

    @Test(arguments: [(-1, false), (1966, true), (9999, true), (10_000, false)])
    func `no year is too far away`(year: Int, hasSummer: Bool) {
        #expect(PacificTime.daylightSaving(in: year).isEmpty == !hasSummer)
    }
}
