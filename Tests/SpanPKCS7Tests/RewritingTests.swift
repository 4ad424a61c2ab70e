import Foundation
import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

/// Structures put together again from what was read of them: nothing is lost, and nothing has a second encoding.
@Suite struct RewritingTests {
    @Test func `the certificates of this system are put together again from their fields`() throws {
        let directory = "/etc/ssl/certs"
        let names = ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).filter {
            $0.hasSuffix(".pem")
        }
        for name in names {
            let bytes = try OpenSSLFiles.pem(Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)")))
            let result = try ASN1Writer.encode { (writer) throws(ASN1DecodingError) in
                try writer.write(Certificate(bytes.span))
            }
            #expect(result.elementsEqual(bytes), "\(name)")
        }
        print("\(names.count) certificates in \(directory)")
    }

    @Test func `a p7b of many certificates is put together again from its fields`() throws {
        let bytes = try OpenSSLFiles.bytes("all-certificates.p7b")
        let message = try SignedData(ContentInfo(bytes.span))
        let counts = (message.certificateCount, message.signerCount)
        let certificates = try Project.lines(of: "TestVectors/pkcs7/openssl/authority/certificates.tsv").count - 1
        #expect(counts == (certificates, 0))
        let result = try ASN1Writer.encode { (writer) throws(ASN1DecodingError) in
            try writer.write(message)
        }
        #expect(result.elementsEqual(bytes))
    }

    @Test(arguments: OpenSSLFiles.messages) func `a message of OpenSSL's is put together again from its fields`(
        name: String
    ) throws {
        let received = try ReceivedMessage(OpenSSLFiles.bytes(name))
        let contentInfo = try ContentInfo(received.der.span)
        guard contentInfo.type == .signedData else { return }
        let message = try SignedData(contentInfo)
        let result = try ASN1Writer.encode { (writer) throws(ASN1DecodingError) in
            try writer.write(message)
        }
        #expect(result.elementsEqual(received.der))
    }
}

extension ASN1Writer {
    mutating func write(_ certificate: Certificate) throws(ASN1DecodingError) {
        begin(.sequence)
        begin(.sequence)
        if certificate.version > 1 { writeExplicit(0) { $0.writeInteger(certificate.version - 1) } }
        writeInteger(twosComplement: certificate.serialNumber.content)
        write(certificate.signatureAlgorithm)
        write(certificate.issuer)
        // Not everybody chooses the type of a time as RFC 5280, 4.1.2.5 does.
        write(certificate.validityElement)
        write(certificate.subject)
        begin(.sequence)
        write(certificate.subjectPublicKeyInfo.algorithm)
        write(.bitString, content: certificate.subjectPublicKeyInfo.subjectPublicKey.content)
        end()
        try write(certificate.extensions)
        end()
        write(certificate.signatureAlgorithm)
        write(.bitString, content: certificate.signatureValue.content)
        end()
    }

    private mutating func write(_ extensions: ASN1Members<CertificateExtension>) throws(ASN1DecodingError) {
        var extensions = extensions
        var isOpen = false
        while let next = try extensions.next() {
            if !isOpen {
                begin(.context(3))
                begin(.sequence)
                isOpen = true
            }
            begin(.sequence)
            write(next.id)
            if next.isCritical { writeBoolean(true) }
            writeOctetString(next.value.content)
            end()
        }
        if isOpen {
            end()
            end()
        }
    }

    mutating func write(_ algorithm: AlgorithmIdentifier) {
        begin(.sequence)
        write(algorithm.algorithm)
        if let parameters = algorithm.parameters { write(parameters) }
        end()
    }

    /// The whole ContentInfo.
    mutating func write(_ message: SignedData) throws(ASN1DecodingError) {
        begin(.sequence)
        writeObjectIdentifier(.signedData)
        begin(.context(0))
        begin(.sequence)
        writeInteger(message.version)
        begin(.set)
        var algorithms = message.digestAlgorithms
        while let algorithm = try algorithms.next() { write(algorithm) }
        end()
        begin(.sequence)
        write(message.contentType)
        if let content = message.content {
            begin(.context(0))
            write(content.tag, content: content.content)
            end()
        }
        end()
        try writeCertificates(message)
        try writeRevocationLists(message)
        begin(.set)
        var signers = message.signerInfos
        while let signer = try signers.next() { try write(signer) }
        end()
        end()
        end()
        end()
    }

    private mutating func writeCertificates(_ message: SignedData) throws(ASN1DecodingError) {
        guard message.certificateCount > 0 else { return }
        begin(.context(0))
        var choices = message.certificateChoices
        while let choice = try choices.next() {
            guard let certificate = try choice.certificate() else {
                write(choice.element)
                continue
            }
            try write(certificate)
        }
        end()
    }

    private mutating func writeRevocationLists(_ message: SignedData) throws(ASN1DecodingError) {
        var infos = message.revocationInfos
        var isOpen = false
        while let info = try infos.next() {
            if !isOpen { begin(.context(1)) }
            isOpen = true
            write(info.element)
        }
        if isOpen { end() }
    }

    private mutating func write(_ signer: SignerInfo) throws(ASN1DecodingError) {
        begin(.sequence)
        writeInteger(signer.version)
        switch signer.signerIdentifier {
        case .issuerAndSerialNumber(let name):
            begin(.sequence)
            write(name.issuer)
            write(name.serialNumber)
            end()
        case .subjectKeyIdentifier(let identifier):
            writeOctetString(identifier.content, tagged: .context(0, constructed: false))
        }
        write(signer.digestAlgorithm)
        if let attributes = signer.signedAttributes { try write(attributes, 0) }
        write(signer.signatureAlgorithm)
        writeOctetString(signer.signature.content)
        if let attributes = signer.unsignedAttributes { try write(attributes, 1) }
        end()
    }

    private mutating func write(_ set: AttributeSet, _ number: UInt32) throws(ASN1DecodingError) {
        begin(.context(number))
        var attributes = set.attributes
        while let attribute = try attributes.next() {
            begin(.sequence)
            write(attribute.type)
            write(attribute.values)
            end()
        }
        end()
    }
}
