import SpanASN1
import StrictText

/// A text without some of the layers around it.
package struct UnwrappedText: Sendable {
    package let bytes: [UInt8]
    /// Where the bytes are in what was received; `nil` if they were decoded.
    let start: Int?
    package let layers: Layers

    init(received: Span<UInt8>) { self.init([UInt8](copying: received), at: 0, in: Layers()) }

    fileprivate init(_ bytes: [UInt8], at start: Int?, in layers: Layers) {
        self.bytes = bytes
        self.start = start
        self.layers = layers
    }

    /// The text inside a wrapper; `nil` if there are too many layers.
    ///
    /// - Parameter offset: Where it begins in ``bytes``; `nil` if it was decoded.
    fileprivate func inside(_ wrapper: Wrapper, _ content: [UInt8], at offset: Int?) -> UnwrappedText? {
        layers.adding(wrapper).map { UnwrappedText(content, at: place(offset), in: $0) }
    }

    /// The text in a member of an object that is no layer.
    fileprivate func inside(_ content: [UInt8], at offset: Int?) -> UnwrappedText {
        UnwrappedText(content, at: place(offset), in: layers)
    }

    fileprivate func renaming(inside layers: Layers, to wrapper: Wrapper) -> UnwrappedText {
        UnwrappedText(bytes, at: start, in: self.layers.renaming(inside: layers, to: wrapper))
    }

    /// Returns the position in what was received of a position in ``bytes``.
    func place(_ offset: Int?) -> Int? {
        guard let start, let offset else { return nil }
        return start + offset
    }
}

