import LibcryptoHandles
package import SpanASN1
import SpanPKCS7

/// The certificates of a JWS header's `x5c` (RFC 7515, 4.1.6): the signer's first, each certified by the next.
///
/// Offsets in errors count the certificates' DER one after the other.
package struct CertificateSequence: Sendable {
    package let certificates: [[UInt8]]

    package init(_ certificates: [[UInt8]]) { self.certificates = certificates }

    /// Reads a certificate; where there is none at `index`, an empty input, which is no certificate.
    func withView<Result>(
        at index: Int, _ body: (CertificateView) throws(SignatureTrustError) -> Result
    ) throws(SignatureTrustError) -> Result {
        guard certificates.indices.contains(index) else { throw SignatureTrustError(.missingSignerCertificate) }
        let der = certificates[index]
        let view: CertificateView
        do throws(ASN1DecodingError) {
            view = try CertificateView(der.span, baseOffset: offset(of: index))
        } catch {
            throw SignatureTrustError(malformed: error)
        }
        return try body(view)
    }

    /// The first moment at which the signer's certificate is valid: a date to judge it at when what it signed names none.
    package func signerNotBefore() throws(SignatureTrustError) -> Instant {
        try withView(at: 0) { (signer) throws(SignatureTrustError) in
            Instant(millisecondsSince1970: try signer.validSeconds().lowerBound * 1000)
        }
    }

    func offset(of index: Int) -> Int { certificates[..<index].reduce(0) { $0 + $1.count } }
}

/// A signature by ECDSA with P-256 and SHA-256 as JSON Web Signatures write it: r and s, 32 bytes each (RFC 7518, 3.4).
package struct ES256Signature: ~Escapable {
    private let bytes: Span<UInt8>

    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    func verify(of signed: Span<UInt8>, key: PublicKey, certificate: CertificateView) throws(SignatureTrustError) {
        guard key.kind == .ec(.p256) else {
            throw SignatureTrustError(.unsupportedKey, offset: certificate.subjectPublicKeyInfo.element.offset)
        }
        guard bytes.count == 64 else { throw SignatureTrustError(.invalidSignature) }
        let encoded = encodedSignatureValue
        let isValid = try SignatureTrustError.calling { () throws(LibcryptoError) in
            try key.verify(signature: encoded.span, digest: DigestAlgorithm.sha256.digest(of: signed), scheme: .ecdsa)
        }
        guard isValid else { throw SignatureTrustError(.invalidSignature) }
    }

    /// `ECDSA-Sig-Value ::= SEQUENCE { r INTEGER, s INTEGER }` (RFC 3279, 2.2.3), which libcrypto wants.
    private var encodedSignatureValue: [UInt8] {
        ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                for half in 0..<2 { writer.write(.integer, content: integer(half * 32).span) }
            }
        }
    }

    /// The content of the INTEGER for the unsigned number in the 32 bytes from `start`.
    private func integer(_ start: Int) -> [UInt8] {
        var first = start
        while first < start + 31, bytes[first] == 0 { first += 1 }
        return [UInt8](capacity: 33) { output in
            if bytes[first] & 0x80 != 0 { output.append(0) }
            for index in first..<start + 32 { output.append(bytes[index]) }
        }
    }
}

extension PinnedChainVerifier {
    /// The first step: the signature, with the key of the first certificate, which must be on P-256. No trust is implied.
    package func verify(
        _ signature: ES256Signature, of signed: Span<UInt8>, by sequence: CertificateSequence
    ) throws(SignatureTrustError) -> SignerKey {
        try sequence.withView(at: 0) { (leaf) throws(SignatureTrustError) in
            let key = try key(of: leaf)
            try signature.verify(of: signed, key: key.key, certificate: leaf)
            return key
        }
    }

    /// The second step: the chain of exactly three certificates at a date, in this order, the last of them an anchor of the policy.
    ///
    /// - Parameter key: what the first step returned.
    /// - Throws: `unsupported-key` when the intermediate has no key on an elliptic curve.
    package func chain(
        of sequence: CertificateSequence, key: SignerKey, at date: Instant
    ) throws(SignatureTrustError) -> PinnedChain {
        guard sequence.certificates.count == 3 else { throw SignatureTrustError(.invalidChainLength) }
        let root = sequence.certificates[2]
        let anchor = policy.anchors.firstIndex { $0.der.span.isIdentical(to: root.span) }
        let intermediate = EmbeddedCertificate(der: sequence.certificates[1], offset: sequence.offset(of: 1))
        let chain = try sequence.withView(at: 0) { (leaf) throws(SignatureTrustError) -> PinnedChain in
            try self.chain(
                from: leaf, key: key, at: date, to: anchor, isAtHand: { $0.isIdentical(to: intermediate.der.span) },
                hasRival: { _ in false }, candidates: { () throws(SignatureTrustError) in [intermediate] })
        }
        guard anchor != nil else {
            throw SignatureTrustError(
                .untrustedChain, offset: sequence.offset(of: 2), path: ASN1Path(.certificates))
        }
        // RSA is for roots, of which a chain may end in an older one.
        try sequence.withView(at: 1) { (intermediate) throws(SignatureTrustError) in
            guard intermediate.subjectPublicKeyInfo.algorithm.is(.ecPublicKey) else {
                throw SignatureTrustError(.unsupportedKey, offset: intermediate.subjectPublicKeyInfo.element.offset)
            }
        }
        return chain
    }
}

extension PinnedSignerVerifier {
    /// The first step: the signature, with the key of the one certificate. No trust is implied.
    package func verify(
        _ signature: ES256Signature, of signed: Span<UInt8>, by sequence: CertificateSequence
    ) throws(SignatureTrustError) -> SignerKey {
        try sequence.withView(at: 0) { (signer) throws(SignatureTrustError) in
            let key = try key(of: signer)
            try signature.verify(of: signed, key: key.key, certificate: signer)
            return key
        }
    }

    /// The second step: that there is one certificate, one of those given, and valid at a date.
    package func signer(
        of sequence: CertificateSequence, at date: Instant
    ) throws(SignatureTrustError) -> PinnedSigner {
        guard sequence.certificates.count == 1 else { throw SignatureTrustError(.invalidChainLength) }
        return try sequence.withView(at: 0) { (signer) throws(SignatureTrustError) in try check(signer, at: date) }
    }
}
