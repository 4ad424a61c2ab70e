/// The known keys of a transaction receipt, with the format of their values.
package enum TransactionReceiptKey: String, Sendable, CaseIterable {
    // In the outer property list
    case signature
    case purchaseInfo = "purchase-info"
    // In the signed `purchase-info`
    case quantity
    case productID = "product-id"
    case transactionID = "transaction-id"
    case originalTransactionID = "original-transaction-id"
    case purchaseDate = "purchase-date"
    case purchaseDateMS = "purchase-date-ms"
    case purchaseDatePST = "purchase-date-pst"
    case originalPurchaseDate = "original-purchase-date"
    case originalPurchaseDateMS = "original-purchase-date-ms"
    case originalPurchaseDatePST = "original-purchase-date-pst"
    case expiresDateFormatted = "expires-date-formatted"
    // In milliseconds, despite its name.
    case expiresDate = "expires-date"
    case expiresDateFormattedPST = "expires-date-formatted-pst"
    case bundleID = "bid"
    case applicationVersion = "bvrs"
    case itemID = "item-id"
    case appItemID = "app-item-id"
    case versionExternalIdentifier = "version-external-identifier"
    case webOrderLineItemID = "web-order-line-item-id"
    case subscriptionGroupID = "subscription-group-identifier"
    case isTrialPeriod = "is-trial-period"
    case isInIntroOfferPeriod = "is-in-intro-offer-period"
    case ownershipType = "in-app-ownership-type"
    case uniqueIdentifier = "unique-identifier"
    case uniqueVendorIdentifier = "unique-vendor-identifier"

    /// The formats of values.
    enum Format { case digits, flag, text, date }

    var format: Format {
        switch self {
        case .quantity, .transactionID, .originalTransactionID, .itemID, .appItemID, .versionExternalIdentifier,
            .webOrderLineItemID, .subscriptionGroupID:
            .digits
        case .isTrialPeriod, .isInIntroOfferPeriod: .flag
        case .purchaseDate, .purchaseDateMS, .purchaseDatePST, .originalPurchaseDate, .originalPurchaseDateMS,
            .originalPurchaseDatePST, .expiresDate, .expiresDateFormatted, .expiresDateFormattedPST:
            .date
        case .signature, .purchaseInfo, .productID, .bundleID, .applicationVersion, .ownershipType, .uniqueIdentifier,
            .uniqueVendorIdentifier:
            .text
        }
    }

    /// The keys that every genuine purchase has, besides its purchase date.
    static let required: [TransactionReceiptKey] = [
        .quantity, .transactionID, .originalTransactionID, .productID, .bundleID,
    ]
}
