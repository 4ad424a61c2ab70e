import AppStoreReceiptTesting
import Instants
import SpanASN1
import TestSupport
import Testing

@Suite struct ASN1WriterTests {
    private let none: [UInt8] = []

    private func written(_ body: (inout ASN1Writer) throws(ASN1EncodingError) -> Void) -> Result<
        [UInt8], ASN1EncodingError
    > {
        do {
            return .success(try ASN1Writer.encode(body))
        } catch {
            return .failure(error)
        }
    }

    @Test(arguments: [
        (0, "02 01 00"), (127, "02 01 7F"), (128, "02 02 00 80"), (-128, "02 01 80"), (-129, "02 02 FF 7F"),
        (-1, "02 01 FF"),
        (256, "02 02 01 00"), (Int.max, "02 08 7F FF FF FF FF FF FF FF"), (Int.min, "02 08 80 00 00 00 00 00 00 00"),
    ])
    func `an INTEGER takes the fewest octets`(row: (Int, String)) {
        #expect(written { (writer) throws(ASN1EncodingError) in writer.writeInteger(row.0) } == .success(hex(row.1)))
    }

    @Test func `an INTEGER may be of any width and sign, or raw octets`() {
        let bytes = ASN1Writer.encode { writer in
            writer.writeInteger(UInt8.max)
            writer.writeInteger(Int8.min)
            writer.writeInteger(UInt64.max)
            writer.writeInteger(Int128.min)
            writer.writeInteger(UInt128.max)
            writer.writeInteger(5, tagged: .context(0))
            writer.writeInteger(3, tagged: .enumerated)
            writer.writeInteger(twosComplement: [0x00, 0x00, 0x80].span)
            writer.writeInteger(twosComplement: [0xFF, 0xFF, 0x80].span)
            writer.writeInteger(twosComplement: none.span)
            writer.writeInteger(magnitude: [0x00, 0x00, 0x80].span)
            writer.writeInteger(magnitude: [0x01].span)
            writer.writeInteger(magnitude: [0, 0].span)
            writer.writeInteger(magnitude: none.span)
        }
        let expected =
            "02 02 00 FF 02 01 80 02 09 00 FF FF FF FF FF FF FF FF 02 10 80" + String(repeating: "00", count: 15)
            + "02 11 00" + String(repeating: "FF", count: 16) + "80 01 05 0A 01 03 02 02 00 80 02 01 80 02 01 00"
            + "02 02 00 80 02 01 01 02 01 00 02 01 00"
        #expect(bytes == hex(expected))
    }

