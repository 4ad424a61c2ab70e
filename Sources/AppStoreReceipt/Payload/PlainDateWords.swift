import Instants

/// The 20 octets of a date; the first octet of a word is its lowest byte.
struct PlainDateWords: BitwiseCopyable {
    var first, second: UInt64
    var third: UInt32
}

extension Instant {
    /// A date in the most common format, `YYYY-MM-DDThh:mm:ssZ`, 20 octets; `nil` for all others, valid or not.
    @inline(__always)
    init?(plain text: PlainDateWords) {
        // The exclusive or is 0–9 for a digit and 0 for the right separator.
        let first = text.first ^ 0x2D30_302D_3030_3030  // YYYY-MM-
        let second = text.second ^ 0x3030_3A30_3054_3030  // DDThh:mm
        let third = text.third ^ 0x5A30_303A  // :ssZ
        let wrong =
            first | (first &+ 0x7F76_767F_7676_7676) | second | (second &+ 0x7676_7F76_767F_7676)
            | UInt64(third | (third &+ 0x7F76_767F))
        guard wrong & 0x8080_8080_8080_8080 == 0 else { return nil }
        // Ten times each digit plus the next one: the first byte of each pair then has its value.
        let (firstPairs, secondPairs, thirdPairs) = (first.digitPairs, second.digitPairs, UInt64(third).digitPairs)
        self.init(
            century: UInt(bitPattern: firstPairs.byte(0)), yearOfCentury: UInt(bitPattern: firstPairs.byte(2)),
            month: firstPairs.byte(5), day: secondPairs.byte(0), hour: secondPairs.byte(3),
            minute: secondPairs.byte(6), second: thirdPairs.byte(1), millisecond: 0)
    }
}

extension UInt64 {
    fileprivate var digitPairs: UInt64 { self &* 10 &+ self >> 8 }
    fileprivate func byte(_ index: UInt64) -> Int { Int(self >> (8 &* index) & 0xFF) }
}
