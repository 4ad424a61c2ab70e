public import LargeMemory

/// A writer of compact JSON (RFC 8259) into bytes, with keys in the order in which they are written.
///
/// It escapes strings where the RFC requires it, and every ``HiddenCharacter``. The caller must end every object and
/// array.
public struct JSONWriter: ~Copyable {
    @inlinable public var bytes: [UInt8] { written }
    @usableFromInline var written: [UInt8]
    /// Whether a value precedes the next one.
    @usableFromInline var needsComma = false

    /// - Parameters:
    ///   - capacity: The number of bytes to reserve.
    ///   - likelyCount: The number of bytes that will probably be written.
    public init(capacity: Int = 0, likelyCount: Int = 0) {
        written = []
        written.reserveLargeCapacity(capacity, likelyCount: likelyCount)
    }

    /// Removes the written bytes, and keeps their memory.
    public mutating func removeAll() {
        written.removeAll(keepingCapacity: true)
        needsComma = false
    }

    /// Ends the line after a complete value. Another value may follow.
    public mutating func endLine() {
        written.append(.lineFeed)
        needsComma = false
    }

    // MARK: Containers

    @inlinable
    public mutating func beginObject() { begin(UInt8(ascii: "{")) }
    @inlinable
    public mutating func endObject() { end(UInt8(ascii: "}")) }
    @inlinable
    public mutating func beginArray() { begin(UInt8(ascii: "[")) }
    @inlinable
    public mutating func endArray() { end(UInt8(ascii: "]")) }

    @inlinable
    mutating func begin(_ byte: UInt8) {
        if written.count >= LargeMemory.minimumByteCount { growEarly() }
        separate()
        written.append(byte)
        needsComma = false
    }

    /// Grows the buffer before it is full, to get huge pages.
    @usableFromInline
    mutating func growEarly() {
        if written.capacity - written.count < written.count / 16 {
            written.reserveLargeCapacity(2 * written.count, likelyCount: 2 * written.count)
        }
    }

    @inlinable
    mutating func end(_ byte: UInt8) {
        written.append(byte)
        needsComma = true
    }