    @Test func `the other simple types`() throws {
        let bytes = try ASN1Writer.encode { (writer) throws(ASN1EncodingError) in
            writer.writeBoolean(true)
            writer.writeBoolean(false, tagged: .context(1))
            writer.writeNull()
            writer.writeObjectIdentifier(ASN1ObjectIdentifier(content: [0x88, 0x37]))
            writer.writeOctetString([1, 2].span)
            writer.writeOctetString { writer in writer.writeNull() }
            try writer.writeBitString([0xFF].span, unusedBitCount: 3)
            try writer.writeBitString(none.span)
            writer.writeBitString { writer in writer.writeNull() }
            writer.write(.context(2)) { writer in writer.write(encoded: [0x05, 0x00].span) }
            writer.writeExplicit(40) { writer in writer.writeNull() }
        }
        #expect(
            bytes
                == hex(
                    "01 01 FF 81 01 00 05 00 06 02 88 37 04 02 01 02 04 02 05 00 03 02 03 F8 03 01 00 03 03 00 05 00"
                        + "A2 02 05 00 BF 28 02 05 00"))
        for (octets, unused) in [([0xFF], 8), ([0xFF], -1), ([], 1)] as [([UInt8], Int)] {
            let refused = written { (writer) throws(ASN1EncodingError) in
                try writer.writeBitString(octets.span, unusedBitCount: unused)
            }
            #expect(refused == .failure(.invalidBitString))
        }
    }

    @Test func `a string is encoded as UTF-8, under any tag`() {
        let bytes = ASN1Writer.encode { writer in
            writer.writeUTF8String("é😀")
            writer.writeUTF8String("A=1?", tagged: .printableString)
        }
        #expect(bytes == hex("0C 06 C3 A9 F0 9F 98 80 13 04 41 3D 31 3F"))
    }

    @Test func `times are encoded as DER demands, within what their type can say`() {
        func times(_ time: Instant) -> [[UInt8]?] {
            [
                try? written { (writer) throws(ASN1EncodingError) in try writer.writeUTCTime(time) }.get(),
                try? written { (writer) throws(ASN1EncodingError) in try writer.writeGeneralizedTime(time) }.get(),
                try? written { (writer) throws(ASN1EncodingError) in try writer.writeTime(time) }.get(),
            ]
        }
        let utc = tlv(0x17, "200401040739Z")
        #expect(times(Instant(millisecondsSince1970: 1_585_714_059_000)) == [utc, tlv(0x18, "20200401040739Z"), utc])
        #expect(
            times(Instant(millisecondsSince1970: 1_585_714_059_120)) == [nil, tlv(0x18, "20200401040739.12Z"), nil])
        #expect(
            times(Instant(millisecondsSince1970: 1_585_714_059_007)) == [nil, tlv(0x18, "20200401040739.007Z"), nil])
        // 2050, where Time is a GeneralizedTime, but without a fraction.
        #expect(times(Instant(millisecondsSince1970: 2_524_608_000_500))[2] == nil)
        for (year, isUTC) in [(1949, false), (1950, true), (2049, true), (2050, false), (0, false), (9999, false)] {
            guard let time = Instant(year: year, month: 1, day: 2) else { continue }
            #expect((times(time)[0] != nil) == isUTC)
            #expect(times(time)[1] != nil)
            #expect(times(time)[2] == times(time)[isUTC ? 0 : 1])
        }
        #expect(times(Instant(millisecondsSince1970: 253_402_300_800_000)) == [nil, nil, nil])
        #expect(times(Instant(millisecondsSince1970: -62_167_219_200_001)) == [nil, nil, nil])
        #expect(times(Instant(millisecondsSince1970: .min)) == [nil, nil, nil])
    }

    @Test func `lengths around every boundary are minimal, nested or not`() {
        for count in [0, 1, 127, 128, 129, 255, 256, 257, 65535, 65536, 1 << 24] {
            let content = [UInt8](repeating: 7, count: count)
            let inner = tlv(0x04, content)
            #expect(ASN1Writer.encode { writer in writer.writeOctetString(content.span) } == inner)
            let nested = ASN1Writer.encode { writer in
                writer.writeNull()
                writer.write(.sequence) { writer in
                    writer.writeNull()
                    writer.write(.context(1)) { writer in writer.writeOctetString(content.span) }
                    writer.writeNull()
                }
                writer.writeNull()
            }
            #expect(nested == [5, 0] + tlv(0x30, [5, 0] + tlv(0xA1, inner) + [5, 0]) + [5, 0])
        }
    }

    @Test func `a SET OF is sorted by encoding, also by elements whose length came late`() {
        func set(_ elements: [[UInt8]]) -> [UInt8] {
            ASN1Writer.encode { writer in
                writer.writeNull()
                writer.writeSet { writer in
                    // As elements that are already encoded, and as nested ones.
                    for element in elements {
                        if element[0] == 0x30 {
                            writer.write(.sequence) { writer in
                                var cursor = ASN1Cursor(element.span)
                                guard let outer = try? cursor.read() else { return }
                                writer.write(encoded: outer.content)
                            }
                        } else {
                            writer.write(encoded: element.span)
                        }
                    }
                }
                writer.writeNull()
            }
        }
        var generator = SeededGenerator()
        for _ in 0..<200 {
            let elements = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                let count = [0, 1, 2, 126, 127, 128, 300].randomElement(using: &generator) ?? 0
                let content = (0..<count).map { _ in UInt8.random(in: 0...1, using: &generator) }
                return tlv(Bool.random(using: &generator) ? 0x30 : 0x04, count < 2 ? content : tlv(0x04, content))
            }
            let sorted = elements.sorted { $0.lexicographicallyPrecedes($1) }
            #expect(set(elements) == [5, 0] + tlv(0x31, sorted.flatMap { $0 }) + [5, 0])
        }
    }

    @Test func `SET OFs nest, and other elements keep their order`() {
        let bytes = ASN1Writer.encode { writer in
            writer.writeSet { writer in
                writer.writeSet(.context(1)) { writer in
                    writer.writeInteger(2)
                    writer.writeInteger(1)
                }
                writer.write(.sequence) { writer in
                    writer.writeInteger(2)
                    writer.writeInteger(1)
                }
            }
        }
        #expect(bytes == hex("31 10 30 06 02 01 02 02 01 01 A1 06 02 01 01 02 01 02"))
    }

    @Test func `a broken element in a SET OF traps nothing and loses nothing`() {
        let bytes = ASN1Writer.encode { writer in
            writer.writeSet { writer in
                writer.writeNull()
                writer.write(encoded: [0x02, 0x7F, 0x00].span)
            }
        }
        #expect(bytes == hex("31 05 02 7F 00 05 00"))
    }

    @Test func `a body that throws leaves nothing behind`() throws {
        let large = [UInt8](repeating: 1, count: 200)
        let bytes = try ASN1Writer.encode { (writer) throws(ASN1EncodingError) in
            writer.writeNull()
            let isWritten = { (writer: inout ASN1Writer) in
                do throws(ASN1EncodingError) {
                    try writer.write(.sequence) { (writer) throws(ASN1EncodingError) in
                        writer.write(.context(0)) { writer in writer.writeOctetString(large.span) }
                        writer.begin(.set)
                        try writer.writeBitString(none.span, unusedBitCount: 1)
                    }
                    return true
                } catch {
                    return false
                }
            }
            let wasWritten = isWritten(&writer)
            #expect(!wasWritten)
            writer.write(.set) { writer in writer.writeOctetString(large.span) }
        }
        #expect(bytes == [5, 0] + tlv(0x31, tlv(0x04, large)))
    }

    @Test func `begin and end balance within a closure, and finish ends what is open`() {
        var writer = ASN1Writer()
        writer.end()
        writer.begin(.sequence)
        writer.write(.set) { writer in
            writer.end()
            writer.begin(.context(0))
            writer.writeNull()
        }
        writer.writeNull()
        writer.begin(.context(1))
        #expect(writer.finish() == hex("30 08 31 04 A0 02 05 00 05 00 A1 00".replacing("30 08", with: "30 0A")))
    }

    @Test func `half a million levels are written in linear time`() {
        let depth = 500_000
        let bytes = ASN1Writer.encode { writer in
            for _ in 0..<depth { writer.begin(.sequence) }
            writer.writeNull()
        }
        let limits = ASN1Limits(maximumDepth: depth + 1)
        var walker = ASN1Walker(bytes.span, limits: limits)
        var count = 0
        while let element = try? walker.next() {
            count += element.contentRange?.upperBound == bytes.count ? 1 : 0
        }
        #expect(count == depth + 1)
    }
}
