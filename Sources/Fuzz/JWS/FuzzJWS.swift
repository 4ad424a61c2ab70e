import AppStoreReceipt
import AppStoreReceiptTesting
import FuzzSupport
import SignatureTrust
import StrictText

// Evidence of any kind, mainly JWS, as it is and signed again. If it is verified, the authority's leaf must have signed
// the received bytes. Verdicts with a filled and an empty cache must be equal, and a simple reader must read the same
// members.

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe withInput(start, count) { input in
        let signed = JWSSigner.sign(input)
        if let signed { verify(signed) }
        checkBatch(signed ?? input)
        // Digits are not certificates, so such an input is refused before its signature is verified.
        if signed == nil || input.count % 8 == 0 { verify(input) }
    }
}

#if !FUZZ
@main enum Replay {
    static func main() { unsafe replay(testOneInput, orMint: Seeds.all) }
}
#endif

// MARK: Verifiers

private func coldVerifier() -> AppStoreVerifier {
    FuzzAuthority.made { try AppStoreVerifier(policy: policy, trust: .roots([anchor])) }
}

private let anchor = FuzzAuthority.made { try JWSSigner.authority.trustAnchor }
private let policy = VerificationPolicy(
    bundleIDs: ["com.example.app"], appAppleID: "1234567890", environments: [.production, .sandbox])
private let warm = coldVerifier()
private let signer = FuzzAuthority.made {
    let leaf = JWSSigner.authority.leaf.certificate
    return try Fingerprint(of: leaf.span)
}

private let xcode = FuzzAuthority.made {
    try AppStoreVerifier(
        policy: VerificationPolicy(bundleIDs: nil, environments: [.xcode, .localTesting]),
        trust: .storeKitTesting([JWSSigner.xcode.trustAnchor]))
}

// MARK: Verdicts

private func verify(_ input: [UInt8]) {
    let verdict = Result { () throws(VerificationError) in try warm.verify(input) }
    switch verdict {
    case .success(.receipt), .success(.transactionReceipt): break
    case .success(let evidence):
        checkCold(input, verdict)
        checkSigned(input, evidence)
        checkKinds(evidenceText(input), evidence)
    case .failure(let error):
        if [.date, .chain, .payload, .policy].contains(error.stage) { checkCold(input, verdict) }
        checkError(error, input)
    }
    // Xcode sends one certificate.
    guard case .failure(let error) = verdict, error.code == .certificateCount else { return }
    let testing = Result { () throws(VerificationError) in try xcode.verify(input) }
    switch testing {
    case .success(let evidence): checkPayloads(evidenceText(input), evidence)
    case .failure(let error): checkError(error, input)
    }
}

private func checkCold(_ input: [UInt8], _ verdict: Result<VerifiedEvidence, VerificationError>) {
    let cold = Result { () throws(VerificationError) in try coldVerifier().verify(input) }
    check(cold == verdict, "warm: \(verdict)\ncold: \(cold)")
}

