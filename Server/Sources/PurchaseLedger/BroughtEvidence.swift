import AppStoreReceipt

/// What one request brings.
struct BroughtEvidence {
    let purchases: [(signed: SignedPurchase, keys: PurchaseKeys?)]
    let renewals: [SubscriptionRenewal]
    /// Whether it is a receipt, of whichever form. Receipts never have a token.
    let isReceipt: Bool
    private var spent: [PurchaseKeys] = []

    init(_ purchases: [SignedPurchase], _ renewals: [SubscriptionRenewal] = [], isReceipt: Bool = false) {
        self.isReceipt = isReceipt
        self.purchases = purchases.map { ($0, PurchaseKeys($0.purchase)) }
        self.renewals = renewals
    }

    init(_ evidence: VerifiedEvidence) {
        let isReceipt =
            switch evidence {
            case .receipt, .transactionReceipt: true
            default: false
            }
        self.init(
            evidence.purchases.map(SignedPurchase.init), evidence.renewals.map(SubscriptionRenewal.init),
            isReceipt: isReceipt)
    }

    /// Purchases of which nothing is brought but that they were made.
    init(spent: [PurchaseKeys]) {
        self.init([])
        self.spent = spent
    }

    /// The keys of each purchase.
    var purchaseKeys: [PurchaseKeys] { purchases.compactMap(\.keys) + spent }

    /// The keys of all purchases, each once.
    var keys: Set<TransactionKey> { Set(purchaseKeys.flatMap(\.all)) }
}
