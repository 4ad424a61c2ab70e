import AppStoreReceiptTesting
import Foundation
import SpanASN1
import TestSupport
import Testing

/// Whatever is read from DER and written again gives the same bytes.
@Suite struct RoundTripTests {
    /// Reads every value of a known type by its reader, writes it by its writer, and copies the content of all others.
    private func rewrite(_ cursor: inout ASN1Cursor, _ writer: inout ASN1Writer) throws {
        while !cursor.isAtEnd {
            let element = try cursor.read()
            if element.tag.isConstructed {
                var contents = element.contents
                if element.tag == .set, isSorted(element) {
                    // Only SET OFs are known to be sorted; a SET of several types is in order of tags.
                    try writer.writeSet { writer in try rewrite(&contents, &writer) }
                } else {
                    try writer.write(element.tag) { writer in try rewrite(&contents, &writer) }
                }
            } else {
                try rewrite(element, &writer)
            }
        }
    }

    private func isSorted(_ set: ASN1Element) -> Bool {
        var cursor = ASN1Cursor(set.encoded)
        return (try? cursor.readSet(isSorted: true) { (_) throws(ASN1DecodingError) in }) != nil
    }

    private func rewrite(_ element: ASN1Element, _ writer: inout ASN1Writer) throws {
        switch element.tag {
        case .boolean: writer.writeBoolean(try element.boolean())
        case .integer where element.contentCount <= 8: writer.writeInteger(try element.integer(as: Int64.self))
        case .integer where element.content.count % 2 == 0:
            writer.writeInteger(twosComplement: try element.integerBytes())
        case .integer where element.content[0] < 0x80:
            writer.writeInteger(magnitude: try element.unsignedIntegerBytes())
        case .integer: writer.writeInteger(twosComplement: try element.integerBytes())
        case .enumerated: writer.writeInteger(try element.enumerated(as: Int128.self), tagged: .enumerated)
        case .null:
            try element.null()
            writer.writeNull()
        case .bitString:
            let bits = try element.bitString()
            try writer.writeBitString(bits.bytes, unusedBitCount: bits.unusedBitCount)
        case .octetString: writer.writeOctetString(try element.octetString())
        case .objectIdentifier:
            let identifier = try element.objectIdentifier()
            writer.writeObjectIdentifier(ASN1ObjectIdentifier(identifier.description) ?? identifier)
        case .utf8String: writer.writeUTF8String(try element.utf8String())
        case .utcTime: try writer.writeUTCTime(element.utcTime())
        case .generalizedTime: try writer.writeGeneralizedTime(element.generalizedTime())
        default: writer.write(element.tag, content: element.content)
        }
    }

    private func rewritten(_ bytes: [UInt8]) throws -> [UInt8] {
        var cursor = ASN1Cursor(bytes.span)
        var writer = ASN1Writer()
        try rewrite(&cursor, &writer)
        return writer.finish()
    }

    @Test func `random DER is written back as it was read`() throws {
        var generator = SeededGenerator()
        for _ in 0..<2_000 {
            let bytes = DERGenerator.element(depth: 6, using: &generator)
            #expect(try rewritten(bytes) == bytes)
        }
    }

    /// The same through the walker and ``ASN1Writer/begin(_:)``, without recursion.
    @Test func `random DER survives a walk`() throws {
        var generator = SeededGenerator()
        for _ in 0..<2_000 {
            let bytes = DERGenerator.element(depth: 6, using: &generator)
            var walker = ASN1Walker(bytes.span)
            var writer = ASN1Writer()
            var depth = 0
            while let element = try walker.next() {
                while depth > element.depth {
                    writer.end()
                    depth -= 1
                }
                if element.tag.isConstructed {
                    writer.begin(element.tag)
                    depth += 1
                } else if let content = element.contentRange {
                    writer.write(element.tag, content: bytes.span.extracting(content))
                }
            }
            #expect(writer.finish() == bytes)
        }
    }

    @Test func `mutated DER is never written back differently from what was read`() throws {
        var generator = SeededGenerator()
        var accepted = 0
        for _ in 0..<5_000 {
            var bytes = DERGenerator.element(depth: 4, using: &generator)
            bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            // Whatever is accepted as DER has one encoding; only the sub-millisecond digits of a time are dropped.
            guard let result = try? rewritten(bytes) else { continue }
            accepted += 1
            #expect(result == bytes)
        }
        #expect(accepted > 0)
    }

