public import AppStoreReceipt

// The members that tests set most, without their names in JSON. A property is `nil` if its member is missing or has
// another type, and setting `nil` removes the member. For other members, and for values of wrong types, set members of
// ``payload``.

extension JWSBuilder {
    // MARK: Identifiers

    /// The transaction's identifier.
    public var transactionID: String? {
        get { self[TransactionInfo.Member.transactionId] }
        set { self[TransactionInfo.Member.transactionId] = newValue }
    }
    /// The identifier of the first transaction of a subscription or of a restored purchase.
    public var originalTransactionID: String? {
        get { self[TransactionInfo.Member.originalTransactionId] }
        set { self[TransactionInfo.Member.originalTransactionId] = newValue }
    }
    /// The identifier of this period of a subscription.
    public var webOrderLineItemID: String? {
        get { self[TransactionInfo.Member.webOrderLineItemId] }
        set { self[TransactionInfo.Member.webOrderLineItemId] = newValue }
    }
    /// The identifier of the customer's download of the app.
    public var appTransactionID: String? {
        get { self[TransactionInfo.Member.appTransactionId] }
        set { self[TransactionInfo.Member.appTransactionId] = newValue }
    }
    /// The UUID that the app set for the purchase.
    public var appAccountToken: String? {
        get { self[TransactionInfo.Member.appAccountToken] }
        set { self[TransactionInfo.Member.appAccountToken] = newValue }
    }
    /// The app's bundle id, in transactions and app transactions. In notifications, it is in `data`.
    public var bundleID: String? {
        get { self[TransactionInfo.Member.bundleId] }
        set { self[TransactionInfo.Member.bundleId] = newValue }
    }
    /// The environment; `nil` if it is missing or unknown. App transactions have a `receiptType` instead.
    public var environment: AppStoreEnvironment? {
        get { self[TransactionInfo.Member.environment] }
        set { self[TransactionInfo.Member.environment] = newValue }
    }
    /// The signing date, at which the signer's certificates are validated. App transactions have a
    /// `receiptCreationDate` instead.
    public var signedDate: Instant? {
        get { self[TransactionInfo.Member.signedDate] }
        set { self[TransactionInfo.Member.signedDate] = newValue }
    }

    // MARK: Product

    /// The product's identifier.
    public var productID: String? {
        get { self[TransactionInfo.Member.productId] }
        set { self[TransactionInfo.Member.productId] = newValue }
    }
    /// The product's type.
    public var productType: ProductType? {
        get { self[TransactionInfo.Member.type] }
        set { self[TransactionInfo.Member.type] = newValue }
    }
    /// The identifier of the subscription group.
    public var subscriptionGroupID: String? {
        get { self[TransactionInfo.Member.subscriptionGroupIdentifier] }
        set { self[TransactionInfo.Member.subscriptionGroupIdentifier] = newValue }
    }
    /// The quantity that was bought.
    public var quantity: Int? {
        get { self[TransactionInfo.Member.quantity].map { (number: Int64) in Int(clamping: number) } }
        set { self[TransactionInfo.Member.quantity] = newValue.map(Int64.init) }
    }
    /// A value that says whether the customer bought the product or a family member shares it.
    public var ownershipType: OwnershipType? {
        get { self[TransactionInfo.Member.inAppOwnershipType] }
        set { self[TransactionInfo.Member.inAppOwnershipType] = newValue }
    }
    /// A value that says whether the customer bought the product or Apple renewed it.
    public var reason: TransactionReason? {
        get { self[TransactionInfo.Member.transactionReason] }
        set { self[TransactionInfo.Member.transactionReason] = newValue }
    }
    /// A Boolean value that indicates whether the customer has upgraded to another subscription. Apple writes it only
    /// if it is true.
    public var isUpgraded: Bool? {
        get { self[TransactionInfo.Member.isUpgraded] }
        set { self[TransactionInfo.Member.isUpgraded] = newValue }
    }
    /// The date the product was bought, renewed or restored.
    public var purchaseDate: Instant? {
        get { self[TransactionInfo.Member.purchaseDate] }
        set { self[TransactionInfo.Member.purchaseDate] = newValue }
    }
    /// The date of the original transaction.
    public var originalPurchaseDate: Instant? {
        get { self[TransactionInfo.Member.originalPurchaseDate] }
        set { self[TransactionInfo.Member.originalPurchaseDate] = newValue }
    }
    /// The date this period of a subscription ends.
    public var expiresDate: Instant? {
        get { self[TransactionInfo.Member.expiresDate] }
        set { self[TransactionInfo.Member.expiresDate] = newValue }
    }
    /// The price, in thousandths of the currency's unit.
    public var price: Int64? {
        get { self[TransactionInfo.Member.price] }
        set { self[TransactionInfo.Member.price] = newValue }
    }

