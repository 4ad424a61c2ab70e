/// One element: its tag, and where its header and content lie in the borrowed bytes.
@frozen
public struct ASN1Element: ~Escapable, BitwiseCopyable {
    /// The bytes the element was read from, up to where it ends.
    @usableFromInline let bytes: Span<UInt8>
    @usableFromInline let start: Int
    @usableFromInline let baseOffset: Int
    /// What the element is by its identifier octets.
    public let tag: ASN1Tag
    /// What the cursor that read this element lets pass beyond DER.
    public let relaxations: ASN1Relaxations
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

    /// Where the header begins, from the start of the received input.
    @inlinable public var offset: Int { baseOffset &+ start }
    /// Where the content begins, from the start of the received input.
    @inlinable public var contentOffset: Int { baseOffset &+ contentStart }
    /// The number of tag and length octets.
    @inlinable public var headerCount: Int { Int(shortHeaderCount) }
    /// The number of content octets.
    @inlinable public var contentCount: Int { end &- contentStart }
    /// Header and content as a range of offsets from the start of the received input.
    @inlinable public var range: Range<Int> { baseOffset &+ start..<baseOffset &+ end }
    /// The content as a range of offsets from the start of the received input.
    @inlinable public var contentRange: Range<Int> { baseOffset &+ contentStart..<baseOffset &+ end }

    /// The content octets.
    @inlinable
    public var content: Span<UInt8> {
        @_lifetime(copy self)
        get { bytes.extracting(contentStart...) }
    }

    /// Header and content, as received.
    @inlinable
    public var encoded: Span<UInt8> {
        @_lifetime(copy self)
        get { bytes.extracting(start...) }
    }

    /// A cursor over the content; meant for constructed elements, and for DER wrapped in an OCTET STRING.
    @inlinable
    public var contents: ASN1Cursor {
        @_lifetime(copy self)
        get { ASN1Cursor(bytes, position: contentStart, baseOffset: baseOffset, relaxations: relaxations) }
    }

    /// Reads the content through `body`, which must read all of it.
    ///
    /// - Throws: what `body` throws; `trailing-data` when it leaves elements behind.
    @inlinable
    public func decode<Result>(
        _ body: (inout ASN1Cursor) throws(ASN1DecodingError) -> Result
    ) throws(ASN1DecodingError) -> Result {
        var cursor = contents
        let result = try body(&cursor)
        try cursor.finish()
        return result
    }

    /// Reads the content as ``decode(_:)`` does; the element must have the given tag.
    ///
    /// - Throws: `unexpected-tag`; as ``decode(_:)``.
    @inlinable
    public func decode<Result>(
        _ tag: ASN1Tag, _ body: (inout ASN1Cursor) throws(ASN1DecodingError) -> Result
    ) throws(ASN1DecodingError) -> Result {
        guard self.tag == tag else { throw wrongTag(expected: tag) }
        return try decode(body)
    }

    /// An error at this element's header.
    @inlinable
    public func error(_ kind: ASN1DecodingError.Kind) -> ASN1DecodingError {
        ASN1DecodingError(kind, offset: offset)
    }

    /// Proves that this element is primitive and has the class and number of `expected`.
    @inlinable
    func require(_ expected: ASN1Tag) throws(ASN1DecodingError) {
        guard tag == expected.asPrimitive else { throw wrongTag(expected: expected.asPrimitive) }
    }

    /// A string type in the other form is a constructed string; all else is the wrong type.
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
