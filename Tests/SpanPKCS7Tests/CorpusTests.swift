import Foundation
import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

@Suite(.enabled(if: Corpus.isPresent, "RECEIPT_CORPUS names no folder of receipts"))
struct CorpusTests {
    @Test(arguments: Corpus.apple)
    func `Apple's receipts have one signer, no signed attributes, and leaf, intermediate, root in that order`(
        file: URL
    ) throws {
        let bytes = try Corpus.bytes(file)
        #expect(try BERGate.pkcs7.normalize(bytes.span) == bytes)
        let message = try SignedData(ContentInfo(bytes.span))
        #expect(message.version == 1)
        #expect(message.certificateCount == 3)
        #expect(message.signerCount == 1)
        let isData = message.contentType.matches(.data) && message.content?.tag == .octetString
        #expect(isData)

        var signers = message.signerInfos
        guard let signer = try signers.next() else { return }
        let isBare = signer.signedAttributes == nil && signer.signatureAlgorithm.matches(.rsaEncryption)
        #expect(isBare)
        #expect(signer.signature.contentCount == 256)
        let isSHA256 = signer.digestAlgorithm.matches(.sha256)
        #expect(isSHA256 == file.lastPathComponent.contains("sha256"))

        var certificates = message.certificates
        guard let leaf = try certificates.next(), let intermediate = try certificates.next(),
            let root = try certificates.next()
        else { return }
        let names = try [
            signer.signerIdentifier.names(leaf), signer.signerIdentifier.names(intermediate),
            signer.signerIdentifier.names(root),
        ]
        #expect(names == [true, false, false])
        let links = [
            leaf.issuer.encoded.hasSameBytes(as: intermediate.subject.encoded),
            intermediate.issuer.encoded.hasSameBytes(as: root.subject.encoded), root.isSelfIssued,
        ]
        #expect(links == [true, true, true])
        let usages = try [leaf.keyUsage(), intermediate.keyUsage()?.intersection(.keyCertSign)]
        #expect(usages == [.digitalSignature, .keyCertSign])
        let versions = [leaf.version, intermediate.version, root.version]
        #expect(versions == [3, 3, 3])
        let modulus = try leaf.subjectPublicKeyInfo.rsaPublicKey()
        #expect(modulus.modulusBitCount == 2048 && modulus.isModulusOdd && modulus.exponent == 65537)
        guard let issuerKey = try leaf.authorityKeyIdentifier(), let ownKey = try intermediate.subjectKeyIdentifier()
        else {
            Issue.record("no key identifiers")
            return
        }
        let isLinked = issuerKey.hasSameBytes(as: ownKey)
        #expect(isLinked)
    }

    @Test(arguments: Corpus.xcode)
    func `Xcode's receipts are BER, and after the gate have one self-signed certificate`(file: URL) throws {
        let bytes = try Corpus.bytes(file)
        let error = failure { () throws(ASN1DecodingError) in _ = try ContentInfo(bytes.span) }
        #expect(error?.kind == .indefiniteLength)
        let normalized = try BERGate.pkcs7.normalize(bytes.span)
        let message = try SignedData(ContentInfo(normalized.span))
        #expect(message.certificateCount == 1)
        var signers = message.signerInfos
        var certificates = message.certificates
        guard let signer = try signers.next(), let certificate = try certificates.next() else { return }
        let isNamed = try signer.signerIdentifier.names(certificate)
        let isSelfIssued = certificate.isSelfIssued
        #expect(isNamed && isSelfIssued)
        let hasKeyIdentifier = try certificate.subjectKeyIdentifier() != nil
        #expect(!hasKeyIdentifier)
        let isSHA256 = signer.signatureAlgorithm.matches(.sha256WithRSAEncryption)
        #expect(isSHA256)
    }
}
