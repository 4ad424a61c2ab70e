import CLibcryptoShims

/// A certificate as libcrypto reads it (RFC 5280, 4.1), for chain validation.
package final class CertificateHandle: Sendable {
    let certificate: Owned<CertificateObject>

    /// - Throws: `malformedCertificate`, also for bytes after the certificate.
    package init(der bytes: Span<UInt8>) throws(LibcryptoError) {
        certificate = try LibcryptoError.watchingMemory { () throws(LibcryptoError) in
            let certificate = try unsafe bytes.decode(as: CertificateObject.self, orThrow: .malformedCertificate) {
                unsafe d2i_X509(nil, $0, $1)
            }
            // Reads the extensions. If memory ran out at their first use, libcrypto would keep them as invalid.
            _ = unsafe X509_check_purpose(certificate.pointer, -1, 0)
            ERR_clear_error()
            return certificate
        }
    }

    /// The same certificate, as if it had just been read.
    func copy() throws(LibcryptoError) -> CertificateHandle {
        try CertificateHandle(copying: certificate)
    }

    private init(copying original: borrowing Owned<CertificateObject>) throws(LibcryptoError) {
        certificate = try LibcryptoError.watchingMemory { () throws(LibcryptoError) in
            let certificate = try unsafe Owned<CertificateObject>(X509_dup(original.pointer))
            _ = unsafe X509_check_purpose(certificate.pointer, -1, 0)
            ERR_clear_error()
            return certificate
        }
    }

    /// Whether the subject and the issuer of the certificate are the same. Only such an anchor ends a path. The
    /// signature is not checked.
    ///
    /// - Throws: `operationFailed` if libcrypto could not read the key.
    package var isSelfIssued: Bool {
        get throws(LibcryptoError) {
            try LibcryptoError.watchingMemory { () throws(LibcryptoError) in
                defer { ERR_clear_error() }
                let result = unsafe X509_self_signed(certificate.pointer, 0)
                // libcrypto has not read the key.
                guard result >= 0 else { throw LibcryptoError(.operationFailed) }
                return result == 1
            }
        }
    }

    /// Whether names, key identifiers and kinds of key allow `issuer` to be the issuer of this certificate. No
    /// signature is checked.
    package func mayBeIssued(by issuer: CertificateHandle) throws(LibcryptoError) -> Bool {
        let code = try LibcryptoError.watchingMemory { () throws(LibcryptoError) in
            defer { ERR_clear_error() }
            return unsafe X509_check_issued(issuer.certificate.pointer, certificate.pointer)
        }
        // A key without the right to sign certificates may have signed this one. Path validation reports that.
        return code == X509_V_OK || code == X509_V_ERR_KEYUSAGE_NO_CERTSIGN
    }

    /// Whether this certificate was signed with the key of `issuer`.
    package func isSigned(by issuer: CertificateHandle) throws(LibcryptoError) -> Bool {
        try LibcryptoError.watchingMemory { () throws(LibcryptoError) in
            if let key = unsafe X509_get0_pubkey(issuer.certificate.pointer),
                unsafe X509_verify(certificate.pointer, key) == 1
            {
                return true
            }
            try LibcryptoError.drain()
            return false
        }
    }
}
