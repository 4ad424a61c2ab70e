import SpanASN1

/// One block of a text in PEM: `-----BEGIN label-----`, base64, `-----END label-----` (RFC 7468, 3, strict except for
/// the lengths of lines).
///
/// ```
/// preeb    = "-----BEGIN " label "-----"
/// textualmsg = preeb *WSP eol *eolWSP base64text posteb
/// posteb   = "-----END " label "-----"
/// ```
public struct PEMBlock {
    /// The first characters of every block.
    public static let start = "-----BEGIN "

    /// The range of the label, such as `PKCS7`.
    public let label: Range<Int>
    /// The range of the base64, with its line feeds.
    public let body: Range<Int>
    /// The end of the block.
    public let end: Int

    /// Returns the start of the first line that begins a block, or `nil`. The text between blocks is explanatory (RFC
    /// 7468, 2).
    public static func firstStart(in text: Span<UInt8>, from position: Int) -> Int? {
        let startCount = start.utf8.count
        let mark = text.byteOrderMarkCount
        var position = position
        while position < text.count {
            let isAtLineStart = position == 0 || position == mark || text[position - 1] == .lineFeed
            if isAtLineStart, text.count - position >= startCount,
                text.extracting(position..<position + startCount).hasSameBytes(as: start)
            {
                return position
            }
            position += 1
        }
        return nil
    }

    /// Finds the parts of the block that begins at a byte of a text. Its base64 is not decoded.
    ///
    /// - Parameters:
    ///   - text: The text. Only the block in it is read.
    ///   - start: The start of the block.
    public init(in text: Span<UInt8>, from start: Int) throws(PEMError) {
        var position = start
        func pass(_ expected: Span<UInt8>, _ kind: PEMError.Kind = .malformed) throws(PEMError) {
            guard text.count - position >= expected.count,
                text.extracting(position..<position + expected.count).hasSameBytes(as: expected)
            else {
                throw PEMError(text.count == position ? .unfinished : kind, offset: position)
            }
            position += expected.count
        }
        func pass(_ expected: String, _ kind: PEMError.Kind = .malformed) throws(PEMError) {
            try pass(Array(expected.utf8).span, kind)
        }
        try pass(Self.start)
        let labelStart = position
        while position < text.count, !text[position].isLineBreak {
            if text[position] == .hyphen, position + 1 < text.count, text[position + 1] == .hyphen { break }
            position += 1
        }
        label = labelStart..<position
        try pass("-----")
        while position < text.count, text[position] == .space || text[position] == .tab { position += 1 }
        guard position < text.count, text[position].isLineBreak else {
            throw PEMError(position == text.count ? .unfinished : .malformed, offset: position)
        }
        let bodyStart = position
        // The standard alphabet has no hyphen.
        while position < text.count, text[position] != .hyphen { position += 1 }
        body = bodyStart..<position
        guard text[position - 1].isLineBreak else {
            throw PEMError(position == text.count ? .unfinished : .malformed, offset: position)
        }
        try pass("-----END ")
        try pass(text.extracting(label), .labelMismatch)
        try pass("-----", .labelMismatch)
        end = position
    }
}

/// The reason a text is not PEM, and the place of the fault. Creating one allocates nothing.
public struct PEMError: Error, Hashable, Sendable {
    /// The kinds of faults.
    public enum Kind: Sendable {
        /// A line of the block is malformed.
        case malformed
        /// The labels of the first and last lines differ.
        case labelMismatch
        /// The text ends inside the block.
        case unfinished
    }

    /// The kind of fault.
    public let kind: Kind
    /// The position of the fault, in bytes from the start of the text.
    public let offset: Int

    public init(_ kind: Kind, offset: Int) {
        self.kind = kind
        self.offset = offset
    }
}

extension UInt8 {
    fileprivate static var hyphen: UInt8 { UInt8(ascii: "-") }
    fileprivate var isLineBreak: Bool { self == .lineFeed || self == .carriageReturn }
}
