import AppStoreReceipt
import AppStoreReceiptTesting
import CMSTrust
import CLibcryptoOracle
import FuzzSupport
import SignatureTrust
import SpanASN1
import SpanPKCS7

// A comparison with libcrypto. It must read what this library reads, with the same content, certificates and
// signatures, and verify what this library verifies, with the same content. It accepts more input; these cases are
// counted by error code (see Statistics).

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe withInput(start, count) { input in
        compare(input)
        if let signed = Resigner.resign(input) { compare(signed) }
        if let minted = minted(input) { compare(minted) }
    }
}

#if !FUZZ
@main enum Replay {
    static func main() {
        unsafe replay(testOneInput)
        Statistics.shared.print()
    }
}
#endif

/// Puts the payload of the input into a valid message, so that verified messages are compared, too: few mutated
/// messages are verified.
private func minted(_ input: [UInt8]) -> [UInt8]? {
    guard let payload = TLVContent.payload(of: input) else { return nil }
    let authority = FuzzAuthority.authority
    // Choose one of many encodings, always the same for the same payload.
    let choice = payload.reduce(0 as UInt32) { ($0 ^ UInt32($1)) &* 0x0100_0193 } >> 16
    var signer = SignedDataBuilder.Signer(authority.leaf)
    signer.digest = choice & 1 == 0 ? .sha1 : .sha256
    if choice & 2 == 0 { signer.signedAttributes = SignedDataBuilder.SignedAttribute.required }
    if choice & 4 == 0 { signer.identifier = .subjectKeyIdentifier }
    var builder = SignedDataBuilder(content: payload, certificates: authority.certificates, signers: [signer])
    if choice & 8 == 0 { builder.certificates?.reverse() }
    if choice & 16 == 0 { builder.certificates?.removeAll { $0 == authority.root.certificate } }
    if choice & 32 == 0 { builder.encoding = .ber(segmentSize: max(1, payload.count / 3)) }
    return FuzzAuthority.made { try builder.encoded() }
}

private func compare(_ input: [UInt8]) {
    let theirs = unsafe oracle_read(input, input.count)
    defer { unsafe oracle_free(theirs) }
    if unsafe theirs == nil { _ = lastReason() }
    do throws(ASN1DecodingError) {
        let message = try ReceivedMessage(input)
        let contentInfo = try ContentInfo(message.der.span)
        guard try contentInfo.isSignedData() else { return }
        let signedData = try SignedData(contentInfo)
        guard let theirs = unsafe theirs else { return refused(signedData, input) }
        try unsafe compareParts(signedData, theirs, input)
        Statistics.shared.count(.bothRead)
        unsafe compareVerdicts(input, theirs)
    } catch {
        guard let theirs = unsafe theirs else { return Statistics.shared.count(.neitherReads) }
        let isWhole = unsafe oracle_consumed(theirs) == input.count
        Statistics.shared.count(.readsMore, ours: isWhole ? error.kind.rawValue : "trailing-data")
    }
}

private func lastReason() -> String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { buffer in
        unsafe oracle_reason(buffer.baseAddress, buffer.count)
        return unsafe buffer.baseAddress.map { unsafe String(cString: $0) } ?? ""
    }
}

// MARK: Reading

/// Handles a message that this library reads and libcrypto refuses.
private func refused(_ message: borrowing SignedData, _ input: [UInt8]) {
    _ = unsafe oracle_read(input, input.count)
    let reason = lastReason()
    guard let exception = Exceptions.reason(message) else {
        return check(false, "libcrypto does not read what we read: \(reason)")
    }
    Statistics.shared.count(.readsLess, exception)
}

private func compareParts(
    _ message: borrowing SignedData, _ theirs: OpaquePointer, _ input: [UInt8]
) throws(ASN1DecodingError) {
    check(unsafe oracle_consumed(theirs) == input.count, "libcrypto leaves bytes over")
    var count = 0
    let content = unsafe oracle_content(theirs, &count)
    if let ours = message.content, ours.tag == .octetString {
        check(unsafe same(ours.content, content, count), "another content")
    } else {
        check(unsafe content == nil || message.content != nil, "a content where we read none")
    }

    var index: CInt = 0
    var certificates = message.certificates
    while let certificate = try certificates.next() {
        let encoded = certificate.element.encoded
        let isSame = unsafe encoded.withUnsafeBufferPointer {
            unsafe index < oracle_certificate_count(theirs)
                && oracle_certificate_is(theirs, index, $0.baseAddress, $0.count) == 1
        }
        check(isSame, "another certificate \(index)")
        index += 1
    }
    check(unsafe oracle_certificate_count(theirs) == index, "other certificates")

    index = 0
    var signers = message.signerInfos
    while let signer = try signers.next() {
        let signature = signer.signature.content
        let isSame = unsafe signature.withUnsafeBufferPointer {
            unsafe index < oracle_signer_count(theirs)
                && oracle_signature_is(theirs, index, $0.baseAddress, $0.count) == 1
        }
        check(isSame, "another signature \(index)")
        index += 1
    }
    check(unsafe oracle_signer_count(theirs) == index, "other signers")
}

private func same(_ ours: Span<UInt8>, _ theirs: UnsafePointer<UInt8>?, _ count: Int) -> Bool {
    guard ours.count == count else { return false }
    guard count > 0, let theirs = unsafe theirs else { return count == 0 }
    for index in ours.indices where unsafe ours[index] != theirs[index] { return false }
    return true
}

// MARK: Verifying

