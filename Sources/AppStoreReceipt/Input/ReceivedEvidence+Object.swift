import StrictText

// A JSON object that contains one piece of evidence, and other members of its sender.
extension ReceivedEvidence {
    private static let members = JSONMembers<EvidenceMember>()

    /// Finds the evidence in an object.
    ///
    /// - Parameters:
    ///   - start: Where the object begins.
    ///   - kind: The only kind that the caller accepts; `nil` for any. Only `receipt-data` has receipts.
    /// - Throws: `invalid-json`, also for evidence that is no string, and for a second piece.
    init(
        object text: Span<UInt8>, from start: Int, as kind: EvidenceKind?, _ limits: VerificationLimits,
        keepsOtherMembers: Bool
    ) throws(InputError) {
        var evidence: ReceivedEvidence?
        var others = JSONWriter()
        others.beginObject()
        do throws(JSONError) {
            try JSONCursor.decode(text, from: start) { (cursor) throws(JSONError) in
                try cursor.readObject { (cursor, name) throws(JSONError) in
                    guard let member = Self.members.member(of: name), kind != .receipt || member == .receiptData else {
                        guard keepsOtherMembers else { return }
                        let value = text.extracting(try cursor.skipValue())
                        others.member(rawName: text.extracting(name.range), rawValue: value)
                        return
                    }
                    guard evidence == nil else { throw JSONError(.duplicateMember, offset: name.offset) }
                    evidence = try Self.readMember(&cursor, of: start, as: kind, limits)
                }
            }
        } catch {
            throw InputError(.invalidJSON, armor: .json, offset: error.offset)
        }
        others.endObject()
        self =
            evidence
            ?? Self(.receipt, .json, fault: .input(InputError(.missingReceiptData, armor: .json, offset: start)))
        otherMembers = others.bytes.count > 2 ? others.bytes : []
    }

    private static func readMember(
        _ cursor: inout JSONCursor, of start: Int, as kind: EvidenceKind?, _ limits: VerificationLimits
    ) throws(JSONError) -> ReceivedEvidence {
        let text = try cursor.startOfString()
        // The base64 of a receipt begins with M, and that of nothing else.
        let isReceipt = kind == .receipt || !text.isEmpty && text[0] == UInt8(ascii: "M")
        if isReceipt, kind != .jws {
            return Self(receipt: try ReceiptText.readString(&cursor, limits.maximumReceiptByteCount))
        }
        let string = try cursor.readString()
        if isReceipt { return Self(.jws, .json, fault: VerificationError(.compactJWS(.partCount, offset: start))) }
        return Self(member: string, as: kind, limits)
    }

    private init(member string: borrowing JSONString, as kind: EvidenceKind?, _ limits: VerificationLimits) {
        let bytes = string.hasEscapes ? string.bytes : []
        let text = string.hasEscapes ? bytes.span : string.raw
        let place = string.hasEscapes ? nil : string.offset + 1..<string.offset + 1 + text.count
        var kind = kind
        for other in EvidenceKind.recognizable where kind == nil && other.isBeginning(of: text) { kind = other }
        guard let kind else {
            self.init(receipt: ReceiptText.decode(string, limits.maximumReceiptByteCount))
            return
        }
        do throws(InputError) {
            let decoded = try kind.content(of: text, limits).decoded
            self.init(kind, .json, at: decoded == nil ? place : nil, decoded: decoded ?? bytes)
        } catch {
            let offset = string.offset(ofByte: error.offset)
            self.init(kind, .json, fault: .input(InputError(error.kind, armor: error.armor, offset: offset)))
        }
    }

    /// The decoded member, or the reason it has no receipt.
    private init(receipt: Result<[UInt8], InputError>) {
        switch receipt {
        case .success(let binary): self.init(.receipt, .json, decoded: binary)
        case .failure(let error): self.init(.receipt, .json, fault: .input(error))
        }
    }

    /// The decoded `receipt-data` of a request to verifyReceipt, a binary receipt or a property list, or the reason it
    /// has none.
    init(receiptData: Result<[UInt8], InputError>, _ limits: VerificationLimits) {
        do throws(InputError) {
            let data = try receiptData.get()
            // No receipt begins with a brace.
            guard data.first(where: { !$0.isWhitespace }) == .openingBrace else {
                self.init(.receipt, .json, decoded: data)
                return
            }
            let list = try TransactionReceiptText.decode(data.span, limits)
            self.init(.transactionReceipt, .json, decoded: list ?? data)
        } catch {
            self.init(.receipt, .json, fault: .input(error))
        }
    }
}
