import StrictText

/// The binary receipt in an input of any form.
///
/// The first bytes determine the form:
/// - binary: `30`, the tag of a SEQUENCE, followed by a length that does not occur in texts, or that is exactly that of the input;
/// - PEM: `-----`; no text is allowed before the first or after the last line, and one block only;
/// - JSON: `{`;
/// - base64: `M`, with which the base64 of every SEQUENCE begins.
///
/// A UTF-8 byte order mark and whitespace before a text are skipped, and whitespace after it. Time and memory are
/// linear in the size of the input.
package struct ReceiptInput: Sendable {
    /// The form of the input.
    package let form: InputForm
    /// The decoded bytes; empty for ``InputForm/binary``, which is not copied.
    let decoded: [UInt8]

    /// 64 MiB: larger than a receipt of 200,000 purchases.
    package static let defaultMaximumByteCount = 64 << 20

    /// Finds out the form of an input and decodes it.
    ///
    /// - Parameter maximumByteCount: the maximum size of the binary receipt, in bytes. A text may have twice as many characters plus
    ///   64 KiB. This is checked first.
    package init(
        _ input: Span<UInt8>, maximumByteCount: Int = Self.defaultMaximumByteCount
    ) throws(InputError) {
        if Self.isBinary(input) {
            guard input.count <= maximumByteCount else {
                throw InputError(.inputTooLarge, form: .binary, offset: maximumByteCount)
            }
            self.init(form: .binary, decoded: [])
            return
        }
        try Self.checkCount(ofText: input, maximumByteCount)
        let text = TextInput(input)
        switch text.first {
        case nil: throw InputError(.emptyInput, form: nil, offset: input.count)
        case UInt8(ascii: "M"):
            let decoded = try text.base64(maximumByteCount)
            self.init(form: .base64, decoded: decoded)
        case UInt8(ascii: "{"): self.init(form: .json, decoded: try text.receiptData(maximumByteCount))
        case UInt8(ascii: "-") where text.hasPrefix("-----"):
            self.init(form: .pem, decoded: try text.pemBody(maximumByteCount))
        default: throw InputError(.unrecognizedForm, form: nil, offset: text.start)
        }
    }

    /// Decodes a text as base64, without finding out its form.
    ///
    /// - Parameter maximumByteCount: as in ``init(_:maximumByteCount:)``.
    package init(
        base64 input: Span<UInt8>, maximumByteCount: Int = Self.defaultMaximumByteCount
    ) throws(InputError) {
        try Self.checkCount(ofText: input.count, .base64, maximumByteCount)
        let text = TextInput(input)
        guard text.first != nil else { throw InputError(.emptyInput, form: .base64, offset: input.count) }
        let decoded = try text.base64(maximumByteCount)
        self.init(form: .base64, decoded: decoded)
    }

    /// Decodes the member `receipt-data` of a JSON text.
    ///
    /// - Returns: the binary receipt, or the reason the string has none.
    static func decode(
        _ receiptData: borrowing JSONString, maximumByteCount: Int
    ) -> Result<[UInt8], InputError> {
        var beginning = Base64.Beginning(of: receiptData.raw)
        return decode(receiptData, after: &beginning, maximumByteCount)
    }

    /// Reads the member `receipt-data` of a JSON text, decoding the string while its end is searched, because a large one does not fit in the processor's caches.
    ///
    /// - Returns: the binary receipt, or the reason the string has none.
    static func readReceiptData(
        _ cursor: inout JSONCursor, maximumByteCount: Int
    ) throws(JSONError) -> Result<[UInt8], InputError> {
        var beginning = Base64.Beginning(of: try cursor.startOfString())
        let string = try cursor.readString(afterPlain: beginning.characterCount)
        return decode(string, after: &beginning, maximumByteCount)
    }

    private static func decode(
        _ receiptData: borrowing JSONString, after beginning: inout Base64.Beginning, _ maximumByteCount: Int
    ) -> Result<[UInt8], InputError> {
        let limit = maximumTextByteCount(maximumByteCount)
        guard receiptData.raw.count <= limit else {
            return .failure(InputError(.inputTooLarge, form: .json, offset: receiptData.offset + 1 + limit))
        }
        do throws(InputError) {
            return .success(try TextInput.decode(receiptData, after: &beginning, maximumByteCount))
        } catch {
            return .failure(error)
        }
    }

    /// The maximum size of a text, for a maximum size of the binary receipt.
    static func maximumTextByteCount(_ maximumByteCount: Int) -> Int {
        let (doubled, isDoubledTooFar) = max(maximumByteCount, 0).multipliedReportingOverflow(by: 2)
        let (limit, isTooFar) = doubled.addingReportingOverflow(1 << 16)
        return isDoubledTooFar || isTooFar ? .max : limit
    }

    /// Checks the size of a text.
    static func checkCount(ofText count: Int, _ form: InputForm?, _ maximumByteCount: Int) throws(InputError) {
        let limit = maximumTextByteCount(maximumByteCount)
        guard count <= limit else { throw InputError(.inputTooLarge, form: form, offset: limit) }
    }

    /// Checks the size of a text. The form in the error is that of its first character.
    static func checkCount(ofText text: Span<UInt8>, _ maximumByteCount: Int) throws(InputError) {
        let form: InputForm? =
            switch text.isEmpty ? 0 : text[0] {
            case UInt8(ascii: "M"): .base64
            case UInt8(ascii: "{"): .json
            case UInt8(ascii: "-"): .pem
            default: nil
            }
        try checkCount(ofText: text.count, form, maximumByteCount)
    }

    private init(form: InputForm, decoded: [UInt8]) {
        self.form = form
        self.decoded = decoded
    }

    /// The binary receipt. `input` must be the same as in the initializer.
    @_lifetime(borrow self, copy input)
    package func binary(in input: Span<UInt8>) -> Span<UInt8> {
        switch form {
        case .binary: input
        case .base64, .pem, .json, .propertyList: decoded.span
        }
    }

    /// The offset of a JSON object in a text; `nil` if the text does not begin with one.
    static func startOfObject(in input: Span<UInt8>) -> Int? {
        let text = TextInput(input)
        return text.first == UInt8(ascii: "{") ? text.start : nil
    }

    /// Whether the input begins with a SEQUENCE whose length is in the long or indefinite form, or is that of the input. (A text
    /// could also begin with `0`.)
    static func isBinary(_ input: Span<UInt8>) -> Bool {
        guard input.count >= 2, input[0] == 0x30 else { return false }
        return input[1] >= 0x80 || Int(input[1]) == input.count - 2
    }
}

