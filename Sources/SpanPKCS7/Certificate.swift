package import Instants
package import SpanASN1

/// An X.509 certificate, as views into the received bytes.
///
/// ```asn1
/// Certificate ::= SEQUENCE { tbsCertificate TBSCertificate, signatureAlgorithm AlgorithmIdentifier,
///     signatureValue BIT STRING }
/// TBSCertificate ::= SEQUENCE {
///   version [0] EXPLICIT INTEGER DEFAULT v1, serialNumber INTEGER, signature AlgorithmIdentifier, issuer Name,
///   validity Validity, subject Name, subjectPublicKeyInfo SubjectPublicKeyInfo,
///   issuerUniqueID [1] IMPLICIT BIT STRING OPTIONAL, subjectUniqueID [2] IMPLICIT BIT STRING OPTIONAL,
///   extensions [3] EXPLICIT Extensions OPTIONAL }   -- RFC 5280, 4.1
/// ```
package struct Certificate: ~Escapable {
    /// The whole certificate. Its fingerprint is the digest of `element.encoded`.
    package let element: ASN1Element
    /// The part that the issuer signed.
    package let tbsCertificate: ASN1Element
    /// The X.509 version: 1, 2 or 3.
    package let version: Int
    /// The serial number, an INTEGER of any size.
    package let serialNumber: ASN1Element
    /// The issuer's `Name`, a SEQUENCE.
    package let issuer: ASN1Element
    /// The `Validity`, a SEQUENCE. ``validity()`` reads it.
    package let validityElement: ASN1Element
    /// The subject's `Name`, a SEQUENCE.
    package let subject: ASN1Element
    /// The subject's public key.
    package let subjectPublicKeyInfo: SubjectPublicKeyInfo
    let extensionList: ASN1Element?
    /// The algorithm of the issuer's signature. The signed part names the same algorithm (RFC 5280, 4.1.1.2).
    package let signatureAlgorithm: AlgorithmIdentifier
    /// The issuer's signature, a BIT STRING.
    package let signatureValue: ASN1Element

    /// Reads a whole DER input.
    ///
    /// - Throws: An error of the syntax; `unexpected-value` for an unknown version, or for two signature algorithms
    ///   that differ; `trailing-data`.
    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>, baseOffset: Int = 0) throws(ASN1DecodingError) {
        try self.init(ASN1Element(whole: bytes, baseOffset: baseOffset))
    }

    @_lifetime(copy element)
    init(_ element: ASN1Element) throws(ASN1DecodingError) {
        self.element = element
        let signed = try SignedObject(element)
        tbsCertificate = signed.toBeSigned
        signatureAlgorithm = signed.signatureAlgorithm
        signatureValue = signed.signatureValue

        var fields = tbsCertificate.contents
        if let wrapper = try fields.readIfPresent(.context(0)) {
            var inner = wrapper.contents
            let element = try inner.read(.integer)
            let encoded: Int = try element.integer()
            try inner.finish()
            guard 0...2 ~= encoded else { throw element.error(.unexpectedValue) }
            version = encoded + 1
        } else {
            version = 1
        }
        serialNumber = try fields.read(.integer)
        _ = try serialNumber.integerBytes()
        try signed.readAlgorithm(&fields)
        issuer = try fields.read(.sequence)
        validityElement = try fields.read(.sequence)
        subject = try fields.read(.sequence)
        do throws(ASN1DecodingError) {
            subjectPublicKeyInfo = try SubjectPublicKeyInfo(&fields)
        } catch {
            throw error.within(.subjectPublicKeyInfo)
        }
        _ = try fields.readIfPresent(.context(1, constructed: false))
        _ = try fields.readIfPresent(.context(2, constructed: false))
        extensionList = try fields.readExtensionsIfPresent(3)
        try fields.finish()
    }

    /// Returns the time in which the certificate is valid. Both ends are inclusive.
    ///
    /// `Validity ::= SEQUENCE { notBefore Time, notAfter Time }` (RFC 5280, 4.1.2.5)
    ///
    /// - Throws: `invalid-time`; `unexpected-value` if the end is before the start.
    package func validity() throws(ASN1DecodingError) -> ClosedRange<Instant> {
        try validityElement.decode { (fields) throws(ASN1DecodingError) in
            let notBefore = try fields.read().time()
            let last = try fields.read()
            let notAfter = try last.time()
            guard notBefore <= notAfter else { throw last.error(.unexpectedValue) }
            return notBefore...notAfter
        }
    }

    /// A Boolean value that indicates whether the issuer and the subject have the same name.
    package var isSelfIssued: Bool { issuer.encoded.hasSameBytes(as: subject.encoded) }
}

