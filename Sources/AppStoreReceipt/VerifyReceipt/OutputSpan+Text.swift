// Appends whole texts. The use of `unsafe` is safe: the capacity is checked, and the source is borrowed for the call. Byte by byte, an answer of
// 10,000 purchases takes three times as long.
extension OutputSpan<UInt8> {
    @inline(__always)
    mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { unsafe append(copying: $0) }
    }

    @inline(__always)
    mutating func append(_ text: Span<UInt8>) {
        unsafe text.withUnsafeBufferPointer { unsafe append(copying: $0) }
    }

    @inline(__always)
    @unsafe
    private mutating func append(copying source: UnsafeBufferPointer<UInt8>) {
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            let rest = unsafe UnsafeMutableBufferPointer(rebasing: buffer[count...])
            _ = unsafe rest.update(fromContentsOf: source)
            count += source.count
        }
    }

    /// Appends up to eight characters, the first in the lowest byte. There must be room for eight.
    @inline(__always)
    mutating func append(characters: UInt64, count characterCount: Int) {
        precondition(freeCapacity >= 8)
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[count...])
            unsafe rest.storeBytes(of: characters.littleEndian, as: UInt64.self)
            count += characterCount
        }
    }

    /// The decimal digits of a number, and a sign before them if it is negative. There must be room for 24 characters.
    @inline(__always)
    mutating func appendDigits(of value: Int64) {
        guard 0..<10_000_000_000_000_000 ~= value else {
            for character in String(value).utf8 { append(character) }
            return
        }
        let high = UInt64.decimalDigits(UInt64(value) / 100_000_000)
        let low = UInt64.decimalDigits(UInt64(value) % 100_000_000)
        let zeros: UInt64 = 0x3030_3030_3030_3030
        if high == 0 {
            // Keep the last digit, even if it is 0.
            let leading = min(low.trailingZeroBitCount / 8, 7)
            append(characters: (low | zeros) >> UInt64(8 * leading), count: 8 - leading)
        } else {
            let leading = high.trailingZeroBitCount / 8
            append(characters: (high | zeros) >> UInt64(8 * leading), count: 8 - leading)
            append(characters: low | zeros, count: 8)
        }
    }
}

extension UInt64 {
    /// The eight decimal digits of a number below 10⁸, each in a byte, the first in the lowest: divided by 10,000, then both halves at once
    /// by 100, then all four quarters by 10.
    @inline(__always)
    fileprivate static func decimalDigits(_ value: UInt64) -> UInt64 {
        let quotient = value / 10_000
        let halves = quotient | (value &- quotient &* 10_000) << 32
        let hundreds = (halves &* 10_486) >> 20 & 0x0000_007F_0000_007F
        let quarters = hundreds | (halves &- hundreds &* 100) << 16
        let tens = (quarters &* 103) >> 10 & 0x000F_000F_000F_000F
        return tens | (quarters &- tens &* 10) << 8
    }
}