/// A text, with the offset after a byte order mark and whitespace.
private struct TextInput: ~Escapable {
    let text: Span<UInt8>
    let start: Int
    private let markEnd: Int

    @_lifetime(copy text)
    init(_ text: Span<UInt8>) {
        self.text = text
        markEnd = text.count >= 3 && text[0] == 0xEF && text[1] == 0xBB && text[2] == 0xBF ? 3 : 0
        start = text.endOfWhitespace(from: markEnd)
    }

    var first: UInt8? { start < text.count ? text[start] : nil }

    func hasPrefix(_ prefix: String) -> Bool { text.hasBytes(prefix, at: start) }

    /// Decodes all of the text. The base64 decoder handles whitespace at the start, because it could be a `+`.
    func base64(_ maximumByteCount: Int) throws(InputError) -> [UInt8] {
        try Self.decode(
            text.extracting(markEnd..<text.count), at: markEnd, as: .transported, .base64, maximumByteCount)
    }

    /// Decodes base64 that begins at `offset` of the text.
    private static func decode(
        _ base64: Span<UInt8>, at offset: Int, as syntax: Base64.Syntax, _ form: InputForm, _ maximumByteCount: Int
    ) throws(InputError) -> [UInt8] {
        var beginning = Base64.Beginning(of: base64)
        return try decode(base64, after: &beginning, at: offset, as: syntax, form, maximumByteCount)
    }

    private static func decode(
        _ base64: Span<UInt8>, after beginning: inout Base64.Beginning, at offset: Int, as syntax: Base64.Syntax,
        _ form: InputForm, _ maximumByteCount: Int
    ) throws(InputError) -> [UInt8] {
        let decoded: [UInt8]
        do {
            decoded = try Base64.decode(base64, after: &beginning, as: syntax)
        } catch {
            throw InputError(.invalidBase64, form: form, offset: offset + error.offset)
        }
        guard decoded.count <= maximumByteCount else {
            throw InputError(.inputTooLarge, form: form, offset: offset + base64.count)
        }
        return decoded
    }

    // MARK: PEM

