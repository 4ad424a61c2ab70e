import AppStoreReceiptTesting
import SpanASN1
import TestSupport
import Testing

@Suite struct ASN1ObjectIdentifierTests {
    static let wellFormed: [(String, String)] = [
        ("00", "0.0"), ("27", "0.39"), ("28", "1.0"), ("4F", "1.39"), ("50", "2.0"), ("7F", "2.47"),
        ("81 00", "2.48"), ("88 37", "2.999"), ("88 37 03", "2.999.3"),
        ("2A 86 48 86 F7 0D 01 07 02", "1.2.840.113549.1.7.2"),
        ("2A 86 48 86 F7 63 64 06 0B 01", "1.2.840.113635.100.6.11.1"),
        ("2A 81 FF FF FF FF FF FF FF FF 7F", "1.2.18446744073709551615"),
        ("2A 82 80 80 80 80 80 80 80 80 00", "1.2.18446744073709551616"),
        // The largest UUID, and a first subidentifier above 2⁶⁴.
        ("69 83 FF FF FF FF FF FF FF FF FF FF FF FF FF FF FF FF FF 7F", "2.25.340282366920938463463374607431768211455"),
        ("82 80 80 80 80 80 80 80 80 80 4F", "2.2361183241434822606847"),
    ]

    @Test(arguments: wellFormed)
    func `identifiers read, print and parse alike`(row: (String, String)) {
        let content = hex(row.0)
        let read = outcome(tlv(0x06, content)) { (element) throws(ASN1DecodingError) in try element.objectIdentifier() }
        #expect(read.map(\.description) == .success(row.1))
        #expect(ASN1ObjectIdentifier(row.1)?.content == content)
        #expect(ASN1ObjectIdentifier(validating: content) == ASN1ObjectIdentifier(row.1))
        #expect(Set([ASN1ObjectIdentifier(content: content), ASN1ObjectIdentifier(row.1)]).count == 1)
    }

    @Test(arguments: ["", "80", "80 01", "2A 80 01", "2A 80 80 01", "2A 86", "86", "2A 03 FF"])
    func `an empty identifier, a cut-off arc and a leading 0x80 are refused`(text: String) {
        for (tag, relative) in [(0x06, false), (0x0D, true)] as [(UInt8, Bool)] {
            let read = outcome(tlv(tag, hex(text))) { (element) throws(ASN1DecodingError) in
                relative ? try element.relativeOID().description : try element.objectIdentifier().description
            }
            #expect(read == .failure(.invalidObjectIdentifier))
        }
        #expect(ASN1ObjectIdentifier(validating: hex(text)) == nil)
        #expect(ASN1RelativeOID(validating: hex(text)) == nil)
    }

    @Test(arguments: [
        "", ".", "1", "1.", ".1", "1..2", "3.1", "0.40", "1.40", "1.256", "-1.2", "1.-2", "1.2.+3", "1.2.03", "01.2",
        "1.2 ", "1.2.a", "1.2.٣",
        "2." + String(repeating: "9", count: 257),
    ])
    func `text that is no identifier is refused`(text: String) {
        #expect(ASN1ObjectIdentifier(text) == nil)
    }

    @Test func `comparing with a constant validates, too`() {
        let signedData = ASN1ObjectIdentifier(content: hex("2A 86 48 86 F7 0D 01 07 02"))
        func compare(_ bytes: [UInt8]) -> Result<Bool, Kind> {
            outcome(bytes) { (element) throws(ASN1DecodingError) in try element.isObjectIdentifier(signedData) }
        }
        #expect(compare(tlv(0x06, signedData.content)) == .success(true))
        #expect(compare(hex("06 09 2A 86 48 86 F7 0D 01 07 01")) == .success(false))
        #expect(compare(hex("06 03 2A 86 48")) == .success(false))
        #expect(compare(hex("06 09 2A 86 48 86 F7 0D 01 07 82")) == .failure(.invalidObjectIdentifier))
        #expect(compare(hex("06 00")) == .failure(.invalidObjectIdentifier))
        #expect(compare(hex("0D 01 01")) == .failure(.unexpectedTag))
    }

    @Test func `a RELATIVE-OID has no special first arc`() {
        for (content, text) in [("C2 7B 03 02", "8571.3.2"), ("00", "0"), ("7F", "127"), ("81 00", "128")] {
            let read = outcome(tlv(0x0D, hex(content))) { (element) throws(ASN1DecodingError) in
                try element.relativeOID()
            }
            #expect(read.map(\.description) == .success(text))
            #expect(ASN1RelativeOID(text)?.content == hex(content))
        }
    }

    @Test func `random arcs of up to 128 octets survive decimal`() {
        var generator = SeededGenerator()
        for _ in 0..<300 {
            var content: [UInt8] = []
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let count = Int.random(in: 1...(Bool.random(using: &generator) ? 3 : 121), using: &generator)
                var arc = generator.bytes(count).map { $0 | 0x80 }
                if arc[0] == 0x80, count > 1 { arc[0] = 0x81 }
                arc[count - 1] &= 0x7F
                content += arc
            }
            guard let identifier = ASN1ObjectIdentifier(validating: content) else {
                Issue.record("\(content) is not valid")
                continue
            }
            #expect(ASN1ObjectIdentifier(identifier.description) == identifier)
        }
    }

    @Test func `a longer arc is hexadecimal, so that a megabyte of it takes no quadratic time`() {
        let arc = [0x81] + [UInt8](repeating: 0x80, count: 128) + [0x50]
        #expect(ASN1ObjectIdentifier(validating: arc)?.description == "2.0x" + "8" + String(repeating: "0", count: 225))
        let small = [0x2A, 0x81] + [UInt8](repeating: 0xFF, count: 127) + [0x7F]
        #expect(
            ASN1ObjectIdentifier(validating: small)?.description == "1.2.0x" + "1" + String(repeating: "f", count: 224))
        let huge = [0x2A] + [UInt8](repeating: 0xFF, count: 1 << 20) + [0x7F]
        // (2²⁰ + 1) × 7 bits.
        #expect(ASN1ObjectIdentifier(validating: huge)?.description.utf8.count == "1.2.0x".utf8.count + 1_835_010)
    }
}
