public import Instants
import SpanASN1
import StrictText

/// A purchase as a plain value, whatever evidence it came from.
///
/// A ``VerifiedPurchase`` has one that was verified. The plain value is `Codable`, and can be made from the columns of
/// a database. Its type does not show that it was verified, so it grants nothing until you trust it with
/// ``StoredPurchase/init(trusting:)-(Purchase)``.
///
/// A property that is optional is `nil` if the evidence cannot say it: receipts, for example, do not contain the
/// account token.
public struct Purchase: Sendable {
    // MARK: What was bought

    /// The product's identifier.
    public var productID: String
    /// The product's type. Receipts before 2013 do not contain it.
    public var productType: ProductType?
    /// What the app stated of the product when this purchase was granted. It is no evidence. It counts where the
    /// evidence does not say the type, whatever the app states now.
    @_spi(Ledger) public var statedType: CatalogType?
    /// The quantity that was signed: of an auto-renewable subscription, the number of seats. It is `nil` if Apple
    /// signed none. ``Entitlements/Item/quantity`` has what the purchase gives.
    public var quantity: Int?
    /// The seats of an auto-renewable subscription; `nil` if the evidence has no information about seats. Receipts do
    /// not contain it.
    public var multiSeatInfo: PurchaseSeatInfo?
    /// The reason the period has more than one transaction; `nil` if this transaction is the whole period. Receipts do
    /// not contain it.
    public var additionalTransactionReason: AdditionalTransactionReason?
    /// The identifier of the subscription group in App Store Connect. Receipts do not contain it.
    public var subscriptionGroupID: String?
    /// The offer that the customer used; `nil` for the full price.
    public var offer: PurchaseOffer?

    // MARK: Price

    /// The price, in thousandths of the unit of ``currency``.
    ///
    /// Of an auto-renewable subscription, it is the average price of a seat: the transaction cost it times
    /// ``quantity``. Of any other product, it is the price of the whole quantity. The transactions of members repeat
    /// the buyer's.
    ///
    /// It decides nothing. Apple does not mean prices for reconciling revenue
    /// ([`JWSTransactionDecodedPayload`](https://developer.apple.com/documentation/appstoreserverapi/jwstransactiondecodedpayload)).
    /// Receipts do not contain it.
    public var price: Int64?
    /// The currency of ``price``, as an ISO 4217 code. Receipts do not contain it.
    public var currency: String?
    /// The country or region of the App Store, as an ISO 3166 code of three letters. Receipts do not contain it.
    public var storefront: String?
    /// The date Apple signed the price, the currency and the storefront; `nil` for ``signedDate``.
    @_spi(Ledger) public var priceSignedDate: Instant?

    // MARK: Identifiers

    /// The transaction's identifier. A restored copy has another: grant by ``Entitlements/Item/purchaseKey``.
    public var transactionID: String
    /// The identifier of the first transaction of a subscription or of a restored purchase. If the evidence has none,
    /// it is ``transactionID``.
    public var originalTransactionID: String
    /// `true` if the evidence has no original transaction id, so that it can be another than ``transactionID``.
    var lacksOriginalTransactionID: Bool?
    /// The original transaction id of a subscription before its migration.
    public var previousOriginalTransactionID: String?
    /// The identifier of this period of a subscription. A restored transaction has a new id, but the same web order
    /// line item.
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
    /// The date the evidence itself expires. Only receipts of volume purchases have one [21], and those from Xcode, in
    /// the year 4001.
    public var evidenceExpirationDate: Instant?

    // MARK: Revocation and upgrades

