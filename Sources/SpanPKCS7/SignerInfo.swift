public import SpanASN1

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
public struct SignerInfo: ~Escapable {
    /// The whole structure.
    public let element: ASN1Element
    /// 1 with an issuer and serial number, 3 with a subject key identifier.
    public let version: Int
    /// How the signer names its certificate.
    public let sid: SignerIdentifier
    /// The digest of the content, and of the signed attributes where there are any.
    public let digestAlgorithm: AlgorithmIdentifier
    /// What is signed in place of the content, the content's digest among it; `nil` when the content is signed directly.
    public let signedAttributes: AttributeSet?
    /// How the signature is made: often bare `rsaEncryption`, which leaves the digest to ``digestAlgorithm``.
    public let signatureAlgorithm: AlgorithmIdentifier
    /// The signature, an OCTET STRING.
    public let signature: ASN1Element
    /// What anybody can add after signing: countersignatures, timestamps.
    public let unsignedAttributes: AttributeSet?

    @_lifetime(copy cursor)
    init(_ cursor: inout ASN1Cursor, allowing relaxations: PKCS7Relaxations) throws(ASN1DecodingError) {
        element = try cursor.read(.sequence)
        var fields = element.contents
        let version = try fields.read(.integer)
        self.version = try version.integer()
        let sid = try fields.read()
        switch sid.tag {
        case .sequence: self.sid = try .issuerAndSerialNumber(IssuerAndSerialNumber(sid))
        case .context(0, constructed: false): self.sid = .subjectKeyIdentifier(sid)
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

/// How a signer names its certificate (RFC 5652, 5.3).
public enum SignerIdentifier: ~Escapable {
    /// By its issuer's name and serial number; what receipts have.
    case issuerAndSerialNumber(IssuerAndSerialNumber)
    /// The content octets are the key identifier.
    case subjectKeyIdentifier(ASN1Element)

    /// Whether this names `certificate`: issuer **and** serial number byte for byte, or the key identifier.
    ///
    /// - Throws: errors of syntax in the certificate's key identifier.
    public func names(_ certificate: borrowing Certificate) throws(ASN1DecodingError) -> Bool {
        switch self {
        case .issuerAndSerialNumber(let name):
            return name.serialNumber.content.hasSameBytes(as: certificate.serialNumber.content)
                && name.issuer.encoded.hasSameBytes(as: certificate.issuer.encoded)
        case .subjectKeyIdentifier(let identifier):
            guard let own = try certificate.subjectKeyIdentifier() else { return false }
            return own.hasSameBytes(as: identifier.content)
        }
    }

    /// The same of a certificate that ``SignedData`` has read: of most only the serial number is read again.
    ///
    /// - Throws: errors of syntax in the certificate.
    public func names(_ choice: borrowing CertificateChoice) throws(ASN1DecodingError) -> Bool {
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

/// `IssuerAndSerialNumber ::= SEQUENCE { issuer Name, serialNumber INTEGER }` (RFC 5652, 10.2.4)
public struct IssuerAndSerialNumber: ~Escapable {
    /// The issuer's `Name`, a SEQUENCE.
    public let issuer: ASN1Element
    /// An INTEGER of any size.
    public let serialNumber: ASN1Element

    @_lifetime(copy element)
    init(_ element: ASN1Element) throws(ASN1DecodingError) {
        var fields = element.contents
        issuer = try fields.read(.sequence)
        serialNumber = try fields.read(.integer)
        _ = try serialNumber.integerBytes()
        try fields.finish()
    }
}