    // MARK: Offers

    /// The type of the offer.
    public var offerType: OfferType? {
        get { self[TransactionInfo.Member.offerType] }
        set { self[TransactionInfo.Member.offerType] = newValue }
    }
    /// The code of the offer, or the identifier of a promotional offer.
    public var offerID: String? {
        get { self[TransactionInfo.Member.offerIdentifier] }
        set { self[TransactionInfo.Member.offerIdentifier] = newValue }
    }
    /// The way the offer is paid.
    public var offerDiscountType: OfferDiscountType? {
        get { self[TransactionInfo.Member.offerDiscountType] }
        set { self[TransactionInfo.Member.offerDiscountType] = newValue }
    }
    /// The duration of the offer in ISO 8601, such as `P1M`.
    public var offerPeriod: String? {
        get { self[TransactionInfo.Member.offerPeriod] }
        set { self[TransactionInfo.Member.offerPeriod] = newValue }
    }

    // MARK: Revocation

    /// The date Apple refunded or revoked the transaction.
    public var revocationDate: Instant? {
        get { self[TransactionInfo.Member.revocationDate] }
        set { self[TransactionInfo.Member.revocationDate] = newValue }
    }
    /// The reason Apple refunded the transaction.
    public var revocationReason: RevocationReason? {
        get { self[TransactionInfo.Member.revocationReason] }
        set { self[TransactionInfo.Member.revocationReason] = newValue }
    }
    /// The type of the revocation: a refund, or the end of Family Sharing.
    public var revocationType: RevocationType? {
        get { self[TransactionInfo.Member.revocationType] }
        set { self[TransactionInfo.Member.revocationType] = newValue }
    }
    /// The refunded part of the price, in thousandths of a percent.
    public var revocationPercentage: Int64? {
        get { self[TransactionInfo.Member.revocationPercentage] }
        set { self[TransactionInfo.Member.revocationPercentage] = newValue }
    }

    // MARK: Renewal information

    /// The product of the next period.
    public var autoRenewProductID: String? {
        get { self[RenewalInfo.Member.autoRenewProductId] }
        set { self[RenewalInfo.Member.autoRenewProductId] = newValue }
    }
    /// A value that says whether the subscription will renew.
    public var autoRenewStatus: AutoRenewStatus? {
        get { self[RenewalInfo.Member.autoRenewStatus] }
        set { self[RenewalInfo.Member.autoRenewStatus] = newValue }
    }
    /// The reason the subscription expired.
    public var expirationIntent: ExpirationIntent? {
        get { self[RenewalInfo.Member.expirationIntent] }
        set { self[RenewalInfo.Member.expirationIntent] = newValue }
    }
    /// A Boolean value that indicates whether Apple is still trying to charge for the next period.
    public var isInBillingRetryPeriod: Bool? {
        get { self[RenewalInfo.Member.isInBillingRetryPeriod] }
        set { self[RenewalInfo.Member.isInBillingRetryPeriod] = newValue }
    }
    /// The date until which the customer keeps access although the charge failed.
    public var gracePeriodExpiresDate: Instant? {
        get { self[RenewalInfo.Member.gracePeriodExpiresDate] }
        set { self[RenewalInfo.Member.gracePeriodExpiresDate] = newValue }
    }
    /// The date Apple will charge for the next period.
    public var renewalDate: Instant? {
        get { self[RenewalInfo.Member.renewalDate] }
        set { self[RenewalInfo.Member.renewalDate] = newValue }
    }
    /// The price of the next period, in thousandths of the currency's unit.
    public var renewalPrice: Int64? {
        get { self[RenewalInfo.Member.renewalPrice] }
        set { self[RenewalInfo.Member.renewalPrice] = newValue }
    }
    /// The start of the current sequence of periods.
    public var recentSubscriptionStartDate: Instant? {
        get { self[RenewalInfo.Member.recentSubscriptionStartDate] }
        set { self[RenewalInfo.Member.recentSubscriptionStartDate] = newValue }
    }
    /// The customer's answer to a price increase.
    public var priceIncreaseStatus: PriceIncreaseStatus? {
        get { self[RenewalInfo.Member.priceIncreaseStatus] }
        set { self[RenewalInfo.Member.priceIncreaseStatus] = newValue }
    }

