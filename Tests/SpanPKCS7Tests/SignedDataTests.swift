import SpanASN1
import SpanPKCS7
import Testing

@Suite struct SignedDataTests {
    private func read(_ bytes: Span<UInt8>) throws(ASN1DecodingError) { _ = try SignedData(ContentInfo(bytes)) }

    @Test func `every field of a message is read`() throws {
        let (bytes, places) = Node.message.encoded()
        let contentInfo = try ContentInfo(bytes.span)
        let isSignedData = try contentInfo.isSignedData()
        #expect(isSignedData)
        let message = try SignedData(contentInfo)
        #expect(message.version == 1)
        let isData = message.contentType.matches(.data)
        #expect(isData)
        #expect(message.content?.range == places["octets"])
        #expect(message.certificateCount == 3)
        #expect(message.signerCount == 2)
        #expect(message.signerSet.range == places["signerInfos"])

        var algorithms = message.digestAlgorithms
        let isSHA256 = try algorithms.next()?.matches(.sha256)
        let isSole = try algorithms.next() == nil
        #expect(isSHA256 == true && isSole)
        var certificates = message.certificates
        var ranges: [Range<Int>?] = []
        while let certificate = try certificates.next() { ranges.append(certificate.element.range) }
        #expect(ranges == [places["a.certificate"], places["b.certificate"]])
        var signers = message.signerInfos
        ranges = []
        while let signer = try signers.next() { ranges.append(signer.element.range) }
        #expect(ranges == [places["s.signerInfo"], places["t.signerInfo"]])
    }

    @Test func `what may be absent is absent`() throws {
        for (name, hasContent, certificates) in [("eContent", false, 3), ("certificates", true, 0), ("crls", true, 3)] {
            let bytes = Node.message.changed(.remove(name)).encoded().bytes
            let message = try SignedData(ContentInfo(bytes.span))
            let isAttached = message.content != nil
            #expect(isAttached == hasContent)
            #expect(message.certificateCount == certificates)
            var iterator = message.certificates
            let isEmpty = try iterator.next() == nil
            #expect(isEmpty == (certificates == 0))
        }
        for name in ["digest", "s.signerInfo", "otherCertificate"] {
            let bytes = Node.message.changed(.remove(name)).encoded().bytes
            #expect(failure { () throws(ASN1DecodingError) in try read(bytes.span) } == nil)
        }
    }

    @Test(arguments: [0, 2, 6, 0x7F, 0x80] as [UInt8])
    func `a version that RFC 5652 does not know is refused`(version: UInt8) {
        let fault = Damage.replace("version", Node("version", 0x02, [version]))
        Fault(fault, .unexpectedValue, .start("version"), .signedData).check(.message, read)
    }

    @Test(arguments: [1, 3, 4, 5] as [UInt8])
    func `versions 1, 3, 4 and 5 are read`(version: UInt8) throws {
        let bytes = Node.message.changed(.replace("version", Node("version", 0x02, [version]))).encoded().bytes
        let message = try SignedData(ContentInfo(bytes.span))
        #expect(message.version == Int(version))
    }

