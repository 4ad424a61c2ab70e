public import AppStoreReceipt

extension ReceiptBuilder {
    /// An in-app purchase to mint. A field that is `nil` is omitted, or is written empty if Apple does so.
    public struct Purchase: Hashable, Sendable {
        /// The quantity [1701].
        public var quantity: Int? = 1
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
        /// The product's type [1707]. A type that is not one of Apple's is written if its raw value is a number.
        public var productType: ProductType?
        /// The date this period of a subscription ends [1708].
        public var expiresDate: Instant?
        /// The product's Apple id [1710]; 0 in the sandbox.
        public var itemID: String? = "0"
        /// The identifier of this period of a subscription [1711]; 0 for other products.
        public var webOrderLineItemID: String? = "0"
        /// The date Apple refunded or revoked the purchase [1712].
        public var revocationDate: Instant?
        /// Whether the period is a free trial [1713].
        public var isTrialPeriod: Bool? = false
        /// Whether the period has an introductory price [1719]. Since 2018, only auto-renewable subscriptions have it.
        public var isInIntroOfferPeriod: Bool?
        /// The reason of the revocation [1720]. Only revoked purchases have it.
        public var revocationReason: RevocationReason?
        /// The identifier of the promotional offer [1721].
        public var promotionalOfferID: String?
        /// Additional attributes, in this order.
        public var additionalAttributes: [ReceiptAttribute] = []

        /// ``quantity`` as the attribute has it.
        var quantityNumber: Int64? {
            get { quantity.map(Int64.init) }
            set { quantity = newValue.map { Int(clamping: $0) } }
        }
        /// ``revocationReason`` as the attribute has it.
        var revocationReasonNumber: Int64? {
            get { revocationReason?.rawValue }
            set { revocationReason = newValue.map(RevocationReason.init(rawValue:)) }
        }

        /// Creates a purchase without fields. ``ReceiptBuilder/writesEmptyAttributes`` may add some.
        public init() {
            (quantity, itemID, webOrderLineItemID, isTrialPeriod) = (nil, nil, nil, nil)
        }

        /// Creates a purchase of any type. Consumables, non-consumables and subscriptions have static methods.
        ///
        /// - Parameters:
        ///   - productID: The product's identifier.
        ///   - transactionID: The transaction id.
        ///   - productType: The product's type.
        ///   - purchaseDate: The purchase date.
        ///   - originalTransactionID: The original transaction id; `nil` for the transaction id.
        ///   - originalPurchaseDate: The date of the original transaction; `nil` for the purchase date.
        public init(
            productID: String, transactionID: String, productType: ProductType,
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
            _ productID: String, transactionID: String, quantity: Int = 1,
            purchaseDate: Instant = ReceiptBuilder.defaultPurchaseDate
        ) -> Purchase {
            var purchase = Purchase(
                productID: productID, transactionID: transactionID, productType: .consumable, purchaseDate: purchaseDate
            )
            purchase.quantity = quantity
            return purchase
        }

        /// Returns a non-consumable [1707 is 0]. Its original transaction is the transaction itself.
        public static func nonConsumable(
            _ productID: String, transactionID: String,
            purchaseDate: Instant = ReceiptBuilder.defaultPurchaseDate
        ) -> Purchase {
            Purchase(
                productID: productID, transactionID: transactionID, productType: .nonConsumable,
                purchaseDate: purchaseDate)
        }

        /// Returns one period of an auto-renewable subscription.
        ///
        /// Its web order line item id is made from its transaction id, so that no two periods have the same.
        public static func autoRenewable(
            _ productID: String, transactionID: String, originalTransactionID: String? = nil,
            purchaseDate: Instant = ReceiptBuilder.defaultPurchaseDate, originalPurchaseDate: Instant? = nil,
            expiresDate: Instant, isTrialPeriod: Bool = false
        ) -> Purchase {
            var purchase = Purchase(
                productID: productID, transactionID: transactionID, productType: .autoRenewableSubscription,
                purchaseDate: purchaseDate,
                originalTransactionID: originalTransactionID, originalPurchaseDate: originalPurchaseDate)
            purchase.expiresDate = expiresDate
            purchase.isTrialPeriod = isTrialPeriod
            purchase.isInIntroOfferPeriod = false
            purchase.webOrderLineItemID = webOrderLineItemID(of: transactionID)
            return purchase
        }

        /// Returns an id of 15 digits, or of 16 in the sandbox, whose transaction ids have 16.
        private static func webOrderLineItemID(of transactionID: String) -> String {
            let number = Int64(transactionID).flatMap { $0 < 0 ? nil : $0 } ?? Int64(transactionID.stableHash >> 1)
            let id =
                transactionID.utf8.count == 16 && transactionID.utf8.starts(with: "2000000".utf8)
                ? 2_000_000_000_000_000 + (number + 500_000_000) % 1_000_000_000
                : 680_000_000_000_000 + number % 1_000_000_000_000
            return String(id)
        }

        /// Returns the purchase with a refund.
        ///
        /// - Parameters:
        ///   - date: The date of the refund.
        ///   - reason: The reason of the revocation.
        public func revoked(at date: Instant, reason: RevocationReason = .other) -> Purchase {
            var purchase = self
            purchase.revocationDate = date
            purchase.revocationReason = reason
            return purchase
        }
    }

    /// The default purchase date, 2025-06-01T09:30:00Z.
    public static let defaultPurchaseDate = Instant(millisecondsSince1970: 1_748_770_200_000)
}
