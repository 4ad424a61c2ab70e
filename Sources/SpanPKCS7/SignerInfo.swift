package import SpanASN1

/// One signer of a message.
///
/// ```asn1
/// SignerInfo ::= SEQUENCE {
///   version CMSVersion,
///   sid SignerIdentifier,
///   digestAlgorithm DigestAlgorithmIdentifier,
///   signedAttrs [0] IMPLICIT SET SIZE (1..MAX) OF Attribute OPTIONAL,
///   signatureAlgorithm SignatureAlgorithmIdentifier,
///   signature OCTET STRING,
///   unsignedAttrs [1] IMPLICIT SET SIZE (1..MAX) OF Attribute OPTIONAL }   -- RFC 5652, 5.3
/// ```
package struct SignerInfo: ~Escapable {
    /// The whole structure.
    package let element: ASN1Element
    /// The version: 1 with an issuer and serial number, 3 with a subject key identifier.
    package let version: Int
    /// The identifier of the signer's certificate.
    package let signerIdentifier: SignerIdentifier
    /// The digest algorithm for the content, and for the signed attributes if there are any.
    package let digestAlgorithm: AlgorithmIdentifier
    /// The attributes that are signed instead of the content, which include its digest; `nil` if the content is signed
    /// directly.
    package let signedAttributes: AttributeSet?
    /// The signature algorithm. It is often `rsaEncryption`, with the digest in ``digestAlgorithm``.
    package let signatureAlgorithm: AlgorithmIdentifier
    /// The signature, an OCTET STRING.
    package let signature: ASN1Element
    /// The attributes that are not signed, which anyone can add, such as countersignatures and timestamps.
    package let unsignedAttributes: AttributeSet?

    @_lifetime(copy cursor)
    init(_ cursor: inout ASN1Cursor, allowing relaxations: PKCS7Relaxations) throws(ASN1DecodingError) {
        element = try cursor.read(.sequence)
        var fields = element.contents
        let version = try fields.read(.integer)
        self.version = try version.integer()
        let sid = try fields.read()
        switch sid.tag {
        case .sequence: self.signerIdentifier = try .issuerAndSerialNumber(IssuerAndSerialNumber(sid))
        case .context(0, constructed: false): self.signerIdentifier = .subjectKeyIdentifier(sid)
        default: throw sid.error(.unexpectedTag)
        }
        // RFC 5652, 5.3: the version follows from the identifier.
        guard self.version == (sid.tag == .sequence ? 1 : 3) else { throw version.error(.unexpectedValue) }
        digestAlgorithm = try AlgorithmIdentifier(&fields)
        if let attributes = try fields.readIfPresent(.context(0)) {
            do throws(ASN1DecodingError) {
                signedAttributes = try AttributeSet(attributes)
            } catch {
                throw error.within(.signedAttributes)
            }
        } else {
            signedAttributes = nil
        }
        signatureAlgorithm = try AlgorithmIdentifier(&fields)
        signature = try fields.read(.octetString)
        if let attributes = try fields.readIfPresent(.context(1)),
            attributes.contentCount > 0 || !relaxations.contains(.emptyUnsignedAttributes)
        {
            do throws(ASN1DecodingError) {
                unsignedAttributes = try AttributeSet(attributes)
            } catch {
                throw error.within(.unsignedAttributes)
            }
        } else {
            unsignedAttributes = nil
        }
        try fields.finish()
    }
}

/// The identifier by which a signer names its certificate (RFC 5652, 5.3).
package enum SignerIdentifier: ~Escapable {
    /// The issuer's name and the serial number, as in receipts.
    case issuerAndSerialNumber(IssuerAndSerialNumber)
    /// The subject's key identifier, which is the content of the element.
    case subjectKeyIdentifier(ASN1Element)

    /// Returns whether the identifier is that of a certificate: the same issuer **and** serial number byte for byte, or
    /// the same key identifier.
    ///
    /// - Parameter certificate: The certificate.
    /// - Throws: An error of the syntax of the certificate's key identifier.
    package func names(_ certificate: borrowing Certificate) throws(ASN1DecodingError) -> Bool {
        switch self {
        case .issuerAndSerialNumber(let name):
            return name.serialNumber.content.hasSameBytes(as: certificate.serialNumber.content)
                && name.issuer.encoded.hasSameBytes(as: certificate.issuer.encoded)
        case .subjectKeyIdentifier(let identifier):
            guard let own = try certificate.subjectKeyIdentifier() else { return false }
            return own.hasSameBytes(as: identifier.content)
        }
    }

    /// Returns whether the identifier is that of a certificate that ``SignedData`` has read. Of most certificates, it
    /// rereads only the serial number.
    ///
    /// - Parameter choice: The certificate.
    /// - Throws: An error of the syntax of the certificate.
    package func names(_ choice: borrowing CertificateChoice) throws(ASN1DecodingError) -> Bool {
        guard choice.kind == .certificate else { return false }
        guard case .issuerAndSerialNumber(let name) = self else { return try names(Certificate(choice.element)) }
        var parts = choice.element.contents
        var fields = try parts.read(.sequence).contents
        // version, serialNumber, signature, issuer
        _ = try fields.readIfPresent(.context(0))
        guard try fields.read(.integer).content.hasSameBytes(as: name.serialNumber.content) else { return false }
        _ = try fields.read(.sequence)
        return try fields.read(.sequence).encoded.hasSameBytes(as: name.issuer.encoded)
    }
}

/// The issuer and the serial number of a certificate.
///
/// `IssuerAndSerialNumber ::= SEQUENCE { issuer Name, serialNumber INTEGER }` (RFC 5652, 10.2.4)
package struct IssuerAndSerialNumber: ~Escapable {
    /// The issuer's `Name`, a SEQUENCE.
    package let issuer: ASN1Element
    /// The serial number, an INTEGER of any size.
    package let serialNumber: ASN1Element

    @_lifetime(copy element)
    init(_ element: ASN1Element) throws(ASN1DecodingError) {
        var fields = element.contents
        issuer = try fields.read(.sequence)
        serialNumber = try fields.read(.integer)
        _ = try serialNumber.integerBytes()
        try fields.finish()
    }
}
