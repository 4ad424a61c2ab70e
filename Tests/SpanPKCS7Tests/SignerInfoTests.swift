import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

@Suite struct SignerInfoTests {
    /// Reads the only signer of a message that has nothing else.
    private func read(_ bytes: Span<UInt8>) throws(ASN1DecodingError) { _ = try SignedData(ContentInfo(bytes)) }

    private static let key = Node("s.sid", 0x80, [0x0A, 0x0B, 0x0C])
    private static let message: Node = {
        var message = Node.message
        _ = message.change("signerInfos") { $0[$1].children = [.signerInfo("s.")] }
        return message
    }()

    @Test(arguments: [(0x30, true), (0xA0, false), (0xA1, false), (0xA2, false), (0xA3, false)] as [(UInt8, Bool)])
    func `a certificate of another kind is no signer's, whatever is in it`(tag: UInt8, isNamed: Bool) throws {
        let bytes = Self.message.encoded().bytes
        var signers = try SignedData(ContentInfo(bytes.span)).signerInfos
        guard let signer = try signers.next() else {
            Issue.record("no signer")
            return
        }
        var certificate = Node.certificate().encoded().bytes
        certificate[0] = tag
        var cursor = ASN1Cursor(certificate.span)
        let isSame = try signer.signerIdentifier.names(CertificateChoice(&cursor))
        #expect(isSame == isNamed)
    }

    @Test func `every field of a signer is read`() throws {
        let (bytes, places) = Self.message.encoded()
        let message = try SignedData(ContentInfo(bytes.span))
        var signers = message.signerInfos
        guard let signer = try signers.next() else {
            Issue.record("no signer")
            return
        }
        #expect(signer.element.range == places["s.signerInfo"])
        #expect(signer.version == 1)
        #expect(signer.digestAlgorithm.element.range == places["s.digest"])
        let isSHA256 = signer.digestAlgorithm.matches(.sha256)
        #expect(isSHA256)
        #expect(signer.signatureAlgorithm.element.range == places["s.algorithm"])
        let isRSA = signer.signatureAlgorithm.matches(.rsaEncryption)
        #expect(isRSA)
        #expect(signer.signature.range == places["s.signature"])
        #expect(signer.signedAttributes?.element.range == places["s.signedAttrs"])
        #expect(signer.unsignedAttributes?.element.range == places["s.unsignedAttrs"])
        guard case .issuerAndSerialNumber(let name) = signer.signerIdentifier else {
            Issue.record("another identifier")
            return
        }
        #expect(name.issuer.range == places["s.issuer"])
        #expect(name.serialNumber.range == places["s.serial"])
    }

