public import SpanASN1
import StrictText

/// A purchase that a verified receipt or transaction proves.
///
/// It is the same type for both, so that you write the code that grants products once. It always has a product, a transaction id, an original transaction
/// id, a purchase date and a quantity. For records that lack one of them, see ``VerifiedReceipt/incompletePurchases``.
public struct VerifiedPurchase: Sendable {
    /// The product's identifier.
    public let productID: String
    /// The transaction's identifier. Grant each transaction once.
    public let transactionID: String
    /// The identifier of the first transaction of a subscription or of a restored purchase. If the evidence has none, it is ``transactionID``.
    public let originalTransactionID: String
    /// The date the product was bought, renewed or restored.
    public let purchaseDate: Instant
    /// The quantity that was bought.
    public let quantity: Int
    /// The date of the first transaction.
    public let originalPurchaseDate: Instant?
    /// The product's type; `nil` if the evidence does not contain it.
    public let productType: ProductType?
    /// The date this period of a subscription ends.
    public let expiresDate: Instant?
    /// The identifier of this period of a subscription, the same on all devices.
    public let webOrderLineItemID: String?
    /// A Boolean value that indicates whether Apple had refunded or revoked the purchase when it signed the evidence.
    public let isRevoked: Bool
    /// The date Apple refunded or revoked the purchase; `nil` if it is not revoked, or if the evidence has no date.
    public let revocationDate: Instant?
    /// A Boolean value that indicates whether an upgrade to another subscription has ended this period.
    ///
    /// Receipts do not contain it, and it is `false` for their purchases. See ``VerifiedReceipt/subscriptions(at:)``.
    public let isUpgraded: Bool
    /// The date the evidence itself expires. Only receipts of volume purchases have one [21].
    public let evidenceExpirationDate: Instant?
    /// The UUID that the app set for the purchase. Receipts do not contain it.
    public let appAccountToken: String?
    /// The environment of the purchase. Nobody pays in the sandbox.
    public let environment: AppStoreEnvironment?
    /// The signer and the date of the verification.
    public let verification: Verification
}

/// Two are equal when all that they say is, strings byte for byte.
extension VerifiedPurchase: Hashable {
    public static func == (lhs: VerifiedPurchase, rhs: VerifiedPurchase) -> Bool {
        lhs.strings == rhs.strings && lhs.purchaseDate == rhs.purchaseDate && lhs.quantity == rhs.quantity
            && lhs.originalPurchaseDate == rhs.originalPurchaseDate && lhs.productType == rhs.productType
            && lhs.expiresDate == rhs.expiresDate && lhs.isRevoked == rhs.isRevoked
            && lhs.revocationDate == rhs.revocationDate && lhs.isUpgraded == rhs.isUpgraded
            && lhs.evidenceExpirationDate == rhs.evidenceExpirationDate && lhs.environment == rhs.environment
            && lhs.verification == rhs.verification
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(strings)
        hasher.combine(purchaseDate)
    }

    private var strings: [UTF8Bytes?] {
        [productID, transactionID, originalTransactionID, webOrderLineItemID, appAccountToken].map {
            $0.map(UTF8Bytes.init)
        }
    }
}

extension VerifiedPurchase {
    /// - Parameter purchase: A complete record.
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

    /// Returns `nil` for a transaction without a purchase date or quantity.
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

    /// The purchase of a transaction receipt, which has no revocation: what Apple signed before one says nothing of it.
    init(_ receipt: VerifiedTransactionReceipt) {
        let contents = receipt.transactionReceipt
        productID = contents.productID
        transactionID = contents.transactionID
        originalTransactionID = contents.originalTransactionID
        purchaseDate = contents.purchaseDate
        quantity = contents.quantity
        originalPurchaseDate = contents.originalPurchaseDate
        productType = nil
        expiresDate = contents.expiresDate
        webOrderLineItemID = contents.webOrderLineItemID
        revocationDate = nil
        isRevoked = false
        isUpgraded = false
        evidenceExpirationDate = nil
        appAccountToken = nil
        environment = contents.inferredEnvironment
        verification = receipt.verification
    }

    /// Returns whether the purchase grants its product at a date.
    ///
    /// It does if it was made by then, is not revoked or upgraded, its evidence has not expired and, for a subscription, its period is running.
    ///
    /// Grace periods are not considered, because only renewal information contains them. Apple dates a renewal at the start of its period, and signs it
    /// up to a day earlier. A new purchase is only seconds old. If the clock of the host is slow, the purchase is in the future and grants nothing,
    /// so keep the clock right.
    ///
    /// - Parameter date: The requested date, usually `.now`.
    public func grants(at date: Instant) -> Bool {
        guard !isRevoked, !isUpgraded, date >= purchaseDate else { return false }
        if let evidenceExpirationDate, date >= evidenceExpirationDate { return false }
        guard let expiresDate else { return true }
        return date < expiresDate
    }
}

// MARK: - Where purchases come from

extension VerifiedReceipt {
    /// The purchases that the receipt proves, in its order.
    public var purchases: VerifiedPurchases { VerifiedPurchases(self) }

    /// The records without a product, a transaction id, a purchase date or a quantity. They grant nothing.
    ///
    /// No receipt that Apple signed is known to contain one.
    public var incompletePurchases: [InAppPurchase] { inAppPurchases.filter { !$0.isComplete } }
}

/// The purchases of a verified receipt, in its order. It is a view, which copies nothing.
public struct VerifiedPurchases: RandomAccessCollection, Sendable {
    private let receipt: VerifiedReceipt
    private let environment: AppStoreEnvironment?
    /// The indices of the complete records; `nil` if all records are complete.
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
    /// The purchase; `nil` for a transaction without a purchase date or quantity.
    ///
    /// No transaction that Apple signed is known to lack one.
    public var purchase: VerifiedPurchase? { VerifiedPurchase(self) }
}

extension VerifiedTransactionReceipt {
    /// The purchase.
    public var purchase: VerifiedPurchase { VerifiedPurchase(self) }
}

extension VerifiedEvidence {
    /// The purchases that the evidence proves.
    ///
    /// A receipt has any number of purchases. A transaction has one, and so has a notification that contains a transaction. Other evidence has none.
    public var purchases: [VerifiedPurchase] {
        switch self {
        case .receipt(let receipt): Array(receipt.purchases)
        case .transaction(let transaction): [transaction.purchase].compactMap(\.self)
        case .notification(let notification): [notification.transactionInfo?.purchase].compactMap(\.self)
        case .transactionReceipt(let receipt): [receipt.purchase]
        case .renewalInfo, .appTransaction, .realtimeRequest: []
        }
    }
}
