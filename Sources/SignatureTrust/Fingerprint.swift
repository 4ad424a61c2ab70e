import LibcryptoHandles
import SpanASN1

/// The SHA-256 of a certificate's DER, or of signed content.
public struct Fingerprint: Hashable, Sendable {
    private let words: SIMD4<UInt64>

    /// Computes the fingerprint of bytes.
    ///
    /// - Parameter bytes: The bytes.
    /// - Throws: A host error if libcrypto on this host does not compute SHA-256.
    package init(of bytes: Span<UInt8>) throws(SignatureTrustError) {
        words = try SignatureTrustError.calling { () throws(LibcryptoError) in
            try DigestAlgorithm.sha256.digest(of: bytes).withBytes { Self.words($0) }
        }
    }

    /// Creates a fingerprint from 64 hexadecimal digits, with or without colons between the bytes; returns `nil` for
    /// anything else.
    public init?(_ description: String) {
        var digits = Array(description.utf8)
        if digits.count == 95 {
            guard stride(from: 2, to: 95, by: 3).allSatisfy({ digits[$0] == UInt8(ascii: ":") }) else { return nil }
            digits = digits.indices.compactMap { $0 % 3 == 2 ? nil : digits[$0] }
        }
        guard let bytes = Hexadecimal.bytes(digits), bytes.count == 32 else { return nil }
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

extension Fingerprint: LosslessStringConvertible {
    /// The fingerprint as 64 lowercase hexadecimal digits.
    public var description: String { Hexadecimal.text(bytes.span) }
}

extension Fingerprint: Codable {
    /// Decodes the fingerprint from its digits.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let fingerprint = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not 64 hexadecimal digits")
        }
        self = fingerprint
    }

    /// Encodes the fingerprint as 64 lowercase hexadecimal digits.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