    @inlinable
    mutating func separate() {
        if needsComma { written.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    // MARK: Names

    /// Writes the name of the next member, which must not need escapes.
    @inlinable
    public mutating func name(_ name: StaticString) {
        separate()
        needsComma = false
        written.append(.quotationMark)
        append(name)
        written.append(.quotationMark)
        written.append(UInt8(ascii: ":"))
    }

    /// Writes the name of the next member.
    public mutating func name(utf8 name: Span<UInt8>) {
        string(utf8: name)
        needsComma = false
        written.append(UInt8(ascii: ":"))
    }

    // MARK: Members

    public mutating func member(_ name: StaticString, _ value: String) {
        self.name(name)
        string(value)
    }

    /// Writes a member, if it has a value.
    public mutating func member(_ name: StaticString, ifAny value: String?) {
        if let value { member(name, value) }
    }

    /// Writes a member whose value needs no escapes.
    public mutating func member(_ name: StaticString, _ value: StaticString) {
        self.name(name)
        string(value)
    }

    // Inlinable for speed: each unknown attribute of a receipt has two.
    @inlinable
    public mutating func member(_ name: StaticString, _ value: some FixedWidthInteger) {
        self.name(name)
        integer(Int64(clamping: value))
    }

    public mutating func member(_ name: StaticString, _ value: Bool) {
        self.name(name)
        bool(value)
    }

    /// Writes a member whose value is an array of strings.
    public mutating func member(_ name: StaticString, _ values: [String]) {
        self.name(name)
        beginArray()
        for value in values { string(value) }
        endArray()
    }

    /// Writes a member whose value is an object.
    public mutating func object(_ name: StaticString, _ writeMembers: (inout JSONWriter) -> Void) {
        self.name(name)
        beginObject()
        writeMembers(&self)
        endObject()
    }

    /// Writes a member whose value is an array of objects.
    public mutating func objects<Element>(
        _ name: StaticString, _ elements: some Sequence<Element>, _ writeMembers: (inout JSONWriter, Element) -> Void
    ) {
        self.name(name)
        beginArray()
        for element in elements {
            beginObject()
            writeMembers(&self, element)
            endObject()
        }
        endArray()
    }

    // MARK: Values

    public mutating func string(_ value: String) { value.withUTF8Bytes { string(utf8: $0) } }

    /// Writes a string that needs no escapes.
    public mutating func string(_ value: StaticString) {
        separate()
        written.append(.quotationMark)
        append(value)
        written.append(.quotationMark)
    }

    /// Writes a string from its UTF-8, which must be valid.
    public mutating func string(utf8 value: Span<UInt8>) {
        separate()
        written.append(.quotationMark)
        var start = 0
        while true {
            var end = value.endOfPlainASCII(from: start)
            var hidden: HiddenCharacter?
            while end < value.count, value[end] >= 0x7F {
                hidden = HiddenCharacter(value, at: end)
                guard hidden == nil else { break }
                end += 1
                if end < value.count, value[end] < 0x80 { end = value.endOfPlainASCII(from: end) }
            }
            append(value.extracting(start..<end))
            guard end < value.count else { break }
            if let hidden {
                appendEscape(of: hidden.codeUnit)
                start = end + hidden.byteCount
            } else {
                appendEscape(of: value[end])
                start = end + 1
            }
        }
        written.append(.quotationMark)
    }

    /// Writes a string of ASCII that needs no escapes. `body` appends at most `capacity` characters.
    public mutating func string(capacity: Int, _ body: (inout OutputSpan<UInt8>) -> Void) {
        separate()
        written.append(.quotationMark)
        written.append(addingCapacity: capacity, initializingWith: body)
        written.append(.quotationMark)
    }

    public mutating func integer(_ value: Int64) {
        separate()
        appendDigits(of: value)
    }

    public mutating func bool(_ value: Bool) { literal(value ? "true" : "false") }
    public mutating func null() { literal("null") }

    /// Writes JSON: a value, or members without a comma at the end.
    public mutating func literal(_ value: StaticString) {
        separate()
        append(value)
    }

    /// Writes a value in JSON.
    public mutating func raw(_ value: Span<UInt8>) {
        separate()
        append(value)
    }

    /// Writes a value in JSON without the whitespace between its tokens, and escapes hidden characters in its strings.
    public mutating func compact(_ value: Span<UInt8>) {
        separate()
        var isInString = false
        // The start of the bytes not yet written.
        var start = 0
        var position = 0
        while position < value.count {
            let byte = value[position]
            if isInString {
                switch byte {
                case .quotationMark: isInString = false
                case .backslash: position += 1
                case 0x7F...0xFF:
                    if let hidden = HiddenCharacter(value, at: position) {
                        append(value.extracting(start..<position))
                        appendEscape(of: hidden.codeUnit)
                        position += hidden.byteCount
                        start = position
                        continue
                    }
                default:
                    position = value.endOfPlainASCII(from: position + 1)
                    continue
                }
            } else if byte == .quotationMark {
                isInString = true
            } else if byte.isWhitespace {
                append(value.extracting(start..<position))
                start = position + 1
            }
            position += 1
        }
        append(value.extracting(start..<value.count))
    }

    /// Writes JSON without a comma before it, and escapes hidden characters, which only strings can have.
    private mutating func appendJSON(_ json: Span<UInt8>) {
        var start = 0
        var position = json.firstIndex(from: 0) { $0 >= 0x7F }
        while position < json.count {
            guard let hidden = HiddenCharacter(json, at: position) else {
                position = json.firstIndex(from: position + 1) { $0 >= 0x7F }
                continue
            }
            append(json.extracting(start..<position))
            appendEscape(of: hidden.codeUnit)
            start = position + hidden.byteCount
            position = json.firstIndex(from: start) { $0 >= 0x7F }
        }
        append(json.extracting(start...))
    }

    /// Writes JSON that `body` appends, at most `capacity` bytes: a value, or members without a comma at the end.
    @inlinable
    public mutating func raw(capacity: Int, _ body: (inout OutputSpan<UInt8>) -> Void) {
        separate()
        written.append(addingCapacity: capacity, initializingWith: body)
    }

    /// Writes a member in JSON: a name in quotation marks, and a value, which loses the whitespace between its tokens
    /// if it has line breaks. Hidden characters in strings are escaped.
    public mutating func member(rawName name: Span<UInt8>, rawValue value: Span<UInt8>) {
        separate()
        appendJSON(name)
        written.append(UInt8(ascii: ":"))
        let lineBreak = value.firstIndex(from: 0) { $0 == .lineFeed || $0 == .carriageReturn }
        guard lineBreak < value.count else { return appendJSON(value) }
        needsComma = false
        compact(value)
    }

    // Safe: the buffer is valid inside the closure, and `append` copies it. Byte by byte through an OutputSpan, a name
    // takes 10 ns instead of 4.

    /// Writes characters of a string without its quotation marks, or other text, without a comma before them.
    @inlinable
    public mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { unsafe written.append(contentsOf: $0) }
    }

    /// Writes characters of a string without its quotation marks, or other text, without a comma before them.
    @inlinable
    public mutating func append(_ text: Span<UInt8>) {
        unsafe text.withUnsafeBufferPointer { unsafe written.append(contentsOf: $0) }
    }

    /// Writes the decimal digits of a value, without a comma before them.
    public mutating func appendDigits(of value: Int64) {
        written.append(addingCapacity: 20) { output in
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
        default: appendEscape(of: UInt16(byte))
        }
    }

    /// `\uXXXX`
    private mutating func appendEscape(of codeUnit: UInt16) {
        append("\\u")
        for shift: UInt16 in [12, 8, 4, 0] {
            let digit = UInt8(truncatingIfNeeded: codeUnit >> shift & 0xF)
            written.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }
}

extension Span<UInt8> {
    /// Returns the index of the first byte from `start` on that meets a condition; `count` if there is none.
    @inline(__always)
    fileprivate func firstIndex(from start: Int, where condition: (UInt8) -> Bool) -> Int {
        var position = start
        // The inner loop has no early exit, so the compiler vectorizes it.
        while count - position >= 32 {
            let chunk = extracting(position..<position + 32)
            var found: UInt8 = 0
            for index in 0..<32 { found |= condition(chunk[index]) ? 1 : 0 }
            guard found == 0 else { break }
            position += 32
        }
        while position < count, !condition(self[position]) { position += 1 }
        return position
    }
}
