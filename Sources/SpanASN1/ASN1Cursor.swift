/// A place in borrowed bytes from which DER elements are read, one after the other. It can only shrink.
///
/// A cursor never copies, allocates or recurses, and cannot outlive the bytes. It reads DER (X.690, 10): definite, minimal lengths
/// and minimal tags; what BER allows beyond that is ``BERGate``'s business. Read a structure through ``decode(_:baseOffset:allowing:_:)``
/// or ``ASN1Element/decode(_:)``, which prove that nothing was left over.
@frozen
public struct ASN1Cursor: ~Escapable, BitwiseCopyable {
    /// The bytes this cursor was made from, up to where it must stop.
    @usableFromInline let bytes: Span<UInt8>
    @usableFromInline var position: Int
    /// What `position` 0 counts as in errors.
    @usableFromInline let baseOffset: Int
    /// What this cursor, and every cursor and element made from it, lets pass beyond DER.
    public let relaxations: ASN1Relaxations

    /// A cursor over all of `bytes`; `baseOffset` is where they begin in the received input.
    @inlinable
    @_lifetime(copy bytes)
    public init(_ bytes: Span<UInt8>, baseOffset: Int = 0, allowing relaxations: ASN1Relaxations = []) {
        self.init(bytes, position: 0, baseOffset: baseOffset, relaxations: relaxations)
    }

    @inlinable
    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, position: Int, baseOffset: Int, relaxations: ASN1Relaxations) {
        self.bytes = bytes
        self.position = position
        self.baseOffset = baseOffset
        self.relaxations = relaxations
    }

    @inlinable var end: Int { bytes.count }
    /// Whether all elements have been read.
    @inlinable public var isAtEnd: Bool { position == end }
    /// The number of bytes not yet read.
    @inlinable public var remainingCount: Int { end - position }
    /// Where the next element begins, from the start of the received input.
    @inlinable public var offset: Int { baseOffset &+ position }

    /// Reads a whole input.
    ///
    /// - Throws: what `body` throws; `trailing-data` when it leaves bytes behind.
    @inlinable
    public static func decode<Result>(
        _ bytes: Span<UInt8>, baseOffset: Int = 0, allowing relaxations: ASN1Relaxations = [],
        _ body: (inout ASN1Cursor) throws(ASN1DecodingError) -> Result
    ) throws(ASN1DecodingError) -> Result {
        var cursor = ASN1Cursor(bytes, baseOffset: baseOffset, allowing: relaxations)
        let result = try body(&cursor)
        try cursor.finish()
        return result
    }

    /// Proves that everything was read.
    ///
    /// - Throws: `trailing-data`, where the rest begins.
    @inlinable
    @inline(__always)
    public func finish() throws(ASN1DecodingError) {
        guard isAtEnd else { throw ASN1DecodingError(.trailingData, offset: offset) }
    }

    /// The tag of the next element; `nil` at the end or where there is no well-formed tag.
    @inlinable
    @inline(__always)
    public func peekTag() -> ASN1Tag? {
        guard position < end else { return nil }
        let octet = bytes[position]
        return octet & 0x1F != 0x1F ? ASN1Tag(octet: octet) : peekLongTag()
    }

    @usableFromInline
    @inline(never)
    func peekLongTag() -> ASN1Tag? {
        var index = position
        return try? Self.readTag(bytes, &index, end, baseOffset)
    }

    /// Reads the next element, whatever it is.
    ///
    /// - Throws: `missing-element` at the end; what is wrong with the tag or the length, or `truncated`, at the element.
    @inlinable
    @inline(__always)
    @_lifetime(copy self)
    public mutating func read() throws(ASN1DecodingError) -> ASN1Element {
        let start = position
        // Two header bytes and a short length: nearly every element of a receipt.
        if end &- start >= 2 {
            let octet = bytes[start]
            let length = Int(bytes[start &+ 1])
            if octet & 0x1F != 0x1F, octet != 0, length < 0x80, length <= end &- start &- 2 {
                position = start &+ 2 &+ length
                return ASN1Element(
                    bytes: bytes.extracting(..<position), tag: ASN1Tag(octet: octet), start: start, headerCount: 2,
                    baseOffset: baseOffset, relaxations: relaxations)
            }
        }
        return try readLong()
    }

    @usableFromInline
    @inline(never)
    @_lifetime(copy self)
    mutating func readLong() throws(ASN1DecodingError) -> ASN1Element {
        let start = position
        var index = start
        guard index < end else { throw ASN1DecodingError(.missingElement, offset: baseOffset &+ start) }
        let tag = try Self.readTag(bytes, &index, end, baseOffset)
        if tag == .endOfContents { throw ASN1DecodingError(.unexpectedEndOfContents, offset: baseOffset &+ start) }
        guard
            let length = try Self.readLength(
                bytes, &index, end, baseOffset, isMinimal: !relaxations.contains(.nonMinimalLengths))
        else {
            throw ASN1DecodingError(.indefiniteLength, offset: baseOffset &+ start)
        }
        guard length <= end - index else { throw ASN1DecodingError(.truncated, offset: baseOffset &+ start) }
        position = index + length
        return ASN1Element(
            bytes: bytes.extracting(..<position), tag: tag, start: start, headerCount: index - start,
            baseOffset: baseOffset, relaxations: relaxations)
    }

    /// Reads the next element, which must have the given tag.
    ///
    /// - Throws: as ``read()``; `unexpected-tag`; `constructed-string` for a string in segments.
    @inlinable
    @inline(__always)
    @_lifetime(copy self)
    public mutating func read(_ tag: ASN1Tag) throws(ASN1DecodingError) -> ASN1Element {
        let element = try read()
        guard element.tag == tag else { throw element.wrongTag(expected: tag) }
        return element
    }

    /// Reads the next element if it has the given tag; `nil`, and nothing read, if it has another or there is none.
    ///
    /// - Throws: as ``read()``, but no `missing-element`.
    @inlinable
    @inline(__always)
    @_lifetime(copy self)
    public mutating func readIfPresent(_ tag: ASN1Tag) throws(ASN1DecodingError) -> ASN1Element? {
        guard peekTag() == tag else { return nil }
        return try read()
    }

    /// Reads a structure: the next element must have the given constructed tag, and `body` must read all of its content.
    ///
    /// - Throws: as ``read(_:)``; what `body` throws; `trailing-data` when it leaves elements behind.
    @inlinable
    public mutating func read<Result>(
        _ tag: ASN1Tag, _ body: (inout ASN1Cursor) throws(ASN1DecodingError) -> Result
    ) throws(ASN1DecodingError) -> Result {
        try read(tag).decode(body)
    }

    /// Reads all elements that are left, giving each to `body`.
    ///
    /// - Throws: as ``read()``; what `body` throws.
    @inlinable
    public mutating func readAll(
        _ body: (ASN1Element) throws(ASN1DecodingError) -> Void
    ) throws(ASN1DecodingError) {
        while !isAtEnd { try body(read()) }
    }
}

