import LibcryptoHandles
import SpanASN1
import SpanPKCS7

/// A private key that signs tests. It may be shared by threads.
public struct SigningKey: Sendable {
    /// What to generate.
    public enum Kind: Hashable, Sendable {
        /// 512 to 16384 bits; the exponent is odd and greater than 1.
        case rsa(bits: Int, publicExponent: UInt64 = 65537)
        /// An EC key on P-256; what signs StoreKit 2 data.
        case p256
        /// An EC key on P-384; what StoreKit 2's chain is signed with.
        case p384
        /// An EC key on P-521.
        case p521
    }

    let privateKey: PrivateKey

    /// Generates a key with libcrypto's random numbers.
    ///
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

    /// Reads the first private key of a PEM text (RFC 7468, 10).
    ///
    /// - Throws: `malformed-key`, also for one that is encrypted.
    public init(pem: [UInt8]) throws(MintingError) {
        privateKey = try MintingError.calling { () throws(LibcryptoError) in try PrivateKey(pem: pem.span) }
    }

    /// The key as unencrypted PKCS#8, PEM.
    public func pem() throws(MintingError) -> [UInt8] {
        try MintingError.calling { () throws(LibcryptoError) in try privateKey.pkcs8PEM() }
    }

    /// The public key as a `SubjectPublicKeyInfo` (RFC 5280, 4.1).
    public func subjectPublicKeyInfo() throws(MintingError) -> [UInt8] {
        try MintingError.calling { () throws(LibcryptoError) in try privateKey.publicKey.subjectPublicKeyInfo() }
    }

    /// The SHA-1 digest of the public key, by which certificates refer to it (RFC 5280, 4.2.1.2, method 1).
    public func keyIdentifier() throws(MintingError) -> [UInt8] {
        let info = try subjectPublicKeyInfo()
        let key = try MintingError.reading { () throws(ASN1DecodingError) -> [UInt8] in
            try ASN1Cursor.decode(info.span) { (input) throws(ASN1DecodingError) in
                try input.read(.sequence) { (fields) throws(ASN1DecodingError) in
                    _ = try fields.read(.sequence)
                    // The first content octet of the BIT STRING counts its unused bits: none.
                    return [UInt8](copying: try fields.read(.bitString).content.extracting(droppingFirst: 1))
                }
            }
        }
        return try SigningDigest.sha1.digest(of: key)
    }
}

// MARK: - Signatures

extension SigningKey {
    /// Signs the digest of `bytes`: RSASSA-PKCS1-v1_5, which is deterministic, or ECDSA, which is not, as a DER `ECDSA-Sig-Value`.
    ///
    /// - Throws: `algorithm-unavailable` where the host does not sign with the digest.
    public func sign(_ bytes: [UInt8], digest: SigningDigest) throws(MintingError) -> [UInt8] {
        guard let algorithm = digest.algorithm else {
            return try sign(digestInfo: SigningKey.digestInfo(digest, digest.digest(of: bytes)))
        }
        return try MintingError.calling { () throws(LibcryptoError) in
            try privateKey.sign(algorithm.digest(of: bytes.span), scheme: isRSA ? .pkcs1 : .ecdsa)
        }
    }

    /// Signs, with PKCS#1 v1.5 padding, a `DigestInfo` (RFC 8017, 9.2) or anything else in its place: for faulty signatures on purpose.
    public func sign(digestInfo: [UInt8]) throws(MintingError) -> [UInt8] {
        try MintingError.calling { () throws(LibcryptoError) in try privateKey.signPKCS1(digestInfo: digestInfo.span) }
    }

    /// `DigestInfo ::= SEQUENCE { digestAlgorithm AlgorithmIdentifier, digest OCTET STRING }`
    public static func digestInfo(_ algorithm: SigningDigest, _ digest: [UInt8]) -> [UInt8] {
        ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                writer.write(AlgorithmName(algorithm.objectIdentifier))
                writer.writeOctetString(digest.span)
            }
        }
    }

    /// How a signature by this key over that digest is named.
    ///
    /// - Throws: `unsuitable-key` for an EC key and MD5.
    public func signatureAlgorithm(_ digest: SigningDigest) throws(MintingError) -> AlgorithmName {
        if isRSA { return AlgorithmName(digest.rsaSignatureIdentifier) }
        guard let identifier = digest.ecdsaSignatureIdentifier else { throw .unsuitableKey }
        return AlgorithmName(identifier, parameters: nil)
    }

    /// Whether this is an RSA key.
    public var isRSA: Bool { privateKey.publicKey.kind == .rsa }
}
