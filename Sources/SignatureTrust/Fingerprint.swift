import LibcryptoHandles

/// The SHA-256 of a certificate's DER, or of signed content.
public struct Fingerprint: Hashable, Sendable {
    private let words: SIMD4<UInt64>

    /// Computes the fingerprint of bytes.
    ///
    /// - Parameter bytes: The bytes.
    /// - Throws: A host error if libcrypto on this host does not compute SHA-256.
    public init(of bytes: Span<UInt8>) throws(SignatureTrustError) {
        words = try SignatureTrustError.calling { () throws(LibcryptoError) in
            try DigestAlgorithm.sha256.digest(of: bytes).withBytes { Self.words($0) }
        }
    }

    /// Creates a fingerprint from 64 hexadecimal digits, with or without colons between the bytes; returns `nil` for anything else.
    public init?(hex: String) {
        let text = Array(hex.utf8)
        guard text.count == 64 || text.count == 95 else { return nil }
        let stride = text.count == 64 ? 2 : 3
        var bytes: [UInt8] = []
        for index in 0..<32 {
            let start = index * stride
            guard stride == 2 || index == 0 || text[start - 1] == UInt8(ascii: ":"),
                let high = Character(Unicode.Scalar(text[start])).hexDigitValue,
                let low = Character(Unicode.Scalar(text[start + 1])).hexDigitValue
            else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
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
    /// The fingerprint as 64 lowercase hexadecimal digits.
    public var description: String {
        var digits: [UInt8] = []
        for octet in bytes {
            for nibble in [octet >> 4, octet & 0xF] { digits.append(nibble < 10 ? nibble + 0x30 : nibble + 0x57) }
        }
        return String(decoding: digits, as: UTF8.self)
    }
}
