import Instants
import StrictText

/// The name of a date in verifyReceipt's answer, where a date is three members:
///
/// `"x":"2020-04-01 04:07:39 Etc/GMT","x_ms":"1585714059000","x_pst":"2020-03-31 21:07:39 America/Los_Angeles",`
struct VerifyReceiptDateName {
    /// The three members and a comma, with zeros for the dates and for milliseconds of 13 digits.
    let template: StaticString
    /// The number of characters in the name.
    private let count: Int

    private init(_ count: Int, _ template: StaticString) {
        self.count = count
        self.template = template
    }

    // Distances from the first character of a value to the end of the template.
    var utcDistance: Int { 2 &* count &+ 100 }
    var millisecondsDistance: Int { count &+ 64 }
    static let pacificDistance = 41

    static let receiptCreation = VerifyReceiptDateName(
        21,
        """
        "receipt_creation_date":"0000-00-00 00:00:00 Etc/GMT","receipt_creation_date_ms":"0000000000000",\
        "receipt_creation_date_pst":"0000-00-00 00:00:00 America/Los_Angeles",
        """)
    static let request = VerifyReceiptDateName(
        12,
        """
        "request_date":"0000-00-00 00:00:00 Etc/GMT","request_date_ms":"0000000000000",\
        "request_date_pst":"0000-00-00 00:00:00 America/Los_Angeles",
        """)
    static let originalPurchase = VerifyReceiptDateName(
        22,
        """
        "original_purchase_date":"0000-00-00 00:00:00 Etc/GMT","original_purchase_date_ms":"0000000000000",\
        "original_purchase_date_pst":"0000-00-00 00:00:00 America/Los_Angeles",
        """)
    static let preorder = VerifyReceiptDateName(
        13,
        """
        "preorder_date":"0000-00-00 00:00:00 Etc/GMT","preorder_date_ms":"0000000000000",\
        "preorder_date_pst":"0000-00-00 00:00:00 America/Los_Angeles",
        """)
    static let expiration = VerifyReceiptDateName(
        15,
        """
        "expiration_date":"0000-00-00 00:00:00 Etc/GMT","expiration_date_ms":"0000000000000",\
        "expiration_date_pst":"0000-00-00 00:00:00 America/Los_Angeles",
        """)
    static let purchase = VerifyReceiptDateName(
        13,
        """
        "purchase_date":"0000-00-00 00:00:00 Etc/GMT","purchase_date_ms":"0000000000000",\
        "purchase_date_pst":"0000-00-00 00:00:00 America/Los_Angeles",
        """)
    static let expires = VerifyReceiptDateName(
        12,
        """
        "expires_date":"0000-00-00 00:00:00 Etc/GMT","expires_date_ms":"0000000000000",\
        "expires_date_pst":"0000-00-00 00:00:00 America/Los_Angeles",
        """)
    static let cancellation = VerifyReceiptDateName(
        17,
        """
        "cancellation_date":"0000-00-00 00:00:00 Etc/GMT","cancellation_date_ms":"0000000000000",\
        "cancellation_date_pst":"0000-00-00 00:00:00 America/Los_Angeles",
        """)
}

/// Writes dates in verifyReceipt's three formats.
struct VerifyReceiptDates {
    private let calendar = MonthTable.shared
    /// The time of day of the last date: the periods of a subscription begin and end at the same time.
    private var time = TimeOfDay(second: 0)

    /// The maximum size of a date, rounded up.
    static let maximumByteCount = 256

    /// Appends the three members and a comma.
    mutating func append(_ milliseconds: Int64, _ name: VerifyReceiptDateName, to text: inout TextWriter) {
        let sinceFirstDay = UInt64(bitPattern: milliseconds &- MonthTable.firstMillisecond)
        guard sinceFirstDay < MonthTable.millisecondCount else {
            return Self.appendUnlisted(milliseconds, name, to: &text)
        }
        let seconds = sinceFirstDay / 1000
        let dayCount = UInt32(truncatingIfNeeded: seconds / 86_400)
        let second = UInt32(truncatingIfNeeded: seconds) &- dayCount &* 86_400
        if time.second != second { time = TimeOfDay(second: second) }
        let month = calendar.month(ofDay: dayCount)
        let day = dayCount &- month.firstDay

        text.append(name.template)
        text.replace(name.utcDistance, with: DateText(month: month.text, day: day &+ 1), time.text)
        text.replace(name.millisecondsDistance, with10Digits: seconds &+ MonthTable.firstSecond)
        let fraction = sinceFirstDay &- seconds &* 1000
        if fraction != 0 { text.replace(name.millisecondsDistance &- 10, with3Digits: fraction) }
        let isSummer = month.summer.contains(day &* 86_400 &+ second)
        let pacificDate =
            if time.hour >= (isSummer ? 7 : 8) { DateText(month: month.text, day: day &+ 1) } else if day > 0 {
                DateText(month: month.text, day: day)
            } else { month.eve }
        let pacificTime = isSummer ? time.sevenHoursBefore : time.eightHoursBefore
        text.replace(VerifyReceiptDateName.pacificDistance, with: pacificDate, pacificTime)
    }