private func trimmed(_ input: [UInt8]) -> [UInt8] {
    let isSpace = { (byte: UInt8) in [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
    return Array(input.reversed().drop(while: isSpace).reversed().drop(while: isSpace))
}

/// The JWS itself, if it is a member of an object.
private func evidenceText(_ input: [UInt8]) -> [UInt8] {
    let text = trimmed(input)
    guard text.first == UInt8(ascii: "{"), let object = SimpleJSON(text, maximumDepth: 70) else { return text }
    let evidence = object.members.filter { evidenceNames.contains($0.name) }
    return evidence.count == 1 ? evidence[0].value.string ?? [] : []
}

private func checkError(_ error: VerificationError, _ text: [UInt8]) {
    _ = error.description
    _ = error.category
    check(error.stage != .verifier, "the verifier is said to be at fault: \(error)")
    guard let offset = error.offset else { return }
    // In a signed part of a notification, offsets count its own text, which is shorter.
    check(offset >= 0 && (error.offsetBase == .certificates || offset <= text.count), "\(error) lies outside the input")
}

// MARK: What was signed

/// Splits the JWS again, and verifies it with the leaf's key, using only libcrypto.
private func checkSigned(_ input: [UInt8], _ evidence: VerifiedEvidence) {
    let text = evidenceText(input)
    let parts = JWSSigner.parts(text)
    guard parts.count == 3, let header = JWSSigner.decode(parts[0]).flatMap({ SimpleJSON($0, maximumDepth: 66) }),
        let signature = JWSSigner.decode(parts[2])
    else { return check(false, "verified what is no JWS") }
    let chain = header["x5c"]?.elements.compactMap(\.string) ?? []
    check(header["alg"]?.string == Array("ES256".utf8), "verified with another algorithm")
    let leaf = JWSSigner.certificates[0]
    check(chain.count == 3 && chain[0] == Array(Base64.encode(leaf.span).utf8), "verified with another leaf")
    check(!["crit", "b64", "jku", "jwk", "x5u"].contains { header[$0] != nil }, "a header that leads elsewhere")
    let signed = parts[0] + [UInt8(ascii: ".")] + parts[1]
    check(JWSSigner.isSigned(signed, signature), "verified what was not signed")
    for part in evidence.parts {
        check(part.verification?.signer == signer, "another signer than the authority's leaf")
    }
    switch evidence {
    case .transaction(let verified):
        check(verified.environment == .production || verified.environment == .sandbox, "another environment")
        check(verified.bundleID == "com.example.app", "another app's transaction")
        _ = Entitlements([evidence], at: verified.verification.validationDate).json
    case .appTransaction(let verified):
        check(verified.bundleID == "com.example.app", "another app's app transaction")
    case .realtimeRequest(let verified):
        check(verified.appAppleID == "1234567890", "another app's request")
    default: break
    }
    checkPayloads(text, evidence)
}

/// Evidence must have exactly one kind.
private func checkKinds(_ text: [UInt8], _ evidence: VerifiedEvidence) {
    // This is the most expensive check, so it runs on some inputs only.
    guard text.count % 8 == 0 else { return }
    let jws = String(decoding: text, as: UTF8.self)
    let verifier = warm
    var kinds = 0
    if (try? verifier.verifyTransaction(jws)) != nil { kinds += 1 }
    if (try? verifier.verifyRenewalInfo(jws)) != nil { kinds += 1 }
    if (try? verifier.verifyAppTransaction(jws)) != nil { kinds += 1 }
    if (try? verifier.verifyNotification(jws)) != nil { kinds += 1 }
    if (try? verifier.verifyRealtimeRequest(jws)) != nil { kinds += 1 }
    check(kinds == 1, "\(kinds) kinds of evidence in one")
}

// MARK: What was read

private func checkPayloads(_ text: [UInt8], _ evidence: VerifiedEvidence) {
    guard let payload = JWSSigner.parts(text).dropFirst().first.flatMap(JWSSigner.decode) else {
        return check(false, "verified without a payload")
    }
    switch evidence {
    case .transaction(let verified):
        checkMembers(verified.payload.members, payload)
        _ = (verified.purchaseDate, verified.expiresDate, verified.productType, verified.quantity, verified.price)
        _ = (verified.payload.commitment, verified.payload.advancedCommerceInfo?.members, verified.offerType)
        _ = (verified.multiSeatInfo?.priceTiers, verified.multiSeatInfo?.revokedSeatQuantity)
        check(verified.hashValue == verified.hashValue && verified == verified, "a transaction is not itself")
    case .renewalInfo(let verified):
        checkMembers(verified.payload.members, payload)
        _ = (verified.payload.advancedCommerceInfo?.members, verified.eligibleWinBackOfferIDs, verified.renewalDate)
        _ = (verified.multiSeatInfo?.renewalPriceTiers, verified.renewalQuantity)
    case .appTransaction(let verified): checkMembers(verified.payload.members, payload)
    case .realtimeRequest(let verified): checkMembers(verified.payload.members, payload)
    case .notification(let verified):
        let notification = verified.notification.payload
        checkMembers(notification.members, payload)
        if let data = notification.data {
            check(
                (verified.transactionInfo != nil) == (data.members.value(of: .signedTransactionInfo) != nil),
                "a part is lost")
            check(
                (verified.renewalInfo != nil) == (data.members.value(of: .signedRenewalInfo) != nil), "a part is lost")
        }
        check((verified.transactionInfo == nil) || notification.data != nil, "a part from nowhere")
        _ = (notification.summary, notification.appData, notification.externalPurchaseToken, notification.subtype)
        _ = notification.unclaimInfo?.unclaimSeatIDs
    default: break
    }
}

/// A simple reader finds the same members, with the same text.
private func checkMembers<Member>(_ members: JWSMembers<Member>, _ payload: [UInt8]) {
    guard let tree = SimpleJSON(payload, maximumDepth: 70) else {
        return check(false, "a payload that a simple reader does not read")
    }
    let json = members.object
    check(Array(json.text.utf8) == Array(payload[tree.range]), "the JSON of a payload is not the payload")
    check(
        json.members.map { Array($0.name.utf8) } == tree.members.map(\.name)
            && json.members.map { Array($0.json.utf8) } == tree.members.map { Array(payload[$0.value.range]) },
        "other members than a simple reader's")
    let known = Set(Member.allCases.map { Array($0.rawValue.utf8) })
    let present = tree.members.filter { known.contains($0.name) && !$0.value.isNull }
    let shown = members.known.map { Array($0.rawValue.utf8) }
    check(shown == present.map(\.name).filter(shown.contains), "other fields than a simple reader's")
    // A member that decides nothing and has another type is unknown.
    let unknown = tree.members.filter { !shown.contains($0.name) && !(known.contains($0.name) && $0.value.isNull) }
    check(json.unknownMembers.map { Array($0.name.utf8) } == unknown.map(\.name), "other unknown members")
}

// MARK: Batches

private let evidenceNames = [
    "receipt-data", "signedPayload", "signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo",
].map { Array($0.utf8) }

/// Invisible characters are returned as escapes. Only strings can contain them.
private func escapingHidden(_ value: ArraySlice<UInt8>) -> [UInt8] {
    String(decoding: value, as: UTF8.self).unicodeScalars.flatMap { scalar -> [UInt8] in
        switch scalar.value {
        case 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069:
            let digits = String(scalar.value, radix: 16)
            return Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8)
        default: return Array(scalar.utf8)
        }
    }
}

/// A value with line breaks is returned without the whitespace between its tokens.
private func onOneLine(_ value: ArraySlice<UInt8>) -> [UInt8] {
    guard value.contains(0x0A) || value.contains(0x0D) else { return Array(value) }
    // Strings are between unescaped quotation marks.
    var isInString = false
    var backslashes = 0
    return value.filter { byte in
        if byte == UInt8(ascii: "\""), backslashes.isMultiple(of: 2) { isInString.toggle() }
        backslashes = byte == UInt8(ascii: "\\") ? backslashes + 1 : 0
        return isInString || !Array(" \t\r\n".utf8).contains(byte)
    }
}

/// A piece of a batch: the verdict must be that on its evidence, and the other members must be returned unchanged.
private func checkBatch(_ piece: [UInt8]) {
    let verdict = warm.verdict(on: piece.span)
    for isBrief in [false, true] {
        let line = Array((isBrief ? verdict.briefJSON : verdict.json).utf8)
        check(SimpleJSON(line, maximumDepth: 70)?.members.isEmpty == false, "a verdict that is no object")
        check(!line.contains(0x0A) && !line.contains(0x0D), "a verdict of several lines")
    }
    guard let tree = SimpleJSON(piece, maximumDepth: 70), case .object(let members) = tree.value else { return }
    let evidence = members.filter { evidenceNames.contains($0.name) }
    if evidence.count != 1 { check((try? verdict.result.get()) == nil, "\(evidence.count) pieces of evidence in one") }
    if !verdict.otherBytes.isEmpty {
        let others = SimpleJSON(verdict.otherBytes, maximumDepth: 70)?.members ?? []
        let received = members.filter { member in
            !evidenceNames.contains(member.name) && others.contains { $0.name == member.name }
        }
        check(!others.isEmpty && others.map(\.name) == received.map(\.name), "other members than were sent")
        for (one, other) in zip(others, received) {
            let (answered, sent) = (
                verdict.otherBytes[one.value.range], onOneLine(escapingHidden(piece[other.value.range])[...])
            )
            check(answered.elementsEqual(sent), "another value than was sent")
        }
    }
    guard case .success(let verified) = verdict.result, let text = evidence.first?.value.string else { return }
    // A receipt in an object must be base64, as in requests to verifyReceipt.
    guard let alone = try? warm.verify(text) else { return check(false, "verified only in an object") }
    check(alone == verified, "evidence in an object is other evidence")
}
