import SpanASN1

/// A string of a JSON text, which is checked but not decoded.
public struct JSONString: ~Escapable {
    /// The characters between the quotation marks, as received.
    public let raw: Span<UInt8>
    /// The position of the opening quotation mark, in bytes from the start of the text.
    public let offset: Int
    public let hasEscapes: Bool

    /// `raw` must have been checked.
    @_lifetime(copy raw)
    public init(_ raw: Span<UInt8>, offset: Int, hasEscapes: Bool) {
        self.raw = raw
        self.offset = offset
        self.hasEscapes = hasEscapes
    }

    /// The range of the string with its quotation marks in the text.
    public var range: Range<Int> { offset..<offset + raw.count + 2 }

    /// The string with its escapes decoded.
    public var value: String {
        // It was checked: only escapes get past this line.
        if !hasEscapes, let utf8 = try? UTF8Span(validating: raw) { return String(copying: utf8) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The UTF-8 of the string with its escapes decoded.
    public var bytes: [UInt8] {
        guard hasEscapes else { return [UInt8](copying: raw) }
        return [UInt8](capacity: raw.count) { output in
            var position = 0
            while position < raw.count {
                if let escape = JSONEscape(raw, at: position) {
                    for unit in escape.scalar.utf8 { output.append(unit) }
                    position += escape.byteCount
                } else {
                    output.append(raw[position])
                    position += 1
                }
            }
        }
    }

    /// Returns the position in the text of a byte of ``bytes``.
    public func offset(ofByte index: Int) -> Int {
        var position = 0
        var decoded = 0
        while position < raw.count {
            let escape = hasEscapes ? JSONEscape(raw, at: position) : nil
            decoded += escape.map { UTF8.width($0.scalar) } ?? 1
            if decoded > index { break }
            position += escape?.byteCount ?? 1
        }
        return offset + 1 + position
    }

    public static func == (string: borrowing JSONString, other: String) -> Bool {
        string.hasEscapes ? string.bytes.span.hasSameBytes(as: other) : string.raw.hasSameBytes(as: other)
    }
}

/// An escape sequence, or two that make a surrogate pair (RFC 8259, 7).
struct JSONEscape {
    let scalar: Unicode.Scalar
    let byteCount: Int

    private init(_ scalar: Unicode.Scalar, byteCount: Int) {
        self.scalar = scalar
        self.byteCount = byteCount
    }

    /// Creates the escape at a position; returns `nil` if there is none, or an invalid one.
    init?(_ text: Span<UInt8>, at position: Int) {
        guard text[position] == .backslash, text.count - position >= 2 else { return nil }
        switch text[position + 1] {
        case .quotationMark: self.init("\"", byteCount: 2)
        case .backslash: self.init("\\", byteCount: 2)
        case .slash: self.init("/", byteCount: 2)
        case UInt8(ascii: "b"): self.init("\u{8}", byteCount: 2)
        case UInt8(ascii: "f"): self.init("\u{C}", byteCount: 2)
        case UInt8(ascii: "n"): self.init("\n", byteCount: 2)
        case UInt8(ascii: "r"): self.init("\r", byteCount: 2)
        case UInt8(ascii: "t"): self.init("\t", byteCount: 2)
        default:
            guard let unit = Self.codeUnit(text, at: position) else { return nil }
            if let scalar = Unicode.Scalar(unit) {
                self.init(scalar, byteCount: 6)
                return
            }
            guard UTF16.isLeadSurrogate(unit), let trail = Self.codeUnit(text, at: position + 6),
                UTF16.isTrailSurrogate(trail),
                let scalar = Unicode.Scalar(0x10000 + UInt32(unit & 0x3FF) << 10 + UInt32(trail & 0x3FF))
            else { return nil }
            self.init(scalar, byteCount: 12)
        }
    }

    /// The UTF-16 code unit of `\uXXXX`.
    private static func codeUnit(_ text: Span<UInt8>, at position: Int) -> UInt16? {
        guard text.count - position >= 6, text[position] == .backslash, text[position + 1] == UInt8(ascii: "u") else {
            return nil
        }
        var unit: UInt16 = 0
        for index in position + 2..<position + 6 {
            let digit: UInt8
            switch text[index] {
            case let byte where byte &- 0x30 < 10: digit = byte &- 0x30
            case let byte where (byte | 0x20) &- 0x61 < 6: digit = (byte | 0x20) &- 0x61 + 10
            default: return nil
            }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }
}

/// A number of a JSON text.
public struct JSONNumber: ~Escapable {
    /// The number as received.
    public let raw: Span<UInt8>
    /// The position of the number, in bytes from the start of the text.
    public let offset: Int
    /// Whether it has neither a fraction nor an exponent.
    public let isInteger: Bool

    /// `raw` must have been checked.
    @_lifetime(copy raw)
    init(_ raw: Span<UInt8>, offset: Int, isInteger: Bool) {
        self.raw = raw
        self.offset = offset
        self.isInteger = isInteger
    }

    /// Returns the exact value of an integer.
    ///
    /// - Throws: `unexpected-value` for a number that is not written as an integer; `number-out-of-range`.
    public func int64() throws(JSONError) -> Int64 {
        guard isInteger else { throw JSONError(.unexpectedValue, offset: offset) }
        let isNegative = raw[0] == UInt8(ascii: "-")
        var value: Int64 = 0
        for index in (isNegative ? 1 : 0)..<raw.count {
            let digit = Int64(raw[index] &- 0x30)
            let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
            let (next, overflowNext) =
                isNegative ? shifted.subtractingReportingOverflow(digit) : shifted.addingReportingOverflow(digit)
            guard !overflow, !overflowNext else { throw JSONError(.numberOutOfRange, offset: offset) }
            value = next
        }
        return value
    }

    /// Returns the nearest double.
    ///
    /// - Throws: `number-out-of-range` for a number that is not finite as a double.
    public func double() throws(JSONError) -> Double {
        guard let utf8 = try? UTF8Span(validating: raw), let value = Double(String(copying: utf8)), value.isFinite
        else {
            throw JSONError(.numberOutOfRange, offset: offset)
        }
        return value
    }
}

/// The names of the members that a decoder reads. None of them may be repeated in an object.
public struct JSONMembers<Member: RawRepresentable<String> & CaseIterable & Sendable>: Sendable {
    private let members: [Member]
    private let names: JSONNames

    /// All cases of `Member`, by their raw values; at most 64.
    public init() {
        members = Array(Member.allCases)
        names = JSONNames(members.map(\.rawValue))
    }

    public subscript(index: Int) -> Member { members[index] }

    public func member(of name: borrowing JSONString) -> Member? { index(of: name).map { members[$0] } }

    public func index(of name: borrowing JSONString) -> Int? { names.index(of: name) }
}

/// A lookup table of names, by bytes.
package struct JSONNames: Sendable {
    private let names: [[UInt8]]
    /// Indices into `names`, sorted by the length of the name, and the start of each length in them.
    private let byLength: [Int]
    private let starts: [Int]

    /// At most 64 names.
    package init(_ names: [String]) {
        precondition(names.count <= 64)
        self.names = names.map { Array($0.utf8) }
        let lengths = self.names.map(\.count)
        byLength = names.indices.sorted { lengths[$0] < lengths[$1] }
        starts = (0...(lengths.max() ?? 0) + 1).map { length in lengths.count { $0 < length } }
    }

    package func index(of name: borrowing JSONString) -> Int? {
        if name.hasEscapes { return index(of: name.bytes.span) }
        return index(of: name.raw)
    }

    private func index(of name: Span<UInt8>) -> Int? {
        guard name.count + 1 < starts.count else { return nil }
        for place in starts[name.count]..<starts[name.count + 1] {
            let candidate = names[byLength[place]]
            if name.hasSameBytes(as: candidate.span) { return byLength[place] }
        }
        return nil
    }
}
