/// Evidence that was verified.
public enum VerifiedEvidence: Hashable, Sendable {
    /// An App Store receipt, with all its purchases.
    case receipt(VerifiedReceipt)
    /// A purchase: `jwsRepresentation` of a transaction.
    case transaction(Verified<TransactionInfo>)
    /// How a subscription will go on. It proves no purchase.
    case renewalInfo(Verified<RenewalInfo>)
    /// The customer's copy of the app. It proves no purchase in it.
    case appTransaction(Verified<AppTransaction>)
    /// What happened, from Apple's server; its signed parts are verified too.
    case notification(VerifiedNotification)
    /// A request for a retention message.
    case realtimeRequest(Verified<RealtimeRequest>)
}
