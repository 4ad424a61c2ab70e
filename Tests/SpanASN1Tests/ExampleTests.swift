import Foundation
import Instants
import SpanASN1
import TestSupport
import Testing

// Three formats that are read and written with the module, as its users do.

struct CertificateRequest {
    var subject: [(type: ASN1ObjectIdentifier, value: String)] = []
    var keyAlgorithm: ASN1ObjectIdentifier?

    init(der: Span<UInt8>) throws(ASN1DecodingError) {
        try ASN1Cursor.decode(der) { (file) throws(ASN1DecodingError) in
            try file.read(.sequence) { (request) throws(ASN1DecodingError) in
                try request.read(.sequence) { (info) throws(ASN1DecodingError) in
                    let version = try info.read(.integer)
                    guard try version.integer() == 0 else { throw version.error(.unexpectedValue) }
                    try info.read(.sequence) { (name) throws(ASN1DecodingError) in
                        while !name.isAtEnd { try readNamePart(&name) }
                    }
                    keyAlgorithm = try info.read(.sequence) { (key) throws(ASN1DecodingError) in
                        var algorithm = try key.read(.sequence).contents
                        _ = try key.read(.bitString).bitString()
                        return try algorithm.read(.objectIdentifier).objectIdentifier()
                    }
                    _ = try info.read(.context(0))
                }
                _ = try request.read(.sequence)
                _ = try request.read(.bitString)
            }
        }
    }

    private mutating func readNamePart(_ name: inout ASN1Cursor) throws(ASN1DecodingError) {
        try name.readSet(isSorted: true) { (attribute) throws(ASN1DecodingError) in
            try attribute.decode(.sequence) { (attribute) throws(ASN1DecodingError) in
                subject.append(
                    (try attribute.read(.objectIdentifier).objectIdentifier(), try attribute.read().string()))
            }
        }
    }
}

func encode(label: String?, tags: [String], at time: Instant) throws(ASN1EncodingError) -> [UInt8] {
    try ASN1Writer.encode { (file) throws(ASN1EncodingError) in
        try file.write(.sequence) { (record) throws(ASN1EncodingError) in
            record.writeInteger(1)
            if let label {
                record.writeExplicit(0) { writer in writer.writeUTF8String(label) }
            }
            record.writeSet { set in
                for tag in tags { set.writeUTF8String(tag, tagged: .printableString) }
            }
            try record.writeGeneralizedTime(time)
        }
    }
}

func outline(of bytes: Span<UInt8>) throws(ASN1DecodingError) -> [String] {
    var walker = ASN1Walker(bytes, rules: .ber, limits: ASN1Limits(maximumDepth: 32))
    var lines: [String] = []
    while let element = try walker.next() {
        lines.append(String(repeating: "  ", count: element.depth) + "\(element.tag) at \(element.offset)")
    }
    return lines
}

@Suite struct ExampleTests {
    /// `openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/C=DE/O=Example
    /// GmbH/CN=mail.example.com" -utf8 -outform DER | base64`
    private static let request = """
        MIH7MIGhAgEAMD8xCzAJBgNVBAYTAkRFMRUwEwYDVQQKDAxFeGFtcGxlIEdtYkgxGTAXBgNVBAMMEG1haWwuZXhhbXBsZS5jb20w
        WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASdcNBDKWWhVWkc4/wYyUuZd6ONC1ONsp2lbcj13Cmkxi388KrBppUmtHprEoUyGXmz
        qPHSI4KJjPdcTizQevnHoAAwCgYIKoZIzj0EAwIDSQAwRgIhAOKiAHLixqjMNbKjajVaPAHmayqTSpNjyxPpCLRLBvudAiEAsob3
        EsV72e7shqePZ42ca7GxuyaR31D1wS7ZdK6c0EI=
        """

    private func requestBytes() throws -> [UInt8] {
        [UInt8](try #require(Data(base64Encoded: Self.request, options: .ignoreUnknownCharacters)))
    }

    @Test func `a certificate request is read`() throws {
        let bytes = try requestBytes()
        let request = try CertificateRequest(der: bytes.span)
        #expect(request.subject.map(\.value) == ["DE", "Example GmbH", "mail.example.com"])
        #expect(request.subject.map(\.type.description) == ["2.5.4.6", "2.5.4.10", "2.5.4.3"])
        #expect(request.keyAlgorithm == ASN1ObjectIdentifier("1.2.840.10045.2.1"))
    }

    @Test func `every shortened or lengthened request is refused`() throws {
        let bytes = try requestBytes()
        for count in bytes.indices {
            let isRead = (try? CertificateRequest(der: bytes.span.extracting(..<count))) != nil
            #expect(!isRead)
        }
        let longer = bytes + [0]
        do {
            _ = try CertificateRequest(der: longer.span)
            Issue.record("accepted")
        } catch {
            #expect(error == ASN1DecodingError(.trailingData, offset: bytes.count))
        }
    }

    @Test func `a record is written, and outlined`() throws {
        let time = try #require(Instant(year: 2024, month: 2, day: 29, millisecond: 500))
        let bytes = try encode(label: "Käse", tags: ["b", "a"], at: time)
        #expect(
            bytes
                == tlv(
                    0x30,
                    hex("02 01 01 A0 07 0C 05 4B C3 A4 73 65 31 06 13 01 61 13 01 62") + tlv(0x18, "20240229000000.5Z"))
        )
        #expect(
            try outline(of: bytes.span) == [
                "SEQUENCE at 0", "  INTEGER at 2", "  [0] at 5", "    UTF8String at 7", "  SET at 14",
                "    PrintableString at 16", "    PrintableString at 19", "  GeneralizedTime at 22",
            ])
    }
}
