public import Instants
import SpanASN1
import StrictText

/// What purchases entitle a customer to at a date: the one place where this library decides it.
///
/// ```swift
/// let now = Entitlements([evidence], at: .now)
/// for item in now.items {
///     switch item.access {
///     case .active(let end): …       // a subscription, until its end
///     case .owned: …                 // a non-consumable
///     case .consumable(let quantity): …  // grant each purchaseKey once
///     default: …                     // no access, with the reason
///     }
/// }
/// ```
///
/// It takes the purchases of one receipt, of many transactions, of both, or purchases read back from a database, in any
/// order. Pass the purchases of one customer. All queries answer from the same rules:
///
/// - A purchase counts from its purchase date. `clockAllowance` accepts a clock that is a little slow, so that a
///   purchase made a second ago is not "not yet". It never delays a revocation, an upgrade or the end of a period.
/// - If several pieces of evidence describe a transaction, they are merged value by value. If two contradict each
///   other, the one that Apple signed later counts. A fact that evidence cannot state is missing, not false.
/// - The type of a product that `productTypes` states fills in what evidence does not say. If the evidence says another
///   type, or has an end that only a subscription that renews has, the evidence counts, and ``Item/typeSource`` says
///   so.
/// - A revocation counts from its date
///   ([`revocationDate`](https://developer.apple.com/documentation/appstoreserverapi/revocationdate)), and always if it
///   has no date. The end of Family Sharing is one
///   ([`revocationType`](https://developer.apple.com/documentation/appstoreserverapi/revocationtype)). If one
///   transaction of a period is revoked, so is a restored transaction of that period, which has the same web order line
///   item
///   ([`web_order_line_item_id`](https://developer.apple.com/documentation/appstorereceipts/web_order_line_item_id)).
/// - An upgrade, or a crossgrade of the same duration, begins at once and ends the period that it replaces. A downgrade
///   begins at the renewal ([Auto-renewable
///   subscriptions](https://developer.apple.com/app-store/subscriptions/#ranking)). A cancellation date on a period
///   that a later one overlaps is therefore the date of an upgrade, and not of a refund.
/// - A prorated refund takes its part of a consumable's quantity
///   ([`revocationPercentage`](https://developer.apple.com/documentation/storekit/transaction/revocationpercentage)).
///   Revocations are merged. If a later one has neither type nor percentage, the whole purchase is revoked. A receipt
///   contains the date of a revocation, but neither its type nor its percentage, so a later receipt with the same date
///   leaves them as they are.
/// - The quantity of an auto-renewable subscription is the number of seats, and the subscription is one, whatever the
///   number. If the buyer adds seats, the period has several transactions
///   ([Apple's page](https://developer.apple.com/documentation/appstoreserverapi/additionaltransactionreason)).
///   A refund ends the buyer's access if it is known of all of them, at the latest of their dates. The refund of some
///   seats of a transaction never ends it
///   ([`revokedSeatQuantity`](https://developer.apple.com/documentation/appstoreserverapi/revokedseatquantity)).
/// - While Apple retries a charge, only a billing grace period gives access, until `gracePeriodExpiresDate` ([Reducing
///   involuntary subscriber
///   churn](https://developer.apple.com/documentation/storekit/reducing-involuntary-subscriber-churn)). A price
///   increase without consent
///   ([`priceIncreaseStatus`](https://developer.apple.com/documentation/appstoreserverapi/priceincreasestatus)) never
///   ends a period that is paid.
/// - The earliest ending determines the reason: a period that was replaced before its end is ``Access/upgraded(at:)``,
///   and one that was refunded before its end is ``Access/revoked(at:)``.
public struct Entitlements: Sendable {
    /// The date for which everything was decided.
    public let date: Instant
    /// The transactions, one item each, ordered by purchase date.
    public let items: [Item]
    /// The subscriptions that had begun, in the order of their first period.
    public let subscriptions: [Subscription]

    /// The reason there are no ``items``; `nil` if there are some.
    public internal(set) var nothing: Nothing?

    /// The earliest ``Item/nextChange``: decide again then, since Apple sends no notification.
    public var nextChange: Instant? { items.compactMap(\.nextChange).min() }

