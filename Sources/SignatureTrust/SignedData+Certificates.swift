package import SpanPKCS7
import SpanASN1

/// A certificate of a message, and where it begins in the received bytes.
package struct EmbeddedCertificate: Sendable {
    package let der: [UInt8]
    package let offset: Int

    package init(der: [UInt8], offset: Int) {
        self.der = der
        self.offset = offset
    }
}

extension SignedData {
    /// Whether a certificate is embedded, byte for byte.
    func embeds(_ certificate: Span<UInt8>) -> Bool {
        var choices = certificateChoices
        while let choice = try? choices.next() {
            if choice.element.encoded.hasSameBytes(as: certificate) { return true }
        }
        return false
    }

    /// Whether a certificate with the name of the leaf's issuer is embedded, besides one that is known.
    func embedsIssuer(of leaf: Certificate, besides known: Span<UInt8>) -> Bool {
        var certificates = self.certificates
        while let certificate = try? certificates.next() {
            if certificate.subject.encoded.hasSameBytes(as: leaf.issuer.encoded),
                !certificate.element.encoded.hasSameBytes(as: known)
            {
                return true
            }
        }
        return false
    }

    /// Copies of all embedded X.509 certificates.
    package func embeddedCertificates() throws(SignatureTrustError) -> [EmbeddedCertificate] {
        var result: [EmbeddedCertificate] = []
        do throws(ASN1DecodingError) {
            var certificates = self.certificates
            while let certificate = try certificates.next() {
                result.append(
                    EmbeddedCertificate(
                        der: [UInt8](copying: certificate.element.encoded), offset: certificate.element.offset))
            }
        } catch {
            throw SignatureTrustError(malformed: error)
        }
        return result
    }
}
