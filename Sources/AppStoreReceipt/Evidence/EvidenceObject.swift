import StrictText

/// A JSON object that contains one piece of evidence, and other members of its sender.
struct EvidenceObject {
    enum Evidence {
        /// A string that begins as a receipt, decoded: the binary receipt, or the reason the string has none.
        case receipt(Result<[UInt8], InputError>)
        /// Any other string: where its content is in the text, and whether it has escapes.
        case other(content: Range<Int>, hasEscapes: Bool)
    }

    /// The evidence; `nil` if the object has none.
    let evidence: Evidence?
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
    ///   - maximumByteCount: the maximum size of a binary receipt, in bytes.
    ///   - keepsOtherMembers: whether ``otherMembers`` is wanted, which is a copy of most of the text where there is little evidence in it.
    /// - Throws: `invalid-json`, also for evidence that is no string, and for a second piece.
    init(
        _ text: Span<UInt8>, from start: Int, maximumByteCount: Int, keepsOtherMembers: Bool
    ) throws(VerificationError) {
        do throws(JSONError) {
            try self.init(
                decoding: text, from: start, maximumByteCount: maximumByteCount, keepsOtherMembers: keepsOtherMembers)
        } catch {
            throw .input(InputError(.invalidJSON, form: .json, offset: error.offset))
        }
    }

    private init(
        decoding text: Span<UInt8>, from start: Int, maximumByteCount: Int, keepsOtherMembers: Bool
    ) throws(JSONError) {
        var evidence: Evidence?
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
                evidence = try Self.readEvidence(&cursor, maximumByteCount: maximumByteCount)
            }
        }
        others.endObject()
        self.evidence = evidence
        otherMembers = others.bytes.count > 2 ? others.bytes : []
    }

    private static func readEvidence(
        _ cursor: inout JSONCursor, maximumByteCount: Int
    ) throws(JSONError) -> Evidence {
        let text = try cursor.startOfString()
        // The base64 of a receipt begins with M, and that of nothing else.
        guard text.isEmpty || text[0] != UInt8(ascii: "M") else {
            return .receipt(try ReceiptInput.readReceiptData(&cursor, maximumByteCount: maximumByteCount))
        }
        let string = try cursor.readString()
        return .other(
            content: string.range.lowerBound + 1..<string.range.upperBound - 1, hasEscapes: string.hasEscapes)
    }
}

extension AppStoreVerifier {
    /// Passes on a JWS: the text itself, or the one in the JSON object that it is, which is what Apple's server posts.
    func withJWS<Success>(
        in text: Span<UInt8>, _ body: (Span<UInt8>) throws(VerificationError) -> Success
    ) throws(VerificationError) -> Success {
        guard text.count <= policy.limits.maximumJWSByteCount, let start = ReceiptInput.startOfObject(in: text) else {
            return try body(text)
        }
        let object = try EvidenceObject(
            text, from: start, maximumByteCount: policy.limits.maximumByteCount, keepsOtherMembers: false)
        switch object.evidence {
        case nil: throw .input(InputError(.missingReceiptData, form: .json, offset: start))
        case .receipt: throw VerificationError(.form(.partCount, offset: start))
        case .other(let content, let hasEscapes):
            let string = JSONString(text.extracting(content), offset: content.lowerBound - 1, hasEscapes: hasEscapes)
            return try string.hasEscapes ? body(string.bytes.span) : body(string.raw)
        }
    }

    /// Verifies the evidence that an object has.
    func verifyUncounted(
        _ object: EvidenceObject, in text: Span<UInt8>, from start: Int
    ) throws(VerificationError) -> VerifiedEvidence {
        switch object.evidence {
        case nil: throw .input(InputError(.missingReceiptData, form: .json, offset: start))
        case .receipt(let receipt): return .receipt(try verifyUncounted(receipt: receipt))
        case .other(let content, let hasEscapes):
            return try verifyUncounted(string: content, hasEscapes: hasEscapes, in: text)
        }
    }

    private func verifyUncounted(receipt: Result<[UInt8], InputError>) throws(VerificationError) -> VerifiedReceipt {
        let binary: [UInt8]
        do throws(InputError) {
            binary = try receipt.get()
        } catch {
            throw .input(error)
        }
        return try verifyUncounted(receipt: binary)
    }

    private func verifyUncounted(
        string content: Range<Int>, hasEscapes: Bool, in text: Span<UInt8>
    ) throws(VerificationError) -> VerifiedEvidence {
        let string = JSONString(text.extracting(content), offset: content.lowerBound - 1, hasEscapes: hasEscapes)
        let decoded = string.hasEscapes ? string.bytes : []
        let evidence = string.hasEscapes ? decoded.span : string.raw
        if EvidenceInput.isJWS(evidence) { return try jws.verify(evidence) }
        if TransactionReceiptInput.isTransactionReceipt(evidence) {
            return .transactionReceipt(try verifyUncounted(transactionReceipt: evidence))
        }
        return .receipt(
            try verifyUncounted(
                receipt: ReceiptInput.decode(string, maximumByteCount: policy.limits.maximumByteCount)))
    }
}
