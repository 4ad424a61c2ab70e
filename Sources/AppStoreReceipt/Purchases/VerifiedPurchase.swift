import Instants
import StrictText

/// A purchase that a verified receipt or transaction proves.
///
/// It is the same type for all evidence, so that you write the code that grants products once. You can read all
/// properties of the ``Purchase`` through it, such as `verified.productID`. Its product, transaction id, original
/// transaction id, purchase date, app and environment are never missing. For records that lack one of the first four,
/// see ``VerifiedReceipt/incompletePurchases``.
///
/// Evidence without an app or an environment is accepted only if the policy asks for neither. It proves no purchase,
/// and ``Entitlements`` leaves it undetermined.
///
/// It does not say whether the purchase gives access. ``Entitlements`` does.
@dynamicMemberLookup
public struct VerifiedPurchase: Hashable, Sendable {
    /// The purchase as a plain value, whose type does not show that it was verified.
    public let purchase: Purchase
    /// The signer and the date of the verification.
    public let verification: SignerVerification
    /// The environment of the purchase. Nobody pays in the sandbox.
    public let environment: AppStoreEnvironment
    /// The app's bundle id.
    public var bundleID: String { purchase.bundleID ?? "" }

    /// Returns `nil` for a purchase without an app or an environment.
    init?(_ purchase: Purchase, _ verification: SignerVerification) {
        guard let environment = purchase.environment, let _ = purchase.bundleID else { return nil }
        self.purchase = purchase
        self.verification = verification
        self.environment = environment
    }

    fileprivate init(_ purchase: Purchase, _ verification: SignerVerification, in environment: AppStoreEnvironment) {
        self.purchase = purchase
        self.verification = verification
        self.environment = environment
    }

    /// Accesses a property of the purchase, such as `verified.productID`.
    @inlinable
    public subscript<Value>(dynamicMember field: KeyPath<Purchase, Value>) -> Value { purchase[keyPath: field] }
}

// MARK: - Where purchases come from

extension VerifiedReceipt {
    /// The purchases that the receipt proves, in its order. There are none without a bundle id or an environment.
    public var purchases: VerifiedPurchases { VerifiedPurchases(self) }

    /// The purchases, also without a bundle id or an environment.
    var signedPurchases: [SignedPurchase] {
        let records = CompleteRecords(self)
        return records.indices.map { (records[$0], verification) }
    }

    /// The records without a product, a transaction id, a purchase date or a quantity. They grant nothing.
    ///
    /// No receipt that Apple signed is known to contain one.
    public var incompletePurchases: [InAppPurchase] { inAppPurchases.filter { !$0.isComplete } }
}

/// A purchase and the verification of its evidence.
@_spi(Ledger) @_spi(Surfaces) public typealias SignedPurchase = (purchase: Purchase, verification: SignerVerification)

/// The complete records of a verified receipt.
private struct CompleteRecords: Sendable {
    private let receipt: VerifiedReceipt
    let bundleID: String?
    let environment: AppStoreEnvironment?
    /// The indices of the complete records; `nil` if all records are complete.
    private let indicesOfComplete: [Int]?

    init(_ receipt: VerifiedReceipt) {
        self.receipt = receipt
        bundleID = receipt.bundleID
        environment = receipt.environment
        let all = receipt.inAppPurchases
        indicesOfComplete = all.allSatisfy(\.isComplete) ? nil : all.indices.filter { all[$0].isComplete }
    }

    var verification: SignerVerification { receipt.verification }
    var indices: Range<Int> { 0..<(indicesOfComplete?.count ?? receipt.inAppPurchases.count) }

    subscript(position: Int) -> Purchase {
        let record = receipt.inAppPurchases[indicesOfComplete?[position] ?? position]
        // A verified receipt has a creation date.
        var purchase = Purchase(record, signedDate: receipt.creationDate ?? receipt.verification.validationDate)
        purchase.evidenceExpirationDate = receipt.expirationDate
        purchase.bundleID = bundleID
        purchase.environment = environment
        return purchase
    }
}

/// The purchases of a verified receipt, in its order. It is a view, which copies nothing.
public struct VerifiedPurchases: RandomAccessCollection, Sendable {
    private let records: CompleteRecords
    /// The environment; `nil` if it or the bundle id is missing.
    private let environment: AppStoreEnvironment?