    /// What the evidence says about a refund or another revocation.
    public var revocation: Revocation {
        get {
            switch isRevoked {
            case nil: .unknown
            case false?: .notRevoked
            case true?:
                .revoked(
                    .init(
                        date: revocationDate, reason: revocationReason, type: revocationType,
                        percentage: revocationPercentage))
            }
        }
        set {
            isRevoked = newValue == .unknown ? nil : newValue.details != nil
            (revocationDate, revocationReason) = (newValue.details?.date, newValue.details?.reason)
            (revocationType, revocationPercentage) = (newValue.details?.type, newValue.details?.percentage)
        }
    }
    // The fields of the table, one by one. Stored values can have any of them.
    package var isRevoked: Bool?
    package var revocationDate: Instant?
    package var revocationReason: RevocationReason?
    package var revocationType: RevocationType?
    package var revocationPercentage: Int64?
    /// A Boolean value that indicates whether an upgrade to another subscription has ended this period; `nil` if the
    /// evidence cannot say.
    ///
    /// Receipts do not contain it. ``Entitlements`` finds such periods by the periods that follow them.
    public var isUpgraded: Bool?

    // MARK: Owner

    /// A value that says whether the customer bought the product, a family member shares it, or a buyer of several
    /// seats assigned it. Receipts do not contain it.
    public var ownershipType: OwnershipType?
    /// The identifier of the app transaction: one for each Apple Account that has the app. Receipts do not contain it.
    public var appTransactionID: String?
    /// The UUID that the app set for the purchase. Receipts do not contain it, and family-shared purchases have none.
    public var appAccountToken: AppAccountToken?
    /// The app's bundle id.
    public var bundleID: String?
    /// The environment of the purchase. Nobody pays in the sandbox.
    public var environment: AppStoreEnvironment?

    /// Creates a purchase, such as one from the columns of a database.
    ///
    /// - Parameters:
    ///   - productID: The product's identifier.
    ///   - productType: The product's type.
    ///   - transactionID: The transaction's identifier.
    ///   - originalTransactionID: The identifier of the first transaction; `nil` for `transactionID`, which is then the
    ///     first one.
    ///   - bundleID: The app's bundle id. Without one, nothing is decided.
    ///   - environment: The environment. Without one, nothing is decided.
    ///   - quantity: The quantity that was signed; `nil` if none was.
    ///   - purchaseDate: The date the product was bought, renewed or restored.
    ///   - expiresDate: The date this period of a subscription ends.
    ///   - signedDate: The date Apple signed the evidence.
    ///   - revocation: What the evidence says about a refund.
    ///   - ownershipType: Whether the customer bought the product.
    ///   - appAccountToken: The UUID that the app set for the purchase.
    public init(
        productID: String, productType: ProductType? = nil, transactionID: String,
        originalTransactionID: String? = nil, bundleID: String? = nil, environment: AppStoreEnvironment? = nil,
        quantity: Int? = 1, purchaseDate: Instant, expiresDate: Instant? = nil, signedDate: Instant,
        revocation: Revocation = .unknown, ownershipType: OwnershipType? = nil,
        appAccountToken: AppAccountToken? = nil
    ) {
        self.productID = productID
        self.productType = productType
        self.transactionID = transactionID
        self.originalTransactionID = originalTransactionID ?? transactionID
        self.bundleID = bundleID
        self.environment = environment
        self.quantity = quantity
        self.purchaseDate = purchaseDate
        self.expiresDate = expiresDate
        self.signedDate = signedDate
        self.ownershipType = ownershipType
        self.appAccountToken = appAccountToken
        if revocation != .unknown { self.revocation = revocation }
    }
}

extension Purchase {
    /// What evidence says about a refund or another revocation.
    @nonexhaustive
    public enum Revocation: Hashable, Sendable {
        /// The evidence cannot say. Transaction receipts cannot.
        case unknown
        /// Apple had not revoked the purchase when it signed the evidence.
        case notRevoked
        /// Apple had refunded or revoked the purchase when it signed the evidence.
        case revoked(Details)

        /// What is known of the revocation; `nil` if there is none.
        public var details: Details? { if case .revoked(let details) = self { details } else { nil } }

        /// What is known of a revocation.
        public struct Details: Hashable, Sendable {
            /// The date Apple refunded or revoked the purchase. A revocation without a date counts always.
            public var date: Instant?
            /// The reason.
            public var reason: RevocationReason?
            /// The type. Receipts do not contain it.
            public var type: RevocationType?
            /// The refunded part of the price, in thousandths of a percent: 100,000 is all of it. Receipts do not
            /// contain it.
            public var percentage: Int64?

