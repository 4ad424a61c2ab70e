/// Visits every element of an input, whatever it means: depth first, in the order of the bytes.
///
/// It reads syntax only, DER by default or all of BER, and keeps two integers per open level and no other memory; the time is
/// linear in the bytes. Elements are checked as they are reached, so some may be visited before an error is thrown.
///
/// ```swift
/// var walker = ASN1Walker(bytes.span, rules: .ber)
/// while let element = try walker.next() {
///     print(String(repeating: " ", count: element.depth), element.tag, "at", element.offset)
/// }
/// ```
public struct ASN1Walker: ~Escapable {
    /// Which encoding rules of X.690 the input keeps to.
    public enum Rules: Sendable {
        /// Definite, minimal lengths.
        case der
        /// Any length, and indefinite ones of constructed elements.
        case ber
    }

    /// What is said about an element. Offsets count from the start of the received input.
    public struct Element: Hashable, Sendable {
        /// 0 for an outermost element.
        public let depth: Int
        /// `.endOfContents` for the two octets that end an indefinite length; their depth is that of the content they end.
        public let tag: ASN1Tag
        /// Where the header begins.
        public let offset: Int
        /// Where the content begins.
        public let contentOffset: Int
        /// The number of content octets; `nil` for an indefinite length, which is known when its end-of-contents is reached.
        public let contentCount: Int?

        /// The number of tag and length octets.
        public var headerCount: Int { contentOffset - offset }
        /// Whether the length is indefinite: an end-of-contents marker ends the content.
        public var isIndefinite: Bool { contentCount == nil }
        /// The content, unless the length is indefinite.
        public var contentRange: Range<Int>? { contentCount.map { contentOffset..<contentOffset + $0 } }
    }

    /// An element whose content is being visited.
    private struct Level {
        /// Where the content ends; for an indefinite length, where it must have ended.
        let end: Int
        /// Where its header begins, when it has an indefinite length; else −1.
        let indefiniteStart: Int
    }

    private let bytes: Span<UInt8>
    private let baseOffset: Int
    private let limits: ASN1Limits
    private let rules: Rules
    private var position = 0
    private var count = 0
    private var levels: [Level] = []
    /// The element visited last, when its content is still to be entered.
    private var pending: Level?

    /// A walker over all of `bytes`; `baseOffset` is where they begin in the received input.
    @_lifetime(copy bytes)
    public init(
        _ bytes: Span<UInt8>, baseOffset: Int = 0, rules: Rules = .der, limits: ASN1Limits = ASN1Limits()
    ) {
        self.bytes = bytes
        self.baseOffset = baseOffset
        self.limits = limits
        self.rules = rules
    }

    /// The next element; `nil` at the end of the input.
    ///
    /// - Throws: `truncated`, `non-minimal-length`, `indefinite-length` and the other errors of identifier and length octets;
    ///   `input-too-large`, `nesting-too-deep`, `too-many-elements` by the limits.
    public mutating func next() throws(ASN1DecodingError) -> Element? {
        guard bytes.count <= limits.maximumByteCount else { throw failure(.inputTooLarge, limits.maximumByteCount) }
        if let level = pending {
            levels.append(level)
            pending = nil
        }
        while let level = levels.last, level.end == position {
            guard level.indefiniteStart < 0 else { throw failure(.truncated, level.indefiniteStart) }
            levels.removeLast()
        }
        let end = levels.last?.end ?? bytes.count
        let start = position
        guard start < end else { return nil }
        guard levels.count < limits.maximumDepth else { throw failure(.nestingTooDeep, start) }
        guard count < limits.maximumElementCount else { throw failure(.tooManyElements, start) }
        count += 1

        var index = start
        let tag = try ASN1Cursor.readTag(bytes, &index, end, baseOffset)
        let length = try ASN1Cursor.readLength(bytes, &index, end, baseOffset, isMinimal: rules == .der)
        let element = Element(
            depth: levels.count, tag: tag, offset: baseOffset + start, contentOffset: baseOffset + index,
            contentCount: length)
        if tag == .endOfContents {
            guard let level = levels.last, level.indefiniteStart >= 0 else {
                throw failure(.unexpectedEndOfContents, start)
            }
            // X.690, 8.1.5: two zero octets.
            guard length == 0, index == start + 2 else { throw failure(.invalidLength, start) }
            levels.removeLast()
            position = index
            return element
        }
        guard let length else {
            // X.690, 8.1.3.2 a: a primitive element has a definite length.
            guard rules == .ber, tag.isConstructed else { throw failure(.indefiniteLength, start) }
            pending = Level(end: end, indefiniteStart: start)
            position = index
            return element
        }
        guard length <= end - index else { throw failure(.truncated, start) }
        if tag.isConstructed {
            pending = Level(end: index + length, indefiniteStart: -1)
            position = index
        } else {
            position = index + length
        }
        return element
    }

    /// Visits the content of the primitive element that ``next()`` has just given, such as an OCTET STRING that wraps DER.
    ///
    /// - Parameters:
    ///   - element: what ``next()`` has given.
    ///   - count: how many octets to leave out first; 1 skips a BIT STRING's number of unused bits.
    /// - Returns: `false`, and nothing changes, for an element that is not the one visited last, constructed, or shorter than `count`.
    @discardableResult
    public mutating func enter(_ element: Element, skipping count: Int = 0) -> Bool {
        guard !element.tag.isConstructed, let content = element.contentRange,
            content.upperBound == baseOffset + position,
            0...content.count ~= count, element.tag != .endOfContents
        else { return false }
        levels.append(Level(end: position, indefiniteStart: -1))
        position = content.lowerBound - baseOffset + count
        return true
    }

    /// Leaves out the content of the constructed element that ``next()`` has just given.
    ///
    /// - Returns: `false`, and nothing changes, for an indefinite length (whose end is not known) or a primitive element.
    @discardableResult
    public mutating func skipContent() -> Bool {
        guard let level = pending, level.indefiniteStart < 0 else { return false }
        position = level.end
        pending = nil
        return true
    }

    private func failure(_ kind: ASN1DecodingError.Kind, _ position: Int) -> ASN1DecodingError {
        ASN1DecodingError(kind, offset: baseOffset + position)
    }
}
