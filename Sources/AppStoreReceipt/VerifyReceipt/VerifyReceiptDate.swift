import SpanASN1

/// The name of a date in verifyReceipt's answer, where a date is three members:
///
/// `"x":"2020-04-01 04:07:39 Etc/GMT","x_ms":"1585714059000","x_pst":"2020-03-31 21:07:39 America/Los_Angeles",`
struct VerifyReceiptDateName {
    /// The text before the milliseconds, and the text after them. The dates, which replace the zeros, have a constant size.
    let start, end: StaticString

    /// The number of characters in `start` from the date on: the name occurs twice, with 40 characters around it, and 36 of them are there.
    var utcCount: Int { (start.utf8CodeUnitCount &- 40) >> 1 &+ 36 }

    /// The number of characters in `end` from the date on.
    static let pacificCount = 41

    static let receiptCreation = VerifyReceiptDateName(
        start: "\"receipt_creation_date\":\"0000-00-00 00:00:00 Etc/GMT\",\"receipt_creation_date_ms\":\"",
        end: "\",\"receipt_creation_date_pst\":\"0000-00-00 00:00:00 America/Los_Angeles\",")
    static let request = VerifyReceiptDateName(
        start: "\"request_date\":\"0000-00-00 00:00:00 Etc/GMT\",\"request_date_ms\":\"",
        end: "\",\"request_date_pst\":\"0000-00-00 00:00:00 America/Los_Angeles\",")
    static let originalPurchase = VerifyReceiptDateName(
        start: "\"original_purchase_date\":\"0000-00-00 00:00:00 Etc/GMT\",\"original_purchase_date_ms\":\"",
        end: "\",\"original_purchase_date_pst\":\"0000-00-00 00:00:00 America/Los_Angeles\",")
    static let preorder = VerifyReceiptDateName(
        start: "\"preorder_date\":\"0000-00-00 00:00:00 Etc/GMT\",\"preorder_date_ms\":\"",
        end: "\",\"preorder_date_pst\":\"0000-00-00 00:00:00 America/Los_Angeles\",")
    static let expiration = VerifyReceiptDateName(
        start: "\"expiration_date\":\"0000-00-00 00:00:00 Etc/GMT\",\"expiration_date_ms\":\"",
        end: "\",\"expiration_date_pst\":\"0000-00-00 00:00:00 America/Los_Angeles\",")
    static let purchase = VerifyReceiptDateName(
        start: "\"purchase_date\":\"0000-00-00 00:00:00 Etc/GMT\",\"purchase_date_ms\":\"",
        end: "\",\"purchase_date_pst\":\"0000-00-00 00:00:00 America/Los_Angeles\",")
    static let expires = VerifyReceiptDateName(
        start: "\"expires_date\":\"0000-00-00 00:00:00 Etc/GMT\",\"expires_date_ms\":\"",
        end: "\",\"expires_date_pst\":\"0000-00-00 00:00:00 America/Los_Angeles\",")
    static let cancellation = VerifyReceiptDateName(
        start: "\"cancellation_date\":\"0000-00-00 00:00:00 Etc/GMT\",\"cancellation_date_ms\":\"",
        end: "\",\"cancellation_date_pst\":\"0000-00-00 00:00:00 America/Los_Angeles\",")
}

/// Writes dates in verifyReceipt's three forms.
struct VerifyReceiptDates {
    private let calendar = MonthTable.shared
    private let pacific = PacificTime()

    /// The maximum size of a date, rounded up.
    static let maximumByteCount = 256

