import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

@Suite struct CertificateTests {
    private func read(_ bytes: Span<UInt8>) throws(ASN1DecodingError) { _ = try Certificate(bytes) }

    @Test func `every field of a certificate is read`() throws {
        let (bytes, places) = Node.certificate().encoded()
        let certificate = try Certificate(bytes.span)
        #expect(certificate.element.range == places["certificate"])
        #expect(certificate.tbsCertificate.range == places["tbs"])
        #expect(certificate.version == 3)
        #expect(certificate.serialNumber.range == places["serial"])
        #expect(certificate.issuer.range == places["issuer"])
        #expect(certificate.subject.range == places["subject"])
        #expect(certificate.signatureAlgorithm.element.range == places["outer"])
        let isSHA256 = certificate.signatureAlgorithm.matches(.sha256WithRSAEncryption)
        #expect(isSHA256)
        #expect(certificate.signatureValue.range == places["signature"])
        #expect(certificate.subjectPublicKeyInfo.element.range == places["key"])
        #expect(certificate.subjectPublicKeyInfo.subjectPublicKey.range == places["key.bits"])
        #expect(certificate.isSelfIssued == false)
        // 2024-02-29T23:59:59Z, 2050-01-01T00:00:00Z
        let validity = try certificate.validity()
        #expect(validity.lowerBound.millisecondsSince1970 == 1_709_251_199_000)
        #expect(validity.upperBound.millisecondsSince1970 == 2_524_608_000_000)
        let usage = try certificate.keyUsage()
        #expect(usage == .digitalSignature)
        guard let subjectKey = try certificate.subjectKeyIdentifier(),
            let authorityKey = try certificate.authorityKeyIdentifier()
        else {
            Issue.record("no key identifiers")
            return
        }
        #expect([UInt8](copying: subjectKey) == [0x0A, 0x0B, 0x0C])
        #expect([UInt8](copying: authorityKey) == [1, 2])
        var extensions = certificate.extensions
        var flags: [Bool] = []
        while let next = try extensions.next() { flags.append(next.isCritical) }
        #expect(flags == [false, true, false])
    }

    @Test func `a certificate without version and extensions is one of version 1`() throws {
        let bytes = Node.certificate().changed(.remove("version")).changed(.remove("extensions.tag")).encoded().bytes
        let certificate = try Certificate(bytes.span)
        #expect(certificate.version == 1)
        var extensions = certificate.extensions
        let isEmpty = try extensions.next() == nil
        let usage = try certificate.keyUsage()
        let hasKeyIdentifiers =
            try certificate.subjectKeyIdentifier() != nil || certificate.authorityKeyIdentifier() != nil
        #expect(isEmpty && usage == nil && !hasKeyIdentifiers)
    }

    @Test func `unique identifiers are passed over`() throws {
        var node = Node.certificate()
        _ = node.change("key") { nodes, index in
            nodes.insert(contentsOf: [Node("one", 0x81, [0]), Node("two", 0x82, [0])], at: index + 1)
        }
        let bytes = node.encoded().bytes
        let version = try Certificate(bytes.span).version
        #expect(version == 3)
    }

