import LibcryptoHandles
package import SpanASN1
package import SpanPKCS7

/// Verifies messages signed with one of a few given certificates themselves, without a chain.
///
/// StoreKit Testing signs so: its one certificate is self-signed and, being the same in every Xcode, authenticates nobody.
package final class PinnedSignerVerifier: Sendable {
    private let certificates: [TrustAnchor]
    private let keys: [PublicKey]
    private let algorithms: AlgorithmPolicy

    package var isEmpty: Bool { certificates.isEmpty }

    package init(certificates: [TrustAnchor], algorithms: AlgorithmPolicy) throws(SignatureTrustError) {
        self.certificates = certificates
        self.algorithms = algorithms
        var keys: [PublicKey] = []
        for (index, certificate) in certificates.enumerated() {
            do throws(SignatureTrustError) {
                let view = try certificate.view()
                try algorithms.checkKey(of: view)
                keys.append(try view.publicKey())
            } catch {
                throw SignatureTrustError(error.kind, path: ASN1Path(.certificates, index: index))
            }
        }
        self.keys = keys
    }

    /// The first step: the message's one signature, with the key of the certificate that its signer names.
    @_lifetime(copy message)
    package func verifySignature(of message: SignedData) throws(SignatureTrustError) -> VerifiedSignature {
        try message.verifySoleSignature(algorithms: algorithms) { (signer) throws(SignatureTrustError) in
            try key(of: signer)
        }
    }

    /// The key of a certificate, whose cost is checked before libcrypto reads it, and whether it is one of those given.
    func key(of signer: Certificate) throws(SignatureTrustError) -> SignerKey {
        if let index = index(of: signer) { return SignerKey(key: keys[index], isKnown: true) }
        try algorithms.checkKey(of: signer)
        return SignerKey(key: try signer.publicKey(), isKnown: false)
    }

    /// The second step: that the signer's certificate is one of those given, and valid at a date.
    package func signer(
        of signature: borrowing VerifiedSignature, at date: Instant
    ) throws(SignatureTrustError) -> PinnedSigner {
        try check(signature.certificate, at: date)
    }

    /// Checks that a certificate is one of those given, and valid at a date.
    func check(_ signer: Certificate, at date: Instant) throws(SignatureTrustError) -> PinnedSigner {
        guard index(of: signer) != nil else { throw signer.error(.untrustedChain) }
        let usage = try SignatureTrustError.reading { () throws(ASN1DecodingError) in try signer.keyUsage() }
        if let usage, !usage.contains(.digitalSignature) { throw signer.error(.invalidKeyUsage) }
        let valid = try signer.validSeconds()
        let seconds = date.secondsSince1970
        guard seconds < valid.upperBound else { throw signer.error(.certificateExpired) }
        guard seconds >= valid.lowerBound else { throw signer.error(.certificateNotYetValid) }
        return PinnedSigner(
            fingerprint: try Fingerprint(of: signer.element.encoded),
            expiry: Instant(millisecondsSince1970: valid.upperBound * 1000))
    }

    private func index(of signer: Certificate) -> Int? {
        certificates.firstIndex { $0.der.span.hasSameBytes(as: signer.element.encoded) }
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

/// A signer whose own certificate is trusted.
package struct PinnedSigner: Sendable {
    package let fingerprint: Fingerprint
    /// The certificate's `notAfter`.
    package let expiry: Instant
}
