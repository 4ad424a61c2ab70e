/// A transaction receipt whose signature and certificate chain are valid, and which the policy accepts.
///
/// Only an ``AppStoreVerifier`` makes one. You can read all properties of the contents through it, such as `verified.productID`.
///
/// It proves one purchase of a product in an app, and not whose purchase it is: genuine transaction receipts are sold as keys to many. Compare the
/// product, and grant each transaction id once, to one account. It does not say what has happened since it was signed (refunds, renewals), or when that
/// was.
@dynamicMemberLookup
public struct VerifiedTransactionReceipt: Hashable, Sendable {
    /// The contents as a plain value, whose type does not show that it was verified.
    public let transactionReceipt: TransactionReceipt
    /// The signer and the date of the verification.
    ///
    /// By default, the date is ``TransactionReceipt/purchaseDate``, or the start of the validity of the signer's certificate if that is later.
    public let verification: Verification

    /// Accesses a property of the contents, such as `verified.productID`.
    public subscript<Value>(dynamicMember field: KeyPath<TransactionReceipt, Value>) -> Value {
        transactionReceipt[keyPath: field]
    }
}

/// A transaction receipt that was decoded but not verified. Anyone can have written it.
public struct UnverifiedTransactionReceipt: Hashable, Sendable {
    /// The contents as a plain value.
    public let transactionReceipt: TransactionReceipt

    /// Decodes a transaction receipt without verifying it: anyone can have written its contents.
    ///
    /// - Parameters:
    ///   - input: A transaction receipt in any form that ``AppStoreVerifier/verifyTransactionReceipt(_:)-([UInt8])`` accepts.
    ///   - limits: The limits on the input.
    /// - Throws: An error of the stage `input`, `form`, `header`, `date` or `payload`.
    public init(
        decoding input: [UInt8], limits: VerificationLimits = VerificationLimits()
    ) throws(VerificationError) {
        transactionReceipt = try TransactionReceiptInput.withPropertyList(of: input.span, limits) {
            (text) throws(VerificationError) in try TransactionReceiptContainer.decode(text)
        }
    }
}

extension VerifiedTransactionReceipt: CustomStringConvertible {
    /// A summary of the contents for logs.
    public var description: String { "verified: \(transactionReceipt)" }
}
