import LibcryptoHandles
public import SignatureTrust
import SpanASN1
import SpanPKCS7

/// A private key for tests. It is thread-safe.
public struct SigningKey: Sendable {
    /// The kinds of keys.
    public enum Kind: Hashable, Sendable {
        /// An RSA key of 512 to 16384 bits. The exponent must be odd and greater than 1.
        case rsa(bits: Int, publicExponent: UInt64 = 65537)
        /// An EC key on P-256, which signs a JWS of StoreKit 2.
        case p256
        /// An EC key on P-384, which signs the certificates of StoreKit 2.
        case p384
        /// An EC key on P-521.
        case p521
    }

    let privateKey: PrivateKey

    /// Generates a key with random numbers from libcrypto.
    ///
    /// - Parameter kind: The kind of key.
    /// - Throws: `unsuitable-key` for a size or an exponent that is out of range.
    public init(generating kind: Kind) throws(MintingError) {
        privateKey = try MintingError.calling { () throws(LibcryptoError) in
            switch kind {
            case .rsa(let bits, let exponent): try PrivateKey.generateRSA(bits: bits, publicExponent: exponent)
            case .p256: try PrivateKey.generateEC(.p256)
            case .p384: try PrivateKey.generateEC(.p384)
            case .p521: try PrivateKey.generateEC(.p521)
            }
        }
    }

    /// Creates a key from the first private key in a PEM text (RFC 7468, 10).
    ///
    /// - Parameter pem: The PEM text.
    /// - Throws: `malformed-key`, also for an encrypted key.
    public init(pem: [UInt8]) throws(MintingError) {
        privateKey = try MintingError.calling { () throws(LibcryptoError) in try PrivateKey(pem: pem.span) }
    }

    /// Returns the key as unencrypted PKCS#8 in PEM.
    public func pem() throws(MintingError) -> [UInt8] {
        try MintingError.calling { () throws(LibcryptoError) in try privateKey.pkcs8PEM() }
    }

    /// Returns the public key as a `SubjectPublicKeyInfo` (RFC 5280, 4.1).
    public func subjectPublicKeyInfo() throws(MintingError) -> [UInt8] {
        try MintingError.calling { () throws(LibcryptoError) in try privateKey.publicKey.subjectPublicKeyInfo() }
    }

    /// Returns the SHA-1 of the public key, with which certificates identify it (RFC 5280, 4.2.1.2, method 1).
    public func keyIdentifier() throws(MintingError) -> [UInt8] {
        let info = try subjectPublicKeyInfo()
        let key = try MintingError.reading { () throws(ASN1DecodingError) -> [UInt8] in
            try ASN1Cursor.decode(info.span) { (input) throws(ASN1DecodingError) in
                try input.read(.sequence) { (fields) throws(ASN1DecodingError) in
                    _ = try fields.read(.sequence)
                    // The first content octet is the number of unused bits.
                    return [UInt8](copying: try fields.read(.bitString).content.extracting(droppingFirst: 1))
                }
            }
        }
        return try SignatureDigest.sha1.digest(of: key)
    }
}

// MARK: - Signatures

extension SigningKey {
    /// Returns the signature of bytes.
    ///
    /// An RSA key signs with RSASSA-PKCS1-v1_5, which is deterministic. An EC key signs with ECDSA, which is not; the
    /// signature is a DER `ECDSA-Sig-Value`.
    ///
    /// - Parameters:
    ///   - bytes: The bytes to sign.
    ///   - digest: The digest algorithm.
    /// - Throws: `algorithm-unavailable` if the host does not sign with the digest algorithm.
    public func sign(_ bytes: [UInt8], digest: SignatureDigest) throws(MintingError) -> [UInt8] {
        guard let algorithm = digest.algorithm else {
            return try sign(digestInfo: SigningKey.digestInfo(digest, digest.digest(of: bytes)))
        }
        return try MintingError.calling { () throws(LibcryptoError) in
            try privateKey.sign(algorithm.digest(of: bytes.span), scheme: isRSA ? .pkcs1 : .ecdsa)
        }
    }

    /// Returns the signature of a `DigestInfo` (RFC 8017, 9.2), or of any other bytes, with PKCS#1 v1.5 padding. Use it
    /// for deliberately invalid signatures.
    public func sign(digestInfo: [UInt8]) throws(MintingError) -> [UInt8] {
        try MintingError.calling { () throws(LibcryptoError) in try privateKey.signPKCS1(digestInfo: digestInfo.span) }
    }

    /// Returns a `DigestInfo`.
    ///
    /// `DigestInfo ::= SEQUENCE { digestAlgorithm AlgorithmIdentifier, digest OCTET STRING }`
    public static func digestInfo(_ algorithm: SignatureDigest, _ digest: [UInt8]) -> [UInt8] {
        ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                writer.write(AlgorithmName(algorithm.objectIdentifier))
                writer.writeOctetString(digest.span)
            }
        }
    }

    /// Returns the signature algorithm of this key with a digest algorithm.
    ///
    /// - Throws: `unsuitable-key` for an EC key and MD5.
    package func signatureAlgorithm(_ digest: SignatureDigest) throws(MintingError) -> AlgorithmName {
        if isRSA { return AlgorithmName(digest.rsaSignatureIdentifier) }
        guard let identifier = digest.ecdsaSignatureIdentifier else { throw .unsuitableKey }
        return AlgorithmName(identifier, parameters: nil)
    }

    /// A Boolean value that indicates whether this is an RSA key.
    public var isRSA: Bool { privateKey.publicKey.kind == .rsa }
}
