import LibcryptoHandles
public import SpanASN1
import SpanPKCS7

/// A certificate that is trusted because the caller says so.
public struct TrustAnchor: Hashable, Sendable {
    /// The certificate, DER.
    public let der: [UInt8]

    /// Reads one DER certificate.
    ///
    /// - Throws: `ASN1DecodingError` when `der` is not exactly one certificate.
    public init(der: [UInt8]) throws(ASN1DecodingError) {
        _ = try Certificate(der.span)
        self.der = der
    }

    /// A certificate in this source.
    init(knownCertificate der: [UInt8]) { self.der = der }

    @_lifetime(borrow self)
    func view() throws(SignatureTrustError) -> CertificateView {
        do throws(ASN1DecodingError) {
            return try CertificateView(der.span)
        } catch {
            throw SignatureTrustError(malformed: error)
        }
    }
}
