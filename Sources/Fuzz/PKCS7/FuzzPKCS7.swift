import FuzzSupport
import SpanASN1
import SpanPKCS7

// A message or a certificate. Writing it again from its parts must give the input, and all properties of the parts are
// read.

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe withInput(start, count) { input in
        if let error = readMessage(input), error.kind == .indefiniteLength || error.kind == .constructedString {
            checkGate(input)
        }
        do throws(ASN1DecodingError) {
            checkCertificate(try Certificate(input.span))
        } catch {
            check(0...input.count ~= error.offset, "\(error) lies outside the input")
        }
    }
}

#if !FUZZ
@main enum Replay {
    static func main() { unsafe replay(testOneInput) }
}
#endif

/// - Returns: the reason the input is not a message in DER.
private func readMessage(_ input: [UInt8]) -> ASN1DecodingError? {
    do throws(ASN1DecodingError) {
        let contentInfo = try ContentInfo(input.span)
        guard try contentInfo.isSignedData() else { return nil }
        let message = try SignedData(contentInfo)
        // The reader does not distinguish an empty optional set from a missing one.
        var isSame = false
        for hasCertificates in [false, true] {
            for hasRevocations in [false, true] where !isSame {
                isSame = try rebuilt(contentInfo, message, hasCertificates, hasRevocations) == input
            }
        }
        check(isSame, "the parts of a message do not make the message")
        return nil
    } catch {
        check(0...input.count ~= error.offset, "\(error) lies outside the input")
        _ = error.path.field?.pkcs7Name
        return error
    }
}

private func checkGate(_ input: [UInt8]) {
    do throws(ASN1DecodingError) {
        let normalized = try BERGate.pkcs7.normalize(input.span)
        guard let error = readMessage(normalized) else { return }
        let offset = BERGate.pkcs7.receivedOffset(ofNormalized: error.offset, in: input.span)
        check(0...input.count ~= offset, "\(error) comes from outside the input")
        check(
            error.kind != .indefiniteLength && error.kind != .constructedString
                || readsOpaque(normalized, error.offset),
            "the gate leaves BER behind: \(error)")
    } catch {
        check(0...input.count ~= error.offset, "\(error) lies outside the input")
    }
}

/// Whether the offset is in a part that the gate copies unchanged: a certificate, a revocation list, a signer's
/// attributes.
private func readsOpaque(_ bytes: [UInt8], _ offset: Int) -> Bool {
    var walker = ASN1Walker(bytes.span, rules: .ber)
    while let element = try? walker.next() {
        if element.depth >= 4, element.tag.isConstructed, element.offset <= offset { return true }
    }
    return false
}

/// Writes the message from its parts, and reads all other properties of the parts.
private func rebuilt(
    _ contentInfo: borrowing ContentInfo, _ message: borrowing SignedData, _ hasCertificates: Bool,
    _ hasRevocations: Bool
) throws(ASN1DecodingError) -> [UInt8] {
    var writer = ASN1Writer()
    writer.begin(.sequence)
    writer.write(contentInfo.contentType)
    writer.begin(.context(0))
    writer.begin(.sequence)
    writer.writeInteger(message.version)

    writer.begin(.set)
    var algorithms = message.digestAlgorithms
    while let algorithm = try algorithms.next() { writer.write(algorithm.element) }
    writer.end()

    writer.begin(.sequence)
    writer.write(message.contentType)
    if let content = message.content {
        writer.begin(.context(0))
        writer.write(content)
        writer.end()
    }
    writer.end()

    if hasCertificates { writer.begin(.context(0)) }
    writeCertificates(message, &writer)
    if hasCertificates { writer.end() }
    if hasRevocations { writer.begin(.context(1)) }
    var revocations = message.revocationInfos
    while let revocation = try revocations.next() { writer.write(revocation.element) }
    if hasRevocations { writer.end() }

    writer.begin(.set)
    var count = 0
    var signers = message.signerInfos
    while let signer = try signers.next() {
        count += 1
        writer.write(signer.element)
        try checkSigner(signer, message)
    }
    check(count == message.signerCount, "\(count) signers of \(message.signerCount)")
    return writer.finish()
}

private func writeCertificates(_ message: borrowing SignedData, _ writer: inout ASN1Writer) {
    var count = 0
    var certificateCount = 0
    var choices = message.certificateChoices
    var certificates = message.certificates
    do throws(ASN1DecodingError) {
        while let choice = try choices.next() {
            count += 1
            writer.write(choice.element)
            if choice.kind == .certificate { certificateCount += 1 }
        }
        while let certificate = try certificates.next() {
            certificateCount -= 1
            checkCertificate(certificate)
        }
    } catch {
        check(false, "a certificate is refused after the message was accepted: \(error)")
    }
    check(count == message.certificateCount && certificateCount == 0, "the certificates are not all there")
}

private func checkSigner(_ signer: borrowing SignerInfo, _ message: borrowing SignedData) throws(ASN1DecodingError) {
    var certificates = message.certificates
    while let certificate = try certificates.next() { _ = try? signer.signerIdentifier.names(certificate) }
    checkAttributes(signer.signedAttributes)
    checkAttributes(signer.unsignedAttributes)
    _ = signer.digestAlgorithm.matches(.sha256)
    _ = signer.signatureAlgorithm.hasNullOrAbsentParameters
}

private func checkAttributes(_ attributes: consuming AttributeSet?) {
    guard let attributes else { return }
    for type in [ASN1ObjectIdentifier.contentType, .messageDigest, .signingTime] {
        guard let value = try? attributes.singleValue(of: type) else { continue }
        _ = try? value.objectIdentifier()
        _ = try? value.octetString()
        _ = try? value.time()
    }
}

private func checkCertificate(_ certificate: borrowing Certificate) {
    _ = try? certificate.validity()
    _ = certificate.isSelfIssued
    _ = try? certificate.keyUsage()
    _ = try? certificate.subjectKeyIdentifier()
    _ = try? certificate.authorityKeyIdentifier()
    if let shape = try? certificate.subjectPublicKeyInfo.rsaPublicKey() {
        check(shape.modulusBitCount <= certificate.element.contentCount * 8, "a key larger than its certificate")
    }
    var extensions = certificate.extensions
    while let next = try? extensions.next() {
        check(
            next.value.range.upperBound <= certificate.element.range.upperBound, "an extension outside its certificate")
    }
}
