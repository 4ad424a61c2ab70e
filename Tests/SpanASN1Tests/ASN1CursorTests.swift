import SpanASN1
import TestSupport
import Testing

@Suite struct ASN1CursorTests {
    @Test(arguments: [
        ("02 01 05", "02", 2, 1),
        ("30 81 80" + String(repeating: "00", count: 128), "30", 3, 128),
        ("04 82 01 00" + String(repeating: "00", count: 256), "04", 4, 256),
        ("9F 1F 00", "9F", 3, 0),  // [31]
        ("BF 81 00 00", "BF", 4, 0),  // [128], constructed
        ("5F FF FF FF 7F 01 00", "5F", 6, 1),  // [APPLICATION 2²⁸ − 1]
    ])
    func `a header tells tag and length`(row: (String, String, Int, Int)) {
        let (text, _, headerCount, contentCount) = row
        let bytes = hex(text)
        let counts = outcome(bytes) { (element) throws(ASN1DecodingError) in
            [
                element.headerCount, element.contentCount, element.content.count, element.encoded.count, element.offset,
                element.contentOffset, element.range.upperBound, element.contentRange.lowerBound,
            ]
        }
        #expect(
            counts
                == .success([
                    headerCount, contentCount, contentCount, bytes.count, 1000, 1000 + headerCount, 1000 + bytes.count,
                    1000 + headerCount,
                ]))
    }

    @Test(arguments: [
        ("", Kind.missingElement, 0),
        ("02", .truncated, 1),
        ("1F", .truncated, 0),
        ("1F 81", .truncated, 0),
        ("02 01", .truncated, 0),
        ("04 81", .truncated, 1),
        ("04 82 01", .truncated, 1),
        ("30 88 FF FF FF FF FF FF FF FF", .lengthOverflow, 1),
        ("30 88 7F FF FF FF FF FF FF FF", .truncated, 0),
        ("30 89 01 00 00 00 00 00 00 00 00", .lengthOverflow, 1),
        ("30 FF", .invalidLength, 1),
        ("04 81 7F", .nonMinimalLength, 1),
        ("04 82 00 80", .nonMinimalLength, 1),
        ("30 80 00 00", .indefiniteLength, 0),
        ("04 80", .indefiniteLength, 0),
        ("00 00", .unexpectedEndOfContents, 0),
        ("00 01 00", .unexpectedEndOfContents, 0),
        ("1F 1E 00", .nonMinimalTag, 0),
        ("1F 00 00", .nonMinimalTag, 0),
        ("1F 80 1F 00", .nonMinimalTag, 0),
        ("1F 81 80 80 80 00 00", .tagNumberTooLarge, 0),
        ("1F FF FF FF FF FF FF FF FF FF 7F 00", .tagNumberTooLarge, 0),
    ])
    func `a malformed header is refused where it is wrong`(row: (String, Kind, Int)) {
        let bytes = hex(row.0)
        let (error, offset) = failure(bytes.span, baseOffset: 7) { (cursor) throws(ASN1DecodingError) in
            _ = try cursor.read()
        }
        #expect(error == ASN1DecodingError(row.1, offset: 7 + row.2))
        #expect(offset == 7, "a failed read moves nothing")
    }

    @Test(arguments: ["30 03 02 02 01 05", "30 02 04 01 FF", "A0 03 30 02 05 01 00", "30 01 02 01 05"])
    func `an element cannot reach past its container`(text: String) {
        let result = decode(hex(text)) { (cursor) throws(ASN1DecodingError) in
            var inner = try cursor.read().contents
            if inner.peekTag()?.isConstructed == true { inner = try inner.read().contents }
            return try inner.read().contentCount
        }
        #expect(result == .failure(.truncated))
    }

    @Test func `every prefix of a structure is refused, and nothing beyond a cursor's bytes is read`() {
        let whole = tlv(
            0x30,
            tlv(0x02, [5]) + tlv(0xBF, [0x81, 0x00, 0x01, 0xFF]).dropFirst(0)
                + tlv(0x04, [UInt8](repeating: 9, count: 200)))
        for count in 0..<whole.count {
            // The bytes go on after the cursor's end.
            let (error, _) = failure(whole.span.extracting(..<count)) { (cursor) throws(ASN1DecodingError) in
                _ = try cursor.read()
            }
            #expect(error != nil)
        }
    }

    @Test func `leftovers are an error, at any depth`() {
        let inner = decode(hex("30 06 02 01 05 02 01 06")) { (cursor) throws(ASN1DecodingError) in
            try cursor.read(.sequence) { (cursor) throws(ASN1DecodingError) in try cursor.read(.integer).integer() }
        }
        #expect(inner == .failure(.trailingData))
        let outer = outcome(hex("02 01 05 00")) { (element) throws(ASN1DecodingError) in try element.integer() }
        #expect(outer == .failure(.trailingData))
    }

    @Test func `another tag is unexpected, and a string in pieces says so`() {
        func read(_ text: String, _ tag: ASN1Tag) -> Result<Int, Kind> {
            decode(hex(text)) { (cursor) throws(ASN1DecodingError) in try cursor.read(tag).contentCount }
        }
        #expect(read("02 01 05", .octetString) == .failure(.unexpectedTag))
        #expect(read("24 03 04 01 05", .octetString) == .failure(.constructedString))
        #expect(read("A0 03 04 01 05", .context(0, constructed: false)) == .failure(.constructedString))
        #expect(read("22 03 02 01 05", .integer) == .failure(.unexpectedTag))
        #expect(read("10 00", .sequence) == .failure(.unexpectedTag))
    }

    @Test func `peeking reads nothing, and is nil at the end and at a malformed tag`() throws {
        let bytes = hex("9F 1F 00 1F 80")
        var cursor = ASN1Cursor(bytes.span)
        #expect(cursor.peekTag() == .context(31, constructed: false))
        #expect(cursor.offset == 0)
        _ = try cursor.read()
        #expect(cursor.peekTag() == nil)
        #expect(cursor.remainingCount == 2)
    }

    @Test func `a million nested headers cost no stack`() throws {
        let bytes = [UInt8](repeating: 0x30, count: 1 << 20)
        var cursor = ASN1Cursor(bytes.span)
        var depth = 0
        // 30 30: a SEQUENCE of 48 bytes in a SEQUENCE of 48 bytes, which cannot be.
        while true {
            guard let element = try? cursor.read() else { break }
            cursor = element.contents
            depth += 1
        }
        #expect(depth == 1)
    }
}