    @Test func `the certificates of this system are written back as they were read`() throws {
        let directory = "/etc/ssl/certs"
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).filter {
            $0.hasSuffix(".pem")
        }
        var count = 0
        for name in names {
            let text = try String(contentsOfFile: "\(directory)/\(name)", encoding: .utf8)
            let lines = text.split(whereSeparator: \.isNewline)
            guard let first = lines.firstIndex(of: "-----BEGIN CERTIFICATE-----"),
                let last = lines.firstIndex(of: "-----END CERTIFICATE-----"),
                let data = Data(base64Encoded: lines[(first + 1)..<last].joined())
            else { continue }
            let bytes = [UInt8](data)
            #expect(try rewritten(bytes) == bytes, "\(name)")
            count += 1
        }
        #expect(count == names.count)
        print("\(count) certificates in \(directory)")
    }

    /// Those of Xcode are BER and go through the gate first.
    @Test(.enabled(if: Corpus.isPresent, "RECEIPT_CORPUS names no folder of receipts"))
    func `real receipts are written back as they were read`() throws {
        var count = 0
        for file in Corpus.receipts {
            let received = try Corpus.bytes(file)
            let bytes = received.prefix(2) == [0x30, 0x80] ? try BERGate().normalize(received.span) : received
            #expect(try rewritten(bytes) == bytes, "\(file.lastPathComponent)")
            count += 1
        }
        #expect(count > 0)
    }
}

/// Random DER, made without the code under test.
enum DERGenerator {
    static func element(depth: Int, using generator: inout SeededGenerator) -> [UInt8] {
        func pick(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &generator) }
        let constructed = depth > 0 && pick(0...2) > 0
        if constructed {
            let children = (0..<pick(0...5)).map { _ in element(depth: depth - 1, using: &generator) }
            switch pick(0...3) {
            case 0: return tlv(0x31, children.sorted { $0.lexicographicallyPrecedes($1) }.flatMap { $0 })
            case 1: return [0xBF, UInt8(pick(31...127))] + tlv(0, children.flatMap { $0 }).dropFirst()
            case 2: return tlv(UInt8(0xA0 + pick(0...30)), children.flatMap { $0 })
            default: return tlv(0x30, children.flatMap { $0 })
            }
        }
        let size = [0, 1, 2, 9, 16, 17, 127, 128, 260][pick(0...8)]
        func text(_ alphabet: String) -> [UInt8] {
            (0..<size).map { _ in Array(alphabet.utf8).randomElement(using: &generator) ?? 0x20 }
        }
        func padded(_ value: Int, _ width: Int) -> String {
            String(repeating: "0", count: width - "\(value)".count) + "\(value)"
        }
        func momentWithoutYear() -> String {
            padded(pick(1...12), 2) + padded(pick(1...28), 2) + padded(pick(0...23), 2) + padded(pick(0...59), 2)
                + padded(pick(0...59), 2)
        }
        switch pick(0...16) {
        case 0: return tlv(0x01, [pick(0...1) == 0 ? 0x00 : 0xFF])
        case 1:
            var content = generator.bytes(max(size, 1))
            while content.count > 1, content[0] == (content[1] < 0x80 ? 0x00 : 0xFF) { content.removeFirst() }
            return tlv(0x02, content)
        case 2: return tlv(0x0A, [UInt8(pick(0...255))])
        case 3: return [0x05, 0x00]
        case 4:
            var content = generator.bytes(size)
            let unused = content.isEmpty ? 0 : pick(0...7)
            if !content.isEmpty { content[size - 1] &= 0xFF << UInt8(unused) }
            return tlv(0x03, [UInt8(unused)] + content)
        case 5: return tlv(0x04, generator.bytes(size))
        case 6, 7:
            let arcs = (0..<pick(1...6)).flatMap { _ in
                [UInt8(pick(0x81...0xFF)), UInt8(pick(0x80...0xFF)), UInt8(pick(0...0x7F))].suffix(pick(1...3))
            }
            let isValid = !zip([0x00] + arcs, arcs).contains { $0 < 0x80 && $1 == 0x80 }
            return isValid ? tlv(pick(0...1) == 0 ? 0x06 : 0x0D, arcs) : [0x05, 0x00]
        case 8: return tlv(0x0C, text("abc") + [UInt8]("äöü日本😀".utf8))
        case 9: return tlv(0x13, text("abcXYZ019 '()+,-./:=?"))
        case 10: return tlv(0x16, text("a@\u{0}\u{7F}"))
        case 11: return tlv(0x12, text("0123456789 "))
        case 12: return tlv(0x1A, text("~ !a"))
        case 13: return tlv(0x1E, (0..<size).flatMap { _ in [UInt8(pick(0...0xD7)), UInt8(pick(0...0xFF))] })
        case 14:
            return tlv(
                0x1C,
                (0..<size).flatMap { _ in [0, UInt8(pick(1...0x10)), UInt8(pick(0...0xFF)), UInt8(pick(0...0xFF))] })
        case 15: return tlv(0x17, padded(pick(0...99), 2) + momentWithoutYear() + "Z")
        default:
            let fraction = ["", ".1", ".02", ".003", ".999"][pick(0...4)]
            return pick(0...1) == 0
                ? tlv(0x18, padded(pick(0...9999), 4) + momentWithoutYear() + fraction + "Z")
                : tlv(UInt8(0x80 + pick(0...30)), generator.bytes(size))
        }
    }
}
