import StrictText

// Names refused bytes that are no evidence. They are examined only after a refusal, and the result is always an error.

/// What was found out about refused bytes.
struct Finding: Hashable, Sendable {
    let kind: InputError.Kind
    /// The position in the text.
    var offset = 0
    var detail: Detail?

    /// What an error says beside its code.
    enum Detail: Hashable, Sendable {
        /// The member with the evidence, as a JSON Pointer (RFC 6901).
        case member(UTF8Bytes)
        case truncation(Truncation)
    }
}

extension Unwrapper {
    /// Names the fault, in a wrapper or not.
    func diagnosis(
        of reading: Reading, _ received: Span<UInt8>, isStrict: Bool, after fault: VerificationError
    ) -> VerificationError {
        let whole = UnwrappedText(received: received)
        switch reading {
        case .ambiguous(let text): return fault.replaced(by: Finding(kind: .ambiguousEvidence), in: text)
        case .evidence where isStrict: return diagnosis(of: whole, after: fault)
        case .evidence(let text): return diagnosis(of: text, after: fault)
        case .other(let text):
            if let finding = finding(in: text.bytes.span) { return fault.replaced(by: finding, in: text) }
            guard !text.isWhole else { return fault }
            if let finding = finding(in: received) { return fault.replaced(by: finding, in: whole) }
            guard !text.layers.isEmpty, case .input(let error) = fault.reason, error.kind != .invalidJSON else {
                return fault
            }
            // The wrapper is known: the fault is inside.
            let inner = ReceivedEvidence(exactly: text.bytes.span, as: kind, limits)
            return inner.formFault(in: text.bytes.span).map { $0.within(text) } ?? fault
        }
    }

    /// Names what is in evidence that has the form of its kind, and could not be read.
    func diagnosis(of text: UnwrappedText, after fault: VerificationError) -> VerificationError {
        guard let finding = finding(in: text.bytes.span) else { return fault.within(text) }
        return fault.replaced(by: finding, in: text)
    }

    private func finding(in text: Span<UInt8>) -> Finding? { Diagnosis(self).finding(in: text) }
}

extension UnwrappedText {
    /// Whether it is all that was received.
    fileprivate var isWhole: Bool { layers.isEmpty && start == 0 }
}

extension VerificationError {
    /// What the second examination of the bytes found.
    struct Circumstances: Hashable, Sendable {
        /// The wrappers around the evidence.
        let layers: Layers
        /// Where the evidence begins in the received text; `nil` if it was decoded.
        let start: Int?
        let detail: Finding.Detail?
    }

    /// Returns the error of evidence that was in a wrapper.
    func within(_ text: UnwrappedText) -> VerificationError {
        guard !text.isWhole else { return self }
        var start = text.start
        if let circumstances { start = text.place(circumstances.start) }
        return VerificationError(
            reason, part: part, Circumstances(layers: text.layers, start: start, detail: circumstances?.detail))
    }

    /// Returns the fault of a text with the place of the text in what was received.
    ///
    /// - Parameter start: Where the text begins; `nil` if it was decoded.
    func within(textAt start: Int?) -> VerificationError {
        guard part == nil, start != 0 else { return self }
        return VerificationError(reason, Circumstances(layers: Layers(), start: start, detail: nil))
    }

    fileprivate func replaced(by finding: Finding, in text: UnwrappedText) -> VerificationError {
        let circumstances = Circumstances(layers: text.layers, start: text.start, detail: finding.detail)
        // The fault is known: the receipt ends early. Add by how much.
        if finding.kind == .truncated, case .container(let error) = reason, error.kind == .truncated {
            return VerificationError(reason, circumstances)
        }
        return VerificationError(.input(InputError(finding.kind, armor: nil, offset: finding.offset)), circumstances)
    }
}

/// The forms of input that is no evidence, in the order of the search. Each takes time and memory linear in the text.
struct Diagnosis {
    private let unwrapper: Unwrapper

    init(_ unwrapper: Unwrapper) { self.unwrapper = unwrapper }

