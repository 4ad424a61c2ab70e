package import LibcryptoHandles
package import SpanASN1
package import SpanPKCS7

extension Certificate {
    package func libcryptoHandle() throws(SignatureTrustError) -> CertificateHandle {
        try SignatureTrustError.calling(at: element.offset) { () throws(LibcryptoError) in
            try CertificateHandle(der: element.encoded)
        }
    }

    /// The key, without the rest of the certificate. A key for RSASSA-PSS alone stays one, with what it restricts itself to.
    ///
    /// Whatever verifies a signature asks here, so that a key means the same whether or not it was seen before.
    package func publicKey() throws(SignatureTrustError) -> PublicKey {
        guard subjectPublicKeyInfo.algorithm.is(.rsaEncryption) else {
            return try SignatureTrustError.calling(at: element.offset) { () throws(LibcryptoError) in
                try PublicKey(subjectPublicKeyInfo: subjectPublicKeyInfo.element.encoded)
            }
        }
        let bits: ASN1BitString
        do throws(ASN1DecodingError) {
            bits = try subjectPublicKeyInfo.subjectPublicKey.bitString()
        } catch {
            throw SignatureTrustError(malformed: error)
        }
        return try SignatureTrustError.calling(at: element.offset) { () throws(LibcryptoError) in
            try PublicKey(rsaPublicKey: bits.bytes)
        }
    }

    package func hasExtension(_ id: ASN1ObjectIdentifier) throws(SignatureTrustError) -> Bool {
        try SignatureTrustError.reading { () throws(ASN1DecodingError) in try certificateExtension(id) != nil }
    }

    /// The seconds since 1970 at which libcrypto calls the certificate valid: from `notBefore` up to, not including, `notAfter`.
    package func validSeconds() throws(SignatureTrustError) -> Range<Int64> {
        let period = try SignatureTrustError.reading { () throws(ASN1DecodingError) in try validity() }
        return period.lowerBound.secondsSince1970..<period.upperBound.secondsSince1970
    }

    /// Whether the certificate says that it may issue others: libcrypto also takes some that do not say so.
    package func isAuthority() throws(SignatureTrustError) -> Bool {
        try SignatureTrustError.reading { () throws(ASN1DecodingError) -> Bool in
            guard let constraints = try certificateExtension(.basicConstraints) else { return false }
            // BasicConstraints ::= SEQUENCE { cA BOOLEAN DEFAULT FALSE, pathLenConstraint INTEGER OPTIONAL }
            return try constraints.value.decode { (content) throws(ASN1DecodingError) -> Bool in
                try content.read(.sequence) { (fields) throws(ASN1DecodingError) -> Bool in
                    let isAuthority = try fields.readIfPresent(.boolean)?.boolean() ?? false
                    _ = try fields.readIfPresent(.integer)?.unsignedIntegerBytes()
                    return isAuthority
                }
            }
        }
    }

    package func error(_ kind: SignatureTrustError.Kind) -> SignatureTrustError {
        SignatureTrustError(kind, offset: element.offset, path: ASN1Path(.certificates))
    }
}