            /// Creates the details.
            public init(
                date: Instant? = nil, reason: RevocationReason? = nil, type: RevocationType? = nil,
                percentage: Int64? = nil
            ) {
                self.date = date
                self.reason = reason
                self.type = type
                self.percentage = percentage
            }
        }
    }
}

/// The offer that a customer used for a purchase.
///
/// A receipt says that a period was a free trial or had an introductory price, or the identifier of a promotional
/// offer. Transactions say all.
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

    /// A Boolean value that indicates whether the offer is introductory: a free trial or a lower price for new
    /// customers.
    public var isIntroductory: Bool { type == .introductory }
    /// A Boolean value that indicates whether the offer is free.
    public var isFreeTrial: Bool { discountType == .freeTrial }
}

/// What a transaction says of its seats, besides their number, which is ``Purchase/quantity``.
public struct PurchaseSeatInfo: Sendable {
    /// The party that can invite members.
    public var invitationManagement: InvitationManagement?
    /// The number of seats that Apple refunded; `nil` for none. It never ends the buyer's access.
    public var revokedSeatQuantity: Int?

    /// Creates the information.
    public init(invitationManagement: InvitationManagement? = nil, revokedSeatQuantity: Int? = nil) {
        self.invitationManagement = invitationManagement
        self.revokedSeatQuantity = revokedSeatQuantity
    }
}

extension Purchase {
    /// The number of seats that the transaction bought, less those that were refunded.
    @_spi(Ledger) public var seatCount: Int {
        max(0, max(0, quantity ?? 1) - max(0, multiSeatInfo?.revokedSeatQuantity ?? 0))
    }

    /// A Boolean value that indicates whether the evidence says how many seats the transaction bought. The transactions
    /// of members repeat the numbers of the buyer.
    @_spi(Ledger) public var saysSeats: Bool { isOfBuyer && (multiSeatInfo != nil || quantity ?? 1 != 1) }

    /// The price of all that the transaction bought; `nil` if it is not known, or too large for a number, and for
    /// members.
    @_spi(Surfaces) public var totalPrice: Int64? {
        guard let price, isOfBuyer else { return nil }
        guard hasSeatPrice else { return price }
        guard let quantity, quantity > 0 else { return nil }
        let (total, isTooLarge) = price.multipliedReportingOverflow(by: Int64(quantity))
        return isTooLarge ? nil : total
    }

    /// A Boolean value that indicates whether ``price`` is that of one seat.
    @_spi(Surfaces) public var hasSeatPrice: Bool { productType?.renews ?? (expiresDate != nil) }

    /// The reason nothing can be decided, whatever the date; `nil` if something can.
    @_spi(Surfaces) public var undecidable: Entitlements.Reason? {
        if environment == nil { return .environmentMissing }
        guard let _ = bundleID else { return .bundleIDMissing }
        if let productType, !ProductType.known.contains(productType) { return .unknownType }
        if let ownershipType, !OwnershipType.known.contains(ownershipType) { return .unknownOwnership }
        guard let quantity else { return productType == .consumable ? .quantityMissing : nil }
        return quantity > 0 ? nil : .quantityInvalid
    }

    /// Whether the evidence is a receipt, or a transaction receipt. Transactions always say whether they were upgraded.
    private var isFromReceipt: Bool { isUpgraded == nil }

    /// Whether the customer bought the product, as far as the evidence says.
    package var isOfBuyer: Bool { ownershipType == nil || ownershipType == .purchased }
}

// MARK: - The table

/// The table of the fields, by which a purchase is compared, merged, stored and shown. A new field is a line here, a
/// property above, and a line where the evidence that says it becomes a purchase.
extension Purchase: StoredRecord {
    /// The fields that JSON of entitlements shows before the decision.
    static let identifiers: [StoredField<Purchase>] = [
        .required("transaction_id", \.transactionID, merge: StoredField.unchanged),
        // A source without an original transaction id has its own here.
        .required("original_transaction_id", \.originalTransactionID) { purchase, later in
            if !later.originalTransactionID.hasSameBytes(as: later.transactionID)
                || purchase.originalTransactionID.hasSameBytes(as: purchase.transactionID)
            {
                purchase.originalTransactionID = later.originalTransactionID
            }
        },
        .required("product_id", \.productID),
    ]