@Suite struct ASN1TagTests {
    @Test func `a tag keeps class, form and number`() {
        for tagClass in [ASN1Tag.Class.universal, .application, .contextSpecific, .private] {
            for number in [0, 1, 30, 31, 127, 128, 16383, 16384, ASN1Tag.maximumNumber] {
                for constructed in [false, true] {
                    let tag = ASN1Tag(tagClass, number, constructed: constructed)
                    #expect(tag.tagClass == tagClass && tag.number == number && tag.isConstructed == constructed)
                    #expect(tag.asConstructed.asPrimitive == tag.asPrimitive)
                    // Through the writer and back.
                    let bytes = ASN1Writer.encode { writer in writer.write(tag, content: [1].span) }
                    guard tag != .endOfContents, tag != ASN1Tag(.universal, 0, constructed: true) else { continue }
                    #expect(outcome(bytes) { (element) throws(ASN1DecodingError) in element.tag } == .success(tag))
                }
            }
        }
    }

    @Test func `descriptions are those of X.680`() {
        #expect(ASN1Tag.octetString.description == "OCTET STRING")
        #expect(ASN1Tag.context(3).description == "[3]")
        #expect(ASN1Tag(.application, 40).description == "[APPLICATION 40]")
        #expect(ASN1Tag(.private, 1).description == "[PRIVATE 1]")
        #expect(ASN1Tag(.universal, 99).description == "[UNIVERSAL 99]")
    }

    @Test func `all elements are read, or none after an error`() {
        var counts: [Int] = []
        func readAll(_ text: String) -> Kind? {
            counts = []
            let result = decode(hex(text)) { (cursor) throws(ASN1DecodingError) in
                try cursor.readAll { (element) throws(ASN1DecodingError) in
                    counts.append(element.contentCount)
                    guard element.tag != .null else { throw element.error(.unexpectedTag) }
                }
            }
            guard case .failure(let kind) = result else { return nil }
            return kind
        }
        for (text, kind, expected) in [
            ("", nil, []), ("02 01 05 04 00", nil, [1, 0]), ("02 01 05 05 00 04 00", .unexpectedTag, [1, 0]),
            ("02 01 05 04 01", .truncated, [1]),
        ] as [(String, Kind?, [Int])] {
            #expect(readAll(text) == kind)
            #expect(counts == expected)
        }
    }
}