    /// Decodes the one block of a PEM file, which is a receipt.
    func pemBody(_ maximumByteCount: Int) throws(InputError) -> [UInt8] {
        let block: PEMBlock
        do throws(PEMError) {
            block = try PEMBlock(in: text, from: start)
        } catch {
            throw InputError(.invalidPEM, form: .pem, offset: error.offset)
        }
        let label = text.extracting(block.label)
        guard label.hasSameBytes(as: "PKCS7".utf8Span.span) || label.hasSameBytes(as: "CMS".utf8Span.span) else {
            throw InputError(.invalidPEM, form: .pem, offset: block.label.lowerBound)
        }
        let position = text.endOfWhitespace(from: block.end)
        guard position == text.count else { throw InputError(.invalidPEM, form: .pem, offset: position) }
        let (body, bodyStart) = (text.extracting(block.body), block.body.lowerBound)
        let decoded = try Self.decode(body, at: bodyStart, as: .pem, .pem, maximumByteCount)
        guard !decoded.isEmpty else { throw InputError(.emptyInput, form: .pem, offset: block.body.upperBound) }
        return decoded
    }

    // MARK: JSON

    /// Decodes the member `receipt-data` of a JSON object; for the others, only the syntax is checked.
    func receiptData(_ maximumByteCount: Int) throws(InputError) -> [UInt8] {
        var receipt: Result<[UInt8], InputError>?
        do throws(JSONError) {
            try JSONCursor.decode(text, from: start) { (cursor) throws(JSONError) in
                try cursor.readObject(of: Self.members) { (cursor, _) throws(JSONError) in
                    receipt = try ReceiptInput.readReceiptData(&cursor, maximumByteCount: maximumByteCount)
                }
            }
        } catch {
            throw InputError(.invalidJSON, form: .json, offset: error.offset)
        }
        guard let receipt else { throw InputError(.missingReceiptData, form: .json, offset: start) }
        return try receipt.get()
    }

    /// Decodes a string of a JSON text.
    static func decode(
        _ string: borrowing JSONString, after beginning: inout Base64.Beginning, _ maximumByteCount: Int
    ) throws(InputError) -> [UInt8] {
        let decoded: [UInt8]
        do {
            let offset = string.offset + 1
            decoded = try decode(string.raw, after: &beginning, at: offset, as: .transported, .json, maximumByteCount)
        } catch {
            // The base64 decoder supports the common escape, `\/`, so the text is rarely copied.
            guard string.hasEscapes, error.kind == .invalidBase64 else { throw error }
            decoded = try decodeWithEscapes(string, maximumByteCount)
        }
        guard !decoded.isEmpty else { throw InputError(.emptyInput, form: .json, offset: string.offset) }
        return decoded
    }

    private static func decodeWithEscapes(
        _ string: borrowing JSONString, _ maximumByteCount: Int
    ) throws(InputError) -> [UInt8] {
        let bytes = string.bytes
        do {
            return try decode(bytes.span, at: 0, as: .transported, .json, maximumByteCount)
        } catch {
            throw InputError(error.kind, form: .json, offset: string.offset(ofByte: error.offset))
        }
    }

    private enum Member: String, CaseIterable { case receiptData = "receipt-data" }
    private static let members = JSONMembers<Member>()
}

extension Span<UInt8> {
    func hasBytes(_ expected: String, at position: Int) -> Bool {
        let expected = expected.utf8Span.span
        guard count - position >= expected.count else { return false }
        return extracting(position..<position + expected.count).hasSameBytes(as: expected)
    }
}

extension ReceiptInput {
    /// The binary receipt in an input of any form. A binary input is not copied.
    static func binary(of input: [UInt8], _ limits: VerificationLimits) throws(VerificationError) -> [UInt8] {
        try binary(of: input.span, limits) { input }
    }

    /// The binary receipt in an input of any form. A binary input is copied.
    static func binary(of input: Span<UInt8>, _ limits: VerificationLimits) throws(VerificationError) -> [UInt8] {
        try binary(of: input, limits) { [UInt8](copying: input) }
    }

    /// - Parameter bytes: the input, in case it is binary.
    static func binary(
        of input: Span<UInt8>, _ limits: VerificationLimits, bytes: () -> [UInt8]
    ) throws(VerificationError) -> [UInt8] {
        do throws(InputError) {
            let recognized = try ReceiptInput(input, maximumByteCount: limits.maximumByteCount)
            return recognized.form == .binary ? bytes() : recognized.decoded
        } catch {
            throw .input(error)
        }
    }
}
