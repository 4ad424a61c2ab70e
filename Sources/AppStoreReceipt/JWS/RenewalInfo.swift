import StrictText

/// What Apple says of a subscription's next renewal (`JWSRenewalInfoDecodedPayload`).
///
/// It has no bundle id: one that arrives alone belongs to the app whose transactions have its ``originalTransactionID``, and that is for
/// the caller to check. In a notification it is verified with its transaction.
public struct RenewalInfo: JWSPayload {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>

    /// The names of the fields in JSON.
    package enum Member: String, CaseIterable, Sendable {
        case advancedCommerceInfo, appAccountToken, appTransactionId, autoRenewProductId, autoRenewStatus
        case commitmentInfo, currency, deviceVerification, deviceVerificationNonce, eligibleWinBackOfferIds
        case environment, expirationIntent, gracePeriodExpiresDate, isInBillingRetryPeriod, offerDiscountType
        case offerIdentifier, offerPeriod, offerType, originalTransactionId, priceIncreaseStatus, productId
        case recentSubscriptionStartDate, renewalBillingPlanType, renewalDate, renewalPrice, signedDate
    }

    /// The identifier of the subscription's first transaction.
    public var originalTransactionID: String? { members.string(.originalTransactionId) }
    /// The product of the current period.
    public var productID: String? { members.string(.productId) }
    /// The product of the next period.
    public var autoRenewProductID: String? { members.string(.autoRenewProductId) }
    /// Whether it will renew.
    public var autoRenewStatus: AutoRenewStatus? { members.value(.autoRenewStatus) }
    /// Why it expired, if it did.
    public var expirationIntent: ExpirationIntent? { members.value(.expirationIntent) }
    /// Whether Apple is still trying to charge for the next period.
    public var isInBillingRetryPeriod: Bool? { members.boolean(.isInBillingRetryPeriod) }
    /// Until when the customer keeps access though the charge failed.
    public var gracePeriodExpiresDate: Instant? { members.date(.gracePeriodExpiresDate) }
    /// When Apple will charge for the next period.
    public var renewalDate: Instant? { members.date(.renewalDate) }
    /// The start of the current run of periods; gaps of up to 60 days do not end one.
    public var recentSubscriptionStartDate: Instant? { members.date(.recentSubscriptionStartDate) }
    /// When Apple signed this: the date at which its chain is judged.
    public var signedDate: Instant? { members.date(.signedDate) }
    /// `nil` when it is missing or unknown, which a verifier refuses.
    public var environment: AppStoreEnvironment? {
        members.string(.environment).flatMap(AppStoreEnvironment.init(signedName:))
    }

    /// In thousandths of ``currency``'s unit.
    public var renewalPrice: Int64? { members.integer(.renewalPrice) }
    /// By ISO 4217.
    public var currency: String? { members.string(.currency) }
    /// Where a price increase stands; `nil` when there is none.
    public var priceIncreaseStatus: PriceIncreaseStatus? { members.value(.priceIncreaseStatus) }
    /// How the next period is billed.
    public var renewalBillingPlanType: BillingPlanType? { members.value(.renewalBillingPlanType) }
    /// What the customer commits to at the next renewal.
    public var commitment: RenewalCommitmentInfo? { members.object(.commitmentInfo) }

    /// The offer that applies to the next period.
    public var offerType: OfferType? { members.value(.offerType) }
    /// The offer's code, or the identifier of a promotional offer.
    public var offerID: String? { members.string(.offerIdentifier) }
    /// How the offer is paid for.
    public var offerDiscountType: OfferDiscountType? { members.value(.offerDiscountType) }
    /// How long the offer lasts, by ISO 8601: `P1M`.
    public var offerPeriod: String? { members.string(.offerPeriod) }
    /// The win-back offers that the customer may have, the best first.
    public var eligibleWinBackOfferIDs: [String]? { members.strings(.eligibleWinBackOfferIds) }

    /// The id of the customer's download of the app.
    public var appTransactionID: String? { members.string(.appTransactionId) }
    /// The UUID that the app gave when it bought, as Apple writes it: with small letters.
    public var appAccountToken: String? { members.string(.appAccountToken) }
    /// The SHA-384 digest, in base64, that ties this to a device.
    public var deviceVerification: String? { members.string(.deviceVerification) }
    /// The UUID that enters ``deviceVerification``.
    public var deviceVerificationNonce: String? { members.string(.deviceVerificationNonce) }
    /// Present for purchases by the Advanced Commerce API.
    public var advancedCommerceInfo: AdvancedCommerceRenewalInfo? { members.object(.advancedCommerceInfo) }

    init(members: JWSMembers<Member>) { self.members = members }
    static let required: [Member] = [.originalTransactionId, .autoRenewStatus]
    static let dateMember = Member.signedDate
}

extension RenewalInfo.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm {
        switch self {
        case .gracePeriodExpiresDate, .recentSubscriptionStartDate, .renewalDate, .signedDate: .date
        case .autoRenewStatus, .expirationIntent, .offerType, .priceIncreaseStatus, .renewalPrice: .integer
        case .isInBillingRetryPeriod: .boolean
        case .eligibleWinBackOfferIds: .strings
        case .advancedCommerceInfo: .object(AdvancedCommerceRenewalInfo.self)
        case .commitmentInfo: .object(RenewalCommitmentInfo.self)
        default: .string
        }
    }
}

/// The commitment of a subscription that is paid by the month, from its next renewal on.
public struct RenewalCommitmentInfo: Hashable, Sendable, JWSRecord {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case commitmentAutoRenewProductId, commitmentAutoRenewStatus, commitmentRenewalBillingPlanType
        case commitmentRenewalDate, commitmentRenewalPrice
    }

    /// The product of the next commitment.
    public var autoRenewProductID: String? { members.string(.commitmentAutoRenewProductId) }
    /// Whether a next commitment follows.
    public var autoRenewStatus: AutoRenewStatus? { members.value(.commitmentAutoRenewStatus) }
    /// How the next commitment is billed.
    public var renewalBillingPlanType: BillingPlanType? { members.value(.commitmentRenewalBillingPlanType) }
    /// When the next commitment begins.
    public var renewalDate: Instant? { members.date(.commitmentRenewalDate) }
    /// In thousandths of the currency's unit.
    public var renewalPrice: Int64? { members.integer(.commitmentRenewalPrice) }

    init(members: JWSMembers<Member>) { self.members = members }
}

extension RenewalCommitmentInfo.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm {
        switch self {
        case .commitmentAutoRenewProductId, .commitmentRenewalBillingPlanType: .string
        case .commitmentAutoRenewStatus, .commitmentRenewalPrice: .integer
        case .commitmentRenewalDate: .date
        }
    }
}
