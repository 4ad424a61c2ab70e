public import SignatureTrust

extension ReceiptContents {
    /// SHA-256 of the signed content, computed each time it is asked for: the same receipt, however it was sent and wrapped, has the same.
    ///
    /// A receipt that is refreshed is another, also where nothing was bought. What is granted once is a transaction id:
    /// ``InAppPurchase/transactionID``.
    ///
    /// - Throws: a host error: this libcrypto does not compute SHA-256.
    public var fingerprint: Fingerprint {
        get throws(VerificationError) {
            let storage = receipt.storage
            do throws(SignatureTrustError) {
                return try Fingerprint(of: storage.bytes[storage.payload].span)
            } catch {
                throw .signature(error, of: .receipt)
            }
        }
    }
}
