public import SpanASN1

/// A purchase that Apple signed, whatever proves it: a receipt or a transaction. Code that grants is written once, for both.
///
/// It has a product, a transaction id, an original transaction id, a purchase date and a quantity. A record that lacks one of them is not among
/// the purchases: see ``VerifiedReceipt/incompletePurchases``.
public struct VerifiedPurchase: Hashable, Sendable {
    /// The product's identifier.
    public let productID: String
    /// The transaction's identifier. Grant each transaction id once.
    public let transactionID: String
    /// The identifier of the first transaction of a subscription or of a restored purchase; its own where the evidence names no other.
    public let originalTransactionID: String
    /// When it was bought, renewed or restored.
    public let purchaseDate: Instant
    /// How many were bought.
    public let quantity: Int
    /// When the first transaction was made.
    public let originalPurchaseDate: Instant?
    /// What kind of product it is; `nil` where the evidence does not say.
    public let productType: ProductType?
    /// When this period of a subscription ends.
    public let expiresDate: Instant?
    /// The identifier of this period of a subscription, the same on all devices.
    public let webOrderLineItemID: String?
    /// Whether Apple has refunded or revoked it, as far as was known when it was signed.
    public let isRevoked: Bool
    /// When Apple refunded or revoked it; `nil` where it is not revoked, or the evidence has no date.
    public let revocationDate: Instant?
    /// Whether the customer has upgraded to another subscription, which ends this period. Receipts do not say: see
    /// ``VerifiedReceipt/subscriptions(at:)``.
    public let isUpgraded: Bool
    /// When the evidence itself expires, as the receipt of a volume purchase may [21].
    public let evidenceExpirationDate: Instant?
    /// The UUID that the app gave when it bought; receipts have none.
    public let appAccountToken: String?
    /// Where it was bought: nobody pays in the sandbox.
    public let environment: AppStoreEnvironment?
    /// How it was verified.
    public let verification: Verification
}

extension VerifiedPurchase {
    /// - Parameter purchase: a record that is complete.
    fileprivate init(_ purchase: InAppPurchase, in receipt: VerifiedReceipt, of environment: AppStoreEnvironment?) {
        let required = purchase.requiredValues
        (productID, transactionID) = (required.productID, required.transactionID)
        (purchaseDate, quantity) = (required.purchaseDate, required.quantity)
        originalTransactionID = purchase.originalTransactionID ?? required.transactionID
        originalPurchaseDate = purchase.originalPurchaseDate
        productType = purchase.productType
        expiresDate = purchase.expiresDate
        webOrderLineItemID = purchase.webOrderLineItemID
        revocationDate = purchase.revocationDate
        isRevoked = purchase.revocationDate != nil
        isUpgraded = false
        evidenceExpirationDate = receipt.expirationDate
        appAccountToken = nil
        self.environment = environment
        verification = receipt.verification
    }

    /// `nil` for a transaction without purchase date or quantity.
    init?(_ transaction: Verified<TransactionInfo>) {
        let info = transaction.payload
        guard let productID = info.productID, let transactionID = info.transactionID,
            let purchaseDate = info.purchaseDate, let quantity = info.quantity
        else { return nil }
        self.productID = productID
        self.transactionID = transactionID
        originalTransactionID = info.originalTransactionID ?? transactionID
        self.purchaseDate = purchaseDate
        self.quantity = quantity
        originalPurchaseDate = info.originalPurchaseDate
        productType = info.productType
        expiresDate = info.expiresDate
        webOrderLineItemID = info.webOrderLineItemID
        revocationDate = info.revocationDate
        isRevoked = info.isRevoked
        isUpgraded = info.isUpgraded == true
        evidenceExpirationDate = nil
        appAccountToken = info.appAccountToken
        environment = info.environment
        verification = transaction.verification
    }

    /// Whether it grants its product at a date: bought by then, not revoked, not replaced by an upgrade, by evidence that has not expired, and,
    /// for a subscription, within its period.
    ///
    /// Grace periods, which only renewal information knows, are not considered. Apple dates a renewal at the start of its period and signs it up
    /// to a day earlier. A new purchase is seconds old: on a host whose clock is behind it would lie in the future, so keep the clock right.
    public func grants(at date: Instant) -> Bool {
        guard !isRevoked, !isUpgraded, date >= purchaseDate else { return false }
        if let evidenceExpirationDate, date >= evidenceExpirationDate { return false }
        guard let expiresDate else { return true }
        return date < expiresDate
    }
}

// MARK: - Where purchases come from

extension VerifiedReceipt {
    /// The purchases, in the order of the receipt.
    public var purchases: VerifiedPurchases { VerifiedPurchases(self) }

    /// The records that lack a product, a transaction id, a purchase date or a quantity. They grant nothing. None is known in Apple's receipts.
    public var incompletePurchases: [InAppPurchase] { inAppPurchases.filter { !$0.isComplete } }
}

/// The purchases of a verified receipt, in its order: a view, with nothing copied.
public struct VerifiedPurchases: RandomAccessCollection, Sendable {
    private let receipt: VerifiedReceipt
    private let environment: AppStoreEnvironment?
    /// The places of the complete records; `nil` where all are.
    private let indicesOfComplete: [Int]?

    init(_ receipt: VerifiedReceipt) {
        self.receipt = receipt
        environment = receipt.environment
        let all = receipt.inAppPurchases
        indicesOfComplete = all.allSatisfy(\.isComplete) ? nil : all.indices.filter { all[$0].isComplete }
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { indicesOfComplete?.count ?? receipt.inAppPurchases.count }

    public subscript(position: Int) -> VerifiedPurchase {
        let index = indicesOfComplete?[position] ?? position
        return VerifiedPurchase(receipt.inAppPurchases[index], in: receipt, of: environment)
    }
}

extension Verified where Payload == TransactionInfo {
    /// The purchase; `nil` for a transaction without purchase date or quantity, which grants nothing. None is known.
    public var purchase: VerifiedPurchase? { VerifiedPurchase(self) }
}

extension VerifiedEvidence {
    /// The purchases that the evidence proves: those of a receipt, that of a transaction or of a notification's signed transaction; none for
    /// anything else.
    public var purchases: [VerifiedPurchase] {
        switch self {
        case .receipt(let receipt): Array(receipt.purchases)
        case .transaction(let transaction): [transaction.purchase].compactMap(\.self)
        case .notification(let notification): [notification.transactionInfo?.purchase].compactMap(\.self)
        case .renewalInfo, .appTransaction, .realtimeRequest: []
        }
    }
}
