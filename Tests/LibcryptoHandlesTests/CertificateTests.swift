import AppStoreReceiptTesting
import LibcryptoHandles
import TestSupport
import Testing

struct CertificateTests {
    @Test func `a certificate is signed by the one whose key signed it, whatever its names say`() throws {
        let chain = TestChain()
        let (root, intermediate, leaf) = try (
            chain.rootCertificate(), chain.intermediateCertificate(), chain.leafCertificate()
        )
        #expect(try leaf.isSigned(by: intermediate) && intermediate.isSigned(by: root) && root.isSigned(by: root))
        #expect(try !leaf.isSigned(by: root) && !leaf.isSigned(by: leaf))
        #expect(try leaf.mayBeIssued(by: intermediate) && !leaf.mayBeIssued(by: root))
        #expect(try root.isSelfIssued && !intermediate.isSelfIssued && !leaf.isSelfIssued)
        // The same name, another key; and a key that may not sign certificates.
        var impostor = chain.intermediate
        impostor.extensions = [CertificateRequest.digitalSignature]
        let other = try CertificateHandle(
            impostor.der(signedBy: TestKeys.root.get(), for: TestKeys.p256.get().publicKey))
        let same = try CertificateHandle(
            impostor.der(signedBy: TestKeys.root.get(), for: TestKeys.stranger.get().publicKey))
        #expect(try !leaf.mayBeIssued(by: other))
        #expect(try leaf.mayBeIssued(by: same))
        #expect(try !leaf.isSigned(by: other) && !leaf.isSigned(by: same))
        #expect(LibcryptoError.isQueueEmpty)
    }

    @Test func `what is not a whole certificate is refused`() throws {
        let der = try TestChain().leafDER()
        for count in [0, 1, 2, 100, der.count - 1] {
            expectError(.malformedCertificate) { try CertificateHandle(Array(der.prefix(count))) }
        }
        expectError(.malformedCertificate) { try CertificateHandle(der + [0]) }
        expectError(.malformedCertificate) { try CertificateHandle([0x30, 0x80, 0, 0]) }
        expectError(.malformedCertificate) { try CertificateHandle([UInt8](repeating: 0x30, count: 100_000)) }
        expectError(.malformedCertificate) {
            try CertificateHandle((0..<100_000).map { $0.isMultiple(of: 2) ? 0x30 : 0x80 })
        }
    }

    @Test func `a certificate whose key is unreadable has signed nothing`() throws {
        let der = try TestChain().leafDER()
        let info = try TestKeys.leaf.get().publicKey.subjectPublicKeyInfo()
        let start = try #require((0..<der.count - info.count).first { Array(der[$0..<$0 + info.count]) == info })
        var altered = der
        // The tag of the modulus (RFC 8017, A.1.1), after the header of the BIT STRING.
        altered[start + 28] = 0x04
        let certificate = try CertificateHandle(altered)
        #expect(try !certificate.isSigned(by: certificate))
        #expect(LibcryptoError.isQueueEmpty)
        expectError(.operationFailed) { try certificate.isSelfIssued }
    }

    @Test func `any altered certificate is either read or malformed`() throws {
        var generator = SeededGenerator()
        let request = TestChain().leaf
        for key in [TestKeys.leaf, TestKeys.p256] {
            let der = try request.der(signedBy: TestKeys.intermediate.get(), for: key.get().publicKey)
            for _ in 0..<2000 {
                var altered = der
                for _ in 0..<Int.random(in: 1...3, using: &generator) {
                    altered[Int.random(in: altered.indices, using: &generator)] = .random(
                        in: 0...255, using: &generator)
                }
                do {
                    let certificate = try CertificateHandle(altered)
                    _ = try certificate.isSigned(by: certificate)
                } catch let error as LibcryptoError {
                    #expect(error.kind == .malformedCertificate, "\(hex(altered))")
                }
                #expect(LibcryptoError.isQueueEmpty)
            }
        }
    }

    @Test func `what is not a whole revocation list is refused`() throws {
        for wrong in [[], [0], [0x30, 0], try TestChain().leafDER()] {
            expectError(.malformedRevocationList) { try RevocationList(wrong) }
        }
    }
}
