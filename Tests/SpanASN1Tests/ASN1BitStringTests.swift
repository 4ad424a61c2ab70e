import SpanASN1
import TestSupport
import Testing

@Suite struct ASN1BitStringTests {
    private func bits(_ text: String, _ relaxations: ASN1Relaxations = []) -> Result<String, Kind> {
        outcome(hex(text), relaxations) { (element) throws(ASN1DecodingError) in
            let bits = try element.bitString()
            return (0..<bits.count).map { bits[bit: $0] ? "1" : "0" }.joined()
        }
    }

    @Test(arguments: [
        ("03 01 00", ""), ("03 02 00 A5", "10100101"), ("03 02 07 80", "1"), ("03 02 05 A0", "101"),
        ("03 03 04 FF F0", "111111111111"),
    ])
    func `a BIT STRING counts from the highest bit of the first octet`(row: (String, String)) {
        #expect(bits(row.0) == .success(row.1))
    }

    @Test(arguments: ["03 00", "03 01 01", "03 01 07", "03 02 08 00", "03 02 FF 00", "03 02 01 01", "03 02 07 C0"])
    func `unused bits are at most 7, of an octet, and zero`(text: String) {
        #expect(bits(text) == .failure(.invalidBitString))
    }

    @Test func `a relaxation ignores what unused bits are`() {
        #expect(bits("03 02 07 FF", .nonZeroUnusedBits) == .success("1"))
        #expect(bits("03 02 08 FF", .nonZeroUnusedBits) == .failure(.invalidBitString))
        #expect(bits("03 01 01", .nonZeroUnusedBits) == .failure(.invalidBitString))
    }

    @Test func `a bit beyond the end is not set`() {
        let far = outcome(hex("03 02 01 FE")) { (element) throws(ASN1DecodingError) in
            let bits = try element.bitString()
            return [bits[bit: 6], bits[bit: 7], bits[bit: 8], bits[bit: -1], bits[bit: .max]]
        }
        #expect(far == .success([true, false, false, false, false]))
    }

    @Test func `constructed strings and other tags are refused`() {
        #expect(bits("23 04 03 02 00 FF") == .failure(.constructedString))
        #expect(bits("04 02 00 FF") == .failure(.unexpectedTag))
        let octets = outcome(hex("24 04 04 02 00 FF")) { (element) throws(ASN1DecodingError) in
            try element.octetString().count
        }
        #expect(octets == .failure(.constructedString))
    }

    @Test func `an OCTET STRING is its content, and an implicit tag may stand for its own`() {
        let octets = outcome(hex("82 02 00 FF")) { (element) throws(ASN1DecodingError) in
            [UInt8](copying: try element.octetString(tagged: .context(2)))
        }
        #expect(octets == .success([0x00, 0xFF]))
    }
}
