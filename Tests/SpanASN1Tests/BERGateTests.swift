import AppStoreReceiptTesting
import SpanASN1
import TestSupport
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
        ("24 00", "04 00"),
        ("24 80 24 80 24 00 24 80 00 00 00 00 04 00 00 00", "04 00"),
        ("24 80 24 80 04 01 01 00 00 04 01 02 24 04 04 00 24 00 00 00", "04 02 01 02"),
        // Definite around indefinite, and the other way round.
        ("30 0A 30 80 02 01 05 00 00 02 01 06", "30 08 30 03 02 01 05 02 01 06"),
        ("31 80 30 03 02 01 05 30 80 00 00 00 00", "31 07 30 03 02 01 05 30 00"),
        ("30 09 24 80 04 01 01 00 00 05 00", "30 05 04 01 01 05 00"),
        // Other types in pieces are not the gate's business: their form is kept, for a reader to refuse.
        ("2C 80 0C 01 61 00 00", "2C 03 0C 01 61"),
        ("BF 1F 80 02 01 05 00 00", "BF 1F 03 02 01 05"),
        ("BF FF FF FF 7F 80 00 00", "BF FF FF FF 7F 00"),
        // A context tag says nothing of the type, so its content is a structure.
        ("A0 80 04 01 01 00 00", "A0 03 04 01 01"),
        // What an OCTET STRING holds is its own business, even when it looks like BER.
        ("04 04 30 80 00 00", "04 04 30 80 00 00"),
        ("24 80 04 04 30 80 00 00 00 00", "04 04 30 80 00 00"),
        // A reserved tag in constructed form is no end-of-contents.
        ("30 80 20 00 00 00", "30 02 20 00"),
        ("02 01 05", "02 01 05"),
        ("02 02 00 00", "02 02 00 00"),
    ])
    func `BER becomes DER around the data`(row: (String, String)) {
        #expect(normalize(hex(row.0)) == .success(hex(row.1)))
    }

    @Test(arguments: [0, 1, 0x7F, 0x80, 0xFF, 0x100, 0xFFFF, 0x1_0000])
    func `lengths are written minimally, even where that takes more bytes than were received`(count: Int) {
        let content = tlv(0x04, [UInt8](repeating: 7, count: count))
        #expect(normalize([0x30, 0x80] + content + [0, 0]) == .success(tlv(0x30, content)))
        #expect(
            normalize([0x24, 0x80] + content + content + [0, 0])
                == .success(tlv(0x04, [UInt8](repeating: 7, count: 2 * count))))
    }

    @Test(arguments: [
        ("", Kind.missingElement, 0), ("30 80", .truncated, 2), ("30 80 02 01 05 00", .unexpectedEndOfContents, 5),
        ("30", .truncated, 1), ("3F 81", .truncated, 0), ("30 82 01", .truncated, 1), ("30 01", .truncated, 0),
        ("30 80 00 00 00", .trailingData, 4), ("02 01 05 00 00", .trailingData, 3),
        ("00 00", .unexpectedEndOfContents, 0), ("30 02 00 00", .unexpectedEndOfContents, 2),
        ("30 80 00 01 00 00 00", .unexpectedEndOfContents, 2),
        ("04 80 00 00", .indefiniteLength, 0), ("24 80 04 80 00 00 00 00", .indefiniteLength, 2),
        ("24 80 02 01 05 00 00", .unexpectedTag, 2), ("24 80 30 00 00 00", .unexpectedTag, 2),
        ("24 80 24 80 84 00 00 00 00 00", .unexpectedTag, 4),
        ("30 81 03 02 01 05", .nonMinimalLength, 1), ("30 88 FF FF FF FF FF FF FF FF", .lengthOverflow, 1),
        ("30 FF", .invalidLength, 1), ("1F 1E 00", .nonMinimalTag, 0),
        // An indefinite length must end within the definite one around it, and so must what is in a segment.
        ("30 04 30 80 05 00 00 00", .truncated, 8), ("30 02 30 80 00 00", .truncated, 6),
        ("24 03 04 02 01 02", .truncated, 2), ("24 02 24 80 00 00", .truncated, 6),
    ])
    func `malformed BER is refused where it is wrong`(row: (String, Kind, Int)) {
        #expect(normalize(hex(row.0)) == .failure(ASN1DecodingError(row.1, offset: row.2)))
    }

    @Test func `every prefix of a BER message is refused, at an offset within it`() {
        let message = hex("30 80 02 01 05 24 80 04 02 AA BB 24 80 04 01 CC 00 00 00 00 A0 05 30 03 02 01 06 00 00")
        for count in 0..<message.count {
            guard case .failure(let error) = normalize(Array(message[..<count])) else {
                Issue.record("\(count) bytes passed")
                continue
            }
            #expect(0...count ~= error.offset)
        }
        #expect(normalize(message) == .success(hex("30 0F 02 01 05 04 03 AA BB CC A0 05 30 03 02 01 06")))
    }

    @Test func `an opaque element is copied byte for byte, whatever is in it`() {
        let gate = BERGate { depth, tag, parent in depth == 1 && tag.tagClass == .contextSpecific && parent == .sequence
        }
        let cases = [
            // BER, nonsense and end-of-contents inside; the same tag in another place is rewritten.
            ("30 80 A0 04 30 80 00 00 00 00", "30 06 A0 04 30 80 00 00"),
            ("30 80 A0 03 FF FF FF 30 80 A0 80 00 00 00 00 00 00", "30 09 A0 03 FF FF FF 30 02 A0 00"),
            ("31 80 A0 80 05 00 00 00 00 00", "31 04 A0 02 05 00"),
            ("A0 80 05 00 00 00", "A0 02 05 00"),
        ]
        for (received, expected) in cases { #expect(normalize(hex(received), gate) == .success(hex(expected))) }
        #expect(
            normalize(hex("30 80 A0 80 05 00 00 00 00 00"), gate)
                == .failure(ASN1DecodingError(.indefiniteLength, offset: 2)))
    }

    @Test func `the segments of a string are never opaque`() {
        let gate = BERGate { depth, _, _ in depth > 0 }
        #expect(normalize(hex("24 80 24 03 04 01 01 04 01 02 00 00"), gate) == .success(hex("04 02 01 02")))
    }

    @Test func `depth and number of elements have limits, and segments count for depth only`() {
        let nested = hex("30 80 30 80 30 80 00 00 00 00 00 00")
        #expect(normalize(nested, BERGate(maximumDepth: 3)) == .success(hex("30 04 30 02 30 00")))
        #expect(normalize(nested, BERGate(maximumDepth: 2)) == .failure(ASN1DecodingError(.nestingTooDeep, offset: 4)))
        #expect(
            normalize(nested, BERGate(maximumElementCount: 2))
                == .failure(ASN1DecodingError(.tooManyElements, offset: 4)))
        let segments = hex("24 80 24 80 24 80 04 01 01 00 00 00 00 00 00")
        #expect(
            normalize(segments, BERGate(maximumDepth: 2)) == .failure(ASN1DecodingError(.nestingTooDeep, offset: 4)))
        #expect(normalize(segments, BERGate(maximumElementCount: 1)) == .success(hex("04 01 01")))
        // Primitive elements cost nothing but their bytes.
        #expect(
            normalize(hex("30 80 05 00 05 00 05 00 00 00"), BERGate(maximumElementCount: 1))
                == .success(hex("30 06 05 00 05 00 05 00")))
    }

    @Test(.timeLimit(.minutes(10)))
    func `a bomb of a megabyte costs little, whatever the limits`() {
        let bomb = [UInt8](repeating: 0, count: 1 << 20).indices.map { $0 % 2 == 0 ? 0x30 : 0x80 } as [UInt8]
        #expect(normalize(bomb) == .failure(ASN1DecodingError(.nestingTooDeep, offset: 64)))
        #expect(
            normalize(bomb, BERGate(maximumDepth: .max)) == .failure(ASN1DecodingError(.tooManyElements, offset: 8192)))
        let unlimited = BERGate(maximumDepth: .max, maximumElementCount: .max)
        #expect(normalize(bomb, unlimited) == .failure(ASN1DecodingError(.truncated, offset: 1 << 20)))
    }

    /// A quadratic gate would need hours.
    @Test(.timeLimit(.minutes(10)))
    func `a string in pieces of one byte takes linear time`() {
        let content = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 * 31) }
        let pieces = content.flatMap { [0x04, 0x01, $0] as [UInt8] }
        #expect(normalize([0x24, 0x80] + pieces + [0, 0]) == .success(tlv(0x04, content)))
    }
}