/// Finds evidence in the wrappers that clients are known to use.
///
/// It counts as if it had been sent alone. Nothing is verified. Time and memory are linear in the size of the text:
/// there are at most two layers, with at most one object that is no layer in each.
package struct Unwrapper: Sendable {
    /// The only kind that the caller accepts; `nil` for any.
    let kind: EvidenceKind?
    let limits: VerificationLimits

    package init(as kind: EvidenceKind? = nil, _ limits: VerificationLimits) {
        self.kind = kind
        self.limits = limits
    }

    /// Returns the members of an object that no wrapper has for evidence.
    static func otherMembers(of object: [UInt8]) -> [UInt8] {
        var others = JSONWriter()
        others.beginObject()
        do throws(JSONError) {
            try JSONCursor.decode(object.span) { (cursor) throws(JSONError) in
                try cursor.readObject { (cursor, name) throws(JSONError) in
                    let bytes = name.bytes
                    let value = object.span.extracting(try cursor.skipValue())
                    guard !Wrapper.members.contains(where: { bytes.span.hasSameBytes(as: $0.path[0]) }) else { return }
                    others.member(rawName: object.span.extracting(name.range), rawValue: value)
                }
            }
        } catch {
            return []
        }
        others.endObject()
        return others.bytes.count > 2 ? others.bytes : []
    }

    enum Reading {
        case evidence(UnwrappedText)
        /// Members of no single wrapper have different evidence.
        case ambiguous(UnwrappedText)
        /// No evidence: the innermost text that was reached.
        case other(UnwrappedText)
    }

    /// Returns evidence without its known wrappers; the bytes themselves if there are none.
    package static func evidence(in received: [UInt8], _ limits: VerificationLimits) -> [UInt8] {
        let unwrapper = Unwrapper(limits)
        guard !unwrapper.isEvidence(received.span), limits.allow(received.span),
            case .evidence(let text) = unwrapper.read(received.span)
        else { return received }
        return text.bytes
    }

    /// Reads a text that is no evidence in the form in which it was received.
    func read(_ received: Span<UInt8>) -> Reading { inside(UnwrappedText(received: received)) }

    /// Whether a text is evidence by its form, and not only by its beginning.
    func isEvidence(_ text: Span<UInt8>) -> Bool {
        ReceivedEvidence(exactly: text, as: kind, limits).hasForm(in: text)
    }

    // MARK: Layers

    private func visit(_ text: UnwrappedText) -> Reading {
        isEvidence(text.bytes.span) ? .evidence(text) : inside(text)
    }

    /// - Parameter isMember: Whether the text was in a member of an object that is no layer. Another such object in it
    ///   is not read.
    private func inside(_ text: UnwrappedText, isMember: Bool = false) -> Reading {
        let content = text.bytes.span.contentRange
        guard !content.isEmpty else { return .other(text) }
        if text.bytes[content.lowerBound] == .openingBrace { return object(text, from: content.lowerBound, isMember) }
        if text.bytes.span.extracting(content).formValue?.isAmbiguous == true { return .ambiguous(text) }
        guard let (wrapper, bytes, offset) = Self.unwrap(text.bytes.span, content) else { return .other(text) }
        guard let inner = text.inside(wrapper, bytes, at: offset) else { return .other(text) }
        let reading = visit(inner)
        // Any text of a few letters is base64, and most have nothing in them.
        if wrapper == .base64, case .other = reading { return .other(text) }
        return reading
    }

    /// Returns the content of a text that is no object, and where; `nil` for an unknown form.
    private static func unwrap(
        _ text: Span<UInt8>, _ content: Range<Int>
    ) -> (wrapper: Wrapper, bytes: [UInt8], offset: Int?)? {
        let trimmed = text.extracting(content)
        if trimmed[0] == .quotationMark {
            // No other form begins with a quotation mark.
            let string = try? JSONCursor.decode(text, from: content.lowerBound) { (cursor) throws(JSONError) in
                let string = try cursor.readString()
                return (string.bytes, string.hasEscapes ? nil : string.offset + 1)
            }
            return string.map { (.jsonString, $0.0, $0.1) }
        }
        if let comma = trimmed.endOfDataPrefix {
            let place = content.lowerBound + comma..<content.upperBound
            let value = text.extracting(place)
            if let decoded = value.percentDecoded() { return (.dataURI, decoded, nil) }
            return (.dataURI, [UInt8](copying: value), place.lowerBound)
        }
        if let value = trimmed.formValue?.range {
            let place = content.lowerBound + value.lowerBound..<content.lowerBound + value.upperBound
            let raw = text.extracting(place)
            if let decoded = raw.percentDecoded(isForm: true) { return (.form, decoded, nil) }
            return (.form, [UInt8](copying: raw), place.lowerBound)
        }
        if let decoded = trimmed.percentDecoded() { return (.percentEncoding, decoded, nil) }
        if let jws = trimmed.withoutLineBreaks, CompactJWS.hasForm(jws.span) { return (.lineBreaks, jws, nil) }
        // The base64 of a receipt is evidence itself.
        guard let decoded = try? Base64.decode(trimmed), !decoded.span.isContainerBeginning else { return nil }
        return (.base64, decoded, nil)
    }

    // MARK: Objects

    private func object(_ text: UnwrappedText, from start: Int, _ isMember: Bool) -> Reading {
        var survey = ObjectSurvey()
        do throws(JSONError) {
            try JSONCursor.decode(text.bytes.span, from: start) { (cursor) throws(JSONError) in
                try cursor.readObject { (cursor, name) throws(JSONError) in
                    let name = name.bytes
                    survey.see(name.span)
                    for (index, member) in Wrapper.members.enumerated()
                    where (member.path.count == 2 || !isMember || !member.wrappers.isEmpty)
                        && name.span.hasSameBytes(as: member.path[0])
                    {
                        let type = try cursor.peekType()
                        if member.path.count == 1, type == .string {
                            survey.add(read(try cursor.readString(), index, in: text), index)
                            return
                        }
                        if member.path.count == 1 { survey.addOther(index) }
                        if member.path.count == 2, type == .object {
                            try readNested(&cursor, name.span, in: text, &survey)
                            return
                        }
                    }
                }
            }
        } catch {
            return .other(text)
        }
        return survey.reading(of: text)
    }

    private func readNested(
        _ cursor: inout JSONCursor, _ parent: Span<UInt8>, in text: UnwrappedText, _ survey: inout ObjectSurvey
    ) throws(JSONError) {
        let parent = [UInt8](copying: parent)
        try cursor.readObject { (cursor, name) throws(JSONError) in
            let name = name.bytes
            for (index, member) in Wrapper.members.enumerated()
            where member.path.count == 2 && parent.span.hasSameBytes(as: member.path[0])
                && name.span.hasSameBytes(as: member.path[1])
            {
                guard try cursor.peekType() == .string else { return }
                survey.add(read(try cursor.readString(), index, in: text), index)
                return
            }
        }
    }

    /// Reads a member; `nil` if empty or too deep.
    private func read(_ string: borrowing JSONString, _ index: Int, in text: UnwrappedText) -> Reading? {
        guard !string.raw.isEmpty else { return nil }
        let offset = string.hasEscapes ? nil : string.offset + 1
        guard let wrapper = Wrapper.members[index].wrappers.first else {
            let inner = text.inside(string.bytes, at: offset)
            return isEvidence(inner.bytes.span) ? .evidence(inner) : inside(inner, isMember: true)
        }
        return text.inside(wrapper, string.bytes, at: offset).map { visit($0) }
    }
}

