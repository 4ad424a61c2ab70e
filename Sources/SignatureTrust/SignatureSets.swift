package import LibcryptoHandles

/// The digest algorithm of a signature.
@nonexhaustive
public enum SignatureDigest: String, Codable, Hashable, Sendable, CaseIterable {
    /// MD5 (RFC 1321), which is broken. No verifier accepts it; test authorities sign with it.
    case md5 = "MD5"
    /// SHA-1 (FIPS 180-4). Collisions can be computed, and second preimages cannot. Apple signed receipts with it until
    /// at least 2024.
    case sha1 = "SHA-1"
    /// SHA-224 (FIPS 180-4).
    case sha224 = "SHA-224"
    /// SHA-256 (FIPS 180-4). Apple signs receipts with it today.
    case sha256 = "SHA-256"
    /// SHA-384 (FIPS 180-4).
    case sha384 = "SHA-384"
    /// SHA-512 (FIPS 180-4).
    case sha512 = "SHA-512"
}

/// A set of digest algorithms.
package struct SignatureDigests: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// SHA-1. See ``SignatureDigest/sha1``.
    package static let sha1 = SignatureDigests(.sha1)
    /// SHA-224. See ``SignatureDigest/sha224``.
    package static let sha224 = SignatureDigests(.sha224)
    /// SHA-256. See ``SignatureDigest/sha256``.
    package static let sha256 = SignatureDigests(.sha256)
    /// SHA-384. See ``SignatureDigest/sha384``.
    package static let sha384 = SignatureDigests(.sha384)
    /// SHA-512. See ``SignatureDigest/sha512``.
    package static let sha512 = SignatureDigests(.sha512)
    /// SHA-224, SHA-256, SHA-384 and SHA-512 (FIPS 180-4).
    package static let sha2: SignatureDigests = [.sha224, .sha256, .sha384, .sha512]

    init(_ algorithm: DigestAlgorithm) { rawValue = 1 << algorithm.rawValue }
}

/// The kind of a signature.
@nonexhaustive
public enum SignatureKind: String, Hashable, Sendable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 (RFC 8017, 8.2).
    case rsaPKCS1 = "RSA PKCS#1 v1.5"
    /// RSASSA-PSS (RFC 8017, 8.1).
    case rsaPSS = "RSASSA-PSS"
    /// ECDSA (FIPS 186-5, 6).
    case ecdsa = "ECDSA"

    package init(_ scheme: SignatureScheme) {
        self =
            switch scheme {
            case .pkcs1: .rsaPKCS1
            case .pss: .rsaPSS
            case .ecdsa: .ecdsa
            }
    }
}

/// A set of kinds of signatures.
package struct SignatureKinds: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// RSASSA-PKCS1-v1_5 (RFC 8017, 8.2).
    package static let rsaPKCS1 = SignatureKinds(rawValue: 1 << 0)
    /// RSASSA-PSS (RFC 8017, 8.1), with general RSA keys or keys for RSASSA-PSS only.
    package static let rsaPSS = SignatureKinds(rawValue: 1 << 1)
    /// ECDSA (FIPS 186-5, 6).
    package static let ecdsa = SignatureKinds(rawValue: 1 << 2)
    /// All kinds that this library verifies.
    package static let all: SignatureKinds = [.rsaPKCS1, .rsaPSS, .ecdsa]
}

/// A set of elliptic curves.
package struct EllipticCurves: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// P-256, also called secp256r1 and prime256v1.
    package static let p256 = EllipticCurves(rawValue: 1 << 0)
    /// P-384, also called secp384r1.
    package static let p384 = EllipticCurves(rawValue: 1 << 1)
    /// P-521, also called secp521r1.
    package static let p521 = EllipticCurves(rawValue: 1 << 2)
    /// All curves that this library supports.
    package static let all: EllipticCurves = [.p256, .p384, .p521]
}
