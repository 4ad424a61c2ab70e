/// A simple reader of JSON (RFC 8259) that makes a tree, for comparison with the reader under test and for editing.
public struct SimpleJSON {
    public enum Value {
        case object([Member])
        case array([SimpleJSON])
        /// Decoded.
        case string([UInt8])
        case number
        case boolean(Bool)
        case null
    }

    public struct Member {
        public var name: [UInt8]
        public var value: SimpleJSON
    }

    public var value: Value
    /// The range in the text, without whitespace around it.
    public let range: Range<Int>

    /// - Parameter maximumDepth: the maximum depth of nested arrays and objects.
    /// - Returns: the tree; `nil` if the text is not one JSON value.
    public init?(_ text: [UInt8], maximumDepth: Int = 64) {
        // Outside strings every character is ASCII.
        guard String(validating: text, as: UTF8.self) != nil else { return nil }
        var reader = Reader(text: text)
        guard let value = reader.value(depth: maximumDepth) else { return nil }
        reader.skipWhitespace()
        guard reader.position == text.count else { return nil }
        self = value
    }

    init(_ value: Value, _ range: Range<Int> = 0..<0) {
        self.value = value
        self.range = range
    }

    public var members: [Member] { if case .object(let members) = value { members } else { [] } }
    public var elements: [SimpleJSON] { if case .array(let elements) = value { elements } else { [] } }
    public var string: [UInt8]? { if case .string(let bytes) = value { bytes } else { nil } }
    public var isNull: Bool { if case .null = value { true } else { false } }

    public subscript(name: String) -> SimpleJSON? { members.first { $0.name == Array(name.utf8) }?.value }
}

private struct Reader {
    let text: [UInt8]
    var position = 0

    var next: UInt8? { position < text.count ? text[position] : nil }

    mutating func skipWhitespace() {
        while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
    }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    mutating func take(_ word: String) -> Bool {
        guard text[position...].starts(with: word.utf8) else { return false }
        position += word.utf8.count
        return true
    }

    mutating func value(depth: Int) -> SimpleJSON? {
        skipWhitespace()
        let start = position
        let value: SimpleJSON.Value?
        switch next {
        case UInt8(ascii: "{"): value = depth > 0 ? object(depth: depth - 1) : nil
        case UInt8(ascii: "["): value = depth > 0 ? array(depth: depth - 1) : nil
        case UInt8(ascii: "\""): value = string().map { .string($0) }
        case UInt8(ascii: "t"): value = take("true") ? .boolean(true) : nil
        case UInt8(ascii: "f"): value = take("false") ? .boolean(false) : nil
        case UInt8(ascii: "n"): value = take("null") ? .null : nil
        default: value = number() ? .number : nil
        }
        return value.map { SimpleJSON($0, start..<position) }
    }

    private mutating func object(depth: Int) -> SimpleJSON.Value? {
        position += 1
        var members: [SimpleJSON.Member] = []
        skipWhitespace()
        if take("}" as Unicode.Scalar) { return .object([]) }
        while true {
            skipWhitespace()
            guard let name = string() else { return nil }
            skipWhitespace()
            guard take(":" as Unicode.Scalar), let value = value(depth: depth) else { return nil }
            members.append(.init(name: name, value: value))
            skipWhitespace()
            if take("}" as Unicode.Scalar) { return .object(members) }
            guard take("," as Unicode.Scalar) else { return nil }
        }
    }

    private mutating func array(depth: Int) -> SimpleJSON.Value? {
        position += 1
        var elements: [SimpleJSON] = []
        skipWhitespace()
        if take("]" as Unicode.Scalar) { return .array([]) }
        while true {
            guard let value = value(depth: depth) else { return nil }
            elements.append(value)
            skipWhitespace()
            if take("]" as Unicode.Scalar) { return .array(elements) }
            guard take("," as Unicode.Scalar) else { return nil }
        }
    }

    private mutating func string() -> [UInt8]? {
        guard take("\"" as Unicode.Scalar) else { return nil }
        var bytes: [UInt8] = []
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return bytes
            case UInt8(ascii: "\\"):
                guard let scalar = escape() else { return nil }
                bytes += Array(String(scalar).utf8)
            case 0..<0x20: return nil
            default: bytes.append(byte)
            }
        }
        return nil
    }

    private mutating func escape() -> Unicode.Scalar? {
        guard let byte = next else { return nil }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            guard let first = hexadecimal() else { return nil }
            guard 0xD800..<0xDC00 ~= first else { return Unicode.Scalar(first) }
            guard take("\\u"), let second = hexadecimal(), 0xDC00..<0xE000 ~= second else { return nil }
            return Unicode.Scalar(0x10000 + (first - 0xD800) * 0x400 + (second - 0xDC00))
        default: return nil
        }
    }

    private mutating func hexadecimal() -> UInt32? {
        guard position + 4 <= text.count else { return nil }
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(text[position])).hexDigitValue else { return nil }
            value = value * 16 + UInt32(digit)
            position += 1
        }
        return value
    }

    private mutating func number() -> Bool {
        _ = take("-" as Unicode.Scalar)
        if !take("0" as Unicode.Scalar) { guard digits() else { return false } }
        if take("." as Unicode.Scalar) { guard digits() else { return false } }
        if take("e" as Unicode.Scalar) || take("E" as Unicode.Scalar) {
            if !take("+" as Unicode.Scalar) { _ = take("-" as Unicode.Scalar) }
            guard digits() else { return false }
        }
        return true
    }

    private mutating func digits() -> Bool {
        let start = position
        while let byte = next, 0x30...0x39 ~= byte { position += 1 }
        return position > start
    }
}
