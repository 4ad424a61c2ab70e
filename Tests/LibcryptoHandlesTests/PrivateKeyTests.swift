import LibcryptoHandles
import Testing

struct PrivateKeyTests {
    @Test func `a private key reads back as it was written`() throws {
        for key in [TestKeys.leaf, TestKeys.p256, TestKeys.p384, TestKeys.p521] {
            let key = try key.get()
            let der = try key.pkcs8DER()
            let pem = try key.pkcs8PEM()
            #expect(String(decoding: pem, as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
            #expect(try PrivateKey.der(der).pkcs8DER() == der)
            #expect(try PrivateKey.pem(pem).pkcs8DER() == der)
            #expect(try PrivateKey.pem(pem).publicKey.subjectPublicKeyInfo() == key.publicKey.subjectPublicKeyInfo())
            #expect(LibcryptoError.isQueueEmpty)
        }
    }

    @Test func `a stored key signs the same bytes again`() throws {
        let key = try TestKeys.leaf.get()
        let copy = try PrivateKey.der(key.pkcs8DER())
        let digest = try DigestAlgorithm.sha1.digest("signed")
        #expect(try key.sign(digest, scheme: .pkcs1) == copy.sign(digest, scheme: .pkcs1))
        let unsalted = SignatureScheme.pss(saltLength: 0, mgf1: .sha1)
        #expect(try key.sign(digest, scheme: unsalted) == copy.sign(digest, scheme: unsalted))
    }

    @Test func `a key has the size that was asked for, and impossible ones are refused`() throws {
        for bits in [512, 1024, 1536] { #expect(try PrivateKey.generateRSA(bits: bits).publicKey.bits == bits) }
        for bits in [Int.min, -1, 0, 511, 16385, Int.max] {
            expectError(.unsuitableKey) { try PrivateKey.generateRSA(bits: bits) }
        }
        for exponent: UInt64 in [0, 1, 2, 65536] {
            expectError(.unsuitableKey) { try PrivateKey.generateRSA(bits: 1024, publicExponent: exponent) }
        }
        expectError(.unsuitableKey) { try PrivateKey.generateEC(.other) }
    }

    @Test func `what is not a private key is refused`() throws {
        let key = try TestKeys.p256.get()
        let der = try key.pkcs8DER()
        for wrong in [[], [0], Array(der.dropLast()), der + [0], try key.publicKey.subjectPublicKeyInfo()] {
            expectError(.malformedKey) { try PrivateKey.der(wrong) }
        }
        let pem = try key.pkcs8PEM()
        for wrong in [[], [0], Array("-----BEGIN PRIVATE KEY-----\n".utf8), Array(pem.dropLast(30)), der] {
            expectError(.malformedKey) { try PrivateKey.pem(wrong) }
        }
    }

    @Test func `a key on P-256 is made of its number, which is overwritten`() throws {
        // RFC 6979, A.2.5
        let number = hex("C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721")
        let point =
            hex("0460FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6")
            + hex("7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299")
        var bytes = number
        let key = try PrivateKey(erasingP256: &bytes)
        #expect(bytes == [UInt8](repeating: 0, count: 32))
        #expect(key.publicKey.kind == .ec(.p256))
        #expect(try key.publicKey.subjectPublicKeyInfo().suffix(65) == point[...])
        let digest = try DigestAlgorithm.sha256.digest("sample")
        #expect(try key.publicKey.verify(key.sign(digest, scheme: .ecdsa), digest, .ecdsa))
        // Leading zeros may be missing.
        var one: [UInt8] = [1]
        #expect(try PrivateKey(erasingP256: &one).publicKey.kind == .ec(.p256))
    }

    @Test func `a number that is no key on P-256 is refused, and overwritten`() {
        let order = hex("FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551")
        for wrong in [
            [], [0], order, [UInt8](repeating: 0xFF, count: 32), [1] + order, [UInt8](repeating: 1, count: 33),
            [0] + [UInt8](repeating: 1, count: 32),
        ] {
            var bytes = wrong
            expectError(.malformedKey) { try PrivateKey(erasingP256: &bytes) }
            #expect(bytes == [UInt8](repeating: 0, count: wrong.count))
        }
    }

    private func hex(_ text: String) -> [UInt8] {
        stride(from: 0, to: text.count, by: 2).compactMap { UInt8(text.dropFirst($0).prefix(2), radix: 16) }
    }

    /// `openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 | openssl pkcs8 -topk8 -passout pass:x`
    @Test func `an encrypted key is refused without asking for a passphrase`() {
        expectError(.malformedKey) { try PrivateKey.pem(Array(encryptedKey.utf8)) }
    }

    @Test func `one private key serves many threads`() async throws {
        let key = try TestKeys.leaf.get()
        let digest = try DigestAlgorithm.sha256.digest("signed")
        let expected = try key.sign(digest, scheme: .pkcs1)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask { try (0..<10).allSatisfy { _ in try key.sign(digest, scheme: .pkcs1) == expected } }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }
}

private let encryptedKey = """
    -----BEGIN ENCRYPTED PRIVATE KEY-----
    MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAh21Gto+Xt/dwICCAAw
    DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEF2HX5gWsljC1hufOqJNFcsEgZAw
    ru1ApnX8pV8UOOc6TAY680idMK7u5ymkhIob5GOSHZCi8CTmXFA4ZkB6tdrqjQ9V
    iINf0MeSobxSITMNUSiFDRQiWlU+KxLlFpHpWj2W1sFDKW35CAIDk//XMgEMRo2s
    kXjreyC3LNQi3T0kqjAxrUtIv6icSCZ5NsjuzuJ9Dd/U7WpvOyLCOlV4Cza+RJE=
    -----END ENCRYPTED PRIVATE KEY-----

    """
