import LibcryptoHandles
import SpanASN1
import SpanPKCS7

/// An ECDSA signature with P-256 and SHA-256 in the format of JSON Web Signatures: r and s, 32 bytes each (RFC 7518, 3.4).
package struct ES256Signature: ~Escapable {
    private let bytes: Span<UInt8>

    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    func verify(of signed: Span<UInt8>, key: PublicKey, certificate: Certificate) throws(SignatureTrustError) {
        guard key.kind == .ec(.p256) else {
            throw SignatureTrustError(.unsupportedKey, offset: certificate.subjectPublicKeyInfo.element.offset)
        }
        guard bytes.count == 64 else { throw SignatureTrustError(.invalidSignature) }
        let encoded = encodedSignatureValue
        let isValid = try SignatureTrustError.calling { () throws(LibcryptoError) in
            try key.verify(signature: encoded.span, digest: DigestAlgorithm.sha256.digest(of: signed), scheme: .ecdsa)
        }
        guard isValid else { throw SignatureTrustError(.invalidSignature) }
    }

    /// `ECDSA-Sig-Value ::= SEQUENCE { r INTEGER, s INTEGER }` (RFC 3279, 2.2.3), the format of libcrypto.
    private var encodedSignatureValue: [UInt8] {
        ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                for half in 0..<2 { writer.write(.integer, content: integer(half * 32).span) }
            }
        }
    }

    /// The content of the INTEGER for the unsigned number in the 32 bytes from `start`.
    private func integer(_ start: Int) -> [UInt8] {
        var first = start
        while first < start + 31, bytes[first] == 0 { first += 1 }
        return [UInt8](capacity: 33) { output in
            if bytes[first] & 0x80 != 0 { output.append(0) }
            for index in first..<start + 32 { output.append(bytes[index]) }
        }
    }
}
