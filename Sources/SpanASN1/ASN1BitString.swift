/// The content of a BIT STRING: octets, and the number of unused bits in the last one (X.690, 8.6).
@usableFromInline
package struct ASN1BitString: ~Escapable {
    /// The octets. The first bit is the highest bit of the first octet.
    package let bytes: Span<UInt8>
    /// The number of unused bits at the end of the last octet, 0 to 7.
    package let unusedBitCount: Int

    @_lifetime(copy bytes)
    init(bytes: Span<UInt8>, unusedBitCount: Int) {
        self.bytes = bytes
        self.unusedBitCount = unusedBitCount
    }

    /// The number of bits.
    package var count: Int { bytes.count * 8 - unusedBitCount }

    /// Accesses a bit by its index from the first bit. A bit past the end is `false`, as X.680, 22.7 defines for named
    /// bits.
    package subscript(bit index: Int) -> Bool {
        guard 0..<count ~= index else { return false }
        return bytes[index >> 3] & (0x80 >> UInt8(truncatingIfNeeded: index & 7)) != 0
    }
}

extension ASN1Element {
    /// Returns the content of a BIT STRING in primitive form.
    ///
    /// - Parameter tag: The implicit tag that replaces that of BIT STRING.
    /// - Throws: `unexpected-tag`; `constructed-string`; `invalid-bit-string` for more than 7 unused bits, for unused
    ///   bits without an octet, or for unused bits that are not zero (X.690, 11.2.1).
    @_lifetime(copy self)
    package func bitString(tagged tag: ASN1Tag = .bitString) throws(ASN1DecodingError) -> ASN1BitString {
        try require(tag)
        guard contentCount > 0 else { throw error(.invalidBitString) }
        let unused = bytes[contentStart]
        guard unused <= (contentCount == 1 ? 0 : 7) else { throw error(.invalidBitString) }
        if bytes[end - 1] & (0xFF >> (8 - unused)) != 0, !relaxations.contains(.nonZeroUnusedBits) {
            throw error(.invalidBitString)
        }
        return ASN1BitString(bytes: bytes.extracting(contentStart + 1..<end), unusedBitCount: Int(unused))
    }

    /// Returns the content of an OCTET STRING in primitive form.
    ///
    /// - Parameter tag: The implicit tag that replaces that of OCTET STRING.
    /// - Throws: `unexpected-tag`; `constructed-string`.
    @inlinable
    @_lifetime(copy self)
    package func octetString(tagged tag: ASN1Tag = .octetString) throws(ASN1DecodingError) -> Span<UInt8> {
        try require(tag)
        return content
    }
}
