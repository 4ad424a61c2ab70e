import SpanASN1
import StrictText

/// A purchase from one piece of evidence.
struct Source {
    let purchase: Purchase
    let verification: Verification?

    init(_ purchase: Purchase, _ verification: Verification?) {
        self.purchase = purchase
        self.verification = verification
    }
}

/// An identifier of an app's purchases, compared byte for byte. The sandbox never meets production, and apps never meet each other.
private struct AppKey: Hashable {
    let environment: AppStoreEnvironment?
    let bundleID: UTF8Bytes?
    let id: UTF8Bytes
    let productID: UTF8Bytes?

    init(_ id: String, of purchase: Purchase, productID: String? = nil) {
        environment = purchase.environment
        bundleID = purchase.bundleID.map(UTF8Bytes.init)
        self.id = UTF8Bytes(id)
        self.productID = productID.map(UTF8Bytes.init)
    }

    /// What restored transactions of a purchase have in common with it.
    ///
    /// For a subscription, it is the web order line item of the period; for a non-consumable, which is bought once, the original transaction. Both are of
    /// the same product.
    init?(sharedBy purchase: Purchase) {
        if purchase.productType == .nonConsumable {
            self.init(purchase.originalTransactionID, of: purchase, productID: purchase.productID)
        } else if let id = Purchase.lineItem(purchase.webOrderLineItemID) {
            self.init(id, of: purchase, productID: purchase.productID)
        } else {
            return nil
        }
    }
}

/// What all transactions of one purchase or period have in common: a restored transaction has a new id, but is for the same period.
struct Period {
    /// How a purchase ended.
    enum Reason { case expired, revoked, upgraded }

    /// The indices of the transactions. The first was bought first.
    var transactions: [Int]
    /// The first transaction, for what all have in common.
    let purchase: Purchase
    /// The product, for comparisons.
    let product: UTF8Bytes
    /// The date access begins.
    let start: Instant
    /// The date the period ends if nothing else happens.
    var expires: Instant?
    /// The date the evidence ends, which is no length: what has ended before has ended all the same.
    var evidenceEnd: Instant?
    /// The date Apple signed ``expires``.
    var expiresSigned: Instant
    /// The date access ends in a billing grace period.
    var graceEnd: Instant?
    /// The date of the revocation; `distantPast` if the date is not known.
    var revoked: Instant?
    /// What a prorated refund has left of a consumable.
    var remainingQuantity: Int?
    var isUpgraded: Bool
    /// The date a later period replaced this one; `distantPast` if the date is not known.
    var replaced: Instant?
    /// The date of the upgrade that replaced this renewal before it began.
    var replacedBeforeStart: Instant?

    /// Whether this is a period of a subscription that renews. A record without a type that has an end is one.
    var isOfSubscription: Bool {
        guard expires != nil, let type = purchase.productType else { return expires != nil }
        return type != .consumable && type != .nonConsumable && type != .nonRenewingSubscription
    }

    /// Whether it was refunded or replaced before it began. It has replaced nothing.
    var neverBegan: Bool {
        replacedBeforeStart != nil || revoked.map { $0 > .distantPast && $0 <= start } ?? false
    }

    /// What ends the purchase first, and when.
    var end: (date: Instant, reason: Reason)? {
        var end = [graceEnd ?? expires, evidenceEnd].compactMap(\.self).min().map { (date: $0, reason: Reason.expired) }
        if let revoked, revoked < end?.date ?? .distantFuture { end = (revoked, .revoked) }
        guard let replaced, replaced < end?.date ?? .distantFuture || end?.reason == .revoked else { return end }
        switch end?.date {
        case let date? where date < replaced:
            // Apple dates the cancellation of the old period within seconds of the purchase of the new one.
            return replaced - date <= .seconds(60) ? (date, .upgraded) : end
        default: return (replaced, .upgraded)
        }
    }
}

