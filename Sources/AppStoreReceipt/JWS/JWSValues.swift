// The values that both transactions and renewals have. Apple adds some from time to time: each type keeps what it has no name for.

/// Whose purchase it is.
public struct OwnershipType: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The customer bought it.
    public static let purchased = OwnershipType(rawValue: "PURCHASED")
    /// Shared by another member of the family.
    public static let familyShared = OwnershipType(rawValue: "FAMILY_SHARED")
}

/// Why there is a transaction.
public struct TransactionReason: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The customer bought it, or changed the subscription.
    public static let purchase = TransactionReason(rawValue: "PURCHASE")
    /// Apple charged for the next period.
    public static let renewal = TransactionReason(rawValue: "RENEWAL")
}

/// Why a transaction was refunded or revoked.
public struct RevocationReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// For any other reason, such as a purchase by mistake.
    public static let other = RevocationReason(rawValue: 0)
    /// An issue with the app, perceived or real.
    public static let appIssue = RevocationReason(rawValue: 1)
}

/// What was done with a transaction that is revoked.
public struct RevocationType: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// All of it was refunded.
    public static let fullRefund = RevocationType(rawValue: "REFUND_FULL")
    /// The part of the period that was left was refunded.
    public static let proratedRefund = RevocationType(rawValue: "REFUND_PRORATED")
    /// Family Sharing ended.
    public static let familyRevoke = RevocationType(rawValue: "FAMILY_REVOKE")
}

/// The kind of offer that applies.
public struct OfferType: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// An introductory offer, for new customers.
    public static let introductory = OfferType(rawValue: 1)
    /// A promotional offer, which the developer signs.
    public static let promotional = OfferType(rawValue: 2)
    /// A code that the customer redeemed.
    public static let offerCode = OfferType(rawValue: 3)
    /// A win-back offer, for customers who have left.
    public static let winBack = OfferType(rawValue: 4)
}

/// How an offer is paid for.
public struct OfferDiscountType: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Nothing is paid.
    public static let freeTrial = OfferDiscountType(rawValue: "FREE_TRIAL")
    /// A lower price in each period.
    public static let payAsYouGo = OfferDiscountType(rawValue: "PAY_AS_YOU_GO")
    /// One price for all periods of the offer.
    public static let payUpFront = OfferDiscountType(rawValue: "PAY_UP_FRONT")
    /// One price for what is bought once.
    public static let oneTime = OfferDiscountType(rawValue: "ONE_TIME")
}

/// How a subscription with a commitment is billed.
public struct BillingPlanType: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// All of it at once.
    public static let billedUpfront = BillingPlanType(rawValue: "BILLED_UPFRONT")
    /// By the month, with a commitment to more.
    public static let monthly = BillingPlanType(rawValue: "MONTHLY")
}

/// Whether a subscription renews at the end of its period.
public struct AutoRenewStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// It will not renew.
    public static let off = AutoRenewStatus(rawValue: 0)
    /// It will renew.
    public static let on = AutoRenewStatus(rawValue: 1)
}

/// Why a subscription expired.
public struct ExpirationIntent: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The customer had switched renewal off.
    public static let cancelled = ExpirationIntent(rawValue: 1)
    /// Apple could not charge.
    public static let billingError = ExpirationIntent(rawValue: 2)
    /// The customer did not agree to a price increase.
    public static let priceIncreaseNotAccepted = ExpirationIntent(rawValue: 3)
    /// The product was not for sale at renewal.
    public static let productUnavailable = ExpirationIntent(rawValue: 4)
    /// For any other reason.
    public static let other = ExpirationIntent(rawValue: 5)
}

/// Whether the customer has agreed to a price increase.
public struct PriceIncreaseStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The customer has not answered.
    public static let pending = PriceIncreaseStatus(rawValue: 0)
    /// Agreed to, or no consent is needed.
    public static let accepted = PriceIncreaseStatus(rawValue: 1)
}

/// The platform that an app was first bought on.
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
