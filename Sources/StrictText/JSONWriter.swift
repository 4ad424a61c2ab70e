/// Writes compact JSON (RFC 8259) into bytes, keys in the order given.
///
/// Strings are escaped where the RFC demands it and nowhere else. It is the caller's task to end what was begun.
package struct JSONWriter: ~Copyable {
    package private(set) var bytes: [UInt8]
    /// A value stands before the place where the next one goes.
    private var needsComma = false

    package init(capacity: Int = 0) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    /// Forgets what was written, but keeps its memory.
    package mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        needsComma = false
    }

    /// Ends the line after a whole value: another may follow.
    package mutating func endLine() {
        bytes.append(.lineFeed)
        needsComma = false
    }

    // MARK: Containers

    package mutating func beginObject() { begin(UInt8(ascii: "{")) }
    package mutating func endObject() { end(UInt8(ascii: "}")) }
    package mutating func beginArray() { begin(UInt8(ascii: "[")) }
    package mutating func endArray() { end(UInt8(ascii: "]")) }

    private mutating func begin(_ byte: UInt8) {
        separate()
        bytes.append(byte)
        needsComma = false
    }

    private mutating func end(_ byte: UInt8) {
        bytes.append(byte)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    // MARK: Names

    /// The name of the next member, which must have nothing to be escaped.
    package mutating func name(_ name: StaticString) {
        separate()
        needsComma = false
        bytes.append(.quotationMark)
        append(name)
        bytes.append(.quotationMark)
        bytes.append(UInt8(ascii: ":"))
    }

    /// The name of the next member.
    package mutating func name(utf8 name: Span<UInt8>) {
        string(utf8: name)
        needsComma = false
        bytes.append(UInt8(ascii: ":"))
    }

    // MARK: Values

    package mutating func string(_ value: String) { string(utf8: value.utf8Span.span) }

    /// A string, of which nothing is to be escaped.
    package mutating func string(_ value: StaticString) {
        separate()
        bytes.append(.quotationMark)
        append(value)
        bytes.append(.quotationMark)
    }

    /// A string from its UTF-8, which must be valid.
    package mutating func string(utf8 value: Span<UInt8>) {
        separate()
        bytes.append(.quotationMark)
        var start = 0
        while true {
            var end = value.endOfPlainASCII(from: start)
            while end < value.count, value[end] >= 0x80 { end = value.endOfPlainASCII(from: end + 1) }
            append(value.extracting(start..<end))
            guard end < value.count else { break }
            appendEscape(of: value[end])
            start = end + 1
        }
        bytes.append(.quotationMark)
    }

    /// A string of ASCII, of which nothing is to be escaped: at most `capacity` characters, which `body` appends.
    package mutating func string(capacity: Int, _ body: (inout OutputSpan<UInt8>) -> Void) {
        separate()
        bytes.append(.quotationMark)
        bytes.append(addingCapacity: capacity, initializingWith: body)
        bytes.append(.quotationMark)
    }

    package mutating func integer(_ value: Int64) {
        separate()
        appendDigits(of: value)
    }

    package mutating func bool(_ value: Bool) { literal(value ? "true" : "false") }
    package mutating func null() { literal("null") }

    /// A value, or members without their commas, that is JSON already.
    package mutating func literal(_ value: StaticString) {
        separate()
        append(value)
    }

    /// A value that is JSON already.
    package mutating func raw(_ value: Span<UInt8>) {
        separate()
        append(value)
    }

    /// A value that is JSON already, without the whitespace between its tokens.
    package mutating func compact(_ value: Span<UInt8>) {
        raw(capacity: value.count) { output in
            var isInString = false
            var isEscaped = false
            for index in value.indices {
                let byte = value[index]
                guard isInString || !byte.isWhitespace else { continue }
                output.append(byte)
                if isEscaped {
                    isEscaped = false
                } else if byte == .quotationMark {
                    isInString.toggle()
                } else {
                    isEscaped = isInString && byte == .backslash
                }
            }
        }
    }

    /// A value, or members without the comma after the last, that is JSON already: at most `capacity` bytes, which `body` appends.
    package mutating func raw(capacity: Int, _ body: (inout OutputSpan<UInt8>) -> Void) {
        separate()
        bytes.append(addingCapacity: capacity, initializingWith: body)
    }

    /// A member whose name, with its quotation marks, and value are JSON already. It stays on one line: a value with line breaks between its
    /// tokens loses the whitespace there.
    package mutating func member(rawName name: Span<UInt8>, rawValue value: Span<UInt8>) {
        separate()
        append(name)
        bytes.append(UInt8(ascii: ":"))
        // Without a way out of the loop, which the compiler then does many bytes at a time.
        var hasLineBreak = false
        for index in value.indices where value[index] == .lineFeed || value[index] == .carriageReturn {
            hasLineBreak = true
        }
        guard hasLineBreak else { return append(value) }
        needsComma = false
        compact(value)
    }

    // In both functions the buffer is valid inside the closure, and `append` copies it. Without `unsafe`, byte by byte through an
    // OutputSpan, a name takes 10 ns instead of 4.

    /// Characters of a string without its quotation marks, or anything else, with no comma before them.
    package mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { unsafe bytes.append(contentsOf: $0) }
    }

    /// Characters of a string without its quotation marks, or anything else, with no comma before them.
    package mutating func append(_ text: Span<UInt8>) {
        unsafe text.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
    }

    /// The decimal digits of `value`, with no comma before them.
    package mutating func appendDigits(of value: Int64) {
        bytes.append(addingCapacity: 20) { output in
            var rest = value.magnitude
            repeat {
                output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
                rest /= 10
            } while rest > 0
            if value < 0 { output.append(UInt8(ascii: "-")) }
            var first = 0
            var last = output.count - 1
            while first < last {
                output.swapAt(first, last)
                first += 1
                last -= 1
            }
        }
    }

    private mutating func appendEscape(of byte: UInt8) {
        switch byte {
        case .quotationMark: append("\\\"")
        case .backslash: append("\\\\")
        case .lineFeed: append("\\n")
        case .carriageReturn: append("\\r")
        case .tab: append("\\t")
        default:
            append("\\u00")
            bytes.append(UInt8(ascii: "0") + byte >> 4)
            bytes.append(byte & 0xF < 10 ? UInt8(ascii: "0") + byte & 0xF : UInt8(ascii: "a") + byte & 0xF - 10)
        }
    }
}
