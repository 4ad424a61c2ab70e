/// An App Store Server Notification of version 2 (`responseBodyV2DecodedPayload`).
///
/// It is about one thing: ``data``, ``appData``, ``summary`` or ``externalPurchaseToken``. ``SignedDataVerifier`` gives it as a
/// ``VerifiedNotification``, with its signed parts.
public struct AppStoreNotification: SignedPayload {
    /// The object as it was received, with what this library has no field for.
    public var json: SignedJSON { members.json }
    package let members: SignedMembers<Member>

    /// The names of the fields in JSON.
    package enum Member: String, CaseIterable, Sendable {
        case appData, data, externalPurchaseToken, notificationType, notificationUUID, signedDate, subtype, summary
        case version
    }

    public var type: NotificationType? { members.value(.notificationType) }
    public var subtype: NotificationSubtype? { members.value(.subtype) }
    /// The id by which a notification that is sent again is known.
    public var notificationUUID: String? { members.string(.notificationUUID) }
    /// `2.0`.
    public var version: String? { members.string(.version) }
    public var signedDate: Timestamp? { members.date(.signedDate) }
    public var environment: ReceiptEnvironment? {
        data?.environment ?? appData?.environment ?? summary?.environment ?? externalPurchaseToken?.environment
    }

    /// About purchases.
    public var data: NotificationData? { members.object(.data) }
    /// About a customer's copy of the app.
    public var appData: NotificationAppData? { members.object(.appData) }
    /// About the extension of many subscriptions.
    public var summary: NotificationSummary? { members.object(.summary) }
    public var externalPurchaseToken: ExternalPurchaseToken? { members.object(.externalPurchaseToken) }

    init(members: SignedMembers<Member>) { self.members = members }
    static let required: [Member] = [.notificationType, .notificationUUID]
    static let dateMember = Member.signedDate
}

extension AppStoreNotification.Member: SignedMember {
    static let names = JSONMembers<Self>()
    var form: SignedForm {
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
public struct NotificationData: Hashable, Sendable, SignedRecord {
    /// The object as it was received, with what this library has no field for.
    public var json: SignedJSON { members.json }
    package let members: SignedMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case appAppleId, bundleId, bundleVersion, consumptionRequestReason, environment, signedRenewalInfo
        case signedTransactionInfo, status
    }

    /// The app's Apple id; it may be absent in the sandbox.
    public var appAppleID: Int64? { members.integer(.appAppleId) }
    public var bundleID: String? { members.string(.bundleId) }
    /// `CFBundleVersion`.
    public var bundleVersion: String? { members.string(.bundleVersion) }
    public var environment: ReceiptEnvironment? {
        members.string(.environment).flatMap(ReceiptEnvironment.init(signedName:))
    }
    /// The state of the subscription when the notification was signed.
    public var status: SubscriptionStatus? { members.value(.status) }
    public var consumptionRequestReason: ConsumptionRequestReason? { members.value(.consumptionRequestReason) }

    init(members: SignedMembers<Member>) { self.members = members }
}

extension NotificationData.Member: SignedMember {
    static let names = JSONMembers<Self>()
    var form: SignedForm {
        switch self {
        case .appAppleId, .status: .integer
        case .signedRenewalInfo, .signedTransactionInfo: .jws
        case .bundleId, .bundleVersion, .consumptionRequestReason, .environment: .string
        }
    }
}

/// What a notification says of a customer's copy of the app.
public struct NotificationAppData: Hashable, Sendable, SignedRecord {
    /// The object as it was received, with what this library has no field for.
    public var json: SignedJSON { members.json }
    package let members: SignedMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case appAppleId, bundleId, environment, signedAppTransactionInfo
    }

    public var appAppleID: Int64? { members.integer(.appAppleId) }
    public var bundleID: String? { members.string(.bundleId) }
    public var environment: ReceiptEnvironment? {
        members.string(.environment).flatMap(ReceiptEnvironment.init(signedName:))
    }

    init(members: SignedMembers<Member>) { self.members = members }
}

