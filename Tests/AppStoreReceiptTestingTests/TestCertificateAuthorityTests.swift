import AppStoreReceipt
import AppStoreReceiptTesting
import TestSupport
import Testing

@Suite struct TestCertificateAuthorityTests {
    private static let receipt = ReceiptBuilder(
        bundleID: "com.example.app", purchases: [.consumable("coins", transactionID: "1")])

    @Test func `a stored authority signs to the same bytes`() throws {
        let authority = try Minted.authority
        let loaded = try TestCertificateAuthority(files: authority.files().shuffled())
        #expect(loaded.certificates == authority.certificates)
        #expect(try Self.receipt.signed(by: loaded) == Self.receipt.signed(by: authority))
    }

    @Test func `certificates are issued to the same bytes for the same keys`() throws {
        let authority = try Minted.authority
        #expect(try authority.reissued(.init()).certificates == authority.certificates)
    }

    @Test func `a stored authority lacks no file`() throws {
        let files = try Minted.authority.files()
        #expect(
            files.map(\.name).sorted() == [
                "intermediate.der", "intermediate.key", "leaf.der", "leaf.key", "root.der", "root.key",
            ])
        for name in files.map(\.name) {
            #expect(throws: MintingError.missingFile) {
                try TestCertificateAuthority(files: files.filter { $0.name != name })
            }
        }
        var garbled = files
        for index in garbled.indices where garbled[index].name == "leaf.key" { garbled[index].contents = [1, 2, 3] }
        #expect(throws: MintingError.malformedKey) { try TestCertificateAuthority(files: garbled) }
    }

    @Test func `two authorities do not trust each other, though all names are the same`() throws {
        let stranger = try TestCertificateAuthority()
        #expect {
            try Minted.verifier(environments: [.production]).verifyReceipt(Self.receipt.signed(by: stranger))
        } throws: { error in
            (error as? VerificationError)?.code == .untrustedChain
        }
    }

    @Test func `nothing minted verifies under Apple's roots`() throws {
        let verifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production])
        #expect { try verifier.verifyReceipt(Self.receipt.signed(by: Minted.authority)) } throws: { error in
            (error as? VerificationError)?.code == .untrustedChain
        }
    }

    @Test func `a certificate can be made wrong`() throws {
        let authority = try Minted.authority
        var shape = TestCertificateAuthority.Shape()
        shape.leaf.removeExtensions(.receiptSigningMarker)
        #expect {
            try Minted.verifier(environments: [.production]).verifyReceipt(
                Self.receipt.signed(by: authority.reissued(shape)))
        } throws: {
            error in
            (error as? VerificationError)?.code == .missingLeafMarker
        }
    }

    @Test func `an authority can have elliptic curves`() throws {
        let authority = try TestCertificateAuthority(.ellipticCurve)
        #expect(!authority.leaf.key.isRSA)
        #expect(authority.certificates.allSatisfy { $0.count < 800 })
        _ = try authority.trustAnchor
    }

    @Test func `what cannot be made is an error`() throws {
        #expect(throws: MintingError.unsuitableKey) { try SigningKey(generating: .rsa(bits: 128)) }
        #expect(throws: MintingError.unsuitableKey) {
            try SigningKey(generating: .rsa(bits: 2048, publicExponent: 4))
        }
        var shape = TestCertificateAuthority.Shape()
        shape.leaf.notAfter = Instant(millisecondsSince1970: 1)
        #expect(throws: MintingError.inexpressibleValue) { try Minted.authority.reissued(shape) }
        let garbled = SigningIdentity(certificate: [0x30, 0x00], key: try Minted.authority.leaf.key)
        #expect(throws: MintingError.malformedCertificate) {
            try SignedDataBuilder(content: [], certificates: nil, signers: [.init(garbled)]).encoded()
        }
        #expect(throws: MintingError.unsuitableKey) {
            try SigningKey(generating: .p256).signatureAlgorithm(.md5)
        }
    }
}
