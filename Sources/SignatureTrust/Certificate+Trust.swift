package import LibcryptoHandles
import Instants
package import SpanASN1
package import SpanPKCS7

extension CertificateHandle {
    /// Whether a path can end in the certificate: its issuer is its subject.
    package func isRoot() throws(SignatureTrustError) -> Bool {
        try SignatureTrustError.calling { () throws(LibcryptoError) in try isSelfIssued }
    }

    /// Whether names, key identifiers and kinds of key allow `issuer` to be the issuer of this certificate.
    package func mayBe(issuedBy issuer: CertificateHandle) throws(SignatureTrustError) -> Bool {
        try SignatureTrustError.calling { () throws(LibcryptoError) in try mayBeIssued(by: issuer) }
    }
}

extension Certificate {
    package func libcryptoHandle() throws(SignatureTrustError) -> CertificateHandle {
        try SignatureTrustError.calling(at: element.offset) { () throws(LibcryptoError) in
            try CertificateHandle(der: element.encoded)
        }
    }

    /// The public key. A key for RSASSA-PSS only keeps its restrictions.
    ///
    /// All verifications use this function, so that a key means the same whether or not it is in a cache.
    package func publicKey() throws(SignatureTrustError) -> PublicKey {
        guard subjectPublicKeyInfo.algorithm.matches(.rsaEncryption) else {
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

    /// The seconds since 1970 in which the certificate is valid: from `notBefore` through `notAfter` (RFC 5280,
    /// 4.1.2.5).
    package func validSeconds() throws(SignatureTrustError) -> Range<Int64> {
        let period = try SignatureTrustError.reading { () throws(ASN1DecodingError) in try validity() }
        return period.lowerBound.secondsSince1970..<period.upperBound.secondsSince1970 + 1
    }

    /// The date of `notAfter`.
    func expiry() throws(SignatureTrustError) -> Instant {
        try SignatureTrustError.reading { () throws(ASN1DecodingError) in try validity() }.upperBound
    }

    /// Whether `basicConstraints` make the certificate an authority. libcrypto also accepts some certificates without
    /// them.
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
