extension Instant {
    /// Creates an instant from a date in the formats that receipts use: `2013-08-01T07:00:00Z`, with a fraction of any
    /// length (cut to milliseconds), and with an offset written `+03:00` or, against RFC 3339, 5.6, `+0300` (StoreKit
    /// Testing in Xcode).
    public init?(rfc3339 text: String) {
        let bytes = Array(text.utf8)
        self.init(rfc3339: bytes.span)
    }

    /// See ``init(rfc3339:)``; `text` is ASCII.
    package init?(rfc3339 text: Span<UInt8>) {
        guard text.count >= 20 else { return nil }
        func number(_ start: Int, _ count: Int) -> Int? {
            var value = 0
            for index in start..<start + count {
                guard case let digit = text[index] &- 0x30, digit < 10 else { return nil }
                value = value * 10 + Int(digit)
            }
            return value
        }
        func isCharacter(_ index: Int, _ character: Unicode.Scalar) -> Bool {
            index < text.count && text[index] == UInt8(truncatingIfNeeded: character.value)
        }
        guard let year = number(0, 4), isCharacter(4, "-"), let month = number(5, 2), isCharacter(7, "-"),
            let day = number(8, 2), isCharacter(10, "T"), let hour = number(11, 2), isCharacter(13, ":"),
            let minute = number(14, 2), isCharacter(16, ":"), let second = number(17, 2)
        else { return nil }

        var index = 19
        var millisecond = 0
        if isCharacter(index, ".") {
            index += 1
            let start = index
            var weight = 100
            while index < text.count, case let digit = text[index] &- 0x30, digit < 10 {
                millisecond += Int(digit) * weight
                weight /= 10
                index += 1
            }
            guard index > start else { return nil }
        }

        var offsetMinutes = 0
        if isCharacter(index, "Z") {
            index += 1
        } else {
            guard isCharacter(index, "+") || isCharacter(index, "-") else { return nil }
            let sign = isCharacter(index, "+") ? 1 : -1
            let hasColon = isCharacter(index + 3, ":")
            guard text.count == index + (hasColon ? 6 : 5), let hours = number(index + 1, 2), hours < 24,
                let minutes = number(index + (hasColon ? 4 : 3), 2), minutes < 60
            else { return nil }
            offsetMinutes = sign * (hours * 60 + minutes)
            index = text.count
        }
        guard index == text.count,
            let local = Instant(
                year: year, month: month, day: day, hour: hour, minute: minute, second: second,
                millisecond: millisecond)
        else { return nil }
        self.init(millisecondsSince1970: local.millisecondsSince1970 - Int64(offsetMinutes) * 60_000)
        // An offset can move the year out of this range.
        guard 0...9999 ~= components.year else { return nil }
    }
}
