import LibcryptoHandles
import SpanASN1
package import SpanPKCS7

// Two modules have a `Certificate`: the view into received bytes, and what libcrypto made of them.
package typealias CertificateView = SpanPKCS7.Certificate
typealias CertificateHandle = LibcryptoHandles.Certificate

/// A certificate that came with a message, and where it begins in the received bytes.
package struct EmbeddedCertificate: Sendable {
    package let der: [UInt8]
    package let offset: Int

    package init(der: [UInt8], offset: Int) {
        self.der = der
        self.offset = offset
    }
}

extension CertificateView {
    func libcryptoHandle() throws(SignatureTrustError) -> CertificateHandle {
        try SignatureTrustError.calling(at: element.offset) { () throws(LibcryptoError) in
            try CertificateHandle(der: element.encoded)
        }
    }

    /// The key, without the rest of the certificate. A key for RSASSA-PSS alone stays one, with what it restricts itself to.
    ///
    /// Whatever verifies a signature asks here, so that a key means the same whether or not it was seen before.
    func publicKey() throws(SignatureTrustError) -> PublicKey {
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

    func hasExtension(_ id: ASN1ObjectIdentifier) throws(SignatureTrustError) -> Bool {
        try SignatureTrustError.reading { () throws(ASN1DecodingError) in try certificateExtension(id) != nil }
    }

    /// The seconds since 1970 at which libcrypto calls the certificate valid: from `notBefore` up to, not including, `notAfter`.
    func validSeconds() throws(SignatureTrustError) -> Range<Int64> {
        let period = try SignatureTrustError.reading { () throws(ASN1DecodingError) in try validity() }
        return period.lowerBound.secondsSince1970..<period.upperBound.secondsSince1970
    }

    /// Whether the certificate says that it may issue others: libcrypto also takes some that do not say so.
    func isAuthority() throws(SignatureTrustError) -> Bool {
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

    func error(_ kind: SignatureTrustError.Kind) -> SignatureTrustError {
        SignatureTrustError(kind, offset: element.offset, path: ASN1Path(.certificates))
    }
}