    /// - Parameter isDecoded: Whether the text was in base64. A text that is in base64 twice has no name.
    func finding(in text: Span<UInt8>, isDecoded: Bool = false) -> Finding? {
        if text.isContainerBeginning { return truncation(text, arrived: text.count, in: text) }
        if text.isUTF16 { return Finding(kind: .utf16) }
        let range = text.contentRange
        guard !range.isEmpty else { return nil }
        let trimmed = text.extracting(range)
        guard var finding = finding(of: trimmed, isDecoded) else { return nil }
        finding.offset += range.lowerBound
        return finding
    }

    private func finding(of text: Span<UInt8>, _ isDecoded: Bool) -> Finding? {
        if text.isHTML { return Finding(kind: .html) }
        // Before JSON: NSData describes itself in braces.
        if text.isHexadecimal { return Finding(kind: .hexadecimal) }
        if text[0] == .openingBrace || text[0] == UInt8(ascii: "["), !text.hasLetters("[object", at: 0) {
            return JSONSurvey.finding(in: text, unwrapper, isDecoded: isDecoded)
        }
        if text.isLeakedToken { return Finding(kind: .leakedText) }
        if text.isDigits { return 6...20 ~= text.count ? Finding(kind: .transactionID) : nil }
        if text.isGooglePlay { return Finding(kind: .googlePlay) }
        if let offset = text.leakedOffset { return Finding(kind: .leakedText, offset: offset) }
        if isSeveralPieces(text) { return Finding(kind: .severalPieces) }
        if text.hasBytes("ey", at: 0), let finding = jws(text, isDecoded) { return finding }
        return isDecoded ? nil : base64(text)
    }

    /// A receipt or a JWS in a JSON string that the text cuts off.
    func cutFinding(in text: Span<UInt8>) -> Finding? {
        guard !text.isEmpty else { return nil }
        let finding = text.hasBytes("ey", at: 0) ? jws(text, false) ?? base64(text) : base64(text)
        return finding?.kind == .truncated ? finding : nil
    }

    // MARK: Base64

    /// A JWS that is not whole, or one part of one.
    private func jws(_ text: Span<UInt8>, _ isDecoded: Bool) -> Finding? {
        var dots = 0
        for index in text.indices {
            if text[index] == UInt8(ascii: ".") { dots += 1 } else if !text[index].isBase64Letter { return nil }
        }
        if dots == 1 { return truncated(2, of: 3, .parts, in: text) }
        guard dots == 0, !isDecoded, let bytes = text.decodedGroups?.bytes else { return nil }
        let isHeader = bytes.span.containsName("x5c") || bytes.span.containsName("alg")
        return isHeader ? truncated(1, of: 3, .parts, in: text) : nil
    }

    /// Base64 of a receipt that ends early, or of a text that has a name.
    private func base64(_ text: Span<UInt8>) -> Finding? {
        guard let (bytes, count) = text.decodedGroups else { return nil }
        if bytes.span.isContainerBeginning { return truncation(bytes.span, arrived: count, in: text) }
        guard var finding = finding(in: bytes.span, isDecoded: true) else { return nil }
        finding.offset = 0
        return finding
    }

    /// - Parameters:
    ///   - arrived: The number of bytes of the receipt.
    ///   - text: What it was decoded from.
    private func truncation(_ binary: Span<UInt8>, arrived: Int, in text: Span<UInt8>) -> Finding? {
        guard let expected = binary.declaredContainerCount, arrived < expected else { return nil }
        return truncated(arrived, of: expected, .bytes, in: text)
    }

    private func truncated(
        _ arrived: Int, of expected: Int, _ unit: Truncation.Unit, in text: Span<UInt8>
    ) -> Finding {
        let truncation = Truncation(arrived: arrived, expected: expected, unit, text.count)
        return Finding(kind: .truncated, offset: text.count, detail: .truncation(truncation))
    }

    // MARK: Several

    /// Whether a text is several pieces of evidence, one after the other, with separators.
    private func isSeveralPieces(_ text: Span<UInt8>) -> Bool {
        var pieceCount = 0
        var start = 0
        while start < text.count {
            var end = start
            while end < text.count, !text[end].isSeparator { end += 1 }
            if end > start {
                guard unwrapper.isEvidence(text.extracting(start..<end)) else { return false }
                pieceCount += 1
            }
            start = end + 1
        }
        return pieceCount > 1
    }
}

