import Instants

/// The rule of POSIX's `TZ` for the time after the last change of a file, such as `CET-1CEST,M3.5.0,M10.5.0/3` (RFC
/// 9636, 3.3.1).
struct TimeZoneRule: Sendable {
    private let standard: Int
    fileprivate var daylight: (offset: Int, begin: Day, end: Day)?

    /// A day of a year, and the seconds from its start in local time.
    fileprivate struct Day: Sendable {
        enum Kind: Sendable {
            /// Day 1 to 365, without 29 February.
            case julian(Int)
            /// Day 0 to 365.
            case ordinal(Int)
            /// A weekday (0 is Sunday) in a week (5 is the last) of a month.
            case weekday(month: Int, week: Int, Int)
        }
        let kind: Kind
        let seconds: Int
    }

    init?(_ text: ArraySlice<UInt8>) {
        var reader = TimeZoneFile.Reader(text)
        guard Self.skipName(&reader), let west = Self.time(&reader, maximumHour: 24) else { return nil }
        standard = -west
        if reader.isAtEnd { return }
        guard Self.skipName(&reader) else { return nil }
        var offset = standard + 3600
        if reader.peek != UInt8(ascii: ",") {
            guard let west = Self.time(&reader, maximumHour: 24) else { return nil }
            offset = -west
        }
        guard reader.next() == UInt8(ascii: ","), let begin = Self.day(&reader), reader.next() == UInt8(ascii: ","),
            let end = Self.day(&reader), reader.isAtEnd
        else { return nil }
        daylight = (offset, begin, end)
    }

    func offset(at seconds: Int64) -> Int {
        guard let daylight else { return standard }
        let year = Instant(millisecondsSince1970: Int64(clamping: Int128(seconds + Int64(standard)) * 1000)).components
            .year
        // Times outside the years 0 to 9999 are in standard time.
        guard let begin = daylight.begin.date(in: year), let end = daylight.end.date(in: year) else { return standard }
        let (first, last) = (begin - Int64(standard), end - Int64(daylight.offset))
        let isDaylight = first < last ? first..<last ~= seconds : !(last..<first ~= seconds)
        return isDaylight ? daylight.offset : standard
    }

    // MARK: Reading

    private static func skipName(_ reader: inout TimeZoneFile.Reader) -> Bool {
        guard let first = reader.next() else { return false }
        if first == UInt8(ascii: "<") {
            while let byte = reader.next() { if byte == UInt8(ascii: ">") { return true } }
            return false
        }
        guard first.isLetter else { return false }
        while let byte = reader.peek, byte.isLetter { _ = reader.next() }
        return true
    }

    private static func number(_ reader: inout TimeZoneFile.Reader, _ range: ClosedRange<Int>) -> Int? {
        var value: Int?
        while let byte = reader.peek, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte {
            _ = reader.next()
            value = (value ?? 0) * 10 + Int(byte - UInt8(ascii: "0"))
            guard let value, value <= 1000 else { return nil }
        }
        return value.flatMap { range.contains($0) ? $0 : nil }
    }

    /// `[+-]hh[:mm[:ss]]`, in seconds.
    private static func time(_ reader: inout TimeZoneFile.Reader, maximumHour: Int) -> Int? {
        var sign = 1
        if reader.peek == UInt8(ascii: "-") || reader.peek == UInt8(ascii: "+") {
            sign = reader.next() == UInt8(ascii: "-") ? -1 : 1
        }
        guard var seconds = number(&reader, 0...maximumHour).map({ $0 * 3600 }) else { return nil }
        for unit in [60, 1] where reader.peek == UInt8(ascii: ":") {
            _ = reader.next()
            guard let part = number(&reader, 0...59) else { return nil }
            seconds += part * unit
        }
        return sign * seconds
    }

    fileprivate static func day(_ reader: inout TimeZoneFile.Reader) -> Day? {
        let kind: Day.Kind
        switch reader.peek {
        case UInt8(ascii: "M"):
            _ = reader.next()
            guard let month = number(&reader, 1...12), reader.next() == UInt8(ascii: "."),
                let week = number(&reader, 1...5), reader.next() == UInt8(ascii: "."),
                let weekday = number(&reader, 0...6)
            else { return nil }
            kind = .weekday(month: month, week: week, weekday)
        case UInt8(ascii: "J"):
            _ = reader.next()
            guard let day = number(&reader, 1...365) else { return nil }
            kind = .julian(day)
        default:
            guard let day = number(&reader, 0...365) else { return nil }
            kind = .ordinal(day)
        }
        guard reader.peek == UInt8(ascii: "/") else { return Day(kind: kind, seconds: 7200) }
        _ = reader.next()
        // RFC 9636 allows a week before and after.
        return time(&reader, maximumHour: 167).map { Day(kind: kind, seconds: $0) }
    }
}

extension TimeZoneRule.Day {
    /// The moment in seconds since 1970, as if local time were UTC.
    fileprivate func date(in year: Int) -> Int64? {
        guard let start = Instant(year: year, month: 1, day: 1)?.secondsSince1970 else { return nil }
        let isLeap = Instant(year: year, month: 2, day: 29) != nil
        switch kind {
        case .julian(let day):
            return start + Int64((day - 1 + (isLeap && day >= 60 ? 1 : 0)) * 86_400 + seconds)
        case .ordinal(let day): return start + Int64(day * 86_400 + seconds)
        case .weekday(let month, let week, let weekday):
            guard let first = Instant(year: year, month: month, day: 1) else { return nil }
            let days = first.secondsSince1970 / 86_400 - (first.secondsSince1970 % 86_400 < 0 ? 1 : 0)
            // 1970-01-01 was a Thursday.
            let firstWeekday = ((days + 4) % 7 + 7) % 7
            var day = 1 + Int((Int64(weekday) - firstWeekday + 7) % 7) + (week - 1) * 7
            while day > 28, Instant(year: year, month: month, day: day) == nil { day -= 7 }
            return first.secondsSince1970 + Int64((day - 1) * 86_400 + seconds)
        }
    }
}

extension UInt8 {
    fileprivate var isLetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }
}