extension NotificationAppData.Member: SignedMember {
    static let names = JSONMembers<Self>()
    var form: SignedForm {
        switch self {
        case .appAppleId: .integer
        case .signedAppTransactionInfo: .jws
        case .bundleId, .environment: .string
        }
    }
}

/// What came of a request to extend the renewal dates of many subscriptions.
public struct NotificationSummary: Hashable, Sendable, SignedRecord {
    /// The object as it was received, with what this library has no field for.
    public var json: SignedJSON { members.json }
    package let members: SignedMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case appAppleId, bundleId, environment, failedCount, productId, requestIdentifier, storefrontCountryCodes
        case succeededCount
    }

    /// The UUID of the request.
    public var requestIdentifier: String? { members.string(.requestIdentifier) }
    public var appAppleID: Int64? { members.integer(.appAppleId) }
    public var bundleID: String? { members.string(.bundleId) }
    public var productID: String? { members.string(.productId) }
    public var environment: ReceiptEnvironment? {
        members.string(.environment).flatMap(ReceiptEnvironment.init(signedName:))
    }
    /// Countries and regions, by ISO 3166 with three letters; `nil` for all.
    public var storefrontCountryCodes: [String]? { members.strings(.storefrontCountryCodes) }
    public var failedCount: Int64? { members.integer(.failedCount) }
    public var succeededCount: Int64? { members.integer(.succeededCount) }

    init(members: SignedMembers<Member>) { self.members = members }
}

extension NotificationSummary.Member: SignedMember {
    static let names = JSONMembers<Self>()
    var form: SignedForm {
        switch self {
        case .appAppleId, .failedCount, .succeededCount: .integer
        case .storefrontCountryCodes: .strings
        default: .string
        }
    }
}

/// A token for a purchase outside the App Store.
public struct ExternalPurchaseToken: Hashable, Sendable, SignedRecord {
    /// The object as it was received, with what this library has no field for.
    public var json: SignedJSON { members.json }
    package let members: SignedMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case appAppleId, bundleId, externalPurchaseId, tokenCreationDate, tokenExpirationDate, tokenType
    }

    /// What a custom link token is for.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let acquisition = Kind(rawValue: "ACQUISITION")
        public static let services = Kind(rawValue: "SERVICES")
    }

    public var externalPurchaseID: String? { members.string(.externalPurchaseId) }
    public var creationDate: Timestamp? { members.date(.tokenCreationDate) }
    /// Only of custom link tokens.
    public var expirationDate: Timestamp? { members.date(.tokenExpirationDate) }
    /// Only of custom link tokens.
    public var type: Kind? { members.value(.tokenType) }
    public var appAppleID: Int64? { members.integer(.appAppleId) }
    public var bundleID: String? { members.string(.bundleId) }
    /// Tokens name no environment, but those of the sandbox have ids that begin with `SANDBOX`.
    public var environment: ReceiptEnvironment? {
        externalPurchaseID.map { $0.utf8.starts(with: "SANDBOX".utf8) ? .sandbox : .production }
    }

    init(members: SignedMembers<Member>) { self.members = members }
}

extension ExternalPurchaseToken.Member: SignedMember {
    static let names = JSONMembers<Self>()
    var form: SignedForm {
        switch self {
        case .appAppleId: .integer
        case .tokenCreationDate, .tokenExpirationDate: .date
        case .bundleId, .externalPurchaseId, .tokenType: .string
        }
    }
}

