/// An ASN.1 element: its tag, and the position of its header and content in the borrowed bytes.
@usableFromInline
package struct ASN1Element: ~Escapable, BitwiseCopyable {
    /// The bytes the element was read from, up to where it ends.
    @usableFromInline let bytes: Span<UInt8>
    @usableFromInline let start: Int
    @usableFromInline let baseOffset: Int
    /// The tag of the element.
    @usableFromInline package let tag: ASN1Tag
    /// The deviations from DER that the cursor of this element allows.
    @usableFromInline package let relaxations: ASN1Relaxations
    /// At most 5 octets of tag and 127 of length.
    @usableFromInline let shortHeaderCount: UInt8

    @inlinable
    @_lifetime(copy bytes)
    init(
        bytes: Span<UInt8>, tag: ASN1Tag, start: Int, headerCount: Int, baseOffset: Int, relaxations: ASN1Relaxations
    ) {
        self.bytes = bytes
        self.tag = tag
        self.relaxations = relaxations
        self.start = start
        self.baseOffset = baseOffset
        shortHeaderCount = UInt8(truncatingIfNeeded: headerCount)
    }

    @inlinable var contentStart: Int { start &+ headerCount }
    @inlinable var end: Int { bytes.count }

    /// The offset of the header from the start of the received input.
    @inlinable package var offset: Int { baseOffset &+ start }
    /// The offset of the content from the start of the received input.
    @inlinable package var contentOffset: Int { baseOffset &+ contentStart }
    /// The number of tag and length octets.
    @inlinable package var headerCount: Int { Int(shortHeaderCount) }
    /// The number of content octets.
    @inlinable package var contentCount: Int { end &- contentStart }
    /// The header and the content as a range of offsets from the start of the received input.
    @inlinable package var range: Range<Int> { baseOffset &+ start..<baseOffset &+ end }
    /// The content as a range of offsets from the start of the received input.
    @inlinable package var contentRange: Range<Int> { baseOffset &+ contentStart..<baseOffset &+ end }

    /// The content octets.
    @inlinable
    package var content: Span<UInt8> {
        @_lifetime(copy self)
        get { bytes.extracting(contentStart...) }
    }

    /// The octets of the header and the content, as received.
    @inlinable
    package var encoded: Span<UInt8> {
        @_lifetime(copy self)
        get { bytes.extracting(start...) }
    }

    /// A cursor over the content of a constructed element, or over the DER inside an OCTET STRING.
    @inlinable
    package var contents: ASN1Cursor {
        @_lifetime(copy self)
        get { ASN1Cursor(bytes, position: contentStart, baseOffset: baseOffset, relaxations: relaxations) }
    }

    /// Decodes the content with a closure that must read all of it.
    ///
    /// - Parameter body: A closure that reads the content with a cursor.
    /// - Returns: The result of `body`.
    /// - Throws: The error that `body` throws; `trailing-data` if `body` leaves elements unread.
    @inlinable
    package func decode<Result>(
        _ body: (inout ASN1Cursor) throws(ASN1DecodingError) -> Result
    ) throws(ASN1DecodingError) -> Result {
        var cursor = contents
        let result = try body(&cursor)
        try cursor.finish()
        return result
    }

    /// Decodes the content of an element that must have a tag, with a closure that must read all of it.
    ///
    /// - Parameters:
    ///   - tag: The required tag.
    ///   - body: A closure that reads the content with a cursor.
    /// - Returns: The result of `body`.
    /// - Throws: `unexpected-tag`; the error that `body` throws; `trailing-data` if `body` leaves elements unread.
    @inlinable
    package func decode<Result>(
        _ tag: ASN1Tag, _ body: (inout ASN1Cursor) throws(ASN1DecodingError) -> Result
    ) throws(ASN1DecodingError) -> Result {
        guard self.tag == tag else { throw wrongTag(expected: tag) }
        return try decode(body)
    }

    /// Creates an error at the header of this element.
    ///
    /// - Parameter kind: The kind of fault.
    @inlinable
    package func error(_ kind: ASN1DecodingError.Kind) -> ASN1DecodingError {
        ASN1DecodingError(kind, offset: offset)
    }

    /// Throws an error unless this element is primitive and has the class and number of `expected`.
    @inlinable
    func require(_ expected: ASN1Tag) throws(ASN1DecodingError) {
        guard tag == expected.asPrimitive else { throw wrongTag(expected: expected.asPrimitive) }
    }

    /// Returns the error for a wrong tag: `constructed-string` for a string in constructed form, `unexpected-tag` for
    /// everything else.
    @usableFromInline
    @inline(never)
    func wrongTag(expected: ASN1Tag) -> ASN1DecodingError {
        let isString: Bool
        switch expected {
        case .boolean, .integer, .null, .objectIdentifier, .relativeOID, .enumerated: isString = false
        default: isString = tag.isConstructed && tag.asPrimitive == expected
        }
        return error(isString ? .constructedString : .unexpectedTag)
    }
}
