import StrictText
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
        ("2049-12-31T23:59:59.087Z", "2049-12-31 23:59:59", "2524607999087", "2049-12-31 15:59:59"),
        ("2002-01-01T00:00:00.120Z", "2002-01-01 00:00:00", "1009843200120", "2001-12-31 16:00:00"),
        ("1970-01-01T00:00:00Z", "1970-01-01 00:00:00", "0", "1969-12-31 16:00:00"),
        ("1969-12-31T23:59:59.999Z", "1969-12-31 23:59:59", "-1", "1969-12-31 15:59:59"),
    ])
    func `a date has three forms`(date: String, utc: String, milliseconds: String, pacific: String) throws {
        let instant = try #require(Instant(rfc3339: date))
        #expect(
            Self.text(instant.millisecondsSince1970) == """
                "expires_date":"\(utc) Etc/GMT","expires_date_ms":"\(milliseconds)",\
                "expires_date_pst":"\(pacific) America/Los_Angeles",
                """)
    }

    @Test(arguments: [Int64.min, -62_167_219_200_001, 253_402_300_800_000, Int64.max])
    func `a date outside the four-digit years does not trap, and its milliseconds are exact`(milliseconds: Int64) {
        #expect(Self.text(milliseconds).contains("_ms\":\"\(milliseconds)\""))
    }

    @Test func `the first and the last second of every day are those of the calendar and of Pacific time`() {
        for second in (10_000..<30_000).flatMap({ [Int64($0) * 86_400, Int64($0) * 86_400 + 86_399] }) {
            let utc = Instant(millisecondsSince1970: second * 1000)
            let offset = PacificTime.offset(atSecondsSince1970: second, inYear: utc.components.year)
            let pacific = Instant(millisecondsSince1970: (second + Int64(offset)) * 1000)
            #expect(
                Self.text(utc.millisecondsSince1970) == """
                    "expires_date":"\(utc.gmtText) Etc/GMT","expires_date_ms":"\(utc.millisecondsSince1970)",\
                    "expires_date_pst":"\(pacific.gmtText) America/Los_Angeles",
                    """)
        }
    }

    @Test(arguments: 2002..<2050)
    func `the hours around each change of the clock are Pacific time's`(year: Int) {
        let summer = PacificTime.daylightSaving(in: year)
        for change in [summer.lowerBound, summer.upperBound] {
            for second in stride(from: change - 86_400, through: change + 86_400, by: 1800).flatMap({ [$0 - 1, $0] }) {
                let text = Self.text(second * 1000)
                let offset: Int64 = summer.contains(second) ? -25_200 : -28_800
                let pacific = Instant(millisecondsSince1970: (second + offset) * 1000)
                #expect(text.contains("_pst\":\"\(pacific.gmtText) America/Los_Angeles\""))
            }
        }
    }

    @Test(arguments: [
        VerifyReceiptDateName.receiptCreation, .request, .originalPurchase, .preorder, .expiration, .purchase, .expires,
        .cancellation,
    ])
    func `every name has its dates at their places`(name: VerifyReceiptDateName) {
        var dates = VerifyReceiptDates()
        let bytes = [UInt8](capacity: 256) { $0.write { dates.append(1_585_714_059_000, name, to: &$0) } }
        let text = String(decoding: bytes, as: UTF8.self)
        let key = text.dropFirst().prefix { $0 != "\"" }
        #expect(
            text == """
                "\(key)":"2020-04-01 04:07:39 Etc/GMT","\(key)_ms":"1585714059000",\
                "\(key)_pst":"2020-03-31 21:07:39 America/Los_Angeles",
                """)
    }

    @Test func `every second of a day is the clock's`() {
        for second in stride(from: Int64(0), to: 86_400, by: 7) {
            let instant = Instant(millisecondsSince1970: 1_585_699_200_000 + second * 1000)
            let expected = instant.description.dropLast().map { $0 == "T" ? " " : String($0) }.joined()
            #expect(Self.text(instant.millisecondsSince1970).contains("\"\(expected) Etc/GMT\""))
        }
    }

    @Test func `digits are those of the number`() {
        var numbers: [Int64] = [0, .min, .max, -1, -10]
        var power: Int64 = 1
        for _ in 0..<18 {
            power *= 10
            numbers += [power - 1, power, power + 1, power / 9 * 8]
        }
        for number in numbers {
            let digits = [UInt8](capacity: 64) { $0.write { $0.appendDigits(of: number) } }
            #expect(String(decoding: digits, as: UTF8.self) == String(number))
        }
    }

    static func text(_ milliseconds: Int64) -> String {
        var dates = VerifyReceiptDates()
        let bytes = [UInt8](capacity: VerifyReceiptDates.maximumByteCount) {
            $0.write { dates.append(milliseconds, .expires, to: &$0) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
