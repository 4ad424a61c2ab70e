import SignatureTrust

/// The steps from the property list of a transaction receipt to a verified one.
struct TransactionReceiptVerifier: Sendable {
    let policy: VerificationPolicy
    let engine: TransactionReceiptEngine

    /// Checks in this order, so that an input has one verdict: form, signature blob, signature, date, chain, payload,
    /// policy.
    func verify(_ list: Span<UInt8>) throws(VerificationError) -> VerifiedTransactionReceipt {
        let parts = try TransactionReceiptParts(list)
        let signature = parts.signature
        let blob = try SignatureBlob(signature.span)
        let key = try engine.verifySignature(of: blob, over: parts.purchaseInfo)
        let info: PurchaseInfo
        do throws(VerificationError) {
            info = try parts.info()
        } catch {
            // There is no date at which to validate the chain. Report the payload as unreadable only if the signer is
            // trusted.
            _ = try engine.verification(for: blob, key: key) { $0 }
            throw error
        }
        let purchased = try info.purchaseDate()
        let verification = try engine.verification(for: blob, key: key) { notBefore in
            // A restored purchase can be signed later than its purchase date.
            policy.validationDate(signedAt: max(purchased, notBefore))
        }
        let receipt = try TransactionReceipt(info, blob.version, purchased)
        try policy.check(receipt)
        return VerifiedTransactionReceipt(transactionReceipt: receipt, verification: verification)
    }
}

extension VerificationPolicy {
    /// Checks the contents of a genuine transaction receipt against the policy.
    fileprivate func check(_ receipt: TransactionReceipt) throws(VerificationError) {
        try checkBundleID(receipt.bundleID)
        // It names no environment. If its id implies none, the error has the id.
        try checkEnvironment(
            receipt.inferredEnvironment, named: environments.map { _ in receipt.transactionID })
        try checkAge(signedAt: receipt.purchaseDate, tooOld: .receiptTooOld, future: .receiptFromTheFuture)
    }
}
