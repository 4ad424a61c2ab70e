import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

@Suite struct DistinguishedNameTests {
    private static func attribute(_ type: [UInt8], _ value: [UInt8]) -> [UInt8] { tlv(0x30, tlv(0x06, type) + value) }
    private static func name(_ sets: [[UInt8]]...) -> [UInt8] {
        tlv(0x30, sets.map { tlv(0x31, Array($0.joined())) }.flatMap { $0 })
    }
    private static func commonName(_ text: String) -> [UInt8] {
        name([attribute([0x55, 0x04, 0x03], tlv(0x0C, Array(text.utf8)))])
    }

    @Test(
        arguments: [
            (name(), ""),
            (commonName("Käse"), "CN=Käse"),
            (
                name(
                    [attribute([0x55, 0x04, 0x06], tlv(0x13, Array("DE".utf8)))],
                    [attribute([0x55, 0x04, 0x0A], tlv(0x0C, Array("A, B".utf8)))]),
                #"O=A\, B,C=DE"#
            ),
            (
                name([
                    attribute([0x55, 0x04, 0x03], tlv(0x0C, [0x61])), attribute([0x2A, 0x03], tlv(0x0C, [0x62])),
                ]), "CN=a+1.2.3=b"
            ),
            (commonName(" #x "), #"CN=\ #x\ "#), (commonName("#x"), "CN=\\#x"), (commonName("a b"), "CN=a b"),
            (commonName(##""+;<>\"##), ##"CN=\"\+\;\<\>\\"##),
            // A newline, an escape sequence, a mark that turns the direction of writing.
            (commonName("a\nb"), #"CN=a\0Ab"#), (commonName("\u{1B}[31m"), #"CN=\1B[31m"#),
            (commonName("\u{202E}x"), #"CN=\E2\80\AEx"#),
            (name([attribute([0x55, 0x04, 0x03], [0x05, 0x00])]), "CN=#0500"),
            // Invalid UTF-8 is no string.
            (name([attribute([0x55, 0x04, 0x03], [0x0C, 0x01, 0xFF])]), "CN=#0c01ff"),
        ] as [([UInt8], String)])
    func `a name reads as in RFC 4514, and cannot deceive a terminal`(bytes: [UInt8], text: String) throws {
        let result = try ASN1Cursor.decode(bytes.span) { (input) throws(ASN1DecodingError) in
            try input.read().distinguishedName()
        }
        #expect(result == text)
    }

    @Test(
        arguments: [
            ([0x31, 0x00], .unexpectedTag), ([0x30, 0x02, 0x30, 0x00], .unexpectedTag),
            ([0x30, 0x02, 0x31, 0x00], .missingElement), ([0x30, 0x04, 0x31, 0x02, 0x30, 0x00], .missingElement),
        ] as [([UInt8], ASN1DecodingError.Kind)])
    func `what is no name is refused`(bytes: [UInt8], kind: ASN1DecodingError.Kind) {
        let error = failure { () throws(ASN1DecodingError) in
            _ = try ASN1Cursor.decode(bytes.span) { (input) throws(ASN1DecodingError) in
                try input.read().distinguishedName()
            }
        }
        #expect(error?.kind == kind)
    }
}