    @Test func `an empty set of unsigned attributes is none where that is let pass, and signed ones never are`() throws
    {
        let empty = Self.message.changed(.content("s.unsignedAttrs", "")).encoded().bytes
        let message = try SignedData(ContentInfo(empty.span), allowing: .emptyUnsignedAttributes)
        var signers = message.signerInfos
        let signer = try signers.next()
        let hasSigner = signer != nil
        let hasAttributes = signer?.unsignedAttributes != nil
        #expect(hasSigner && !hasAttributes)
        let unsigned = Self.message.changed(.content("s.signedAttrs", "")).encoded().bytes
        let error = #expect(throws: ASN1DecodingError.self) {
            _ = try SignedData(ContentInfo(unsigned.span), allowing: .emptyUnsignedAttributes)
        }
        #expect(error?.kind == .missingElement)
    }

    @Test func `attributes and parameters may be absent`() throws {
        var node = Self.message
        for name in ["s.signedAttrs", "s.unsignedAttrs", "s.digest.parameters", "s.algorithm.parameters"] {
            node = node.changed(.remove(name))
        }
        let bytes = node.encoded().bytes
        let message = try SignedData(ContentInfo(bytes.span))
        var signers = message.signerInfos
        guard let signer = try signers.next() else {
            Issue.record("no signer")
            return
        }
        let hasAttributes = signer.signedAttributes != nil || signer.unsignedAttributes != nil
        #expect(!hasAttributes)
        let hasParameters = !signer.digestAlgorithm.hasNullOrAbsentParameters
        #expect(!hasParameters)
    }

    @Test(arguments: [("05 00", true), ("05 01 00", false), ("30 00", false), ("04 00", false)])
    func `parameters that are not NULL are told apart`(row: (String, Bool)) throws {
        let parameters = hex(row.0)
        let node = Self.message.changed(
            .replace("s.digest.parameters", Node("p", parameters[0], Array(parameters.dropFirst(2)))))
        let bytes = node.encoded().bytes
        let message = try SignedData(ContentInfo(bytes.span))
        var signers = message.signerInfos
        let isNull = try signers.next()?.digestAlgorithm.hasNullOrAbsentParameters
        #expect(isNull == row.1)
    }

    @Test(arguments: [
        Fault(.retag("s.signerInfo", 0x31), .unexpectedTag, .start("s.signerInfo"), .signerInfos, 0),
        Fault(
            .replace("s.version", Node("s.version", 0x02, [3])), .unexpectedValue, .start("s.version"), .signerInfos, 0),
        Fault(.replace("s.sid", key), .unexpectedValue, .start("s.version"), .signerInfos, 0),
        Fault(.content("s.version", ""), .invalidInteger, .start("s.version"), .signerInfos, 0),
        Fault(.remove("s.sid"), .unexpectedTag, .start("s.digest.algorithm"), .signerInfos, 0),
        Fault(.double("s.sid"), .unexpectedTag, .start("s.issuer"), .signerInfos, 0),
        Fault(.retag("s.sid", 0x31), .unexpectedTag, .start("s.sid"), .signerInfos, 0),
        Fault(.retag("s.sid", 0xA0), .unexpectedTag, .start("s.sid"), .signerInfos, 0),
        Fault(.retag("s.sid", 0x81), .unexpectedTag, .start("s.sid"), .signerInfos, 0),
        Fault(.remove("s.issuer"), .unexpectedTag, .start("s.serial"), .signerInfos, 0),
        Fault(.remove("s.serial"), .missingElement, .end("s.sid"), .signerInfos, 0),
        Fault(.double("s.serial"), .trailingData, .start("s.serial'"), .signerInfos, 0),
        Fault(.content("s.serial", "00 07"), .invalidInteger, .start("s.serial"), .signerInfos, 0),
        Fault(.remove("s.digest"), .unexpectedTag, .start("s.signedAttrs"), .signerInfos, 0),
        Fault(
            .content("s.digest.algorithm", "80 01"), .invalidObjectIdentifier, .start("s.digest.algorithm"),
            .signerInfos, 0
        ),
        Fault(.content("s.signedAttrs", ""), .missingElement, .start("s.signedAttrs"), .signedAttributes),
        Fault(.retag("s.type", 0x31), .unexpectedTag, .start("s.type"), .signedAttributes),
        Fault(.remove("s.type.type"), .unexpectedTag, .start("s.type.values"), .signedAttributes),
        Fault(.remove("s.type.values"), .missingElement, .end("s.type"), .signedAttributes),
        Fault(.double("s.type.values"), .trailingData, .start("s.type.values'"), .signedAttributes),
        Fault(.retag("s.type.values", 0x30), .unexpectedTag, .start("s.type.values"), .signedAttributes),
        Fault(.retag("s.signedAttrs", 0xA1), .unexpectedTag, .start("s.signedAttrs"), .signerInfos, 0),
        Fault(.double("s.signedAttrs"), .unexpectedTag, .start("s.signedAttrs'"), .signerInfos, 0),
        Fault(.remove("s.algorithm"), .unexpectedTag, .start("s.signature"), .signerInfos, 0),
        Fault(.remove("s.signature"), .unexpectedTag, .start("s.unsignedAttrs"), .signerInfos, 0),
        Fault(.retag("s.signature", 0x03), .unexpectedTag, .start("s.signature"), .signerInfos, 0),
        Fault(.double("s.signature"), .trailingData, .start("s.signature'"), .signerInfos, 0),
        Fault(.retag("s.signature", 0x24), .constructedString, .start("s.signature"), .signerInfos, 0),
        Fault(.content("s.unsignedAttrs", ""), .missingElement, .start("s.unsignedAttrs"), .unsignedAttributes),
        Fault(.remove("s.time.values"), .missingElement, .end("s.time"), .unsignedAttributes),
        Fault(.retag("s.unsignedAttrs", 0xA2), .trailingData, .start("s.unsignedAttrs"), .signerInfos, 0),
        Fault(.double("s.unsignedAttrs"), .trailingData, .start("s.unsignedAttrs'"), .signerInfos, 0),
    ])
    func `a signer's field that is missing, doubled or another type is refused where it is wrong`(fault: Fault) {
        fault.check(Self.message, read)
    }

    /// PITFALLS 5: the serial number alone, or the first certificate, is not the signer's.
    @Test(
        arguments: [
            ("issuer", [7], true), ("issuer", [8], false), ("issuer", [0, 0x87], false), ("another", [7], false),
            ("issue", [7], false),
        ] as [(String, [UInt8], Bool)])
    func `a signer is named by issuer and serial number together`(row: (String, [UInt8], Bool)) throws {
        let certificateBytes = Node.certificate(serial: row.1, issuer: row.0).encoded().bytes
        let certificate = try Certificate(certificateBytes.span)
        let bytes = Self.message.encoded().bytes
        let message = try SignedData(ContentInfo(bytes.span))
        var signers = message.signerInfos
        guard let signer = try signers.next() else {
            Issue.record("no signer")
            return
        }
        let isNamed = try signer.signerIdentifier.names(certificate)
        #expect(isNamed == row.2)
        var cursor = ASN1Cursor(certificateBytes.span)
        let isChoiceNamed = try signer.signerIdentifier.names(CertificateChoice(&cursor))
        #expect(isChoiceNamed == row.2)
    }

    @Test(arguments: [
        ("0A 0B 0C", true), ("0A 0B", false), ("0A 0B 0D", false), ("", false), ("0A 0B 0C 00", false),
    ])
    func `a signer is named by the key identifier of its certificate`(row: (String, Bool)) throws {
        let node = Self.message.changed(.replace("s.sid", Node("s.sid", 0x80, hex(row.0))))
            .changed(.replace("s.version", Node("s.version", 0x02, [3])))
        let bytes = node.encoded().bytes
        let message = try SignedData(ContentInfo(bytes.span))
        var signers = message.signerInfos
        guard let signer = try signers.next() else { return }
        #expect(signer.version == 3)
        let whole = Node.certificate().encoded().bytes
        let without = Node.certificate().changed(.remove("ski")).encoded().bytes
        let isNamed = try signer.signerIdentifier.names(Certificate(whole.span))
        #expect(isNamed == row.1)
        let isNamedWithout = try signer.signerIdentifier.names(Certificate(without.span))
        #expect(!isNamedWithout)
        let twice = Node.certificate().changed(.double("ski")).encoded().bytes
        let error = failure { () throws(ASN1DecodingError) in
            _ = try signer.signerIdentifier.names(Certificate(twice.span))
        }
        #expect(error?.kind == .duplicateElement)
    }
}
