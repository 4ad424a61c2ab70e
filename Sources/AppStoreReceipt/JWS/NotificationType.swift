import StrictText

/// The types of notifications.
///
/// Apple adds types from time to time. A type without a constant keeps its raw value.
public struct NotificationType: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Apple's documentation also calls ``migration`` `MIGRATE`. The two names are equal, and the raw value is the one
    /// that Apple signed.
    private var canonical: UTF8Bytes { UTF8Bytes(rawValue.hasSameBytes(as: "MIGRATE") ? "MIGRATION" : rawValue) }

    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.canonical == rhs.canonical }
    public func hash(into hasher: inout Hasher) { hasher.combine(canonical) }

    /// A customer requested a refund, and Apple asks how much was consumed.
    public static let consumptionRequest = NotificationType(rawValue: "CONSUMPTION_REQUEST")
    /// The customer chose another product for the next period, or upgraded.
    public static let didChangeRenewalPreference = NotificationType(rawValue: "DID_CHANGE_RENEWAL_PREF")
    /// The customer, or Apple after a refund, turned renewal on or off.
    public static let didChangeRenewalStatus = NotificationType(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    /// The charge failed. Apple keeps trying, with or without a grace period.
    public static let didFailToRenew = NotificationType(rawValue: "DID_FAIL_TO_RENEW")
    /// A subscription was renewed.
    public static let didRenew = NotificationType(rawValue: "DID_RENEW")
    /// A subscription expired. The subtype has the reason.
    public static let expired = NotificationType(rawValue: "EXPIRED")
    /// The notification is about a token for purchases outside the App Store.
    public static let externalPurchaseToken = NotificationType(rawValue: "EXTERNAL_PURCHASE_TOKEN")
    /// The grace period ended without a charge. Access ends, and Apple keeps trying.
    public static let gracePeriodExpired = NotificationType(rawValue: "GRACE_PERIOD_EXPIRED")
    /// The developer changed a subscription's names (Advanced Commerce API).
    public static let metadataUpdate = NotificationType(rawValue: "METADATA_UPDATE")
    /// The developer moved a subscription to the Advanced Commerce API. A type whose raw value is `MIGRATE` is equal to
    /// it.
    public static let migration = NotificationType(rawValue: "MIGRATION")
    /// A customer with a subscription redeemed an offer.
    public static let offerRedeemed = NotificationType(rawValue: "OFFER_REDEEMED")
    /// A customer bought a product that is not an auto-renewable subscription.
    public static let oneTimeCharge = NotificationType(rawValue: "ONE_TIME_CHARGE")
    /// The developer changed a subscription's price (Advanced Commerce API).
    public static let priceChange = NotificationType(rawValue: "PRICE_CHANGE")
    /// The customer was informed of a price increase, or agreed to it.
    public static let priceIncrease = NotificationType(rawValue: "PRICE_INCREASE")
    /// Apple refunded a transaction. Revoke what it granted.
    public static let refund = NotificationType(rawValue: "REFUND")
    /// Apple declined a refund.
    public static let refundDeclined = NotificationType(rawValue: "REFUND_DECLINED")
    /// Apple reversed a refund. Restore what you revoked.
    public static let refundReversed = NotificationType(rawValue: "REFUND_REVERSED")
    /// Apple extended the renewal date of a subscription at the developer's request.
    public static let renewalExtended = NotificationType(rawValue: "RENEWAL_EXTENDED")
    /// A request to extend the renewal dates of many subscriptions ended, or failed for one of them.
    public static let renewalExtension = NotificationType(rawValue: "RENEWAL_EXTENSION")
    /// A guardian withdrew consent to a child's use of the app.
    public static let rescindConsent = NotificationType(rawValue: "RESCIND_CONSENT")
    /// A purchase is no longer family-shared. Revoke what it granted.
    public static let revoke = NotificationType(rawValue: "REVOKE")
    /// A customer subscribed, for the first time or again.
    public static let subscribed = NotificationType(rawValue: "SUBSCRIBED")
    /// The developer requested the notification (Request a Test Notification).
    public static let test = NotificationType(rawValue: "TEST")
    /// Apple unclaimed seats that the developer's server had assigned. ``AppStoreNotification/unclaimInfo`` has the
    /// identifiers of their claims: end the access that they gave.
    public static let unclaimSeats = NotificationType(rawValue: "UNCLAIM_SEATS")
}

