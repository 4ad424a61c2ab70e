package import Instants
import SpanASN1
import SpanPKCS7

/// The certificates of a JWS header's `x5c` (RFC 7515, 4.1.6): the signer's first, each certified by the next.
///
/// Offsets in errors count the bytes of all certificates' DER, one after the other.
package struct CertificateSequence: Sendable {
    package let certificates: [[UInt8]]

    package init(_ certificates: [[UInt8]]) { self.certificates = certificates }

    /// Reads a certificate. If there is none at `index`, it reads an empty input, which is an error.
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

    /// The start of the validity of the signer's certificate: the validation date if the signed content has no date.
    package func signerNotBefore() throws(SignatureTrustError) -> Instant {
        try withView(at: 0) { (signer) throws(SignatureTrustError) in
            Instant(millisecondsSince1970: try signer.validSeconds().lowerBound * 1000)
        }
    }

    func offset(of index: Int) -> Int { certificates[..<index].reduce(0) { $0 + $1.count } }
}