/// The moment for which entitlements are decided.
struct Moment {
    let date: Instant
    let clockAllowance: Duration

    func hasBegun(_ start: Instant) -> Bool { start <= date + clockAllowance }
}

/// All purchases, merged from their evidence, as periods and subscriptions.
struct Periods {
    /// One for each transaction, ordered by purchase date.
    private var transactions: [Source]
    /// Ordered by start, then by end.
    private var periods: [Period] = []
    /// The indices of the periods of each subscription, in their order.
    private var subscriptions: [[Int]] = []
    /// The index of the subscription of an original transaction id.
    private var subscriptionsByID: [AppKey: Int] = [:]
    private var renewals: [Int: SubscriptionRenewal] = [:]

    init(merging sources: [Source], _ endOfNonRenewing: (Purchase) -> Instant?) {
        transactions = Self.merged(sources)
        makePeriods(endOfNonRenewing)
        makeSubscriptions()
    }

    // MARK: Transactions

    /// Returns one purchase for each transaction, ordered by purchase date.
    private static func merged(_ sources: [Source]) -> [Source] {
        var groups: [[Source]] = []
        var groupsByID: [AppKey: Int] = [:]
        for source in sources {
            let key = AppKey(source.purchase.transactionID, of: source.purchase)
            if let group = groupsByID[key] {
                groups[group].append(source)
            } else {
                groupsByID[key] = groups.count
                groups.append([source])
            }
        }
        return groups.map { group in
            guard group.count > 1 else { return group[0] }
            let ordered = group.sorted { $0.purchase.isSignedBefore($1.purchase) }
            var purchase = ordered[0].purchase
            for later in ordered.dropFirst() { purchase.merge(later.purchase) }
            return Source(purchase, ordered.last { $0.verification != nil }?.verification)
        }.sorted { $0.purchase.isBefore($1.purchase) }
    }

    // MARK: Periods

    private mutating func makePeriods(_ endOfNonRenewing: (Purchase) -> Instant?) {
        var periodsByID: [AppKey: Int] = [:]
        for (index, source) in transactions.enumerated() {
            let purchase = source.purchase
            if let key = AppKey(sharedBy: purchase) {
                if let period = periodsByID[key] {
                    periods[period].add(purchase, index)
                    continue
                }
                periodsByID[key] = periods.count
            }
            periods.append(Period(purchase, index))
        }
        for index in periods.indices {
            let purchase = periods[index].purchase
            if purchase.productType == .nonRenewingSubscription, periods[index].expires == nil {
                periods[index].expires = endOfNonRenewing(purchase)
            }
        }
    }

    // MARK: Subscriptions

    /// Joins the periods with one original transaction id, also over migrations.
    private mutating func makeSubscriptions() {
        var parents: [AppKey: AppKey] = [:]
        func root(_ key: AppKey) -> AppKey {
            var key = key
            while let parent = parents[key] {
                // Each search halves the way of the next.
                parents[key] = parents[parent] ?? parent
                key = parent
            }
            return key
        }
        for period in periods where period.isOfSubscription {
            for previous in previousIDs(of: period) {
                let old = root(previous)
                let new = root(AppKey(period.purchase.originalTransactionID, of: period.purchase))
                if old != new { parents[old] = new }
            }
        }
        for (index, period) in periods.enumerated() where period.isOfSubscription {
            let id = AppKey(period.purchase.originalTransactionID, of: period.purchase)
            let key = root(id)
            let subscription = subscriptionsByID[key] ?? subscriptions.count
            if subscription == subscriptions.count { subscriptions.append([]) }
            subscriptions[subscription].append(index)
            subscriptionsByID[key] = subscription
            subscriptionsByID[id] = subscription
            for previous in previousIDs(of: period) { subscriptionsByID[previous] = subscription }
        }
    }

    /// The original transaction ids before migrations, from all transactions of a period.
    private func previousIDs(of period: Period) -> [AppKey] {
        period.transactions.compactMap { index in
            let purchase = transactions[index].purchase
            return purchase.previousOriginalTransactionID.map { AppKey($0, of: purchase) }
        }
    }

