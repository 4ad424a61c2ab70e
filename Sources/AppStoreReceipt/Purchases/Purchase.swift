public import SpanASN1
import StrictText

/// A purchase as a plain value, whatever evidence it came from.
///
/// A ``VerifiedPurchase`` has one that was verified. The plain value can be stored (it is `Codable`) and made from the columns of a database. Its type does not
/// show that it was verified, so it grants nothing until ``Entitlements/init(trustingStored:renewals:at:clockAllowance:endOfNonRenewing:)`` is told to trust it.
///
/// A property that is optional is `nil` if the evidence cannot say it: receipts, for example, do not contain the account token.
public struct Purchase: Sendable {
    // MARK: What was bought

    /// The product's identifier.
    public var productID: String
    /// The product's type. Receipts before 2013 do not contain it.
    public var productType: ProductType?
    /// The quantity that was bought.
    public var quantity: Int
    /// The identifier of the subscription group in App Store Connect. Receipts do not contain it.
    public var subscriptionGroupID: String?
    /// The offer that the customer used; `nil` for the full price.
    public var offer: PurchaseOffer?

    // MARK: Identifiers

    /// The transaction's identifier. Grant each transaction once.
    public var transactionID: String
    /// The identifier of the first transaction of a subscription or of a restored purchase. If the evidence has none, it is ``transactionID``.
    public var originalTransactionID: String
    /// The original transaction id of a subscription before its migration.
    public var previousOriginalTransactionID: String?
    /// The identifier of this period of a subscription. A restored transaction has a new id, but the same web order line item.
    public var webOrderLineItemID: String?

    // MARK: Dates

    /// The date the product was bought, renewed or restored.
    public var purchaseDate: Instant
    /// The date of the first transaction.
    public var originalPurchaseDate: Instant?
    /// The date this period of a subscription ends.
    public var expiresDate: Instant?
    /// The date Apple signed the evidence. If two pieces of evidence contradict each other, the later one counts.
    public var signedDate: Instant
    /// The date the evidence itself expires. Only receipts of volume purchases have one [21], and those from Xcode, in the year 4001.
    public var evidenceExpirationDate: Instant?

    // MARK: Revocation and upgrades

    /// A Boolean value that indicates whether Apple had refunded or revoked the purchase when it signed the evidence; `nil` if the evidence cannot say.
    public var isRevoked: Bool?
    /// The date Apple refunded or revoked the purchase. A revocation without a date counts always.
    public var revocationDate: Instant?
    /// The reason for the revocation.
    public var revocationReason: RevocationReason?
    /// The type of the revocation. Receipts do not contain it.
    public var revocationType: RevocationType?
    /// The refunded part of the price, in thousandths of a percent: 100,000 is all of it. Receipts do not contain it.
    public var revocationPercentage: Int64?
    /// A Boolean value that indicates whether an upgrade to another subscription has ended this period; `nil` if the evidence cannot say.
    ///
    /// Receipts do not contain it. ``Entitlements`` finds such periods by the periods that follow them.
    public var isUpgraded: Bool?

    // MARK: Owner

    /// A value that says whether the customer bought the product or a family member shares it. Receipts do not contain it.
    public var ownershipType: OwnershipType?
    /// The UUID that the app set for the purchase. Receipts do not contain it, and family-shared purchases have none.
    public var appAccountToken: AppAccountToken?
    /// The app's bundle id.
    public var bundleID: String?
    /// The environment of the purchase. Nobody pays in the sandbox.
    public var environment: AppStoreEnvironment?

    /// Creates a purchase from what every purchase has.
    ///
    /// - Parameters:
    ///   - productID: The product's identifier.
    ///   - transactionID: The transaction's identifier.
    ///   - originalTransactionID: The identifier of the first transaction; `nil` for `transactionID`.
    ///   - quantity: The quantity that was bought.
    ///   - purchaseDate: The date the product was bought, renewed or restored.
    ///   - signedDate: The date Apple signed the evidence.
    public init(
        productID: String, transactionID: String, originalTransactionID: String? = nil, quantity: Int = 1,
        purchaseDate: Instant, signedDate: Instant
    ) {
        self.productID = productID
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID ?? transactionID
        self.quantity = quantity
        self.purchaseDate = purchaseDate
        self.signedDate = signedDate
    }
}

