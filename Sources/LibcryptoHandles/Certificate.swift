import CLibcryptoShims

/// A certificate as libcrypto reads it (RFC 5280, 4.1), for chain validation.
package final class Certificate: Sendable {
    /// `nil` if libcrypto does not know its algorithm or cannot read it.
    package let publicKey: PublicKey?
    let certificate: Owned<CertificateObject>

    /// - Throws: `malformedCertificate`, also for bytes after the certificate.
    package init(der bytes: Span<UInt8>) throws(LibcryptoError) {
        let certificate = try unsafe bytes.decode(as: CertificateObject.self, orThrow: .malformedCertificate) {
            unsafe d2i_X509(nil, $0, $1)
        }
        if let key = unsafe X509_get_pubkey(certificate.pointer) {
            publicKey = try unsafe PublicKey(Owned(key))
        } else {
            try LibcryptoError.drain()
            publicKey = nil
        }
        self.certificate = certificate
    }
}
