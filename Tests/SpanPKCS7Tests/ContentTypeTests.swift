import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

@Suite struct ContentTypeTests {
    @Test func `a type is known by its identifier and back`() {
        for type in ContentType.allCases { #expect(ContentType(type.objectIdentifier) == type) }
        #expect(Set(ContentType.allCases.map(\.objectIdentifier)).count == ContentType.allCases.count)
        #expect(ContentType(.sha256) == nil)
    }

    @Test(arguments: [(0x06, .signedData), (0x04, nil), (0x0D, nil), (0x86, nil)] as [(UInt8, ContentType?)])
    func `an identifier's bytes in another element are none`(tag: UInt8, type: ContentType?) throws {
        let bytes = tlv(tag, ASN1ObjectIdentifier.signedData.content)
        var cursor = ASN1Cursor(bytes.span)
        let found = ContentType(try cursor.read())
        #expect(found == type)
    }

    @Test(arguments: [
        (ContentType.data, "1.2.840.113549.1.7.1"), (.signedData, "1.2.840.113549.1.7.2"),
        (.envelopedData, "1.2.840.113549.1.7.3"), (.signedAndEnvelopedData, "1.2.840.113549.1.7.4"),
        (.digestedData, "1.2.840.113549.1.7.5"), (.encryptedData, "1.2.840.113549.1.7.6"),
        (.receipt, "1.2.840.113549.1.9.16.1.1"), (.authenticatedData, "1.2.840.113549.1.9.16.1.2"),
        (.timestampInfo, "1.2.840.113549.1.9.16.1.4"), (.compressedData, "1.2.840.113549.1.9.16.1.9"),
        (.authEnvelopedData, "1.2.840.113549.1.9.16.1.23"), (.spcIndirectData, "1.3.6.1.4.1.311.2.1.4"),
        (.certificateTrustList, "1.3.6.1.4.1.311.10.1"),
    ])
    func `identifiers are the registered ones`(type: ContentType, identifier: String) {
        #expect(type.objectIdentifier.description == identifier)
    }

    @Test(arguments: [
        ("type-data", ContentType.data), ("type-digestedData", .digestedData), ("type-envelopedData", .envelopedData),
        ("type-authEnvelopedData", .authEnvelopedData), ("type-encryptedData", .encryptedData),
        ("rsa-sha256", .signedData),
    ])
    func `a message of OpenSSL's is known by its type, and its content stays raw`(file: String, type: ContentType)
        throws
    {
        let bytes = try OpenSSLFiles.bytes(file + ".der")
        let message = try ContentInfo(bytes.span)
        let known = message.type
        #expect(known == type)
        let end = message.content?.contentRange.upperBound
        #expect(end == bytes.count)
        guard type != .signedData else { return }
        #expect(
            failure { () throws(ASN1DecodingError) in _ = try SignedData(ContentInfo(bytes.span)) }?.kind
                == .unexpectedValue)
    }
}