    init(_ receipt: VerifiedReceipt) {
        records = CompleteRecords(receipt)
        environment = records.bundleID == nil ? nil : records.environment
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { environment == nil ? 0 : records.indices.upperBound }

    public subscript(position: Int) -> VerifiedPurchase {
        // There is a position only if there is an environment.
        VerifiedPurchase(records[position], records.verification, in: environment ?? .xcode)
    }
}

extension Purchase {
    /// - Parameter record: A complete record.
    fileprivate init(_ record: InAppPurchase, signedDate: Instant) {
        let required = record.requiredValues
        let original = record.originalTransactionID.flatMap { $0.isEmpty ? nil : $0 }
        self.init(
            productID: required.productID, transactionID: required.transactionID, originalTransactionID: original,
            quantity: required.quantity, purchaseDate: required.purchaseDate, signedDate: signedDate)
        lacksOriginalTransactionID = original == nil ? true : nil
        originalPurchaseDate = record.originalPurchaseDate
        productType = record.productType
        expiresDate = record.expiresDate
        webOrderLineItemID = record.webOrderLineItemID
        isRevoked = record.revocationDate != nil
        revocationDate = record.revocationDate
        revocationReason = record.revocationReason
        offer = PurchaseOffer(record)
    }

    /// Returns `nil` for a transaction without a purchase date.
    fileprivate init?(_ info: TransactionInfo, signedDate: Instant) {
        guard let productID = info.productID, let transactionID = info.transactionID,
            let purchaseDate = info.purchaseDate
        else { return nil }
        self.init(
            productID: productID, transactionID: transactionID, originalTransactionID: info.originalTransactionID,
            quantity: info.quantity, purchaseDate: purchaseDate, signedDate: signedDate)
        lacksOriginalTransactionID = info.originalTransactionID == nil ? true : nil
        originalPurchaseDate = info.originalPurchaseDate
        previousOriginalTransactionID = info.previousOriginalTransactionID
        productType = info.productType
        expiresDate = info.expiresDate
        webOrderLineItemID = Self.lineItem(info.webOrderLineItemID)
        subscriptionGroupID = info.subscriptionGroupID
        isRevoked = info.isRevoked
        revocationDate = info.revocationDate
        revocationReason = info.revocationReason
        revocationType = info.revocationType
        revocationPercentage = info.revocationPercentage
        // Apple signs the member only where it is true.
        isUpgraded = info.isUpgraded ?? false
        additionalTransactionReason = info.additionalTransactionReason
        multiSeatInfo = info.multiSeatInfo.map { seats in
            PurchaseSeatInfo(
                invitationManagement: seats.invitationManagement, revokedSeatQuantity: seats.revokedSeatQuantity)
        }
        offer = PurchaseOffer(
            signedType: info.offerType, id: info.offerID, discountType: info.offerDiscountType,
            period: info.offerPeriod)
        price = info.price
        currency = info.currency
        storefront = info.storefront
        ownershipType = info.ownershipType
        appTransactionID = info.appTransactionID
        appAccountToken = info.appAccountToken
        bundleID = info.bundleID
        environment = info.environment
    }
}

extension Purchase {
    /// What transaction receipts cannot say, such as revocations, is `nil`. The purchase date stands in for the unknown
    /// signing date, so that any evidence that contradicts one counts.
    fileprivate init(_ receipt: TransactionReceipt) {
        self.init(
            productID: receipt.productID, transactionID: receipt.transactionID,
            originalTransactionID: receipt.originalTransactionID, quantity: receipt.quantity,
            purchaseDate: receipt.purchaseDate, signedDate: receipt.purchaseDate)
        originalPurchaseDate = receipt.originalPurchaseDate
        expiresDate = receipt.expiresDate
        webOrderLineItemID = Self.lineItem(receipt.webOrderLineItemID)
        subscriptionGroupID = receipt.subscriptionGroupID
        offer = PurchaseOffer(receipt)
        ownershipType = receipt.ownershipType
        bundleID = receipt.bundleID
        environment = receipt.inferredEnvironment
    }
}

extension PurchaseOffer {
    fileprivate init?(_ receipt: TransactionReceipt) {
        let isTrial = receipt.isTrialPeriod == true
        guard isTrial || receipt.isInIntroOfferPeriod == true else { return nil }
        self.init(type: .introductory, discountType: isTrial ? .freeTrial : nil)
    }

