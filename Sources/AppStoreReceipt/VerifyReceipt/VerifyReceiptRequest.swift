import StrictText

/// The body of a request to verifyReceipt: `{"receipt-data":"…","password":"…","exclude-old-transactions":false}`.
struct VerifyReceiptRequest: Sendable {
    /// The receipt or transaction receipt in `receipt-data`. It has the fault of a body that cannot be read.
    let evidence: ReceivedEvidence
    /// `exclude-old-transactions` is `true`; anything else counts as `false`.
    let excludesOldTransactions: Bool

    /// A body that is not a JSON object, or repeats a member, has the fault `invalid-json`.
    init(_ body: Span<UInt8>, _ limits: VerificationLimits) {
        var receiptData: Result<[UInt8], InputError> = .failure(
            InputError(.missingReceiptData, armor: .json, offset: 0))
        var excludesOldTransactions = false
        var isRepeated = false
        do throws(InputError) {
            try ReceiptText.checkCount(body.count, .json, limits.maximumReceiptByteCount)
            do throws(JSONError) {
                try JSONCursor.decode(body) { (cursor) throws(JSONError) in
                    try cursor.readObject(of: Self.members) { (cursor, member) throws(JSONError) in
                        switch member {
                        case .receiptData:
                            guard try cursor.peekType() == .string else { return }
                            receiptData = try ReceiptText.readString(&cursor, limits.maximumReceiptByteCount)
                        case .excludeOldTransactions:
                            guard try cursor.peekType() == .boolean else { return }
                            excludesOldTransactions = try cursor.readBool()
                        }
                    }
                }
            } catch {
                isRepeated = error.kind == .duplicateMember
                throw InputError(.invalidJSON, armor: .json, offset: error.offset)
            }
        } catch {
            receiptData = .failure(error)
        }
        var evidence = ReceivedEvidence(receiptData: receiptData, limits)
        // It is unknown which of two members is meant.
        if !isRepeated { evidence.allowWrappers(as: nil) }
        self.evidence = evidence
        self.excludesOldTransactions = excludesOldTransactions
    }

    /// Whether the body is not a JSON object, whatever was found out about it.
    var isUnreadable: Bool { evidence.armorFault.map { VerifyReceiptStatus($0) == .unreadableRequest } ?? false }

    // `password` is ignored, because there is no secret to compare it with.
    private enum Member: String, CaseIterable {
        case receiptData = "receipt-data"
        case excludeOldTransactions = "exclude-old-transactions"
    }
    private static let members = JSONMembers<Member>()
}