    /// Appends a date of a year that is not in the table, with calendar arithmetic, which takes several times as long.
    @inline(never)
    private static func appendUnlisted(_ milliseconds: Int64, _ name: VerifyReceiptDateName, to text: inout TextWriter)
    {
        // An offset from UTC can move a date out of the years with four digits.
        let seconds = max(
            -62_167_219_200, min(Instant(millisecondsSince1970: milliseconds).secondsSince1970, 253_402_300_799))
        let utc = Instant(millisecondsSince1970: seconds * 1000)
        let pacific = Instant(millisecondsSince1970: (seconds + Int64(utc.pacificOffset)) * 1000)
        let end = name.millisecondsDistance
        text.append(name.template, droppingLast: end)
        text.replace(name.utcDistance - end, with: DateText(utc), TimeOfDay(utc).text)
        text.appendDigits(of: milliseconds)
        text.append(name.template, last: end - 13)
        text.replace(VerifyReceiptDateName.pacificDistance, with: DateText(pacific), TimeOfDay(pacific).text)
    }
}

/// A date as text.
struct DateText {
    /// `YYYY-MM-`, the first character in the lowest byte.
    let month: UInt64
    /// 1 to 31.
    let day: UInt32

    init(month: UInt64, day: UInt32) {
        self.month = month
        self.day = day
    }

    init(_ date: Instant) {
        let components = date.components
        let year = UInt64(max(components.year, 0))
        // -00-0000
        let characters: UInt64 = 0x2D30_302D_3030_3030
        month = characters + pair(year / 100) + pair(year % 100) << 16 + pair(UInt64(components.month)) << 40
        day = UInt32(components.day)
    }
}

/// The months of the years in which receipts have dates. Their milliseconds since 1970 have 13 digits.
struct MonthTable {
    struct Month {
        /// In days since the first day of the table.
        let firstDay: UInt32
        let text: UInt64
        /// The day before the first.
        let eve: DateText
        /// The seconds of the month in which the Pacific coast has daylight saving time.
        let summer: Range<UInt32>
    }

    private static let years = 2002..<2050
    static let firstMillisecond: Int64 = 1_009_843_200_000
    static let firstSecond: UInt64 = 1_009_843_200
    static let millisecondCount: UInt64 = 17_532 * 86_400_000
    static let shared = MonthTable()

    /// The months, and the month after the last.
    private let months: [Month]

    private init() {
        let all = Self.years.flatMap { year in (1...12).map { (year, $0) } } + [(Self.years.upperBound, 1)]
        months = all.compactMap { year, month in
            Instant(year: year, month: month, day: 1).map { first in
                let start = first.secondsSince1970
                let summer = PacificTime.daylightSaving(in: year)
                func second(_ second: Int64) -> UInt32 { UInt32(min(max(second - start, 0), 31 * 86_400)) }
                return Month(
                    firstDay: UInt32((first.millisecondsSince1970 - Self.firstMillisecond) / 86_400_000),
                    text: DateText(first).month, eve: DateText(Instant(millisecondsSince1970: (start - 1) * 1000)),
                    summer: second(summer.lowerBound)..<second(summer.upperBound))
            }
        }
    }

    /// The month of a day, which must be one of the table.
    @inline(__always)
    func month(ofDay day: UInt32) -> Month {
        // A month has 365.2425 / 12 days, the inverse of 2153 / 65,536. With seven days more, the result is the month
        // or the next one.
        var index = Int(((day &+ 7) &* 2153) >> 16)
        if months[index].firstDay > day { index &-= 1 }
        return months[index]
    }
}

/// A time of day, and the time on the Pacific coast.
private struct TimeOfDay {
    /// 0 to 86,399.
    let second: UInt32
    let hour: UInt32
    /// `hh:mm:ss`, the first character in the lowest byte.
    let text, sevenHoursBefore, eightHoursBefore: UInt64

    init(second: UInt32) {
        self.second = second
        let minute = second / 60
        let hour = minute / 60
        self.hour = hour
        let minuteText = pair(UInt64(minute &- hour &* 60)) << 24
        let rest = minuteText | pair(UInt64(second &- minute &* 60)) << 48 | 0x3030_3A30_303A_3030
        text = rest | pair(UInt64(hour))
        sevenHoursBefore = rest | pair(UInt64(hour >= 7 ? hour &- 7 : hour &+ 17))
        eightHoursBefore = rest | pair(UInt64(hour >= 8 ? hour &- 8 : hour &+ 16))
    }

    init(_ date: Instant) {
        let components = date.components
        self.init(second: UInt32((components.hour * 60 + components.minute) * 60 + components.second))
    }
}

extension TextWriter {
    /// Writes `YYYY-MM-DD hh:mm:ss` over characters that begin `distance` before the end. The space stays.
    @inline(__always)
    fileprivate mutating func replace(_ distance: Int, with date: DateText, _ time: UInt64) {
        replace(distance, with: date.month)
        replace(distance &- 8, with: UInt16(truncatingIfNeeded: pair(UInt64(date.day)) &+ 0x3030))
        replace(distance &- 11, with: time)
    }
}

/// Two decimal digits, each in a byte, the first in the lower.
@inline(__always)
private func pair(_ value: UInt64) -> UInt64 {
    let tens = (value &* 103) >> 10
    return tens | (value &- tens &* 10) << 8
}