/// The members of one object that have evidence.
private struct ObjectSurvey {
    /// For each of ``Wrapper/members``, the evidence in it.
    private var found = [UnwrappedText?](repeating: nil, count: Wrapper.members.count)
    private var isAmbiguous = false
    /// Whether a member that is read without a wrapper is repeated, which the reader of the object has refused.
    private var isRepeated = false
    private var read: Set<Int> = []
    /// Whether such a member has something that is no evidence.
    private var hasOther = false
    /// The first text that is no evidence.
    private var other: UnwrappedText?
    private var otherCount = 0
    private var companions: [Wrapper] = []

    mutating func see(_ name: Span<UInt8>) {
        for (wrapper, companion) in Wrapper.companions where name.hasSameBytes(as: companion) {
            if !companions.contains(wrapper) { companions.append(wrapper) }
        }
    }

    /// Adds a member that is no string.
    mutating func addOther(_ index: Int) {
        guard Wrapper.members[index].wrappers.isEmpty else { return }
        isRepeated = isRepeated || !read.insert(index).inserted
        hasOther = true
    }

    mutating func add(_ reading: Unwrapper.Reading?, _ index: Int) {
        if Wrapper.members[index].wrappers.isEmpty {
            isRepeated = isRepeated || !read.insert(index).inserted
            if case .other? = reading { hasOther = true }
        }
        switch reading {
        case .evidence(let text):
            if let first = found[index] {
                isAmbiguous = isAmbiguous || !first.bytes.span.hasSameBytes(as: text.bytes.span)
            } else {
                found[index] = text
            }
        case .ambiguous: isAmbiguous = true
        case .other(let text):
            otherCount += 1
            other = other ?? text
        case nil: break
        }
    }

    func reading(of object: UnwrappedText) -> Unwrapper.Reading {
        let rows = Wrapper.allCases.filter { $0.row.companion == nil || companions.contains($0) }
        let members = found.indices.filter { index in
            let wrappers = Wrapper.members[index].wrappers
            return found[index] != nil && (wrappers.isEmpty || wrappers.contains { rows.contains($0) })
        }
        // The reader of the object refuses other text beside evidence in its own members.
        let isPlain = members.contains { Wrapper.members[$0].wrappers.isEmpty }
        if isRepeated || hasOther && isPlain { return .other(object) }
        if isAmbiguous { return .ambiguous(object) }
        guard let first = members.first, let evidence = found[first] else {
            // Of several texts, it is unknown which was meant as evidence.
            return .other(otherCount == 1 ? other ?? object : object)
        }
        let isSame = members.allSatisfy { index in
            guard let other = found[index] else { return true }
            return other.bytes.span.hasSameBytes(as: evidence.bytes.span)
        }
        if isSame, Wrapper.members[first].wrappers.isEmpty { return .evidence(evidence) }
        let row =
            rows.first { row in members.allSatisfy { Wrapper.members[$0].wrappers.contains(row) } }
            ?? (isSame ? rows.first { Wrapper.members[first].wrappers.contains($0) } : nil)
        guard let row else { return .ambiguous(object) }
        // In the order of the row.
        for path in row.row.members {
            for index in members where path.elementsEqual(Wrapper.members[index].path, by: { $0.hasSameBytes(as: $1) })
            {
                guard let text = found[index] else { continue }
                return .evidence(text.renaming(inside: object.layers, to: row))
            }
        }
        return .ambiguous(object)
    }
}

extension VerificationLimits {
    /// Whether a text that may have any evidence in it is not too large to be read.
    func allow(_ text: Span<UInt8>) -> Bool {
        var limit = maximumReceiptByteCount
        for kind in EvidenceKind.recognizable { limit = max(limit, kind.maximumByteCount(self)) }
        return text.count <= ReceiptText.maximumCount(limit)
    }
}

// MARK: - Forms of texts

extension Span<UInt8> {
    /// The positions without a byte order mark and whitespace around the text.
    var contentRange: Range<Int> {
        let start = count >= 3 && self[0] == 0xEF && self[1] == 0xBB && self[2] == 0xBF ? 3 : 0
        let trimmed = extracting(start..<count).trimmedRange
        return start + trimmed.lowerBound..<start + trimmed.upperBound
    }

