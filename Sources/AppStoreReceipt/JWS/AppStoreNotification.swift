import StrictText

/// An App Store Server Notification of version 2 (`responseBodyV2DecodedPayload`).
///
/// It is about one thing: ``data``, ``appData``, ``summary`` or ``externalPurchaseToken``. ``SignedDataVerifier`` gives it as a
/// ``VerifiedNotification``, with its signed parts.
public struct AppStoreNotification: JWSPayload {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>

    /// The names of the fields in JSON.
    package enum Member: String, CaseIterable, Sendable {
        case appData, data, externalPurchaseToken, notificationType, notificationUUID, signedDate, subtype, summary
        case version
    }

    /// What happened (`notificationType`).
    public var type: NotificationType? { members.value(.notificationType) }
    /// What happened more exactly; most types have none.
    public var subtype: NotificationSubtype? { members.value(.subtype) }
    /// The id by which a notification that is sent again is known.
    public var notificationUUID: String? { members.string(.notificationUUID) }
    /// `2.0`.
    public var version: String? { members.string(.version) }
    /// When Apple signed this: the date at which its chain is judged.
    public var signedDate: Instant? { members.date(.signedDate) }
    /// That of whatever it is about.
    public var environment: AppStoreEnvironment? {
        data?.environment ?? appData?.environment ?? summary?.environment ?? externalPurchaseToken?.environment
    }

    /// About purchases.
    public var data: NotificationData? { members.object(.data) }
    /// About a customer's copy of the app.
    public var appData: NotificationAppData? { members.object(.appData) }
    /// About the extension of many subscriptions.
    public var summary: NotificationSummary? { members.object(.summary) }
    /// About a purchase outside the App Store.
    public var externalPurchaseToken: ExternalPurchaseToken? { members.object(.externalPurchaseToken) }

    init(members: JWSMembers<Member>) { self.members = members }
    static let required: [Member] = [.notificationType, .notificationUUID]
    static let dateMember = Member.signedDate
}

extension AppStoreNotification.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm {
        switch self {
        case .notificationType, .notificationUUID, .subtype, .version: .string
        case .signedDate: .date
        case .data: .object(NotificationData.self)
        case .appData: .object(NotificationAppData.self)
        case .summary: .object(NotificationSummary.self)
        case .externalPurchaseToken: .object(ExternalPurchaseToken.self)
        }
    }
}

/// What a notification says of purchases. Its signed parts are verified: see ``VerifiedNotification``.
public struct NotificationData: Hashable, Sendable, JWSRecord {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case appAppleId, bundleId, bundleVersion, consumptionRequestReason, environment, signedRenewalInfo
        case signedTransactionInfo, status
    }

    /// The app's Apple id; it may be absent in the sandbox.
    public var appAppleID: String? { members.id(.appAppleId) }
    /// The app's bundle identifier.
    public var bundleID: String? { members.string(.bundleId) }
    /// `CFBundleVersion`.
    public var bundleVersion: String? { members.string(.bundleVersion) }
    /// `nil` when it is missing or unknown, which a verifier refuses.
    public var environment: AppStoreEnvironment? {
        members.string(.environment).flatMap(AppStoreEnvironment.init(signedName:))
    }
    /// The state of the subscription when the notification was signed.
    public var status: SubscriptionStatus? { members.value(.status) }
    /// Why the customer asks for a refund, in a ``NotificationType/consumptionRequest``.
    public var consumptionRequestReason: ConsumptionRequestReason? { members.value(.consumptionRequestReason) }

    init(members: JWSMembers<Member>) { self.members = members }
}

extension NotificationData.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm {
        switch self {
        case .appAppleId, .status: .integer
        case .signedRenewalInfo, .signedTransactionInfo: .jws
        case .bundleId, .bundleVersion, .consumptionRequestReason, .environment: .string
        }
    }
}

