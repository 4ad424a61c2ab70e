public import AppStoreReceipt

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension AppStoreVerifier {
    /// Verifies evidence of any kind.
    ///
    /// - Parameter evidence: Evidence in any form that the method for `[UInt8]` accepts.
    /// - Returns: The verified evidence, by its kind.
    /// - Throws: The reason the evidence was refused.
    public func verify(_ evidence: Data) throws(VerificationError) -> VerifiedEvidence {
        try verify(evidence.span)
    }

    /// Verifies a receipt and returns its contents.
    ///
    /// - Parameters:
    ///   - receipt: A receipt in any form: binary, base64, PEM, or a JSON object with the member `receipt-data`.
    ///   - applicationVersion: The application version that the receipt must have, or `nil` to accept any.
    ///   - deviceIdentifier: The device for which the receipt must have been made, or `nil` to accept any.
    /// - Returns: The verified receipt.
    /// - Throws: The reason the receipt was refused.
    public func verifyReceipt(
        _ receipt: Data, applicationVersion: String? = nil, deviceIdentifier: [UInt8]? = nil
    ) throws(VerificationError) -> VerifiedReceipt {
        try verifyReceipt(
            receipt.span, applicationVersion: applicationVersion, deviceIdentifier: deviceIdentifier)
    }

    /// Verifies a transaction receipt of iOS 3 to 6.
    ///
    /// - Parameter transactionReceipt: The property list as the app received it, or its base64.
    /// - Returns: The verified transaction receipt, which is one purchase.
    /// - Throws: The reason the transaction receipt was refused.
    public func verifyTransactionReceipt(
        _ transactionReceipt: Data
    ) throws(VerificationError) -> VerifiedTransactionReceipt {
        try verifyTransactionReceipt(transactionReceipt.span)
    }

    /// Verifies a JWS of any kind, from the bytes of its JWS.
    ///
    /// - Parameter jws: The JWS in its compact form.
    /// - Returns: The verified evidence, by its kind.
    /// - Throws: The reason the JWS was refused.
    public func verifyJWS(_ jws: Data) throws(VerificationError) -> VerifiedEvidence {
        try verifyJWS(jws.span)
    }

    /// Verifies a transaction, from the bytes of its JWS.
    ///
    /// - Parameter jws: The JWS in its compact form.
    /// - Returns: The verified transaction.
    /// - Throws: The reason the transaction was refused.
    public func verifyTransaction(_ jws: Data) throws(VerificationError) -> Verified<TransactionInfo> {
        try verifyTransaction(jws.span)
    }

    /// Verifies renewal information, from the bytes of its JWS.
    ///
    /// - Parameter jws: The JWS in its compact form.
    /// - Returns: The verified renewal information.
    /// - Throws: The reason the renewal information was refused.
    public func verifyRenewalInfo(_ jws: Data) throws(VerificationError) -> Verified<RenewalInfo> {
        try verifyRenewalInfo(jws.span)
    }

    /// Verifies an app transaction, from the bytes of its JWS.
    ///
    /// - Parameter jws: The JWS in its compact form.
    /// - Returns: The verified app transaction.
    /// - Throws: The reason the app transaction was refused.
    public func verifyAppTransaction(_ jws: Data) throws(VerificationError) -> Verified<AppTransaction> {
        try verifyAppTransaction(jws.span)
    }

    /// Verifies a server notification and its signed parts.
    ///
    /// - Parameter jws: The body of the request that Apple sends, `{"signedPayload":"…"}`, or the JWS in it.
    /// - Returns: The verified notification with its verified parts.
    /// - Throws: The reason the notification was refused.
    public func verifyNotification(_ jws: Data) throws(VerificationError) -> VerifiedNotification {
        try verifyNotification(jws.span)
    }

    /// Verifies a request for a retention message.
    ///
    /// - Parameter jws: The body of the request that Apple sends, `{"signedPayload":"…"}`, or the JWS in it.
    /// - Returns: The verified request.
    /// - Throws: The reason the request was refused.
    public func verifyRealtimeRequest(_ jws: Data) throws(VerificationError) -> Verified<RealtimeRequest> {
        try verifyRealtimeRequest(jws.span)
    }
}
