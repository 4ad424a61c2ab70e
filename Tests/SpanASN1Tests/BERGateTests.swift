import SpanASN1
import Testing

@Suite struct BERGateTests {
    private func normalize(_ bytes: [UInt8], _ gate: BERGate = BERGate()) -> Result<[UInt8], ASN1DecodingError> {
        do {
            return .success(try gate.normalize(bytes.span))
        } catch {
            return .failure(error)
        }
    }

    @Test(arguments: [
        ("30 80 02 01 05 00 00", "30 03 02 01 05"),
        ("30 80 30 80 00 00 00 00", "30 02 30 00"),
        ("30 80 24 80 04 02 01 02 04 00 24 03 04 01 03 00 00 00 00", "30 05 04 03 01 02 03"),
        ("24 80 00 00", "04 00"),
        // A context tag says nothing of the type, so its content is a structure.
        ("A0 80 04 01 01 00 00", "A0 03 04 01 01"),
        // What an OCTET STRING holds is its own business, even when it looks like BER.
        ("04 04 30 80 00 00", "04 04 30 80 00 00"),
        ("02 01 05", "02 01 05"),
    ])
    func `BER becomes DER around the data`(row: (String, String)) {
        #expect(normalize(hex(row.0)) == .success(hex(row.1)))
    }

    @Test(arguments: [
        ("", Kind.missingElement, 0), ("30 80", .truncated, 2), ("30 80 02 01 05 00", .unexpectedEndOfContents, 5),
        ("30 80 00 00 00", .trailingData, 4),
        ("00 00", .unexpectedEndOfContents, 0), ("30 02 00 00", .unexpectedEndOfContents, 2),
        ("04 80 00 00", .indefiniteLength, 0),
        ("24 80 02 01 05 00 00", .unexpectedTag, 2), ("30 81 03 02 01 05", .nonMinimalLength, 1),
        // An indefinite length must end within the definite one around it.
        ("30 04 30 80 05 00 00 00", .truncated, 8),
    ])
    func `malformed BER is refused where it is wrong`(row: (String, Kind, Int)) {
        #expect(normalize(hex(row.0)) == .failure(ASN1DecodingError(row.1, offset: row.2)))
    }

    @Test func `depth and number of elements have limits, and a bomb costs nothing`() {
        let nested = hex("30 80 30 80 30 80 00 00 00 00 00 00")
        #expect(normalize(nested, BERGate(maximumDepth: 3)) == .success(hex("30 04 30 02 30 00")))
        #expect(normalize(nested, BERGate(maximumDepth: 2)) == .failure(ASN1DecodingError(.nestingTooDeep, offset: 4)))
        #expect(
            normalize(nested, BERGate(maximumElementCount: 2))
                == .failure(ASN1DecodingError(.tooManyElements, offset: 4)))
        let bomb = [UInt8](repeating: 0, count: 1 << 20).indices.map { $0 % 2 == 0 ? 0x30 : 0x80 } as [UInt8]
        #expect(normalize(bomb) == .failure(ASN1DecodingError(.nestingTooDeep, offset: 64)))
    }

    /// The same element with indefinite lengths and strings in pieces, here and there.
    private func loosen(_ cursor: inout ASN1Cursor, _ generator: inout SeededGenerator) throws -> [UInt8] {
        var output: [UInt8] = []
        while !cursor.isAtEnd {
            let element = try cursor.read()
            let isIndefinite = Bool.random(using: &generator)
            func wrap(_ identifier: [UInt8], _ content: [UInt8]) -> [UInt8] {
                isIndefinite ? identifier + [0x80] + content + [0, 0] : identifier + tlv(0, content).dropFirst()
            }
            let identifier = [UInt8](copying: element.encoded).prefix(element.tag.number < 31 ? 1 : 2)
            if element.tag.isConstructed {
                var contents = element.contents
                output += wrap(Array(identifier), try loosen(&contents, &generator))
            } else if element.tag == .octetString, Bool.random(using: &generator) {
                let content = [UInt8](copying: element.content)
                let middle = Int.random(in: 0...content.count, using: &generator)
                output += wrap([0x24], tlv(0x04, Array(content[..<middle])) + tlv(0x04, Array(content[middle...])))
            } else {
                output += [UInt8](copying: element.encoded)
            }
        }
        return output
    }

    @Test func `random DER comes back from any BER form of it`() throws {
        var generator = SeededGenerator()
        for _ in 0..<1_000 {
            let der = DERGenerator.element(depth: 5, using: &generator)
            var cursor = ASN1Cursor(der.span)
            let ber = try loosen(&cursor, &generator)
            #expect(normalize(ber, BERGate(maximumElementCount: 100_000)) == .success(der))
        }
    }

    @Test func `offsets after the gate lead back to what was received`() throws {
        let received = hex("30 80 24 80 04 02 AA BB 04 01 CC 00 00 02 01 05 00 00")
        //        normalised: 30 08 04 03 AA BB CC 02 01 05
        let origins = [0, 0, 2, 2, 6, 7, 10, 13, 14, 15]
        for (offset, origin) in origins.enumerated() {
            #expect(BERGate().receivedOffset(ofNormalized: offset, in: received.span) == origin)
        }
        #expect(BERGate().receivedOffset(ofNormalized: origins.count, in: received.span) == received.count)
    }

    @Test func `random bytes end in DER or an error within them`() {
        var generator = SeededGenerator()
        let likely: [UInt8] = [0x30, 0x80, 0x00, 0x24, 0x04, 0x81, 0x01, 0x02, 0x05, 0xBF]
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...30, using: &generator)).map { _ in
                Int.random(in: 0..<6, using: &generator) > 0
                    ? likely[Int.random(in: 0..<likely.count, using: &generator)]
                    : UInt8.random(in: 0...255, using: &generator)
            }
            switch normalize(bytes) {
            case .success(let output):
                #expect(output.count <= bytes.count)
                #expect(outcome(output) { (element) throws(ASN1DecodingError) in element.contentCount }.isSuccess)
            case .failure(let error): #expect(0...bytes.count ~= error.offset)
            }
        }
    }
}

extension Result {
    fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}
