import LibcryptoHandles
import SpanASN1
import SpanPKCS7

/// Which algorithms and keys may sign, in a message and in every certificate of its chain.
///
/// libcrypto's own levels fit nobody: level 1 and above refuse the SHA-1 chains of most receipts that Apple signed, level 0 also accepts
/// MD5 and RSA-512. So libcrypto is set to 0 and this list stands above it: RSA PKCS#1 v1.5 with SHA-2, and SHA-1 unless switched off.
public struct AlgorithmPolicy: Hashable, Sendable {
    /// Whether SHA-1 signatures are accepted. Apple has signed receipts with SHA-1 until 2024 at least, and their chains too.
    public var allowsSHA1: Bool
    /// The accepted sizes of RSA keys, in bits.
    public var rsaKeySizes: ClosedRange<Int>

    public init(allowsSHA1: Bool = true, rsaKeySizes: ClosedRange<Int> = 2048...4096) {
        self.allowsSHA1 = allowsSHA1
        self.rsaKeySizes = rsaKeySizes
    }
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

    /// The digest that an AlgorithmIdentifier for RSA PKCS#1 v1.5 signatures names (RFC 4055, 5; RFC 3279, 2.2.1).
    func signatureDigest(
        _ identifier: AlgorithmIdentifier
    ) throws(SignatureTrustError) -> DigestAlgorithm {
        let offset = identifier.element.offset
        guard identifier.hasNullOrAbsentParameters else {
            throw SignatureTrustError(.unsupportedAlgorithm, offset: offset)
        }
        let digest: DigestAlgorithm
        if identifier.is(.sha256WithRSAEncryption) {
            digest = .sha256
        } else if identifier.is(.sha1WithRSAEncryption) {
            digest = .sha1
        } else if identifier.is(.sha384WithRSAEncryption) {
            digest = .sha384
        } else if identifier.is(.sha512WithRSAEncryption) {
            digest = .sha512
        } else if identifier.is(.sha224WithRSAEncryption) {
            digest = .sha224
        } else {
            let isMD5 = identifier.is(.md5WithRSAEncryption)
            throw SignatureTrustError(isMD5 ? .weakAlgorithm : .unsupportedAlgorithm, offset: offset)
        }
        try check(digest, offset)
        return digest
    }

    private func check(_ digest: DigestAlgorithm, _ offset: Int) throws(SignatureTrustError) {
        if digest == .sha1, !allowsSHA1 { throw SignatureTrustError(.weakAlgorithm, offset: offset) }
    }

    /// Checks a signer's two algorithms against each other: RFC 5652's bare `rsaEncryption` (RFC 3370, 3.2), or a signature algorithm
    /// that names the same digest.
    func signerDigest(_ signer: SignerInfo) throws(SignatureTrustError) -> DigestAlgorithm {
        let digest = try digestAlgorithm(signer.digestAlgorithm)
        if signer.signatureAlgorithm.is(.rsaEncryption), signer.signatureAlgorithm.hasNullOrAbsentParameters {
            return digest
        }
        guard try signatureDigest(signer.signatureAlgorithm) == digest else {
            throw SignatureTrustError(.algorithmMismatch, offset: signer.signatureAlgorithm.element.offset)
        }
        return digest
    }

    /// Checks what a certificate costs before libcrypto sees it: a large modulus or exponent makes one verification take seconds.
    func checkKey(of certificate: CertificateView) throws(SignatureTrustError) {
        // Apple's certificates have at most 1.5 KB; some of libcrypto's work on extensions is more than linear.
        guard certificate.element.encoded.count <= 64 << 10 else { throw certificate.error(.certificateTooLarge) }
        let info = certificate.subjectPublicKeyInfo
        guard info.algorithm.is(.rsaEncryption), info.algorithm.hasNullOrAbsentParameters else {
            throw SignatureTrustError(.unsupportedKey, offset: info.element.offset)
        }
        let shape = try SignatureTrustError.reading { () throws(ASN1DecodingError) in try info.rsaPublicKey() }
        // NIST SP 800-56B, 6.2: an odd exponent between 2^16 and 2^256. Nobody needs more than 32 bits, and each costs time.
        guard rsaKeySizes.contains(shape.modulusBitCount), shape.isModulusOdd, let exponent = shape.exponent,
            exponent & 1 == 1, 1 << 16..<1 << 32 ~= exponent
        else { throw SignatureTrustError(.weakKey, offset: info.element.offset) }
    }
}
