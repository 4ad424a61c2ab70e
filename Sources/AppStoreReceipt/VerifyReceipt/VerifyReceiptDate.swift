import SpanASN1

/// A date in the three forms of verifyReceipt, as three members of a JSON object:
///
/// `"x":"2020-04-01 04:07:39 Etc/GMT","x_ms":"1585714059000","x_pst":"2020-03-31 21:07:39 America/Los_Angeles"`
///
/// One of these writes all dates of one name: most of the text is always the same.
struct VerifyReceiptDate {
    private let name: StaticString
    private var pacific = PacificTime()
    /// The members for `milliseconds`.
    private var text: [UInt8] = []
    private var milliseconds: Int64?
    private var millisecondDigitCount = 0
    /// Where in `text` the three values begin.
    private var starts = (utc: 0, milliseconds: 0, pacific: 0)

    init(_ name: StaticString) { self.name = name }

    /// Writes the three members.
    mutating func write(_ milliseconds: Int64, to writer: inout JSONWriter) {
        if milliseconds != self.milliseconds { update(milliseconds) }
        writer.raw(text.span)
    }

    private mutating func update(_ milliseconds: Int64) {
        self.milliseconds = milliseconds
        // 13 digits are the dates from September 2001 to 2286.
        let digitCount =
            1_000_000_000_000..<10_000_000_000_000 ~= milliseconds ? 13 : String(milliseconds).utf8.count
        if digitCount != millisecondDigitCount { layOut(digitCount) }

        let utc = Timestamp(millisecondsSince1970: milliseconds).clampedToFourDigitYears
        let components = utc.components
        set(components, at: starts.utc)
        set(milliseconds, at: starts.milliseconds)
        let offset = pacific.offset(atSecondsSince1970: utc.secondsSince1970, inYear: components.year)
        let local = Timestamp(millisecondsSince1970: utc.millisecondsSince1970 + offset * 1000)
        set(local.clampedToFourDigitYears.components, at: starts.pacific)
    }

    /// Makes room for a number of so many characters.
    private mutating func layOut(_ digitCount: Int) {
        var members = JSONWriter(capacity: 256)
        let date: StaticString = "0000-00-00 00:00:00 "
        members.literal("\"")
        members.append(name)
        members.append("\":\"")
        starts.utc = members.bytes.count
        members.append(date)
        members.append("Etc/GMT\"")
        members.literal("\"")
        members.append(name)
        members.append("_ms\":\"")
        starts.milliseconds = members.bytes.count
        for _ in 0..<digitCount { members.append("0") }
        members.append("\"")
        members.literal("\"")
        members.append(name)
        members.append("_pst\":\"")
        starts.pacific = members.bytes.count
        members.append(date)
        members.append("America/Los_Angeles\"")
        text = members.bytes
        millisecondDigitCount = digitCount
    }

    private mutating func set(_ date: Timestamp.Components, at start: Int) {
        var text = text.mutableSpan
        text.set(date.year / 100, at: start)
        text.set(date.year % 100, at: start + 2)
        text.set(date.month, at: start + 5)
        text.set(date.day, at: start + 8)
        text.set(date.hour, at: start + 11)
        text.set(date.minute, at: start + 14)
        text.set(date.second, at: start + 17)
    }

    private mutating func set(_ milliseconds: Int64, at start: Int) {
        var rest = milliseconds.magnitude
        for index in (start..<start + millisecondDigitCount).reversed() {
            text[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        if milliseconds < 0 { text[start] = UInt8(ascii: "-") }
    }
}

extension MutableSpan<UInt8> {
    /// Two decimal digits.
    fileprivate mutating func set(_ value: Int, at index: Int) {
        let (tens, ones) = value.quotientAndRemainder(dividingBy: 10)
        self[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: tens)
        self[index + 1] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: ones)
    }
}

extension Timestamp {
    /// 0000-01-01T00:00:00Z to 9999-12-31T23:59:59.999Z. An offset from UTC can make a date that lies just outside.
    private static let fourDigitYears =
        Timestamp(
            millisecondsSince1970: -62_167_219_200_000)...Timestamp(
            millisecondsSince1970: 253_402_300_799_999)

    fileprivate var clampedToFourDigitYears: Timestamp {
        min(max(self, Self.fourDigitYears.lowerBound), Self.fourDigitYears.upperBound)
    }
}
