import StrictText

// The two functions of `ReceiptUtility` in Apple's App Store Server Library, of a receipt that is verified first.
extension AppStoreVerifier {
    /// Verifies a receipt and returns a transaction id in it, with which to call the App Store Server API.
    ///
    /// It is the id that `ReceiptUtility.extractTransactionId(appReceipt:)` of Apple's library returns, which doesn't
    /// validate the receipt: the first id in the first purchase that has one, in the receipt's order. It is a
    /// transaction id [1703] or an original transaction id [1705], whichever the purchase has first. Each finds the
    /// customer's whole history. An empty string is no id, and Apple's library returns it.
    ///
    /// - Parameter appReceipt: A receipt, as ``verifyReceipt(_:applicationVersion:deviceIdentifier:)`` takes it.
    /// - Returns: The id, or `nil` if the receipt has no purchases.
    /// - Throws: The reason the receipt was refused.
    public func extractTransactionID(appReceipt: some EvidenceSource) throws(VerificationError) -> String? {
        try verifyReceipt(appReceipt).inAppPurchases.lazy.compactMap(\.firstID).first
    }

    /// Verifies a transaction receipt and returns its transaction id, with which to call the App Store Server API.
    ///
    /// It is the id that `ReceiptUtility.extractTransactionId(transactionReceipt:)` of Apple's library returns, which
    /// doesn't validate the receipt.
    ///
    /// - Parameter transactionReceipt: A transaction receipt, as ``verifyTransactionReceipt(_:)`` takes it.
    /// - Returns: The `transaction-id`, which every transaction receipt has.
    /// - Throws: The reason the transaction receipt was refused.
    public func extractTransactionID(
        transactionReceipt: some EvidenceSource
    ) throws(VerificationError) -> String {
        try verifyTransactionReceipt(transactionReceipt).transactionID
    }

    /// Returns `{"transaction_id":…}`, with `null` for none.
    @_spi(Surfaces) public static func json(transactionID: String?) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        if let transactionID {
            writer.member("transaction_id", transactionID)
        } else {
            writer.name("transaction_id")
            writer.null()
        }
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension InAppPurchase {
    /// The transaction id or the original one, whichever the purchase has first.
    fileprivate var firstID: String? {
        for attribute in attributes {
            switch attribute.type {
            case .transactionID: if let transactionID { return transactionID }
            case .originalTransactionID: if let originalTransactionID { return originalTransactionID }
            default: break
            }
        }
        return nil
    }
}
