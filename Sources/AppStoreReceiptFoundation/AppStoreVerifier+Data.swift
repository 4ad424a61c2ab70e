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
}
