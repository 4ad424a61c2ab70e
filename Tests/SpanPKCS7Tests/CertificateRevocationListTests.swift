import Instants
import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

@Suite struct CertificateRevocationListTests {
    @Test func `a list of OpenSSL's is read with its entries`() throws {
        let bytes = try OpenSSLFiles.bytes("intermediate.crl.der")
        let list = try CertificateRevocationList(bytes.span)
        #expect(list.version == 2)
        #expect(list.thisUpdate == Instant(year: 2026, month: 1, day: 1))
        #expect(list.nextUpdate == Instant(year: 2027, month: 1, day: 1))
        #expect(try list.issuer.distinguishedName() == "CN=intermediate,O=Messages for tests,C=DE")
        let isSHA256 = list.signatureAlgorithm.matches(.sha256WithRSAEncryption)
        #expect(isSHA256)
        let revoked = try OpenSSLFiles.bytes("revoked.der")
        var certificates = try SignedData(ContentInfo(revoked.span)).certificates
        var serial: [UInt8] = []
        if let signer = try certificates.next() { serial = [UInt8](copying: signer.serialNumber.content) }
        var entries = list.entries
        var serials: [[UInt8]] = []
        while let entry = try entries.next() {
            serials.append([UInt8](copying: entry.serialNumber.content))
            #expect(entry.revocationDate > list.thisUpdate)
        }
        #expect(serials == [serial])
        var extensions = list.extensions
        var identifiers: [String] = []
        while let next = try extensions.next() { identifiers.append(try next.id.objectIdentifier().description) }

        #expect(identifiers == ["2.5.29.35", "2.5.29.20"])
    }

    @Test func `lists in a message are read with it`() throws {
        let bytes = try OpenSSLFiles.bytes("certificates-and-list.der")
        let message = try SignedData(ContentInfo(bytes.span))
        var infos = message.revocationInfos
        var count = 0
        while let info = try infos.next() {
            #expect(info.kind == .crl)
            let isList = try info.revocationList() != nil
            #expect(isList)
            count += 1
        }
        #expect(count == 1)
        #expect(
            failure { () throws(ASN1DecodingError) in
                _ = try SignedData(ContentInfo(bytes.span), maximumRevocationInfoCount: 0)
            }?.kind == .tooManyElements)
    }

    @Test func `another kind of revocation information is no list`() throws {
        let ocsp = tlv(0xA1, [0x06, 0x01, 0x2A] + [0x30, 0])
        var cursor = ASN1Cursor(ocsp.span)
        let info = try RevocationInfoChoice(&cursor)
        #expect(info.kind == .other)
        let isList = try info.revocationList() != nil
        #expect(!isList)
    }

    /// `tbsCertList` and the rest of a list of version 1 without entries, as small as they come.
    private static func list(
        version: [UInt8] = [], signature: [UInt8] = algorithm, times: [UInt8] = time, rest: [UInt8] = [],
        outer: [UInt8] = algorithm, bits: [UInt8] = [3, 1, 0]
    ) -> [UInt8] {
        tlv(0x30, tlv(0x30, version + signature + [0x30, 0] + times + rest) + outer + bits)
    }

    private static let algorithm = tlv(0x30, [0x06, 0x01, 0x2A])
    private static let time = tlv(0x17, Array("260101000000Z".utf8))

    @Test(
        arguments: [
            ("version 1", list(), nil), ("version 2", list(version: [2, 1, 1]), nil),
            ("version 1 written out", list(version: [2, 1, 0]), .unexpectedValue),
            ("version 3", list(version: [2, 1, 2]), .unexpectedValue),
            ("two times", list(times: time + time), nil),
            ("a next update after 2049", list(times: time + tlv(0x18, Array("20500101000000Z".utf8))), nil),
            ("no time", list(times: []), .missingElement),
            ("three times", list(times: time + time + time), .trailingData),
            ("a time that is none", list(times: tlv(0x17, [0x30])), .invalidTime),
            ("no entries in a list of them", list(rest: [0x30, 0]), nil),
            ("another algorithm outside", list(outer: tlv(0x30, [0x06, 0x01, 0x2B])), .unexpectedValue),
            ("a signature of 7 bits", list(bits: [3, 2, 1, 0]), .invalidBitString),
            ("extensions that are empty", list(rest: [0xA0, 2, 0x30, 0]), nil),
            ("two lists of extensions", list(rest: [0xA0, 4, 0x30, 0, 0x30, 0]), .trailingData),
            ("something after the extensions", list(rest: [0xA0, 2, 0x30, 0, 5, 0]), .trailingData),
            ("something after the list", list() + [0], .trailingData),
        ] as [(String, [UInt8], ASN1DecodingError.Kind?)])
    func `a list is as RFC 5280 has it`(case: String, bytes: [UInt8], kind: ASN1DecodingError.Kind?) {
        let error = failure { () throws(ASN1DecodingError) in _ = try CertificateRevocationList(bytes.span) }
        #expect(error?.kind == kind)
    }

    @Test(
        arguments: [
            (tlv(0x30, [2, 1, 7] + time), nil), (tlv(0x30, [2, 1, 7] + time + [0x30, 0]), nil),
            (tlv(0x30, [2, 0] + time), .invalidInteger), (tlv(0x30, [2, 1, 7]), .missingElement),
            (tlv(0x30, [2, 1, 7] + time + [5, 0]), .trailingData),
        ] as [([UInt8], ASN1DecodingError.Kind?)])
    func `an entry is read when it is asked for`(entry: [UInt8], kind: ASN1DecodingError.Kind?) throws {
        let bytes = Self.list(rest: tlv(0x30, entry))
        let list = try CertificateRevocationList(bytes.span)
        let error = failure { () throws(ASN1DecodingError) in
            var entries = list.entries
            while try entries.next() != nil {}
        }
        #expect(error?.kind == kind)
    }
}
