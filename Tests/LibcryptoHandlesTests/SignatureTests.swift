import AppStoreReceiptTesting
import LibcryptoHandles
import SignatureTrust
import Testing

#if canImport(Glibc)
import Glibc
#endif

struct SignatureTests {
    /// Every digest with every scheme, each with a key for it.
    static let combinations: [(DigestAlgorithm, SignatureScheme, Result<PrivateKey, any Error>)] =
        DigestAlgorithm.allCases.flatMap { algorithm in
            [
                (algorithm, .pkcs1, TestKeys.leaf),
                (algorithm, .pss(saltLength: algorithm.byteCount, mgf1: algorithm), TestKeys.leaf),
                (algorithm, .pss(saltLength: 0, mgf1: .sha1), TestKeys.leaf),
                (algorithm, .ecdsa, TestKeys.p256),
                (algorithm, .ecdsa, TestKeys.p384),
                (algorithm, .ecdsa, TestKeys.p521),
            ]
        }

    @Test func `a signature verifies, and with any bit changed it does not`() throws {
        for (algorithm, scheme, key) in Self.combinations {
            let key = try key.get()
            let digest = try algorithm.digest("signed")
            let signature = try key.sign(digest, scheme: scheme)
            #expect(try key.publicKey.verify(signature, digest, scheme))
            #expect(try !key.publicKey.verify(signature, algorithm.digest("altered"), scheme))
            for index in signature.indices {
                var altered = signature
                altered[index] ^= 0x10
                #expect(try !key.publicKey.verify(altered, digest, scheme))
            }
            #expect(LibcryptoError.isQueueEmpty)
            #expect(try key.publicKey.verify(signature, digest, scheme))
        }
    }

    @Test func `a signature of the wrong length is wrong, not an error`() throws {
        for (algorithm, scheme, key) in Self.combinations {
            let key = try key.get()
            let digest = try algorithm.digest("signed")
            let signature = try key.sign(digest, scheme: scheme)
            for wrong in [
                [], [0], Array(signature.dropLast()), signature + [0], [0] + signature, signature + signature,
            ] {
                #expect(try !key.publicKey.verify(wrong, digest, scheme))
                #expect(LibcryptoError.isQueueEmpty)
            }
        }
    }

    #if canImport(Glibc)
    /// libcrypto narrows the length of an ECDSA signature to 32 bits.
    @Test func `a signature with 4 GiB behind it is wrong`() throws {
        let key = try TestKeys.p256.get()
        let digest = try DigestAlgorithm.sha256.digest("signed")
        let signature = try key.sign(digest, scheme: .ecdsa)
        let count = 1 << 32 + signature.count
        // Zeros that take no memory until they are written.
        let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
        guard let memory = unsafe mmap(nil, count, PROT_READ | PROT_WRITE, flags, -1, 0), unsafe memory != MAP_FAILED
        else {
            Issue.record("no address space for 4 GiB")
            return
        }
        defer { unsafe munmap(memory, count) }
        unsafe memory.copyMemory(from: signature, byteCount: signature.count)
        let bytes = unsafe UnsafeBufferPointer(start: memory.assumingMemoryBound(to: UInt8.self), count: count)
        let longer = unsafe Span(_unsafeElements: bytes)
        #expect(try key.publicKey.verify(signature, digest, .ecdsa))
        #expect(try !key.publicKey.verify(signature: longer, digest: digest, scheme: .ecdsa))
    }
    #endif

    @Test func `the digest and the scheme must be those that were signed`() throws {
        let key = try TestKeys.leaf.get()
        let signature = try key.sign(DigestAlgorithm.sha256.digest("signed"), scheme: .pkcs1)
        for algorithm in DigestAlgorithm.allCases where algorithm != .sha256 {
            #expect(try !key.publicKey.verify(signature, algorithm.digest("signed"), .pkcs1))
        }
        let digest = try DigestAlgorithm.sha256.digest("signed")
        #expect(try !key.publicKey.verify(signature, digest, .pss(saltLength: 32, mgf1: .sha256)))
        let salted = try key.sign(digest, scheme: .pss(saltLength: 32, mgf1: .sha256))
        #expect(try !key.publicKey.verify(salted, digest, .pss(saltLength: 20, mgf1: .sha256)))
        #expect(try !key.publicKey.verify(salted, digest, .pss(saltLength: 32, mgf1: .sha1)))
        #expect(LibcryptoError.isQueueEmpty)
    }

    @Test func `a scheme that does not go with the key is refused`() throws {
        let digest = try DigestAlgorithm.sha256.digest("signed")
        let rsa = try TestKeys.leaf.get()
        let ec = try TestKeys.p256.get()
        expectError(.unsuitableKey) { try rsa.sign(digest, scheme: .ecdsa) }
        expectError(.unsuitableKey) { try rsa.publicKey.verify([1], digest, .ecdsa) }
        expectError(.unsuitableKey) { try ec.sign(digest, scheme: .pkcs1) }
        expectError(.unsuitableKey) { try ec.publicKey.verify([1], digest, .pkcs1) }
        expectError(.unsuitableKey) { try ec.publicKey.verify([1], digest, .pss(saltLength: 32, mgf1: .sha256)) }
        expectError(.unsuitableKey) { try ec.publicKey.recover([1], .sha256) }
    }