    /// A transaction with the access that it gives.
    public struct Item: Hashable, Sendable {
        /// The purchase, merged from all evidence about its transaction. If only the app states the type of the
        /// product, it is here, too.
        public let purchase: Purchase
        /// The source of the product's type.
        public let typeSource: TypeSource
        /// The access that the purchase gives at the date, or the reason it gives none.
        public let access: Access
        /// The reason the purchase gives nothing at the date; `nil` if it gives something.
        public let reason: Reason?
        /// The date access ends or ended, before it begins, too; `nil` if it has no end, or if the end is not known.
        public let accessEndDate: Instant?
        /// How long a non-renewing subscription lasts; `nil` for any other product.
        ///
        /// ``accessEndDate`` is its purchase date plus this length, even if another one is still running: their times
        /// overlap. If yours follow each other, count them from the purchase dates.
        public var length: Length? {
            guard purchase.productType == .nonRenewingSubscription else { return nil }
            return statedType?.lengthInDays.map(Length.days) ?? .unknown
        }
        /// What is left of the purchase: of a consumable, what prorated refunds have left; of an auto-renewable
        /// subscription 1, also after its end; 0 if it is revoked, or if Apple signed no quantity that counts.
        public let quantity: Int
        /// The quantity that Apple signed: of an auto-renewable subscription, the number of seats; `nil` if it signed
        /// none.
        public var purchasedQuantity: Int? { purchase.quantity }
        /// The seats that the transaction bought, less those that Apple refunded: 0 if all of it is revoked. It is
        /// `nil` if the evidence says no seats, and for members, whose transactions repeat the numbers of the buyer.
        public let seats: Int?
        /// The seats of the period: those of all its transactions. Restored transactions are not counted.
        public let periodSeats: Int?
        /// The ``quantity``; `nil` if the purchase has not begun, or if the evidence does not say enough.
        public var ownedQuantity: Int? {
            switch access {
            case .notYet, .undetermined: nil
            default: quantity
            }
        }
        /// The next date at which the purchase begins, or a refund that Apple dated ahead comes into effect; `nil` if
        /// there is none. Apple sends no notification then: decide again. It is not the end of access, which is
        /// ``accessEndDate``.
        public let nextChange: Instant?
        /// The key of the purchase or period, under which it is granted once: at most 255 ASCII bytes that distinguish
        /// environments and apps, too. It is `nil` if the evidence has no original transaction id.
        ///
        /// It does not depend on which evidence is known, or on its order: restored transactions share it, and so do
        /// the seats that were added to a period. Two periods have two keys, and so have the buyer and each member. A
        /// purchase without a period is known by its product and its original transaction.
        ///
        /// The key of a period is that of its earliest known transaction. If an earlier one arrives, or if the owner
        /// becomes known, the previous key is among ``formerPurchaseKeys``.
        ///
        /// Without a key, do not grant: ask for a transaction of StoreKit 2, which has one. Only receipts from Xcode
        /// are known to lack the id.
        public var purchaseKey: String? { (keys ?? PurchaseKeys(of: purchase))?.key.string }
        /// The keys that the purchase may have had when less was known: those of its other transactions alone, those
        /// for other dates (old receipts date a transaction by its restoration), and for a member's transactions, the
        /// buyer's keys, because a receipt does not say who is a member.
        ///
        /// There are at most 64, those of this transaction first. Together, the items with one ``purchaseKey`` have
        /// all. None is the ``purchaseKey`` of another item.
        ///
        /// If the same account was granted the purchase under one of them, it already has the purchase. A grant to
        /// another account is another purchase: the buyer's, which a member's transaction can resemble.
        public var formerPurchaseKeys: [String] { (keys ?? PurchaseKeys(of: purchase))?.former.map(\.string) ?? [] }
        /// The keys, where they do not follow from the ``purchase`` alone.
        var keys: PurchaseKeys?
        /// The first known transaction of the purchase or period. It changes when an earlier one arrives.
        @_spi(Ledger) @_spi(Surfaces) public var firstTransactionID: String { firstTransaction.string }
        let firstTransaction: UTF8Bytes
        /// The signer and the date of the verification of the evidence that was signed last; `nil` for a stored
        /// purchase.
        public let verification: SignerVerification?

