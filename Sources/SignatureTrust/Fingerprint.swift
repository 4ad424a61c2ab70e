import LibcryptoHandles

/// The SHA-256 digest of some bytes: of a certificate's DER, or of a signed content.
public struct Fingerprint: Hashable, Sendable {
    private let words: SIMD4<UInt64>

    /// - Throws: a host error: this libcrypto does not compute SHA-256.
    public init(of bytes: Span<UInt8>) throws(SignatureTrustError) {
        words = try SignatureTrustError.calling { () throws(LibcryptoError) in
            try DigestAlgorithm.sha256.digest(of: bytes).withBytes { Self.words($0) }
        }
    }

    /// From 64 hexadecimal digits, with colons between the bytes or not; `nil` for anything else.
    public init?(hex: String) {
        var bytes: [UInt8] = []
        var high: UInt8?
        for character in hex where character != ":" {
            guard character.isASCII, let digit = character.hexDigitValue else { return nil }
            if let first = high {
                bytes.append(first << 4 | UInt8(digit))
                high = nil
            } else {
                high = UInt8(digit)
            }
        }
        guard high == nil, bytes.count == 32 else { return nil }
        words = Self.words(bytes.span)
    }

    private static func words(_ bytes: Span<UInt8>) -> SIMD4<UInt64> {
        var words = SIMD4<UInt64>()
        for index in bytes.indices { words[index / 8] = words[index / 8] << 8 | UInt64(bytes[index]) }
        return words
    }

    /// The 32 bytes of the digest.
    public var bytes: [UInt8] {
        (0..<32).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> UInt64(56 - $0 % 8 * 8)) }
    }
}

extension Fingerprint: CustomStringConvertible {
    /// 64 lower-case hexadecimal digits.
    public var description: String {
        var digits: [UInt8] = []
        for octet in bytes {
            for nibble in [octet >> 4, octet & 0xF] { digits.append(nibble < 10 ? nibble + 0x30 : nibble + 0x57) }
        }
        return String(decoding: digits, as: UTF8.self)
    }
}
