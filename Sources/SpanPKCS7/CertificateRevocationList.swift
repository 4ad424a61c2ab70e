package import Instants
package import SpanASN1

/// A certificate revocation list, as views into the received bytes.
///
/// ```asn1
/// CertificateList ::= SEQUENCE { tbsCertList TBSCertList, signatureAlgorithm AlgorithmIdentifier,
///     signatureValue BIT STRING }
/// TBSCertList ::= SEQUENCE {
///   version INTEGER OPTIONAL, signature AlgorithmIdentifier, issuer Name, thisUpdate Time, nextUpdate Time OPTIONAL,
///   revokedCertificates SEQUENCE OF SEQUENCE {
///     userCertificate INTEGER, revocationDate Time, crlEntryExtensions Extensions OPTIONAL } OPTIONAL,
///   crlExtensions [0] EXPLICIT Extensions OPTIONAL }   -- RFC 5280, 5.1
/// ```
package struct CertificateRevocationList: ~Escapable {
    /// The whole list.
    package let element: ASN1Element
    /// The part that the issuer signed.
    package let tbsCertList: ASN1Element
    /// The version: 1 or 2.
    package let version: Int
    /// The issuer's `Name`, a SEQUENCE.
    package let issuer: ASN1Element
    /// The date the list was issued.
    package let thisUpdate: Instant
    /// The latest date of the next list; `nil` if there is none, although RFC 5280 requires one.
    package let nextUpdate: Instant?
    /// The algorithm of the issuer's signature. The signed part names the same algorithm (RFC 5280, 5.1.1.2).
    package let signatureAlgorithm: AlgorithmIdentifier
    /// The issuer's signature, a BIT STRING.
    package let signatureValue: ASN1Element
    private let entryList: ASN1Element?
    private let extensionList: ASN1Element?

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
        tbsCertList = signed.toBeSigned
        signatureAlgorithm = signed.signatureAlgorithm
        signatureValue = signed.signatureValue

        var fields = tbsCertList.contents
        if let element = try fields.readIfPresent(.integer) {
            // RFC 5280, 5.1.2.1: if present, v2.
            guard try element.integer(as: Int.self) == 1 else { throw element.error(.unexpectedValue) }
            version = 2
        } else {
            version = 1
        }
        try signed.readAlgorithm(&fields)
        issuer = try fields.read(.sequence)
        thisUpdate = try fields.read().time()
        if let tag = fields.peekTag(), tag == .utcTime || tag == .generalizedTime {
            nextUpdate = try fields.read().time()
        } else {
            nextUpdate = nil
        }
        entryList = try fields.readIfPresent(.sequence)
        extensionList = try fields.readExtensionsIfPresent(0)
        try fields.finish()
    }

    /// The revoked certificates. They are read one by one, because a list can have a million.
    package var entries: ASN1Members<RevokedCertificate> {
        @_lifetime(copy self)
        get { ASN1Members(of: entryList) }
    }

    /// The extensions of the list, in the order received.
    package var extensions: ASN1Members<CertificateExtension> {
        @_lifetime(copy self)
        get { ASN1Members(of: extensionList) }
    }
}

/// An entry of a revocation list: a certificate that its issuer revoked.
package struct RevokedCertificate: ~Escapable, ASN1Decodable {
    /// The serial number of the certificate (`userCertificate`), an INTEGER of any size.
    package let serialNumber: ASN1Element
    /// The date from which the certificate is revoked.
    package let revocationDate: Instant
    private let extensionList: ASN1Element?

    /// Reads the structure at the position of a cursor.
    @_lifetime(copy cursor)
    package init(_ cursor: inout ASN1Cursor) throws(ASN1DecodingError) {
        var fields = try cursor.read(.sequence).contents
        serialNumber = try fields.read(.integer)
        _ = try serialNumber.integerBytes()
        revocationDate = try fields.read().time()
        extensionList = try fields.readIfPresent(.sequence)
        try fields.finish()
    }

    /// The extensions of the entry, such as the reason, in the order received.
    package var extensions: ASN1Members<CertificateExtension> {
        @_lifetime(copy self)
        get { ASN1Members(of: extensionList) }
    }
}

/// A member of `crls`: a revocation list, or other revocation information.
///
/// `RevocationInfoChoice ::= CHOICE { crl CertificateList, other [1] IMPLICIT OtherRevocationInfoFormat }` (RFC 5652,
/// 10.2.1).
package struct RevocationInfoChoice: ~Escapable, ASN1Decodable {
    /// The kinds of revocation information. The raw values are the names in RFC 5652.
    package enum Kind: String, Sendable {
        /// An X.509 revocation list.
        case crl
        /// Another kind, which has an OBJECT IDENTIFIER, such as an OCSP response (RFC 5940).
        case other
    }

    /// The kind of revocation information, by its tag.
    package let kind: Kind
    /// The whole member, as received.
    package let element: ASN1Element

    /// Reads the structure at the position of a cursor.
    @_lifetime(copy cursor)
    package init(_ cursor: inout ASN1Cursor) throws(ASN1DecodingError) {
        element = try cursor.read()
        switch element.tag {
        case .sequence: kind = .crl
        case .context(1): kind = .other
        default: throw element.error(.unexpectedTag)
        }
    }

    /// Returns the revocation list; `nil` for another kind.
    ///
    /// - Throws: The errors of ``CertificateRevocationList/init(_:baseOffset:)``.
    @_lifetime(copy self)
    package func revocationList() throws(ASN1DecodingError) -> CertificateRevocationList? {
        kind == .crl ? try CertificateRevocationList(element) : nil
    }
}
