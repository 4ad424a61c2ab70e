import StrictText

/// The payload of a transaction.
///
/// Apple's name is `JWSTransactionDecodedPayload`, and on devices `Transaction.jsonRepresentation`. A property is `nil`
/// if the payload does not contain it. The value itself does not show that it was verified: see ``Verified``.
///
/// A verifier refuses a payload in which an identifier, the app, the environment, the product and its type, a date, the
/// quantity, the seats, the additional transaction reason, the revocation, the upgrade, the ownership or the token has
/// another type than Apple documents. The other members decide nothing: ``price``, ``currency``, ``storefront``,
/// ``storefrontID``, ``reason``, the offer, ``billingPlanType``, ``commitment`` and ``advancedCommerceInfo``, and what
/// ``multiSeatInfo`` has besides ``MultiSeatInfo/revokedSeatQuantity``. If the value of one of these has another type,
/// its property is `nil`, and it is among the ``JSONObject/unknownMembers`` of its object.
///
/// StoreKit also knows the product, the group and the transaction of a bundle. Apple doesn't document their names in
/// JSON, so they have no properties, and nothing is decided from them: they are among the unknown members.
public struct TransactionInfo: JWSPayload {
    /// The object as it was received, including the members for which this type has no property.
    public var object: JSONObject { members.object }
    package let members: JWSMembers<Member>

    /// The names of the members in the JSON.
    package enum Member: String, CaseIterable, Sendable {
        case additionalTransactionReason, advancedCommerceInfo, appAccountToken, appTransactionId, billingPlanType
        case bundleId, commitmentInfo, currency, deviceVerification, deviceVerificationNonce, environment, expiresDate
        case inAppOwnershipType, isUpgraded, multiSeatInfo, offerDiscountType, offerIdentifier, offerPeriod, offerType
        case originalPurchaseDate
        case originalTransactionId, previousOriginalTransactionId, price, productId, purchaseDate, quantity
        case revocationDate, revocationPercentage, revocationReason, revocationType, signedDate, storefront
        case storefrontId, subscriptionGroupIdentifier, transactionId, transactionReason, type, webOrderLineItemId
    }

    // MARK: Identifiers

    /// The transaction's identifier. A restored copy has another: grant by ``Entitlements/Item/purchaseKey``.
    public var transactionID: String? { members.string(.transactionId) }
    /// The identifier of the first transaction of a subscription or of a restored purchase.
    public var originalTransactionID: String? { members.identifier(.originalTransactionId) }
    /// The original transaction id of a subscription before its migration.
    public var previousOriginalTransactionID: String? { members.identifier(.previousOriginalTransactionId) }
    /// The identifier of this period of a subscription, which is the same on all devices.
    public var webOrderLineItemID: String? { members.identifier(.webOrderLineItemId) }
    /// The identifier of the customer's download of the app. It is the same in all transactions of a customer.
    public var appTransactionID: String? { members.identifier(.appTransactionId) }
    /// The UUID that the app set for the purchase; `nil` if it set none. Apple writes it in lowercase.
    public var appAccountToken: AppAccountToken? {
        members.identifier(.appAccountToken).map(AppAccountToken.init(signed:))
    }
    /// The app's bundle id; `nil` if it is missing. A notification can name the app in its place.
    public var bundleID: String? { members.identifier(.bundleId) }
    /// The environment; `nil` if it is missing or unknown. A notification can name it in its place:
    /// ``VerifiedPurchase`` has it.
    public var environment: AppStoreEnvironment? { members.environment(.environment) }
    /// The SHA-384 digest, in base64, that binds the transaction to the device.
    public var deviceVerification: String? { members.string(.deviceVerification) }
    /// The UUID that is part of ``deviceVerification``.
    public var deviceVerificationNonce: String? { members.identifier(.deviceVerificationNonce) }

    // MARK: Product

    /// The product's identifier.
    public var productID: String? { members.string(.productId) }
    /// The product's type.
    public var productType: ProductType? { members.value(.type) }
    /// The identifier of the subscription group in App Store Connect.
    public var subscriptionGroupID: String? { members.identifier(.subscriptionGroupIdentifier) }
    /// The quantity that was bought, as signed: of an auto-renewable subscription, the number of seats.
    public var quantity: Int? { members.integer(.quantity).map { Int($0) } }
    /// The seats of an auto-renewable subscription; `nil` if the payload has no information about seats.
    public var multiSeatInfo: MultiSeatInfo? { members.object(.multiSeatInfo) }
    /// The reason the period has more than one transaction; `nil` if this transaction is the whole period.
    ///
    /// If the buyer adds seats during a period, Apple signs another transaction for them. All transactions of the
    /// period then have a reason.
    public var additionalTransactionReason: AdditionalTransactionReason? {
        members.value(.additionalTransactionReason)
    }
    /// A value that says whether the customer bought the product, a family member shares it, or a buyer of several
    /// seats assigned it.
    public var ownershipType: OwnershipType? { members.value(.inAppOwnershipType) }
    /// A value that says whether the customer bought the product or Apple renewed it.
    public var reason: TransactionReason? { members.value(.transactionReason) }
    /// A Boolean value that indicates whether the customer has upgraded to another subscription.
    public var isUpgraded: Bool? { members.boolean(.isUpgraded) }

