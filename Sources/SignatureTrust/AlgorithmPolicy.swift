package import LibcryptoHandles
package import SpanPKCS7

/// The algorithms and keys that may sign a message and every certificate of its chain.
///
/// libcrypto's own security levels do not fit: level 1 and above refuse the SHA-1 chains of most receipts that Apple
/// signed, and level 0 accepts MD5 and RSA-512. Therefore this library sets libcrypto to level 0, and applies this
/// policy.
public struct AlgorithmPolicy: Hashable, Sendable {
    /// The accepted kinds of signatures.
    package var kinds: SignatureKinds
    /// The accepted digest algorithms, for signatures and for the masks of RSASSA-PSS.
    package var digests: SignatureDigests
    /// The kinds of signatures with which SHA-1 is accepted, if `digests` contains it.
    package var sha1Kinds: SignatureKinds
    /// The accepted sizes of RSA keys, in bits. In addition, exponents must be odd and have 17 to 32 bits.
    public var rsaKeySizes: ClosedRange<Int>
    /// The accepted elliptic curves. A key with explicit curve parameters is never accepted.
    package var curves: EllipticCurves

    package init(
        kinds: SignatureKinds, digests: SignatureDigests = .sha2, sha1Kinds: SignatureKinds = .all,
        rsaKeySizes: ClosedRange<Int> = 2048...4096, curves: EllipticCurves = .all
    ) {
        self.kinds = kinds
        self.digests = digests
        self.sha1Kinds = sha1Kinds
        self.rsaKeySizes = rsaKeySizes
        self.curves = curves
    }

    /// Creates the policy for receipts.
    ///
    /// It accepts RSA PKCS#1 v1.5, with which Apple signs receipts, and ECDSA on P-256 and P-384, in case Apple
    /// changes. It accepts SHA-2 with both, and by default SHA-1 with RSA.
    ///
    /// - Parameters:
    ///   - allowsSHA1: Whether to accept SHA-1 with RSA. Apple signed receipts and their chains with SHA-1 until at
    ///     least 2024.
    ///   - rsaKeySizes: The accepted sizes of RSA keys, in bits. Apple's keys for receipts have 2048.
    public init(allowsSHA1: Bool = true, rsaKeySizes: ClosedRange<Int> = 2048...4096) {
        self.init(
            kinds: [.rsaPKCS1, .ecdsa], digests: allowsSHA1 ? [.sha1, .sha2] : .sha2, sha1Kinds: .rsaPKCS1,
            rsaKeySizes: rsaKeySizes, curves: [.p256, .p384])
    }

    /// The policy for current messages: SHA-2 with RSA of 2048 to 4096 bits and either padding, or with ECDSA.
    public static let cms = AlgorithmPolicy(kinds: .all)

    /// A Boolean value that indicates whether SHA-1 signatures are accepted: in the policy for receipts, with RSA
    /// alone.
    public var allowsSHA1: Bool {
        get { digests.contains(.sha1) }
        set { if newValue { digests.insert(.sha1) } else { digests.remove(.sha1) } }
    }
}

/// The algorithms of a signature, as `EVP_PKEY_verify` needs them.
package struct SignatureAlgorithm: Equatable {
    package let digest: DigestAlgorithm
    package let scheme: SignatureScheme
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
        for row in SignatureDigest.rows where identifier.matches(row.identifier) {
            guard let digest = row.algorithm else { throw SignatureTrustError(.weakAlgorithm, offset: offset) }
            try check(digest, offset)
            return digest
        }
        throw SignatureTrustError(.unsupportedAlgorithm, offset: offset)
    }

    /// The algorithm that an AlgorithmIdentifier for signatures names: RSA PKCS#1 v1.5 (RFC 4055, 5; RFC 3279, 2.2.1),
    /// RSASSA-PSS (RFC 4055, 3), ECDSA (RFC 5758, 3.2; RFC 3279, 2.2.3).
    package func signatureAlgorithm(
        _ identifier: AlgorithmIdentifier
    ) throws(SignatureTrustError) -> SignatureAlgorithm {
        let offset = identifier.element.offset
        for row in SignatureDigest.rows {
            let kind: SignatureKinds
            if identifier.matches(row.rsa) {
                kind = .rsaPKCS1
            } else if let ecdsa = row.ecdsa, identifier.matches(ecdsa) {
                kind = .ecdsa
            } else {
                continue
            }
            guard let digest = row.algorithm else { throw SignatureTrustError(.weakAlgorithm, offset: offset) }
            // RFC 5758, 3.2: ECDSA has no parameters, not even NULL.
            guard kinds.contains(kind),
                kind == .ecdsa ? identifier.parameters == nil : identifier.hasNullOrAbsentParameters
            else { throw SignatureTrustError(.unsupportedAlgorithm, offset: offset) }
            try check(digest, for: kind, offset)
            return SignatureAlgorithm(digest: digest, scheme: kind == .ecdsa ? .ecdsa : .pkcs1)
        }
        guard identifier.matches(.rsaPSS), kinds.contains(.rsaPSS) else {
            throw SignatureTrustError(.unsupportedAlgorithm, offset: offset)
        }
        return try pssAlgorithm(identifier)
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

    /// Checks that a signer's two algorithms agree: the signature algorithm is `rsaEncryption` without a digest (RFC
    /// 3370, 3.2), or one that names the same digest. `id-ecPublicKey` names a key, not a signature (RFC 5753, 2.1.1),
    /// but some signers write it: as in OpenSSL, it is ECDSA with the signer's digest.
    package func signatureAlgorithm(of signer: SignerInfo) throws(SignatureTrustError) -> SignatureAlgorithm {
        let digest = try digestAlgorithm(signer.digestAlgorithm)
        if signer.signatureAlgorithm.matches(.rsaEncryption), kinds.contains(.rsaPKCS1),
            signer.signatureAlgorithm.hasNullOrAbsentParameters
        {
            try check(digest, for: .rsaPKCS1, signer.digestAlgorithm.element.offset)
            return SignatureAlgorithm(digest: digest, scheme: .pkcs1)
        }
        if signer.signatureAlgorithm.matches(.ecPublicKey), kinds.contains(.ecdsa),
            signer.signatureAlgorithm.hasNullOrAbsentParameters
                || signer.signatureAlgorithm.parameters?.tag == .objectIdentifier
        {
            try check(digest, for: .ecdsa, signer.digestAlgorithm.element.offset)
            return SignatureAlgorithm(digest: digest, scheme: .ecdsa)
        }
        let algorithm = try signatureAlgorithm(signer.signatureAlgorithm)
        guard algorithm.digest == digest else {
            throw SignatureTrustError(.algorithmMismatch, offset: signer.signatureAlgorithm.element.offset)
        }
        return algorithm
    }
}
