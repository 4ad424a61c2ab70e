import AppStoreReceiptTesting
import Foundation
import Instants
import Testing

@Suite struct InstantRFC3339Tests {
    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2013-08-01T07:00:00Z", 1_375_340_400_000),
            ("1969-12-31T23:59:59.999Z", -1), ("0000-01-01T00:00:00Z", -62_167_219_200_000),
            ("9999-12-31T23:59:59.999Z", 253_402_300_799_999), ("4001-01-01T00:00:00Z", 64_092_211_200_000),
            ("2024-02-29T23:59:59Z", 1_709_251_199_000), ("2000-02-29T00:00:00Z", 951_782_400_000),
            // Fractions of any length, cut to milliseconds.
            ("1970-01-01T00:00:00.5Z", 500), ("1970-01-01T00:00:00.05Z", 50), ("1970-01-01T00:00:00.123999Z", 123),
            ("1970-01-01T00:00:00.0009Z", 0), ("1970-01-01T00:00:00.000000000000000000000000000000001Z", 0),
            // Offsets with and without a colon; local time is ahead of UTC by them.
            ("1970-01-01T03:00:00+0300", 0), ("1970-01-01T03:00:00+03:00", 0), ("1970-01-01T00:00:00-0930", 34_200_000),
            ("1970-01-01T00:00:00-09:30", 34_200_000), ("1970-01-01T00:00:00+0000", 0),
            ("1970-01-01T00:00:00-00:00", 0),
            ("1970-01-01T23:59:00+23:59", 0), ("1970-01-01T00:00:00.25+00:01", -59_750),
            ("0000-01-01T00:00:00-23:59", -62_167_132_860_000),
        ] as [(String, Int64)])
    func `every form that receipts use is read to the millisecond`(row: (String, Int64)) {
        #expect(Instant(rfc3339: row.0)?.millisecondsSince1970 == row.1)
        #expect(Instant(rfc3339: row.0.utf8Span.span)?.millisecondsSince1970 == row.1)
    }

    @Test(arguments: [
        "", "Z", "2024-02-29", "2024-02-29T23:59:59", "2024-02-29T23:59Z", "2024-02-29 23:59:59Z",
        "2024-02-29t23:59:59Z", "2024-02-29T23:59:59z", " 2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z ",
        "2024-02-29T23:59:59ZZ", "2024-02-29T23:59:59.Z", "2024-02-29T23:59:59,5Z", "2024-02-29T23:59:59.5",
        "2024-02-29T23:59:59.5.5Z", "2024-02-29T23:59:59+3", "2024-02-29T23:59:59+03", "2024-02-29T23:59:59+030",
        "2024-02-29T23:59:59+03000", "2024-02-29T23:59:59+03:0", "2024-02-29T23:59:59+03:000",
        "2024-02-29T23:59:59+:300", "2024-02-29T23:59:59+2400", "2024-02-29T23:59:59+0360",
        "2024-02-29T23:59:59+03:00Z", "2024-02-29T23:59:59Z+0300", "2024-02-29T23:59:59+-300",
        "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2024-02-30T00:00:00Z", "2024-04-31T00:00:00Z",
        "2024-00-01T00:00:00Z", "2024-13-01T00:00:00Z", "2024-01-00T00:00:00Z", "2024-01-32T00:00:00Z",
        "2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z", "2024-01-01T00:00:60Z", "02024-01-01T00:00:00Z",
        "-024-01-01T00:00:00Z", "2024-1-01T00:00:00Z", "20240101T000000Z", "2024-01-01T12:00:00 PM",
        "2024-01-01T00:00:0\u{663}Z", "٢٠٢٤-01-01T00:00:00Z",
        // Out of the years that can be written.
        "0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59",
    ])
    func `anything else is no date`(text: String) {
        #expect(Instant(rfc3339: text) == nil)
    }

    @Test func `no beginning of a date is one`() {
        let whole = "2024-02-29T23:59:59.5+03:00"
        for count in 0..<whole.utf8.count {
            #expect(
                Instant(rfc3339: String(decoding: whole.utf8.prefix(count), as: UTF8.self)) == nil, "\(count) bytes")
        }
    }

    @Test func `random dates are what the calendar says`() {
        var generator = SeededGenerator()
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        for _ in 0..<300 {
            // From 1600 on, where Foundation's calendar is the Gregorian one.
            let seconds = Int64.random(in: -11_676_096_000...253_402_300_799, using: &generator)
            let parts = calendar.dateComponents(
                [.year, .month, .day, .hour, .minute, .second], from: Date(timeIntervalSince1970: Double(seconds)))
            let text = String(
                format: "%04d-%02d-%02dT%02d:%02d:%02dZ", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0,
                parts.hour ?? 0, parts.minute ?? 0, parts.second ?? 0)
            #expect(Instant(rfc3339: text)?.secondsSince1970 == seconds, "\(generator)")
            #expect(Instant(millisecondsSince1970: seconds * 1000).description == text, "\(generator)")
        }
    }

    @Test func `what an instant prints is read back`() {
        var generator = SeededGenerator()
        for _ in 0..<5_000 {
            let date = Instant(
                millisecondsSince1970: .random(in: -62_167_219_200_000...253_402_300_799_999, using: &generator))
            #expect(Instant(rfc3339: date.description) == date, "\(generator)")
        }
    }
}
