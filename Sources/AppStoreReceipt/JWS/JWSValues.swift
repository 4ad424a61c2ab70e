// The values that both transactions and renewals have. Apple adds values from time to time, so each type keeps unknown
// ones.

/// The types of ownership of a purchase.
public struct OwnershipType: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The customer bought the product.
    public static let purchased = OwnershipType(rawValue: "PURCHASED")
    /// A family member bought the product and shares it.
    public static let familyShared = OwnershipType(rawValue: "FAMILY_SHARED")
    /// The buyer of a subscription with several seats, or an organization, assigned one of them to the customer.
    public static let assigned = OwnershipType(rawValue: "ASSIGNED")

    static let known = [purchased, familyShared, assigned]
}

/// The causes of a transaction.
public struct TransactionReason: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The customer bought the product, or changed the subscription.
    public static let purchase = TransactionReason(rawValue: "PURCHASE")
    /// Apple charged for the next period.
    public static let renewal = TransactionReason(rawValue: "RENEWAL")
}

/// The reasons for which a period of a subscription has more than one transaction
/// ([Apple's page](https://developer.apple.com/documentation/appstoreserverapi/additionaltransactionreason)).
public struct AdditionalTransactionReason: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The buyer added seats during the period.
    public static let seatAddition = AdditionalTransactionReason(rawValue: "SEAT_ADDITION")
}

/// The parties that can invite the members of a subscription with several seats
/// ([`invitationManagement`](https://developer.apple.com/documentation/appstoreserverapi/invitationmanagement)).
public struct InvitationManagement: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Apple invites the members. Each has a transaction of their own, which is ``OwnershipType/assigned``.
    public static let apple = InvitationManagement(rawValue: "APPLE")
    /// The developer invites the members, who have no transactions. Only the developer's server knows who they are.
    public static let developer = InvitationManagement(rawValue: "DEVELOPER")
}

/// The reasons for which a transaction was refunded or revoked.
public struct RevocationReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Any other reason, such as a purchase by mistake.
    public static let other = RevocationReason(rawValue: 0)
    /// An actual or perceived issue with the app.
    public static let appIssue = RevocationReason(rawValue: 1)
}

/// The types of revocations.
public struct RevocationType: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The whole price was refunded.
    public static let fullRefund = RevocationType(rawValue: "REFUND_FULL")
    /// The price of the rest of the period was refunded.
    public static let proratedRefund = RevocationType(rawValue: "REFUND_PRORATED")
    /// Family Sharing ended.
    public static let familyRevoke = RevocationType(rawValue: "FAMILY_REVOKE")
    /// The buyer, or an organization, took an assigned seat back from the customer.
    public static let assignmentRevoke = RevocationType(rawValue: "ASSIGNMENT_REVOKE")
}

/// The types of offers.
public struct OfferType: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// An introductory offer, for new customers.
    public static let introductory = OfferType(rawValue: 1)
    /// A promotional offer, which the developer signs.
    public static let promotional = OfferType(rawValue: 2)
    /// An offer code that the customer redeemed.
    public static let offerCode = OfferType(rawValue: 3)
    /// A win-back offer, for former customers.
    public static let winBack = OfferType(rawValue: 4)
    /// A retention offer, for customers who are about to cancel.
    public static let retention = OfferType(rawValue: 5)
}

/// The ways an offer is paid.
public struct OfferDiscountType: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The offer is free.
    public static let freeTrial = OfferDiscountType(rawValue: "FREE_TRIAL")
    /// The customer pays a lower price in each period.
    public static let payAsYouGo = OfferDiscountType(rawValue: "PAY_AS_YOU_GO")
    /// The customer pays one price for all periods of the offer.
    public static let payUpFront = OfferDiscountType(rawValue: "PAY_UP_FRONT")
    /// The customer pays a lower price for a one-time purchase.
    public static let oneTime = OfferDiscountType(rawValue: "ONE_TIME")
}

/// The ways in which a subscription with a commitment is billed.
public struct BillingPlanType: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The customer pays the whole price at once.
    public static let billedUpfront = BillingPlanType(rawValue: "BILLED_UPFRONT")
    /// The customer pays by the month, with a commitment to several months.
    public static let monthly = BillingPlanType(rawValue: "MONTHLY")
}

/// The renewal statuses of a subscription.
public struct AutoRenewStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The subscription will not renew.
    public static let off = AutoRenewStatus(rawValue: 0)
    /// The subscription will renew.
    public static let on = AutoRenewStatus(rawValue: 1)
}

/// The reasons for which a subscription expired.
public struct ExpirationIntent: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The customer turned renewal off.
    public static let cancelled = ExpirationIntent(rawValue: 1)
    /// Apple could not charge the customer.
    public static let billingError = ExpirationIntent(rawValue: 2)
    /// The customer did not agree to a price increase.
    public static let priceIncreaseNotAccepted = ExpirationIntent(rawValue: 3)
    /// The product was not available at the time of the renewal.
    public static let productUnavailable = ExpirationIntent(rawValue: 4)
    /// Any other reason.
    public static let other = ExpirationIntent(rawValue: 5)
}

/// The customer's answers to a price increase.
public struct PriceIncreaseStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The customer has not answered.
    public static let pending = PriceIncreaseStatus(rawValue: 0)
    /// The customer agreed, or no consent is required.
    public static let accepted = PriceIncreaseStatus(rawValue: 1)
}

/// The platforms on which an app is first bought.
public struct PurchasePlatform: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// An iPhone or an iPad.
    public static let iOS = PurchasePlatform(rawValue: "iOS")
    /// A Mac.
    public static let macOS = PurchasePlatform(rawValue: "macOS")
    /// An Apple TV.
    public static let tvOS = PurchasePlatform(rawValue: "tvOS")
    /// An Apple Vision Pro.
    public static let visionOS = PurchasePlatform(rawValue: "visionOS")
}
