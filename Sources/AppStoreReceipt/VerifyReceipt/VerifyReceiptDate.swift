import SpanASN1

/// The name of a date in verifyReceipt's answer, where a date is three members:
///
/// `"x":"2020-04-01 04:07:39 Etc/GMT","x_ms":"1585714059000","x_pst":"2020-03-31 21:07:39 America/Los_Angeles",`
struct VerifyReceiptDateName {
    /// The text before each of the three values.
    let utc, milliseconds, pacific: StaticString

    static let receiptCreation = VerifyReceiptDateName(
        utc: "\"receipt_creation_date\":\"", milliseconds: " Etc/GMT\",\"receipt_creation_date_ms\":\"",
        pacific: "\",\"receipt_creation_date_pst\":\"")
    static let request = VerifyReceiptDateName(
        utc: "\"request_date\":\"", milliseconds: " Etc/GMT\",\"request_date_ms\":\"",
        pacific: "\",\"request_date_pst\":\"")
    static let originalPurchase = VerifyReceiptDateName(
        utc: "\"original_purchase_date\":\"", milliseconds: " Etc/GMT\",\"original_purchase_date_ms\":\"",
        pacific: "\",\"original_purchase_date_pst\":\"")
    static let preorder = VerifyReceiptDateName(
        utc: "\"preorder_date\":\"", milliseconds: " Etc/GMT\",\"preorder_date_ms\":\"",
        pacific: "\",\"preorder_date_pst\":\"")
    static let expiration = VerifyReceiptDateName(
        utc: "\"expiration_date\":\"", milliseconds: " Etc/GMT\",\"expiration_date_ms\":\"",
        pacific: "\",\"expiration_date_pst\":\"")
    static let purchase = VerifyReceiptDateName(
        utc: "\"purchase_date\":\"", milliseconds: " Etc/GMT\",\"purchase_date_ms\":\"",
        pacific: "\",\"purchase_date_pst\":\"")
    static let expires = VerifyReceiptDateName(
        utc: "\"expires_date\":\"", milliseconds: " Etc/GMT\",\"expires_date_ms\":\"",
        pacific: "\",\"expires_date_pst\":\"")
    static let cancellation = VerifyReceiptDateName(
        utc: "\"cancellation_date\":\"", milliseconds: " Etc/GMT\",\"cancellation_date_ms\":\"",
        pacific: "\",\"cancellation_date_pst\":\"")
}

/// Writes dates in verifyReceipt's three forms.
struct VerifyReceiptDates {
    private let calendar = MonthTable.shared
    private let pacific = PacificTime()

    /// The maximum size of a date, rounded up.
    static let maximumByteCount = 256

    /// Appends the three members and a comma.
    func append(_ milliseconds: Int64, _ name: VerifyReceiptDateName, to output: inout OutputSpan<UInt8>) {
        // An offset from UTC can move a date out of the years with four digits.
        let seconds = max(
            -62_167_219_200, min(Instant(millisecondsSince1970: milliseconds).secondsSince1970, 253_402_300_799))
        let days = Int((seconds + 86_400 * 1_000_000) / 86_400 - 1_000_000)
        let date = calendar.date(days)
        let time = TimeText(secondOfDay: Int(seconds) - days * 86_400)
        output.append(name.utc)
        output.append(date, hour: time.hour, time)
        output.append(name.milliseconds)
        output.appendDigits(of: milliseconds)
        output.append(name.pacific)
        // The time zones differ by whole hours, so the minutes are the same.
        let hour = time.hour + pacific.offset(atSecondsSince1970: seconds, inYear: date.year) / 3600
        output.append(hour >= 0 ? date : calendar.date(days - 1), hour: hour >= 0 ? hour : hour + 24, time)
        output.append(" America/Los_Angeles\",")
    }
}

/// A date as text.
struct DateText {
    let year: Int
    /// `YYYY-MM-`, the first character in the lowest byte.
    let month: UInt64
    let day: Int

    init(year: Int, month: UInt64, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    init(year: Int, month: Int, day: Int) {
        // -00-0000
        let characters: UInt64 = 0x2D30_302D_3030_3030
        self.init(
            year: year,
            month: characters + pair(year / 100) + pair(year % 100) << 16 + pair(month) << 40,
            day: day)
    }
}

/// The months of the years in which receipts have dates.
struct MonthTable {
    private static let years = 2000..<2050
    static let shared = MonthTable()

    /// The first day of each month and of the month after the last, in days since 1970.
    private let firstDays: [Int]
    private let texts: [UInt64]

    private init() {
        let months = Self.years.flatMap { year in (1...12).map { (year, $0) } }
        let end = [(Self.years.upperBound, 1)]
        firstDays = (months + end).compactMap { year, month in
            Instant(year: year, month: month, day: 1).map { Int($0.secondsSince1970 / 86_400) }
        }
        texts = months.map { DateText(year: $0, month: $1, day: 1).month }
    }

    /// The date of a day, in days since 1970. Dates that are not in the table need calendar arithmetic, which takes several times as long.
    func date(_ day: Int) -> DateText {
        guard firstDays[0]..<firstDays[texts.count] ~= day else {
            let date = Instant(millisecondsSince1970: Int64(day) * 86_400_000).components
            return DateText(year: max(date.year, 0), month: date.month, day: date.day)
        }
        // A month has 365.2425 / 12 days, the inverse of 2153 / 65,536. The result is off by one month at most.
        var month = min(((day - firstDays[0]) * 2153) >> 16, texts.count - 1)
        if firstDays[month] > day { month -= 1 } else if firstDays[month + 1] <= day { month += 1 }
        return DateText(year: Self.years.lowerBound + month / 12, month: texts[month], day: day - firstDays[month] + 1)
    }
}

/// A time of day, with its minutes and seconds as text.
private struct TimeText {
    let hour: Int
    /// `mm` and `ss`, the first character in the lowest byte.
    let minutes, seconds: UInt64

    init(secondOfDay: Int) {
        hour = secondOfDay / 3600
        let minute = secondOfDay / 60
        minutes = pair(minute - hour * 60)
        seconds = pair(secondOfDay - minute * 60)
    }
}

extension OutputSpan<UInt8> {
    /// `YYYY-MM-DD hh:mm:ss`
    @inline(__always)
    fileprivate mutating func append(_ date: DateText, hour: Int, _ time: TimeText) {
        append(characters: date.month, count: 8)
        // 00 00:00
        let dayAndTime: UInt64 = 0x3030_3A30_3020_3030
        append(characters: dayAndTime + pair(date.day) + pair(hour) << 24 + time.minutes << 48, count: 8)
        append(characters: 0x30_303A + time.seconds << 8, count: 3)
    }
}

/// Two decimal digits, each in a byte, the first in the lower.
@inline(__always)
private func pair(_ value: Int) -> UInt64 {
    let value = UInt64(truncatingIfNeeded: value)
    let tens = (value * 103) >> 10
    return tens | (value - tens * 10) << 8
}
