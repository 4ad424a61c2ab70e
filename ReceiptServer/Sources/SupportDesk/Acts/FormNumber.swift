import Instants

/// The number of a form, by which it does its work once: the date at which its page was made, and random bits.
enum FormNumber {
    /// A form that is older may show what is no longer so.
    static let maximumAge = Duration.seconds(3600)
    private static let dateByteCount = 16

    static func make(at now: Instant) -> String {
        let date = String(UInt64(clamping: now.millisecondsSince1970), radix: 16)
        let digits = String(repeating: "0", count: dateByteCount - date.utf8.count) + date
        return digits + RandomText.make().dropFirst(dateByteCount)
    }

    /// Returns the date of a number; `nil` for one that no page has.
    static func date(of number: String) -> Instant? {
        guard number.utf8.count == RandomText.byteCount,
            number.utf8.allSatisfy({ 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }),
            let milliseconds = Int64(number.prefix(dateByteCount), radix: 16)
        else { return nil }
        return Instant(millisecondsSince1970: milliseconds)
    }
}
