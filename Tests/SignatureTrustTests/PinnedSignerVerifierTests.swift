import AppStoreReceiptTesting
import SignatureTrust
import Instants
import SpanPKCS7
import TestSupport
import Testing

@Suite struct PinnedSignerVerifierTests {
    private static let signer = Result { try StoreKitTestingSigner(key: MintedChain.strangerKey) }

    private func verdict(
        trusting certificates: [[UInt8]], _ signer: SigningIdentity, at date: Instant = .midsummer,
        _ change: (inout SignedDataBuilder) -> Void = { _ in }
    ) throws -> SignatureTrustError.Kind? {
        let anchors = try certificates.map { try TrustAnchor(der: $0) }
        let verifier = try PinnedSignerVerifier(certificates: anchors, algorithms: AlgorithmPolicy())
        var builder = SignedDataBuilder(
            content: [1], certificates: [signer.certificate], signers: [SignedDataBuilder.Signer(signer)])
        change(&builder)
        let bytes = try builder.encoded()
        let message = try SignedData(ContentInfo(bytes.span))
        do throws(SignatureTrustError) {
            let signature = try verifier.verifySignature(of: message)
            let found = try verifier.signer(of: signature, at: date)
            #expect(try found.fingerprint == Fingerprint(of: signer.certificate.span))
            return nil
        } catch {
            return error.kind
        }
    }

    @Test func `the signer's certificate must be one of those given, byte for byte`() throws {
        let signer = try Self.signer.get().identity
        let twin = try StoreKitTestingSigner(key: MintedChain.genuine.get().leaf.key).identity
        var renewed = StoreKitTestingSigner.specification
        renewed.notAfter = .seconds(2_000_000_000)
        let sameKey = try renewed.issue(key: MintedChain.strangerKey)
        #expect(try verdict(trusting: [signer.certificate], signer) == nil)
        #expect(try verdict(trusting: [twin.certificate, signer.certificate], signer) == nil)
        #expect(try verdict(trusting: [twin.certificate], signer) == .untrustedChain)
        #expect(try verdict(trusting: [sameKey.certificate], signer) == .untrustedChain)
        #expect(try verdict(trusting: [], signer) == .untrustedChain)
    }

    /// It issues nothing: what it signed as an authority is a stranger's.
    @Test func `a certificate that was issued by a given one is not trusted`() throws {
        let signer = try Self.signer.get().identity
        let issued = try TestCertificateAuthority.Shape().leaf.issue(
            key: MintedChain.genuine.get().leaf.key, by: signer)
        #expect(try verdict(trusting: [signer.certificate], issued) == .untrustedChain)
        #expect(
            try verdict(trusting: [signer.certificate], issued) { $0.certificates?.append(signer.certificate) }
                == .untrustedChain)
    }

    @Test func `the signature is checked before the trust`() throws {
        let signer = try Self.signer.get().identity
        let wrong = { (builder: inout SignedDataBuilder) in
            builder.signers[0].signature = [UInt8](repeating: 1, count: 256)
        }
        #expect(try verdict(trusting: [signer.certificate], signer, wrong) == .invalidSignature)
        #expect(try verdict(trusting: [], signer, wrong) == .invalidSignature)
        #expect(try verdict(trusting: [signer.certificate], signer) { $0.signers = [] } == .signerCount)
        #expect(
            try verdict(trusting: [signer.certificate], signer) { $0.certificates = [] } == .missingSignerCertificate)
    }

    @Test func `the certificate must be valid at the date, and may sign`() throws {
        let signer = try Self.signer.get().identity
        let rows: [(Int64, SignatureTrustError.Kind?)] = [
            (1_577_836_799_999, .certificateNotYetValid), (1_577_836_800_000, nil), (2_208_988_799_999, nil),
            (2_208_988_800_000, .certificateExpired), (.min, .certificateNotYetValid), (.max, .certificateExpired),
        ]
        for (milliseconds, kind) in rows {
            let date = Instant(millisecondsSince1970: milliseconds)
            #expect(try verdict(trusting: [signer.certificate], signer, at: date) == kind)
        }
        for (usage, kind) in [
            (CertificateSpecification.Extension.keyUsage(.keyCertSign), SignatureTrustError.Kind.invalidKeyUsage),
            (.keyUsage(.digitalSignature), nil),
        ] {
            var specification = StoreKitTestingSigner.specification
            specification.replaceExtension(usage)
            let other = try specification.issue(key: MintedChain.strangerKey)
            #expect(try verdict(trusting: [other.certificate], other) == kind)
        }
    }

    @Test func `a given certificate must have a key that may sign`() throws {
        for kind in [SigningKey.Kind.rsa(bits: 1024), .p521] {
            var specification = StoreKitTestingSigner.specification
            specification.keyKind = kind
            let certificate = try specification.issue().certificate
            #expect(throws: SignatureTrustError.self) {
                try verdict(trusting: [certificate], Self.signer.get().identity)
            }
        }
    }
}
