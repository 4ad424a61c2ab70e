import SpanASN1
import Testing

@testable import AppStoreReceipt

struct VerifyReceiptDateTests {
    @Test(arguments: [
        ("2020-04-01T04:07:39Z", "2020-04-01 04:07:39", "1585714059000", "2020-03-31 21:07:39"),
        ("2020-12-31T23:59:59.999Z", "2020-12-31 23:59:59", "1609459199999", "2020-12-31 15:59:59"),
        ("2021-01-01T07:59:59Z", "2021-01-01 07:59:59", "1609487999000", "2020-12-31 23:59:59"),
        ("2020-03-08T09:59:59Z", "2020-03-08 09:59:59", "1583661599000", "2020-03-08 01:59:59"),
        ("2020-03-08T10:00:00Z", "2020-03-08 10:00:00", "1583661600000", "2020-03-08 03:00:00"),
        ("2020-11-01T08:59:59Z", "2020-11-01 08:59:59", "1604221199000", "2020-11-01 01:59:59"),
        ("2020-11-01T09:00:00Z", "2020-11-01 09:00:00", "1604221200000", "2020-11-01 01:00:00"),
        ("2001-09-09T01:46:39.999Z", "2001-09-09 01:46:39", "999999999999", "2001-09-08 18:46:39"),
        ("2001-09-09T01:46:40Z", "2001-09-09 01:46:40", "1000000000000", "2001-09-08 18:46:40"),
        ("4001-01-01T00:00:00Z", "4001-01-01 00:00:00", "64092211200000", "4000-12-31 16:00:00"),
        ("1970-01-01T00:00:00Z", "1970-01-01 00:00:00", "0", "1969-12-31 16:00:00"),
        ("1969-12-31T23:59:59.999Z", "1969-12-31 23:59:59", "-1", "1969-12-31 15:59:59"),
    ])
    func `a date has three forms`(date: String, utc: String, milliseconds: String, pacific: String) throws {
        let timestamp = try #require(Timestamp(rfc3339: date))
        var dates = VerifyReceiptDate("x")
        #expect(
            Self.text(timestamp.millisecondsSince1970, &dates) == """
                {"x":"\(utc) Etc/GMT","x_ms":"\(milliseconds)","x_pst":"\(pacific) America/Los_Angeles"}
                """)
    }

    @Test func `one writer writes date after date`() throws {
        var dates = VerifyReceiptDate("expires_date")
        for text in ["2020-07-01T00:00:00Z", "1999-01-01T00:00:00Z", "1999-01-01T00:00:00Z", "2020-12-01T00:00:00Z"] {
            let timestamp = try #require(Timestamp(rfc3339: text))
            var fresh = VerifyReceiptDate("expires_date")
            #expect(
                Self.text(timestamp.millisecondsSince1970, &dates)
                    == Self.text(timestamp.millisecondsSince1970, &fresh))
        }
    }

    @Test(arguments: [Int64.min, -62_167_219_200_001, 253_402_300_800_000, Int64.max])
    func `a date outside the four-digit years does not trap, and its milliseconds are exact`(milliseconds: Int64) {
        var dates = VerifyReceiptDate("x")
        #expect(Self.text(milliseconds, &dates).contains("\"x_ms\":\"\(milliseconds)\""))
    }

    static func text(_ milliseconds: Int64, _ dates: inout VerifyReceiptDate) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        dates.write(milliseconds, to: &writer)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
