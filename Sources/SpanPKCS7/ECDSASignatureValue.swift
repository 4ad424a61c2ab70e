public import SpanASN1

/// The two encodings of an ECDSA signature on P-256: libcrypto's, `ECDSA-Sig-Value ::= SEQUENCE { r INTEGER, s INTEGER
/// }` (RFC 3279, 2.2.3), and that of JSON Web Signatures, which is r and s with 32 bytes each (RFC 7518, 3.4).
@_spi(Surfaces)
public enum ECDSASignatureValue {
    /// - Parameter signature: r and s; 64 bytes.
    public static func encoded(fixedLength signature: Span<UInt8>) -> [UInt8] {
        ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                writer.writeInteger(magnitude: signature.extracting(first: 32))
                writer.writeInteger(magnitude: signature.extracting(droppingFirst: 32))
            }
        }
    }

    /// - Throws: An error of the syntax; `integer-out-of-range` for numbers that are not below 2^256.
    public static func fixedLength(_ encoded: Span<UInt8>) throws(ASN1DecodingError) -> [UInt8] {
        try ASN1Cursor.decode(encoded) { (input) throws(ASN1DecodingError) in
            try input.read(.sequence) { (fields) throws(ASN1DecodingError) in
                var signature: [UInt8] = []
                for _ in 0..<2 {
                    let integer = try fields.read(.integer)
                    let number = [UInt8](copying: try integer.unsignedIntegerBytes())
                    guard number.count <= 32 else { throw integer.error(.integerOutOfRange) }
                    signature += [UInt8](repeating: 0, count: 32 - number.count) + number
                }
                return signature
            }
        }
    }
}
