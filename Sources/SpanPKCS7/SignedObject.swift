import SpanASN1

/// The outer structure of certificates and revocation lists: a part that the issuer signed, and the issuer's signature.
///
/// `SEQUENCE { toBeSigned ANY, signatureAlgorithm AlgorithmIdentifier, signatureValue BIT STRING }` (RFC 5280, 4.1 and
/// 5.1)
struct SignedObject: ~Escapable {
    let toBeSigned: ASN1Element
    let signatureAlgorithm: AlgorithmIdentifier
    let signatureValue: ASN1Element

    // Inlined: a call would copy three elements, half a percent of the instructions of decoding a small receipt.
    @inline(__always)
    @_lifetime(copy element)
    init(_ element: ASN1Element) throws(ASN1DecodingError) {
        var parts = element.contents
        toBeSigned = try parts.read(.sequence)
        signatureAlgorithm = try AlgorithmIdentifier(&parts)
        signatureValue = try parts.read(.bitString)
        // A signature is a whole number of octets.
        guard try signatureValue.bitString().unusedBitCount == 0 else { throw signatureValue.error(.invalidBitString) }
        try parts.finish()
    }

    /// Reads the signed part's signature algorithm, which must equal the unsigned one (RFC 5280, 4.1.1.2 and 5.1.1.2).
    @inline(__always)
    func readAlgorithm(_ fields: inout ASN1Cursor) throws(ASN1DecodingError) {
        let signature = try AlgorithmIdentifier(&fields)
        guard signature.element.encoded.hasSameBytes(as: signatureAlgorithm.element.encoded) else {
            throw signatureAlgorithm.element.error(.unexpectedValue)
        }
    }
}

extension ASN1Element {
    /// Reads a whole input, which is one SEQUENCE.
    @inline(__always)
    @_lifetime(copy bytes)
    init(whole bytes: Span<UInt8>, baseOffset: Int) throws(ASN1DecodingError) {
        var input = ASN1Cursor(bytes, baseOffset: baseOffset)
        self = try input.read(.sequence)
        try input.finish()
    }
}

extension ASN1Cursor {
    /// Reads the OPTIONAL extensions `[number] EXPLICIT SEQUENCE OF Extension`.
    @inline(__always)
    @_lifetime(copy self)
    mutating func readExtensionsIfPresent(_ number: UInt32) throws(ASN1DecodingError) -> ASN1Element? {
        guard let wrapper = try readIfPresent(.context(number)) else { return nil }
        var inner = wrapper.contents
        let list = try inner.read(.sequence)
        try inner.finish()
        return list
    }
}
