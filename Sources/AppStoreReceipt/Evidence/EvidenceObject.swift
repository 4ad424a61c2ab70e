import StrictText

/// A JSON object with one piece of evidence, and whatever else its sender keeps beside it.
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
    /// - Throws: also for evidence that is no string, and for a second piece.
    init(_ text: Span<UInt8>, from start: Int, keepsOtherMembers: Bool) throws(JSONError) {
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

extension EvidenceVerifier {
    /// Verifies the evidence that an object has.
    func verify(
        _ object: EvidenceObject, in text: Span<UInt8>, from start: Int
    ) throws(EvidenceError) -> VerifiedEvidence {
        guard let (content, hasEscapes) = object.evidence else {
            throw refusal(InputError(.missingReceiptData, form: .json, offset: start))
        }
        return try verify(
            evidence: JSONString(
                text.extracting(content), offset: content.lowerBound - 1, hasEscapes: hasEscapes))
    }

    /// Reads an object that has evidence.
    func readObject(
        _ text: Span<UInt8>, from start: Int, keepsOtherMembers: Bool
    ) throws(EvidenceError) -> EvidenceObject {
        do throws(JSONError) {
            return try EvidenceObject(text, from: start, keepsOtherMembers: keepsOtherMembers)
        } catch {
            throw refusal(InputError(.invalidJSON, form: .json, offset: error.offset))
        }
    }

    /// Verifies the string that an object has as evidence.
    private func verify(evidence string: borrowing JSONString) throws(EvidenceError) -> VerifiedEvidence {
        let decoded = string.hasEscapes ? string.bytes : []
        let text = string.hasEscapes ? decoded.span : string.raw
        if let range = SignedDataVerifier.jws(in: text) {
            do throws(SignedDataError) {
                return try signedData.verifyAny(text.extracting(range))
            } catch {
                throw .signedData(error)
            }
        }
        let limit = receipts.policy.limits.maximumByteCount
        do throws(ReceiptError) {
            return .receipt(
                try receipts.verify { () throws(ReceiptError) in
                    do throws(InputError) {
                        return try ReceiptInput(receiptData: string, maximumByteCount: limit).decoded
                    } catch {
                        throw .input(error)
                    }
                })
        } catch {
            throw .receipt(error)
        }
    }

    /// The refusal of what is no receipt, counted as any other.
    func refusal(_ error: InputError) -> EvidenceError {
        do throws(ReceiptError) {
            _ = try receipts.verify { () throws(ReceiptError) in throw .input(error) }
        } catch {
            return .receipt(error)
        }
        return .receipt(.input(error))
    }
}