    /// Ends each period at the start of the one that replaces it.
    mutating func endByFollowing() {
        // Apple marks nothing but periods. What is marked without being one has ended all the same.
        for index in periods.indices where periods[index].isUpgraded && !periods[index].isOfSubscription {
            periods[index].replaced = periods[index].revoked ?? .distantPast
        }
        for subscription in subscriptions {
            markRenewalsReplacedBeforeStart(in: subscription)
            /// The next period that began, and the next after it of a product other than its own.
            var next: Int?
            var nextOther: Int?
            for index in subscription.reversed() {
                let other = next.map { periods[$0].product != periods[index].product } ?? false ? next : nextOther
                periods[index].replaced =
                    periods[index].replacedBeforeStart ?? replacement(of: index, next: next, nextOther: other)
                // An upgrade is why it was cancelled. A revocation without a date counts always.
                if periods[index].isUpgraded, periods[index].revoked == .distantPast {
                    periods[index].replaced = .distantPast
                }
                if !periods[index].neverBegan { (next, nextOther) = (index, other) }
            }
        }
    }

    /// Apple signs a renewal up to a day before it begins. An upgrade in between replaces the renewal, too.
    private mutating func markRenewalsReplacedBeforeStart(in subscription: [Int]) {
        struct End: Hashable {
            let product: UTF8Bytes
            let date: Instant
        }
        var startsByEnd: [End: Instant] = [:]
        var previous: Int?
        for index in subscription {
            let period = periods[index]
            if period.isUpgraded, let previous, periods[previous].product != period.product,
                let renewed = startsByEnd[End(product: period.product, date: period.start)],
                renewed < periods[previous].start, periods[previous].start < period.start,
                periods[previous].expires.map({ $0 > period.start }) ?? false
            {
                periods[index].replacedBeforeStart = periods[previous].start
            }
            if !periods[index].neverBegan { previous = index }
            if let expires = period.expires { startsByEnd[End(product: period.product, date: expires)] = period.start }
        }
    }

    private func replacement(of index: Int, next: Int?, nextOther: Int?) -> Instant? {
        let period = periods[index]
        func start(_ next: Int?) -> Instant? {
            guard let next, let expires = period.expires, periods[next].start < expires else { return nil }
            return periods[next].start
        }
        // Only an upgrade begins within the period it follows. That of the same product is a renewal, unless Apple says otherwise.
        var replaced = start(nextOther)
        if period.isUpgraded || period.revoked.map({ $0 > .distantPast }) ?? false, let start = start(next) {
            replaced = min(start, replaced ?? start)
        }
        if period.isUpgraded, replaced == nil {
            // The period that replaced it is not among the purchases.
            replaced = period.revoked ?? .distantPast
        }
        return replaced
    }

    /// Extends the last period that each renewal information is about until the end of its grace period.
    mutating func extendByGrace(_ all: [SubscriptionRenewal]) {
        guard !all.isEmpty else { return }
        /// Renewal information has no bundle id. Original transaction ids are unique in an environment.
        struct Key: Hashable {
            let environment: AppStoreEnvironment?
            let id: UTF8Bytes
        }
        var subscriptionsByID: [Key: [Int]] = [:]
        for (key, subscription) in self.subscriptionsByID {
            subscriptionsByID[Key(environment: key.environment, id: key.id), default: []].append(subscription)
        }
        for renewal in all {
            let key = Key(environment: renewal.environment, id: UTF8Bytes(renewal.originalTransactionID))
            for subscription in subscriptionsByID[key] ?? [] {
                if let other = renewals[subscription], !other.isSignedBefore(renewal) { continue }
                renewals[subscription] = renewal
            }
        }
        for (subscription, renewal) in renewals {
            guard let graceEnd = renewal.gracePeriodExpiresDate else { continue }
            let product = renewal.productID.map(UTF8Bytes.init)
            let order = subscriptions[subscription]
            guard
                let place = order.lastIndex(where: {
                    periods[$0].start <= renewal.signedDate && (product == nil || product == periods[$0].product)
                }), let expires = periods[order[place]].expires, expires < graceEnd
            else { continue }
            // The next period ends the grace period.
            let next = order[(place + 1)...].first { !periods[$0].neverBegan }
            periods[order[place]].graceEnd = max(expires, min(graceEnd, next.map { periods[$0].start } ?? graceEnd))
        }
    }

