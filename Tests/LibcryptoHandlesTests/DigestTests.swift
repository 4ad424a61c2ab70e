import LibcryptoHandles
import TestSupport
import Testing

struct DigestTests {
    /// FIPS 180-4's example message, and the empty one.
    @Test(arguments: [
        (DigestAlgorithm.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (.sha224, "abc", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
        (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            .sha384, "abc",
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
        ),
        (
            .sha512, "abc",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        ),
        (.sha1, "", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ])
    func `a digest is the published one`(algorithm: DigestAlgorithm, message: String, expected: String) throws {
        let digest = try algorithm.digest(message)
        #expect(hex(digest.bytes) == expected)
        #expect(digest.algorithm == algorithm)
        #expect(digest.count == algorithm.byteCount)
        let seen = digest.withBytes { span in span.indices.map { span[$0] } }
        #expect(seen == digest.bytes)
        #expect(DigestValue(algorithm, hex(expected)) == digest)
    }

    /// RFC 2202, 3, and RFC 4231, 4.3: the second case of each.
    @Test(arguments: [
        (DigestAlgorithm.sha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        (.sha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
    ])
    func `an authentication code is the published one`(algorithm: DigestAlgorithm, expected: String) throws {
        let (message, key) = (Array("what do ya want for nothing?".utf8), Array("Jefe".utf8))
        let code = try algorithm.authenticationCode(of: message.span, key: key.span)
        #expect(hex(code.bytes) == expected && code.algorithm == algorithm)
    }

    @Test(arguments: DigestAlgorithm.allCases)
    func `the digest of pieces is that of the whole, and more may follow`(algorithm: DigestAlgorithm) throws {
        var stream = try DigestStream(algorithm)
        var text = ""
        for piece in ["", "a", "bc", String(repeating: "d", count: 1000)] {
            try stream.update(Array(piece.utf8).span)
            text += piece
            #expect(try stream.value() == algorithm.digest(text))
        }
    }

    @Test func `a digest of another length is none`() {
        for algorithm in DigestAlgorithm.allCases {
            for count in [0, algorithm.byteCount - 1, algorithm.byteCount + 1, 1000] {
                #expect(DigestValue(algorithm, [UInt8](repeating: 0, count: count)) == nil)
            }
        }
    }

    @Test func `equal bytes of another algorithm are another digest`() throws {
        let one = try #require(DigestValue(.sha1, [UInt8](repeating: 0, count: 20)))
        let other = try #require(DigestValue(.sha224, [UInt8](repeating: 0, count: 28)))
        #expect(one != other)
    }
}