// MARK: - Truncation

/// How much of evidence arrived.
struct Truncation: Hashable, Sendable {
    enum Unit: String, Sendable { case bytes, parts }

    let arrived: Int
    let expected: Int
    let unit: Unit
    /// The usual cause of a cut at this length.
    let cut: Cut?

    /// - Parameter textCount: The number of bytes of the text.
    init(arrived: Int, expected: Int, _ unit: Unit, _ textCount: Int) {
        self.arrived = arrived
        self.expected = expected
        self.unit = unit
        cut = Cut(textCount) ?? (unit == .bytes ? Cut(arrived) : nil)
    }

    /// Usual lengths of cuts.
    enum Cut: Int, CaseIterable {
        case column255 = 255
        case line1024 = 1024
        case column4000 = 4000
        case page = 4096
        case header = 8192
        case logLine = 16384
        case column65535 = 65535
        case form = 1_048_576

        /// - Parameter count: The length itself, or that of its base64, with or without padding.
        init?(_ count: Int) {
            for cut in Cut.allCases {
                let base64 = (cut.rawValue + 2) / 3 * 4
                let unpadded = (cut.rawValue * 4 + 2) / 3
                guard count == cut.rawValue || count == base64 || count == unpadded else { continue }
                self = cut
                return
            }
            return nil
        }

        /// What usually has this length.
        var text: String {
            switch self {
            case .column255: "255 is the length of many database columns (VARCHAR(255))"
            case .line1024: "1,024 is the length at which many log lines are cut (syslog)"
            case .column4000:
                "4,000 is the length of many database columns (VARCHAR2 of Oracle, NVARCHAR of SQL Server)"
            case .page: "4,096 is the length of a line that is pasted into a terminal, and of many buffers"
            case .header: "8,192 is the limit of many servers for a header or a URL"
            case .logLine: "16,384 is the length at which Docker cuts a log line, and the limit of Node.js for headers"
            case .column65535: "65,535 is the length of a database column of the type TEXT of MySQL"
            case .form: "1 MiB is the limit of many servers for a form or a body (client_max_body_size of nginx)"
            }
        }
    }
}

// MARK: - Texts

extension Span<UInt8> {
    /// Whether every second byte of the beginning is 0, or the text begins with the byte order mark of UTF-16.
    fileprivate var isUTF16: Bool {
        guard count >= 4 else { return false }
        if self[0] == 0xFF && self[1] == 0xFE || self[0] == 0xFE && self[1] == 0xFF { return true }
        for first in 0...1 {
            var isZero = true
            for index in 0..<Swift.min(count, 32) {
                isZero = isZero && (self[index] == 0) == (index % 2 != first)
            }
            if isZero { return true }
        }
        return false
    }

    fileprivate var isHTML: Bool {
        ["<!doctype", "<html", "<head", "<body", "<title", "<?xml", "<center"].contains { hasLetters($0, at: 0) }
    }

    /// Whether the text is a language's word for no value, or for an object.
    fileprivate var isLeakedToken: Bool {
        let tokens = ["null", "undefined", "nil", "none", "nan", "(null)", "<null>", "[object object]"]
        return tokens.contains { $0.utf8.count == count && hasLetters($0, at: 0) } || isDataDescription
    }

    /// The position of a language's syntax around a string, or of an ellipsis or a curly quote in evidence; `nil`
    /// without any.
    fileprivate var leakedOffset: Int? {
        for prefix in ["optional(", "b'", "b\"", "bearer ", "some(", "'", "data("] where hasLetters(prefix, at: 0) {
            return 0
        }
        if isCurlyQuote(at: 0) { return 0 }
        guard hasBytes("MI", at: 0) || hasBytes("ey", at: 0) || hasBytes("ew", at: 0) else { return nil }
        for index in indices {
            // The ellipsis: U+2026.
            if hasBytes("...", at: index) || hasBytes("\u{2026}", at: index) { return index }
            if isCurlyQuote(at: index) { return index }
        }
        return nil
    }

