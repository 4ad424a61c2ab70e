import AppStoreReceipt
import AppStoreReceiptTesting
import FuzzSupport
import StrictText

// Transaction receipts: the input as it is, and as the `purchase-info` of a receipt that is signed. Verified contents
// are the signed contents; a verifier that knows the chain and one that has seen nothing agree; a property list is read
// as a simple reader reads it.

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe withInput(start, count) { input in
        verifyReceived(input)
        verifySigned(input)
    }
}

#if !FUZZ
@main enum Replay {
    static func main() { unsafe replay(testOneInput, orMint: seeds) }
}

/// Contents to be signed.
private var seeds: [(name: String, bytes: [UInt8])] {
    var subscription = builder
    subscription.expiresDate = ReceiptBuilder.defaultCreationDate + .seconds(86_400)
    (subscription.isTrialPeriod, subscription.webOrderLineItemID) = (true, "70000000000001")
    var sandbox = builder
    (sandbox.transactionID, sandbox.originalTransactionID) = ("1000000046178817", "1000000046178818")
    sandbox.additionalValues = [.init("new-key", "é")]
    return [
        ("purchase", builder.purchaseInfo()), ("subscription", subscription.purchaseInfo()),
        ("sandbox", sandbox.purchaseInfo()),
    ]
}
#endif

private let builder = TransactionReceiptBuilder(
    bundleID: "com.example.app", productID: "pro", transactionID: "10000000000001", version: .version2)

// MARK: Verifiers

/// Made anew for each process: no input has a signature of its own that must hold.
private let authority = FuzzAuthority.made { try TestCertificateAuthority(.transactionReceiptsOfVersion2) }

private let policy = {
    var policy = VerificationPolicy(bundleIDs: ["com.example.app"], environments: [.production, .sandbox])
    policy.allowsRSA1024TransactionReceipts = true
    return policy
}()

private func coldVerifier() -> AppStoreVerifier {
    FuzzAuthority.made { try AppStoreVerifier(policy: policy, trust: authority.transactionReceiptTrust) }
}

private let warm = coldVerifier()
private let responder = FuzzAuthority.made {
    var responder = try VerifyReceiptResponder(policy: policy, trust: authority.transactionReceiptTrust)
    responder.fillsLatestReceiptInfo = true
    return responder
}

// MARK: Verdicts

private func verifyReceived(_ input: [UInt8]) {
    let verdict = Result { () throws(VerificationError) in try warm.verifyTransactionReceipt(input) }
    switch verdict {
    case .success: check(false, "verified without a signature of this process's authority")
    case .failure(let error): checkError(error, input)
    }
    if case .failure(let error) =
        (Result { () throws(VerificationError) in
            try TransactionReceipt(unverified: input)
        })
    {
        checkError(error, input)
    }
    checkJSON(warm.verdict(on: input.span).json)
    checkJSON(String(decoding: responder.answer(toAnyReceipt: input).body, as: UTF8.self))
}

private func verifySigned(_ info: [UInt8]) {
    let list = FuzzAuthority.made { () throws(MintingError) in
        builder.propertyList(purchaseInfo: info, signature: try builder.signatureBlob(over: info, by: authority.leaf))
    }
    let verdict = Result { () throws(VerificationError) in try warm.verifyTransactionReceipt(list) }
    // To make a verifier costs more than all else.
    if info.count % 16 == 0 {
        let cold = Result { () throws(VerificationError) in try coldVerifier().verifyTransactionReceipt(list) }
        check(cold == verdict, "warm: \(verdict)\ncold: \(cold)")
    }
    let evidence = Result { () throws(VerificationError) in try warm.verify(Base64.encode(list.span)) }
    check(evidence == verdict.map { .transactionReceipt($0) }, "in base64: \(evidence)\nas a list: \(verdict)")
    let simple = SimplePropertyList(info)
    switch verdict {
    case .success(let receipt):
        let read = receipt.transactionReceipt.values.map { [Array($0.key.utf8), Array($0.value.utf8)] }
        check(
            simple.map { $0.entries.map { [$0.key, $0.value] } == read } ?? false,
            "read otherwise than by a simple reader")
        check(receipt.bundleID == "com.example.app" && receipt.inferredEnvironment != nil, "another app or environment")
        check(receipt.quantity > 0 && receipt.purchase?.quantity == receipt.quantity, "nothing bought")
        checkJSON(receipt.json)
        let answer = responder.answer(to: Array("{\"receipt-data\":\"\(Base64.encode(list.span))\"}".utf8))
        check([.valid, .subscriptionExpired].contains(answer.status), "verified, and answered with \(answer.status)")
        checkJSON(String(decoding: answer.body, as: UTF8.self))
    case .failure(let error):
        check([.date, .payload, .policy].contains(error.stage), "signed, and refused for \(error)")
        let isSyntax = error.path == "purchase-info"
        check(isSyntax == (simple == nil), "\(error), but a simple reader says \(simple == nil)")
        if let offset = error.offset { check(0...info.count ~= offset, "\(error) lies outside the contents") }
        checkJSON(error.json)
    }
}

private func checkError(_ error: VerificationError, _ text: [UInt8]) {
    check(error.stage != .verifier, "the verifier is said to be at fault: \(error)")
    if let offset = error.offset { check(0...text.count ~= offset, "\(error) lies outside the input") }
    _ = error.excerpt(of: text)
    checkJSON(error.json)
}

private func checkJSON(_ text: String) {
    check(SimpleJSON(Array(text.utf8), maximumDepth: 70) != nil, "no JSON: \(text)")
}

// MARK: - A simple reader

/// A property list of quoted strings, read as the grammar says it, byte by byte and with copies.
private struct SimplePropertyList {
    var entries: [(key: [UInt8], value: [UInt8])] = []

    init?(_ text: [UInt8]) {
        var rest = text[...]
        func space() { rest = rest.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) } }
        func take(_ character: Character) -> Bool {
            space()
            guard rest.first == character.asciiValue else { return false }
            rest.removeFirst()
            return true
        }
        func string() -> [UInt8]? {
            guard take("\""), let end = rest.firstIndex(of: UInt8(ascii: "\"")) else { return nil }
            let content = Array(rest[..<end])
            rest = rest[(end + 1)...]
            let isPlain = content.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\\") }
            return isPlain && Array(String(decoding: content, as: UTF8.self).utf8) == content ? content : nil
        }
        guard take("{") else { return nil }
        while !take("}") {
            guard entries.count < 256, let key = string(), take("="), let value = string(), take(";"),
                !entries.contains(where: { $0.key == key })
            else { return nil }
            entries.append((key, value))
        }
        space()
        guard rest.isEmpty else { return nil }
    }
}
