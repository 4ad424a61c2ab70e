import StrictText

/// A text with a receipt in base64 or PEM, or in a JSON object.
///
/// The first characters determine the armor:
/// - PEM: `-----`; no text is allowed before the first or after the last line, and one block only;
/// - JSON: `{`;
/// - base64: `M`, with which the base64 of every SEQUENCE begins.
///
/// A UTF-8 byte order mark and whitespace before a text are skipped, and whitespace after it. Time and memory are
/// linear in the size of the input.
struct ReceiptText: ~Escapable {
    private let text: Span<UInt8>
    private let start: Int
    private let markEnd: Int

    @_lifetime(copy text)
    init(_ text: Span<UInt8>) {
        self.text = text
        markEnd = text.byteOrderMarkCount
        start = text.endOfWhitespace()
    }

    private var first: UInt8? { start < text.count ? text[start] : nil }

    /// The offset of a JSON object; `nil` if the text does not begin with one.
    var startOfObject: Int? { first == .openingBrace ? start : nil }

    /// The armor that the text begins like, by which the whole text is read.
    var armor: Armor? {
        switch first {
        case UInt8(ascii: "M"): .base64
        case .openingBrace: .json
        case UInt8(ascii: "-") where text.hasBytes("-----", at: start): .pem
        default: nil
        }
    }

    /// Returns the binary receipt in base64 or PEM.
    func decoded(_ maximumReceiptByteCount: Int) throws(InputError) -> [UInt8] {
        switch armor {
        case .base64: return try base64(maximumReceiptByteCount)
        case .pem: return try pemBody(maximumReceiptByteCount)
        default:
            throw first == nil
                ? InputError(.emptyInput, armor: nil, offset: text.count)
                : InputError(.unrecognizedForm, armor: nil, offset: start)
        }
    }

    /// Decodes a text as base64, whatever it begins like.
    static func decode(base64 input: Span<UInt8>, _ maximumReceiptByteCount: Int) throws(InputError) -> [UInt8] {
        try checkCount(input.count, .base64, maximumReceiptByteCount)
        let text = ReceiptText(input)
        guard text.first != nil else { throw InputError(.emptyInput, armor: .base64, offset: input.count) }
        return try text.base64(maximumReceiptByteCount)
    }

    // MARK: Size

    /// The maximum size of a text, for a maximum size of the binary receipt: twice as many characters plus 64 KiB.
    static func maximumCount(_ maximumReceiptByteCount: Int) -> Int {
        let (doubled, isDoubledTooFar) = max(maximumReceiptByteCount, 0).multipliedReportingOverflow(by: 2)
        let (limit, isTooFar) = doubled.addingReportingOverflow(1 << 16)
        return isDoubledTooFar || isTooFar ? .max : limit
    }

    /// Checks the size of a text, before anything of it is read.
    static func checkCount(_ count: Int, _ armor: Armor?, _ maximumReceiptByteCount: Int) throws(InputError) {
        let limit = maximumCount(maximumReceiptByteCount)
        guard count <= limit else { throw InputError(.inputTooLarge, armor: armor, offset: limit) }
    }

    /// Checks the size of a text. The armor in the error is that of its first character.
    static func checkCount(of text: Span<UInt8>, _ maximumReceiptByteCount: Int) throws(InputError) {
        let armor: Armor? =
            switch text.isEmpty ? 0 : text[0] {
            case UInt8(ascii: "M"): .base64
            case UInt8(ascii: "{"): .json
            case UInt8(ascii: "-"): .pem
            default: nil
            }
        try checkCount(text.count, armor, maximumReceiptByteCount)
    }

    // MARK: Base64

    /// Decodes all of the text as base64. The base64 decoder handles whitespace at the start, because it could be a
    /// `+`.
    private func base64(_ maximumReceiptByteCount: Int) throws(InputError) -> [UInt8] {
        try Self.decode(
            text.extracting(markEnd..<text.count), at: markEnd, as: .transported, .base64, maximumReceiptByteCount)
    }

    /// Decodes base64 that begins at `offset` of the text.
    private static func decode(
        _ base64: Span<UInt8>, at offset: Int, as syntax: Base64.Syntax, _ armor: Armor, _ maximumReceiptByteCount: Int
    ) throws(InputError) -> [UInt8] {
        var beginning = Base64.Beginning(of: base64)
        return try decode(base64, after: &beginning, at: offset, as: syntax, armor, maximumReceiptByteCount)
    }

