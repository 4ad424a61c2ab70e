import Instants

/// The number that makes a form take effect only once: the date its page was made, and random bits.
enum FormNumber {
    /// The maximum age of a form. An older one may show outdated information.
    static let maximumAge = Duration.seconds(3600)
    private static let dateByteCount = 16

    static func make(at now: Instant) -> String {
        let date = String(UInt64(clamping: now.millisecondsSince1970), radix: 16)
        let digits = String(repeating: "0", count: dateByteCount - date.utf8.count) + date
        return digits + RandomText.make().dropFirst(dateByteCount)
    }

    /// Returns the date in a form's number, or `nil` if the number has a different format.
    static func date(of number: String) -> Instant? {
        guard number.utf8.count == RandomText.byteCount,
            number.utf8.allSatisfy({ 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }),
            let milliseconds = Int64(number.prefix(dateByteCount), radix: 16)
        else { return nil }
        return Instant(millisecondsSince1970: milliseconds)
    }
}
