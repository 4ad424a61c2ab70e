import AppStoreReceipt

/// What one request brings.
struct BroughtEvidence {
    let purchases: [(signed: SignedPurchase, keys: PurchaseKeys?)]
    let renewals: [SubscriptionRenewal]

    init(_ purchases: [SignedPurchase], _ renewals: [SubscriptionRenewal] = []) {
        self.purchases = purchases.map { ($0, PurchaseKeys($0.purchase)) }
        self.renewals = renewals
    }

    init(_ evidence: VerifiedEvidence) {
        self.init(evidence.purchases.map(SignedPurchase.init), evidence.renewals.map(SubscriptionRenewal.init))
    }

    /// The keys of all purchases, each once.
    var keys: Set<TransactionKey> { Set(purchases.flatMap { $0.keys?.all ?? [] }) }
}
