/// Validates text without copying it.
enum UTF8Validation {
    /// Whether there are only octets below 0x80.
    static func isASCII(_ bytes: Span<UInt8>) -> Bool {
        let count = bytes.count
        return endOfASCII(bytes, from: 0, count) == count
    }

    /// Whether this is well-formed UTF-8 (Unicode, table 3-7).
    static func isWellFormed(_ bytes: Span<UInt8>) -> Bool {
        let count = bytes.count
        var index = endOfASCII(bytes, from: 0, count)
        while index < count {
            let lead = bytes[index]
            if lead < 0x80 {
                index = endOfASCII(bytes, from: index, count)
                continue
            }
            // The second octet's range excludes overlong forms, surrogates and values above U+10FFFF.
            let length: Int
            let second: ClosedRange<UInt8>
            switch lead {
            case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
            case 0xE0: (length, second) = (3, 0xA0...0xBF)
            case 0xED: (length, second) = (3, 0x80...0x9F)
            case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
            case 0xF0: (length, second) = (4, 0x90...0xBF)
            case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
            case 0xF4: (length, second) = (4, 0x80...0x8F)
            default: return false
            }
            guard length <= count - index, second ~= bytes[index + 1] else { return false }
            for offset in 2..<max(length, 2) where bytes[index + offset] & 0xC0 != 0x80 { return false }
            index += length
        }
        return true
    }

    /// The index of the first octet from `start` on that is not ASCII.
    @inline(__always)
    private static func endOfASCII(_ bytes: Span<UInt8>, from start: Int, _ count: Int) -> Int {
        var index = start
        while count &- index >= 8 {
            let low = bytes[index] | bytes[index &+ 1] | bytes[index &+ 2] | bytes[index &+ 3]
            let high = bytes[index &+ 4] | bytes[index &+ 5] | bytes[index &+ 6] | bytes[index &+ 7]
            guard low | high < 0x80 else { break }
            index &+= 8
        }
        while index < count, bytes[index] < 0x80 { index &+= 1 }
        return index
    }
}

extension Array where Element == UInt8 {
    /// A copy of borrowed bytes.
    package init(copying bytes: Span<UInt8>) {
        self.init(capacity: bytes.count) { output in
            for index in bytes.indices { output.append(bytes[index]) }
        }
    }
}
