public import SpanASN1

/// A member of `certificates`, which may be something else than an X.509 certificate (RFC 5652, 10.2.2).
public struct CertificateChoice: ~Escapable {
    public enum Kind: Sendable {
        case certificate, extendedCertificate, v1AttributeCertificate, v2AttributeCertificate, other
    }

    public let kind: Kind
    public let element: ASN1Element

    @_lifetime(copy cursor)
    init(_ cursor: inout ASN1Cursor) throws(ASN1DecodingError) {
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
}