// The syntax of identifier and length octets, for the cursor and for everything that has to know BER as well.
extension ASN1Cursor {
    /// Reads identifier octets (X.690, 8.1.2). `index` must be below `end`.
    @usableFromInline
    static func readTag(
        _ bytes: Span<UInt8>, _ index: inout Int, _ end: Int, _ baseOffset: Int
    ) throws(ASN1DecodingError) -> ASN1Tag {
        let start = index
        let first = bytes[start]
        index += 1
        guard first & 0x1F == 0x1F else { return ASN1Tag(octet: first) }
        var number: UInt32 = 0
        while true {
            guard index < end else { throw ASN1DecodingError(.truncated, offset: baseOffset + start) }
            let octet = bytes[index]
            // X.690, 8.1.2.4.2 c: the first subsequent octet is not 0x80; 8.1.2.4: below 31 the short form is used.
            if index == start + 1, octet == 0x80 { throw ASN1DecodingError(.nonMinimalTag, offset: baseOffset + start) }
            guard number >> 21 == 0 else { throw ASN1DecodingError(.tagNumberTooLarge, offset: baseOffset + start) }
            index += 1
            number = number << 7 | UInt32(octet & 0x7F)
            if octet & 0x80 == 0 { break }
        }
        guard number >= 31 else { throw ASN1DecodingError(.nonMinimalTag, offset: baseOffset + start) }
        return ASN1Tag(rawValue: UInt32(first & 0xE0) << 24 | number)
    }

    /// Reads length octets (X.690, 8.1.3); `nil` for the indefinite form. Errors are placed at the length itself.
    @usableFromInline
    static func readLength(
        _ bytes: Span<UInt8>, _ index: inout Int, _ end: Int, _ baseOffset: Int, isMinimal: Bool
    ) throws(ASN1DecodingError) -> Int? {
        let start = index
        guard index < end else { throw ASN1DecodingError(.truncated, offset: baseOffset + start) }
        let first = bytes[index]
        index += 1
        if first < 0x80 { return Int(first) }
        if first == 0x80 { return nil }
        // X.690, 8.1.3.5 c: 0xFF is reserved.
        guard first != 0xFF else { throw ASN1DecodingError(.invalidLength, offset: baseOffset + start) }
        let count = Int(first & 0x7F)
        guard count <= end - index else { throw ASN1DecodingError(.truncated, offset: baseOffset + start) }
        let lengthEnd = index + count
        if isMinimal, bytes[index] == 0 { throw ASN1DecodingError(.nonMinimalLength, offset: baseOffset + start) }
        var length = 0
        while index < lengthEnd {
            guard length >> 55 == 0 else { throw ASN1DecodingError(.lengthOverflow, offset: baseOffset + start) }
            length = length << 8 | Int(bytes[index])
            index += 1
        }
        if isMinimal, length < 0x80 { throw ASN1DecodingError(.nonMinimalLength, offset: baseOffset + start) }
        return length
    }
}
