package import AppStoreReceiptTesting
package import SignatureTrust
package import Instants
package import SpanASN1
import SpanPKCS7

/// A chain to be varied, with the keys of the shared authority.
package struct MintedChain {
    package var shape = TestCertificateAuthority.Shape()
    package var rootKey: SigningKey
    package var intermediateKey: SigningKey
    package var leafKey: SigningKey

    package static var strangerKey: SigningKey { get throws { try Minted.stranger.leaf.key } }

    package init() throws {
        let authority = try Minted.authority
        (rootKey, intermediateKey, leafKey) = (authority.root.key, authority.intermediate.key, authority.leaf.key)
    }

    /// The chain, with a change before its certificates are issued.
    package static func authority(_ change: (inout MintedChain) throws -> Void = { _ in }) throws
        -> TestCertificateAuthority
    {
        var chain = try MintedChain()
        try change(&chain)
        return try TestCertificateAuthority(
            chain.shape, rootKey: chain.rootKey, intermediateKey: chain.intermediateKey, leafKey: chain.leafKey)
    }

    /// The same root for all tests.
    package static let genuine = Result { try authority() }
}

extension SignedDataBuilder {
    /// A message of Apple's shape by the authority's leaf.
    package init(by authority: TestCertificateAuthority, digest: SignatureDigest = .sha256) {
        self.init(
            content: Array("content".utf8), certificates: authority.certificates,
            signers: [Signer(authority.leaf, digest: digest)])
    }
}

/// The verdict on a message.
package enum Verdict: Hashable {
    case accepted(leaf: [UInt8], intermediate: [UInt8], digest: SignatureDigest)
    case refused(SignatureTrustError.Kind)
    case malformed(ASN1DecodingError.Kind)

    package var isAccepted: Bool { if case .accepted = self { true } else { false } }
}

extension PinnedChainVerifier {
    package static func make(
        anchors: [[UInt8]], cacheCapacity: Int = 64, _ change: (inout PinnedChainPolicy) -> Void = { _ in }
    ) throws -> PinnedChainVerifier {
        var policy = PinnedChainPolicy(
            anchors: try anchors.map { try TrustAnchor(der: $0) }, leafMarker: .receiptSigningMarker,
            intermediateMarker: .worldwideDeveloperRelationsMarker, algorithms: AlgorithmPolicy(), distrusted: [])
        change(&policy)
        return try PinnedChainVerifier(policy: policy, cacheCapacity: cacheCapacity)
    }

    package func verdict(_ bytes: [UInt8], at date: Instant = .midsummer) -> Verdict {
        let message: SignedData
        do throws(ASN1DecodingError) {
            message = try SignedData(ContentInfo(bytes.span), maximumCertificateCount: 16)
        } catch {
            return .malformed(error.kind)
        }
        do throws(SignatureTrustError) {
            let signature = try verifySignature(of: message)
            let chain = try chain(of: signature, in: message, at: date)
            return .accepted(leaf: chain.leaf, intermediate: chain.intermediate, digest: signature.digestAlgorithm)
        } catch {
            return .refused(error.kind)
        }
    }

    package func verdict(_ builder: SignedDataBuilder, at date: Instant = .midsummer) throws -> Verdict {
        verdict(try builder.encoded(), at: date)
    }
}

extension Instant {
    /// 2024-07-01T00:00:00Z, within every minted certificate's validity.
    package static let midsummer = Instant(millisecondsSince1970: 1_719_792_000_000)

    package static func seconds(_ seconds: Int64) -> Instant { Instant(millisecondsSince1970: seconds * 1000) }
}