/// What a notification says of a customer's copy of the app.
public struct NotificationAppData: Hashable, Sendable, JWSRecord {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case appAppleId, bundleId, environment, signedAppTransactionInfo
    }

    /// The app's Apple id; it may be absent in the sandbox.
    public var appAppleID: String? { members.id(.appAppleId) }
    /// The app's bundle identifier.
    public var bundleID: String? { members.string(.bundleId) }
    /// `nil` when it is missing or unknown, which a verifier refuses.
    public var environment: AppStoreEnvironment? {
        members.string(.environment).flatMap(AppStoreEnvironment.init(signedName:))
    }

    init(members: JWSMembers<Member>) { self.members = members }
}

extension NotificationAppData.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm {
        switch self {
        case .appAppleId: .integer
        case .signedAppTransactionInfo: .jws
        case .bundleId, .environment: .string
        }
    }
}

/// What came of a request to extend the renewal dates of many subscriptions.
public struct NotificationSummary: Hashable, Sendable, JWSRecord {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case appAppleId, bundleId, environment, failedCount, productId, requestIdentifier, storefrontCountryCodes
        case succeededCount
    }

    /// The UUID of the request.
    public var requestIdentifier: String? { members.string(.requestIdentifier) }
    /// The app's Apple id; it may be absent in the sandbox.
    public var appAppleID: String? { members.id(.appAppleId) }
    /// The app's bundle identifier.
    public var bundleID: String? { members.string(.bundleId) }
    /// The subscription product whose renewals were to be extended.
    public var productID: String? { members.string(.productId) }
    /// `nil` when it is missing or unknown, which a verifier refuses.
    public var environment: AppStoreEnvironment? {
        members.string(.environment).flatMap(AppStoreEnvironment.init(signedName:))
    }
    /// Countries and regions, by ISO 3166 with three letters; `nil` for all.
    public var storefrontCountryCodes: [String]? { members.strings(.storefrontCountryCodes) }
    /// How many subscriptions were not extended.
    public var failedCount: Int64? { members.integer(.failedCount) }
    /// How many subscriptions were extended.
    public var succeededCount: Int64? { members.integer(.succeededCount) }

    init(members: JWSMembers<Member>) { self.members = members }
}

extension NotificationSummary.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm {
        switch self {
        case .appAppleId, .failedCount, .succeededCount: .integer
        case .storefrontCountryCodes: .strings
        default: .string
        }
    }
}

/// A token for a purchase outside the App Store.
public struct ExternalPurchaseToken: Hashable, Sendable, JWSRecord {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case appAppleId, bundleId, externalPurchaseId, tokenCreationDate, tokenExpirationDate, tokenType
    }

    /// What a custom link token is for.
    public struct Kind: OpenStringValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// For Apple's initial acquisition fee, in the European Union.
        public static let acquisition = Kind(rawValue: "ACQUISITION")
        /// For Apple's store services fee, in the European Union.
        public static let services = Kind(rawValue: "SERVICES")
    }

    /// The token's id, to be reported to Apple.
    public var externalPurchaseID: String? { members.string(.externalPurchaseId) }
    /// When Apple made the token.
    public var creationDate: Instant? { members.date(.tokenCreationDate) }
    /// Only of custom link tokens.
    public var expirationDate: Instant? { members.date(.tokenExpirationDate) }
    /// Only of custom link tokens.
    public var type: Kind? { members.value(.tokenType) }
    /// The app's Apple id.
    public var appAppleID: String? { members.id(.appAppleId) }
    /// The app's bundle identifier.
    public var bundleID: String? { members.string(.bundleId) }
    /// Tokens name no environment, but those of the sandbox have ids that begin with `SANDBOX`.
    public var environment: AppStoreEnvironment? {
        externalPurchaseID.map { $0.utf8.starts(with: "SANDBOX".utf8) ? .sandbox : .production }
    }

    init(members: JWSMembers<Member>) { self.members = members }
}

extension ExternalPurchaseToken.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm {
        switch self {
        case .appAppleId: .integer
        case .tokenCreationDate, .tokenExpirationDate: .date
        case .bundleId, .externalPurchaseId, .tokenType: .string
        }
    }
}

