import SignatureTrust
import SpanASN1
import StrictText

/// The steps from the property list of a transaction receipt to its plain value, with or without verification.
struct TransactionReceiptContainer: Sendable {
    let policy: VerificationPolicy
    let trust: TransactionReceiptTrust

    /// Checks in this order, so that an input has one verdict: form, signature blob, signature, date, chain, payload, policy.
    func open(_ text: Span<UInt8>) throws(VerificationError) -> VerifiedTransactionReceipt {
        let parts = try TransactionReceiptParts(text)
        let signature = parts.signature
        let blob = try SignatureBlob(signature.span)
        let key = try trust.verifySignature(of: blob, over: parts.purchaseInfo)
        let info: PurchaseInfo
        do throws(PropertyListError) {
            info = try PurchaseInfo(parts.purchaseInfo)
        } catch {
            // There is no date at which to validate the chain. Report the payload as unreadable only if the signer is trusted.
            _ = try trust.verification(for: blob, key: key) { $0 }
            throw VerificationError(.propertyList(error, .payload))
        }
        let purchased = try info.purchaseDate()
        let verification = try trust.verification(for: blob, key: key) { notBefore in
            // A restored purchase can be signed later than its purchase date.
            policy.validationDate(signedAt: max(purchased, notBefore))
        }
        let receipt = try TransactionReceipt(info, blob.version, purchased)
        try policy.check(receipt)
        return VerifiedTransactionReceipt(transactionReceipt: receipt, verification: verification)
    }

    /// Decodes a transaction receipt without verifying it.
    static func decode(_ text: Span<UInt8>) throws(VerificationError) -> TransactionReceipt {
        let parts = try TransactionReceiptParts(text)
        let signature = parts.signature
        let blob = try SignatureBlob(signature.span)
        let info: PurchaseInfo
        do throws(PropertyListError) {
            info = try PurchaseInfo(parts.purchaseInfo)
        } catch {
            throw VerificationError(.propertyList(error, .payload))
        }
        return try TransactionReceipt(info, blob.version, try info.purchaseDate())
    }
}

/// The used values of the outer property list. The others are not signed, and are ignored.
private struct TransactionReceiptParts {
    let signature: [UInt8]
    let purchaseInfo: [UInt8]

    init(_ text: Span<UInt8>) throws(VerificationError) {
        do throws(PropertyListError) {
            let list = try PropertyList(text)
            signature = try list.base64(.signature, in: text)
            purchaseInfo = try list.base64(.purchaseInfo, in: text)
        } catch {
            throw VerificationError(.propertyList(error, .propertyList))
        }
    }
}

extension PropertyList {
    fileprivate func base64(
        _ key: TransactionReceiptKey, in text: Span<UInt8>
    ) throws(PropertyListError) -> [UInt8] {
        guard let range = value(of: key, in: text) else { throw PropertyListError(.missingKey, offset: end, key: key) }
        do throws(Base64Error) {
            return try Base64.decode(text.extracting(range), as: .strict)
        } catch {
            throw PropertyListError(.invalidBase64, offset: range.lowerBound + error.offset, key: key)
        }
    }
}

extension PurchaseInfo {
    fileprivate func purchaseDate() throws(VerificationError) -> Instant {
        do throws(PropertyListError) {
            if let date = try date(.purchase) { return date }
            throw error(.missingKey, .purchaseDate)
        } catch {
            let fault: DateFault =
                switch error.kind {
                case .missingKey: .missingPurchaseDate
                case .datesDisagree: .disagreeingPurchaseDates
                default: .unreadablePurchaseDate
                }
            throw VerificationError(.date(fault, offset: error.offset))
        }
    }
}

extension VerificationPolicy {
    /// Checks the contents of a genuine transaction receipt against the policy.
    fileprivate func check(_ receipt: TransactionReceipt) throws(VerificationError) {
        try checkBundleID(receipt.bundleID)
        try checkEnvironment(receipt.inferredEnvironment, named: receipt.transactionID)
        try checkAge(signedAt: receipt.purchaseDate, tooOld: .receiptTooOld, future: .receiptFromTheFuture)
    }
}