    // MARK: Decisions

    func decided(at moment: Moment) -> (items: [Entitlements.Item], subscriptions: [Subscription]) {
        var items: [Entitlements.Item?] = Array(repeating: nil, count: transactions.count)
        for period in periods {
            let end = period.end
            let access = period.access(at: moment, end)
            var until = end.flatMap { $0.date == .distantPast ? nil : $0.date }
            if case .consumable = access { until = nil }
            let firstTransaction = UTF8Bytes(transactions[period.transactions[0]].purchase.transactionID)
            for index in period.transactions {
                items[index] = Entitlements.Item(
                    purchase: transactions[index].purchase, access: access, until: until,
                    firstTransaction: firstTransaction, verification: transactions[index].verification)
            }
        }
        let all = items.compactMap(\.self)
        return (all, subscriptions.indices.compactMap { subscription($0, all, at: moment) })
    }

    /// Returns `nil` for a subscription that has not begun.
    private func subscription(_ index: Int, _ items: [Entitlements.Item], at moment: Moment) -> Subscription? {
        let order = subscriptions[index]
        func item(_ period: Int) -> Entitlements.Item { items[periods[period].transactions[0]] }
        let begun = order.filter { moment.hasBegun(periods[$0].start) }
        guard let current = begun.last(where: { item($0).access.givesAccess }) ?? begun.last else { return nil }
        let period = periods[current]
        let isActive = item(current).access.givesAccess
        var expiry: Instant
        if isActive {
            expiry = period.end?.date ?? .distantFuture
            for next in order.drop(while: { $0 <= current }) where !periods[next].neverBegan {
                guard periods[next].start <= expiry else { break }
                expiry = max(expiry, periods[next].end?.date ?? expiry)
            }
        } else {
            // A renewal that was refunded before it began does not shorten the period before it.
            let ends = begun.compactMap { periods[$0].end?.date }.filter { $0 > .distantPast }
            expiry = ends.max() ?? min(period.start, moment.date)
        }
        return Subscription(
            periods: order.map(item), currentPeriod: item(current),
            expiresDate: expiry, isInGracePeriod: isActive && period.expires.map { $0 <= moment.date } ?? false,
            renewal: renewals[index])
    }
}

extension Period {
    init(_ purchase: Purchase, _ index: Int) {
        transactions = [index]
        self.purchase = purchase
        product = UTF8Bytes(purchase.productID)
        start = purchase.purchaseDate
        expires = purchase.periodEnd
        evidenceEnd = purchase.evidenceEnd
        expiresSigned = purchase.signedDate
        revoked = purchase.revocation
        remainingQuantity = purchase.remainingQuantity
        isUpgraded = purchase.isUpgraded ?? false
    }

    /// Adds another transaction of the period.
    mutating func add(_ purchase: Purchase, _ index: Int) {
        transactions.append(index)
        isUpgraded = isUpgraded || purchase.isUpgraded ?? false
        // A refund is signed for one transaction. Its copies say nothing of it.
        if let revocation = purchase.revocation { revoked = min(revoked ?? revocation, revocation) }
        // Evidence that does not end proves the period when other evidence has ended.
        evidenceEnd = evidenceEnd.flatMap { date in purchase.evidenceEnd.map { max($0, date) } }
        if let end = purchase.periodEnd, expires == nil || purchase.signedDate > expiresSigned {
            (expires, expiresSigned) = (end, purchase.signedDate)
        }
    }