/// The offer that a customer used for a purchase.
///
/// A receipt says that a period was a free trial or had an introductory price, or the identifier of a promotional offer. Transactions say all.
public struct PurchaseOffer: Sendable {
    /// The type of the offer.
    public var type: OfferType?
    /// The code of the offer, or the identifier of a promotional offer.
    public var id: String?
    /// The way the offer is paid.
    public var discountType: OfferDiscountType?
    /// The duration of the offer in ISO 8601, such as `P1M`.
    public var period: String?

    /// Creates an offer.
    public init(
        type: OfferType? = nil, id: String? = nil, discountType: OfferDiscountType? = nil, period: String? = nil
    ) {
        self.type = type
        self.id = id
        self.discountType = discountType
        self.period = period
    }

    /// A Boolean value that indicates whether the offer is introductory: a free trial or a lower price for new customers.
    public var isIntroductory: Bool { type == .introductory }
    /// A Boolean value that indicates whether the offer is free.
    public var isFreeTrial: Bool { discountType == .freeTrial }
}

/// The UUID that an app sets for the account that makes a purchase (`appAccountToken`).
///
/// Two tokens are equal if they differ in nothing but the case of letters: apps write UUIDs in uppercase, and Apple signs them in lowercase.
public struct AppAccountToken: Hashable, Sendable, CustomStringConvertible {
    /// The token in lowercase.
    public let description: String

    /// Creates a token from the text of a UUID, such as `9C3E0A4F-1C5D-4B0E-8A57-3D0B8D1B6F00`.
    ///
    /// - Parameter text: The text. The form is not checked; a text in another form equals no token of Apple's.
    public init(_ text: String) {
        // ASCII alone: Unicode's lowercase letters would make different texts equal.
        description = String(
            decoding: text.utf8.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    public static func == (lhs: AppAccountToken, rhs: AppAccountToken) -> Bool {
        lhs.description.hasSameBytes(as: rhs.description)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(UTF8Bytes(description)) }
}

// MARK: - Equality

/// Two are equal if all their values are, strings byte for byte.
extension Purchase: Hashable {
    public static func == (lhs: Purchase, rhs: Purchase) -> Bool {
        lhs.strings == rhs.strings && lhs.dates == rhs.dates && lhs.quantity == rhs.quantity
            && lhs.productType == rhs.productType && lhs.offer == rhs.offer && lhs.isRevoked == rhs.isRevoked
            && lhs.revocationReason == rhs.revocationReason && lhs.revocationType == rhs.revocationType
            && lhs.revocationPercentage == rhs.revocationPercentage && lhs.isUpgraded == rhs.isUpgraded
            && lhs.ownershipType == rhs.ownershipType && lhs.appAccountToken == rhs.appAccountToken
            && lhs.environment == rhs.environment
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(strings)
        hasher.combine(dates)
    }

    private var strings: [UTF8Bytes?] {
        [
            productID, transactionID, originalTransactionID, previousOriginalTransactionID, webOrderLineItemID,
            subscriptionGroupID, bundleID,
        ].map { $0.map(UTF8Bytes.init) }
    }

    private var dates: [Instant?] {
        [purchaseDate, originalPurchaseDate, expiresDate, revocationDate, signedDate, evidenceExpirationDate]
    }
}

extension PurchaseOffer: Hashable {
    public static func == (lhs: PurchaseOffer, rhs: PurchaseOffer) -> Bool {
        lhs.type == rhs.type && lhs.discountType == rhs.discountType && lhs.strings == rhs.strings
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(type)
        hasher.combine(strings)
    }

    private var strings: [UTF8Bytes?] { [id, period].map { $0.map(UTF8Bytes.init) } }
}

extension PurchaseOffer: Codable {
    private enum CodingKeys: String, CodingKey {
        case type, id, period
        case discountType = "discount_type"
    }
}