    private static func decode(
        _ base64: Span<UInt8>, after beginning: inout Base64.Beginning, at offset: Int, as syntax: Base64.Syntax,
        _ armor: Armor, _ maximumReceiptByteCount: Int
    ) throws(InputError) -> [UInt8] {
        let decoded: [UInt8]
        do {
            decoded = try Base64.decode(base64, after: &beginning, as: syntax)
        } catch {
            throw InputError(.invalidBase64, armor: armor, offset: offset + error.offset)
        }
        guard decoded.count <= maximumReceiptByteCount else {
            throw InputError(.inputTooLarge, armor: armor, offset: offset + base64.count)
        }
        return decoded
    }

    // MARK: PEM

    /// Decodes the one block of a PEM file, which is a receipt.
    private func pemBody(_ maximumReceiptByteCount: Int) throws(InputError) -> [UInt8] {
        let block: PEMBlock
        do throws(PEMError) {
            block = try PEMBlock(in: text, from: start)
        } catch {
            throw InputError(.invalidPEM, armor: .pem, offset: error.offset)
        }
        let label = text.extracting(block.label)
        guard label.hasSameBytes(as: "PKCS7") || label.hasSameBytes(as: "CMS") else {
            throw InputError(.invalidPEM, armor: .pem, offset: block.label.lowerBound)
        }
        let position = text.endOfWhitespace(from: block.end)
        guard position == text.count else { throw InputError(.invalidPEM, armor: .pem, offset: position) }
        let (body, bodyStart) = (text.extracting(block.body), block.body.lowerBound)
        let decoded = try Self.decode(body, at: bodyStart, as: .pem, .pem, maximumReceiptByteCount)
        guard !decoded.isEmpty else { throw InputError(.emptyInput, armor: .pem, offset: block.body.upperBound) }
        return decoded
    }

    // MARK: JSON

    /// Decodes a string of a JSON text.
    ///
    /// - Returns: The binary receipt, or the reason the string has none.
    static func decode(_ string: borrowing JSONString, _ maximumReceiptByteCount: Int) -> Result<[UInt8], InputError> {
        var beginning = Base64.Beginning(of: string.raw)
        return decode(string, after: &beginning, maximumReceiptByteCount)
    }

    /// Reads a string of a JSON text, decoding it while its end is searched, because a large one does not fit in the
    /// processor's caches.
    ///
    /// - Returns: The binary receipt, or the reason the string has none.
    static func readString(
        _ cursor: inout JSONCursor, _ maximumReceiptByteCount: Int
    ) throws(JSONError) -> Result<[UInt8], InputError> {
        var beginning = Base64.Beginning(of: try cursor.startOfString())
        let string = try cursor.readString(afterPlain: beginning.characterCount)
        return decode(string, after: &beginning, maximumReceiptByteCount)
    }

    private static func decode(
        _ string: borrowing JSONString, after beginning: inout Base64.Beginning, _ maximumReceiptByteCount: Int
    ) -> Result<[UInt8], InputError> {
        let limit = maximumCount(maximumReceiptByteCount)
        guard string.raw.count <= limit else {
            return .failure(InputError(.inputTooLarge, armor: .json, offset: string.offset + 1 + limit))
        }
        do throws(InputError) {
            return .success(try decode(string: string, after: &beginning, maximumReceiptByteCount))
        } catch {
            return .failure(error)
        }
    }

    private static func decode(
        string: borrowing JSONString, after beginning: inout Base64.Beginning, _ maximumReceiptByteCount: Int
    ) throws(InputError) -> [UInt8] {
        let decoded: [UInt8]
        do {
            let offset = string.offset + 1
            decoded = try decode(
                string.raw, after: &beginning, at: offset, as: .transported, .json, maximumReceiptByteCount)
        } catch {
            // The base64 decoder supports the common escape, `\/`, so the text is rarely copied.
            guard string.hasEscapes, error.kind == .invalidBase64 else { throw error }
            decoded = try decodeWithEscapes(string, maximumReceiptByteCount)
        }
        guard !decoded.isEmpty else { throw InputError(.emptyInput, armor: .json, offset: string.offset) }
        return decoded
    }

    private static func decodeWithEscapes(
        _ string: borrowing JSONString, _ maximumReceiptByteCount: Int
    ) throws(InputError) -> [UInt8] {
        let bytes = string.bytes
        do {
            return try decode(bytes.span, at: 0, as: .transported, .json, maximumReceiptByteCount)
        } catch {
            throw InputError(error.kind, armor: .json, offset: string.offset(ofByte: error.offset))
        }
    }
}

extension Span<UInt8> {
    func hasBytes(_ expected: String, at position: Int) -> Bool {
        let expectedCount = expected.utf8.count
        guard count - position >= expectedCount else { return false }
        return extracting(position..<position + expectedCount).hasSameBytes(as: expected)
    }
}