    /// Whether one of U+2018 to U+201F begins at a position.
    func isCurlyQuote(at index: Int) -> Bool {
        index < count && self[index] == 0xE2 && count - index >= 3 && self[index + 1] == 0x80
            && 0x98...0x9F ~= self[index + 2]
    }

    /// Whether the text is how Swift describes `Data`: `5000 bytes`.
    private var isDataDescription: Bool {
        guard count > 6, count <= 26, hasBytes(" bytes", at: count - 6) else { return false }
        return extracting(0..<count - 6).isDigits
    }

    fileprivate var isDigits: Bool {
        for index in indices where self[index] &- 0x30 >= 10 { return false }
        return !isEmpty
    }

    /// Whether the text is an order id or a purchase token of Google Play.
    var isGooglePlay: Bool {
        if hasBytes("GPA.", at: 0) { return true }
        for index in indices where self[index] == UInt8(ascii: ".") {
            if hasBytes(".AO-J1", at: index) { return true }
        }
        return false
    }

    /// Whether the text is the hexadecimal of a SEQUENCE, with what languages write around it: `<30820…>`, `0x30820…`,
    /// `{length = 5000, bytes = 0x30820…`, `\x30\x82\x0…`.
    fileprivate var isHexadecimal: Bool {
        var position = 0
        if self[0] == .openingBrace || self[0] == UInt8(ascii: "0") {
            for index in 0..<Swift.min(count, 48) where hasLetters("0x", at: index) {
                position = index + 2
                break
            }
            guard position > 0 || self[0] != .openingBrace else { return false }
        }
        var digits: [UInt8] = []
        while position < count, digits.count < 32 {
            if let digit = self[position].hexadecimalDigit {
                digits.append(digit)
            } else if hasLetters("\\x", at: position) {
                position += 1
            } else if !self[position].isWhitespace, !":,<".utf8.contains(self[position]) {
                return false
            }
            position += 1
        }
        return digits.count == 32 && digits[0] == 3 && digits[1] == 0 && digits[2] == 8
    }

    /// The bytes of base64 in any alphabet and in lines, without a last group that ends early, and the number of all
    /// that arrived; `nil` if the text has other characters.
    fileprivate var decodedGroups: (bytes: [UInt8], count: Int)? {
        var letters: [UInt8] = []
        var end = count
        while end > 0, self[end - 1] == .equalsSign || self[end - 1].isWhitespace { end -= 1 }
        for index in 0..<end {
            let byte = self[index]
            switch byte {
            case .carriageReturn, .lineFeed, .tab, .backslash: continue
            // Forms turn `+` into a space.
            case .space, .plus, UInt8(ascii: "-"): letters.append(.plus)
            case .slash, UInt8(ascii: "_"): letters.append(.slash)
            default:
                guard byte.isBase64Letter else { return nil }
                letters.append(byte)
            }
        }
        let byteCount = letters.count * 3 / 4
        if let all = try? Base64.decode(letters.span, as: [.standard, .unpadded]) { return (all, byteCount) }
        let groups = letters.span.extracting(first: letters.count / 4 * 4)
        return (try? Base64.decode(groups, as: .strict)).map { ($0, byteCount) }
    }

    /// Whether the text has a name of JSON.
    fileprivate func containsName(_ name: String) -> Bool {
        for index in indices where self[index] == .quotationMark {
            let end = index + 1 + name.utf8.count
            if hasBytes(name, at: index + 1), end < count, self[end] == .quotationMark { return true }
        }
        return false
    }
}

extension UInt8 {
    /// Whether it is a letter of either alphabet of base64 but `+` and `/`.
    fileprivate var isBase64Letter: Bool {
        self &- 0x30 < 10 || (self | 0x20) &- 0x61 < 26 || self == UInt8(ascii: "-") || self == UInt8(ascii: "_")
    }

    fileprivate var isSeparator: Bool {
        isWhitespace || self == UInt8(ascii: ",") || self == UInt8(ascii: ";") || self == UInt8(ascii: "|")
    }
}
