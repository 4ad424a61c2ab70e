import StrictText

/// The body of a request to verifyReceipt: `{"receipt-data":"…","password":"…","exclude-old-transactions":false}`.
struct VerifyReceiptRequest: Sendable {
    /// The binary receipt, or the property list of a transaction receipt.
    let receipt: [UInt8]
    /// `exclude-old-transactions` is `true`; anything else counts as `false`.
    let excludesOldTransactions: Bool

    /// - Parameter maximumByteCount: the maximum size of the binary receipt, in bytes. The limit on the body follows from it, as for other texts.
    /// - Throws: `invalid-json` if the body is not a JSON object or repeats a member; otherwise, an error of `receipt-data`.
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

    // `password` is ignored, because there is no secret to compare it with.
    private enum Member: String, CaseIterable {
        case receiptData = "receipt-data"
        case excludeOldTransactions = "exclude-old-transactions"
    }
    private static let members = JSONMembers<Member>()
}