    /// Whether the bytes from a position on are these letters, in any case.
    func hasLetters(_ letters: String, at position: Int) -> Bool {
        guard count - position >= letters.utf8.count else { return false }
        var index = position
        for letter in letters.utf8 {
            let byte = self[index] &- 0x41 < 26 ? self[index] | 0x20 : self[index]
            guard byte == letter else { return false }
            index += 1
        }
        return true
    }

    /// Where the data of a `data:` URI begins; `nil` for another text.
    fileprivate var endOfDataPrefix: Int? {
        guard hasLetters("data:", at: 0) else { return nil }
        // A media type and its parameters are short.
        for position in 5..<Swift.min(count, 256) where self[position] == UInt8(ascii: ",") { return position + 1 }
        return nil
    }

    /// The value of the first pair of a form whose name is that of a member with evidence, and whether another such
    /// pair has another value; `nil` for another text.
    fileprivate var formValue: (range: Range<Int>, isAmbiguous: Bool)? {
        var value: Range<Int>?
        var isAmbiguous = false
        var start = 0
        while start < count {
            var end = start
            while end < count, self[end] != UInt8(ascii: "&") { end += 1 }
            for member in EvidenceMember.allCases where hasBytes(member.rawValue, at: start) {
                let nameEnd = start + member.rawValue.utf8.count
                guard nameEnd < end, self[nameEnd] == .equalsSign else { continue }
                let next = nameEnd + 1..<end
                if let value, !extracting(value).hasSameBytes(as: extracting(next)) { isAmbiguous = true }
                value = value ?? next
            }
            start = end + 1
        }
        return value.map { ($0, isAmbiguous) }
    }

    /// The bytes without percent-encoding; `nil` if there is none, or a malformed one.
    ///
    /// - Parameter isForm: Whether `+` stands for a space, as in a form, if another `+` is encoded. A client that
    ///   encodes none means a literal `+`.
    fileprivate func percentDecoded(isForm: Bool = false) -> [UInt8]? {
        var (isEncoded, isPlusEncoded) = (false, false)
        for position in indices where self[position] == UInt8(ascii: "%") {
            guard let byte = percentEncodedByte(at: position) else { return nil }
            isEncoded = true
            isPlusEncoded = isPlusEncoded || byte == .plus
        }
        guard isEncoded else { return nil }
        var decoded: [UInt8] = []
        var position = 0
        while position < count {
            if let byte = percentEncodedByte(at: position) {
                decoded.append(byte)
                position += 3
            } else {
                let isSpace = isForm && isPlusEncoded && self[position] == .plus
                decoded.append(isSpace ? .space : self[position])
                position += 1
            }
        }
        return decoded
    }

    private func percentEncodedByte(at position: Int) -> UInt8? {
        guard self[position] == UInt8(ascii: "%"), count - position >= 3,
            let high = self[position + 1].hexadecimalDigit, let low = self[position + 2].hexadecimalDigit
        else { return nil }
        return high << 4 | low
    }

    /// The text of a JWS without the whitespace in it; `nil` if it has none, or does not begin like one.
    fileprivate var withoutLineBreaks: [UInt8]? {
        guard hasBytes("ey", at: 0) else { return nil }
        var kept: [UInt8] = []
        for index in indices where !self[index].isWhitespace { kept.append(self[index]) }
        return kept.count < count ? kept : nil
    }

    /// The number of bytes that a SEQUENCE says it has, with its header, if it begins as a container of PKCS #7 does:
    /// with an object identifier. `nil` for the indefinite length, and for anything else.
    var declaredContainerCount: Int? {
        guard let header = containerHeaderCount, self[1] > 0x80 else { return nil }
        var length = 0
        for index in 2..<header { length = length << 8 | Int(self[index]) }
        return header + length
    }

    /// Whether the bytes begin as a container of PKCS #7 does.
    var isContainerBeginning: Bool { containerHeaderCount != nil }

    private var containerHeaderCount: Int? {
        guard count >= 2, self[0] == 0x30, 0x80...0x87 ~= self[1] else { return nil }
        let header = 2 + Int(self[1] & 0x07)
        guard header < count, self[header] == 0x06 else { return nil }
        return header
    }
}

extension UInt8 {
    var hexadecimalDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self &- UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): (self | 0x20) &- 0x61 &+ 10
        default: nil
        }
    }
}