    // MARK: Notifications

    /// The type of the notification.
    public var notificationType: NotificationType? {
        get { self[AppStoreNotification.Member.notificationType] }
        set { self[AppStoreNotification.Member.notificationType] = newValue }
    }
    /// The subtype of the notification.
    public var notificationSubtype: NotificationSubtype? {
        get { self[AppStoreNotification.Member.subtype] }
        set { self[AppStoreNotification.Member.subtype] = newValue }
    }
    /// The identifier of the notification.
    public var notificationUUID: String? {
        get { self[AppStoreNotification.Member.notificationUUID] }
        set { self[AppStoreNotification.Member.notificationUUID] = newValue }
    }
}

extension JWSBuilder {
    /// Accesses a member by its name in the reading type.
    private subscript<Member: RawRepresentable<String>, Value: PayloadValue>(member: Member) -> Value? {
        get { payload[member.rawValue].flatMap(Value.init(json:)) }
        set { payload[member.rawValue] = newValue?.json }
    }
}

/// A value that a member of a payload can have.
private protocol PayloadValue {
    init?(json: JSONValue)
    var json: JSONValue { get }
}

extension String: PayloadValue {
    init?(json: JSONValue) {
        guard case .string(let value) = json else { return nil }
        self = value
    }
    var json: JSONValue { .string(self) }
}

extension Int64: PayloadValue {
    init?(json: JSONValue) {
        guard case .integer(let value) = json else { return nil }
        self = value
    }
    var json: JSONValue { .integer(self) }
}

extension Bool: PayloadValue {
    init?(json: JSONValue) {
        guard case .boolean(let value) = json else { return nil }
        self = value
    }
    var json: JSONValue { .boolean(self) }
}

extension Instant: PayloadValue {
    init?(json: JSONValue) {
        guard case .integer(let value) = json else { return nil }
        self.init(millisecondsSince1970: value)
    }
    var json: JSONValue { .integer(millisecondsSince1970) }
}

extension AppStoreEnvironment: PayloadValue {
    init?(json: JSONValue) {
        guard case .string(let name) = json else { return nil }
        self.init(signedName: name)
    }
    var json: JSONValue { .string(signedName) }
}

extension PayloadValue where Self: RawRepresentable, RawValue: PayloadValue {
    init?(json: JSONValue) {
        guard let value = RawValue(json: json) else { return nil }
        self.init(rawValue: value)
    }
    var json: JSONValue { rawValue.json }
}

extension AutoRenewStatus: PayloadValue {}
extension ExpirationIntent: PayloadValue {}
extension NotificationSubtype: PayloadValue {}
extension NotificationType: PayloadValue {}
extension OfferDiscountType: PayloadValue {}
extension OfferType: PayloadValue {}
extension OwnershipType: PayloadValue {}
extension PriceIncreaseStatus: PayloadValue {}
extension ProductType: PayloadValue {}
extension RevocationReason: PayloadValue {}
extension RevocationType: PayloadValue {}
extension TransactionReason: PayloadValue {}
