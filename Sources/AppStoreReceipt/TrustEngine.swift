import SignatureTrust
import Instants
import SpanASN1
import SpanPKCS7

/// Verifies signatures and signers, of receipts and of JWS: by chains to pinned roots, or by the pinned certificates of
/// StoreKit Testing.
enum TrustEngine: Sendable {
    case chain(PinnedChainVerifier, SignerVerification.Authority)
    case signer(PinnedSignerVerifier)

    /// - Throws: why an anchor cannot be used; the path's index says which.
    init(
        _ trust: AppStoreTrust.Base, algorithms: AlgorithmPolicy, distrusted: Set<Fingerprint>,
        leafMarker: ASN1ObjectIdentifier = .receiptSigningMarker,
        intermediateMarker: ASN1ObjectIdentifier = .developerRelationsMarker
    ) throws(SignatureTrustError) {
        func chains(
            to anchors: [TrustAnchor], _ authority: SignerVerification.Authority
        ) throws(SignatureTrustError) -> TrustEngine {
            .chain(
                try PinnedChainVerifier(
                    policy: PinnedChainPolicy(
                        anchors: anchors, leafMarker: leafMarker, intermediateMarker: intermediateMarker,
                        algorithms: algorithms, distrusted: distrusted)),
                authority)
        }
        switch trust {
        case .apple:
            // Skips roots whose algorithm is not allowed. If that is all of them, the first one's error says why.
            let roots = TrustAnchor.appleRoots.filter { $0.isAccepted(by: algorithms) }
            self = try chains(to: roots.isEmpty ? TrustAnchor.appleRoots : roots, .apple)
        case .roots(let anchors): self = try chains(to: anchors, .customRoot)
        case .storeKitTesting(let certificates):
            self = .signer(try PinnedSignerVerifier(certificates: certificates, algorithms: algorithms))
        }
    }

    var cacheCounts: (hits: UInt64, misses: UInt64, evictions: UInt64)? {
        switch self {
        case .chain(let verifier, _): verifier.cacheCounts
        case .signer: nil
        }
    }
}

// MARK: - Receipts

extension TrustEngine {
    @_lifetime(copy message)
    func verifySignature(of message: SignedData) throws(SignatureTrustError) -> VerifiedSignature {
        switch self {
        case .chain(let verifier, _): try verifier.verifySignature(of: message)
        case .signer(let verifier): try verifier.verifySignature(of: message)
        }
    }

    func verification(
        for signature: borrowing VerifiedSignature, in message: SignedData, at date: Instant
    ) throws(SignatureTrustError) -> SignerVerification {
        switch self {
        case .chain(let verifier, let authority):
            let chain = try verifier.chain(of: signature, in: message, at: date)
            return SignerVerification(authority, chain, signature.digestAlgorithm, date)
        case .signer(let verifier):
            return SignerVerification(try verifier.signer(of: signature, at: date), signature.digestAlgorithm, date)
        }
    }
}

// MARK: - JWS

extension TrustEngine {
    /// The number of certificates in a header: leaf, intermediate and root; or Xcode's one.
    var certificateCount: Int { if case .chain = self { 3 } else { 1 } }

    func verify(
        _ signature: ES256Signature, of signed: Span<UInt8>, by certificates: CertificateSequence
    ) throws(SignatureTrustError) -> SignerKey {
        switch self {
        case .chain(let verifier, _): try verifier.verify(signature, of: signed, by: certificates)
        case .signer(let verifier): try verifier.verify(signature, of: signed, by: certificates)
        }
    }

    func verification(
        for certificates: CertificateSequence, key: SignerKey, at date: Instant
    ) throws(SignatureTrustError) -> SignerVerification {
        switch self {
        case .chain(let verifier, let authority):
            return SignerVerification(
                authority, try verifier.chain(of: certificates, key: key, at: date), .sha256, date)
        case .signer(let verifier):
            return SignerVerification(try verifier.signer(of: certificates, at: date), .sha256, date)
        }
    }
}

extension SignerVerification {
    init(_ authority: Authority, _ chain: PinnedChain, _ digest: SignatureDigest, _ date: Instant) {
        self.init(
            authority: authority, anchor: chain.anchorFingerprint, signer: chain.leafFingerprint,
            signerExpirationDate: chain.leafExpiry, digest: digest, validationDate: date)
    }

    fileprivate init(_ signer: PinnedSigner, _ digest: SignatureDigest, _ date: Instant) {
        self.init(
            authority: .storeKitTesting, anchor: signer.fingerprint, signer: signer.fingerprint,
            signerExpirationDate: signer.expiry, digest: digest, validationDate: date)
    }
}

/// The extensions by which Apple marks the certificates that sign receipts and JWS.
extension ASN1ObjectIdentifier {
    /// 1.2.840.113635.100.6.11.1, on the leaf.
    static let receiptSigningMarker = ASN1ObjectIdentifier(
        content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x0B, 0x01])
    /// 1.2.840.113635.100.6.2.1, on the Worldwide Developer Relations intermediate.
    static let developerRelationsMarker = ASN1ObjectIdentifier(
        content: [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x63, 0x64, 0x06, 0x02, 0x01])
}

extension AlgorithmPolicy {
    /// What may sign a JWS and its chain: ECDSA with SHA-2, and RSA keys of the sizes of this policy for roots, since a
    /// chain may end in an older root.
    var forJWS: AlgorithmPolicy {
        AlgorithmPolicy(
            kinds: [.ecdsa, .rsaPKCS1], digests: .sha2, rsaKeySizes: rsaKeySizes, curves: [.p256, .p384])
    }
}
