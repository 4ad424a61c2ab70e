/// The type of a product, by the name that App Store Connect and StoreKit 2 give it.
public struct ProductType: OpenStringValue {
    /// Apple's name for the type.
    public let rawValue: String
    /// Creates a product type, known or not, from Apple's name for it.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A product that is bought once and kept.
    public static let nonConsumable = ProductType(rawValue: "Non-Consumable")
    /// A product that is used up. A receipt contains it until the app has finished its transaction.
    public static let consumable = ProductType(rawValue: "Consumable")
    /// A subscription that does not renew. Only the app knows its length.
    public static let nonRenewingSubscription = ProductType(rawValue: "Non-Renewing Subscription")
    /// A subscription that renews. Each period is a transaction with an expiration date.
    public static let autoRenewableSubscription = ProductType(rawValue: "Auto-Renewable Subscription")
    /// A free subscription in Newsstand. Only receipts contain it.
    public static let freeSubscription = ProductType(rawValue: "Free Subscription")

    /// All types that are known, in the order of their numbers in receipts.
    static let known = [
        nonConsumable, consumable, nonRenewingSubscription, autoRenewableSubscription, freeSubscription,
    ]

    /// Whether it is a subscription that renews.
    var renews: Bool { self == .autoRenewableSubscription || self == .freeSubscription }

    /// Creates the type of a number in attribute 1707 of a receipt, whose meaning is inferred. The name of an unknown
    /// number is the number itself.
    package init(receiptNumber: Int64) {
        let index = Int(exactly: receiptNumber) ?? -1
        self =
            Self.known.indices.contains(index)
            ? Self.known[index] : ProductType(rawValue: String(receiptNumber))
    }

    /// The number in attribute 1707 of a receipt; `nil` for a name without one.
    package var receiptNumber: Int64? {
        Self.known.firstIndex(of: self).map { Int64($0) } ?? Int64(rawValue)
    }
}
