import StrictText

/// A JSON object that contains one piece of evidence, and other members of its sender.
struct EvidenceObject {
    /// Where in the text is the string that is the evidence, and whether it has escapes.
    let evidence: (content: Range<Int>, hasEscapes: Bool)?
    /// All other members, as an object; empty where there are none.
    let otherMembers: [UInt8]
    /// Where Apple puts evidence: requests to verifyReceipt, notifications, and answers of the App Store Server API.
    private enum Member: String, CaseIterable {
        case receiptData = "receipt-data"
        case signedPayload, signedTransactionInfo, signedRenewalInfo, signedAppTransactionInfo
    }
    private static let members = JSONMembers<Member>()

    /// - Parameters:
    ///   - start: where the object begins.
    ///   - keepsOtherMembers: whether ``otherMembers`` is wanted, which is a copy of most of the text where there is little evidence in it.
    /// - Throws: `invalid-json`, also for evidence that is no string, and for a second piece.
    init(
        _ text: Span<UInt8>, from start: Int, keepsOtherMembers: Bool
    ) throws(VerificationError) {
        do throws(JSONError) {
            try self.init(decoding: text, from: start, keepsOtherMembers: keepsOtherMembers)
        } catch {
            throw .input(InputError(.invalidJSON, form: .json, offset: error.offset))
        }
    }

    private init(decoding text: Span<UInt8>, from start: Int, keepsOtherMembers: Bool) throws(JSONError) {
        var evidence: (Range<Int>, Bool)?
        var others = JSONWriter()
        others.beginObject()
        try JSONCursor.decode(text, from: start) { (cursor) throws(JSONError) in
            try cursor.readObject { (cursor, name) throws(JSONError) in
                guard Self.members.index(of: name) != nil else {
                    guard keepsOtherMembers else { return }
                    let value = text.extracting(try cursor.skipValue())
                    others.member(rawName: text.extracting(name.range), rawValue: value)
                    return
                }
                guard evidence == nil else { throw JSONError(.duplicateMember, offset: name.offset) }
                let string = try cursor.readString()
                evidence = (string.range, string.hasEscapes)
            }
        }
        others.endObject()
        self.evidence = evidence.map { ($0.lowerBound + 1..<$0.upperBound - 1, $1) }
        otherMembers = others.bytes.count > 2 ? others.bytes : []
    }
}

extension AppStoreVerifier {
    /// Verifies the evidence that an object has.
    func verifyUncounted(
        _ object: EvidenceObject, in text: Span<UInt8>, from start: Int
    ) throws(VerificationError) -> VerifiedEvidence {
        guard let (content, hasEscapes) = object.evidence else {
            throw .input(InputError(.missingReceiptData, form: .json, offset: start))
        }
        let string = JSONString(text.extracting(content), offset: content.lowerBound - 1, hasEscapes: hasEscapes)
        let decoded = string.hasEscapes ? string.bytes : []
        let evidence = string.hasEscapes ? decoded.span : string.raw
        if EvidenceInput.isJWS(evidence) { return try jws.verify(evidence) }
        if TransactionReceiptInput.isTransactionReceipt(evidence) {
            return .transactionReceipt(try verifyUncounted(transactionReceipt: evidence))
        }
        let binary: [UInt8]
        do throws(InputError) {
            binary = try ReceiptInput(receiptData: string, maximumByteCount: policy.limits.maximumByteCount).decoded
        } catch {
            throw .input(error)
        }
        return .receipt(try verifyUncounted(receipt: binary))
    }
}
