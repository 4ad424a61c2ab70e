// INTEGER, ENUMERATED, BOOLEAN and NULL.
extension ASN1Element {
    /// An INTEGER as any fixed-width type.
    ///
    /// - Parameters:
    ///   - type: the type to read it as.
    ///   - tag: the implicit tag that stands in place of INTEGER's own.
    /// - Throws: `unexpected-tag`; `invalid-integer` for no content or a superfluous first octet (X.690, 8.3.2);
    ///   `integer-out-of-range` when `T` cannot hold the value.
    @inlinable
    public func integer<T: FixedWidthInteger>(
        as type: T.Type = Int.self, tagged tag: ASN1Tag = .integer
    ) throws(ASN1DecodingError) -> T {
        try require(tag)
        let first = try minimalIntegerStart()
        guard end &- first <= 8 else { return try wideInteger(from: first) }
        var value = Int64(Int8(bitPattern: bytes[first]))
        var index = first &+ 1
        while index < end {
            value = value &<< 8 | Int64(bytes[index])
            index &+= 1
        }
        guard let result = T(exactly: value) else { throw error(.integerOutOfRange) }
        return result
    }

    /// An ENUMERATED's number; encoded and refused like an INTEGER (X.690, 8.4).
    ///
    /// - Throws: as ``integer(as:tagged:)``.
    @inlinable
    public func enumerated<T: FixedWidthInteger>(
        as type: T.Type = Int.self, tagged tag: ASN1Tag = .enumerated
    ) throws(ASN1DecodingError) -> T {
        try integer(as: type, tagged: tag)
    }

    /// An INTEGER of any size: big-endian two's complement in the fewest octets, at least one.
    ///
    /// - Throws: `unexpected-tag`; `invalid-integer`.
    @_lifetime(copy self)
    public func integerBytes(tagged tag: ASN1Tag = .integer) throws(ASN1DecodingError) -> Span<UInt8> {
        try require(tag)
        return bytes.extracting(try minimalIntegerStart()..<end)
    }

    /// A non-negative INTEGER of any size: the big-endian magnitude in the fewest octets; zero is one octet 0.
    ///
    /// - Throws: `unexpected-tag`; `invalid-integer`; `integer-out-of-range` when it is negative.
    @_lifetime(copy self)
    public func unsignedIntegerBytes(tagged tag: ASN1Tag = .integer) throws(ASN1DecodingError) -> Span<UInt8> {
        try require(tag)
        let first = try minimalIntegerStart()
        guard bytes[first] < 0x80 else { throw error(.integerOutOfRange) }
        return bytes.extracting((bytes[first] == 0 && end - first > 1 ? first + 1 : first)..<end)
    }

    /// A BOOLEAN.
    ///
    /// - Throws: `unexpected-tag`; `invalid-boolean` unless the content is one octet, 0x00 or 0xFF (X.690, 11.1).
    public func boolean(tagged tag: ASN1Tag = .boolean) throws(ASN1DecodingError) -> Bool {
        try require(tag)
        guard contentCount == 1 else { throw error(.invalidBoolean) }
        switch bytes[contentStart] {
        case 0x00: return false
        case 0xFF: return true
        default:
            guard relaxations.contains(.nonCanonicalBooleans) else { throw error(.invalidBoolean) }
            return true
        }
    }

    /// A NULL.
    ///
    /// - Throws: `unexpected-tag`; `invalid-null` when there is content.
    public func null(tagged tag: ASN1Tag = .null) throws(ASN1DecodingError) {
        try require(tag)
        guard contentCount == 0 else { throw error(.invalidNull) }
    }

    /// Where an INTEGER's content begins, without the octets that only repeat the sign.
    @inlinable
    func minimalIntegerStart() throws(ASN1DecodingError) -> Int {
        guard contentStart < end else { throw error(.invalidInteger) }
        guard end &- contentStart > 1, Self.isSuperfluous(bytes[contentStart], before: bytes[contentStart &+ 1])
        else { return contentStart }
        guard relaxations.contains(.nonMinimalIntegers) else { throw error(.invalidInteger) }
        var first = contentStart &+ 1
        while end &- first > 1, Self.isSuperfluous(bytes[first], before: bytes[first &+ 1]) { first &+= 1 }
        return first
    }

    /// Whether the first nine bits are equal (X.690, 8.3.2).
    @inlinable
    static func isSuperfluous(_ octet: UInt8, before next: UInt8) -> Bool {
        octet == (next < 0x80 ? 0x00 : 0xFF)
    }

    @usableFromInline
    func wideInteger<T: FixedWidthInteger>(from first: Int) throws(ASN1DecodingError) -> T {
        let isNegative = bytes[first] >= 0x80
        var index = bytes[first] == 0 ? first + 1 : first
        guard end - index <= T.bitWidth / 8 else { throw error(.integerOutOfRange) }
        var value: T = isNegative ? ~0 : 0
        while index < end {
            value = value << 8 | T(truncatingIfNeeded: bytes[index])
            index += 1
        }
        guard (value < 0) == isNegative else { throw error(.integerOutOfRange) }
        return value
    }
}
