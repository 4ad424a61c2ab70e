import AppStoreReceipt
import AppStoreReceiptTesting
import FuzzSupport
import SignatureTrust
import StrictText

// A receipt in any armor: decoded, verified with a filled and with an empty cache, signed again as it is
// and minted from its payload. All outputs are written.

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe withInput(start, count) { input in
        let decoded = decode(input)
        verify(input, decoded)
        if let signed = Resigner.resign(input) { verify(signed, decoded == nil ? nil : decode(signed)) }
        if let payload = payload(of: input) { checkMinted(payload) }
    }
}

#if !FUZZ
@main enum Replay {
    static func main() { unsafe replay(testOneInput, orMint: Seeds.all) }
}
#endif

private let warmVerifier = FuzzAuthority.made {
    let verifier = FuzzAuthority.verifier()
    for digest in [SignatureDigest.sha1, .sha256] {
        var builder = ReceiptBuilder(bundleID: "com.example.app")
        builder.digest = digest
        _ = try verifier.verifyReceipt(builder.signed(by: FuzzAuthority.authority))
    }
    return verifier
}

// MARK: Decoding

private func decode(_ input: [UInt8]) -> UnverifiedReceipt? {
    do throws(VerificationError) {
        let receipt = try UnverifiedReceipt(decoding: input)
        checkContents(receipt.receipt)
        checkJSON(receipt.json)
        return receipt
    } catch {
        checkError(error, input)
        return nil
    }
}

private func checkError(_ error: VerificationError, _ input: [UInt8]) {
    check(0...input.count ~= error.offset ?? 0, "\(error) lies outside the input")
    check(error.stage != .verifier, "the host or the verifier is said to be at fault: \(error)")
    _ = error.path
    _ = error.stage
    checkJSON(error.json)
}

private func checkJSON(_ text: String) {
    do {
        try JSONCursor.decode(Array(text.utf8).span) { (cursor) throws(JSONError) in _ = try cursor.skipValue() }
    } catch {
        check(false, "\(error) in the JSON that was written: \(text)")
    }
}

private func checkContents(_ receipt: Receipt) {
    check(receipt == receipt && receipt.hashValue == receipt.hashValue, "a receipt is not itself")
    let types = receipt.attributes.map(\.type)
    check(types.count { $0 == .inAppPurchase } == receipt.inAppPurchases.count, "purchases are lost")
    check(receipt.unknownAttributes.count + receipt.inAppPurchases.count <= types.count, "attributes are made up")
    _ = try? receipt.matches(deviceIdentifier: [1, 2, 3])
    for purchase in receipt.inAppPurchases {
        check(purchase.unknownAttributes.count <= purchase.attributes.reduce(0) { count, _ in count + 1 }, "made up")
        _ = (purchase.productID, purchase.transactionID, purchase.originalTransactionID, purchase.promotionalOfferID)
        _ = (purchase.isTrialPeriod, purchase.isInIntroOfferPeriod)
        check(purchase == purchase, "a purchase is not itself")
    }
    var writer = JSONWriter()
    writer.attributes(of: receipt, file: "file")
    checkJSON(String(decoding: writer.bytes, as: UTF8.self))
}

// MARK: Verification

private typealias Verdict = Result<VerifiedReceipt, VerificationError>

extension Verdict {
    fileprivate var stage: VerificationError.Stage? { if case .failure(let error) = self { error.stage } else { nil } }
}

private func verdict(_ verifier: AppStoreVerifier, _ input: [UInt8]) -> Verdict {
    Result { () throws(VerificationError) in try verifier.verifyReceipt(input) }
}

private func verify(_ input: [UInt8], _ decoded: UnverifiedReceipt?) {
    let warm = verdict(warmVerifier, input)
    // The cache is not used before the signature is verified.
    if warm.stage.map({ $0 != .input && $0 != .container }) ?? true {
        let cold = verdict(FuzzAuthority.verifier(), input)
        check(warm == cold, "warm: \(warm)\ncold: \(cold)")
    }
    let answer = responder.answer(for: warm.map { .receipt($0) }, excludesOldTransactions: input.count % 2 == 0)
    checkJSON(String(decoding: answer.body, as: UTF8.self))
    switch warm {
    case .success(let verified):
        guard let decoded else { return check(false, "verified what cannot be decoded") }
        check(verified.receipt == decoded.receipt, "what was verified is not what is decoded")
        check(verified.verification.signer == signer, "another signer than the authority's leaf")
        checkJSON(verified.json)
    case .failure(let error): checkError(error, input)
    }
}

private let responder = FuzzAuthority.made {
    var responder = try VerifyReceiptResponder(
        policy: FuzzAuthority.policy, trust: .roots([FuzzAuthority.anchor]))
    responder.fillsLatestReceiptInfo = true
    responder.clock = { ReceiptBuilder.defaultCreationDate }
    return responder
}

private let signer = FuzzAuthority.made {
    try warmVerifier.verifyReceipt(ReceiptBuilder(bundleID: "a").signed(by: FuzzAuthority.authority)).verification
        .signer
}

// MARK: Minting

private func payload(of input: [UInt8]) -> [UInt8]? {
    // One input in four, by its length, because each new container must be signed.
    guard input.count % 4 == 0 else { return nil }
    return TLVContent.payload(of: input)
}

/// Whatever the payload, the encoding of the container does not change the verdict; and a payload that decodes is
/// verified.
private func checkMinted(_ payload: [UInt8]) {
    let authority = FuzzAuthority.authority
    var builder = SignedDataBuilder(
        content: payload, certificates: authority.certificates, signers: [.init(authority.leaf)])
    let der = FuzzAuthority.made { try builder.encoded() }
    builder.encoding = .ber(segmentSize: max(1, payload.count / 3))
    let ber = FuzzAuthority.made { try builder.encoded() }
    let derVerdict = verdict(warmVerifier, der)
    let berVerdict = verdict(warmVerifier, ber)
    switch (derVerdict, berVerdict) {
    case (.success(let one), .success(let other)): check(one.receipt == other.receipt, "BER says something else")
    case (.failure(let one), .failure(let other)):
        check(one.code == other.code && one.stage == other.stage, "DER: \(one), BER: \(other)")
    default: check(false, "DER: \(derVerdict), BER: \(berVerdict)")
    }
    guard let decoded = decode(der) else { return }
    if case .failure(let error) = derVerdict {
        check(
            error.stage == .date || error.stage == .chain || error.stage == .policy, "refused although signed: \(error)"
        )
        if let date = decoded.creationDate, error.stage == .chain {
            check(!(1_262_304_000_000..<2_398_377_599_000 ~= date.millisecondsSince1970), "\(error) at \(date)")
        }
        check(error.stage != .date || decoded.creationDate == nil, "a date that is read and refused")
    }
}
