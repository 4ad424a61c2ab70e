import LibcryptoHandles
import SpanASN1
import SpanPKCS7

/// Which algorithms and keys may sign, in a message and in every certificate of its chain.
///
/// libcrypto's own levels fit nobody: level 1 and above refuse the SHA-1 chains of most receipts that Apple signed, level 0 also accepts
/// MD5 and RSA-512. So libcrypto is set to 0 and this list stands above it.
public struct AlgorithmPolicy: Hashable, Sendable {
    /// The accepted kinds of signature.
    public var kinds: SignatureKinds
    /// The accepted digests: of signatures, and of RSASSA-PSS's masks.
    public var digests: SignatureDigests
    /// The kinds of signature with which SHA-1 is accepted, where ``digests`` has it.
    public var sha1Kinds: SignatureKinds
    /// The accepted sizes of RSA keys, in bits. Whatever this says, exponents are odd and of 17 to 32 bits.
    public var rsaKeySizes: ClosedRange<Int>
    /// The accepted curves. They are named: a key that brings its curve's parameters is never accepted.
    public var curves: EllipticCurves

    /// A list of one's own. Unless said otherwise: SHA-2, RSA keys of 2048 to 4096 bits, P-256, P-384 and P-521.
    public init(
        kinds: SignatureKinds, digests: SignatureDigests = .sha2, sha1Kinds: SignatureKinds = .all,
        rsaKeySizes: ClosedRange<Int> = 2048...4096, curves: EllipticCurves = .all
    ) {
        self.kinds = kinds
        self.digests = digests
        self.sha1Kinds = sha1Kinds
        self.rsaKeySizes = rsaKeySizes
        self.curves = curves
    }

    /// The algorithms that may sign receipts: RSA PKCS#1 v1.5, with which Apple signs them, and ECDSA on P-256 and P-384, in case Apple changes.
    /// SHA-2 with both, and SHA-1 with RSA unless switched off.
    ///
    /// - Parameters:
    ///   - allowsSHA1: whether SHA-1 is accepted with RSA. Apple signed receipts with it until 2024 at least, and their chains too.
    ///   - rsaKeySizes: the accepted sizes of RSA keys, in bits. Apple's keys for receipts have 2048.
    public init(allowsSHA1: Bool = true, rsaKeySizes: ClosedRange<Int> = 2048...4096) {
        self.init(
            kinds: [.rsaPKCS1, .ecdsa], digests: allowsSHA1 ? [.sha1, .sha2] : .sha2, sha1Kinds: .rsaPKCS1,
            rsaKeySizes: rsaKeySizes, curves: [.p256, .p384])
    }

    /// What messages of today are signed with: RSA of 2048 to 4096 bits with either padding, or ECDSA, and SHA-2.
    public static let cms = AlgorithmPolicy(kinds: .all)

    /// Whether SHA-1 signatures are accepted, of the kinds of ``sha1Kinds``.
    public var allowsSHA1: Bool {
        get { digests.contains(.sha1) }
        set { if newValue { digests.insert(.sha1) } else { digests.remove(.sha1) } }
    }
}

/// What an `EVP_PKEY_verify` needs to know of a signature.
struct SignatureAlgorithm: Equatable {
    let digest: DigestAlgorithm
    let scheme: SignatureScheme
}

extension AlgorithmPolicy {
    /// The digest that an AlgorithmIdentifier for digests names (RFC 5754, 2).
    func digestAlgorithm(
        _ identifier: AlgorithmIdentifier
    ) throws(SignatureTrustError) -> DigestAlgorithm {
        let offset = identifier.element.offset
        guard identifier.hasNullOrAbsentParameters else {
            throw SignatureTrustError(.unsupportedAlgorithm, offset: offset)
        }
        let digest: DigestAlgorithm
        if identifier.is(.sha256) {
            digest = .sha256
        } else if identifier.is(.sha1) {
            digest = .sha1
        } else if identifier.is(.sha384) {
            digest = .sha384
        } else if identifier.is(.sha512) {
            digest = .sha512
        } else if identifier.is(.sha224) {
            digest = .sha224
        } else {
            throw SignatureTrustError(identifier.is(.md5) ? .weakAlgorithm : .unsupportedAlgorithm, offset: offset)
        }
        try check(digest, offset)
        return digest
    }