/// The subtypes of notifications.
public struct NotificationSubtype: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// For ``NotificationType/priceIncrease``: the customer agreed, or no consent is required.
    public static let accepted = NotificationSubtype(rawValue: "ACCEPTED")
    /// For ``NotificationType/externalPurchaseToken``: a token is still active.
    public static let activeTokenReminder = NotificationSubtype(rawValue: "ACTIVE_TOKEN_REMINDER")
    /// For ``NotificationType/didChangeRenewalStatus``: the subscription will not renew.
    public static let autoRenewDisabled = NotificationSubtype(rawValue: "AUTO_RENEW_DISABLED")
    /// For ``NotificationType/didChangeRenewalStatus``: the subscription will renew.
    public static let autoRenewEnabled = NotificationSubtype(rawValue: "AUTO_RENEW_ENABLED")
    /// For ``NotificationType/didRenew``: a charge succeeded after it had failed.
    public static let billingRecovery = NotificationSubtype(rawValue: "BILLING_RECOVERY")
    /// For ``NotificationType/expired``: Apple stopped trying to charge.
    public static let billingRetry = NotificationSubtype(rawValue: "BILLING_RETRY")
    /// For ``NotificationType/externalPurchaseToken``: Apple made a token.
    public static let created = NotificationSubtype(rawValue: "CREATED")
    /// The subscription will renew with fewer seats. Apple doesn't document which type has this subtype; this library
    /// decides nothing from it.
    public static let decreaseQuantity = NotificationSubtype(rawValue: "DECREASE_QUANTITY")
    /// For ``NotificationType/didChangeRenewalPreference`` and ``NotificationType/offerRedeemed``: the change takes
    /// effect at the next renewal.
    public static let downgrade = NotificationSubtype(rawValue: "DOWNGRADE")
    /// For ``NotificationType/renewalExtension``: one subscription's date could not be extended.
    public static let failure = NotificationSubtype(rawValue: "FAILURE")
    /// For ``NotificationType/didFailToRenew``: access continues while Apple keeps trying.
    public static let gracePeriod = NotificationSubtype(rawValue: "GRACE_PERIOD")
    /// The subscription will renew with more seats. Apple doesn't document which type has this subtype; this library
    /// decides nothing from it.
    public static let increaseQuantity = NotificationSubtype(rawValue: "INCREASE_QUANTITY")
    /// For ``NotificationType/subscribed``: the customer subscribed for the first time.
    public static let initialBuy = NotificationSubtype(rawValue: "INITIAL_BUY")
    /// For ``NotificationType/priceIncrease``: the customer has not answered.
    public static let pending = NotificationSubtype(rawValue: "PENDING")
    /// For ``NotificationType/expired``: the customer did not agree to a price increase.
    public static let priceIncrease = NotificationSubtype(rawValue: "PRICE_INCREASE")
    /// For ``NotificationType/expired``: the product was not available at the time of the renewal.
    public static let productNotForSale = NotificationSubtype(rawValue: "PRODUCT_NOT_FOR_SALE")
    /// For ``NotificationType/subscribed``: the customer subscribed again, to any product of the group.
    public static let resubscribe = NotificationSubtype(rawValue: "RESUBSCRIBE")
    /// For ``NotificationType/refund``: Apple refunded some seats of a transaction, which stays valid.
    /// ``MultiSeatInfo/revokedSeatQuantity`` is their number.
    public static let seats = NotificationSubtype(rawValue: "SEATS")
    /// For ``NotificationType/renewalExtension``: the request ended for all subscriptions.
    /// ``AppStoreNotification/summary`` has the counts.
    public static let summary = NotificationSubtype(rawValue: "SUMMARY")
    /// For ``NotificationType/externalPurchaseToken``: a token has not been reported yet.
    public static let unreported = NotificationSubtype(rawValue: "UNREPORTED")
    /// For ``NotificationType/didChangeRenewalPreference`` and ``NotificationType/offerRedeemed``: the change takes
    /// effect immediately.
    public static let upgrade = NotificationSubtype(rawValue: "UPGRADE")
    /// For ``NotificationType/expired``: the customer had turned renewal off.
    public static let voluntary = NotificationSubtype(rawValue: "VOLUNTARY")
}
