/// A strict reader of values from a borrowed JSON text (RFC 8259, in UTF-8), one after the other.
///
/// It accepts only what the RFC defines. It builds no tree, has no recursion whose depth the input decides, and also
/// checks values that are skipped. All offsets are bytes from the start of the text.
public struct JSONCursor: ~Escapable {
    private let text: Span<UInt8>
    private var position: Int

    /// The position of the next character, in bytes from the start of the text.
    public var offset: Int { position }

    /// The maximum depth of arrays and objects in a value that is skipped.
    public static let maximumDepth = 64

    /// Creates a cursor at byte `start` of `text`.
    @_lifetime(copy text)
    public init(_ text: Span<UInt8>, from start: Int = 0) {
        self.text = text
        position = start
    }

    /// Moves to the end of a value that a copy of this cursor has read.
    public mutating func move(to offset: Int) { position = offset }

    /// Reads a whole text from byte `start`: one value, with whitespace around it.
    ///
    /// - Throws: The error that `body` throws; `trailing-data` if `body` leaves anything except whitespace unread.
    public static func decode<Result>(
        _ text: Span<UInt8>, from start: Int = 0,
        _ body: (inout JSONCursor) throws(JSONError) -> Result
    ) throws(JSONError) -> Result {
        var cursor = JSONCursor(text, from: start)
        let result = try body(&cursor)
        cursor.skipWhitespace()
        guard cursor.position == text.count else { throw JSONError(.trailingData, offset: cursor.position) }
        return result
    }

    // MARK: Values

    /// The type of the next value, by its first character.
    public mutating func peekType() throws(JSONError) -> JSONType {
        skipWhitespace()
        switch try current() {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case .quotationMark: return .string
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .boolean
        case UInt8(ascii: "n"): return .null
        default: throw JSONError(.unexpectedCharacter, offset: position)
        }
    }

    /// Reads an object, and calls `body` with each name. `body` may read the value; otherwise the value is skipped.
    ///
    /// Repeated names are not detected.
    public mutating func readObject(
        _ body: (inout JSONCursor, JSONString) throws(JSONError) -> Void
    ) throws(JSONError) {
        try begin(.object)
        if consume(UInt8(ascii: "}")) { return }
        repeat {
            let name = try readName()
            try readOrSkip { (cursor) throws(JSONError) in try body(&cursor, name) }
        } while try continues(until: UInt8(ascii: "}"))
    }

    /// Reads an object, and calls `body` with each member in `members`. `body` may read the value; otherwise the value
    /// is skipped.
    ///
    /// - Throws: `duplicate-member` at the second name of a repeated member in `members`.
    public mutating func readObject<Member>(
        of members: JSONMembers<Member>, _ body: (inout JSONCursor, Member) throws(JSONError) -> Void
    ) throws(JSONError) {
        var seen: UInt64 = 0
        try readObject { (cursor, name) throws(JSONError) in
            guard let index = members.index(of: name) else { return }
            guard seen >> index & 1 == 0 else { throw JSONError(.duplicateMember, offset: name.offset) }
            seen |= 1 << index
            try body(&cursor, members[index])
        }
    }

    /// Reads an array, and calls `body` before each element. `body` may read the element; otherwise the element is
    /// skipped.
    public mutating func readArray(
        _ body: (inout JSONCursor) throws(JSONError) -> Void
    ) throws(JSONError) {
        try begin(.array)
        if consume(UInt8(ascii: "]")) { return }
        repeat { try readOrSkip(body) } while try continues(until: UInt8(ascii: "]"))
    }

    /// Reads a string, and checks that it is valid UTF-8 without control characters and lone surrogates.
    @_lifetime(copy self)
    public mutating func readString() throws(JSONError) -> JSONString { try readString(afterPlain: 0) }

    /// Returns the text after the quotation mark with which the next value begins.
    @_lifetime(copy self)
    public mutating func startOfString() throws(JSONError) -> Span<UInt8> {
        try expect(.string)
        return text.extracting((position + 1)...)
    }

