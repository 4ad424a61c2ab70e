import StrictText

// Evidence that must be of one kind. Everything else is refused.
extension AppStoreVerifier {
    /// Verifies a receipt and returns its contents.
    ///
    /// - Parameters:
    ///   - receipt: A receipt: binary, base64, PEM, or a JSON object with the member `receipt-data`; or one of these as
    ///     in <doc:WhatClientsSend>.
    ///   - applicationVersion: The version that the receipt's ``ReceiptContents/applicationVersion`` must equal, or
    ///     `nil` to accept any.
    ///   - deviceIdentifier: The device for which the receipt must have been made, or `nil` to accept any. See
    ///     ``ReceiptContents/matches(deviceIdentifier:)``.
    /// - Returns: The verified receipt.
    /// - Throws: The reason the receipt was refused.
    public func verifyReceipt(
        _ receipt: some EvidenceSource, applicationVersion: String? = nil, deviceIdentifier: [UInt8]? = nil
    ) throws(VerificationError) -> VerifiedReceipt {
        let received = ReceivedEvidence(receipt, as: .receipt, policy.limits)
        return try counters.counting { () throws(VerificationError) in
            let receipt = try receipt._withEvidenceBytes { (input) throws(VerificationError) in
                let (verified, layers) = try received.read(in: input, policy.form) {
                    (received, _) throws(VerificationError) in try verifiers.receipts.verify(received.binary())
                }
                return VerifiedReceipt(
                    receipt: verified.receipt, verification: verified.verification.inside(layers))
            }
            if let applicationVersion, receipt.applicationVersion?.hasSameBytes(as: applicationVersion) != true {
                throw .policy(
                    .applicationVersionMismatch, found: receipt.applicationVersion, expected: applicationVersion)
            }
            if let deviceIdentifier, try !receipt.matches(deviceIdentifier: deviceIdentifier) {
                throw .policy(.deviceMismatch)
            }
            return receipt
        } layers: {
            $0.verification.layers
        }
    }

    /// Verifies a transaction receipt, which is the `transactionReceipt` of a `SKPaymentTransaction` of iOS 3 to 6.
    ///
    /// Those of version 2, which Apple signed until 2015 at least, require
    /// ``VerificationPolicy/allowsRSA1024TransactionReceipts``.
    ///
    /// - Parameter transactionReceipt: The property list as the app received it, or its base64.
    /// - Returns: The verified transaction receipt, which is one purchase.
    /// - Throws: The reason the transaction receipt was refused.
    public func verifyTransactionReceipt(
        _ transactionReceipt: some EvidenceSource
    ) throws(VerificationError) -> VerifiedTransactionReceipt {
        let received = ReceivedEvidence(transactionReceipt, as: .transactionReceipt, policy.limits)
        return try counters.counting { () throws(VerificationError) in
            try transactionReceipt._withEvidenceBytes { (bytes) throws(VerificationError) in
                try verifiers.transactionReceipts.verify(received.text(in: bytes))
            }
        }
    }

    /// Verifies a transaction.
    ///
    /// A transaction that Apple has revoked is genuine, too. ``Entitlements`` decides what it grants.
    ///
    /// - Parameter jws: The `jwsRepresentation` of a `VerificationResult<Transaction>` on a device,
    ///   `signedTransactionInfo` on a server, or a JSON object with that member.
    /// - Returns: The verified transaction.
    /// - Throws: The reason the transaction was refused. The code for a JWS of another kind is `missing-member`.
    public func verifyTransaction(_ jws: some EvidenceSource) throws(VerificationError) -> Verified<TransactionInfo> {
        try verify(jws)
    }

    /// Verifies renewal information.
    ///
    /// Renewal information has no bundle id. See ``RenewalInfo``.
    ///
    /// - Parameter jws: The `jwsRepresentation` of a `VerificationResult<RenewalInfo>` on a device, `signedRenewalInfo`
    ///   on a server, or a JSON object with that member.
    /// - Returns: The verified renewal information.
    /// - Throws: The reason the renewal information was refused. The code for a JWS of another kind is
    ///   `missing-member`.
    public func verifyRenewalInfo(_ jws: some EvidenceSource) throws(VerificationError) -> Verified<RenewalInfo> {
        try verify(jws)
    }

    /// Verifies an app transaction.
    ///
    /// - Parameter jws: The `jwsRepresentation` of a `VerificationResult<AppTransaction>` on a device,
    ///   `signedAppTransactionInfo` on a server, or a JSON object with that member.
    /// - Returns: The verified app transaction.
    /// - Throws: The reason the app transaction was refused. The code for a JWS of another kind is `missing-member`.
    public func verifyAppTransaction(_ jws: some EvidenceSource) throws(VerificationError) -> Verified<AppTransaction> {
        try verify(jws)
    }

    /// Verifies a server notification and its signed parts, which must be for the same app and environment.
    ///
    /// - Parameter jws: The body of the request that Apple sends, `{"signedPayload":"…"}`, or the JWS in it.
    /// - Returns: The verified notification with its verified parts.
    /// - Throws: The reason the notification was refused. If a signed part was refused, ``VerificationError/part``
    ///   names it. The code for a JWS of another kind is `missing-member`.
    public func verifyNotification(_ jws: some EvidenceSource) throws(VerificationError) -> VerifiedNotification {
        try counting(jws) { (text) throws(VerificationError) in try verifiers.jws.verifyNotification(text) }
    }

    /// Verifies a request for a retention message.
    ///
    /// Such a request has no bundle id. Only the app's Apple id shows which app it is for.
    ///
    /// - Parameter jws: The body of the request that Apple sends, `{"signedPayload":"…"}`, or the JWS in it.
    /// - Returns: The verified request.
    /// - Throws: The reason the request was refused. The code is `no-app-apple-id` if the policy has bundle ids but no
    ///   ``VerificationPolicy/appAppleID``, and `missing-member` for a JWS of another kind.
    public func verifyRealtimeRequest(_ jws: some EvidenceSource) throws(VerificationError) -> Verified<RealtimeRequest>
    {
        try verify(jws)
    }

    private func verify<Payload: JWSClaims>(
        _ jws: some EvidenceSource
    ) throws(VerificationError) -> Verified<Payload> {
        try counting(jws) { (text) throws(VerificationError) in try verifiers.jws.verify(text) }
    }

    private func counting<Value>(
        _ jws: some EvidenceSource, _ verify: (Span<UInt8>) throws(VerificationError) -> Value
    ) throws(VerificationError) -> Value {
        let received = ReceivedEvidence(jws, as: .jws, policy.limits)
        return try counters.counting { () throws(VerificationError) in
            try jws._withEvidenceBytes { (bytes) throws(VerificationError) in
                let text = try received.text(in: bytes)
                do throws(VerificationError) {
                    return try verify(text)
                } catch {
                    throw received.placed(error)
                }
            }
        }
    }
}
