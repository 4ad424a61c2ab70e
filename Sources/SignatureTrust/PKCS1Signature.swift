import LibcryptoHandles
package import Instants
import SpanASN1
import SpanPKCS7

/// An RSA PKCS#1 v1.5 signature with only its signer's certificate, in a format with a fixed digest algorithm and size
/// of the key.
package struct PKCS1Signature: ~Escapable {
    private let bytes: Span<UInt8>
    private let digest: SignatureDigest
    private let modulusBitCount: Int

    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>, digest: SignatureDigest, modulusBitCount: Int) {
        self.bytes = bytes
        self.digest = digest
        self.modulusBitCount = modulusBitCount
    }

    fileprivate func verify(
        of signed: Span<UInt8>, by leaf: Certificate, _ verifier: PinnedChainVerifier
    ) throws(SignatureTrustError) -> SignerKey {
        let info = leaf.subjectPublicKeyInfo
        guard info.algorithm.matches(.rsaEncryption) else {
            throw SignatureTrustError(.unsupportedKey, offset: info.element.offset)
        }
        let shape = try SignatureTrustError.reading { () throws(ASN1DecodingError) in try info.rsaPublicKey() }
        guard shape.modulusBitCount == modulusBitCount else {
            throw SignatureTrustError(.keySizeMismatch, offset: info.element.offset)
        }
        guard let digest = digest.algorithm else {
            throw SignatureTrustError(.unsupportedAlgorithm, offset: leaf.element.offset)
        }
        let signer = try verifier.key(of: leaf)
        let key = signer.key
        try verifier.policy.algorithms.check(digest, for: .rsaPKCS1, leaf.element.offset)
        let isValid = try SignatureTrustError.calling { () throws(LibcryptoError) in
            try key.verify(signature: bytes, digest: digest.digest(of: signed), scheme: .pkcs1)
        }
        guard !isValid else { return signer }
        // The signature is invalid. Find out whether the bytes were changed, or another algorithm or key was used.
        for algorithm in [digest] + DigestAlgorithm.allCases.filter({ $0 != digest }) {
            let signedDigest = try SignatureTrustError.calling { () throws(LibcryptoError) in
                try key.recoverPKCS1Digest(signature: bytes, algorithm: algorithm)
            }
            guard signedDigest != nil else { continue }
            throw SignatureTrustError(algorithm == digest ? .contentDigestMismatch : .algorithmMismatch)
        }
        throw SignatureTrustError(.invalidSignature)
    }
}

extension EmbeddedCertificate {
    /// Reads the certificate.
    fileprivate func withView<Result>(
        _ body: (Certificate) throws(SignatureTrustError) -> Result
    ) throws(SignatureTrustError) -> Result {
        let view: Certificate
        do throws(ASN1DecodingError) {
            view = try Certificate(der.span, baseOffset: offset)
        } catch {
            throw SignatureTrustError(malformed: error)
        }
        return try body(view)
    }

    /// The start of the certificate's validity.
    package func notBefore() throws(SignatureTrustError) -> Instant {
        try withView { (certificate) throws(SignatureTrustError) in
            Instant(millisecondsSince1970: try certificate.validSeconds().lowerBound * 1000)
        }
    }

    /// - Throws: `invalid-key-usage` for a CA certificate, whose key signs certificates and CRLs, not content.
    package func checkIsNotCA() throws(SignatureTrustError) {
        try withView { (certificate) throws(SignatureTrustError) in
            guard try !certificate.isAuthority() else { throw certificate.error(.invalidKeyUsage) }
        }
    }
}

extension PinnedChainVerifier {
    /// The first step: verifies the signature with the key of the certificate. The result is not yet trusted.
    ///
    /// - Throws: `key-size-mismatch` or `algorithm-mismatch` if the size of the key or the digest algorithm is not that
    ///   of the format.
    package func verify(
        _ signature: borrowing PKCS1Signature, of signed: Span<UInt8>, by leaf: EmbeddedCertificate
    ) throws(SignatureTrustError) -> SignerKey {
        try leaf.withView { (view) throws(SignatureTrustError) in
            try signature.verify(of: signed, by: view, self)
        }
    }

    /// The second step: validates the chain from that certificate through one of the pinned intermediates to an anchor
    /// at a date.
    ///
    /// - Throws: `unpinned-issuer` if none of the intermediates has the name of the leaf's issuer. Errors of an
    ///   intermediate have no offset, because it is not part of the input.
    package func chain(
        from leaf: EmbeddedCertificate, key: SignerKey, over intermediates: [[UInt8]], at date: Instant
    ) throws(SignatureTrustError) -> PinnedChain {
        let end = leaf.offset + leaf.der.count
        do throws(SignatureTrustError) {
            return try leaf.withView { (view) throws(SignatureTrustError) in
                func issues(_ der: [UInt8]) throws(SignatureTrustError) -> Bool {
                    try EmbeddedCertificate(der: der, offset: end).withView {
                        (intermediate) throws(SignatureTrustError) in
                        intermediate.subject.encoded.hasSameBytes(as: view.issuer.encoded)
                    }
                }
                var candidates: [EmbeddedCertificate] = []
                for der in intermediates where try issues(der) {
                    candidates.append(EmbeddedCertificate(der: der, offset: end))
                }
                guard !candidates.isEmpty else { throw view.error(.unpinnedIssuer) }
                return try chain(
                    from: view, key: key, at: date,
                    isAvailable: { certificate in candidates.contains { $0.der.span.hasSameBytes(as: certificate) } },
                    hasOtherIssuer: { certificate in candidates.contains { !$0.der.span.hasSameBytes(as: certificate) }
                    },
                    candidates: { () throws(SignatureTrustError) in candidates })
            }
        } catch {
            guard let offset = error.offset, offset >= end else { throw error }
            throw SignatureTrustError(error.kind, path: error.path)
        }
    }
}

extension SignatureTrustError {
    /// The error for a certificate without a trusted issuer.
    package static func untrustedChain(at offset: Int) -> SignatureTrustError {
        SignatureTrustError(.untrustedChain, offset: offset, path: ASN1Path(.certificates))
    }
}

extension AlgorithmPolicy {
    /// Checks the key of an intermediate before it is pinned.
    ///
    /// - Parameter index: The index for an error's `path`.
    package func checkIntermediate(_ der: [UInt8], index: Int) throws(SignatureTrustError) {
        do throws(SignatureTrustError) {
            try EmbeddedCertificate(der: der, offset: 0).withView { (view) throws(SignatureTrustError) in
                try checkKey(of: view)
            }
        } catch {
            throw SignatureTrustError(error.kind, path: ASN1Path(.certificates, index: index))
        }
    }
}