    @Test(arguments: [
        Fault(.retag("contentInfo", 0x31), .unexpectedTag, .start("contentInfo"), .contentInfo),
        Fault(.remove("contentType"), .unexpectedTag, .start("content"), .contentInfo),
        Fault(.retag("contentType", 0x0D), .unexpectedTag, .start("contentType"), .contentInfo),
        Fault(.content("contentType", "2A 80"), .invalidObjectIdentifier, .start("contentType"), .contentInfo),
        Fault(.content("contentType", ""), .invalidObjectIdentifier, .start("contentType"), .contentInfo),
        Fault(.content("contentType", "2A"), .unexpectedValue, .start("contentType"), .contentInfo),
        Fault(.double("contentType"), .unexpectedTag, .start("contentType'"), .contentInfo),
        Fault(.remove("content"), .missingElement, .start("contentType"), .contentInfo),
        Fault(.retag("content", 0xA1), .unexpectedTag, .start("content"), .contentInfo),
        Fault(.double("content"), .trailingData, .start("content'"), .contentInfo),
        Fault(.remove("signedData"), .missingElement, .end("content"), .contentInfo),
        Fault(.double("signedData"), .trailingData, .start("signedData'"), .contentInfo),
        Fault(.retag("signedData", 0x31), .unexpectedTag, .start("signedData"), .signedData),
        Fault(.content("signedData", ""), .missingElement, .end("signedData"), .signedData),
        Fault(.remove("version"), .unexpectedTag, .start("digestAlgorithms"), .signedData),
        Fault(.retag("version", 0x0A), .unexpectedTag, .start("version"), .signedData),
        Fault(.content("version", "00 01"), .invalidInteger, .start("version"), .signedData),
        Fault(.content("version", "01 00 00 00 00 00 00 00 00"), .integerOutOfRange, .start("version"), .signedData),
        Fault(.double("version"), .unexpectedTag, .start("version'"), .digestAlgorithms),
        Fault(.remove("digestAlgorithms"), .unexpectedTag, .start("encapContentInfo"), .digestAlgorithms),
        Fault(.retag("digestAlgorithms", 0x30), .unexpectedTag, .start("digestAlgorithms"), .digestAlgorithms),
        Fault(.retag("digest", 0x31), .unexpectedTag, .start("digest"), .digestAlgorithms),
        Fault(.remove("digest.algorithm"), .unexpectedTag, .start("digest.parameters"), .digestAlgorithms),
        Fault(
            .content("digest.algorithm", "80"), .invalidObjectIdentifier, .start("digest.algorithm"), .digestAlgorithms),
        Fault(.double("digest.parameters"), .trailingData, .start("digest.parameters'"), .digestAlgorithms),
        Fault(.remove("encapContentInfo"), .unexpectedTag, .start("certificates"), .encapContentInfo),
        Fault(.retag("encapContentInfo", 0x31), .unexpectedTag, .start("encapContentInfo"), .encapContentInfo),
        Fault(.remove("eContentType"), .unexpectedTag, .start("eContent"), .encapContentInfo),
        Fault(.content("eContentType", ""), .invalidObjectIdentifier, .start("eContentType"), .encapContentInfo),
        Fault(.retag("eContent", 0xA1), .unexpectedTag, .start("eContent"), .encapContentInfo),
        Fault(.retag("eContent", 0x04), .unexpectedTag, .start("eContent"), .encapContentInfo),
        Fault(.double("eContent"), .trailingData, .start("eContent'"), .encapContentInfo),
        Fault(.remove("octets"), .missingElement, .end("eContent"), .encapContentInfo),
        Fault(.double("octets"), .trailingData, .start("octets'"), .encapContentInfo),
        Fault(.retag("octets", 0x24), .constructedString, .start("octets"), .encapContentInfo),
        Fault(.retag("certificates", 0xA2), .unexpectedTag, .start("certificates"), .signerInfos),
        Fault(.double("certificates"), .unexpectedTag, .start("certificates'"), .signerInfos),
        Fault(.double("crls"), .unexpectedTag, .start("crls'"), .signerInfos),
        Fault(.retag("otherCertificate", 0xA4), .unexpectedTag, .start("otherCertificate"), .certificates, 1),
        Fault(.retag("otherCertificate", 0x31), .unexpectedTag, .start("otherCertificate"), .certificates, 1),
        Fault(.content("b.certificate", ""), .missingElement, .end("b.certificate"), .certificates, 2),
        Fault(.double("b.serial"), .unexpectedTag, .start("b.serial'"), .certificates, 2),
        Fault(.remove("signerInfos"), .missingElement, .end("signedData"), .signerInfos),
        Fault(.retag("signerInfos", 0x30), .unexpectedTag, .start("signerInfos"), .signerInfos),
        Fault(.double("signerInfos"), .trailingData, .start("signerInfos'"), .signedData),
        Fault(.content("t.signerInfo", ""), .missingElement, .end("t.signerInfo"), .signerInfos, 1),
    ])
    func `a field that is missing, doubled or another type is refused where it is wrong`(fault: Fault) {
        fault.check(.message, read)
    }

    @Test func `bytes after the message are refused`() {
        let bytes = Node.message.encoded().bytes
        let error = failure { () throws(ASN1DecodingError) in try read((bytes + [0]).span) }
        #expect(error == ASN1DecodingError(.trailingData, offset: bytes.count, path: ASN1Path(.contentInfo)))
    }

