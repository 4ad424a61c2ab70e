import SpanASN1
import TestSupport
import Testing

@Suite struct StructureTests {
    @Test func `an OPTIONAL structure is read, or nothing is`() {
        func read(_ text: String) -> Result<[Int?], Kind> {
            decode(hex(text)) { (cursor) throws(ASN1DecodingError) in
                let first = try cursor.readIfPresent(.context(0)) { (cursor) throws(ASN1DecodingError) in
                    try cursor.read().integer()
                }
                let second = try cursor.readIfPresent(.integer)?.integer() as Int?
                return [first, second]
            }
        }
        #expect(read("A0 03 02 01 05 02 01 06") == .success([5, 6]))
        #expect(read("02 01 06") == .success([nil, 6]))
        #expect(read("A0 03 02 01 05") == .success([5, nil]))
        #expect(read("") == .success([nil, nil]))
        #expect(read("A0 06 02 01 05 02 01 06") == .failure(.trailingData))
        #expect(read("A1 03 02 01 05") == .failure(.trailingData))
        #expect(read("A0 05 02 01 05") == .failure(.truncated))
    }

    @Test func `an explicit tag holds one element`() {
        func read(_ text: String) -> Result<Int?, Kind> {
            decode(hex(text)) { (cursor) throws(ASN1DecodingError) in try cursor.readExplicitIfPresent(1)?.integer() }
        }
        #expect(read("A1 03 02 01 05") == .success(5))
        #expect(read("") == .success(nil))
        #expect(read("A1 00") == .failure(.missingElement))
        #expect(read("A1 06 02 01 05 02 01 06") == .failure(.trailingData))
        #expect(read("81 01 05") == .failure(.trailingData))
        let required = decode(hex("02 01 05")) { (cursor) throws(ASN1DecodingError) in try cursor.readExplicit(1).tag }
        #expect(required == .failure(.unexpectedTag))
        let nested = decode(hex("A1 06 02 01 05 02 01 06")) { (cursor) throws(ASN1DecodingError) in
            try cursor.readExplicit(1) { (cursor) throws(ASN1DecodingError) in
                try [cursor.read().integer(), cursor.read().integer()] as [Int]
            }
        }
        #expect(nested == .success([5, 6]))
    }

    @Test func `a DEFAULT value is not encoded`() {
        func read(_ text: String, _ relaxations: ASN1Relaxations = []) -> Result<Bool, Kind> {
            decode(hex(text), relaxations) { (cursor) throws(ASN1DecodingError) in
                try cursor.read(.boolean, default: false) { (element) throws(ASN1DecodingError) in try element.boolean()
                }
            }
        }
        #expect(read("") == .success(false))
        #expect(read("01 01 FF") == .success(true))
        #expect(read("01 01 00") == .failure(.unexpectedValue))
        #expect(read("01 01 00", .encodedDefaults) == .success(false))
        #expect(read("01 01 01", .encodedDefaults) == .failure(.invalidBoolean))
    }

    @Test(arguments: [
        ("31 00", [], true), ("31 03 02 01 05", [1], true), ("31 06 02 01 05 02 01 06", [1, 1], true),
        ("31 06 02 01 05 02 01 05", [1, 1], true), ("31 06 02 01 06 02 01 05", [1, 1], false),
        ("31 07 02 02 01 00 02 01 06", [2, 1], false), ("31 07 02 01 06 02 02 01 00", [1, 2], true),
        ("31 05 05 00 02 01 05", [0, 1], false), ("31 05 02 01 FF 05 00", [1, 0], true),
    ])
    func `a SET OF is in order of its elements' encodings, where asked`(row: (String, [Int], Bool)) {
        func read(_ isSorted: Bool) -> Result<[Int], Kind> {
            decode(hex(row.0)) { (cursor) throws(ASN1DecodingError) in
                var counts: [Int] = []
                try cursor.readSet(isSorted: isSorted) { (element) throws(ASN1DecodingError) in
                    counts.append(element.contentCount)
                }
                return counts
            }
        }
        #expect(read(false) == .success(row.1))
        #expect(read(true) == (row.2 ? .success(row.1) : .failure(.unsortedSet)))
    }

    @Test func `an unsorted SET OF is refused at the first element out of order`() {
        let bytes = hex("A0 09 02 01 05 02 01 07 02 01 06")
        var seen = 0
        let (error, _) = failure(bytes.span) { (cursor) throws(ASN1DecodingError) in
            try cursor.readSet(.context(0), isSorted: true) { (_) throws(ASN1DecodingError) in seen += 1 }
        }
        #expect(error == ASN1DecodingError(.unsortedSet, offset: 8))
        #expect(seen == 2)
    }
}

@Suite struct ASN1RelaxationsTests {
    @Test func `relaxations go on to sub-cursors, and DER is the default`() {
        // A SEQUENCE with a long length around a [0] with a long length around a BOOLEAN of 1.
        let bytes = hex("30 81 06 A0 81 03 01 01 01")
        func read(_ relaxations: ASN1Relaxations) -> Result<Bool, Kind> {
            decode(bytes, relaxations) { (cursor) throws(ASN1DecodingError) in
                try cursor.read(.sequence) { (cursor) throws(ASN1DecodingError) in try cursor.readExplicit(0).boolean()
                }
            }
        }
        #expect(read([.nonMinimalLengths, .nonCanonicalBooleans]) == .success(true))
        #expect(read(.nonMinimalLengths) == .failure(.invalidBoolean))
        #expect(read(.nonCanonicalBooleans) == .failure(.nonMinimalLength))
    }

    @Test(arguments: [("04 81 01 05", 3), ("04 84 00 00 00 01 05", 6), ("04 88 00 00 00 00 00 00 00 01 05", 10)])
    func `a relaxation allows lengths of any form, but no others`(row: (String, Int)) {
        let read = outcome(hex(row.0), .nonMinimalLengths) { (element) throws(ASN1DecodingError) in
            [element.headerCount, element.contentCount]
        }
        #expect(read == .success([row.1, 1]))
        #expect(
            outcome(hex(row.0)) { (element) throws(ASN1DecodingError) in element.tag } == .failure(.nonMinimalLength))
    }

    @Test func `a length of 126 octets is read, and neither 0xFF nor an indefinite one is relaxed`() {
        let long = [0x04, 0xFE] + [UInt8](repeating: 0, count: 125) + [0x01, 0x05]
        let read = outcome(long, .nonMinimalLengths) { (element) throws(ASN1DecodingError) in
            [element.headerCount, Int(element.content[0])]
        }
        #expect(read == .success([128, 5]))
        for (text, kind) in [("04 FF", Kind.invalidLength), ("30 80 00 00", .indefiniteLength)] {
            let refused = outcome(hex(text), .nonMinimalLengths) { (element) throws(ASN1DecodingError) in element.tag }
            #expect(refused == .failure(kind))
        }
    }
}
