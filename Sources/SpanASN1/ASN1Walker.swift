/// A reader that visits every element of an input, depth first and in the order of the bytes.
///
/// It reads the syntax only: DER by default, or BER. Its memory is two integers for each open level, and its time is
/// linear in the bytes. It checks an element when it reaches it, so it may visit elements before it throws an error.
///
/// ```swift
/// var walker = ASN1Walker(bytes.span, rules: .ber)
/// while let element = try walker.next() {
///     print(String(repeating: " ", count: element.depth), element.tag, "at", element.offset)
/// }
/// ```
package struct ASN1Walker: ~Escapable {
    /// The encoding rules of X.690.
    package enum Rules: Sendable {
        /// DER: definite, minimal lengths.
        case der
        /// BER: any lengths, and indefinite lengths of constructed elements.
        case ber
    }

    /// A visited element. Offsets count from the start of the received input.
    package struct Element: Hashable, Sendable {
        /// The depth; 0 for an outermost element.
        package let depth: Int
        /// The tag. It is `.endOfContents` for the marker that ends an indefinite length, whose depth is that of the
        /// content that it ends.
        package let tag: ASN1Tag
        /// The offset of the header.
        package let offset: Int
        /// The offset of the content.
        package let contentOffset: Int
        /// The number of content octets; `nil` for an indefinite length.
        package let contentCount: Int?

        /// The number of tag and length octets.
        package var headerCount: Int { contentOffset - offset }
        /// A Boolean value that indicates whether the length is indefinite. An end-of-contents marker then ends the
        /// content.
        package var isIndefinite: Bool { contentCount == nil }
        /// The range of the content; `nil` for an indefinite length.
        package var contentRange: Range<Int>? { contentCount.map { contentOffset..<contentOffset + $0 } }
    }

    /// An element whose content is being visited.
    private struct Level {
        /// The end of the content, or its maximum for an indefinite length.
        let end: Int
        /// The offset of its header if it has an indefinite length, and otherwise −1.
        let indefiniteStart: Int
    }

    private let bytes: Span<UInt8>
    private let baseOffset: Int
    private let limits: ASN1Limits
    private let rules: Rules
    private var position = 0
    private var count = 0
    private var levels: [Level] = []
    /// The element visited last, if its content can still be entered.
    private var pending: Level?

    /// Creates a walker over bytes.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to read.
    ///   - baseOffset: The offset of `bytes` in the received input.
    ///   - rules: The encoding rules.
    ///   - limits: The limits on the input.
    @_lifetime(copy bytes)
    package init(
        _ bytes: Span<UInt8>, baseOffset: Int = 0, rules: Rules = .der, limits: ASN1Limits = ASN1Limits()
    ) {
        self.bytes = bytes
        self.baseOffset = baseOffset
        self.limits = limits
        self.rules = rules
    }

    /// Returns the next element; `nil` at the end of the input.
    ///
    /// - Throws: An error of the identifier and length octets, such as `truncated`, `non-minimal-length` or
    ///   `indefinite-length`; `input-too-large`, `nesting-too-deep` or `too-many-elements` if a limit is exceeded.
    package mutating func next() throws(ASN1DecodingError) -> Element? {
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

    /// Continues with the content of the primitive element that ``next()`` returned last, such as an OCTET STRING that
    /// contains DER.
    ///
    /// - Parameters:
    ///   - element: The element that ``next()`` returned last.
    ///   - count: The number of octets to skip first; 1 skips a BIT STRING's number of unused bits.
    /// - Returns: `false` if the element is not the one visited last, is constructed, or is shorter than `count`. Then
    ///   nothing changes.
    @discardableResult
    package mutating func enter(_ element: Element, skipping count: Int = 0) -> Bool {
        guard !element.tag.isConstructed, let content = element.contentRange,
            content.upperBound == baseOffset + position,
            0...content.count ~= count, element.tag != .endOfContents
        else { return false }
        levels.append(Level(end: position, indefiniteStart: -1))
        position = content.lowerBound - baseOffset + count
        return true
    }

    private func failure(_ kind: ASN1DecodingError.Kind, _ position: Int) -> ASN1DecodingError {
        ASN1DecodingError(kind, offset: baseOffset + position)
    }
}
