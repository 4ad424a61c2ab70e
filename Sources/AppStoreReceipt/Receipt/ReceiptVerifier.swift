import SignatureTrust
import Instants
import SpanPKCS7

/// The steps from a binary receipt to a verified one.
struct ReceiptVerifier: Sendable {
    let policy: VerificationPolicy
    let engine: TrustEngine

    func verify(_ binary: [UInt8]) throws(VerificationError) -> VerifiedReceipt {
        let verified = try ReceiptContainer.readingDER(of: binary, policy.limits) { (der) throws(VerificationError) in
            try verify(der: der)
        }
        try policy.check(verified.receipt)
        return verified
    }

    /// Checks in this order, so that an input has one verdict: structure, signature, date, chain, payload.
    private func verify(der: [UInt8]) throws(VerificationError) -> VerifiedReceipt {
        let limits = policy.limits
        let message = try ReceiptContainer.message(in: der.span, limits)
        let payload = try ReceiptContainer.payload(of: message)
        let signature: VerifiedSignature
        do throws(SignatureTrustError) {
            signature = try engine.verifySignature(of: message)
        } catch {
            throw .signature(error, of: .receipt)
        }
        // The payload's date is the chain's validation date, and chain errors precede other payload errors. If the
        // signer is known, the payload is read once; that of an unknown signer is not decoded before its chain is
        // validated.
        let early = signature.isSignerKnown ? ReceiptContainer.decode(payload, limits) : nil
        let created: Instant
        if case .success(let table) = early, let date = table.date(.creationDate) {
            created = date
        } else {
            do throws(VerificationError) {
                created = try PayloadDecoder.creationDate(payload.content, baseOffset: payload.contentOffset)
            } catch {
                // The payload has no readable date. Validate the signer before reporting an unreadable payload.
                if case .payload = error.reason { _ = try verification(signature, message, at: nil) }
                throw error
            }
        }
        let verification = try verification(signature, message, at: policy.validationDate(signedAt: created))
        let table = try (early ?? ReceiptContainer.decode(payload, limits)).get()
        return VerifiedReceipt(receipt: Receipt(der, payload, table), verification: verification)
    }

    /// - Parameter date: The validation date; `nil` for the start of the validity of the signer's certificate.
    private func verification(
        _ signature: borrowing VerifiedSignature, _ message: SignedData, at date: Instant?
    ) throws(VerificationError) -> SignerVerification {
        do throws(SignatureTrustError) {
            let moment = if let date { date } else { try signature.signerNotBefore() }
            return try engine.verification(for: signature, in: message, at: moment)
        } catch {
            throw .chain(error, of: .receipt)
        }
    }
}

extension VerificationPolicy {
    /// Checks what a genuine receipt says.
    fileprivate func check(_ receipt: Receipt) throws(VerificationError) {
        try checkBundleID(receipt.bundleID)
        try checkEnvironment(receipt.environment, named: receipt.receiptType)
        guard let created = receipt.creationDate else { return }
        if !allowsFutureDates, let date = receipt.date(after: created) {
            throw .policy(.receiptFromTheFuture, found: "\(date)", expected: "until \(created)")
        }
        try checkAge(signedAt: created, tooOld: .receiptTooOld, future: .receiptFromTheFuture)
    }
}

extension Receipt {
    /// The first date in the receipt that is after its creation date; `nil` if there is none. (Expiration dates may be
    /// later.)
    fileprivate func date(after created: Instant) -> Instant? {
        // Attributes 8 and 18 may have fractions of a second, which 12 does not.
        func late(_ date: Instant?) -> Instant? {
            date.flatMap { $0.secondsSince1970 > created.secondsSince1970 ? $0 : nil }
        }
        if let date = late(originalCreationDate) ?? late(originalPurchaseDate) { return date }
        for purchase in inAppPurchases {
            if let date = late(purchase.purchaseDate) ?? late(purchase.originalPurchaseDate)
                ?? late(purchase.revocationDate)
            {
                return date
            }
        }
        return nil
    }
}
