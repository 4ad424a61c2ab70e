import AppStoreReceiptTesting
import CMSTrust
import LibcryptoHandles
import SignatureTrust
import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

/// Which key may make which signature: one answer for every verifier, whether or not it has seen the key before.
@Suite struct KeyAndSignatureKindTests {
    enum Key: String, CaseIterable, Sendable {
        case rsa, pss, restrictedPSS, p256
    }

    struct Signature: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let algorithm: AlgorithmName
        var digest = SignatureDigest.sha256
        var scheme: SignatureScheme
        let allowed: Set<Key>
    }

    static let signatures: [Signature] = [
        Signature(
            testDescription: "PKCS#1, bare", algorithm: AlgorithmName(.rsaEncryption), scheme: .pkcs1, allowed: [.rsa]),
        Signature(
            testDescription: "PKCS#1 with its digest", algorithm: AlgorithmName(.sha256WithRSAEncryption),
            scheme: .pkcs1, allowed: [.rsa]),
        pss("PSS as the restricted key demands", .sha256, .sha256, 32, [.rsa, .pss, .restrictedPSS]),
        pss("PSS with a longer salt", .sha256, .sha256, 48, [.rsa, .pss, .restrictedPSS]),
        pss("PSS with a shorter salt", .sha256, .sha256, 20, [.rsa, .pss]),
        pss("PSS with another digest", .sha384, .sha256, 48, [.rsa, .pss]),
        pss("PSS with another mask", .sha256, .sha384, 32, [.rsa, .pss]),
        Signature(
            testDescription: "ECDSA", algorithm: AlgorithmName(.ecdsaWithSHA256, parameters: nil), scheme: .ecdsa,
            allowed: [.p256]),
    ]

    private static func pss(
        _ name: String, _ digest: SignatureDigest, _ mask: SignatureDigest, _ salt: Int, _ allowed: Set<Key>
    ) -> Signature {
        let parameters = RSAPSSTests.parameters(
            hash: digest.objectIdentifier, mask: mask.objectIdentifier, salt: salt)
        let mask: DigestAlgorithm = mask == .sha384 ? .sha384 : .sha256
        return Signature(
            testDescription: name, algorithm: AlgorithmName(.rsaPSS, parameters: parameters), digest: digest,
            scheme: .pss(saltLength: salt, mgf1: mask), allowed: allowed)
    }

    private static let ecKey = Result { () throws(MintingError) in try SigningKey(generating: .p256) }

    /// An authority whose leaf has such a key.
    private static func authority(_ key: Key) throws -> TestCertificateAuthority {
        try MintedChain.authority { chain in
            switch key {
            case .rsa: break
            case .pss: chain.shape.leaf.subjectPublicKeyInfo = try pssInfo(chain.leafKey, parameters: nil)
            case .restrictedPSS:
                chain.shape.leaf.subjectPublicKeyInfo = try pssInfo(
                    chain.leafKey, parameters: RSAPSSTests.parameters(hash: .sha256, mask: .sha256, salt: 32))
            case .p256: chain.leafKey = try ecKey.get()
            }
        }
    }

    /// An RSA key's `SubjectPublicKeyInfo` that says it is for RSASSA-PSS alone (RFC 4055, 1.2).
    static func pssInfo(_ key: SigningKey, parameters: [UInt8]?) throws -> [UInt8] {
        let info = try key.subjectPublicKeyInfo()
        let bits = try ASN1Cursor.decode(info.span) { (input) throws(ASN1DecodingError) in
            try input.read(.sequence) { (fields) throws(ASN1DecodingError) -> [UInt8] in
                _ = try fields.read(.sequence)
                return [UInt8](copying: try fields.read(.bitString).encoded)
            }
        }
        return ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                writer.write(.sequence) { writer in
                    writer.writeObjectIdentifier(.rsaPSS)
                    if let parameters { writer.write(encoded: parameters.span) }
                }
                writer.write(encoded: bits.span)
            }
        }
    }

    /// A message with that signature by the leaf, whatever its certificate says of the key.
    private static func message(_ authority: TestCertificateAuthority, _ signature: Signature) throws -> [UInt8]? {
        let isOnCurve = signature.scheme == .ecdsa
        guard isOnCurve == !authority.leaf.key.isRSA else { return try damaged(authority, signature) }
        var builder = SignedDataBuilder(by: authority, digest: signature.digest)
        let content = builder.content ?? []
        let pem = try authority.leaf.key.pem()
        let key = try PrivateKey(pem: pem.span)
        let algorithm: DigestAlgorithm = signature.digest == .sha384 ? .sha384 : .sha256
        builder.signers[0].signature = try key.sign(algorithm.digest(of: content.span), scheme: signature.scheme)
        builder.signers[0].signatureAlgorithm = signature.algorithm
        return try builder.encoded()
    }

    /// A message of a kind that the key cannot make at all.
    private static func damaged(_ authority: TestCertificateAuthority, _ signature: Signature) throws -> [UInt8] {
        var builder = SignedDataBuilder(by: authority, digest: signature.digest)
        builder.signers[0].signature = [UInt8](repeating: 1, count: 256)
        builder.signers[0].signatureAlgorithm = signature.algorithm
        return try builder.encoded()
    }

    private static func isKnown(_ leaf: [UInt8], to verifier: PinnedChainVerifier) throws -> Bool {
        try verifier.key(of: Certificate(leaf.span)).isKnown
    }

    static let algorithms = AlgorithmPolicy(kinds: .all, digests: .sha2)

    @Test(arguments: Key.allCases, signatures)
    func `a key makes the signatures that it is for, cold and warm, in receipts and in other messages`(
        key: Key, signature: Signature
    ) throws {
        let authority = try Self.authority(key)
        let message = try #require(try Self.message(authority, signature))
        let anchors = [authority.root.certificate]
        let isAllowed = signature.allowed.contains(key)

        let cold = try PinnedChainVerifier.make(anchors: anchors) { $0.algorithms = Self.algorithms }
        let verdict = cold.verdict(message)
        if isAllowed { #expect(verdict.isAccepted) } else { #expect(verdict == .refused(.algorithmMismatch)) }

        let warm = try PinnedChainVerifier.make(anchors: anchors) { $0.algorithms = Self.algorithms }
        let usual = try #require(Self.signatures.first { $0.allowed.contains(key) })
        #expect(warm.verdict(try #require(try Self.message(authority, usual))).isAccepted)
        #expect(try Self.isKnown(authority.leaf.certificate, to: warm))
        #expect(warm.verdict(message) == verdict)

        var policy = CMSPolicy(anchors: [try authority.trustAnchor])
        policy.algorithms = Self.algorithms
        let refusal = try CMSMessages.refusal(message, policy)
        #expect(refusal?.code == (isAllowed ? nil : .algorithmMismatch))
    }

    @Test func `an issuer's key for RSASSA-PSS makes no PKCS 1 signature either`() throws {
        let authority = try MintedChain.authority { chain in
            chain.shape.intermediate.subjectPublicKeyInfo = try Self.pssInfo(chain.intermediateKey, parameters: nil)
        }
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate]) {
            $0.algorithms = Self.algorithms
        }
        let builder = SignedDataBuilder(by: authority)
        #expect(try verifier.verdict(builder) == .refused(.untrustedChain))
        var policy = CMSPolicy(anchors: [try authority.trustAnchor])
        policy.algorithms = Self.algorithms
        #expect(try CMSMessages.refusal(builder.encoded(), policy)?.code == .untrustedChain)
    }
}
