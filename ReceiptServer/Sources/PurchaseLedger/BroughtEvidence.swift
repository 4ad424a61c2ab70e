@_spi(Ledger) import AppStoreReceipt

/// What one request brings.
struct BroughtEvidence {
    /// All that is recorded.
    let purchases: [(signed: SignedPurchase, keys: PurchaseKeys?)]
    private let claimedCount: Int
    let renewals: [SubscriptionRenewal]
    /// Whether the purchases of evidence of this kind can have a token.
    let canHaveToken: Bool
    /// The keys of each purchase.
    let purchaseKeys: [PurchaseKeys]
    /// The keys of all purchases, each once.
    let keys: Set<TransactionKey>

    /// - Parameters:
    ///   - related: Purchases that nobody claims, and that say something about the others, such as whose they are.
    ///   - spent: Purchases known only to have been made.
    init(
        _ purchases: [SignedPurchase] = [], related: [SignedPurchase] = [], _ renewals: [SubscriptionRenewal] = [],
        canHaveToken: Bool = true, spent: [PurchaseKeys] = []
    ) {
        claimedCount = purchases.count
        self.canHaveToken = canHaveToken
        self.purchases = (purchases + related).map { ($0, PurchaseKeys($0.purchase)) }
        self.renewals = renewals
        purchaseKeys = self.purchases.compactMap(\.keys) + spent
        keys = Set(purchaseKeys.lazy.flatMap(\.all))
    }

    /// What an account claims that brings it.
    var claimed: ArraySlice<(signed: SignedPurchase, keys: PurchaseKeys?)> { purchases.prefix(claimedCount) }

    init(_ evidence: VerifiedEvidence) {
        // All purchases of a receipt have one signer.
        var signer: (fingerprint: Fingerprint, text: String)?
        let purchases = evidence.signedPurchases.map { purchase, verification in
            let fingerprint = verification.signer
            if signer?.fingerprint != fingerprint { signer = (fingerprint, "\(fingerprint)") }
            return SignedPurchase(purchase, signer: signer?.text)
        }
        self.init(purchases, evidence.renewals.map(\.renewal), canHaveToken: evidence.canHaveAppAccountToken)
    }
}
