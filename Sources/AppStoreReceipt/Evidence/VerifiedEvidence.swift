/// Verified evidence, by its kind.
public enum VerifiedEvidence: Hashable, Sendable {
    /// A receipt with all its purchases.
    case receipt(VerifiedReceipt)
    /// A transaction of StoreKit 2, which is one purchase.
    case transaction(Verified<TransactionInfo>)
    /// Renewal information about a subscription. It proves no purchase.
    case renewalInfo(Verified<RenewalInfo>)
    /// An app transaction, which is the purchase of the app itself. It proves no in-app purchase.
    case appTransaction(Verified<AppTransaction>)
    /// A server notification. Its signed parts are verified, too.
    case notification(VerifiedNotification)
    /// A request for a retention message.
    case realtimeRequest(Verified<RealtimeRequest>)
    /// A transaction receipt of iOS 3 to 6, which is one purchase.
    case transactionReceipt(VerifiedTransactionReceipt)
}
