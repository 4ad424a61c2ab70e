import AppStoreReceiptTesting
import SignatureTrust
import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

@Suite struct TrustAnchorTests {
    @Test(arguments: [
        (TrustAnchor.appleRootCA, "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024"),
        (.appleRootCAG2, "c2b9b042dd57830e7d117dac55ac8ae19407d38e41d88f3215bc3a890444a050"),
        (.appleRootCAG3, "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"),
    ])
    func `Apple's roots are the published ones`(row: (TrustAnchor, String)) throws {
        #expect(try Fingerprint(of: row.0.der.span).description == row.1)
        let root = try Certificate(row.0.der.span)
        #expect(root.isSelfIssued == true)
        let usage = try root.keyUsage()
        #expect(usage?.contains(.keyCertSign) == true)
        #expect(TrustAnchor.appleRoots.contains(row.0))
    }

    @Test func `an anchor is described by its subject and its fingerprint`() {
        #expect(
            TrustAnchor.appleRootCA.description
                == "CN=Apple Root CA,OU=Apple Certification Authority,O=Apple Inc.,C=US "
                + "(SHA-256 b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024)")
    }

    @Test func `an anchor is exactly one certificate`() throws {
        let der = try MintedChain.genuine.get().root.certificate
        #expect(try TrustAnchor(der: der).der == der)
        for bytes in [[], [0x30, 0x00], Array(der.dropLast()), der + [0], der + der] {
            #expect(throws: ASN1DecodingError.self) { try TrustAnchor(der: bytes) }
        }
    }

    @Test func `an anchor with a key that may not sign receipts makes no verifier`() throws {
        let keys: [SigningKey.Kind] = [.rsa(bits: 1024), .p521, .rsa(bits: 2048, publicExponent: 3)]
        for kind in keys {
            let root = try MintedChain.authority { $0.rootKey = try SigningKey(generating: kind) }.root.certificate
            #expect(throws: SignatureTrustError.self) { try PinnedChainVerifier.make(anchors: [root]) }
        }
        #expect(throws: Never.self) { try PinnedChainVerifier.make(anchors: TrustAnchor.appleRoots.map(\.der)) }
    }

    @Test func `an anchor that is no root makes no verifier, and its place is told`() throws {
        let authority = try MintedChain.genuine.get()
        #expect(try TrustAnchor(der: authority.root.certificate).isRoot)
        #expect(try !TrustAnchor(der: authority.intermediate.certificate).isRoot)
        let error = #expect(throws: SignatureTrustError.self) {
            try PinnedChainVerifier.make(anchors: [authority.root.certificate, authority.intermediate.certificate])
        }
        #expect(error?.kind == .anchorNotSelfSigned && error?.path == ASN1Path(.certificates, index: 1))
    }

    @Test func `this host verifies what receipts need`() {
        #expect(throws: Never.self) { try HostSelfTest.run(AlgorithmPolicy()) }
        #expect(throws: Never.self) { try HostSelfTest.run(AlgorithmPolicy(allowsSHA1: false)) }
    }
}
