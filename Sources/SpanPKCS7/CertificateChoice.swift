package import SpanASN1

/// A member of `certificates`: an X.509 certificate, or a certificate of another kind (RFC 5652, 10.2.2).
package struct CertificateChoice: ~Escapable, ASN1Decodable {
    /// The kinds of certificates. The raw values are the names in RFC 5652.
    package enum Kind: String, Sendable {
        /// An X.509 certificate.
        case certificate
        /// A PKCS#6 extended certificate, obsolete.
        case extendedCertificate
        /// An X.509 attribute certificate of version 1, obsolete.
        case v1AttributeCertificate = "v1AttrCert"
        /// An X.509 attribute certificate (RFC 5755).
        case v2AttributeCertificate = "v2AttrCert"
        /// Another kind, which has an OBJECT IDENTIFIER.
        case other
    }

    /// The kind of certificate, by its tag.
    package let kind: Kind
    /// The whole member, as received.
    package let element: ASN1Element

    /// Reads the structure at the position of a cursor.
    @_lifetime(copy cursor)
    package init(_ cursor: inout ASN1Cursor) throws(ASN1DecodingError) {
        element = try cursor.read()
        switch element.tag {
        case .sequence: kind = .certificate
        case .context(0): kind = .extendedCertificate
        case .context(1): kind = .v1AttributeCertificate
        case .context(2): kind = .v2AttributeCertificate
        case .context(3): kind = .other
        default: throw element.error(.unexpectedTag)
        }
    }

    /// Returns the X.509 certificate; `nil` for another kind.
    ///
    /// - Throws: The errors of ``Certificate/init(_:baseOffset:)``.
    @_lifetime(copy self)
    package func certificate() throws(ASN1DecodingError) -> Certificate? {
        kind == .certificate ? try Certificate(element) : nil
    }
}