    /// Reads a string like ``readString()``. The first `count` characters of ``startOfString()`` are known to stand for
    /// themselves.
    @_lifetime(copy self)
    public mutating func readString(afterPlain count: Int) throws(JSONError) -> JSONString {
        try expect(.string)
        let start = position + 1
        var end = start + count
        var hasEscapes = false
        var isASCII = true
        while true {
            end = text.endOfPlainASCII(from: end)
            guard end < text.count else { throw JSONError(.truncated, offset: end) }
            switch text[end] {
            case .quotationMark:
                let content = text.extracting(start..<end)
                if !isASCII {
                    do {
                        _ = try UTF8Span(validating: content)
                    } catch {
                        throw JSONError(.invalidUTF8, offset: start + error.byteOffsets.lowerBound)
                    }
                }
                position = end + 1
                return JSONString(content, offset: start - 1, hasEscapes: hasEscapes)
            case .backslash:
                hasEscapes = true
                guard let escape = JSONEscape(text, at: end) else { throw JSONError(.invalidEscape, offset: end) }
                end += escape.byteCount
            case 0x7F...0xFF:
                while end < text.count, text[end] >= 0x7F {
                    isASCII = isASCII && text[end] == 0x7F
                    end += 1
                }
            default:
                throw JSONError(.invalidString, offset: end)
            }
        }
    }

    /// Reads a number.
    @_lifetime(copy self)
    public mutating func readNumber() throws(JSONError) -> JSONNumber {
        try expect(.number)
        let start = position
        let isInteger = try scanNumber()
        return JSONNumber(text.extracting(start..<position), offset: start, isInteger: isInteger)
    }

    /// Reads a number as an integer. See ``JSONNumber/int64()``.
    public mutating func readInt64() throws(JSONError) -> Int64 { try readNumber().int64() }

    public mutating func readBool() throws(JSONError) -> Bool {
        try expect(.boolean)
        let value = text[position] == UInt8(ascii: "t")
        try scanLiteral(value ? "true" : "false")
        return value
    }

    /// Reads `null` if it is the next value. Otherwise it reads nothing and returns `false`.
    public mutating func readIfNull() throws(JSONError) -> Bool {
        guard try peekType() == .null else { return false }
        try scanLiteral("null")
        return true
    }

    /// Skips the next value, and checks it, in linear time and without recursion.
    ///
    /// - Returns: The range of the value in the text.
    /// - Throws: `nesting-too-deep` beyond ``maximumDepth`` levels.
    @discardableResult
    public mutating func skipValue() throws(JSONError) -> Range<Int> {
        skipWhitespace()
        let start = position
        // The containers that are open, the innermost in the lowest bit: 1 for an object.
        var containers: UInt64 = 0
        var depth = 0
        while true {
            let type = try peekType()
            switch type {
            case .object, .array:
                guard depth < Self.maximumDepth else { throw JSONError(.nestingTooDeep, offset: position) }
                position += 1
                if !consume(type == .object ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    containers = containers << 1 | (type == .object ? 1 : 0)
                    depth += 1
                    if type == .object { _ = try readName() }
                    continue
                }
            case .string: _ = try readString()
            case .number: _ = try scanNumber()
            case .boolean: _ = try readBool()
            case .null: try scanLiteral("null")
            }
            // After a value: leave all containers that end here.
            while true {
                guard depth > 0 else { return start..<position }
                let isObject = containers & 1 == 1
                if try continues(until: isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
                    if isObject { _ = try readName() }
                    break
                }
                containers >>= 1
                depth -= 1
            }
        }
    }

    // MARK: Syntax

    private func current() throws(JSONError) -> UInt8 {
        guard position < text.count else { throw JSONError(.truncated, offset: position) }
        return text[position]
    }

    private mutating func skipWhitespace() {
        while position < text.count, text[position].isWhitespace { position += 1 }
    }

    private mutating func expect(_ type: JSONType) throws(JSONError) {
        guard try peekType() == type else { throw JSONError(.unexpectedType, offset: position) }
    }

    private mutating func begin(_ container: JSONType) throws(JSONError) {
        try expect(container)
        position += 1
    }

    private mutating func consume(_ byte: UInt8) -> Bool {
        skipWhitespace()
        guard position < text.count, text[position] == byte else { return false }
        position += 1
        return true
    }

    /// Reads what follows a value in a container: `true` for a comma, `false` for the end of the container.
    private mutating func continues(until end: UInt8) throws(JSONError) -> Bool {
        if consume(UInt8(ascii: ",")) { return true }
        guard try current() == end else { throw JSONError(.unexpectedCharacter, offset: position) }
        position += 1
        return false
    }

