import LibcryptoHandles
@_spi(Surfaces) import SpanPKCS7

/// An ECDSA signature with P-256 and SHA-256 in the format of JSON Web Signatures: r and s, 32 bytes each (RFC 7518,
/// 3.4).
package struct ES256Signature: ~Escapable {
    private let bytes: Span<UInt8>

    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    func verify(of signed: Span<UInt8>, key: PublicKey, certificate: Certificate) throws(SignatureTrustError) {
        guard key.kind == .ec(.p256) else {
            throw SignatureTrustError(.unsupportedKey, offset: certificate.subjectPublicKeyInfo.element.offset)
        }
        guard bytes.count == 64 else { throw SignatureTrustError(.invalidSignature) }
        let encoded = ECDSASignatureValue.encoded(fixedLength: bytes)
        let isValid = try SignatureTrustError.calling { () throws(LibcryptoError) in
            try key.verify(signature: encoded.span, digest: DigestAlgorithm.sha256.digest(of: signed), scheme: .ecdsa)
        }
        guard isValid else { throw SignatureTrustError(.invalidSignature) }
    }
}