    @Test func `every prefix of a message is refused within it, and so is a message that lacks any byte`() {
        let bytes = Node.message.encoded().bytes
        for count in 0..<bytes.count {
            let error = failure { () throws(ASN1DecodingError) in try read(bytes.span.extracting(..<count)) }
            #expect(error.map { 0...count ~= $0.offset } == true)
            var shorter = bytes
            shorter.remove(at: count)
            #expect(failure { () throws(ASN1DecodingError) in try read(shorter.span) } != nil)
        }
    }

    @Test func `offsets count from where the input begins`() {
        let (bytes, places) = Node.message.changed(.retag("eContent", 0xA1)).encoded()
        let error = failure { () throws(ASN1DecodingError) in
            _ = try SignedData(ContentInfo(bytes.span, baseOffset: 1_000_000))
        }
        #expect(error?.offset == places["eContent"].map { $0.lowerBound + 1_000_000 })
    }

    @Test func `certificates and signers have limits`() {
        let (bytes, places) = Node.message.encoded()
        func limited(certificates: Int = 3, signers: Int = 2) -> ASN1DecodingError? {
            failure { () throws(ASN1DecodingError) in
                _ = try SignedData(
                    ContentInfo(bytes.span), maximumCertificateCount: certificates, maximumSignerCount: signers)
            }
        }
        #expect(limited() == nil)
        let certificate = places["b.certificate"]?.lowerBound ?? -1
        #expect(
            limited(certificates: 2)
                == ASN1DecodingError(.tooManyElements, offset: certificate, path: ASN1Path(.certificates, index: 2)))
        let signer = places["t.signerInfo"]?.lowerBound ?? -1
        #expect(
            limited(signers: 1)
                == ASN1DecodingError(.tooManyElements, offset: signer, path: ASN1Path(.signerInfos, index: 1)))
    }

    @Test func `a message has up to 1024 certificates and 64 signers, unless its reader says otherwise`() {
        func read(certificates: Int, signers: Int) -> ASN1DecodingError.Kind? {
            let signer = Node.signerInfo().encoded().bytes
            let bytes = Node.message
                .changed(
                    .replace(
                        "certificates",
                        Node("certificates", 0xA0, Array(repeating: [0xA3, 0], count: certificates).flatMap(\.self)))
                )
                .changed(
                    .replace(
                        "signerInfos",
                        Node("signerInfos", 0x31, Array(repeating: signer, count: signers).flatMap(\.self)))
                )
                .encoded().bytes
            return failure { () throws(ASN1DecodingError) in _ = try SignedData(ContentInfo(bytes.span)) }?.kind
        }
        #expect(read(certificates: 1024, signers: 64) == nil)
        #expect(read(certificates: 1025, signers: 1) == .tooManyElements)
        #expect(read(certificates: 1, signers: 65) == .tooManyElements)
    }

    @Test(
        arguments: [
            (0xA0, .extendedCertificate), (0xA1, .v1AttributeCertificate), (0xA2, .v2AttributeCertificate),
            (0xA3, .other),
        ] as [(UInt8, CertificateChoice.Kind)])
    func `certificates of other kinds are told apart and passed over`(row: (UInt8, CertificateChoice.Kind)) throws {
        let bytes = Node.message.changed(.retag("otherCertificate", row.0)).encoded().bytes
        let message = try SignedData(ContentInfo(bytes.span))
        var choices = message.certificateChoices
        var kinds: [CertificateChoice.Kind] = []
        while let choice = try choices.next() { kinds.append(choice.kind) }
        #expect(kinds == [.certificate, row.1, .certificate])
        var certificates = message.certificates
        var count = 0
        while try certificates.next() != nil { count += 1 }
        #expect(count == 2)
    }

    @Test func `content of another type than an OCTET STRING stands as it is`() throws {
        let bytes = Node.message.changed(.replace("octets", Node("octets", 0x30, [5, 0]))).encoded().bytes
        let message = try SignedData(ContentInfo(bytes.span))
        #expect(message.content?.tag == .sequence)
    }
}
