import StrictText

/// The body of a request to verifyReceipt: `{"receipt-data":"…","password":"…","exclude-old-transactions":false}`.
struct VerifyReceiptRequest: Sendable {
    /// The binary receipt, or the property list of a transaction receipt.
    let receipt: [UInt8]
    /// `exclude-old-transactions` is `true`; anything else counts as `false`.
    let excludesOldTransactions: Bool

    /// - Parameter maximumByteCount: the most bytes that the binary receipt may have; the body is bounded by it as other texts are.
    /// - Throws: `invalid-json` for what is no JSON object, or one that says a member twice; for all else, an error of `receipt-data`.
    init(_ body: Span<UInt8>, maximumByteCount: Int) throws(InputError) {
        try ReceiptInput.checkCount(ofText: body.count, .json, maximumByteCount)
        var receipt: Result<[UInt8], InputError> = .failure(InputError(.missingReceiptData, form: .json, offset: 0))
        var excludesOldTransactions = false
        do throws(JSONError) {
            try JSONCursor.decode(body) { (cursor) throws(JSONError) in
                try cursor.readObject(of: Self.members) { (cursor, member) throws(JSONError) in
                    switch member {
                    case .receiptData:
                        guard try cursor.peekType() == .string else { return }
                        receipt = try ReceiptInput.readReceiptData(&cursor, maximumByteCount: maximumByteCount)
                    case .excludeOldTransactions:
                        guard try cursor.peekType() == .boolean else { return }
                        excludesOldTransactions = try cursor.readBool()
                    }
                }
            }
        } catch {
            throw InputError(.invalidJSON, form: .json, offset: error.offset)
        }
        self.receipt = try receipt.get()
        self.excludesOldTransactions = excludesOldTransactions
    }

    // There is no secret that could be wrong: `password` is a member like any other that is passed over.
    private enum Member: String, CaseIterable {
        case receiptData = "receipt-data"
        case excludeOldTransactions = "exclude-old-transactions"
    }
    private static let members = JSONMembers<Member>()
}