    fileprivate func access(
        at moment: Moment, _ end: (date: Instant, reason: Reason)?
    ) -> Entitlements.Access {
        if let end, end.date <= moment.date {
            let date = end.date == .distantPast ? nil : end.date
            switch end.reason {
            case .expired: return .expired(at: end.date)
            case .upgraded: return .upgraded(at: date)
            case .revoked:
                guard purchase.productType == .consumable, let remainingQuantity, remainingQuantity > 0 else {
                    return .revoked(at: date)
                }
                return moment.hasBegun(start) ? .consumable(quantity: remainingQuantity) : .notYet(from: start)
            }
        }
        guard moment.hasBegun(start) else { return .notYet(from: start) }
        switch purchase.productType {
        case .consumable: return .consumable(quantity: purchase.quantity)
        case .nonConsumable: return .owned
        case .nonRenewingSubscription:
            return expires.map { _ in .active(until: end?.date ?? .distantFuture) } ?? .lengthUnknown
        default: return expires.map { _ in .active(until: end?.date ?? .distantFuture) } ?? .undetermined
        }
    }
}

// MARK: - Purchases

extension Purchase {
    /// The end of the period. Only what lasts can end.
    fileprivate var periodEnd: Instant? { productType == .consumable ? nil : expiresDate }

    /// The end of the evidence, with which access ends.
    fileprivate var evidenceEnd: Instant? { productType == .consumable ? nil : evidenceExpirationDate }

    /// The date of the revocation; `distantPast` if the date is not known.
    fileprivate var revocation: Instant? { isRevoked == true ? revocationDate ?? .distantPast : nil }

    /// What a prorated refund leaves of the quantity, to the nearest whole; `nil` if the whole was refunded.
    fileprivate var remainingQuantity: Int? {
        guard revocationType == nil || revocationType == .proratedRefund, let revocationPercentage,
            0..<100_000 ~= revocationPercentage
        else { return nil }
        return Int((Int128(quantity) * Int128(100_000 - revocationPercentage) + 50_000) / 100_000)
    }

    /// Orders purchases by purchase date, then by end, then by identifiers, so that the order of the evidence decides nothing.
    fileprivate func isBefore(_ other: Purchase) -> Bool {
        func dates(_ purchase: Purchase) -> (Instant, Instant) {
            (purchase.purchaseDate, purchase.expiresDate ?? .distantFuture)
        }
        let (mine, others) = (dates(self), dates(other))
        guard mine == others else { return mine < others }
        return key.lexicographicallyPrecedes(other.key)
    }

    private var key: [UInt8] {
        [transactionID, bundleID ?? "", environment?.rawValue ?? ""].flatMap { Array($0.utf8) + [0] }
    }

    /// Orders what was signed by its date. What was signed together is ordered so that a revocation, an upgrade and the larger values count.
    fileprivate func isSignedBefore(_ other: Purchase) -> Bool {
        guard signedDate == other.signedDate else { return signedDate < other.signedDate }
        func flags(_ purchase: Purchase) -> (Int, Int, Instant, Instant) {
            (
                purchase.isRevoked == true ? 1 : 0, purchase.isUpgraded == true ? 1 : 0,
                purchase.expiresDate ?? .distantPast, purchase.purchaseDate
            )
        }
        let (mine, others) = (flags(self), flags(other))
        guard mine == others else { return mine < others }
        return values.lexicographicallyPrecedes(other.values)
    }

