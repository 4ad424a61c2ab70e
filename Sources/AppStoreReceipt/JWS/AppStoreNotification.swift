import StrictText

/// An App Store Server Notification of version 2 (`responseBodyV2DecodedPayload`).
///
/// It has one of ``data``, ``appData``, ``summary``, ``externalPurchaseToken`` and ``unclaimInfo``.
/// ``AppStoreVerifier/verifyNotification(_:)`` returns it in a ``VerifiedNotification``, with its verified parts.
///
/// A verifier refuses a payload in which a member has another type than Apple documents, except for what decides
/// nothing: ``version``, in ``data`` ``NotificationData/bundleVersion`` and
/// ``NotificationData/consumptionRequestReason``, ``unclaimInfo`` and what it has, and in ``summary`` the counts and
/// ``NotificationSummary/storefrontCountryCodes``. If the value of one of these has another type, its property is
/// `nil`, and it is among the ``JSONObject/unknownMembers`` of its object.
public struct AppStoreNotification: JWSPayload {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JSONObject { members.object }
    package let members: JWSMembers<Member>

    /// The names of the members in the JSON.
    package enum Member: String, CaseIterable, Sendable {
        case appData, data, externalPurchaseToken, notificationType, notificationUUID, signedDate, subtype, summary
        case unclaimInfo, version
    }

    /// The type of the notification (`notificationType`).
    public var type: NotificationType? { members.value(.notificationType) }
    /// The subtype of the notification. Most types have none.
    public var subtype: NotificationSubtype? { members.value(.subtype) }
    /// The identifier of the notification. It is the same when Apple sends the notification again.
    public var notificationUUID: String? { members.string(.notificationUUID) }
    /// The version of the notification, which is `2.0`.
    public var version: String? { members.string(.version) }
    /// The date Apple signed the payload, at which its certificate chain is validated by default.
    public var signedDate: Instant? { members.date(.signedDate) }
    /// The environment of the subject of the notification.
    public var environment: AppStoreEnvironment? {
        data?.environment ?? appData?.environment ?? summary?.environment ?? externalPurchaseToken?.environment
    }

    /// The data about purchases.
    public var data: NotificationData? { members.object(.data) }
    /// The data about an app transaction.
    public var appData: NotificationAppData? { members.object(.appData) }
    /// The result of a request to extend many subscriptions.
    public var summary: NotificationSummary? { members.object(.summary) }
    /// The token for a purchase outside the App Store.
    public var externalPurchaseToken: ExternalPurchaseToken? { members.object(.externalPurchaseToken) }
    /// The seats that Apple unclaimed, in an ``NotificationType/unclaimSeats``.
    public var unclaimInfo: NotificationUnclaimInfo? { members.object(.unclaimInfo) }

    static let kind = JWSKind.notification
    static let required: [Member] = [.notificationType, .notificationUUID]
    static let dateMember = Member.signedDate
}

extension AppStoreNotification.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var valueType: JWSValueType {
        switch self {
        case .notificationType, .notificationUUID, .subtype, .version: .string
        case .signedDate: .date
        case .data: .object(NotificationData.self)
        case .appData: .object(NotificationAppData.self)
        case .summary: .object(NotificationSummary.self)
        case .externalPurchaseToken: .object(ExternalPurchaseToken.self)
        case .unclaimInfo: .object(NotificationUnclaimInfo.self)
        }
    }
    var isInformative: Bool { self == .unclaimInfo || self == .version }
}

/// The data of a notification about purchases.
///
/// Its signed parts are in ``VerifiedNotification``.
public struct NotificationData: Hashable, Sendable, JWSRecord {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JSONObject { members.object }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case appAppleId, bundleId, bundleVersion, consumptionRequestReason, environment, signedRenewalInfo
        case signedTransactionInfo, status
    }

    /// The app's Apple id. It may be missing in the sandbox.
    public var appAppleID: String? { members.id(.appAppleId) }
    /// The app's bundle id.
    public var bundleID: String? { members.identifier(.bundleId) }
    /// The app's version (`CFBundleVersion`).
    public var bundleVersion: String? { members.string(.bundleVersion) }
    /// The environment; `nil` if it is missing or unknown.
    public var environment: AppStoreEnvironment? { members.environment(.environment) }
    /// The status of the subscription when Apple signed the notification.
    public var status: SubscriptionStatus? { members.value(.status) }
    /// The reason the customer requested a refund, in a ``NotificationType/consumptionRequest``.
    public var consumptionRequestReason: ConsumptionRequestReason? { members.value(.consumptionRequestReason) }
}

extension NotificationData.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var valueType: JWSValueType {
        switch self {
        case .appAppleId, .status: .integer
        case .signedRenewalInfo, .signedTransactionInfo: .jws
        case .bundleId, .bundleVersion, .consumptionRequestReason, .environment: .string
        }
    }
    var isInformative: Bool { self == .bundleVersion || self == .consumptionRequestReason }
}

/// The data of a notification about an app transaction.
public struct NotificationAppData: Hashable, Sendable, JWSRecord {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JSONObject { members.object }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case appAppleId, bundleId, environment, signedAppTransactionInfo
    }

    /// The app's Apple id. It may be missing in the sandbox.
    public var appAppleID: String? { members.id(.appAppleId) }
    /// The app's bundle id.
    public var bundleID: String? { members.identifier(.bundleId) }
    /// The environment; `nil` if it is missing or unknown.
    public var environment: AppStoreEnvironment? { members.environment(.environment) }
}

extension NotificationAppData.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var valueType: JWSValueType {
        switch self {
        case .appAppleId: .integer
        case .signedAppTransactionInfo: .jws
        case .bundleId, .environment: .string
        }
    }
}