    /// The fields that JSON of entitlements shows after the decision.
    static let details: [StoredField<Purchase>] = [
        // An unknown number does not replace a name.
        .optional("product_type", \.productType) { purchase, later in
            guard let type = later.productType else { return }
            let isUndone = later.isFromReceipt && !ProductType.known.contains(type)
            if purchase.productType == nil || !isUndone { purchase.productType = type }
        },
        .required("purchase_date", \.purchaseDate),
        .optional("expires_date", \.expiresDate),
        .optional("web_order_line_item_id", \.webOrderLineItemID),
        .optional("subscription_group_id", \.subscriptionGroupID),
        .optional("additional_transaction_reason", \.additionalTransactionReason),
        .optional("ownership_type", \.ownershipType),
        .optional("app_account_token", \.appAccountToken),
        .optional("bundle_id", \.bundleID, merge: StoredField.unchanged),
        .optional("environment", \.environment, merge: StoredField.unchanged),
    ]

    /// The other fields.
    private static let others: [StoredField<Purchase>] = [
        .schema,
        // Receipts have no seats.
        .optional("quantity", \.quantity) { purchase, later in
            let isUndone = !purchase.isFromReceipt && later.isFromReceipt
            guard !isUndone || purchase.productType != .autoRenewableSubscription else { return }
            purchase.quantity = later.quantity ?? purchase.quantity
        },
        .optional("multi_seat_info", \.multiSeatInfo) { purchase, later in
            if !later.isFromReceipt { purchase.multiSeatInfo = later.multiSeatInfo }
        },
        .optional("app_transaction_id", \.appTransactionID),
        .optional("offer", \.offer) { purchase, later in
            guard let offer = later.offer else { return }
            if purchase.offer == nil { purchase.offer = offer } else { purchase.offer?.merge(offer) }
        },
        .optional("price", \.price) { $0.mergePrice($1, signedDate: $1.signedDate) },
        .optional("currency", \.currency, merge: StoredField.unchanged),
        .optional("storefront", \.storefront, merge: StoredField.unchanged),
        .optional("price_signed_date", \.priceSignedDate, merge: StoredField.unchanged),
        .optional("original_transaction_id_missing", \.lacksOriginalTransactionID) { purchase, later in
            if later.lacksOriginalTransactionID != true { purchase.lacksOriginalTransactionID = nil }
        },
        .optional("previous_original_transaction_id", \.previousOriginalTransactionID),
        .optional("original_purchase_date", \.originalPurchaseDate),
        .required("signed_date", \.signedDate),
        // Evidence that does not expire proves the purchase when other evidence has expired.
        .optional("evidence_expiration_date", \.evidenceExpirationDate) { purchase, later in
            purchase.evidenceExpirationDate = purchase.evidenceExpirationDate.flatMap { date in
                later.evidenceExpirationDate.map { max($0, date) }
            }
        },
        .optional("revoked", \.isRevoked) { $0.mergeRevocation($1) },
        .optional("revocation_date", \.revocationDate, merge: StoredField.unchanged),
        .optional("revocation_reason", \.revocationReason, merge: StoredField.unchanged),
        .optional("revocation_type", \.revocationType, merge: StoredField.unchanged),
        .optional("revocation_percentage", \.revocationPercentage, merge: StoredField.unchanged),
        .optional("upgraded", \.isUpgraded),
        // The first statement, by which the purchase was decided.
        .optional("stated_product_type", \.statedType) { purchase, later in
            purchase.statedType = purchase.statedType ?? later.statedType
        },
    ]

    static let table = StoredTable(identifiers + details + others)

    static var blank: Purchase {
        let never = Instant(millisecondsSince1970: 0)
        return Purchase(productID: "", transactionID: "", quantity: nil, purchaseDate: never, signedDate: never)
    }
}

