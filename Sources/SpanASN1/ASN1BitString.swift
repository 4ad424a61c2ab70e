/// A BIT STRING's content: whole octets, and how many bits at the end of the last one do not count (X.690, 8.6).
@frozen
public struct ASN1BitString: ~Escapable {
    /// The bits, first bit first in the highest bit of the first octet.
    public let bytes: Span<UInt8>
    /// The number of bits at the end of the last octet that are no part of the string, 0 to 7.
    public let unusedBitCount: Int

    @_lifetime(copy bytes)
    init(bytes: Span<UInt8>, unusedBitCount: Int) {
        self.bytes = bytes
        self.unusedBitCount = unusedBitCount
    }

    /// The number of bits.
    public var count: Int { bytes.count * 8 - unusedBitCount }

    /// The bit at an index counted from the first; `false` past the end, as X.680, 22.7 has it for named bits.
    public subscript(bit index: Int) -> Bool {
        guard 0..<count ~= index else { return false }
        return bytes[index >> 3] & (0x80 >> UInt8(truncatingIfNeeded: index & 7)) != 0
    }
}

extension ASN1Element {
    /// A BIT STRING in primitive form.
    ///
    /// - Throws: `unexpected-tag`; `constructed-string`; `invalid-bit-string` for more than 7 unused bits, unused bits of no octet,
    ///   or (X.690, 11.2.1) unused bits that are not zero.
    @_lifetime(copy self)
    public func bitString(tagged tag: ASN1Tag = .bitString) throws(ASN1DecodingError) -> ASN1BitString {
        try require(tag)
        guard contentCount > 0 else { throw error(.invalidBitString) }
        let unused = bytes[contentStart]
        guard unused <= (contentCount == 1 ? 0 : 7) else { throw error(.invalidBitString) }
        if unused > 0, bytes[end - 1] & (0xFF >> (8 - unused)) != 0, !relaxations.contains(.nonZeroUnusedBits) {
            throw error(.invalidBitString)
        }
        return ASN1BitString(bytes: bytes.extracting(contentStart + 1..<end), unusedBitCount: Int(unused))
    }

    /// An OCTET STRING in primitive form.
    ///
    /// - Throws: `unexpected-tag`; `constructed-string`.
    @inlinable
    @_lifetime(copy self)
    public func octetString(tagged tag: ASN1Tag = .octetString) throws(ASN1DecodingError) -> Span<UInt8> {
        try require(tag)
        return content
    }
}
