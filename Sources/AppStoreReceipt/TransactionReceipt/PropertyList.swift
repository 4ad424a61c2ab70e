import StrictText

/// The reason a property list of a transaction receipt could not be read, and the place of the fault. Creating one
/// allocates nothing.
package struct PropertyListError: Error, Hashable, Sendable {
    /// The kinds of faults. The raw values are stable; programs may compare them.
    package enum Kind: String, Sendable, CaseIterable {
        // Syntax
        /// The property list ends before its closing brace.
        case truncated
        /// A character is not allowed at this position.
        case unexpectedCharacter = "unexpected-character"
        /// A key or a value is not in quotation marks. Apple quotes all of them.
        case unquotedString = "unquoted-string"
        /// A string has a backslash. No genuine transaction receipt is known to have one.
        case unsupportedEscape = "unsupported-escape"
        /// The property list has a comment. No genuine transaction receipt is known to have one.
        case unsupportedComment = "unsupported-comment"
        /// A value is a dictionary, an array or data. In genuine transaction receipts, all values are strings.
        case unsupportedNesting = "unsupported-nesting"
        /// A string has a control character.
        case invalidString = "invalid-string"
        /// A string is not valid UTF-8.
        case invalidUTF8 = "invalid-utf8"
        /// A key is repeated.
        case duplicateKey = "duplicate-key"
        /// The property list has more than 256 keys.
        case tooManyKeys = "too-many-keys"
        /// Text other than whitespace follows the closing brace.
        case trailingData = "trailing-data"
        // Contents
        /// A required key is missing.
        case missingKey = "missing-key"
        /// The value of `signature` or `purchase-info` is not base64 with padding and without whitespace.
        case invalidBase64 = "invalid-base64"
        /// A value does not have the format of its key: digits, `true` or `false`, a date, or any text.
        case unexpectedValue = "unexpected-value"
        /// The milliseconds, the GMT text and the Pacific text of a date are not the same date.
        case datesDisagree = "dates-disagree"
    }

    /// The kind of fault.
    package let kind: Kind
    /// The position of the fault, in bytes from the start of the property list.
    package let offset: Int
    /// The key whose value is missing or at fault; `nil` for a fault of the syntax.
    package let key: TransactionReceiptKey?

    package init(_ kind: Kind, offset: Int, key: TransactionReceiptKey? = nil) {
        self.kind = kind
        self.offset = offset
        self.key = key
    }
}

/// A property list of quoted strings in the syntax of NeXTSTEP, as views into its text: `{ "key" = "value"; … }`.
///
/// All known transaction receipts have this syntax. The format also has strings without quotation marks, escapes,
/// comments and other values than strings; these are refused. The text is read once, without recursion.
struct PropertyList: Sendable {
    struct Entry: Sendable {
        /// The ranges of the key and the value in the text, without quotation marks.
        let key, value: Range<Int>
        fileprivate let keyHash: Int
    }

    /// More than five times the number of the largest genuine list.
    static let maximumKeyCount = 256

    /// The keys with their values, in their order. No key is repeated.
    private(set) var entries: [Entry] = []
    /// The position of the closing brace.
    let end: Int

    /// Reads all of `text`.
    init(_ text: Span<UInt8>) throws(PropertyListError) {
        var position = 0
        try text.pass(.openingBrace, &position)
        while true {
            guard let byte = try text.skipWhitespace(&position) else {
                throw PropertyListError(.truncated, offset: position)
            }
            if byte == .closingBrace { break }
            guard entries.count < Self.maximumKeyCount else { throw PropertyListError(.tooManyKeys, offset: position) }
            let key = try text.readString(&position)
            let hash = Self.hash(text.extracting(key))
            for entry in entries where entry.keyHash == hash {
                guard !text.extracting(entry.key).hasSameBytes(as: text.extracting(key)) else {
                    throw PropertyListError(.duplicateKey, offset: key.lowerBound)
                }
            }
            try text.pass(.equalsSign, &position)
            guard try text.skipWhitespace(&position) != nil else {
                throw PropertyListError(.truncated, offset: position)
            }
            let value = try text.readString(&position)
            try text.pass(.semicolon, &position)
            entries.append(Entry(key: key, value: value, keyHash: hash))
        }
        end = position
        position += 1
        guard try text.skipWhitespace(&position) == nil else {
            throw PropertyListError(.trailingData, offset: position)
        }
    }