/// The public key of a certificate.
///
/// `SubjectPublicKeyInfo ::= SEQUENCE { algorithm AlgorithmIdentifier, subjectPublicKey BIT STRING }` (RFC 5280, 4.1)
package struct SubjectPublicKeyInfo: ~Escapable {
    /// The whole structure.
    package let element: ASN1Element
    /// The algorithm of the key, with its parameters.
    package let algorithm: AlgorithmIdentifier
    /// The key in the encoding that its algorithm defines, a BIT STRING of whole octets.
    package let subjectPublicKey: ASN1Element

    @_lifetime(copy cursor)
    init(_ cursor: inout ASN1Cursor) throws(ASN1DecodingError) {
        element = try cursor.read(.sequence)
        var fields = element.contents
        algorithm = try AlgorithmIdentifier(&fields)
        subjectPublicKey = try fields.read(.bitString)
        guard try subjectPublicKey.bitString().unusedBitCount == 0 else {
            throw subjectPublicKey.error(.invalidBitString)
        }
        try fields.finish()
    }

    /// Returns the sizes of an RSA key. It does not call libcrypto, so that a costly key can be refused before it is
    /// used.
    ///
    /// `RSAPublicKey ::= SEQUENCE { modulus INTEGER, publicExponent INTEGER }` (RFC 8017, A.1.1)
    ///
    /// - Throws: An error of the syntax if the key is not an `RSAPublicKey`.
    package func rsaPublicKey() throws(ASN1DecodingError) -> RSAPublicKeyShape {
        do throws(ASN1DecodingError) {
            // + 1: the first content octet is the number of unused bits.
            let key = try subjectPublicKey.bitString()
            return try ASN1Cursor.decode(key.bytes, baseOffset: subjectPublicKey.contentOffset + 1) {
                (input) throws(ASN1DecodingError) in
                try input.read(.sequence) { (fields) throws(ASN1DecodingError) in
                    let modulus = try fields.read(.integer).unsignedIntegerBytes()
                    let exponent = try fields.read(.integer).unsignedIntegerBytes()
                    var exponentValue: UInt64? = 0
                    if exponent.count > 8 {
                        exponentValue = nil
                    } else {
                        for index in exponent.indices {
                            exponentValue = exponentValue.map { $0 << 8 | UInt64(exponent[index]) }
                        }
                    }
                    let bits = modulus.isEmpty ? 0 : modulus.count * 8 - modulus[0].leadingZeroBitCount
                    let isOdd = !modulus.isEmpty && modulus[modulus.count - 1] & 1 == 1
                    return RSAPublicKeyShape(modulusBitCount: bits, isModulusOdd: isOdd, exponent: exponentValue)
                }
            }
        } catch {
            throw error.within(.subjectPublicKeyInfo)
        }
    }
}

/// The sizes of an RSA key, which decide what it costs and whether it is valid.
package struct RSAPublicKeyShape: Hashable, Sendable {
    /// The size of the modulus, in bits.
    package let modulusBitCount: Int
    /// A Boolean value that indicates whether the modulus is odd, like every product of two large primes.
    package let isModulusOdd: Bool
    /// The public exponent; `nil` if it does not fit in 64 bits.
    package let exponent: UInt64?
}
