import LibcryptoHandles
import TestSupport
import Testing

struct PublicKeyTests {
    @Test func `a key says what it is`() throws {
        let rsa = try TestKeys.leaf.get().publicKey
        #expect(rsa.kind == .rsa)
        #expect(rsa.bits == 2048)
        for (key, curve, bits) in [
            (TestKeys.p256, PublicKey.Curve.p256, 256), (TestKeys.p384, .p384, 384), (TestKeys.p521, .p521, 521),
        ] {
            let key = try key.get().publicKey
            #expect(key.kind == .ec(curve))
            #expect(key.bits == bits)
        }
        #expect(LibcryptoError.isQueueEmpty)
    }

    @Test func `a key reads back as it was written`() throws {
        for key in [TestKeys.leaf, TestKeys.p256, TestKeys.p384, TestKeys.p521] {
            let key = try key.get().publicKey
            let info = try key.subjectPublicKeyInfo()
            let copy = try PublicKey(info)
            #expect(copy.kind == key.kind)
            #expect(copy.bits == key.bits)
            #expect(try copy.subjectPublicKeyInfo() == info)
        }
    }

    /// P-256's parameters written out (RFC 3279, 2.3.5), with its generator as the public point.
    @Test func `a curve given by explicit parameters is no curve we know`() throws {
        let order = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
        let prime = "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff"
        let generator =
            "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
            + "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"
        let parameters = DER.sequence(
            [2, 1, 1],
            DER.sequence([6, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 1, 1], DER.element(2, [0], hex(prime))),
            DER.sequence(
                DER.element(4, hex("ffffffff00000001000000000000000000000000fffffffffffffffffffffffc")),
                DER.element(4, hex("5ac635d8aa3a93e7b3ebbd55769886bc651d06b0cc53b0f63bce3c3e27d2604b"))),
            DER.element(4, hex(generator)), DER.element(2, [0], hex(order)), [2, 1, 1])
        let algorithm = DER.sequence([6, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1], parameters)
        let key = try PublicKey(DER.sequence(algorithm, DER.element(3, [0], hex(generator))))
        #expect(key.kind == .ec(.other))
        #expect(LibcryptoError.isQueueEmpty)
    }

    @Test func `keys of other algorithms are other`() throws {
        let secp256k1 =
            "3056301006072a8648ce3d020106052b8104000a03420004"
            + "79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"
            + "483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8"
        #expect(try PublicKey(hex(secp256k1)).kind == .ec(.other))
        // RFC 8410, 10.1
        let ed25519 = "302a300506032b657003210019bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1"
        #expect(try PublicKey(hex(ed25519)).kind == .other)
    }

    @Test func `a key for PSS verifies nothing else`() throws {
        let pair = try TestKeys.leaf.get()
        let info = try pair.publicKey.subjectPublicKeyInfo()
        // The same key (RFC 8017, A.1.1) under `id-RSASSA-PSS`.
        let algorithm = DER.sequence([6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 10])
        let key = try PublicKey(DER.sequence(algorithm, Array(info.dropFirst(19))))
        #expect(key.kind == .rsaPSS)
        let digest = try DigestAlgorithm.sha256.digest("signed")
        let scheme = SignatureScheme.pss(saltLength: 32, mgf1: .sha256)
        #expect(try key.verify(pair.sign(digest, scheme: scheme), digest, scheme))
        expectError(.unsuitableKey) { try key.verify([1], digest, .pkcs1) }
        expectError(.unsuitableKey) { try key.recover([1], .sha256) }
    }

    /// RFC 4055, 3.1 and 3.3
    @Test func `a key for PSS with its own digest and salt verifies with no other and no shorter one`() throws {
        let pair = try TestKeys.leaf.get()
        let info = try pair.publicKey.subjectPublicKeyInfo()
        let sha256 = DER.sequence([6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1])
        let mgf1 = DER.sequence([6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 8], sha256)
        let algorithm = DER.sequence(
            [6, 9, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 1, 1, 10],
            DER.sequence(DER.element(0xA0, sha256), DER.element(0xA1, mgf1), DER.element(0xA2, [2, 1, 32])))
        let key = try PublicKey(DER.sequence(algorithm, Array(info.dropFirst(19))))
        let rows: [(digest: DigestAlgorithm, saltLength: Int, mgf1: DigestAlgorithm, LibcryptoError.Kind?)] = [
            (.sha256, 32, .sha256, nil), (.sha384, 32, .sha256, .algorithmUnavailable),
            (.sha256, 31, .sha256, .operationFailed), (.sha256, 32, .sha1, .operationFailed),
        ]
        for row in rows {
            let digest = try row.digest.digest("signed")
            let scheme = SignatureScheme.pss(saltLength: row.saltLength, mgf1: row.mgf1)
            let signature = try pair.sign(digest, scheme: scheme)
            if let kind = row.3 {
                expectError(kind) { try key.verify(signature, digest, scheme) }
            } else {
                #expect(try key.verify(signature, digest, scheme))
            }
        }
    }

    @Test func `what is not a whole key is refused`() throws {
        let info = try TestKeys.leaf.get().publicKey.subjectPublicKeyInfo()
        for count in [0, 1, 2, 20, 30, info.count - 1] {
            expectError(.malformedKey) { try PublicKey(Array(info.prefix(count))) }
        }
        expectError(.malformedKey) { try PublicKey(info + [0]) }
        expectError(.malformedKey) { try PublicKey([0x30, 0x80]) }
        expectError(.malformedKey) { try PublicKey([0x30, 0x88] + [UInt8](repeating: 0xFF, count: 8)) }
        expectError(.malformedKey) { try PublicKey([UInt8](repeating: 0, count: 300)) }
        // An algorithm nobody knows.
        expectError(.malformedKey) { try PublicKey(hex("300c300506032a030403030000aa")) }
    }
}
