// INTEGER, ENUMERATED, BOOLEAN and NULL.
extension ASN1Element {
    /// Returns the value of an INTEGER as a fixed-width integer.
    ///
    /// - Parameters:
    ///   - type: The type of the result.
    ///   - tag: The implicit tag that replaces that of INTEGER.
    /// - Throws: `unexpected-tag`; `invalid-integer` if the content is empty or has a superfluous first octet (X.690,
    ///   8.3.2); `integer-out-of-range` if `T` cannot represent the value.
    @inlinable
    package func integer<T: FixedWidthInteger>(
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

    /// Returns the number of an ENUMERATED, which is encoded like an INTEGER (X.690, 8.4).
    ///
    /// - Parameters:
    ///   - type: The type of the result.
    ///   - tag: The implicit tag that replaces that of ENUMERATED.
    /// - Throws: The errors of ``integer(as:tagged:)``.
    @inlinable
    package func enumerated<T: FixedWidthInteger>(
        as type: T.Type = Int.self, tagged tag: ASN1Tag = .enumerated
    ) throws(ASN1DecodingError) -> T {
        try integer(as: type, tagged: tag)
    }

    /// Returns an INTEGER of any size, as big-endian two's complement in the fewest octets.
    ///
    /// - Parameter tag: The implicit tag that replaces that of INTEGER.
    /// - Throws: `unexpected-tag`; `invalid-integer`.
    @_lifetime(copy self)
    package func integerBytes(tagged tag: ASN1Tag = .integer) throws(ASN1DecodingError) -> Span<UInt8> {
        try require(tag)
        return bytes.extracting(try minimalIntegerStart()..<end)
    }

    /// Returns the magnitude of a non-negative INTEGER of any size, as big-endian octets without leading zeros. Zero is
    /// one octet 0.
    ///
    /// - Parameter tag: The implicit tag that replaces that of INTEGER.
    /// - Throws: `unexpected-tag`; `invalid-integer`; `integer-out-of-range` if the value is negative.
    @_lifetime(copy self)
    package func unsignedIntegerBytes(tagged tag: ASN1Tag = .integer) throws(ASN1DecodingError) -> Span<UInt8> {
        try require(tag)
        let first = try minimalIntegerStart()
        guard bytes[first] < 0x80 else { throw error(.integerOutOfRange) }
        return bytes.extracting((bytes[first] == 0 && end - first > 1 ? first + 1 : first)..<end)
    }

    /// Returns the value of a BOOLEAN.
    ///
    /// - Parameter tag: The implicit tag that replaces that of BOOLEAN.
    /// - Throws: `unexpected-tag`; `invalid-boolean` unless the content is one octet, 0x00 or 0xFF (X.690, 11.1).
    package func boolean(tagged tag: ASN1Tag = .boolean) throws(ASN1DecodingError) -> Bool {
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

    /// Checks that the element is a NULL.
    ///
    /// - Parameter tag: The implicit tag that replaces that of NULL.
    /// - Throws: `unexpected-tag`; `invalid-null` if there is content.
    package func null(tagged tag: ASN1Tag = .null) throws(ASN1DecodingError) {
        try require(tag)
        guard contentCount == 0 else { throw error(.invalidNull) }
    }

    /// The start of an INTEGER's content without the octets that only repeat the sign.
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
