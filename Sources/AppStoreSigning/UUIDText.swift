import SpanASN1

/// UUIDs as texts (RFC 9562, 4).
enum UUIDText {
    /// A random one (version 4), in lower case, from the system's generator.
    static func random() -> String {
        var generator = SystemRandomNumberGenerator()
        let high = generator.next() & ~0xF000 | 0x4000
        let low = generator.next() & ~(3 << 62) | 1 << 63
        var text: [UInt8] = []
        for index in 0..<16 {
            if hyphens.contains(text.count) { text.append(UInt8(ascii: "-")) }
            let half = index < 8 ? high : low
            let byte = UInt8(truncatingIfNeeded: half >> UInt64(56 - 8 * (index % 8)))
            text += [Hexadecimal.digit(byte >> 4), Hexadecimal.digit(byte & 0xF)]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// A UUID in lower case; `nil` for a text that is none.
    static func lowercased(_ text: String) -> String? {
        var bytes = Array(text.utf8)
        guard bytes.count == 36 else { return nil }
        for index in bytes.indices {
            switch bytes[index] {
            case UInt8(ascii: "-") where hyphens.contains(index): break
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"):
                if hyphens.contains(index) { return nil }
            case UInt8(ascii: "A")...UInt8(ascii: "F"):
                if hyphens.contains(index) { return nil }
                bytes[index] |= 0x20
            default: return nil
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Where the hyphens are.
    private static let hyphens = [8, 13, 18, 23]
}
