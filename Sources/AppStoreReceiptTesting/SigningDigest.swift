import LibcryptoHandles
public import SpanASN1
import SpanPKCS7

/// The digest algorithms of test signatures, including weak ones.
public enum SigningDigest: String, Hashable, Sendable, CaseIterable {
    /// MD5, which is broken. No verifier of this package accepts it.
    case md5 = "MD5"
    /// SHA-1, with which Apple signed receipts until at least 2024. Some hosts do not sign with it any more.
    case sha1 = "SHA-1"
    /// SHA-224.
    case sha224 = "SHA-224"
    /// SHA-256, with which Apple signs receipts today.
    case sha256 = "SHA-256"
    /// SHA-384.
    case sha384 = "SHA-384"
    /// SHA-512.
    case sha512 = "SHA-512"
}

extension SigningDigest {
    /// Returns the digest of bytes.
    ///
    /// - Throws: `algorithm-unavailable` if the host does not compute it.
    public func digest(of bytes: [UInt8]) throws(MintingError) -> [UInt8] {
        guard let algorithm else { return MD5.digest(of: bytes) }
        return try MintingError.calling { () throws(LibcryptoError) in try algorithm.digest(of: bytes.span).bytes }
    }

    /// The identifier of the digest algorithm.
    public var objectIdentifier: ASN1ObjectIdentifier {
        switch self {
        case .md5: .md5
        case .sha1: .sha1
        case .sha224: .sha224
        case .sha256: .sha256
        case .sha384: .sha384
        case .sha512: .sha512
        }
    }

    /// The identifier of the RSA signature algorithm, such as `sha256WithRSAEncryption` (RFC 8017, A.2.4).
    public var rsaSignatureIdentifier: ASN1ObjectIdentifier {
        switch self {
        case .md5: .md5WithRSAEncryption
        case .sha1: .sha1WithRSAEncryption
        case .sha224: .sha224WithRSAEncryption
        case .sha256: .sha256WithRSAEncryption
        case .sha384: .sha384WithRSAEncryption
        case .sha512: .sha512WithRSAEncryption
        }
    }

    /// The identifier of the ECDSA signature algorithm, such as `ecdsa-with-SHA256` (RFC 5758, 3.2); `nil` for MD5, which has none.
    public var ecdsaSignatureIdentifier: ASN1ObjectIdentifier? {
        let lastArc: UInt8
        switch self {
        case .md5: return nil
        case .sha1: return ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 1])
        case .sha224: lastArc = 1
        case .sha256: lastArc = 2
        case .sha384: lastArc = 3
        case .sha512: lastArc = 4
        }
        return ASN1ObjectIdentifier(content: [0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, lastArc])
    }

    var algorithm: DigestAlgorithm? {
        switch self {
        case .md5: nil
        case .sha1: .sha1
        case .sha224: .sha224
        case .sha256: .sha256
        case .sha384: .sha384
        case .sha512: .sha512
        }
    }
}

/// An algorithm and its parameters, to write.
///
/// `AlgorithmIdentifier ::= SEQUENCE { algorithm OBJECT IDENTIFIER, parameters ANY OPTIONAL }` (RFC 5280, 4.1.1.2)
public struct AlgorithmName: Hashable, Sendable {
    /// The identifier of the algorithm.
    public var identifier: ASN1ObjectIdentifier
    /// The encoded parameters; `nil` for none. RSA and digest algorithms have a NULL, and ECDSA has none.
    public var parameters: [UInt8]?

    /// Creates an algorithm; by default its parameters are NULL.
    public init(_ identifier: ASN1ObjectIdentifier, parameters: [UInt8]? = AlgorithmName.null) {
        self.identifier = identifier
        self.parameters = parameters
    }

    /// An encoded NULL.
    public static let null: [UInt8] = [0x05, 0x00]
}

extension ASN1Writer {
    mutating func write(_ algorithm: AlgorithmName) {
        write(.sequence) { writer in
            writer.writeObjectIdentifier(algorithm.identifier)
            if let parameters = algorithm.parameters { writer.write(encoded: parameters.span) }
        }
    }
}