/// What happened. Apple adds values from time to time: all are kept.
public struct NotificationType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let consumptionRequest = NotificationType(rawValue: "CONSUMPTION_REQUEST")
    public static let didChangeRenewalPreference = NotificationType(rawValue: "DID_CHANGE_RENEWAL_PREF")
    public static let didChangeRenewalStatus = NotificationType(rawValue: "DID_CHANGE_RENEWAL_STATUS")
    public static let didFailToRenew = NotificationType(rawValue: "DID_FAIL_TO_RENEW")
    public static let didRenew = NotificationType(rawValue: "DID_RENEW")
    public static let expired = NotificationType(rawValue: "EXPIRED")
    public static let externalPurchaseToken = NotificationType(rawValue: "EXTERNAL_PURCHASE_TOKEN")
    public static let gracePeriodExpired = NotificationType(rawValue: "GRACE_PERIOD_EXPIRED")
    public static let metadataUpdate = NotificationType(rawValue: "METADATA_UPDATE")
    public static let migration = NotificationType(rawValue: "MIGRATION")
    public static let offerRedeemed = NotificationType(rawValue: "OFFER_REDEEMED")
    public static let oneTimeCharge = NotificationType(rawValue: "ONE_TIME_CHARGE")
    public static let priceChange = NotificationType(rawValue: "PRICE_CHANGE")
    public static let priceIncrease = NotificationType(rawValue: "PRICE_INCREASE")
    public static let refund = NotificationType(rawValue: "REFUND")
    public static let refundDeclined = NotificationType(rawValue: "REFUND_DECLINED")
    public static let refundReversed = NotificationType(rawValue: "REFUND_REVERSED")
    public static let renewalExtended = NotificationType(rawValue: "RENEWAL_EXTENDED")
    public static let renewalExtension = NotificationType(rawValue: "RENEWAL_EXTENSION")
    public static let rescindConsent = NotificationType(rawValue: "RESCIND_CONSENT")
    public static let revoke = NotificationType(rawValue: "REVOKE")
    public static let subscribed = NotificationType(rawValue: "SUBSCRIBED")
    public static let test = NotificationType(rawValue: "TEST")
}

/// What happened, more exactly.
public struct NotificationSubtype: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let accepted = NotificationSubtype(rawValue: "ACCEPTED")
    public static let activeTokenReminder = NotificationSubtype(rawValue: "ACTIVE_TOKEN_REMINDER")
    public static let autoRenewDisabled = NotificationSubtype(rawValue: "AUTO_RENEW_DISABLED")
    public static let autoRenewEnabled = NotificationSubtype(rawValue: "AUTO_RENEW_ENABLED")
    public static let billingRecovery = NotificationSubtype(rawValue: "BILLING_RECOVERY")
    public static let billingRetry = NotificationSubtype(rawValue: "BILLING_RETRY")
    public static let created = NotificationSubtype(rawValue: "CREATED")
    public static let downgrade = NotificationSubtype(rawValue: "DOWNGRADE")
    public static let failure = NotificationSubtype(rawValue: "FAILURE")
    public static let gracePeriod = NotificationSubtype(rawValue: "GRACE_PERIOD")
    public static let initialBuy = NotificationSubtype(rawValue: "INITIAL_BUY")
    public static let pending = NotificationSubtype(rawValue: "PENDING")
    public static let priceIncrease = NotificationSubtype(rawValue: "PRICE_INCREASE")
    public static let productNotForSale = NotificationSubtype(rawValue: "PRODUCT_NOT_FOR_SALE")
    public static let resubscribe = NotificationSubtype(rawValue: "RESUBSCRIBE")
    public static let summary = NotificationSubtype(rawValue: "SUMMARY")
    public static let unreported = NotificationSubtype(rawValue: "UNREPORTED")
    public static let upgrade = NotificationSubtype(rawValue: "UPGRADE")
    public static let voluntary = NotificationSubtype(rawValue: "VOLUNTARY")
}

/// The state of a subscription.
public struct SubscriptionStatus: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    public static let active = SubscriptionStatus(rawValue: 1)
    public static let expired = SubscriptionStatus(rawValue: 2)
    public static let inBillingRetry = SubscriptionStatus(rawValue: 3)
    public static let inGracePeriod = SubscriptionStatus(rawValue: 4)
    public static let revoked = SubscriptionStatus(rawValue: 5)
}

/// Why a customer asks for a refund.
public struct ConsumptionRequestReason: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let unintendedPurchase = ConsumptionRequestReason(rawValue: "UNINTENDED_PURCHASE")
    public static let fulfillmentIssue = ConsumptionRequestReason(rawValue: "FULFILLMENT_ISSUE")
    public static let unsatisfiedWithPurchase = ConsumptionRequestReason(rawValue: "UNSATISFIED_WITH_PURCHASE")
    public static let legal = ConsumptionRequestReason(rawValue: "LEGAL")
    public static let other = ConsumptionRequestReason(rawValue: "OTHER")
}
