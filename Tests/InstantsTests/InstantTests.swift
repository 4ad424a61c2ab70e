import AppStoreReceiptTesting
import Instants
import Testing

@Suite struct InstantTests {
    @Test func `every day of the years 0 to 9999 is one after the one before`() {
        let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        // 0000-01-01 is 719,528 days before 1970-01-01.
        var day: Int64 = -719_528
        var failures = 0
        for year in 0...9999 {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            for month in 1...12 {
                let length = lengths[month - 1] + (month == 2 && isLeap ? 1 : 0)
                for dayOfMonth in 1...length {
                    let instant = Instant(year: year, month: month, day: dayOfMonth)
                    let components = Instant(millisecondsSince1970: day * 86_400_000 + 86_399_999).components
                    if instant?.millisecondsSince1970 != day * 86_400_000 || components.year != year
                        || components.month != month
                        || components.day != dayOfMonth
                    {
                        failures += 1
                    }
                    day += 1
                }
                if Instant(year: year, month: month, day: length + 1) != nil { failures += 1 }
            }
        }
        #expect(failures == 0)
    }

    @Test func `times of day round-trip to the millisecond`() {
        var generator = SeededGenerator()
        for _ in 0..<10_000 {
            let instant = Instant(
                millisecondsSince1970: .random(in: -62_167_219_200_000...253_402_300_799_999, using: &generator))
            let parts = instant.components
            #expect(
                Instant(
                    year: parts.year, month: parts.month, day: parts.day, hour: parts.hour, minute: parts.minute,
                    second: parts.second, millisecond: parts.millisecond) == instant)
            #expect(instant.secondsSince1970 * 1000 + Int64(parts.millisecond) == instant.millisecondsSince1970)
        }
    }

    @Test(
        arguments: [
            (0, 0), (999, 0), (1000, 1), (-1, -1), (-1000, -1), (-1001, -2),
            (.max, 9_223_372_036_854_775), (.min, -9_223_372_036_854_776),
        ] as [(Int64, Int64)])
    func `seconds are rounded towards the past, at the ends of the range too`(row: (Int64, Int64)) {
        #expect(Instant(millisecondsSince1970: row.0).secondsSince1970 == row.1)
    }

    @Test func `components out of range make no instant`() {
        #expect(Instant(year: -1, month: 1, day: 1) == nil)
        #expect(Instant(year: 10_000, month: 1, day: 1) == nil)
        #expect(Instant(year: 2020, month: 0, day: 1) == nil)
        #expect(Instant(year: 2020, month: 13, day: 1) == nil)
        #expect(Instant(year: 2020, month: 1, day: 0) == nil)
        #expect(Instant(year: 2020, month: 1, day: 1, hour: 24) == nil)
        #expect(Instant(year: 2020, month: 1, day: 1, minute: 60) == nil)
        #expect(Instant(year: 2020, month: 1, day: 1, second: 60) == nil)
        #expect(Instant(year: 2020, month: 1, day: 1, millisecond: 1000) == nil)
        #expect(Instant(year: .max, month: .min, day: .max) == nil)
    }

    @Test func `the description is RFC 3339`() {
        #expect(Instant(millisecondsSince1970: 1_585_714_059_000).description == "2020-04-01T04:07:39Z")
        #expect(Instant(millisecondsSince1970: -1).description == "1969-12-31T23:59:59.999Z")
        #expect(Instant(year: 0, month: 1, day: 1)?.description == "0000-01-01T00:00:00Z")
        #expect(Instant(year: 9999, month: 12, day: 31)?.description == "9999-12-31T00:00:00Z")
    }

    /// ISO 8601 calls it the expanded form.
    @Test(
        arguments: [
            (-62_167_219_200_000 - 1, "-0001-12-31T23:59:59.999Z"),
            (-62_167_219_200_000 - 86_400_000, "-0001-12-31T00:00:00Z"),
            (-93_724_128_000_000, "-1000-01-01T00:00:00Z"), (-377_736_739_200_000, "-10000-01-01T00:00:00Z"),
            (253_402_300_800_000, "+10000-01-01T00:00:00Z"), (327_403_382_400_000, "+12345-01-01T00:00:00Z"),
            (.max, "+292278994-08-17T07:12:55.807Z"), (.min, "-292275055-05-16T16:47:04.192Z"),
        ] as [(Int64, String)])
    func `a year of more or less than four digits has a sign, and at least four digits`(row: (Int64, String)) {
        #expect(Instant(millisecondsSince1970: row.0).description == row.1)
    }
}
