package import Instants
import SpanASN1
import SpanPKCS7

extension PinnedChainVerifier {
    /// The first step: verifies the signature with the key of the first certificate, which must be on P-256. The result
    /// is not yet trusted.
    package func verify(
        _ signature: ES256Signature, of signed: Span<UInt8>, by sequence: CertificateSequence
    ) throws(SignatureTrustError) -> SignerKey {
        try sequence.withView(at: 0) { (leaf) throws(SignatureTrustError) in
            let key = try key(of: leaf)
            try signature.verify(of: signed, key: key.key, certificate: leaf)
            return key
        }
    }

    /// The second step: validates the chain of exactly three certificates, in this order, at a date. The last must be
    /// an anchor of the policy, or a reissued root with the subject and the key of an anchor, which replaces it.
    ///
    /// - Parameter key: what the first step returned.
    /// - Throws: `unsupported-key` if the key of the intermediate is not on an elliptic curve.
    package func chain(
        of sequence: CertificateSequence, key: SignerKey, at date: Instant
    ) throws(SignatureTrustError) -> PinnedChain {
        guard sequence.certificates.count == 3 else { throw SignatureTrustError(.invalidChainLength) }
        let root = sequence.certificates[2]
        let anchor =
            policy.anchors.firstIndex { $0.der.span.hasSameBytes(as: root.span) } ?? anchor(ofSameKeyAs: root.span)
        let intermediate = EmbeddedCertificate(der: sequence.certificates[1], offset: sequence.offset(of: 1))
        let chain = try sequence.withView(at: 0) { (leaf) throws(SignatureTrustError) -> PinnedChain in
            try self.chain(
                from: leaf, key: key, at: date, to: anchor, isAvailable: { $0.hasSameBytes(as: intermediate.der.span) },
                hasOtherIssuer: { _ in false }, candidates: { () throws(SignatureTrustError) in [intermediate] })
        }
        // The anchor replaces it, but the policy can also distrust its own bytes.
        if !policy.distrusted.isEmpty, try policy.distrusted.contains(Fingerprint(of: root.span)) {
            throw SignatureTrustError(
                .distrustedCertificate, offset: sequence.offset(of: 2), path: ASN1Path(.certificates))
        }
        guard anchor != nil else {
            throw SignatureTrustError(
                .untrustedChain, offset: sequence.offset(of: 2), path: ASN1Path(.certificates))
        }
        // RSA is only for roots, because a chain may end in an older one.
        try sequence.withView(at: 1) { (intermediate) throws(SignatureTrustError) in
            guard intermediate.subjectPublicKeyInfo.algorithm.matches(.ecPublicKey) else {
                throw SignatureTrustError(.unsupportedKey, offset: intermediate.subjectPublicKeyInfo.element.offset)
            }
        }
        return chain
    }

    /// The index of the anchor with the subject and the key of a certificate; `nil` also for a malformed certificate,
    /// which is refused like any unknown root.
    private func anchor(ofSameKeyAs root: Span<UInt8>) -> Int? {
        guard let root = try? Certificate(root, baseOffset: 0) else { return nil }
        return policy.anchors.firstIndex { anchor in
            // It was read when the verifier was made.
            guard let own = try? Certificate(anchor.der.span, baseOffset: 0) else { return false }
            return own.subject.encoded.hasSameBytes(as: root.subject.encoded)
                && own.subjectPublicKeyInfo.element.encoded.hasSameBytes(as: root.subjectPublicKeyInfo.element.encoded)
        }
    }
}
