import SpanASN1
import Testing

@Test func `short and long headers are read`() throws {
    let bytes: [UInt8] = [0x30, 0x03, 0x02, 0x01, 0x05]
    let n = try ASN1Cursor.decode(bytes.span) { (c) throws(ASN1DecodingError) in
        try c.read(.sequence) { (c) throws(ASN1DecodingError) in try c.read(.integer).contentCount }
    }
    #expect(n == 1)
    #expect(Timestamp(year: 2020, month: 4, day: 1, hour: 4, minute: 7, second: 39)?.millisecondsSince1970 == 1585714059000)
    #expect(Timestamp(millisecondsSince1970: 1585714059000).description == "2020-04-01T04:07:39Z")
}
