import StrictText

/// A writer of text into memory for which the caller knows a maximum size.
///
/// The use of `unsafe` is safe: `start`, `next` and `end` are in one buffer, which is valid as long as the writer, and
/// every function checks that what it writes is between `start` and `end`. The pointers stay in registers, which those
/// of an `OutputSpan` do not.
@safe
struct TextWriter: ~Copyable {
    private let start, end: UnsafeMutableRawPointer
    private var next: UnsafeMutableRawPointer

    /// - Parameters:
    ///   - start: the start of memory that must be valid as long as the writer.
    ///   - count: the size of the memory.
    @unsafe
    fileprivate init(start: UnsafeMutableRawPointer, count: Int) {
        unsafe (self.start, end, next) = (start, start + count, start)
    }

    /// The number of bytes that are written.
    fileprivate var count: Int { unsafe next - start }

    @inline(__always)
    private func requireRoom(_ byteCount: Int) { unsafe precondition(end - next >= byteCount) }

    @inline(__always)
    mutating func append(_ text: StaticString) {
        unsafe append(text.utf8Start, text.utf8CodeUnitCount)
    }

    /// Appends a text without its last `count` characters.
    mutating func append(_ text: StaticString, droppingLast count: Int) {
        precondition(0...text.utf8CodeUnitCount ~= count)
        unsafe append(text.utf8Start, text.utf8CodeUnitCount - count)
    }

    /// Appends the last `count` characters of a text.
    mutating func append(_ text: StaticString, last count: Int) {
        precondition(0...text.utf8CodeUnitCount ~= count)
        unsafe append(text.utf8Start + (text.utf8CodeUnitCount - count), count)
    }

    @inline(__always)
    mutating func append(_ text: Span<UInt8>) {
        unsafe text.withUnsafeBufferPointer { source in
            guard let base = source.baseAddress else { return }
            unsafe append(base, source.count)
        }
    }

    @unsafe
    @inline(__always)
    private mutating func append(_ source: UnsafePointer<UInt8>, _ byteCount: Int) {
        requireRoom(byteCount)
        unsafe next.copyMemory(from: source, byteCount: byteCount)
        unsafe next += byteCount
    }

    /// Appends text if all of it is ASCII that stands for itself in a JSON string; otherwise, returns `false`.
    @inline(__always)
    mutating func appendIfPlain(_ text: Span<UInt8>) -> Bool {
        let count = text.count
        requireRoom(count)
        guard count >= 8 else {
            guard text.endOfPlainASCII(from: 0) == count else { return false }
            append(text)
            return true
        }
        var specials: UInt64 = 0
        var offset = 0
        // The last word overlaps the one before it.
        while true {
            let word = text.word(at: offset)
            specials |= word.specialsOfJSON
            unsafe next.storeBytes(of: word, toByteOffset: offset, as: UInt64.self)
            guard offset < count &- 8 else { break }
            offset = min(offset &+ 8, count &- 8)
        }
        guard specials == 0 else { return false }
        unsafe next += count
        return true
    }

    /// Writes a value, its lowest byte first, over bytes that begin `distance` before the end of what is written.
    @inline(__always)
    mutating func replace<Value: FixedWidthInteger & BitwiseCopyable>(_ distance: Int, with value: Value) {
        precondition(distance >= MemoryLayout<Value>.size && distance <= count)
        unsafe (next - distance).storeBytes(of: value.littleEndian, as: Value.self)
    }

    /// Writes the ten decimal digits of a number below 10¹⁰ over characters that begin `distance` before the end of
    /// what is written.
    @inline(__always)
    mutating func replace(_ distance: Int, with10Digits value: UInt64) {
        let high = value / 100_000_000
        let tens = high / 10
        replace(distance, with: UInt16(truncatingIfNeeded: tens | (high &- tens &* 10) << 8) | 0x3030)
        replace(distance &- 2, with: .decimalDigits(value &- high &* 100_000_000) | 0x3030_3030_3030_3030)
    }

    /// Writes the three decimal digits of a number below 1000 over characters that begin `distance` before the end of
    /// what is written.
    mutating func replace(_ distance: Int, with3Digits value: UInt64) {
        replace(distance, with: UInt8(truncatingIfNeeded: value / 100) | 0x30)
        replace(distance - 1, with: UInt8(truncatingIfNeeded: value / 10 % 10) | 0x30)
        replace(distance - 2, with: UInt8(truncatingIfNeeded: value % 10) | 0x30)
    }

    /// The decimal digits of a number, and a sign before them if it is negative. There must be room for 24 characters.
    @inline(__always)
    mutating func appendDigits(of value: Int64) {
        // Most quantities have one digit.
        if 0..<10 ~= value {
            requireRoom(1)
            unsafe next.storeBytes(of: UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: value), as: UInt8.self)
            unsafe next += 1
            return
        }
        guard 0..<10_000_000_000_000_000 ~= value else { return String(value).withUTF8Bytes { append($0) } }
        let (high, low) = UInt64(truncatingIfNeeded: value).quotientAndRemainder(dividingBy: 100_000_000)
        let digits = UInt128(_low: .decimalDigits(high), _high: .decimalDigits(low))
        let leading = digits.trailingZeroBitCount / 8
        let zeros = UInt128(_low: 0x3030_3030_3030_3030, _high: 0x3030_3030_3030_3030)
        requireRoom(16)
        let characters = (digits | zeros) &>> UInt128(truncatingIfNeeded: 8 &* leading)
        unsafe next.storeBytes(of: characters.littleEndian, as: UInt128.self)
        unsafe next += 16 &- leading
    }
}

extension OutputSpan<UInt8> {
    /// Appends the text that `body` writes.
    @inline(__always)
    mutating func write(_ body: (inout TextWriter) -> Void) {
        unsafe withUnsafeMutableBufferPointer { buffer, count in
            guard let base = buffer.baseAddress else { return }
            var writer = unsafe TextWriter(start: UnsafeMutableRawPointer(base + count), count: buffer.count - count)
            body(&writer)
            count += writer.count
        }
    }
}

extension UInt64 {
    /// The eight decimal digits of a number below 10⁸, each in a byte, the first in the lowest: divided by 10,000, then
    /// both halves at once by 100, then all four quarters by 10.
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