/// The result of a request to extend the renewal dates of many subscriptions.
public struct NotificationSummary: Hashable, Sendable, JWSRecord {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JSONObject { members.object }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case appAppleId, bundleId, environment, failedCount, productId, requestIdentifier, storefrontCountryCodes
        case succeededCount
    }

    /// The UUID of the request.
    public var requestIdentifier: String? { members.string(.requestIdentifier) }
    /// The app's Apple id. It may be missing in the sandbox.
    public var appAppleID: String? { members.id(.appAppleId) }
    /// The app's bundle id.
    public var bundleID: String? { members.identifier(.bundleId) }
    /// The subscription product of the request.
    public var productID: String? { members.string(.productId) }
    /// The environment; `nil` if it is missing or unknown.
    public var environment: AppStoreEnvironment? { members.environment(.environment) }
    /// The countries and regions, as ISO 3166 codes of three letters; `nil` for all.
    public var storefrontCountryCodes: [String]? { members.strings(.storefrontCountryCodes) }
    /// The number of subscriptions that were not extended.
    public var failedCount: Int? { members.integer(.failedCount).map { Int($0) } }
    /// The number of subscriptions that were extended.
    public var succeededCount: Int? { members.integer(.succeededCount).map { Int($0) } }
}

extension NotificationSummary.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var valueType: JWSValueType {
        switch self {
        case .appAppleId, .failedCount, .succeededCount: .integer
        case .storefrontCountryCodes: .strings
        default: .string
        }
    }
    var isInformative: Bool { self == .failedCount || self == .succeededCount || self == .storefrontCountryCodes }
}

/// A token for a purchase outside the App Store.
public struct ExternalPurchaseToken: Hashable, Sendable, JWSRecord {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JSONObject { members.object }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case appAppleId, bundleId, externalPurchaseId, tokenCreationDate, tokenExpirationDate, tokenType
    }

    /// The purposes of a custom link token.
    public struct Kind: OpenStringValue {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A token for Apple's initial acquisition fee in the European Union.
        public static let acquisition = Kind(rawValue: "ACQUISITION")
        /// A token for Apple's store services fee in the European Union.
        public static let services = Kind(rawValue: "SERVICES")
    }

    /// The token's identifier, which you report to Apple.
    public var externalPurchaseID: String? { members.string(.externalPurchaseId) }
    /// The date Apple made the token.
    public var creationDate: Instant? { members.date(.tokenCreationDate) }
    /// The date the token expires; `nil` for tokens other than custom link tokens.
    public var expirationDate: Instant? { members.date(.tokenExpirationDate) }
    /// The purpose of a custom link token; `nil` for other tokens.
    public var kind: Kind? { members.value(.tokenType) }
    /// The app's Apple id.
    public var appAppleID: String? { members.id(.appAppleId) }
    /// The app's bundle id.
    public var bundleID: String? { members.identifier(.bundleId) }
    /// The environment of the token. The identifier of a token from the sandbox begins with `SANDBOX`.
    public var environment: AppStoreEnvironment? {
        externalPurchaseID.map { $0.utf8.starts(with: "SANDBOX".utf8) ? .sandbox : .production }
    }
}

extension ExternalPurchaseToken.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var valueType: JWSValueType {
        switch self {
        case .appAppleId: .integer
        case .tokenCreationDate, .tokenExpirationDate: .date
        case .bundleId, .externalPurchaseId, .tokenType: .string
        }
    }
}

/// The seats that Apple unclaimed, of a subscription whose members the developer's server invites
/// ([`unclaimInfo`](https://developer.apple.com/documentation/appstoreservernotifications/unclaiminfo)).
///
/// Nothing is decided from it. Its other members are among the ``JSONObject/unknownMembers`` of ``object``.
public struct NotificationUnclaimInfo: Hashable, Sendable, JWSRecord {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JSONObject { members.object }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case unclaimSeatIds
    }

    /// The UUIDs of the seat claims that ended. Only the server that made the claims knows whose they are.
    public var unclaimSeatIDs: [String]? { members.strings(.unclaimSeatIds) }
}

extension NotificationUnclaimInfo.Member: JWSInformativeMember {
    static let names = JSONMembers<Self>()
    var valueType: JWSValueType { .strings }
}

/// The statuses of a subscription.
public struct SubscriptionStatus: RawRepresentable, Codable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// The current period is running.
    public static let active = SubscriptionStatus(rawValue: 1)
    /// The subscription has expired.
    public static let expired = SubscriptionStatus(rawValue: 2)
    /// The subscription has expired, and Apple is still trying to charge. The customer has no access.
    public static let inBillingRetry = SubscriptionStatus(rawValue: 3)
    /// Apple is trying to charge. The customer keeps access.
    public static let inGracePeriod = SubscriptionStatus(rawValue: 4)
    /// The subscription was refunded, or is no longer family-shared.
    public static let revoked = SubscriptionStatus(rawValue: 5)
}

/// The reasons for which a customer requests a refund.
public struct ConsumptionRequestReason: OpenStringValue {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The customer did not intend the purchase.
    public static let unintendedPurchase = ConsumptionRequestReason(rawValue: "UNINTENDED_PURCHASE")
    /// The customer did not receive the product, or could not use it.
    public static let fulfillmentIssue = ConsumptionRequestReason(rawValue: "FULFILLMENT_ISSUE")
    /// The customer is not satisfied.
    public static let unsatisfiedWithPurchase = ConsumptionRequestReason(rawValue: "UNSATISFIED_WITH_PURCHASE")
    /// The customer has a legal reason.
    public static let legal = ConsumptionRequestReason(rawValue: "LEGAL")
    /// The customer has another reason.
    public static let other = ConsumptionRequestReason(rawValue: "OTHER")
}