        /// The transaction's identifier. A restored copy has another: grant by ``purchaseKey``.
        public var transactionID: String { purchase.transactionID }
        /// The identifier of the first transaction of a subscription or of a restored purchase.
        public var originalTransactionID: String { purchase.originalTransactionID }
        /// The product's identifier.
        public var productID: String { purchase.productID }
        /// The app's bundle id; `nil` if the evidence has none.
        public var bundleID: String? { purchase.bundleID }
        /// The environment of the purchase; `nil` if the evidence has none.
        public var environment: AppStoreEnvironment? { purchase.environment }
        /// What the app states of the product, if it counts.
        @_spi(Ledger) @_spi(Surfaces) public var statedType: CatalogType? {
            switch typeSource {
            case .stated(let type), .lengthStated(let type): type
            case .evidence, .contradicted: nil
            }
        }
        /// What the app states of the product and the evidence contradicts.
        @_spi(Surfaces) public var contradictedType: CatalogType? {
            if case .contradicted(let type) = typeSource { type } else { nil }
        }
        /// Whether only the app says the type of the product, and not the evidence.
        @_spi(Ledger) public var isTypeStated: Bool { if case .stated = typeSource { true } else { false } }
    }

    /// The sources of the type of a product.
    @nonexhaustive
    public enum TypeSource: Hashable, Sendable {
        /// The evidence says the type, or nothing does.
        case evidence
        /// The app alone states the type.
        case stated(CatalogType)
        /// The evidence says the type. The app states how long the non-renewing subscription lasts.
        case lengthStated(CatalogType)
        /// The evidence contradicts what the app states. The evidence counts.
        case contradicted(CatalogType)
    }

    /// Decides what stored purchases give access to.
    ///
    /// To take stored and verified purchases together, pass `StoredPurchase(verified)` of the verified ones.
    ///
    /// - Parameters:
    ///   - purchases: The purchases of one customer.
    ///   - renewals: What is known about the renewals of the subscriptions among them.
    ///   - date: The date to decide for, usually `.now`.
    ///   - clockAllowance: How far a purchase date may be in the future, for clocks that are slow; by default 5
    ///     minutes. A negative allowance counts as zero.
    ///   - productTypes: The types of products, for purchases whose evidence does not say the type. It also says how
    ///     long a non-renewing subscription lasts.
    public init(
        stored purchases: some Sequence<StoredPurchase>, renewals: some Sequence<StoredRenewal>, at date: Instant,
        clockAllowance: Duration = .seconds(300), productTypes: ProductCatalog = [:]
    ) {
        self.init(
            purchases.map { Source($0.purchase, nil) }, renewals.map(\.renewal), date, clockAllowance, productTypes)
    }

    /// Decides by all stored purchases, and excludes those that anyone but Apple revoked or transferred.
    ///
    /// An excluded purchase still ends the period it replaced.
    ///
    /// - Parameter isLeftOut: Returns whether to exclude the items of one purchase or period, with restored ones; `nil`
    ///   excludes none.
    @_spi(Ledger)
    public init(
        trustingStored purchases: some Sequence<Purchase>, renewals: [SubscriptionRenewal], at date: Instant,
        clockAllowance: Duration, productTypes: ProductCatalog, leavingOut isLeftOut: (([Item]) -> Bool)?
    ) {
        self.init(purchases.map { Source($0, nil) }, renewals, date, clockAllowance, productTypes, isLeftOut)
    }

    /// - Parameter sources: The purchases, each with the verification of its evidence, which is only passed on.
    init(
        _ sources: [Source], _ renewals: [SubscriptionRenewal], _ date: Instant, _ clockAllowance: Duration,
        _ productTypes: ProductCatalog, _ isLeftOut: (([Item]) -> Bool)? = nil
    ) {
        self.date = date
        var periods = Periods(merging: sources, productTypes)
        periods.endByFollowing()
        periods.extendByGrace(renewals)
        let moment = Moment(date: date, clockAllowance: max(clockAllowance, .zero))
        (items, subscriptions) = periods.decided(at: moment, leavingOut: isLeftOut)
        nothing = items.isEmpty ? .noProduct : nil
    }
}