    /// Appends the three members and a comma.
    func append(_ milliseconds: Int64, _ name: VerifyReceiptDateName, to text: inout TextWriter) {
        // An offset from UTC can move a date out of the years with four digits.
        let seconds = max(
            -62_167_219_200, min(Instant(millisecondsSince1970: milliseconds).secondsSince1970, 253_402_300_799))
        let days = Int((seconds + 86_400 * 1_000_000) / 86_400 - 1_000_000)
        let date = calendar.date(days)
        var time = TimeOfDay(second: UInt32(truncatingIfNeeded: Int(seconds) - days * 86_400))
        text.append(name.start)
        text.replace(name.utcCount, with: date, time)
        text.appendDigits(of: milliseconds)
        text.append(name.end)
        // The time zones differ by whole hours, so the minutes are the same.
        let hours = Int(time.hour) + pacific.offset(atSecondsSince1970: seconds, inYear: date.year) / 3600
        time.hour = UInt32(truncatingIfNeeded: hours >= 0 ? hours : hours + 24)
        text.replace(
            VerifyReceiptDateName.pacificCount, with: hours >= 0 ? date : calendar.date(days - 1), time)
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
    private struct Month {
        /// In days since 1970.
        let firstDay: Int
        let text: UInt64
    }

    private static let years = 2000..<2050
    static let shared = MonthTable()

    /// The months, and the month after the last.
    private let months: [Month]

    private init() {
        let all = Self.years.flatMap { year in (1...12).map { (year, $0) } } + [(Self.years.upperBound, 1)]
        months = all.compactMap { year, month in
            Instant(year: year, month: month, day: 1).map {
                Month(
                    firstDay: Int($0.secondsSince1970 / 86_400),
                    text: DateText(year: year, month: month, day: 1).month)
            }
        }
    }

    /// The date of a day, in days since 1970. Dates that are not in the table need calendar arithmetic, which takes several times as long.
    @inline(__always)
    func date(_ day: Int) -> DateText {
        let first = months[0].firstDay
        guard first..<months[months.count &- 1].firstDay ~= day else { return Self.calendarDate(day) }
        // A month has 365.2425 / 12 days, the inverse of 2153 / 65,536. With three days more, the result is the month or the next one.
        var index = Int(UInt(bitPattern: (day &- first &+ 3) &* 2153) >> 16)
        if months[index].firstDay > day { index &-= 1 }
        let month = months[index]
        return DateText(
            year: Self.years.lowerBound &+ Int(UInt(bitPattern: index) / 12), month: month.text,
            day: day &- month.firstDay &+ 1)
    }

    @inline(never)
    private static func calendarDate(_ day: Int) -> DateText {
        let date = Instant(millisecondsSince1970: Int64(day) * 86_400_000).components
        return DateText(year: max(date.year, 0), month: date.month, day: date.day)
    }
}

/// A time of day.
private struct TimeOfDay {
    var hour: UInt32
    private let minute, second: UInt32

    init(second secondOfDay: UInt32) {
        let minuteOfDay = secondOfDay / 60
        hour = minuteOfDay / 60
        minute = minuteOfDay &- hour &* 60
        second = secondOfDay &- minuteOfDay &* 60
    }

    /// `hh:mm:ss`, the first character in the lowest byte.
    var text: UInt64 {
        // Divided by 10 at once, each in the place of its first digit.
        let values = UInt64(hour) | UInt64(minute) << 24 | UInt64(second) << 48
        let tens = (values &* 103) >> 10 & 0x000F_0000_0F00_000F
        return (tens | (values &- tens &* 10) << 8) &+ 0x3030_3A30_303A_3030
    }
}

extension TextWriter {
    /// Writes `YYYY-MM-DD hh:mm:ss` over characters that begin `distance` before the end. The space stays.
    @inline(__always)
    fileprivate mutating func replace(_ distance: Int, with date: DateText, _ time: TimeOfDay) {
        replace(distance, with: date.month)
        replace(distance &- 8, with: UInt16(truncatingIfNeeded: pair(date.day) &+ 0x3030))
        replace(distance &- 11, with: time.text)
    }
}

/// Two decimal digits, each in a byte, the first in the lower.
@inline(__always)
private func pair(_ value: Int) -> UInt64 {
    let value = UInt64(truncatingIfNeeded: value)
    let tens = (value &* 103) >> 10
    return tens | (value &- tens &* 10) << 8
}
