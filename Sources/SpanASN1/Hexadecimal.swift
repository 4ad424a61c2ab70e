/// Bytes as hexadecimal digits.
package enum Hexadecimal {
    /// The lower-case digit of a number below 16.
    package static func digit(_ nibble: UInt8) -> UInt8 { nibble < 10 ? 0x30 + nibble : 0x57 + nibble }

    package static func text(_ bytes: Span<UInt8>, separator: String = "") -> String {
        var digits: [UInt8] = []
        digits.reserveCapacity(bytes.count * (2 + separator.utf8.count))
        for index in bytes.indices {
            if index > 0 { digits.append(contentsOf: separator.utf8) }
            digits.append(digit(bytes[index] >> 4))
            digits.append(digit(bytes[index] & 0xF))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// The bytes of pairs of digits, in either case; `nil` for anything else.
    package static func bytes(_ digits: [UInt8]) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46, 0x61...0x66: (digit | 0x20) - 0x57
        default: nil
        }
    }
}
