/// A transaction receipt whose signature and certificate chain are valid, and which the policy accepts.
///
/// Only an ``AppStoreVerifier`` makes one. You can read all properties of the contents through it, such as
/// `verified.productID`.
///
/// It proves one purchase of a product in an app, and not whose purchase it is: genuine transaction receipts are sold
/// as keys to many. Compare the product, and grant each purchase key once, to one account. It does not say what has
/// happened since it was signed (refunds, renewals), or when that was.
@dynamicMemberLookup
public struct VerifiedTransactionReceipt: Hashable, Sendable {
    /// The contents as a plain value, whose type does not show that it was verified.
    public let transactionReceipt: TransactionReceipt
    /// The signer and the date of the verification.
    ///
    /// By default, the date is ``TransactionReceipt/purchaseDate``, or the start of the validity of the signer's
    /// certificate if that is later.
    public let verification: SignerVerification

    /// Accesses a property of the contents, such as `verified.productID`.
    public subscript<Value>(dynamicMember field: KeyPath<TransactionReceipt, Value>) -> Value {
        transactionReceipt[keyPath: field]
    }
}

extension VerifiedTransactionReceipt: CustomStringConvertible {
    /// A summary of the contents for logs.
    public var description: String { "verified: \(transactionReceipt)" }
}
