import LibcryptoHandles

/// The digest algorithm of a signature.
public enum SignatureDigest: String, Hashable, Sendable, CaseIterable {
    case sha1 = "SHA-1"
    case sha224 = "SHA-224"
    case sha256 = "SHA-256"
    case sha384 = "SHA-384"
    case sha512 = "SHA-512"

    init(_ algorithm: DigestAlgorithm) {
        self =
            switch algorithm {
            case .sha1: .sha1
            case .sha224: .sha224
            case .sha256: .sha256
            case .sha384: .sha384
            case .sha512: .sha512
            }
    }
}

/// Digest algorithms that are accepted.
public struct SignatureDigests: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let sha1 = SignatureDigests(.sha1)
    public static let sha224 = SignatureDigests(.sha224)
    public static let sha256 = SignatureDigests(.sha256)
    public static let sha384 = SignatureDigests(.sha384)
    public static let sha512 = SignatureDigests(.sha512)
    /// SHA-224, SHA-256, SHA-384 and SHA-512 (FIPS 180-4).
    public static let sha2: SignatureDigests = [.sha224, .sha256, .sha384, .sha512]

    init(_ algorithm: DigestAlgorithm) { rawValue = 1 << algorithm.rawValue }
}

/// How a signature is made.
public enum SignatureKind: String, Hashable, Sendable, CaseIterable {
    case rsaPKCS1 = "RSA PKCS#1 v1.5"
    case rsaPSS = "RSASSA-PSS"
    case ecdsa = "ECDSA"

    init(_ scheme: SignatureScheme) {
        self =
            switch scheme {
            case .pkcs1: .rsaPKCS1
            case .pss: .rsaPSS
            case .ecdsa: .ecdsa
            }
    }
}

/// Kinds of signature that are accepted.
public struct SignatureKinds: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// RSASSA-PKCS1-v1_5 (RFC 8017, 8.2).
    public static let rsaPKCS1 = SignatureKinds(rawValue: 1 << 0)
    /// RSASSA-PSS (RFC 8017, 8.1), with keys for RSA in general or for this alone.
    public static let rsaPSS = SignatureKinds(rawValue: 1 << 1)
    /// ECDSA (FIPS 186-5, 6).
    public static let ecdsa = SignatureKinds(rawValue: 1 << 2)
    public static let all: SignatureKinds = [.rsaPKCS1, .rsaPSS, .ecdsa]
}

/// Elliptic curves that are accepted.
public struct EllipticCurves: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public static let p256 = EllipticCurves(rawValue: 1 << 0)
    public static let p384 = EllipticCurves(rawValue: 1 << 1)
    public static let p521 = EllipticCurves(rawValue: 1 << 2)
    public static let all: EllipticCurves = [.p256, .p384, .p521]
}
