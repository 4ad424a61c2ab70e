public import SignatureTrust

extension ReceiptContents {
    /// The SHA-256 of the signed contents, computed on each access.
    ///
    /// It is the same in whichever armor the receipt is sent. A refreshed receipt has a different fingerprint, even if
    /// nothing was bought. To grant each purchase once, use ``Purchase/transactionID``.
    ///
    /// - Throws: An error of the category `host` if libcrypto on this host does not compute SHA-256.
    public var fingerprint: Fingerprint {
        get throws(VerificationError) {
            let storage = _contents.storage
            do throws(SignatureTrustError) {
                return try Fingerprint(of: storage.bytes[storage.payload].span)
            } catch {
                throw .signature(error, of: .receipt)
            }
        }
    }
}