/// What happened. Apple adds values from time to time: all are kept.
public struct NotificationType: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A customer asks for a refund, and Apple asks how much was consumed.
    public static let consumptionRequest = NotificationType(rawValue: "CONSUMPTION_REQUEST")
    /// The customer chose another product for the next period, or upgraded.
    public static let didChangeRenewalPreference = NotificationType(rawValue: "DID_CHANGE_RENEWAL_PREF")
    /// The customer, or Apple after a refund, switched renewal on or off.
    public static let didChangeRenewalStatus = NotificationType(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    /// The charge failed; Apple goes on trying, with or without a grace period.
    public static let didFailToRenew = NotificationType(rawValue: "DID_FAIL_TO_RENEW")
    /// A period was renewed.
    public static let didRenew = NotificationType(rawValue: "DID_RENEW")
    /// A subscription has expired; the subtype says why.
    public static let expired = NotificationType(rawValue: "EXPIRED")
    /// About a token for purchases outside the App Store.
    public static let externalPurchaseToken = NotificationType(rawValue: "EXTERNAL_PURCHASE_TOKEN")
    /// The grace period has ended without a charge: access ends, and Apple goes on trying.
    public static let gracePeriodExpired = NotificationType(rawValue: "GRACE_PERIOD_EXPIRED")
    /// The developer changed a subscription's names (Advanced Commerce API).
    public static let metadataUpdate = NotificationType(rawValue: "METADATA_UPDATE")
    /// The developer moved a subscription to the Advanced Commerce API.
    public static let migration = NotificationType(rawValue: "MIGRATION")
    /// A customer with a subscription redeemed an offer.
    public static let offerRedeemed = NotificationType(rawValue: "OFFER_REDEEMED")
    /// A purchase of anything but a subscription that renews itself.
    public static let oneTimeCharge = NotificationType(rawValue: "ONE_TIME_CHARGE")
    /// The developer changed a subscription's price (Advanced Commerce API).
    public static let priceChange = NotificationType(rawValue: "PRICE_CHANGE")
    /// The customer was told of a price increase, or has agreed to it.
    public static let priceIncrease = NotificationType(rawValue: "PRICE_INCREASE")
    /// Apple has refunded a transaction: take back what it granted.
    public static let refund = NotificationType(rawValue: "REFUND")
    /// Apple has declined a refund.
    public static let refundDeclined = NotificationType(rawValue: "REFUND_DECLINED")
    /// Apple has taken back a refund: grant again what was taken back.
    public static let refundReversed = NotificationType(rawValue: "REFUND_REVERSED")
    /// A subscription's renewal date was extended at the developer's request.
    public static let renewalExtended = NotificationType(rawValue: "RENEWAL_EXTENDED")
    /// The extension of many subscriptions' renewal dates has ended, or failed for one of them.
    public static let renewalExtension = NotificationType(rawValue: "RENEWAL_EXTENSION")
    /// A guardian has withdrawn consent to a child's use of the app.
    public static let rescindConsent = NotificationType(rawValue: "RESCIND_CONSENT")
    /// A purchase is no longer shared by the family: take back what it granted.
    public static let revoke = NotificationType(rawValue: "REVOKE")
    /// A customer has subscribed, for the first time or again.
    public static let subscribed = NotificationType(rawValue: "SUBSCRIBED")
    /// Sent at the developer's request (Request a Test Notification).
    public static let test = NotificationType(rawValue: "TEST")
}