extension Entitlements {
    /// The access that a purchase gives at a date, or the reason it gives none.
    @nonexhaustive
    public enum Access: Hashable, Sendable {
        /// The period of a subscription is running. It ends at this date, unless it is renewed, revoked or replaced.
        case active(until: Instant)
        /// A non-consumable is owned.
        case owned
        /// A consumable. Each is granted once: it gives no lasting access. The quantity is less than what was bought
        /// after a prorated refund.
        case consumable(quantity: Int)
        /// The purchase begins later. Apple signs renewals up to a day before they begin.
        case notYet(from: Instant)
        /// The period, or the evidence, has expired.
        case expired(at: Instant)
        /// Apple refunded or revoked the purchase; `nil` if the date is not known.
        case revoked(at: Instant?)
        /// Another subscription of the group has replaced the period before its end; `nil` if the date is not known.
        case upgraded(at: Instant?)
        /// A non-renewing subscription, whose length only the app knows: it was not among `productTypes`.
        case lengthUnknown
        /// The evidence does not say enough. ``Item/reason`` says what is missing or unknown.
        case undetermined

        /// A Boolean value that indicates whether the purchase gives access: it is ``active(until:)`` or ``owned``.
        public var givesAccess: Bool {
            switch self {
            case .active, .owned: true
            case .consumable, .notYet, .expired, .revoked, .upgraded, .lengthUnknown, .undetermined: false
            }
        }

        /// A Boolean value that indicates whether the transaction can be granted: it gives access, or it is a
        /// ``consumable(quantity:)`` with a quantity of at least 1.
        public var isGrantable: Bool {
            if case .consumable(let quantity) = self { quantity > 0 } else { givesAccess }
        }

        /// One access of each case.
        static let all: [Access] = {
            let date = Instant(millisecondsSince1970: 0)
            return [
                .active(until: date), .owned, .consumable(quantity: 1), .notYet(from: date), .expired(at: date),
                .revoked(at: nil), .upgraded(at: date), .lengthUnknown, .undetermined,
            ]
        }()

        /// The stable name in JSON, such as `not-yet`.
        public var code: String {
            switch self {
            case .active: "active"
            case .owned: "owned"
            case .consumable: "consumable"
            case .notYet: "not-yet"
            case .expired: "expired"
            case .revoked: "revoked"
            case .upgraded: "upgraded"
            case .lengthUnknown: "length-unknown"
            case .undetermined: "undetermined"
            }
        }
    }
}

extension Entitlements {
    /// How long a non-renewing subscription lasts, which only the app knows.
    @nonexhaustive
    public enum Length: Hashable, Sendable {
        /// The number of days of 24 hours that `productTypes` states.
        case days(Int)
        /// It was not among `productTypes`.
        case unknown

        /// The stable name in JSON: `unknown`, or days as ISO 8601 writes them, such as `P30D`.
        public var code: String {
            switch self {
            case .days(let days): "P\(days)D"
            case .unknown: "unknown"
            }
        }
    }
}

extension Entitlements {
    /// The reasons a purchase gives nothing. The raw values are those of JSON.
    @nonexhaustive
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        /// It begins later.
        case notYet = "not-yet"
        /// Its period, or the evidence, has expired.
        case expired
        /// Apple refunded or revoked it.
        case revoked
        /// Another subscription of the group has replaced it.
        case upgraded
        /// It is a non-renewing subscription, whose length only the app knows.
        case lengthUnknown = "length-unknown"
        /// It is a subscription without an end.
        case endMissing = "end-missing"
        /// It is an old record that says neither what kind of product it is for nor when it ends.
        case typeMissing = "type-missing"
        /// This version does not know the type of its product.
        case unknownType = "unknown-type"
        /// This version does not know its ownership.
        case unknownOwnership = "unknown-ownership"
        /// Apple signed no environment. It can be the sandbox, where nobody pays.
        case environmentMissing = "environment-missing"
        /// Apple signed no app.
        case bundleIDMissing = "bundle-id-missing"
        /// It is a consumable for which Apple signed no quantity.
        case quantityMissing = "quantity-missing"
        /// The quantity that Apple signed is 0 or below.
        case quantityInvalid = "quantity-invalid"
    }
}

extension Entitlements {
    /// The reasons evidence has no purchases. The raw values are those of JSON.
    @nonexhaustive
    public enum Nothing: String, Hashable, Sendable {
        /// A receipt has no in-app purchases, as after the installation of the app. Have the app refresh it once, then
        /// retry. Do not finish a transaction because of it.
        case emptyInApp = "empty-in-app"
        /// Nothing in the evidence is a purchase of a product.
        case noProduct = "no-product"
    }
}

// MARK: - Queries

