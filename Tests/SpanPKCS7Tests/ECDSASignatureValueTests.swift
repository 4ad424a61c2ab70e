import SpanASN1
import Testing

@_spi(Surfaces) import SpanPKCS7

@Suite struct ECDSASignatureValueTests {
    private func encoded(_ numbers: [[UInt8]]) -> [UInt8] {
        ASN1Writer.encode { writer in
            writer.write(.sequence) { writer in
                for number in numbers { writer.writeInteger(magnitude: number.span) }
            }
        }
    }

    @Test func `both encodings have the same numbers`() throws {
        let fixed = [UInt8](repeating: 0, count: 31) + [1] + [UInt8](repeating: 0xFF, count: 32)
        let encoded = ECDSASignatureValue.encoded(fixedLength: fixed.span)
        #expect(encoded == self.encoded([[1], [UInt8](repeating: 0xFF, count: 32)]))
        #expect(try ECDSASignatureValue.fixedLength(encoded.span) == fixed)
    }

    @Test func `a number has at most 32 octets`() {
        let tooLong = encoded([[1], [1] + [UInt8](repeating: 0, count: 32)])
        let error = #expect(throws: ASN1DecodingError.self) { try ECDSASignatureValue.fixedLength(tooLong.span) }
        #expect(error?.kind == .integerOutOfRange)
    }
}