/// What happened, more exactly.
public struct NotificationSubtype: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Of ``NotificationType/priceIncrease``: the customer has agreed, or need not.
    public static let accepted = NotificationSubtype(rawValue: "ACCEPTED")
    /// Of ``NotificationType/externalPurchaseToken``: a token is still active.
    public static let activeTokenReminder = NotificationSubtype(rawValue: "ACTIVE_TOKEN_REMINDER")
    /// Of ``NotificationType/didChangeRenewalStatus``: it will not renew.
    public static let autoRenewDisabled = NotificationSubtype(rawValue: "AUTO_RENEW_DISABLED")
    /// Of ``NotificationType/didChangeRenewalStatus``: it will renew.
    public static let autoRenewEnabled = NotificationSubtype(rawValue: "AUTO_RENEW_ENABLED")
    /// Of ``NotificationType/didRenew``: a charge that had failed has succeeded.
    public static let billingRecovery = NotificationSubtype(rawValue: "BILLING_RECOVERY")
    /// Of ``NotificationType/expired``: Apple has given up trying to charge.
    public static let billingRetry = NotificationSubtype(rawValue: "BILLING_RETRY")
    /// Of ``NotificationType/externalPurchaseToken``: Apple has made a token.
    public static let created = NotificationSubtype(rawValue: "CREATED")
    /// Of ``NotificationType/didChangeRenewalPreference`` and ``NotificationType/offerRedeemed``: takes effect at the next renewal.
    public static let downgrade = NotificationSubtype(rawValue: "DOWNGRADE")
    /// Of ``NotificationType/renewalExtension``: one subscription's date could not be extended.
    public static let failure = NotificationSubtype(rawValue: "FAILURE")
    /// Of ``NotificationType/didFailToRenew``: access goes on while Apple tries.
    public static let gracePeriod = NotificationSubtype(rawValue: "GRACE_PERIOD")
    /// Of ``NotificationType/subscribed``: for the first time.
    public static let initialBuy = NotificationSubtype(rawValue: "INITIAL_BUY")
    /// Of ``NotificationType/priceIncrease``: the customer has not answered.
    public static let pending = NotificationSubtype(rawValue: "PENDING")
    /// Of ``NotificationType/expired``: the customer did not agree to a price increase.
    public static let priceIncrease = NotificationSubtype(rawValue: "PRICE_INCREASE")
    /// Of ``NotificationType/expired``: the product was not for sale at renewal.
    public static let productNotForSale = NotificationSubtype(rawValue: "PRODUCT_NOT_FOR_SALE")
    /// Of ``NotificationType/subscribed``: again, to any product of the group.
    public static let resubscribe = NotificationSubtype(rawValue: "RESUBSCRIBE")
    /// Of ``NotificationType/renewalExtension``: for all subscriptions of the request. ``AppStoreNotification/summary`` has the counts.
    public static let summary = NotificationSubtype(rawValue: "SUMMARY")
    /// Of ``NotificationType/externalPurchaseToken``: a token was not reported yet.
    public static let unreported = NotificationSubtype(rawValue: "UNREPORTED")
    /// Of ``NotificationType/didChangeRenewalPreference`` and ``NotificationType/offerRedeemed``: takes effect at once.
    public static let upgrade = NotificationSubtype(rawValue: "UPGRADE")
    /// Of ``NotificationType/expired``: the customer had switched renewal off.
    public static let voluntary = NotificationSubtype(rawValue: "VOLUNTARY")
}

/// The state of a subscription.
public struct SubscriptionStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The current period runs.
    public static let active = SubscriptionStatus(rawValue: 1)
    /// It has expired.
    public static let expired = SubscriptionStatus(rawValue: 2)
    /// It has expired, and Apple is still trying to charge: no access.
    public static let inBillingRetry = SubscriptionStatus(rawValue: 3)
    /// Apple is trying to charge, and access goes on.
    public static let inGracePeriod = SubscriptionStatus(rawValue: 4)
    /// Refunded, or no longer shared by the family.
    public static let revoked = SubscriptionStatus(rawValue: 5)
}

/// Why a customer asks for a refund.
public struct ConsumptionRequestReason: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The customer did not mean to buy.
    public static let unintendedPurchase = ConsumptionRequestReason(rawValue: "UNINTENDED_PURCHASE")
    /// The customer did not get what was bought, or could not use it.
    public static let fulfillmentIssue = ConsumptionRequestReason(rawValue: "FULFILLMENT_ISSUE")
    /// The customer is not satisfied.
    public static let unsatisfiedWithPurchase = ConsumptionRequestReason(rawValue: "UNSATISFIED_WITH_PURCHASE")
    /// For a legal reason.
    public static let legal = ConsumptionRequestReason(rawValue: "LEGAL")
    /// For any other reason.
    public static let other = ConsumptionRequestReason(rawValue: "OTHER")
}
