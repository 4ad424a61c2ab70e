// The only writer of tags, lengths and decimal digits.
extension [UInt8] {
    /// Appends identifier octets (X.690, 8.1.2).
    package mutating func append(_ tag: ASN1Tag) {
        let lead = UInt8(truncatingIfNeeded: tag.rawValue >> 24) & 0xE0
        let number = tag.number
        guard number >= 31 else { return append(lead | UInt8(number)) }
        append(lead | 0x1F)
        for shift in stride(from: 21 as UInt32, through: 0, by: -7) where number >> shift > 0 {
            append(UInt8(truncatingIfNeeded: number >> shift) & 0x7F | (shift > 0 ? 0x80 : 0))
        }
    }

    /// Appends the fewest length octets (X.690, 8.1.3 and 10.1).
    package mutating func append(length: Int) {
        let count = Self.lengthOctetCount(length) - 1
        guard count > 0 else { return append(UInt8(length)) }
        append(0x80 | UInt8(count))
        for shift in (0..<count).reversed() { append(UInt8(truncatingIfNeeded: length >> (shift * 8))) }
    }

    /// The number of octets that ``append(length:)`` appends.
    package static func lengthOctetCount(_ length: Int) -> Int {
        length < 0x80 ? 1 : 1 + (Int.bitWidth - length.leadingZeroBitCount + 7) / 8
    }

    /// Appends the last `count` decimal digits of a number that is not negative.
    package mutating func append(digits value: Int, _ count: Int) {
        var power = 1
        for _ in 1..<count { power *= 10 }
        while power > 0 {
            append(0x30 + UInt8(value / power % 10))
            power /= 10
        }
    }
}
