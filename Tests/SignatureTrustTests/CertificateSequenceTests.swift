import AppStoreReceiptTesting
import SignatureTrust
import TestSupport
import Testing

/// The certificates of a JWS, whose header says how many they are: whoever reads it has counted them, and they are
/// counted again.
@Suite struct CertificateSequenceTests {
    private let signed = Array("header.payload".utf8)

    private func verdict(
        _ certificates: [[UInt8]], _ change: (inout PinnedChainPolicy) -> Void = { _ in }
    ) throws -> SignatureTrustError.Kind? {
        let authority = try Minted.ellipticAuthority
        let verifier = try PinnedChainVerifier.make(anchors: [authority.root.certificate], change)
        let signature = try JWSBuilder.signature(of: signed, key: authority.leaf.key)
        let sequence = CertificateSequence(certificates)
        do throws(SignatureTrustError) {
            let key = try verifier.verify(ES256Signature(signature.span), of: signed.span, by: sequence)
            _ = try verifier.chain(of: sequence, key: key, at: .midsummer)
            return nil
        } catch {
            return error.kind
        }
    }

    @Test func `a chain has three certificates, the last of which is pinned`() throws {
        let all = try Minted.ellipticAuthority.certificates
        let other = try Minted.ellipticStranger.root.certificate
        let rows: [([[UInt8]], SignatureTrustError.Kind?)] = [
            (all, nil), ([], .missingSignerCertificate), ([all[0]], .invalidChainLength),
            ([all[0], all[1]], .invalidChainLength), (all + [all[2]], .invalidChainLength),
            (all + [other], .invalidChainLength), ([all[0], all[1], other], .untrustedChain),
        ]
        for (certificates, kind) in rows { #expect(try verdict(certificates) == kind, "\(certificates.count)") }
    }

    /// RFC 5280, 6.1.1: a trust anchor is a name and a key, and a reissued root has both.
    @Test func `a reissued root is accepted in place of its anchor, unless it is distrusted itself`() throws {
        let authority = try Minted.ellipticAuthority
        var shape = TestCertificateAuthority.Shape.ellipticCurve
        shape.root.serialNumber = [0x77]
        let root = try authority.reissued(shape).root.certificate
        let certificates = [authority.leaf.certificate, authority.intermediate.certificate, root]
        let other = try Minted.ellipticStranger.root.certificate
        let rows: [([[UInt8]], SignatureTrustError.Kind?)] = [
            ([], nil), ([other], nil), ([root], .distrustedCertificate), ([other, root], .distrustedCertificate),
        ]
        for (distrusted, kind) in rows {
            let fingerprints = Set(try distrusted.map { try Fingerprint(of: $0.span) })
            #expect(try verdict(certificates) { $0.distrusted = fingerprints } == kind)
        }
    }

    @Test func `a pinned signer's certificate is alone`() throws {
        let signer = try Minted.ellipticStoreKit.identity
        let verifier = try PinnedSignerVerifier(
            certificates: [TrustAnchor(der: signer.certificate)], algorithms: AlgorithmPolicy())
        for (count, kind) in [(0, SignatureTrustError.Kind.invalidChainLength), (1, nil), (2, .invalidChainLength)] {
            let sequence = CertificateSequence(Array(repeating: signer.certificate, count: count))
            let found: SignatureTrustError.Kind?
            do throws(SignatureTrustError) {
                _ = try verifier.signer(of: sequence, at: .midsummer)
                found = nil
            } catch {
                found = error.kind
            }
            #expect(found == kind, "\(count) certificates")
        }
    }
}
