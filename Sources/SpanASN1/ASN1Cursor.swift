/// A reader of DER elements from borrowed bytes, one after the other.
///
/// A cursor never copies, allocates or recurses, and it cannot outlive the bytes. It reads DER (X.690, 10): definite,
/// minimal lengths and minimal tags. For BER, see ``BERGate``. To read a structure, use
/// ``decode(_:baseOffset:allowing:_:)`` or ``ASN1Element/decode(_:)``, which throw an error if bytes are left unread.
@usableFromInline
package struct ASN1Cursor: ~Escapable, BitwiseCopyable {
    /// The bytes of this cursor, up to its end.
    @usableFromInline let bytes: Span<UInt8>
    @usableFromInline var position: Int
    /// The offset of `position` 0 in errors.
    @usableFromInline let baseOffset: Int
    /// The deviations from DER that this cursor and all cursors and elements made from it allow.
    @usableFromInline package let relaxations: ASN1Relaxations

    /// Creates a cursor over bytes.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to read.
    ///   - baseOffset: The offset of `bytes` in the received input, for errors.
    ///   - relaxations: The deviations from DER to allow.
    @inlinable
    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>, baseOffset: Int = 0, allowing relaxations: ASN1Relaxations = []) {
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
    /// A Boolean value that indicates whether all elements have been read.
    @inlinable package var isAtEnd: Bool { position == end }
    /// The number of bytes not yet read.
    @inlinable package var remainingCount: Int { end - position }
    /// The offset of the next element from the start of the received input.
    @inlinable package var offset: Int { baseOffset &+ position }

    /// Decodes a whole input with a closure that must read all of it.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to read.
    ///   - baseOffset: The offset of `bytes` in the received input, for errors.
    ///   - relaxations: The deviations from DER to allow.
    ///   - body: A closure that reads the input with a cursor.
    /// - Returns: The result of `body`.
    /// - Throws: The error that `body` throws; `trailing-data` if `body` leaves bytes unread.
    @inlinable
    package static func decode<Result>(
        _ bytes: Span<UInt8>, baseOffset: Int = 0, allowing relaxations: ASN1Relaxations = [],
        _ body: (inout ASN1Cursor) throws(ASN1DecodingError) -> Result
    ) throws(ASN1DecodingError) -> Result {
        var cursor = ASN1Cursor(bytes, baseOffset: baseOffset, allowing: relaxations)
        let result = try body(&cursor)
        try cursor.finish()
        return result
    }

    /// Throws an error unless everything was read.
    ///
    /// - Throws: `trailing-data`, at the first unread byte.
    @inlinable
    @inline(__always)
    package func finish() throws(ASN1DecodingError) {
        guard isAtEnd else { throw ASN1DecodingError(.trailingData, offset: offset) }
    }

    /// Returns the tag of the next element without reading it; `nil` at the end or if the tag is malformed.
    @inlinable
    @inline(__always)
    package func peekTag() -> ASN1Tag? {
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

    /// Reads the next element, of any type.
    ///
    /// - Returns: The element.
    /// - Throws: `missing-element` at the end; an error of the tag or the length, or `truncated`, at the element.
    @inlinable
    @inline(__always)
    @_lifetime(copy self)
    package mutating func read() throws(ASN1DecodingError) -> ASN1Element {
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

    /// Reads the next element, which must have a tag.
    ///
    /// - Parameter tag: The required tag.
    /// - Returns: The element.
    /// - Throws: The errors of ``read()``; `unexpected-tag`; `constructed-string` for a string in constructed form.
    @inlinable
    @inline(__always)
    @_lifetime(copy self)
    package mutating func read(_ tag: ASN1Tag) throws(ASN1DecodingError) -> ASN1Element {
        let element = try read()
        guard element.tag == tag else { throw element.wrongTag(expected: tag) }
        return element
    }

    /// Reads the next element if it has a tag.
    ///
    /// - Parameter tag: The tag.
    /// - Returns: The element; `nil` if the next element has another tag or there is none. Then nothing is read.
    /// - Throws: The errors of ``read()``, except `missing-element`.
    @inlinable
    @inline(__always)
    @_lifetime(copy self)
    package mutating func readIfPresent(_ tag: ASN1Tag) throws(ASN1DecodingError) -> ASN1Element? {
        guard peekTag() == tag else { return nil }
        return try read()
    }

    /// Reads a structure with a closure that must read all of its content.
    ///
    /// - Parameters:
    ///   - tag: The required tag, which is constructed.
    ///   - body: A closure that reads the content with a cursor.
    /// - Returns: The result of `body`.
    /// - Throws: The errors of ``read(_:)``; the error that `body` throws; `trailing-data` if `body` leaves elements
    ///   unread.
    @inlinable
    package mutating func read<Result>(
        _ tag: ASN1Tag, _ body: (inout ASN1Cursor) throws(ASN1DecodingError) -> Result
    ) throws(ASN1DecodingError) -> Result {
        try read(tag).decode(body)
    }

    /// Reads all remaining elements.
    ///
    /// - Parameter body: A closure that is called with each element.
    /// - Throws: The errors of ``read()``; the error that `body` throws.
    @inlinable
    package mutating func readAll(
        _ body: (ASN1Element) throws(ASN1DecodingError) -> Void
    ) throws(ASN1DecodingError) {
        while !isAtEnd { try body(read()) }
    }
}

// The syntax of identifier and length octets, shared with the readers of BER.
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
