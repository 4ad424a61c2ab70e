package import SpanASN1
import SpanPKCS7

/// The certificates of a JWS header's `x5c` (RFC 7515, 4.1.6): the signer's first, each certified by the next.
///
/// Offsets in errors count the certificates' DER one after the other.
package struct CertificateSequence: Sendable {
    package let certificates: [[UInt8]]

    package init(_ certificates: [[UInt8]]) { self.certificates = certificates }

    /// Reads a certificate; where there is none at `index`, an empty input, which is no certificate.
    func withView<Result>(
        at index: Int, _ body: (Certificate) throws(SignatureTrustError) -> Result
    ) throws(SignatureTrustError) -> Result {
        guard certificates.indices.contains(index) else { throw SignatureTrustError(.missingSignerCertificate) }
        let der = certificates[index]
        let view: Certificate
        do throws(ASN1DecodingError) {
            view = try Certificate(der.span, baseOffset: offset(of: index))
        } catch {
            throw SignatureTrustError(malformed: error)
        }
        return try body(view)
    }

    /// The first moment at which the signer's certificate is valid: a date to judge it at when what it signed names none.
    package func signerNotBefore() throws(SignatureTrustError) -> Instant {
        try withView(at: 0) { (signer) throws(SignatureTrustError) in
            Instant(millisecondsSince1970: try signer.validSeconds().lowerBound * 1000)
        }
    }

    func offset(of index: Int) -> Int { certificates[..<index].reduce(0) { $0 + $1.count } }
}
