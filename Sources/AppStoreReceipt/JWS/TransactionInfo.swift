import StrictText

/// What Apple says of a transaction (`JWSTransactionDecodedPayload`; on devices `Transaction.jsonRepresentation`).
///
/// A plain value, whoever signed it; ``SignedDataVerifier`` gives it as a ``Verified`` one. Fields are `nil` where Apple left them out.
public struct TransactionInfo: JWSPayload {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>

    /// The names of the fields in JSON.
    package enum Member: String, CaseIterable, Sendable {
        case advancedCommerceInfo, appAccountToken, appTransactionId, billingPlanType, bundleId, commitmentInfo
        case currency, deviceVerification, deviceVerificationNonce, environment, expiresDate, inAppOwnershipType
        case isUpgraded, offerDiscountType, offerIdentifier, offerPeriod, offerType, originalPurchaseDate
        case originalTransactionId, previousOriginalTransactionId, price, productId, purchaseDate, quantity
        case revocationDate, revocationPercentage, revocationReason, revocationType, signedDate, storefront
        case storefrontId, subscriptionGroupIdentifier, transactionId, transactionReason, type, webOrderLineItemId
    }

    // MARK: Identifiers

    /// What a purchase is granted once for.
    public var transactionID: String? { members.string(.transactionId) }
    /// The identifier of the first transaction of a subscription or of a restored purchase.
    public var originalTransactionID: String? { members.string(.originalTransactionId) }
    /// That of a subscription before it was migrated.
    public var previousOriginalTransactionID: String? { members.string(.previousOriginalTransactionId) }
    /// The id of this period of a subscription, the same on all devices.
    public var webOrderLineItemID: String? { members.string(.webOrderLineItemId) }
    /// The id of the customer's download of the app, the same in all transactions of one customer.
    public var appTransactionID: String? { members.string(.appTransactionId) }
    /// The UUID that the app gave when it bought, as Apple writes it: with small letters.
    public var appAccountToken: String? { members.string(.appAccountToken) }
    /// The app's bundle identifier.
    public var bundleID: String? { members.string(.bundleId) }
    /// `nil` when it is missing or unknown, which a verifier refuses.
    public var environment: AppStoreEnvironment? {
        members.string(.environment).flatMap(AppStoreEnvironment.init(signedName:))
    }
    /// The SHA-384 digest, in base64, that ties a transaction from a device to it.
    public var deviceVerification: String? { members.string(.deviceVerification) }
    /// The UUID that enters ``deviceVerification``.
    public var deviceVerificationNonce: String? { members.string(.deviceVerificationNonce) }

    // MARK: Product

    /// The product's identifier.
    public var productID: String? { members.string(.productId) }
    /// What kind of product it is.
    public var productType: ProductType? { members.value(.type) }
    /// The group of a subscription in App Store Connect.
    public var subscriptionGroupID: String? { members.string(.subscriptionGroupIdentifier) }
    /// How many were bought, of a consumable.
    public var quantity: Int? { members.integer(.quantity).map { Int($0) } }
    /// Whether the customer bought it, or the family shares it.
    public var ownershipType: OwnershipType? { members.value(.inAppOwnershipType) }
    /// Whether the customer bought it, or it was renewed.
    public var reason: TransactionReason? { members.value(.transactionReason) }
    /// Whether the customer has upgraded to another subscription.
    public var isUpgraded: Bool? { members.boolean(.isUpgraded) }

    // MARK: Dates

    /// When it was bought, renewed or restored.
    public var purchaseDate: Instant? { members.date(.purchaseDate) }
    /// When the original transaction was made.
    public var originalPurchaseDate: Instant? { members.date(.originalPurchaseDate) }
    /// When this period of a subscription ends.
    public var expiresDate: Instant? { members.date(.expiresDate) }
    /// When Apple signed this: the date at which its chain is judged.
    public var signedDate: Instant? { members.date(.signedDate) }