    /// What an AlgorithmIdentifier for signatures names: RSA PKCS#1 v1.5 (RFC 4055, 5; RFC 3279, 2.2.1), RSASSA-PSS (RFC 4055, 3),
    /// ECDSA (RFC 5758, 3.2; RFC 3279, 2.2.3).
    func signatureAlgorithm(
        _ identifier: AlgorithmIdentifier
    ) throws(SignatureTrustError) -> SignatureAlgorithm {
        let offset = identifier.element.offset
        let digest: DigestAlgorithm
        let kind: SignatureKinds
        if identifier.is(.sha256WithRSAEncryption) {
            (digest, kind) = (.sha256, .rsaPKCS1)
        } else if identifier.is(.sha1WithRSAEncryption) {
            (digest, kind) = (.sha1, .rsaPKCS1)
        } else if identifier.is(.sha384WithRSAEncryption) {
            (digest, kind) = (.sha384, .rsaPKCS1)
        } else if identifier.is(.sha512WithRSAEncryption) {
            (digest, kind) = (.sha512, .rsaPKCS1)
        } else if identifier.is(.sha224WithRSAEncryption) {
            (digest, kind) = (.sha224, .rsaPKCS1)
        } else if identifier.is(.ecdsaWithSHA256) {
            (digest, kind) = (.sha256, .ecdsa)
        } else if identifier.is(.ecdsaWithSHA384) {
            (digest, kind) = (.sha384, .ecdsa)
        } else if identifier.is(.ecdsaWithSHA512) {
            (digest, kind) = (.sha512, .ecdsa)
        } else if identifier.is(.ecdsaWithSHA224) {
            (digest, kind) = (.sha224, .ecdsa)
        } else if identifier.is(.ecdsaWithSHA1) {
            (digest, kind) = (.sha1, .ecdsa)
        } else if identifier.is(.rsaPSS), kinds.contains(.rsaPSS) {
            return try pssAlgorithm(identifier)
        } else {
            let isMD5 = identifier.is(.md5WithRSAEncryption)
            throw SignatureTrustError(isMD5 ? .weakAlgorithm : .unsupportedAlgorithm, offset: offset)
        }
        // RFC 5758, 3.2: ECDSA has no parameters, not even NULL.
        guard kinds.contains(kind),
            kind == .ecdsa ? identifier.parameters == nil : identifier.hasNullOrAbsentParameters
        else { throw SignatureTrustError(.unsupportedAlgorithm, offset: offset) }
        try check(digest, for: kind, offset)
        return SignatureAlgorithm(digest: digest, scheme: kind == .ecdsa ? .ecdsa : .pkcs1)
    }

    func check(_ digest: DigestAlgorithm, for kind: SignatureKinds, _ offset: Int) throws(SignatureTrustError) {
        try check(digest, offset)
        guard digest != .sha1 || sha1Kinds.contains(kind) else {
            throw SignatureTrustError(.weakAlgorithm, offset: offset)
        }
    }

    private func check(_ digest: DigestAlgorithm, _ offset: Int) throws(SignatureTrustError) {
        guard digests.contains(SignatureDigests(digest)) else {
            throw SignatureTrustError(.weakAlgorithm, offset: offset)
        }
    }

    /// Checks a signer's two algorithms against each other: RFC 5652's bare `rsaEncryption` (RFC 3370, 3.2), or a signature algorithm
    /// that names the same digest. There is no bare form of ECDSA: `id-ecPublicKey` names a key (RFC 5753, 2.1.1).
    func signatureAlgorithm(of signer: SignerInfo) throws(SignatureTrustError) -> SignatureAlgorithm {
        let digest = try digestAlgorithm(signer.digestAlgorithm)
        if signer.signatureAlgorithm.is(.rsaEncryption), kinds.contains(.rsaPKCS1),
            signer.signatureAlgorithm.hasNullOrAbsentParameters
        {
            try check(digest, for: .rsaPKCS1, signer.digestAlgorithm.element.offset)
            return SignatureAlgorithm(digest: digest, scheme: .pkcs1)
        }
        let algorithm = try signatureAlgorithm(signer.signatureAlgorithm)
        guard algorithm.digest == digest else {
            throw SignatureTrustError(.algorithmMismatch, offset: signer.signatureAlgorithm.element.offset)
        }
        return algorithm
    }
}