nonisolated(unsafe) private let store = unsafe FuzzAuthority.made {
    unsafe oracle_store_new(FuzzAuthority.authority.root.certificate, FuzzAuthority.authority.root.certificate.count)
}

private let receiptVerifier = FuzzAuthority.verifier()

/// 2025-06-15T12:00:00Z
private let date = Instant(millisecondsSince1970: 1_749_988_800_000)

private let cmsVerifier = FuzzAuthority.made {
    var policy = CMSPolicy(anchors: [FuzzAuthority.anchor])
    policy.algorithms.rsaKeySizes = 512...4096
    policy.algorithms.allowsSHA1 = true
    return try CMSVerifier(policy: policy)
}

private func compareVerdicts(_ input: [UInt8], _ theirs: OpaquePointer) {
    unsafe compareReceipt(input, theirs)
    unsafe compareMessage(input, theirs)
}

private func compareReceipt(_ input: [UInt8], _ theirs: OpaquePointer) {
    do throws(VerificationError) {
        let receipt = try receiptVerifier.verifyReceipt(input)
        guard let payload = TLVContent.payload(of: input) else { return check(false, "verified without a payload") }
        let seconds = receipt.verification.validationDate.secondsSince1970
        let isValid = unsafe oracle_verify(theirs, store, seconds, payload, payload.count) == 1
        if isValid { return Statistics.shared.count(.bothVerify) }
        let reason = lastReason()
        // libcrypto stops if the first possible issuer is not the issuer; this library tries the others. Therefore call
        // libcrypto again with the leaf and each of the others.
        let certificates = embeddedCertificates(input)
        let isLeaf = { (certificate: [UInt8]) in (try? Fingerprint(of: certificate.span)) == receipt.verification.signer
        }
        let isValidAlone = certificates.first(where: isLeaf).map { leaf in
            certificates.contains { verifiesAlone(input, [leaf, $0], seconds, payload) }
        }
        check(isValidAlone == true, "libcrypto does not verify a receipt that we verify: \(reason)")
        Statistics.shared.count(.verifiesLess, "receipt: " + reason)
    } catch {
        guard unsafe verifies(theirs, input) else { return Statistics.shared.count(.neitherVerifies) }
        Statistics.shared.count(.verifiesMore, ours: error.code.rawValue, of: "receipt")
    }
}

private func compareMessage(_ input: [UInt8], _ theirs: OpaquePointer) {
    do throws(CMSVerificationError) {
        let message = try cmsVerifier.verify(input, at: date)
        let content = Array(message.content)
        let isValid = unsafe oracle_verify(theirs, store, date.secondsSince1970, content, content.count) == 1
        if isValid { return Statistics.shared.count(.bothVerifyCMS) }
        let reason = lastReason()
        let chains = message.signers.flatMap(\.chain)
        check(
            verifiesAlone(input, chains, date.secondsSince1970, content),
            "libcrypto does not verify a message that we verify: \(reason)")
        Statistics.shared.count(.verifiesLess, "message: " + reason)
    } catch {
        guard unsafe verifies(theirs, input) else { return Statistics.shared.count(.neitherVerifies) }
        Statistics.shared.count(.verifiesMore, ours: error.code.rawValue, of: "message")
    }
}

/// libcrypto's verdict on a message that this library refuses.
private func verifies(_ theirs: OpaquePointer, _ input: [UInt8]) -> Bool {
    var count = 0
    let content = unsafe oracle_content(theirs, &count)
    let isValid = unsafe oracle_verify(theirs, store, date.secondsSince1970, content, count) == 1
    if !isValid { _ = lastReason() }
    return isValid
}

/// Whether libcrypto verifies the message with only these certificates.
private func verifiesAlone(_ input: [UInt8], _ certificates: [[UInt8]], _ seconds: Int64, _ content: [UInt8]) -> Bool {
    guard let message = stripped(input, certificates) else { return false }
    let theirs = unsafe oracle_read(message, message.count)
    defer { unsafe oracle_free(theirs) }
    let isValid = unsafe theirs != nil && oracle_verify(theirs, store, seconds, content, content.count) == 1
    if !isValid { _ = lastReason() }
    return isValid
}

private func embeddedCertificates(_ input: [UInt8]) -> [[UInt8]] {
    var result: [[UInt8]] = []
    do {
        let message = try ReceivedMessage(input)
        var certificates = try SignedData(ContentInfo(message.der.span)).certificates
        while let certificate = try certificates.next() { result.append([UInt8](copying: certificate.element.encoded)) }
    } catch {}
    return result
}

/// The message with only these certificates, and with the digest algorithms of its signers. No signature covers these
/// parts.
private func stripped(_ input: [UInt8], _ certificates: [[UInt8]]) -> [UInt8]? {
    do {
        let message = try ReceivedMessage(input)
        var digests: [UInt8] = []
        var signers = try SignedData(ContentInfo(message.der.span)).signerInfos
        while let signer = try signers.next() { digests += [UInt8](copying: signer.digestAlgorithm.element.encoded) }
        var editor = TLVEditor(message.der)
        // ContentInfo › [0] › SignedData › certificates [0], digestAlgorithms (the first SET)
        for (tag, content) in [(0xA0 as UInt8, Array(certificates.joined())), (0x31, digests)] {
            let bytes = editor.bytes
            guard let index = editor.elements.firstIndex(where: { $0.depth == 3 && bytes[$0.start] == tag }) else {
                return nil
            }
            editor.replace(index, with: TLVEditor.element([tag], content))
        }
        return editor.bytes
    } catch {
        return nil
    }
}