extension Entitlements {
    /// Returns the items of a product. Each period of a subscription is one.
    ///
    /// - Parameter productID: The product's identifier, which is compared byte for byte.
    public func items(of productID: String) -> [Item] {
        items.filter { $0.purchase.productID.hasSameBytes(as: productID) }
    }

    /// Returns whether a product gives access: a subscription that is active, or a non-consumable that is owned.
    ///
    /// A subscription that was upgraded gives access to the new product only. Consumables, and non-renewing
    /// subscriptions of unknown length, give no access.
    ///
    /// - Parameter productID: The product's identifier, which is compared byte for byte.
    public func isActive(_ productID: String) -> Bool {
        items.contains { $0.access.givesAccess && $0.purchase.productID.hasSameBytes(as: productID) }
    }

    /// Returns whether at least one of several products gives access. See ``isActive(_:)``.
    ///
    /// - Parameter productIDs: The products' identifiers, which are compared byte for byte.
    public func isActive(anyOf productIDs: some Sequence<String>) -> Bool {
        let asked = Set(productIDs.map(UTF8Bytes.init))
        return items.contains { $0.access.givesAccess && asked.contains(UTF8Bytes($0.purchase.productID)) }
    }

    /// The products that give access, each once, in the order of ``items``.
    public var activeProductIDs: [String] {
        var seen: Set<UTF8Bytes> = []
        return items.compactMap { item in
            item.access.givesAccess && seen.insert(UTF8Bytes(item.purchase.productID)).inserted
                ? item.purchase.productID : nil
        }
    }

    /// The non-consumables that are owned, one item for each product: the one that was bought last.
    public var ownedNonConsumables: [Item] {
        var seen: Set<UTF8Bytes> = []
        let latest = items.reversed().filter {
            $0.access == .owned && seen.insert(UTF8Bytes($0.purchase.productID)).inserted
        }
        return latest.reversed()
    }

    /// Returns the subscription with an original transaction id, also with one from before a migration.
    ///
    /// - Parameter id: The original transaction id, which is compared byte for byte.
    public func subscription(originalTransactionID id: String) -> Subscription? {
        subscriptions.first { subscription in
            subscription.originalTransactionID.hasSameBytes(as: id)
                || subscription.periods.contains {
                    $0.purchase.originalTransactionID.hasSameBytes(as: id)
                        || $0.purchase.previousOriginalTransactionID?.hasSameBytes(as: id) ?? false
                }
        }
    }

    /// Returns the subscriptions of a subscription group. Receipts do not contain the group.
    ///
    /// - Parameter id: The identifier of the group, which is compared byte for byte.
    public func subscriptions(inGroup id: String) -> [Subscription] {
        subscriptions.filter { $0.groupID?.hasSameBytes(as: id) ?? false }
    }

    /// Returns what the purchases say about the introductory offer of a subscription group.
    ///
    /// - Parameter productIDs: The identifiers of all products of the group. A customer can use one offer for all of
    ///   them together.
    public func introductoryOffer(of productIDs: some Sequence<String>) -> IntroductoryOfferUse {
        let group = Set(productIDs.map(UTF8Bytes.init))
        return introductoryOffer { group.contains(UTF8Bytes($0.productID)) }
    }

    /// Returns what the purchases say about the introductory offer of a subscription group. Receipts do not contain the
    /// group.
    ///
    /// - Parameter id: The identifier of the group in App Store Connect.
    public func introductoryOffer(inGroup id: String) -> IntroductoryOfferUse {
        introductoryOffer { $0.subscriptionGroupID?.hasSameBytes(as: id) ?? false }
    }

    private func introductoryOffer(where isOfGroup: (Purchase) -> Bool) -> IntroductoryOfferUse {
        let used = items.first { item in
            item.purchase.purchaseDate <= date && item.purchase.offer?.isIntroductory == true
                && isOfGroup(item.purchase)
        }
        return used.map(IntroductoryOfferUse.used) ?? .notSeen
    }
}

/// What purchases say about an introductory offer.
///
/// They cannot prove that a customer is eligible: a receipt does not contain later purchases, or those of other Apple
/// accounts.
public enum IntroductoryOfferUse: Hashable, Sendable {
    /// The customer has used an offer: this purchase was a free trial or had an introductory price. A refund does not
    /// change that.
    case used(Entitlements.Item)
    /// The purchases contain no offer. Ask the App Store Server API or StoreKit about eligibility.
    case notSeen
}