/// The table of an offer's fields. Two are equal if all their values are, strings byte for byte.
extension PurchaseOffer: StoredRecord {
    static let table = StoredTable<PurchaseOffer>([
        .optional("type", \.type), .optional("id", \.id), .optional("discount_type", \.discountType),
        .optional("period", \.period),
    ])

    static var blank: PurchaseOffer { PurchaseOffer() }
}

/// The table of the fields. Two are equal if all their values are.
extension PurchaseSeatInfo: StoredRecord {
    static let table = StoredTable<PurchaseSeatInfo>([
        .optional("invitation_management", \.invitationManagement),
        .optional("revoked_seat_quantity", \.revokedSeatQuantity),
    ])

    static var blank: PurchaseSeatInfo { PurchaseSeatInfo() }
}

// MARK: - Conformances

/// Two are equal if all their values are, strings byte for byte.
extension Purchase: Hashable {
    public static func == (lhs: Purchase, rhs: Purchase) -> Bool { isSame(lhs, rhs) }
    public func hash(into hasher: inout Hasher) { hashFields(into: &hasher) }
}

extension PurchaseOffer: Hashable {
    public static func == (lhs: PurchaseOffer, rhs: PurchaseOffer) -> Bool { isSame(lhs, rhs) }
    public func hash(into hasher: inout Hasher) { hashFields(into: &hasher) }
}

extension PurchaseSeatInfo: Hashable {
    public static func == (lhs: PurchaseSeatInfo, rhs: PurchaseSeatInfo) -> Bool { isSame(lhs, rhs) }
    public func hash(into hasher: inout Hasher) { hashFields(into: &hasher) }
}

/// The JSON of a purchase, in version 1 of its schema:
///
/// ```json
/// {
///   "schema": 1, "product_id": "com.example.app.monthly", "product_type": "Auto-Renewable Subscription",
///   "quantity": 1,
///   "subscription_group_id": "20500001",
///   "offer": {"type": 1, "id": null, "discount_type": "FREE_TRIAL", "period": "P1W"},
///   "transaction_id": "70001", "original_transaction_id": "70001", "previous_original_transaction_id": null,
///   "web_order_line_item_id": "80001", "purchase_date": 1748770200000, "original_purchase_date": 1748770200000,
///   "expires_date": 1751362200000, "signed_date": 1748770201000, "evidence_expiration_date": null, "revoked": false,
///   "revocation_date": null, "revocation_reason": null, "revocation_type": null, "revocation_percentage": null,
///   "upgraded": false, "multi_seat_info": {"invitation_management": "APPLE", "revoked_seat_quantity": null},
///   "price": 0, "currency": "USD", "storefront": "USA", "price_signed_date": null,
///   "additional_transaction_reason": null, "ownership_type": "PURCHASED", "app_transaction_id": "704289572311736190",
///   "app_account_token": null, "bundle_id": "com.example.app", "environment": "production"
/// }
/// ```
///
/// Dates are milliseconds since 1970, as in Apple's JWS. A key whose value is `nil` is missing. Later versions of the
/// library read this version.
extension Purchase: Codable {
    /// Decodes a purchase.
    ///
    /// This verifies nothing: anyone who can write to the storage can change the purchase.
    ///
    /// - Throws: `DecodingError` if the version of the schema is unknown, or a value is missing or has the wrong type.
    public init(from decoder: any Decoder) throws { try self.init(fieldsFrom: decoder) }

    /// Encodes the purchase.
    public func encode(to encoder: any Encoder) throws { try encodeFields(to: encoder) }
}

extension PurchaseOffer: Codable {
    public init(from decoder: any Decoder) throws { try self.init(fieldsFrom: decoder) }
    public func encode(to encoder: any Encoder) throws { try encodeFields(to: encoder) }
}

extension PurchaseSeatInfo: Codable {
    public init(from decoder: any Decoder) throws { try self.init(fieldsFrom: decoder) }
    public func encode(to encoder: any Encoder) throws { try encodeFields(to: encoder) }
}