// MARK: - Properties

extension BERGateTests {
    @Test func `random DER comes back from any BER form of it, and every byte leads back to where it was`() throws {
        var generator = SeededGenerator()
        let gate = BERGate(maximumDepth: 64, maximumElementCount: 100_000)
        for round in 0..<1_000 {
            let der = DERGenerator.element(depth: 5, using: &generator)
            var ber = LooseEncoding()
            var cursor = ASN1Cursor(der.span)
            while !cursor.isAtEnd { try ber.append(cursor.read(), &generator) }
            #expect(normalize(ber.bytes, gate) == .success(der))
            #expect(ber.origins.count == der.count)
            // Each question walks the whole input.
            guard round % 10 == 0, der.count < 2_000 else { continue }
            let found = der.indices.map { gate.receivedOffset(ofNormalized: $0, in: ber.bytes.span) }
            #expect(found == ber.origins)
            #expect(gate.receivedOffset(ofNormalized: der.count, in: ber.bytes.span) == ber.bytes.count)
        }
    }

    @Test func `DER passes unchanged`() {
        var generator = SeededGenerator()
        for _ in 0..<500 {
            let der = DERGenerator.element(depth: 5, using: &generator)
            #expect(normalize(der, BERGate(maximumElementCount: 100_000)) == .success(der))
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
                // What comes out is definite throughout, so that a second time changes nothing.
                #expect(normalize(output) == .success(output))
            case .failure(let error):
                #expect(0...bytes.count ~= error.offset)
                #expect(0...bytes.count ~= BERGate().receivedOffset(ofNormalized: 3, in: bytes.span))
            }
        }
    }
}

