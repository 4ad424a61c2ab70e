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