    /// Returns the range of the value of a key, if it is there.
    func value(of key: TransactionReceiptKey, in text: Span<UInt8>) -> Range<Int>? {
        let name = key.rawValue
        for entry in entries where text.extracting(entry.key).hasSameBytes(as: name) {
            return entry.value
        }
        return nil
    }

    /// Keys are compared only if their hashes are equal, so that many long ones cost no more than reading them.
    /// (Swift's hashes have a secret seed.)
    private static func hash(_ bytes: Span<UInt8>) -> Int {
        var hasher = Hasher()
        hasher.combine(bytes)
        return hasher.finalize()
    }
}

extension Span<UInt8> {
    /// Skips whitespace and returns the next byte, if there is one.
    fileprivate func skipWhitespace(_ position: inout Int) throws(PropertyListError) -> UInt8? {
        position = endOfWhitespace(from: position)
        guard position < count else { return nil }
        if self[position] == .slash, position + 1 < count,
            self[position + 1] == .slash || self[position + 1] == .asterisk
        {
            throw PropertyListError(.unsupportedComment, offset: position)
        }
        return self[position]
    }

    /// Skips whitespace and one expected byte.
    fileprivate func pass(_ expected: UInt8, _ position: inout Int) throws(PropertyListError) {
        guard let byte = try skipWhitespace(&position) else { throw PropertyListError(.truncated, offset: position) }
        guard byte == expected else { throw PropertyListError(.unexpectedCharacter, offset: position) }
        position += 1
    }

    /// Reads the string at `position`, which is inside the text.
    fileprivate func readString(_ position: inout Int) throws(PropertyListError) -> Range<Int> {
        let first = self[position]
        guard first == .quotationMark else {
            let kind: PropertyListError.Kind =
                switch first {
                case .openingBrace, UInt8(ascii: "("), UInt8(ascii: "<"): .unsupportedNesting
                case _ where first.canBeginUnquotedString: .unquotedString
                default: .unexpectedCharacter
                }
            throw PropertyListError(kind, offset: position)
        }
        let start = position + 1
        var end = start
        var isASCII = true
        while true {
            end = endOfPlainASCII(from: end)
            guard end < count else { throw PropertyListError(.truncated, offset: count) }
            switch self[end] {
            case .quotationMark:
                position = end + 1
                if !isASCII { try validateUTF8(start..<end) }
                return start..<end
            case .backslash: throw PropertyListError(.unsupportedEscape, offset: end)
            case 0x80...0xFF:
                isASCII = false
                end += 1
            default: throw PropertyListError(.invalidString, offset: end)
            }
        }
    }

    private func validateUTF8(_ range: Range<Int>) throws(PropertyListError) {
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: extracting(range))
        } catch {
            throw PropertyListError(.invalidUTF8, offset: range.lowerBound + error.byteOffsets.lowerBound)
        }
    }
}

extension UInt8 {
    fileprivate static var asterisk: UInt8 { UInt8(ascii: "*") }
    fileprivate static var semicolon: UInt8 { UInt8(ascii: ";") }
    fileprivate static var closingBrace: UInt8 { UInt8(ascii: "}") }
    static var openingBrace: UInt8 { UInt8(ascii: "{") }

    /// Whether a byte can begin a string without quotation marks or in single quotation marks.
    fileprivate var canBeginUnquotedString: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "/"),
            UInt8(ascii: ":"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "'"):
            true
        default: false
        }
    }
}