    @Test(arguments: [
        Fault(.retag("certificate", 0x31), .unexpectedTag, .start("certificate")),
        Fault(.retag("tbs", 0x31), .unexpectedTag, .start("tbs")),
        Fault(.remove("tbs"), .unexpectedTag, .start("signature")),
        Fault(.remove("outer"), .unexpectedTag, .start("signature")),
        Fault(.remove("signature"), .missingElement, .end("certificate")),
        Fault(.double("signature"), .trailingData, .start("signature'")),
        Fault(.retag("signature", 0x04), .unexpectedTag, .start("signature")),
        Fault(.retag("signature", 0x23), .constructedString, .start("signature")),
        Fault(.content("signature", "01 02"), .invalidBitString, .start("signature")),
        Fault(.content("signature", ""), .invalidBitString, .start("signature")),
        Fault(.remove("version.number"), .missingElement, .end("version")),
        Fault(.double("version.number"), .trailingData, .start("version.number'")),
        Fault(.content("version.number", "03"), .unexpectedValue, .start("version.number")),
        Fault(.content("version.number", "FF"), .unexpectedValue, .start("version.number")),
        Fault(.retag("version", 0xA1), .unexpectedTag, .start("version")),
        Fault(.double("version"), .unexpectedTag, .start("version'")),
        Fault(.remove("serial"), .unexpectedTag, .start("inner")),
        Fault(.content("serial", ""), .invalidInteger, .start("serial")),
        Fault(.content("serial", "00 01"), .invalidInteger, .start("serial")),
        Fault(.remove("inner"), .unexpectedTag, .start("issuer.set")),
        Fault(.remove("inner.parameters"), .unexpectedValue, .start("outer")),
        Fault(.replace("inner", .algorithm("inner", .sha1WithRSAEncryption)), .unexpectedValue, .start("outer")),
        Fault(.replace("outer", .algorithm("outer", .md5WithRSAEncryption)), .unexpectedValue, .start("outer")),
        Fault(.retag("issuer", 0x31), .unexpectedTag, .start("issuer")),
        Fault(.retag("validity", 0x31), .unexpectedTag, .start("validity")),
        Fault(.retag("subject", 0x31), .unexpectedTag, .start("subject")),
        Fault(.retag("key", 0x31), .unexpectedTag, .start("key"), .subjectPublicKeyInfo),
        Fault(.remove("key.bits"), .missingElement, .end("key"), .subjectPublicKeyInfo),
        Fault(.double("key.bits"), .trailingData, .start("key.bits'"), .subjectPublicKeyInfo),
        Fault(.content("key.bits", "01 02"), .invalidBitString, .start("key.bits"), .subjectPublicKeyInfo),
        Fault(
            .content("key.algorithm.algorithm", "80"), .invalidObjectIdentifier, .start("key.algorithm.algorithm"),
            .subjectPublicKeyInfo),
        Fault(.remove("extensions"), .missingElement, .end("extensions.tag")),
        Fault(.double("extensions"), .trailingData, .start("extensions'")),
        Fault(.retag("extensions", 0x31), .unexpectedTag, .start("extensions")),
        Fault(.retag("extensions.tag", 0xA4), .trailingData, .start("extensions.tag")),
        Fault(.double("extensions.tag"), .trailingData, .start("extensions.tag'")),
    ])
    func `a certificate's field that is missing, doubled or another type is refused where it is wrong`(fault: Fault) {
        fault.check(.certificate(), read)
    }

    @Test func `bytes after a certificate, and every byte less in it, are refused`() {
        let bytes = Node.certificate().encoded().bytes
        let trailing = failure { () throws(ASN1DecodingError) in try read((bytes + [0]).span) }
        #expect(trailing == ASN1DecodingError(.trailingData, offset: bytes.count))
        for count in bytes.indices {
            #expect(failure { () throws(ASN1DecodingError) in try read(bytes.span.extracting(..<count)) } != nil)
        }
    }

    @Test(arguments: [
        Fault(.content("notBefore", "32 34 30 32 33 30 32 33 35 39 35 39 5A"), .invalidTime, .start("notBefore")),
        Fault(.retag("notBefore", 0x16), .unexpectedTag, .start("notBefore")),
        Fault(.remove("notAfter"), .missingElement, .end("validity")),
        Fault(.double("notAfter"), .trailingData, .start("notAfter'")),
        // 2023, before notBefore.
        Fault(
            .content("notAfter", "32 30 32 33 30 31 30 31 30 30 30 30 30 30 5A"), .unexpectedValue, .start("notAfter")),
    ])
    func `a validity is two dates, the first not after the second`(fault: Fault) {
        fault.check(.certificate()) { (bytes) throws(ASN1DecodingError) in _ = try Certificate(bytes).validity() }
    }

    @Test func `a validity may be one moment`() throws {
        let notAfter = Damage.content("notAfter", "32 30 32 34 30 32 32 39 32 33 35 39 35 39 5A")
        let bytes = Node.certificate().changed(notAfter).encoded().bytes
        let validity = try Certificate(bytes.span).validity()
        #expect(validity.lowerBound == validity.upperBound)
    }