    /// libcrypto reads -1, -2 and -3 as "the digest's", "any" and "the largest".
    @Test(arguments: [-1, -2, -3, Int.min, Int.max, Int(Int32.max) + 1])
    func `a salt length that is no length is refused`(saltLength: Int) throws {
        let digest = try DigestAlgorithm.sha256.digest("signed")
        let key = try TestKeys.leaf.get().publicKey
        expectError(.operationFailed) { try key.verify([1], digest, .pss(saltLength: saltLength, mgf1: .sha256)) }
    }

    @Test func `a salt longer than the key allows verifies nothing`() throws {
        let digest = try DigestAlgorithm.sha256.digest("signed")
        let key = try TestKeys.leaf.get()
        let signature = try key.sign(digest, scheme: .pkcs1)
        for saltLength in [223, 256, Int(Int32.max)] {
            #expect(try !key.publicKey.verify(signature, digest, .pss(saltLength: saltLength, mgf1: .sha256)))
            #expect(LibcryptoError.isQueueEmpty)
        }
    }

    @Test func `the digest is recovered from a PKCS1 signature, and from nothing else`() throws {
        let key = try TestKeys.leaf.get()
        for algorithm in DigestAlgorithm.allCases {
            let digest = try algorithm.digest("signed")
            let signature = try key.sign(digest, scheme: .pkcs1)
            #expect(try key.publicKey.recover(signature, algorithm) == digest)
            for other in DigestAlgorithm.allCases where other != algorithm {
                #expect(try key.publicKey.recover(signature, other) == nil)
            }
            #expect(try TestKeys.root.get().publicKey.recover(signature, algorithm) == nil)
            for wrong in [[], [0], Array(signature.dropLast()), signature + [0], signature.map { $0 ^ 1 }] {
                #expect(try key.publicKey.recover(wrong, algorithm) == nil)
            }
            let salted = try key.sign(digest, scheme: .pss(saltLength: 20, mgf1: .sha1))
            #expect(try key.publicKey.recover(salted, algorithm) == nil)
        }
        #expect(LibcryptoError.isQueueEmpty)
    }

    /// Its key has as many bytes as the digest.
    @Test func `no digest is recovered from a signature of 512 bits that is none`() throws {
        let key = try PrivateKey.generateRSA(bits: 512).publicKey
        #expect(try key.recover([UInt8](repeating: 1, count: 64), .sha512) == nil)
    }

    @Test func `a DigestInfo of the caller's own is signed as it is`() throws {
        let key = try TestKeys.leaf.get()
        let digest = try DigestAlgorithm.sha256.digest("signed")
        let algorithm = DER.sequence([6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 1], [5, 0])
        let info = DER.sequence(algorithm, DER.element(4, digest.bytes))
        let signature = try key.signPKCS1(digestInfo: info.span)
        #expect(try signature == key.sign(digest, scheme: .pkcs1))

        let md5 = try SignatureDigest.md5.digest(of: Array("signed".utf8))
        let weak = DER.sequence(
            DER.sequence([6, 8, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 2, 5], [5, 0]), DER.element(4, md5))
        let weakSignature = try key.signPKCS1(digestInfo: weak.span)
        for algorithm in DigestAlgorithm.allCases {
            #expect(try !key.publicKey.verify(weakSignature, algorithm.digest("signed"), .pkcs1))
        }
        expectError(.operationFailed) { try key.signPKCS1(digestInfo: [UInt8](repeating: 0, count: 256).span) }
    }

    @Test func `one key serves many threads`() async throws {
        let key = try TestKeys.leaf.get()
        let cases = try DigestAlgorithm.allCases.flatMap { algorithm in
            try [SignatureScheme.pkcs1, .pss(saltLength: 20, mgf1: .sha256)].map { scheme in
                let digest = try algorithm.digest("signed")
                return (digest, scheme, try key.sign(digest, scheme: scheme))
            }
        }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for task in 0..<8 {
                group.addTask {
                    var isRight = true
                    for round in 0..<200 {
                        let (digest, scheme, signature) = cases[(round + task) % cases.count]
                        var altered = signature
                        altered[round % altered.count] ^= 1
                        if try !key.publicKey.verify(signature, digest, scheme) { isRight = false }
                        if try key.publicKey.verify(altered, digest, scheme) { isRight = false }
                        if !LibcryptoError.isQueueEmpty { isRight = false }
                    }
                    return isRight
                }
            }
            for try await isRight in group { #expect(isRight) }
        }
    }
}
