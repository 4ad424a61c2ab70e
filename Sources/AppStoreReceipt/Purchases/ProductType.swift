/// What kind of product was bought, by the name that App Store Connect and StoreKit 2 give it.
public struct ProductType: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Bought once and kept.
    public static let nonConsumable = ProductType(rawValue: "Non-Consumable")
    /// Used up. A receipt holds it until the app has finished its transaction.
    public static let consumable = ProductType(rawValue: "Consumable")
    /// A subscription whose length only the app knows.
    public static let nonRenewingSubscription = ProductType(rawValue: "Non-Renewing Subscription")
    /// A subscription that renews itself; each period is a transaction with an expiry.
    public static let autoRenewableSubscription = ProductType(rawValue: "Auto-Renewable Subscription")
    /// A free subscription, of Newsstand's days. Receipts only.
    public static let freeSubscription = ProductType(rawValue: "Free Subscription")

    private static let byReceiptNumber = [
        nonConsumable, consumable, nonRenewingSubscription, autoRenewableSubscription, freeSubscription,
    ]

    /// From attribute 1707 of a receipt, whose meaning is inferred. A number that is not known stands for itself.
    init(receiptNumber: Int64) {
        let index = Int(exactly: receiptNumber) ?? -1
        self =
            Self.byReceiptNumber.indices.contains(index)
            ? Self.byReceiptNumber[index] : ProductType(rawValue: String(receiptNumber))
    }
}
