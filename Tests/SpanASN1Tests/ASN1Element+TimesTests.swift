import SpanASN1
import TestSupport
import Testing

@Suite struct TimeTests {
    private func time(_ tag: UInt8, _ text: String, _ relaxations: ASN1Relaxations = []) -> Result<String, Kind> {
        outcome(tlv(tag, text), relaxations) { (element) throws(ASN1DecodingError) in try element.time().description }
    }

    @Test(arguments: [
        ("991231235959Z", "1999-12-31T23:59:59Z"), ("500101000000Z", "1950-01-01T00:00:00Z"),
        ("491231235959Z", "2049-12-31T23:59:59Z"), ("000229000000Z", "2000-02-29T00:00:00Z"),
        ("700101000000Z", "1970-01-01T00:00:00Z"), ("691231235959Z", "1969-12-31T23:59:59Z"),
    ])
    func `a UTCTime lies in 1950 to 2049`(row: (String, String)) {
        #expect(time(0x17, row.0) == .success(row.1))
    }

    @Test(arguments: [
        "", "Z", "991231235959", "9912312359Z", "991231235960Z", "991231236059Z", "991231245959Z", "991331235959Z",
        "990031235959Z",
        "991200235959Z", "991232235959Z", "990229000000Z", "000230000000Z", "990431000000Z", "991231235959z",
        "991231235959+0000",
        "991231235959.5Z", "99123123595 Z", "-91231235959Z", "991231235959ZZ", "9912312359599Z", "９91231235959Z",
    ])
    func `a UTCTime of another form or of no such moment is refused`(text: String) {
        #expect(time(0x17, text) == .failure(.invalidTime))
    }

    @Test(arguments: [
        ("20200401040739Z", "2020-04-01T04:07:39Z"), ("20200401040739.1Z", "2020-04-01T04:07:39.100Z"),
        ("20200401040739.12Z", "2020-04-01T04:07:39.120Z"), ("20200401040739.001Z", "2020-04-01T04:07:39.001Z"),
        ("20200401040739.9999999999999999999999999Z", "2020-04-01T04:07:39.999Z"),
        ("20200401040739.0001Z", "2020-04-01T04:07:39Z"), ("00000101000000Z", "0000-01-01T00:00:00Z"),
        ("99991231235959Z", "9999-12-31T23:59:59Z"), ("20000229000000Z", "2000-02-29T00:00:00Z"),
    ])
    func `a GeneralizedTime may have a fraction, of which milliseconds are kept`(row: (String, String)) {
        #expect(time(0x18, row.0) == .success(row.1))
    }

    @Test(arguments: [
        "", "20200401040739", "202004010407Z", "2020040104Z", "20200401040739.Z", "20200401040739.0Z",
        "20200401040739.10Z",
        "20200401040739,1Z", "20200401040739.1", "20200401040739.1+0000", "20200401040739+0000", "19000229000000Z",
        "21000229000000Z",
        "20200401040760Z", "20200401046039Z", "20200401240000Z", "20201301000000Z", "200401040739Z",
        "20200401040739.1aZ", "20200401040739.-1Z",
    ])
    func `a GeneralizedTime of another form or of no such moment is refused`(text: String) {
        #expect(time(0x18, text) == .failure(.invalidTime))
    }

    @Test(arguments: [
        (0x17 as UInt8, "9912312359Z", "1999-12-31T23:59:00Z"), (0x17, "991231235959+0100", "1999-12-31T22:59:59Z"),
        (0x17, "9912312359-0030", "2000-01-01T00:29:00Z"), (0x18, "20200401040739.50Z", "2020-04-01T04:07:39.500Z"),
        (0x18, "20200401040739,5Z", "2020-04-01T04:07:39.500Z"), (0x18, "202004010407Z", "2020-04-01T04:07:00Z"),
        (0x18, "20200401040739+0130", "2020-04-01T02:37:39Z"), (0x18, "20200401040739-02", "2020-04-01T06:07:39Z"),
    ])
    func `a relaxation allows BER's times with a zone`(row: (UInt8, String, String)) {
        #expect(time(row.0, row.1, .nonCanonicalTimes) == .success(row.2))
        #expect(time(row.0, row.1) == .failure(.invalidTime))
    }

    @Test(arguments: [
        (0x17 as UInt8, "991231235959"), (0x17, "991231235959+2400"), (0x17, "991231235959+0060"),
        (0x17, "991231235959+01000"),
        (0x17, "991231235959+"), (0x17, "991231235959.5Z"), (0x18, "20200401040739"), (0x18, "20200401040739.Z"),
        (0x18, "00000101000000+0100"), (0x18, "99991231235959-0100"), (0x18, "2020040104Z"), (0x18, "202004010407.5Z"),
    ])
    func `even then a time needs a zone, a minute and a year of four digits`(row: (UInt8, String)) {
        #expect(time(row.0, row.1, .nonCanonicalTimes) == .failure(.invalidTime))
    }

    @Test func `Time is either type and nothing else`() {
        #expect(time(0x16, "991231235959Z") == .failure(.unexpectedTag))
        #expect(time(0x37, "991231235959Z") == .failure(.constructedString))
        let other = outcome(tlv(0x17, "20200401040739Z")) { (element) throws(ASN1DecodingError) in
            try element.generalizedTime().secondsSince1970
        }
        #expect(other == .failure(.unexpectedTag))
        let implicit = outcome(tlv(0x80, "991231235959Z")) { (element) throws(ASN1DecodingError) in
            try element.utcTime(tagged: .context(0)).secondsSince1970
        }
        #expect(implicit == .success(946_684_799))
    }
}