    @Test(arguments: ["ski", "aki"])
    func `a key identifier with trailing data is refused`(name: String) throws {
        let value = "\(name).value"
        let node = Node.certificate().changed(
            .content(value, name == "ski" ? "04 01 0A 05 00" : "30 03 80 01 0A 05 00"))
        let bytes = node.encoded().bytes
        let certificate = try Certificate(bytes.span)
        let error = failure { () throws(ASN1DecodingError) in
            _ = name == "ski" ? try certificate.subjectKeyIdentifier() : try certificate.authorityKeyIdentifier()
        }
        #expect(error?.kind == .trailingData)
    }

    @Test(arguments: [
        Fault(.double("usage"), .duplicateElement, .start("usage.id"), .extensions),
        Fault(.retag("usage", 0x31), .unexpectedTag, .start("usage")),
        Fault(.remove("usage.id"), .unexpectedTag, .start("usage.critical")),
        Fault(.content("ski.id", "80"), .invalidObjectIdentifier, .start("ski.id")),
        Fault(.content("usage.critical", "01"), .invalidBoolean, .start("usage.critical")),
        Fault(.remove("usage.value"), .missingElement, .end("usage")),
        Fault(.double("usage.value"), .trailingData, .start("usage.value'")),
        Fault(.retag("usage.value", 0x03), .unexpectedTag, .start("usage.value")),
        Fault(.content("usage.value", ""), .missingElement, .end("usage.value")),
        Fault(
            .replace("usage.value", Node("value", 0x04, nodes: [Node("bits", 0x03, [0]), Node("extra", 0x05)])),
            .trailingData, .start("extra")),
    ])
    func `an extension that is doubled or malformed is refused when it is asked for`(fault: Fault) {
        fault.check(.certificate()) { (bytes) throws(ASN1DecodingError) in _ = try Certificate(bytes).keyUsage() }
    }

    @Test(
        arguments: [
            ("03 01 00", KeyUsage()), ("03 02 07 80", .digitalSignature), ("03 02 01 06", [.keyCertSign, .crlSign]),
            ("03 03 07 00 80", .decipherOnly), ("03 03 00 FF FF", KeyUsage(rawValue: 0x1FF)),
        ] as [(String, KeyUsage)])
    func `key usage bits are read by number`(row: (String, KeyUsage)) throws {
        let bytes = Node.certificate().changed(.content("usage.value", row.0)).encoded().bytes
        let usage = try Certificate(bytes.span).keyUsage()
        #expect(usage == row.1)
    }

    @Test(
        arguments: [
            ("30 0A 06 08 2B 06 01 05 05 07 03 04", nil), ("30 00", .missingElement), ("31 00", .unexpectedTag),
            ("30 00 05 00", .trailingData), ("", .missingElement),
        ] as [(String, ASN1DecodingError.Kind?)])
    func `a list of purposes is not empty`(row: (String, ASN1DecodingError.Kind?)) throws {
        let bytes = Node.certificate().changed(.content("usage.id", "55 1D 25"))
            .changed(.content("usage.value", row.0)).encoded().bytes
        var isStated = false
        let error = failure { () throws(ASN1DecodingError) in
            isStated = try Certificate(bytes.span).hasPurpose(.emailProtection)
        }
        #expect(error?.kind == row.1 && isStated == (row.1 == nil))
    }

    @Test(
        arguments: [
            ("02 02 00 C1 02 03 01 00 01", 8, true, 65537), ("02 01 40 02 01 03", 7, false, 3),
            ("02 09 01 00 00 00 00 00 00 00 01 02 08 7F FF FF FF FF FF FF FF", 65, true, 0x7FFF_FFFF_FFFF_FFFF),
            ("02 01 01 02 09 00 FF FF FF FF FF FF FF FF", 1, true, .max),
            ("02 01 01 02 09 01 00 00 00 00 00 00 00 00", 1, true, nil), ("02 01 00 02 01 00", 0, false, 0),
        ] as [(String, Int, Bool, UInt64?)])
    func `the shape of an RSA key is read without using it`(row: (String, Int, Bool, UInt64?)) throws {
        let key = Node("key.bits", 0x03, [0] + tlv(0x30, hex(row.0)))
        let bytes = Node.certificate().changed(.replace("key.bits", key)).encoded().bytes
        let shape = try Certificate(bytes.span).subjectPublicKeyInfo.rsaPublicKey()
        #expect(shape.modulusBitCount == row.1)
        #expect(shape.isModulusOdd == row.2)
        #expect(shape.exponent == row.3)
    }
}