    /// Reads the name of a member and the colon.
    @_lifetime(copy self)
    private mutating func readName() throws(JSONError) -> JSONString {
        skipWhitespace()
        guard try current() == .quotationMark else { throw JSONError(.unexpectedCharacter, offset: position) }
        let name = try readString()
        guard consume(UInt8(ascii: ":")) else {
            _ = try current()
            throw JSONError(.unexpectedCharacter, offset: position)
        }
        return name
    }

    private mutating func readOrSkip(
        _ body: (inout JSONCursor) throws(JSONError) -> Void
    ) throws(JSONError) {
        skipWhitespace()
        let start = position
        try body(&self)
        skipWhitespace()
        if position == start { try skipValue() }
    }

    private mutating func scanLiteral(_ literal: String) throws(JSONError) {
        for byte in literal.utf8 {
            guard try current() == byte else { throw JSONError(.unexpectedCharacter, offset: position) }
            position += 1
        }
    }

    /// - Returns: Whether the number has neither a fraction nor an exponent.
    private mutating func scanNumber() throws(JSONError) -> Bool {
        if try current() == UInt8(ascii: "-") { position += 1 }
        if try current() == UInt8(ascii: "0") { position += 1 } else { try scanDigits() }
        var isInteger = true
        if position < text.count, text[position] == UInt8(ascii: ".") {
            position += 1
            try scanDigits()
            isInteger = false
        }
        if position < text.count, text[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            let sign = try current()
            if sign == .plus || sign == UInt8(ascii: "-") { position += 1 }
            try scanDigits()
            isInteger = false
        }
        // Reports `01` and `1x` as invalid numbers.
        if position < text.count, text[position].isNumberOrLetter { throw JSONError(.invalidNumber, offset: position) }
        return isInteger
    }

    private mutating func scanDigits() throws(JSONError) {
        let start = position
        while position < text.count, text[position] &- 0x30 < 10 { position += 1 }
        guard position > start else {
            _ = try current()
            throw JSONError(.invalidNumber, offset: position)
        }
    }
}

/// The types of RFC 8259, section 3.
public enum JSONType: Sendable {
    case object, array, string, number, boolean, null
}

extension UInt8 {
    fileprivate var isNumberOrLetter: Bool { self &- 0x30 < 10 || (self | 0x20) &- 0x61 < 26 }
}

extension Span<UInt8> {
    /// Returns the index of the first byte from `start` on that cannot stand for itself in a JSON string, is not ASCII,
    /// or is DEL, which ``JSONWriter`` escapes.
    ///
    /// The compiler vectorizes loops with a constant count: 30 GB/s, instead of 2 byte by byte.
    @inlinable
    package func endOfPlainASCII(from start: Int) -> Int {
        @inline(__always)
        func special(_ byte: UInt8) -> UInt8 {
            (byte &- 0x20 < 0x5F ? 0 : 1) | (byte == .quotationMark ? 1 : 0) | (byte == .backslash ? 1 : 0)
        }
        var position = start
        while count - position >= 32 {
            let chunk = extracting(position..<position + 32)
            var specials: UInt8 = 0
            for index in 0..<32 { specials |= special(chunk[index]) }
            guard specials == 0 else { break }
            position += 32
        }
        @inline(__always)
        func isPlain(_ chunk: Span<UInt8>) -> Bool {
            var word: UInt64 = 0
            for index in 0..<8 { word |= UInt64(chunk[index]) << UInt64(8 * index) }
            return word.specialsOfJSON == 0
        }
        while count - position >= 8 {
            guard isPlain(extracting(position..<position + 8)) else { break }
            position += 8
        }
        // The rest, in a chunk overlapping the last.
        if count - start >= 8, count - position < 8, isPlain(extracting(count - 8..<count)) { return count }
        while position < count, special(self[position]) == 0 { position += 1 }
        return position
    }
}

extension UInt64 {
    /// Nonzero unless all eight bytes are ASCII, not DEL, and stand for themselves in a JSON string.
    @inlinable
    package var specialsOfJSON: UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        // A byte below n borrows from its highest bit when n is subtracted.
        let borrows = (self &- ones &* 0x20) | ((self ^ ones &* 0x22) &- ones) | ((self ^ ones &* 0x5C) &- ones)
        // Adding 1 to 0x7F sets the highest bit.
        return (borrows | self | (self &+ ones)) & (ones &* 0x80)
    }
}
