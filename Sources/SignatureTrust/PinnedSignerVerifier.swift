import LibcryptoHandles
package import Instants
import SpanASN1
package import SpanPKCS7

/// Verifies messages whose signer's certificate is one of the pinned ones, without a chain.
///
/// StoreKit Testing signs this way. Its certificate is self-signed and the same in every Xcode, so it does not
/// authenticate anyone.
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

    /// The first step: verifies the message's only signature with the key of the certificate that its signer
    /// identifies.
    @_lifetime(copy message)
    package func verifySignature(of message: SignedData) throws(SignatureTrustError) -> VerifiedSignature {
        try message.verifySoleSignature(algorithms: algorithms) { (signer) throws(SignatureTrustError) in
            try key(of: signer)
        }
    }

    /// Reads the key of a certificate after a check of its size, and finds out whether the certificate is pinned.
    func key(of signer: Certificate) throws(SignatureTrustError) -> SignerKey {
        if let index = index(of: signer) { return SignerKey(key: keys[index], isKnown: true) }
        try algorithms.checkKey(of: signer)
        return SignerKey(key: try signer.publicKey(), isKnown: false)
    }

    /// The second step: checks that the signer's certificate is pinned, and valid at a date.
    package func signer(
        of signature: borrowing VerifiedSignature, at date: Instant
    ) throws(SignatureTrustError) -> PinnedSigner {
        try check(signature.certificate, at: date)
    }

    /// Checks that a certificate is pinned, and valid at a date.
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
            expiry: try signer.expiry())
    }

    private func index(of signer: Certificate) -> Int? {
        certificates.firstIndex { $0.der.span.hasSameBytes(as: signer.element.encoded) }
    }
}

extension PinnedSignerVerifier {
    /// The first step: verifies the signature with the key of the only certificate. The result is not yet trusted.
    package func verify(
        _ signature: ES256Signature, of signed: Span<UInt8>, by sequence: CertificateSequence
    ) throws(SignatureTrustError) -> SignerKey {
        try sequence.withView(at: 0) { (signer) throws(SignatureTrustError) in
            let key = try key(of: signer)
            try signature.verify(of: signed, key: key.key, certificate: signer)
            return key
        }
    }

    /// The second step: checks that there is exactly one certificate, that it is pinned, and that it is valid at a
    /// date.
    package func signer(
        of sequence: CertificateSequence, at date: Instant
    ) throws(SignatureTrustError) -> PinnedSigner {
        guard sequence.certificates.count == 1 else { throw SignatureTrustError(.invalidChainLength) }
        return try sequence.withView(at: 0) { (signer) throws(SignatureTrustError) in try check(signer, at: date) }
    }
}

/// A signer whose certificate is pinned.
package struct PinnedSigner: Sendable {
    package let fingerprint: Fingerprint
    /// The certificate's `notAfter`.
    package let expiry: Instant
}