/// DER with indefinite lengths and strings in pieces, here and there.
private struct LooseEncoding {
    var bytes: [UInt8] = []
    /// For each byte of the DER, where it is here; the bytes of a header that the gate must rewrite are where the
    /// element begins.
    var origins: [Int] = []

    mutating func append(_ element: ASN1Element, _ generator: inout SeededGenerator) throws {
        let encoded = [UInt8](copying: element.encoded)
        let start = bytes.count
        if element.tag.isConstructed {
            origins += repeatElement(start, count: element.headerCount)
            let identifierCount = element.tag.number < 31 ? 1 : 2
            var inner = LooseEncoding()
            var contents = element.contents
            while !contents.isAtEnd { try inner.append(contents.read(), &generator) }
            wrap(Array(encoded.prefix(identifierCount)), inner, &generator)
        } else if element.tag == .octetString, Bool.random(using: &generator) {
            origins += repeatElement(start, count: element.headerCount)
            wrap([0x24], Self.segments(Array(encoded[element.headerCount...])[...], depth: 3, &generator), &generator)
        } else {
            origins += start..<start + encoded.count
            bytes += encoded
        }
    }

    private mutating func wrap(_ identifier: [UInt8], _ inner: LooseEncoding, _ generator: inout SeededGenerator) {
        let isIndefinite = Bool.random(using: &generator)
        bytes +=
            isIndefinite
            ? identifier + [0x80] : identifier + tlv(0, inner.bytes).dropFirst().dropLast(inner.bytes.count)
        origins += inner.origins.map { $0 + bytes.count }
        bytes += inner.bytes + (isIndefinite ? [0, 0] : [])
    }

    /// Some segments, nested or empty, that hold `content`.
    private static func segments(
        _ content: ArraySlice<UInt8>, depth: Int, _ generator: inout SeededGenerator
    ) -> LooseEncoding {
        var result = LooseEncoding()
        var rest = content
        while !rest.isEmpty || Int.random(in: 0..<3, using: &generator) == 0 {
            let piece = rest.prefix(Int.random(in: 0...rest.count, using: &generator))
            rest = rest.dropFirst(piece.count)
            if depth > 0, Bool.random(using: &generator) {
                result.wrap([0x24], segments(piece, depth: depth - 1, &generator), &generator)
            } else {
                let segment = tlv(0x04, Array(piece))
                let contentStart = result.bytes.count + segment.count - piece.count
                result.origins += contentStart..<contentStart + piece.count
                result.bytes += segment
            }
        }
        return result
    }
}
