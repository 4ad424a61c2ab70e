/// What a verified purchase is, whatever proves it: granting code is written once, for receipts and signed transactions.
///
/// Only verified values conform: ``VerifiedPurchase`` of a receipt, and ``Verified`` transactions.
public protocol PurchaseEvidence: Sendable {
    /// The product's identifier.
    var productID: String? { get }
    /// What a purchase is granted once for.
    var transactionID: String? { get }
    /// The identifier of the first transaction of a subscription or of a restored purchase.
    var originalTransactionID: String? { get }
    /// When it was bought, renewed or restored.
    var purchaseDate: Instant? { get }
    /// When that first transaction was made.
    var originalPurchaseDate: Instant? { get }
    /// When this period of a subscription ends.
    var expiresDate: Instant? { get }
    /// When Apple refunded or revoked it, as far as was known when it was signed. It grants nothing from then on.
    var revocationDate: Instant? { get }
    /// Whether Apple has refunded or revoked it, as far as was known when it was signed.
    var isRevoked: Bool { get }
    /// Whether the customer has upgraded to another product, which ends this period; receipts do not say.
    var isSuperseded: Bool { get }
    /// When the evidence itself expires, as the receipt of a volume purchase may; it grants nothing from then on.
    var evidenceExpirationDate: Instant? { get }
    /// The UUID that the app gave when it bought; receipts have none.
    var appAccountToken: String? { get }
    /// Where it was bought: nobody pays in the sandbox.
    var environment: AppStoreEnvironment? { get }
    /// What it was verified by.
    var trust: Verification { get }
}

extension PurchaseEvidence {
    /// Whether Apple has refunded or revoked it.
    public var isRevoked: Bool { revocationDate != nil }

    /// Whether it grants its product at a time: bought by then, not revoked, not upgraded from, by evidence that has not expired, and, for a
    /// subscription, within its period.
    /// Grace periods, which only renewal information knows, are not considered. What has no ``purchaseDate`` counts as bought by then.
    ///
    /// Apple dates a renewal at the start of its period and signs it up to a day earlier. A new purchase is seconds old: on a host whose clock
    /// is behind it would lie in the future, so keep the clock right, or ask for a moment later.
    public func grants(at date: Instant) -> Bool {
        guard !isRevoked, !isSuperseded else { return false }
        if let purchaseDate, date < purchaseDate { return false }
        if let evidenceExpirationDate, date >= evidenceExpirationDate { return false }
        guard let expiresDate else { return true }
        return date < expiresDate
    }
}

/// A purchase in a verified receipt.
public struct VerifiedPurchase: PurchaseEvidence, Hashable {
    /// All that the receipt says of it.
    public let purchase: InAppPurchase
    /// The receipt's environment.
    public let environment: AppStoreEnvironment?
    /// What the receipt was verified by.
    public let trust: Verification
    /// When the receipt itself expires [21]: volume purchases, and Xcode's in the year 4001.
    public let evidenceExpirationDate: Instant?

    init(_ purchase: InAppPurchase, in receipt: VerifiedReceipt) {
        self.purchase = purchase
        environment = receipt.environment
        trust = receipt.trust
        evidenceExpirationDate = receipt.expirationDate
    }

    /// The product's identifier [1702].
    public var productID: String? { purchase.productID }
    /// What a purchase is granted once for [1703].
    public var transactionID: String? { purchase.transactionID }
    /// The first transaction of a subscription or of a restored purchase [1705].
    public var originalTransactionID: String? { purchase.originalTransactionID }
    /// When it was bought, renewed or restored [1704].
    public var purchaseDate: Instant? { purchase.purchaseDate }
    /// When the first transaction was made [1706].
    public var originalPurchaseDate: Instant? { purchase.originalPurchaseDate }
    /// When this period of a subscription ends [1708].
    public var expiresDate: Instant? { purchase.expiresDate }
    /// The receipt's cancellation date [1712].
    public var revocationDate: Instant? { purchase.cancellationDate }
    /// Always `false`: receipts do not say. ``VerifiedReceipt/subscriptions(at:)`` finds the periods that an upgrade has ended.
    public var isSuperseded: Bool { false }
    /// Always `nil`: receipts have none.
    public var appAccountToken: String? { nil }
}

extension VerifiedReceipt {
    /// The purchases as evidence, in the order of the receipt.
    public var purchases: some RandomAccessCollection<VerifiedPurchase> {
        inAppPurchases.lazy.map { VerifiedPurchase($0, in: self) }
    }
}

extension Verified: PurchaseEvidence where Payload == TransactionInfo {
    /// ``TransactionInfo/productID``.
    public var productID: String? { payload.productID }
    /// ``TransactionInfo/transactionID``.
    public var transactionID: String? { payload.transactionID }
    /// ``TransactionInfo/originalTransactionID``.
    public var originalTransactionID: String? { payload.originalTransactionID }
    /// ``TransactionInfo/purchaseDate``.
    public var purchaseDate: Instant? { payload.purchaseDate }
    /// ``TransactionInfo/originalPurchaseDate``.
    public var originalPurchaseDate: Instant? { payload.originalPurchaseDate }
    /// ``TransactionInfo/expiresDate``.
    public var expiresDate: Instant? { payload.expiresDate }
    /// ``TransactionInfo/revocationDate``.
    public var revocationDate: Instant? { payload.revocationDate }
    /// As ``TransactionInfo/isRevoked``.
    public var isRevoked: Bool { payload.isRevoked }
    /// Whether ``TransactionInfo/isUpgraded`` says so.
    public var isSuperseded: Bool { payload.isUpgraded == true }
    /// Always `nil`: signed data does not expire.
    public var evidenceExpirationDate: Instant? { nil }
    /// ``TransactionInfo/appAccountToken``.
    public var appAccountToken: String? { payload.appAccountToken }
    /// ``TransactionInfo/environment``.
    public var environment: AppStoreEnvironment? { payload.environment }
}