    fileprivate init?(_ record: InAppPurchase) {
        let promotionalOfferID = record.promotionalOfferID
        let isTrial = record.isTrialPeriod == true
        guard promotionalOfferID != nil || isTrial || record.isInIntroOfferPeriod == true else { return nil }
        self.init(
            type: promotionalOfferID == nil ? .introductory : .promotional, id: promotionalOfferID,
            discountType: isTrial ? .freeTrial : nil)
    }

    /// Returns `nil` if nothing of an offer is signed.
    fileprivate init?(signedType type: OfferType?, id: String?, discountType: OfferDiscountType?, period: String?) {
        if case (nil, nil, nil, nil) = (type, id, discountType, period) { return nil }
        self.init(type: type, id: id, discountType: discountType, period: period)
    }
}

extension Verified where Payload == TransactionInfo {
    /// The purchase; `nil` for a transaction without a purchase date, an app or an environment. If the transaction of a
    /// notification does not name the app or the environment, it has those of the notification.
    ///
    /// No transaction that Apple signed is known to lack the date. A policy that asks for the app and the environment
    /// accepts none that lacks them.
    public var purchase: VerifiedPurchase? { signedPurchase.flatMap { VerifiedPurchase($0.purchase, $0.verification) } }

    /// Whether there is a ``signedPurchase``.
    var isPurchase: Bool {
        guard let _ = payload.productID, let _ = payload.transactionID, let _ = payload.purchaseDate else {
            return false
        }
        return true
    }

    /// The purchase, also without an app or an environment.
    var signedPurchase: SignedPurchase? {
        var purchase = Purchase(payload, signedDate: payload.signedDate ?? verification.validationDate)
        if let inherited {
            purchase?.bundleID = payload.bundleID ?? inherited.bundleID
            purchase?.environment = payload.environment ?? inherited.environment
        }
        return purchase.map { ($0, verification) }
    }
}

extension VerifiedTransactionReceipt {
    /// The purchase; `nil` without an environment, which a policy that asks for it refuses.
    public var purchase: VerifiedPurchase? { VerifiedPurchase(signedPurchase.purchase, verification) }

    /// The purchase, also without an environment.
    var signedPurchase: SignedPurchase { (Purchase(transactionReceipt), verification) }
}

extension StoredPurchase {
    /// Keeps a verified purchase.
    public init(_ verified: VerifiedPurchase) { self.init(trusting: verified.purchase) }
}

extension StoredRenewal {
    /// Keeps verified renewal information.
    public init(_ verified: Verified<RenewalInfo>) { self.init(trusting: verified.renewal) }
}

extension Verified where Payload == RenewalInfo {
    /// The renewal information as a plain value, whose type does not show that it was verified.
    public var renewal: SubscriptionRenewal { SubscriptionRenewal(self) }
}

extension SubscriptionRenewal {
    @_spi(Ledger) public init(_ verified: Verified<RenewalInfo>) {
        let info = verified.payload
        // A verifier refuses renewal information without an original transaction id.
        self.init(
            originalTransactionID: info.originalTransactionID ?? "",
            signedDate: info.signedDate ?? verified.verification.validationDate)
        environment = info.environment ?? verified.inherited?.environment
        bundleID = verified.inherited?.bundleID
        productID = info.productID
        nextProductID = info.autoRenewProductID
        autoRenewStatus = info.autoRenewStatus
        renewalDate = info.renewalDate
        gracePeriodExpiresDate = info.gracePeriodExpiresDate
        isInBillingRetryPeriod = info.isInBillingRetryPeriod
        expirationIntent = info.expirationIntent
        priceIncreaseStatus = info.priceIncreaseStatus
        renewalPrice = info.renewalPrice
        currency = info.currency
        renewalQuantity = info.renewalQuantity
        offer = PurchaseOffer(
            signedType: info.offerType, id: info.offerID, discountType: info.offerDiscountType,
            period: info.offerPeriod)
    }
}
