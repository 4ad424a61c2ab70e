public import AppStoreReceipt
public import SpanASN1

extension ReceiptBuilder {
    /// An in-app purchase to be minted; `nil` leaves a field out, or writes it empty where Apple does.
    public struct Purchase: Hashable, Sendable {
        /// Attribute 1701.
        public var quantity: Int64? = 1
        /// Attribute 1702.
        public var productID: String?
        /// Attribute 1703.
        public var transactionID: String?
        /// Attribute 1704.
        public var purchaseDate: Instant?
        /// Attribute 1705.
        public var originalTransactionID: String?
        /// Attribute 1706.
        public var originalPurchaseDate: Instant?
        /// Attribute 1707: 0 non-consumable, 1 consumable, 2 non-renewing, 3 auto-renewable, 4 free subscription.
        public var productType: Int64?
        /// Attribute 1708.
        public var expiresDate: Instant?
        /// Attribute 1710; 0 in the sandbox.
        public var itemID: Int64? = 0
        /// Attribute 1711; 0 for what is no subscription.
        public var webOrderLineItemID: Int64? = 0
        /// Attribute 1712.
        public var revocationDate: Instant?
        /// Attribute 1713.
        public var isTrialPeriod: Bool? = false
        /// Attribute 1719; since 2018 on auto-renewable subscriptions only.
        public var isInIntroOfferPeriod: Bool?
        /// Attribute 1720; there only when cancelled.
        public var revocationReason: Int64?
        /// Attribute 1721.
        public var promotionalOfferID: String?
        /// Any attributes besides, in this order.
        public var additionalAttributes: [Attribute] = []

        /// A purchase without fields; ``ReceiptBuilder/writesEmptyAttributes`` may add some.
        public init() {
            (quantity, itemID, webOrderLineItemID, isTrialPeriod) = (nil, nil, nil, nil)
        }

        /// A purchase of any kind; consumables, non-consumables and subscriptions have functions of their own.
        ///
        /// - Parameters:
        ///   - productID: attribute 1702.
        ///   - transactionID: attribute 1703.
        ///   - productType: attribute 1707: 0 for a non-consumable, 1 for a consumable, 3 for a subscription that renews itself.
        ///   - purchaseDate: attribute 1704.
        ///   - originalTransactionID: `nil` for the transaction's own.
        ///   - originalPurchaseDate: `nil` for the date of the purchase.
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

        /// A consumable [1707 is 1], bought once; its original transaction is itself.
        public static func consumable(
            _ productID: String, transactionID: String, quantity: Int64 = 1,
            purchaseDate: Instant = ReceiptBuilder.defaultPurchaseDate
        ) -> Purchase {
            var purchase = Purchase(
                productID: productID, transactionID: transactionID, productType: 1, purchaseDate: purchaseDate)
            purchase.quantity = quantity
            return purchase
        }

        /// A non-consumable [1707 is 0]; its original transaction is itself.
        public static func nonConsumable(
            _ productID: String, transactionID: String,
            purchaseDate: Instant = ReceiptBuilder.defaultPurchaseDate
        ) -> Purchase {
            Purchase(productID: productID, transactionID: transactionID, productType: 0, purchaseDate: purchaseDate)
        }

        /// One period of a subscription that renews itself.
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
            purchase.webOrderLineItemID = 340_000_000_000_001
            return purchase
        }

        /// The same purchase, refunded. Apple's reasons: 1 for a problem with the app, 0 for any other.
        public func revoked(at date: Instant, reason: Int64 = 0) -> Purchase {
            var purchase = self
            purchase.revocationDate = date
            purchase.revocationReason = reason
            return purchase
        }
    }

    /// 2025-06-01T09:30:00Z
    public static let defaultPurchaseDate = Instant(millisecondsSince1970: 1_748_770_200_000)
}
