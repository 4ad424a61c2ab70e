@_spi(Ledger) package import AppStoreReceipt

/// What a request submits.
package struct Submission: Sendable {
    /// All that is recorded.
    package let purchases: [(signed: SubmittedPurchase, keys: PurchaseKeys?)]
    private let claimedCount: Int
    package let renewals: [SubscriptionRenewal]
    /// Whether the purchases of evidence of this kind can have a token.
    let canHaveToken: Bool
    /// The keys of each purchase.
    let purchaseKeys: [PurchaseKeys]
    /// The keys of all purchases, each once.
    package let keys: Set<TransactionKey>

    /// - Parameters:
    ///   - related: Purchases that nobody claims, and that say something about the others, such as whose they are.
    ///   - spent: Purchases known only to have been made.
    package init(
        _ purchases: [SubmittedPurchase] = [], related: [SubmittedPurchase] = [],
        _ renewals: [SubscriptionRenewal] = [],
        canHaveToken: Bool = true, spent: [PurchaseKeys] = []
    ) {
        claimedCount = purchases.count
        self.canHaveToken = canHaveToken
        self.purchases = (purchases + related).map { ($0, PurchaseKeys($0.purchase)) }
        self.renewals = renewals
        purchaseKeys = self.purchases.compactMap(\.keys) + spent
        keys = Set(purchaseKeys.lazy.flatMap(\.all))
    }

    /// What the submitting account claims.
    package var claimed: ArraySlice<(signed: SubmittedPurchase, keys: PurchaseKeys?)> { purchases.prefix(claimedCount) }

    package init(_ evidence: VerifiedEvidence) {
        // All purchases of a receipt have one signer.
        var signer: (fingerprint: Fingerprint, text: String)?
        let purchases = evidence.signedPurchases.map { purchase, verification in
            let fingerprint = verification.signer
            if signer?.fingerprint != fingerprint { signer = (fingerprint, "\(fingerprint)") }
            return SubmittedPurchase(purchase, signer: signer?.text)
        }
        self.init(purchases, evidence.renewals.map(\.renewal), canHaveToken: evidence.canHaveAppAccountToken)
    }
}