    // MARK: Dates

    /// The date the product was bought, renewed or restored.
    public var purchaseDate: Instant? { members.date(.purchaseDate) }
    /// The date of the original transaction.
    public var originalPurchaseDate: Instant? { members.date(.originalPurchaseDate) }
    /// The date this period of a subscription ends.
    public var expiresDate: Instant? { members.date(.expiresDate) }
    /// The date Apple signed the payload, at which its certificate chain is validated by default.
    public var signedDate: Instant? { members.date(.signedDate) }

    // MARK: Price

    /// The price, in thousandths of the unit of ``currency``. Of several seats, it is the average price of one;
    /// ``MultiSeatInfo/priceTiers`` has all.
    public var price: Int64? { members.integer(.price) }
    /// The currency, as an ISO 4217 code.
    public var currency: String? { members.string(.currency) }
    /// The country or region of the App Store, as an ISO 3166 code of three letters.
    public var storefront: String? { members.string(.storefront) }
    /// Apple's identifier of the ``storefront``.
    public var storefrontID: String? { members.string(.storefrontId) }
    /// The way a subscription with a commitment is billed.
    public var billingPlanType: BillingPlanType? { members.value(.billingPlanType) }
    /// The commitment of a subscription that is billed by the month (`commitmentInfo`).
    public var commitment: JSONObject? { members.json(.commitmentInfo) }

    // MARK: Offers

    /// The type of the offer.
    public var offerType: OfferType? { members.value(.offerType) }
    /// The code of the offer, or the identifier of a promotional offer.
    public var offerID: String? { members.identifier(.offerIdentifier) }
    /// The way the offer is paid.
    public var offerDiscountType: OfferDiscountType? { members.value(.offerDiscountType) }
    /// The duration of the offer in ISO 8601, such as `P1M`.
    public var offerPeriod: String? { members.string(.offerPeriod) }

    // MARK: Revocation

    /// A Boolean value that indicates whether Apple has refunded or revoked the transaction. A revoked transaction
    /// grants nothing.
    public var isRevoked: Bool { revocationDate != nil || revocationReason != nil || revocationType != nil }
    /// The date Apple refunded or revoked the transaction.
    public var revocationDate: Instant? { members.date(.revocationDate) }
    /// The reason Apple refunded the transaction.
    public var revocationReason: RevocationReason? { members.value(.revocationReason) }
    /// The type of the revocation: a refund, or the end of Family Sharing or of an assignment.
    public var revocationType: RevocationType? { members.value(.revocationType) }
    /// The refunded part of the price, in thousandths of a percent.
    public var revocationPercentage: Int64? { members.integer(.revocationPercentage) }

    // MARK: Advanced Commerce

    /// The part of the Advanced Commerce API; `nil` for other purchases. Decode its ``JSONObject/text`` with a type of
    /// your own.
    public var advancedCommerceInfo: JSONObject? { members.json(.advancedCommerceInfo) }

    static let kind = JWSKind.transaction
    static let required: [Member] = [.transactionId, .originalTransactionId, .productId]
    static let dateMember = Member.signedDate
}

extension TransactionInfo.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var valueType: JWSValueType {
        switch self {
        case .expiresDate, .originalPurchaseDate, .purchaseDate, .revocationDate, .signedDate: .date
        case .offerType, .price, .quantity, .revocationPercentage, .revocationReason: .integer
        case .isUpgraded: .boolean
        case .advancedCommerceInfo: .object(InformativeRecord<CommerceTransactionMember>.self)
        case .commitmentInfo: .object(InformativeRecord<TransactionCommitmentMember>.self)
        case .multiSeatInfo: .object(MultiSeatInfo.self)
        default: .string
        }
    }
    var isInformative: Bool {
        switch self {
        case .advancedCommerceInfo, .billingPlanType, .commitmentInfo, .currency, .offerDiscountType, .offerIdentifier,
            .offerPeriod, .offerType, .price, .storefront, .storefrontId, .transactionReason:
            true
        default: false
        }
    }
}