    /// What two pieces of evidence of one transaction could still contradict each other about, for an order that is the same on every day.
    private var values: [UInt8] {
        [
            productID, "\(quantity)", productType?.rawValue, originalTransactionID, webOrderLineItemID,
            subscriptionGroupID, appAccountToken?.description, ownershipType?.rawValue, offer?.id,
            offer?.discountType?.rawValue, "\(offer?.type?.rawValue ?? 0)", offer?.period,
            previousOriginalTransactionID, revocationDate?.description, revocationReason.map { "\($0.rawValue)" },
            revocationType?.rawValue, revocationPercentage.map { "\($0)" }, originalPurchaseDate?.description,
            isRevoked.map { "\($0)" },
        ].flatMap { Array(($0 ?? "").utf8) + [0] }
    }

    /// Takes what a later signature says, and keeps what it cannot say.
    fileprivate mutating func merge(_ later: Purchase) {
        productID = later.productID
        productType = later.productType ?? productType
        quantity = later.quantity
        subscriptionGroupID = later.subscriptionGroupID ?? subscriptionGroupID
        offer = PurchaseOffer(merging: offer, later.offer)
        // Its own id stands where a source has no original transaction id.
        if !later.originalTransactionID.hasSameBytes(as: later.transactionID)
            || originalTransactionID.hasSameBytes(as: transactionID)
        {
            originalTransactionID = later.originalTransactionID
        }
        previousOriginalTransactionID = later.previousOriginalTransactionID ?? previousOriginalTransactionID
        webOrderLineItemID = later.webOrderLineItemID ?? webOrderLineItemID
        purchaseDate = later.purchaseDate
        originalPurchaseDate = later.originalPurchaseDate ?? originalPurchaseDate
        expiresDate = later.expiresDate ?? expiresDate
        signedDate = later.signedDate
        // Evidence that does not expire proves the purchase when other evidence has expired.
        evidenceExpirationDate = evidenceExpirationDate.flatMap { date in
            later.evidenceExpirationDate.map { max($0, date) }
        }
        if later.isRevoked == false {
            isRevoked = false
            (revocationDate, revocationReason, revocationType, revocationPercentage) = (nil, nil, nil, nil)
        } else if later.isRevoked == true {
            isRevoked = true
            revocationDate = later.revocationDate ?? revocationDate
            revocationReason = later.revocationReason ?? revocationReason
            revocationType = later.revocationType ?? revocationType
            revocationPercentage = later.revocationPercentage ?? revocationPercentage
        }
        isUpgraded = later.isUpgraded ?? isUpgraded
        ownershipType = later.ownershipType ?? ownershipType
        appAccountToken = later.appAccountToken ?? appAccountToken
    }
}

extension PurchaseOffer {
    /// Merges what two signatures say, of which the second is the later.
    fileprivate init?(merging first: PurchaseOffer?, _ later: PurchaseOffer?) {
        guard let first, let later else {
            guard let offer = later ?? first else { return nil }
            self = offer
            return
        }
        self.init(
            type: later.type ?? first.type, id: later.id ?? first.id,
            discountType: later.discountType ?? first.discountType, period: later.period ?? first.period)
    }
}

extension SubscriptionRenewal {
    /// Orders what was signed by its date, and what was signed together so that the order of the evidence decides nothing.
    fileprivate func isSignedBefore(_ other: SubscriptionRenewal) -> Bool {
        func order(_ renewal: SubscriptionRenewal) -> (Instant, Instant, Int64, Instant) {
            (
                renewal.signedDate, renewal.gracePeriodExpiresDate ?? .distantPast,
                renewal.autoRenewStatus?.rawValue ?? -1, renewal.renewalDate ?? .distantPast
            )
        }
        let (mine, others) = (order(self), order(other))
        guard mine == others else { return mine < others }
        return values.lexicographicallyPrecedes(other.values)
    }
    /// What two pieces of renewal information could still contradict each other about.
    private var values: [UInt8] {
        [
            productID, nextProductID, isInBillingRetryPeriod.map { "\($0)" }, expirationIntent.map { "\($0.rawValue)" },
            priceIncreaseStatus.map { "\($0.rawValue)" }, originalTransactionID,
        ].flatMap { Array(($0 ?? "").utf8) + [0] }
    }
}
