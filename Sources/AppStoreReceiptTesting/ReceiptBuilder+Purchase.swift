public import AppStoreReceipt
public import SpanASN1

extension ReceiptBuilder {
    /// An in-app purchase to mint. A field that is `nil` is omitted, or is written empty if Apple does so.
    public struct Purchase: Hashable, Sendable {
        /// The quantity [1701].
        public var quantity: Int64? = 1
        /// The product's identifier [1702].
        public var productID: String?
        /// The transaction id [1703].
        public var transactionID: String?
        /// The purchase date [1704].
        public var purchaseDate: Instant?
        /// The original transaction id [1705].
        public var originalTransactionID: String?
        /// The date of the original transaction [1706].
        public var originalPurchaseDate: Instant?
        /// The product's type [1707]: 0 non-consumable, 1 consumable, 2 non-renewing, 3 auto-renewable, 4 free subscription.
        public var productType: Int64?
        /// The date this period of a subscription ends [1708].
        public var expiresDate: Instant?
        /// The product's Apple id [1710]; 0 in the sandbox.
        public var itemID: Int64? = 0
        /// The identifier of this period of a subscription [1711]; 0 for other products.
        public var webOrderLineItemID: Int64? = 0
        /// The date Apple refunded or revoked the purchase [1712].
        public var revocationDate: Instant?
        /// Whether the period is a free trial [1713].
        public var isTrialPeriod: Bool? = false
        /// Whether the period has an introductory price [1719]. Since 2018, only auto-renewable subscriptions have it.
        public var isInIntroOfferPeriod: Bool?
        /// The reason of the revocation [1720]. Only revoked purchases have it.
        public var revocationReason: Int64?
        /// The identifier of the promotional offer [1721].
        public var promotionalOfferID: String?
        /// Additional attributes, in this order.
        public var additionalAttributes: [Attribute] = []

        /// Creates a purchase without fields. ``ReceiptBuilder/writesEmptyAttributes`` may add some.
        public init() {
            (quantity, itemID, webOrderLineItemID, isTrialPeriod) = (nil, nil, nil, nil)
        }

        /// Creates a purchase of any type. Consumables, non-consumables and subscriptions have static methods.
        ///
        /// - Parameters:
        ///   - productID: The product's identifier.
        ///   - transactionID: The transaction id.
        ///   - productType: The product's type: 0 for a non-consumable, 1 for a consumable, 3 for an auto-renewable subscription.
        ///   - purchaseDate: The purchase date.
        ///   - originalTransactionID: The original transaction id; `nil` for the transaction id.
        ///   - originalPurchaseDate: The date of the original transaction; `nil` for the purchase date.
        public init(
            productID: String, transactionID: String, productType: Int64,
            purchaseDate: Instant = ReceiptBuilder.defaultPurchaseDate, originalTransactionID: String? = nil,
            originalPurchaseDate: Instant? = nil
        ) {
            self.productID = productID
            self.transactionID = transactionID
            self.productType = productType
            self.purchaseDate = purchaseDate
            self.originalTransactionID = originalTransactionID ?? transactionID
            self.originalPurchaseDate = originalPurchaseDate ?? purchaseDate
        }

        /// Returns a consumable [1707 is 1]. Its original transaction is the transaction itself.
        public static func consumable(
            _ productID: String, transactionID: String, quantity: Int64 = 1,
            purchaseDate: Instant = ReceiptBuilder.defaultPurchaseDate
        ) -> Purchase {
            var purchase = Purchase(
                productID: productID, transactionID: transactionID, productType: 1, purchaseDate: purchaseDate)
            purchase.quantity = quantity
            return purchase
        }

        /// Returns a non-consumable [1707 is 0]. Its original transaction is the transaction itself.
        public static func nonConsumable(
            _ productID: String, transactionID: String,
            purchaseDate: Instant = ReceiptBuilder.defaultPurchaseDate
        ) -> Purchase {
            Purchase(productID: productID, transactionID: transactionID, productType: 0, purchaseDate: purchaseDate)
        }

        /// Returns one period of an auto-renewable subscription.
        public static func autoRenewable(
            _ productID: String, transactionID: String, originalTransactionID: String? = nil,
            purchaseDate: Instant = ReceiptBuilder.defaultPurchaseDate, originalPurchaseDate: Instant? = nil,
            expiresDate: Instant, isTrialPeriod: Bool = false
        ) -> Purchase {
            var purchase = Purchase(
                productID: productID, transactionID: transactionID, productType: 3, purchaseDate: purchaseDate,
                originalTransactionID: originalTransactionID, originalPurchaseDate: originalPurchaseDate)
            purchase.expiresDate = expiresDate
            purchase.isTrialPeriod = isTrialPeriod
            purchase.isInIntroOfferPeriod = false
            purchase.webOrderLineItemID = transactionID.utf8.reduce(340_000_000_000_000) { ($0 &* 31 &+ Int64($1)) & (1 << 50 - 1) }
            return purchase
        }

        /// Returns the purchase with a refund.
        ///
        /// - Parameters:
        ///   - date: The date of the refund.
        ///   - reason: Apple's reason: 1 for an issue with the app, 0 for any other.
        public func revoked(at date: Instant, reason: Int64 = 0) -> Purchase {
            var purchase = self
            purchase.revocationDate = date
            purchase.revocationReason = reason
            return purchase
        }
    }

    /// The default purchase date, 2025-06-01T09:30:00Z.
    public static let defaultPurchaseDate = Instant(millisecondsSince1970: 1_748_770_200_000)
}
