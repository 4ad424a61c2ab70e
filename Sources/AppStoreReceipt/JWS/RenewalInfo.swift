import StrictText

/// The payload of renewal information about a subscription (`JWSRenewalInfoDecodedPayload`).
///
/// It has no bundle id. Renewal information that arrives alone belongs to the app whose transactions have its
/// ``originalTransactionID``. You must check that yourself. In a notification, it is verified together with its
/// transaction.
///
/// A verifier refuses a payload in which an identifier, the environment, a product, a date, the token, or what becomes
/// part of a ``SubscriptionRenewal`` has another type than Apple documents. The other members decide nothing:
/// ``renewalPrice``, ``renewalQuantity``, ``multiSeatInfo``, ``currency``, the offer, ``eligibleWinBackOfferIDs``,
/// ``renewalBillingPlanType``, ``commitment`` and ``advancedCommerceInfo``. If the value of one of these has another
/// type, its property is `nil`, and it is among the ``JSONObject/unknownMembers`` of ``object``.
public struct RenewalInfo: JWSPayload {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JSONObject { members.object }
    package let members: JWSMembers<Member>

    /// The names of the members in the JSON.
    package enum Member: String, CaseIterable, Sendable {
        case advancedCommerceInfo, appAccountToken, appTransactionId, autoRenewProductId, autoRenewStatus
        case commitmentInfo, currency, deviceVerification, deviceVerificationNonce, eligibleWinBackOfferIds
        case environment, expirationIntent, gracePeriodExpiresDate, isInBillingRetryPeriod, multiSeatInfo
        case offerDiscountType
        case offerIdentifier, offerPeriod, offerType, originalTransactionId, priceIncreaseStatus, productId
        case recentSubscriptionStartDate, renewalBillingPlanType, renewalDate, renewalPrice, renewalQuantity, signedDate
    }

    /// The identifier of the subscription's first transaction.
    public var originalTransactionID: String? { members.string(.originalTransactionId) }
    /// The product of the current period.
    public var productID: String? { members.string(.productId) }
    /// The product of the next period.
    public var autoRenewProductID: String? { members.string(.autoRenewProductId) }
    /// A value that says whether the subscription will renew.
    public var autoRenewStatus: AutoRenewStatus? { members.value(.autoRenewStatus) }
    /// The reason the subscription expired; `nil` if it has not expired.
    public var expirationIntent: ExpirationIntent? { members.value(.expirationIntent) }
    /// A Boolean value that indicates whether Apple is still trying to charge for the next period.
    public var isInBillingRetryPeriod: Bool? { members.boolean(.isInBillingRetryPeriod) }
    /// The date until which the customer keeps access although the charge failed.
    public var gracePeriodExpiresDate: Instant? { members.date(.gracePeriodExpiresDate) }
    /// The date Apple will charge for the next period.
    public var renewalDate: Instant? { members.date(.renewalDate) }
    /// The start of the current sequence of periods. Gaps of up to 60 days do not interrupt it.
    public var recentSubscriptionStartDate: Instant? { members.date(.recentSubscriptionStartDate) }
    /// The date Apple signed the payload, at which its certificate chain is validated by default.
    public var signedDate: Instant? { members.date(.signedDate) }
    /// The environment; `nil` if it is missing or unknown.
    public var environment: AppStoreEnvironment? { members.environment(.environment) }

    /// The price of the next period, in thousandths of the unit of ``currency``.
    public var renewalPrice: Int64? { members.integer(.renewalPrice) }
    /// The number of seats of the next period
    /// ([`renewalQuantity`](https://developer.apple.com/documentation/appstoreservernotifications/renewalquantity)).
    public var renewalQuantity: Int? { members.integer(.renewalQuantity).map { Int($0) } }
    /// The prices of the seats of the next period; `nil` if the payload has no information about seats.
    public var multiSeatInfo: RenewalMultiSeatInfo? { members.object(.multiSeatInfo) }
    /// The currency, as an ISO 4217 code.
    public var currency: String? { members.string(.currency) }
    /// The customer's answer to a price increase; `nil` if there is none.
    public var priceIncreaseStatus: PriceIncreaseStatus? { members.value(.priceIncreaseStatus) }
    /// The way the next period is billed.
    public var renewalBillingPlanType: BillingPlanType? { members.value(.renewalBillingPlanType) }
    /// The commitment from the next renewal on (`commitmentInfo`).
    public var commitment: JSONObject? { members.json(.commitmentInfo) }

    /// The type of the offer for the next period.
    public var offerType: OfferType? { members.value(.offerType) }
    /// The code of the offer, or the identifier of a promotional offer.
    public var offerID: String? { members.identifier(.offerIdentifier) }
    /// The way the offer is paid.
    public var offerDiscountType: OfferDiscountType? { members.value(.offerDiscountType) }
    /// The duration of the offer in ISO 8601, such as `P1M`.
    public var offerPeriod: String? { members.string(.offerPeriod) }
    /// The identifiers of the win-back offers for which the customer is eligible, with the best offer first.
    public var eligibleWinBackOfferIDs: [String]? { members.strings(.eligibleWinBackOfferIds) }

    /// The identifier of the customer's download of the app.
    public var appTransactionID: String? { members.identifier(.appTransactionId) }
    /// The UUID that the app set for the purchase; `nil` if it set none. Apple writes it in lowercase.
    public var appAccountToken: AppAccountToken? {
        members.identifier(.appAccountToken).map(AppAccountToken.init(signed:))
    }
    /// The SHA-384 digest, in base64, that binds the payload to the device.
    public var deviceVerification: String? { members.string(.deviceVerification) }
    /// The UUID that is part of ``deviceVerification``.
    public var deviceVerificationNonce: String? { members.identifier(.deviceVerificationNonce) }
    /// The part of the Advanced Commerce API; `nil` for other purchases. Decode its ``JSONObject/text`` with a type of
    /// your own.
    public var advancedCommerceInfo: JSONObject? { members.json(.advancedCommerceInfo) }

    static let kind = JWSKind.renewalInfo
    static let required: [Member] = [.originalTransactionId, .autoRenewStatus]
    static let dateMember = Member.signedDate
}

extension RenewalInfo.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var valueType: JWSValueType {
        switch self {
        case .gracePeriodExpiresDate, .recentSubscriptionStartDate, .renewalDate, .signedDate: .date
        case .autoRenewStatus, .expirationIntent, .offerType, .priceIncreaseStatus, .renewalPrice,
            .renewalQuantity:
            .integer
        case .isInBillingRetryPeriod: .boolean
        case .eligibleWinBackOfferIds: .strings
        case .advancedCommerceInfo: .object(InformativeRecord<CommerceRenewalMember>.self)
        case .commitmentInfo: .object(InformativeRecord<RenewalCommitmentMember>.self)
        case .multiSeatInfo: .object(RenewalMultiSeatInfo.self)
        default: .string
        }
    }
    var isInformative: Bool {
        switch self {
        case .advancedCommerceInfo, .commitmentInfo, .currency, .eligibleWinBackOfferIds, .multiSeatInfo,
            .offerDiscountType, .offerIdentifier, .offerPeriod, .offerType, .renewalBillingPlanType, .renewalPrice,
            .renewalQuantity:
            true
        default: false
        }
    }
}
