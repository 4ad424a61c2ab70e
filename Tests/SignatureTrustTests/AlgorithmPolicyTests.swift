import AppStoreReceiptTesting
import LibcryptoHandles
import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

@testable import SignatureTrust

/// What a policy says of a key or an algorithm, before anything is verified.
@Suite struct AlgorithmPolicyTests {
    /// The AlgorithmIdentifier of a signature.
    private static func encoded(_ name: AlgorithmName) -> [UInt8] {
        ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                writer.writeObjectIdentifier(name.identifier)
                if let parameters = name.parameters { writer.write(encoded: parameters.span) }
            }
        }
    }

    private func outcome(_ name: AlgorithmName, _ policy: AlgorithmPolicy) -> Result<SignatureAlgorithm, Fault> {
        let bytes = Self.encoded(name)
        do {
            var cursor = ASN1Cursor(bytes.span)
            return .success(try policy.signatureAlgorithm(AlgorithmIdentifier(&cursor)))
        } catch let error as SignatureTrustError {
            return .failure(Fault(kind: error.kind))
        } catch {
            return .failure(Fault(kind: nil))
        }
    }

    private struct Fault: Error, Equatable { let kind: SignatureTrustError.Kind? }

    /// RFC 4055, 3.1: SHA-256 for the message and the mask, and a salt of 32 octets.
    private static let pss: [UInt8] = {
        func digest(_ writer: inout ASN1Writer) {
            writer.write(.sequence) { $0.writeObjectIdentifier(.sha256) }
        }
        return ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                writer.writeExplicit(0) { digest(&$0) }
                writer.writeExplicit(1) { writer in
                    writer.write(.sequence) { writer in
                        writer.writeObjectIdentifier(.mgf1)
                        digest(&writer)
                    }
                }
                writer.writeExplicit(2) { $0.writeInteger(32) }
            }
        }
    }()

    private static let rsa = SignatureAlgorithm(digest: .sha256, scheme: .pkcs1)
    private static let ecdsa = SignatureAlgorithm(digest: .sha256, scheme: .ecdsa)
    private static let saltedRSA = SignatureAlgorithm(
        digest: .sha256, scheme: .pss(saltLength: 32, mgf1: .sha256))

    @Test func `an algorithm is accepted if the policy has its kind and digest, and its parameters are right`() {
        let all = AlgorithmPolicy(kinds: .all)
        let sequence: [UInt8] = [0x30, 0x00]
        let sha1 = SignatureAlgorithm(digest: .sha1, scheme: .pkcs1)
        let rows: [(AlgorithmName, AlgorithmPolicy, SignatureAlgorithm?, SignatureTrustError.Kind?)] = [
            (AlgorithmName(.sha256WithRSAEncryption), all, Self.rsa, nil),
            (AlgorithmName(.sha256WithRSAEncryption, parameters: nil), all, Self.rsa, nil),
            (AlgorithmName(.sha256WithRSAEncryption, parameters: sequence), all, nil, .unsupportedAlgorithm),
            (AlgorithmName(.sha256WithRSAEncryption), AlgorithmPolicy(kinds: .ecdsa), nil, .unsupportedAlgorithm),
            (AlgorithmName(.ecdsaWithSHA256, parameters: nil), all, Self.ecdsa, nil),
            (AlgorithmName(.ecdsaWithSHA256), all, nil, .unsupportedAlgorithm),
            (
                AlgorithmName(.ecdsaWithSHA256, parameters: nil), AlgorithmPolicy(kinds: .rsaPSS), nil,
                .unsupportedAlgorithm
            ),
            (AlgorithmName(.rsaPSS, parameters: Self.pss), all, Self.saltedRSA, nil),
            (AlgorithmName(.rsaPSS, parameters: Self.pss), AlgorithmPolicy(), nil, .unsupportedAlgorithm),
            (AlgorithmName(.rsaPSS, parameters: nil), all, nil, .unsupportedAlgorithm),
            (AlgorithmName(.data, parameters: Self.pss), all, nil, .unsupportedAlgorithm),
            (AlgorithmName(.md5WithRSAEncryption), all, nil, .weakAlgorithm),
            (AlgorithmName(.sha1WithRSAEncryption), all, nil, .weakAlgorithm),
            (AlgorithmName(.sha1WithRSAEncryption), AlgorithmPolicy(), sha1, nil),
            (AlgorithmName(.ecdsaWithSHA1, parameters: nil), AlgorithmPolicy(), nil, .weakAlgorithm),
        ]
        for (name, policy, expected, kind) in rows {
            let result: Result<SignatureAlgorithm, Fault> =
                if let expected { .success(expected) } else { .failure(Fault(kind: kind)) }
            #expect(outcome(name, policy) == result, "\(name)")
        }
    }

    private func outcome(
        _ digest: AlgorithmName, _ signature: AlgorithmName, _ policy: AlgorithmPolicy
    ) throws -> Fault? {
        var builder = SignedDataBuilder(by: try MintedChain.genuine.get())
        builder.signers[0].digestAlgorithm = digest
        builder.signers[0].signatureAlgorithm = signature
        let bytes = try builder.encoded()
        var signers = try SignedData(ContentInfo(bytes.span)).signerInfos
        guard let signer = try signers.next() else { return Fault(kind: nil) }
        do {
            _ = try policy.signatureAlgorithm(of: signer)
            return nil
        } catch {
            return Fault(kind: error.kind)
        }
    }

    /// RFC 3370, 3.2: `rsaEncryption` names no digest, so that of the signer counts.
    @Test func `a signer's digest is checked before it is compared, and its kind of signature must be accepted`() throws
    {
        let (rsa, sha256) = (AlgorithmName(.rsaEncryption), AlgorithmName(.sha256WithRSAEncryption))
        let all = AlgorithmPolicy(kinds: .all)
        #expect(try outcome(AlgorithmName(.sha256), rsa, all) == nil)
        #expect(try outcome(AlgorithmName(.sha256), sha256, all) == nil)
        #expect(try outcome(AlgorithmName(.sha1), rsa, all) == Fault(kind: .weakAlgorithm))
        #expect(try outcome(AlgorithmName(.sha1), sha256, all) == Fault(kind: .weakAlgorithm))
        let noPKCS1 = AlgorithmPolicy(kinds: [.ecdsa, .rsaPSS])
        #expect(try outcome(AlgorithmName(.sha256), rsa, noPKCS1) == Fault(kind: .unsupportedAlgorithm))
    }

    /// RFC 5753, 2.1.1: it identifies a key, whose curve is the parameter.
    @Test func `id-ecPublicKey is ECDSA with the signer's digest, and has a curve, NULL or no parameters`() throws {
        let all = AlgorithmPolicy(kinds: .all)
        let curve = tlv(0x06, ASN1ObjectIdentifier.p256.content)
        let rows: [(ASN1ObjectIdentifier, [UInt8]?, AlgorithmPolicy, SignatureTrustError.Kind?)] = [
            (.sha256, nil, all, nil), (.sha256, [0x05, 0x00], all, nil), (.sha256, curve, all, nil),
            (.sha256, [0x30, 0x00], all, .unsupportedAlgorithm),
            (.sha256, curve, AlgorithmPolicy(kinds: [.rsaPKCS1, .rsaPSS]), .unsupportedAlgorithm),
            // The policy for receipts accepts SHA-1 with RSA only.
            (.sha1, curve, AlgorithmPolicy(), .weakAlgorithm),
        ]
        for (digest, parameters, policy, kind) in rows {
            let fault = try outcome(AlgorithmName(digest), AlgorithmName(.ecPublicKey, parameters: parameters), policy)
            #expect(fault == kind.map { Fault(kind: $0) }, "\(digest), \(parameters ?? [])")
        }
    }

    /// Apple Root CA, whose key is made one for RSASSA-PSS only, and whose signature is made longer or shorter.
    private static func root(isPSS: Bool = false, count: Int? = nil) throws -> [UInt8] {
        var der = TrustAnchor.appleRootCA.der
        if isPSS {
            let old = ASN1ObjectIdentifier.rsaEncryption.content
            let start = try #require(der.indices.first { der[$0...].starts(with: old) })
            der.replaceSubrange(start..<start + old.count, with: ASN1ObjectIdentifier.rsaPSS.content)
        }
        guard let count else { return der }
        let certificate = try Certificate(der.span)
        let fixed = certificate.tbsCertificate.encoded.count + certificate.signatureAlgorithm.element.encoded.count
        return ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                writer.write(certificate.tbsCertificate)
                writer.write(certificate.signatureAlgorithm.element)
                // The headers of this and of the certificate have four octets.
                writer.write(.bitString, content: [UInt8](repeating: 0, count: count - fixed - 8).span)
            }
        }
    }

    private func fault(_ der: [UInt8], _ policy: AlgorithmPolicy) throws -> Fault? {
        let certificate = try Certificate(der.span)
        do {
            try policy.checkKey(of: certificate)
            return nil
        } catch {
            return Fault(kind: error.kind)
        }
    }

    @Test func `a certificate has at most 64 KiB`() throws {
        for (count, kind) in [(1 << 16, nil), (1 << 16 + 1, .certificateTooLarge)] as [(Int, SignatureTrustError.Kind?)]
        {
            let der = try Self.root(count: count)
            #expect(der.count == count)
            #expect(try fault(der, AlgorithmPolicy()) == kind.map { Fault(kind: $0) })
        }
    }

    @Test func `the key of a pinned signer is known, and another key is checked before it is read`() throws {
        let policy = AlgorithmPolicy(kinds: .rsaPKCS1, rsaKeySizes: 2048...2048)
        let verifier = try PinnedSignerVerifier(certificates: [.appleRootCA], algorithms: policy)
        let pinned = TrustAnchor.appleRootCA.der
        let isKnown = try verifier.key(of: Certificate(pinned.span)).isKnown
        #expect(isKnown)
        // RSA with 4096 bits.
        let other = TrustAnchor.appleRootCAG2.der
        let error = #expect(throws: SignatureTrustError.self) {
            try verifier.key(of: Certificate(other.span)).isKnown
        }
        #expect(error?.kind == .weakKey)
    }

    @Test func `a key for RSASSA-PSS only has the size of an RSA key`() throws {
        let der = try Self.root(isPSS: true)
        #expect(try fault(der, AlgorithmPolicy(kinds: .rsaPSS, rsaKeySizes: 2048...2048)) == nil)
        #expect(try fault(der, AlgorithmPolicy(kinds: .rsaPSS, rsaKeySizes: 3072...4096)) == Fault(kind: .weakKey))
        #expect(try fault(der, AlgorithmPolicy()) == Fault(kind: .unsupportedKey))
    }
}