    // MARK: Price

    /// In thousandths of ``currency``'s unit.
    public var price: Int64? { members.integer(.price) }
    /// By ISO 4217.
    public var currency: String? { members.string(.currency) }
    /// The country or region of the App Store, by ISO 3166 with three letters.
    public var storefront: String? { members.string(.storefront) }
    /// Apple's number of the ``storefront``.
    public var storefrontID: String? { members.string(.storefrontId) }
    /// How a subscription with a commitment is billed.
    public var billingPlanType: BillingPlanType? { members.value(.billingPlanType) }
    /// The months that the customer has committed to.
    public var commitment: TransactionCommitmentInfo? { members.object(.commitmentInfo) }

    // MARK: Offers

    /// The kind of offer that applies.
    public var offerType: OfferType? { members.value(.offerType) }
    /// The offer's code, or the identifier of a promotional offer.
    public var offerID: String? { members.string(.offerIdentifier) }
    /// How the offer is paid for.
    public var offerDiscountType: OfferDiscountType? { members.value(.offerDiscountType) }
    /// How long the offer lasts, by ISO 8601: `P1M`.
    public var offerPeriod: String? { members.string(.offerPeriod) }

    // MARK: Revocation

    /// Whether any member says that Apple has refunded or revoked it: such a transaction grants nothing any more.
    public var isRevoked: Bool { revocationDate != nil || revocationReason != nil || revocationType != nil }
    /// When Apple refunded or revoked it.
    public var revocationDate: Instant? { members.date(.revocationDate) }
    /// Why Apple refunded it.
    public var revocationReason: RevocationReason? { members.value(.revocationReason) }
    /// What Apple did: a refund, or the end of Family Sharing.
    public var revocationType: RevocationType? { members.value(.revocationType) }
    /// How much was refunded, in thousandths of a percent.
    public var revocationPercentage: Int64? { members.integer(.revocationPercentage) }

    // MARK: Advanced Commerce

    /// Present for purchases by the Advanced Commerce API.
    public var advancedCommerceInfo: AdvancedCommerceTransactionInfo? { members.object(.advancedCommerceInfo) }

    init(members: JWSMembers<Member>) { self.members = members }
    static let required: [Member] = [.transactionId, .originalTransactionId, .productId, .bundleId]
    static let dateMember = Member.signedDate
}

extension TransactionInfo.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm {
        switch self {
        case .expiresDate, .originalPurchaseDate, .purchaseDate, .revocationDate, .signedDate: .date
        case .offerType, .price, .quantity, .revocationPercentage, .revocationReason: .integer
        case .isUpgraded: .boolean
        case .advancedCommerceInfo: .object(AdvancedCommerceTransactionInfo.self)
        case .commitmentInfo: .object(TransactionCommitmentInfo.self)
        default: .string
        }
    }
}

/// The commitment of a subscription that is paid by the month.
public struct TransactionCommitmentInfo: Hashable, Sendable, JWSRecord {
    /// The object as it was received, with what this library has no field for.
    public var json: JWSObject { members.json }
    package let members: JWSMembers<Member>

    package enum Member: String, CaseIterable, Sendable {
        case billingPeriodNumber, commitmentExpiresDate, commitmentPrice, totalBillingPeriods
    }

    /// Which of the billing periods this is, from 1.
    public var billingPeriodNumber: Int64? { members.integer(.billingPeriodNumber) }
    /// How many billing periods the commitment has.
    public var totalBillingPeriods: Int64? { members.integer(.totalBillingPeriods) }
    /// When the commitment ends.
    public var expiresDate: Instant? { members.date(.commitmentExpiresDate) }
    /// In thousandths of the currency's unit.
    public var price: Int64? { members.integer(.commitmentPrice) }

    init(members: JWSMembers<Member>) { self.members = members }
}

extension TransactionCommitmentInfo.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var form: JWSForm { self == .commitmentExpiresDate ? .date : .integer }
}
