import Instants
import StrictText

/// A purchase from one piece of evidence.
struct Source {
    private(set) var purchase: Purchase
    let verification: SignerVerification?
    /// The other purchase dates that Apple signed, each second once: an old receipt has the date of the last
    /// restoration.
    private let otherDates: [Instant]
    private(set) var typeSource = Entitlements.TypeSource.evidence

    /// - Parameter evidence: The same purchase as each piece of evidence has it.
    init(_ purchase: Purchase, _ verification: SignerVerification?, mergedFrom evidence: [Source] = []) {
        self.purchase = purchase
        self.verification = verification
        var seconds: Set<Int64> = [purchase.purchaseDate.secondsSince1970]
        let others = evidence.map(\.purchase.purchaseDate).filter { seconds.insert($0.secondsSince1970).inserted }
        otherDates = others.isEmpty ? [] : Array(others.sorted().prefix(PurchaseKeys.maximumFormerCount))
    }

    /// The length of a non-renewing subscription, as the app states it.
    var statedLength: Duration? {
        switch typeSource {
        case .stated(let type), .lengthStated(let type): type.length
        case .evidence, .contradicted: nil
        }
    }

    var hasOneDate: Bool { otherDates.isEmpty }
    /// All purchase dates, each second once.
    var dates: [Instant] { [purchase.purchaseDate] + otherDates }
    var firstDate: Instant { dates.min() ?? purchase.purchaseDate }

    /// Takes what the app states of the product where the evidence does not say it.
    mutating func take(_ stated: CatalogType) {
        // Apple gives an end to periods of subscriptions that renew, and to nothing else.
        let type = purchase.productType ?? (purchase.expiresDate == nil ? nil : .autoRenewableSubscription)
        guard type == nil || type == stated.productType else {
            typeSource = .contradicted(stated)
            return
        }
        if purchase.productType == nil {
            typeSource = .stated(stated)
        } else if stated.length != nil {
            typeSource = .lengthStated(stated)
        }
        purchase.productType = stated.productType
    }
}

/// An identifier of an app's purchases, compared byte for byte. Different environments, apps, and members with assigned
/// seats never share one, nor does such a member share the buyer's.
private struct AppKey: Hashable {
    let environment: AppStoreEnvironment?
    let bundleID: UTF8Bytes?
    let id: UTF8Bytes
    let productID: UTF8Bytes?
    let member: Member?

    init(_ id: String, of purchase: Purchase, productID: String? = nil) {
        self.init(id, of: purchase, productID: productID, member: Member(of: purchase))
    }

    private init(_ id: String, of purchase: Purchase, productID: String?, member: Member?) {
        environment = purchase.environment
        bundleID = purchase.bundleID.map(UTF8Bytes.init)
        self.id = UTF8Bytes(id)
        self.productID = productID.map(UTF8Bytes.init)
        self.member = member
    }

    /// The transaction, whose evidence need not name its owner.
    init(transactionOf purchase: Purchase) {
        self.init(purchase.transactionID, of: purchase, productID: nil, member: nil)
    }

    /// What restored transactions of a purchase have in common with it.
    ///
    /// For a subscription, it is the web order line item of the period; for a non-consumable, which is bought once, the
    /// original transaction. Both are of the same product.
    init?(sharedBy purchase: Purchase) {
        if purchase.productType == .nonConsumable {
            self.init(purchase.originalTransactionID, of: purchase, productID: purchase.productID)
        } else if let id = Purchase.lineItem(purchase.webOrderLineItemID) {
            self.init(id, of: purchase, productID: purchase.productID)
        } else {
            return nil
        }
    }

    /// Few keys have these in common.
    func hash(into hasher: inout Hasher) {
        hasher.combine(id)
        hasher.combine(productID)
        hasher.combine(member)
    }
}

/// A member to whom a seat is assigned. Without an app transaction, nothing says which transactions are of one member.
private enum Member: Hashable {
    case appTransaction(UTF8Bytes)
    case transaction(UTF8Bytes)

    init?(of purchase: Purchase) {
        guard purchase.ownershipType == .assigned else { return nil }
        self =
            purchase.appTransactionID.map { .appTransaction(UTF8Bytes($0)) }
            ?? .transaction(UTF8Bytes(purchase.transactionID))
    }
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

    init(merging sources: [Source], _ productTypes: ProductCatalog) {
        transactions = Self.merged(sources)
        take(productTypes)
        makePeriods()
        makeSubscriptions()
        joinAdditions()
    }

    // MARK: Transactions

    /// Returns one purchase for each transaction, ordered by purchase date.
    private static func merged(_ sources: [Source]) -> [Source] {
        var groups: [[Source]] = []
        var groupsByID: [AppKey: Int] = [:]
        for source in sources {
            let key = AppKey(transactionOf: source.purchase)
            if let group = groupsByID[key] {
                groups[group].append(source)
            } else {
                groupsByID[key] = groups.count
                groups.append([source])
            }
        }
        let merged = groups.map { group in
            guard group.count > 1 else { return group[0] }
            let ordered = group.sorted(by: { SignatureOrder($0.purchase) }, <)
            var purchase = ordered[0].purchase
            for later in ordered.dropFirst() { purchase.merge(later.purchase) }
            return Source(purchase, ordered.last { $0.verification != nil }?.verification, mergedFrom: ordered)
        }
        return merged.sorted(by: { PurchaseOrder($0.purchase) }, <)
    }

    private mutating func take(_ productTypes: ProductCatalog) {
        for index in transactions.indices {
            let purchase = transactions[index].purchase
            // Most apps state nothing, and then no key is made.
            let now = productTypes.isEmpty ? nil : productTypes[purchase.productID]
            if let type = purchase.statedType ?? now { transactions[index].take(type) }
        }
    }

    // MARK: Periods

    private mutating func makePeriods() {
        var periodsByID: [AppKey: Int] = [:]
        for (index, source) in transactions.enumerated() {
            let purchase = source.purchase
            if let key = AppKey(sharedBy: purchase) {
                if let period = periodsByID[key] {
                    // Added seats are no copy of the earlier purchase.
                    if !purchase.isOneOfSeveral {
                        periods[period].add(purchase, index)
                        continue
                    }
                    // A copy names no reason, and can precede a purchase of the same time.
                    if !periods[period].purchase.isOneOfSeveral, periods[period].start == purchase.purchaseDate {
                        let copies = periods[period].transactions
                        periods[period] = Period(purchase, index)
                        for copy in copies { periods[period].add(transactions[copy].purchase, copy) }
                        continue
                    }
                } else {
                    periodsByID[key] = periods.count
                }
            }
            periods.append(Period(purchase, index))
        }
        for index in periods.indices {
            guard periods[index].expires == nil else { continue }
            let length = transactions[periods[index].transactions[0]].statedLength
            periods[index].expires = length.map { periods[index].start + $0 }
        }
    }

    // MARK: Subscriptions

    /// Joins the periods with one original transaction id, also over migrations.
    private mutating func makeSubscriptions() {
        var parents: [AppKey: AppKey] = [:]
        func root(_ key: AppKey) -> AppKey {
            var key = key
            while let parent = parents[key] {
                // Halves the path of later searches.
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

    /// Joins the buyer's periods that are one, to which seats were added.
    private mutating func joinAdditions() {
        guard transactions.contains(where: { $0.purchase.isOneOfSeveral }) else { return }
        /// Transactions that can be one period.
        enum Key: Hashable {
            /// No other product is between them.
            case bought(AppKey, change: Int)
            /// They are renewals of one second, which an upgrade cancelled. Some may be known only from before it.
            case cancelled(AppKey, second: Int64)
        }
        func originalKey(_ purchase: Purchase) -> AppKey {
            AppKey(purchase.originalTransactionID, of: purchase, productID: purchase.productID)
        }
        func renewalKey(_ period: Period) -> Key {
            .cancelled(originalKey(period.purchase), second: period.start.secondsSince1970)
        }
        var joined: Set<Int> = []
        for subscription in subscriptions {
            markRenewalsReplacedBeforeStart(in: subscription)
            let buyers = subscription.filter { periods[$0].purchase.isOfBuyer }
            let cancelled = Set(buyers.map { periods[$0] }.filter(\.isCancelledRenewal).map(renewalKey))
            var additions: [Key: SeatAdditions] = [:]
            var product: UTF8Bytes?
            var change = 0
            /// The latest end of those that began, whatever replaced them.
            var latestEnd = Instant.distantPast
            for index in buyers {
                let (period, purchase) = (periods[index], periods[index].purchase)
                let renewal = renewalKey(period)
                let isCancelled = cancelled.contains(renewal)
                let neverBegan = period.neverBegan || isCancelled
                // A renewal that never began changes nothing while another product's period runs. Periods that had
                // ended before it decide nothing.
                if product != period.product, !neverBegan || period.start >= latestEnd {
                    (product, change) = (period.product, change + 1)
                }
                if !neverBegan { latestEnd = max(latestEnd, period.expires ?? .distantFuture) }
                guard var end = period.expires else { continue }
                // An upgraded period had ended when Apple signed it, and when it was cancelled.
                if let signed = period.upgradeSigned, !isCancelled {
                    end = min(end, signed)
                    if let revoked = period.revoked, revoked > .distantPast { end = min(end, revoked) }
                }
                guard period.start < end else { continue }
                let key = isCancelled ? renewal : .bought(originalKey(purchase), change: change)
                additions[key, default: SeatAdditions()]
                    .add(index, period.start..<end, isOneOfSeveral: purchase.isOneOfSeveral)
            }
            for indices in additions.values.flatMap(\.periods) {
                periods[indices[0]] = Period(joining: indices.map { periods[$0] })
                joined.formUnion(indices.dropFirst())
            }
        }
        let left = periods.indices.filter { !joined.contains($0) }
        let places = Dictionary(uniqueKeysWithValues: zip(left, left.indices))
        periods = left.map { periods[$0] }
        subscriptions = subscriptions.map { $0.compactMap { places[$0] } }
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
        // Apple sets `isUpgraded` only on subscription periods. Treat any other marked purchase as ended.
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
                // The upgrade cancelled it. A revocation without a date always counts.
                if periods[index].isUpgraded, periods[index].revoked == .distantPast {
                    periods[index].replaced = .distantPast
                }
                if !periods[index].neverBegan { (next, nextOther) = (index, other) }
            }
        }
    }

    /// Apple signs a renewal up to a day before it begins. An upgrade in between replaces the renewal, too.
    private mutating func markRenewalsReplacedBeforeStart(in subscription: [Int]) {
        /// A receipt has dates in seconds.
        struct Second: Hashable {
            let product: UTF8Bytes
            let second: Int64
        }
        /// The last period that began, and the last one of a product other than its own.
        struct Begun {
            var last: Int?
            var lastOther: Int?
        }
        /// The transactions of one renewal. Some may be known only from before the upgrade that cancelled it.
        struct Renewal {
            let start: Second
            let before: Begun
            var isCancelled = false
        }
        /// By the second alone: a renewal can be of another product than the period that it renews.
        var startsByEnd: [Int64: Instant] = [:]
        var begun = Begun()
        var renewal: Renewal?
        for index in subscription {
            let period = periods[index]
            let start = Second(product: period.product, second: period.start.secondsSince1970)
            var current = renewal.flatMap { $0.start == start ? $0 : nil } ?? Renewal(start: start, before: begun)
            // The customer can have returned from the upgrade before the renewal would have begun.
            let isOther = current.before.last.map { periods[$0].product != period.product } ?? false
            if let other = isOther ? current.before.last : current.before.lastOther,
                // What was signed before the upgrade cannot say that it is cancelled.
                period.isUpgraded || period.expiresSigned < periods[other].start,
                let renewed = startsByEnd[start.second],
                renewed < periods[other].start, periods[other].start < period.start,
                periods[other].expires.map({ $0 > period.start }) ?? false
            {
                periods[index].replacedBeforeStart = periods[other].start
            }
            if periods[index].isCancelledRenewal { current.isCancelled = true }
            if current.isCancelled {
                begun = current.before
            } else if !periods[index].neverBegan {
                if let last = begun.last, periods[last].product != period.product { begun.lastOther = last }
                begun.last = index
            }
            renewal = current
            if let expires = period.expires { startsByEnd[expires.secondsSince1970] = period.start }
        }
    }

    private func replacement(of index: Int, next: Int?, nextOther: Int?) -> Instant? {
        let period = periods[index]
        // The upgrade replaced it, whatever was bought later.
        if period.isCancelledRenewal { return period.revoked ?? .distantPast }
        func start(_ next: Int?) -> Instant? {
            guard let next, let expires = period.expires, periods[next].start < expires else { return nil }
            return periods[next].start
        }
        // Only an upgrade begins within the previous period. One of the same product is a renewal, unless Apple says
        // otherwise.
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
        /// Renewal information has no bundle id of its own. Original transaction ids are unique in an environment.
        struct Key: Hashable {
            let environment: AppStoreEnvironment?
            let id: UTF8Bytes
        }
        var subscriptionsByID: [Key: [UTF8Bytes?: Int]] = [:]
        for (key, subscription) in self.subscriptionsByID where key.member == nil {
            subscriptionsByID[Key(environment: key.environment, id: key.id), default: [:]][key.bundleID] = subscription
        }
        for renewal in all.sorted(by: SignatureOrder.init, <) {
            let key = Key(environment: renewal.environment, id: UTF8Bytes(renewal.originalTransactionID))
            guard let apps = subscriptionsByID[key] else { continue }
            let named = renewal.bundleID.map { apps[UTF8Bytes($0)] }
            // Without an app, ignore it if two apps have the id.
            if let subscription = named ?? (apps.count == 1 ? apps.values.first : nil) {
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
                }), let expires = periods[order[place]].expires
            else { continue }
            // The next period ends the grace period.
            let next = order[(place + 1)...].first { !periods[$0].neverBegan }
            periods[order[place]].graceEnd = max(expires, min(graceEnd, next.map { periods[$0].start } ?? graceEnd))
        }
    }

    // MARK: Decisions

    func decided(
        at moment: Moment, leavingOut isLeftOut: (([Entitlements.Item]) -> Bool)?
    ) -> (items: [Entitlements.Item], subscriptions: [Subscription]) {
        var items: [Entitlements.Item?] = Array(repeating: nil, count: transactions.count)
        for period in periods {
            let end = period.end
            let access = period.access(at: moment, end)
            let quantity = period.quantity(at: moment, access)
            let reason = period.reason(for: access)
            var until = end.flatMap { $0.date == .distantPast ? nil : $0.date }
            if case .consumable = access { until = nil }
            let firstTransaction = UTF8Bytes(transactions[period.transactions[0]].purchase.transactionID)
            let sources = period.transactions.map { transactions[$0] }
            let keys = sources.count == 1 && sources[0].hasOneDate ? [] : PurchaseKeys.keys(of: sources)
            let keysByTransaction = Dictionary(uniqueKeysWithValues: zip(period.transactions, keys))
            let seats = period.seats(at: moment, transactions)
            let nextChange = period.nextChange(after: moment, saysSeats: seats != nil)
            // Any number can be signed.
            let periodSeats = seats?.reduce(0) { sum, seats in
                let (sum, isTooLarge) = sum.addingReportingOverflow(seats)
                return isTooLarge ? .max : sum
            }
            for (place, bought) in period.bought.enumerated() {
                for index in bought.transactions {
                    let source = transactions[index]
                    items[index] = Entitlements.Item(
                        purchase: source.purchase, typeSource: source.typeSource, access: access, reason: reason,
                        accessEndDate: until, quantity: quantity, seats: seats?[place], periodSeats: periodSeats,
                        nextChange: nextChange, keys: keysByTransaction[index] ?? nil,
                        firstTransaction: firstTransaction, verification: source.verification)
                }
            }
        }
        separateKeys(of: &items)
        let all = items.compactMap(\.self)
        let leftOut = isLeftOut.map { isLeftOut in
            Set(periods.indices.filter { isLeftOut(periods[$0].transactions.map { all[$0] }) })
        }
        for period in leftOut ?? [] { for index in periods[period].transactions { items[index] = nil } }
        return (
            leftOut == nil ? all : items.compactMap(\.self),
            subscriptions.indices.compactMap { subscription($0, all, leftOut ?? [], at: moment) }
        )
    }

    /// Removes former keys that another purchase has now, which would be granted repeatedly: a member's may have been
    /// granted as the buyer's, and restored transactions of several periods may have had one date.
    private func separateKeys(of items: inout [Entitlements.Item?]) {
        guard items.contains(where: { $0.map { $0.keys != nil || $0.purchase.canHaveFormerKeys } ?? false })
        else { return }
        let known = items.map { item in item.flatMap { $0.keys ?? PurchaseKeys(of: $0.purchase) } }
        let current = Set(known.compactMap { $0?.key })
        for (index, keys) in known.enumerated() { items[index]?.keys = keys?.without(current) }
    }

    /// Returns `nil` for a subscription that has not begun, or whose periods are left out.
    private func subscription(
        _ index: Int, _ items: [Entitlements.Item], _ leftOut: Set<Int>, at moment: Moment
    ) -> Subscription? {
        let order = leftOut.isEmpty ? subscriptions[index] : subscriptions[index].filter { !leftOut.contains($0) }
        func item(_ period: Int) -> Entitlements.Item { items[periods[period].transactions[0]] }
        let begun = order.filter { moment.hasBegun(periods[$0].start) }
        guard
            let current = begun.last(where: { item($0).access.givesAccess })
                ?? begun.last(where: { !periods[$0].isCancelledRenewal }) ?? begun.last
        else { return nil }
        let period = periods[current]
        // A receipt does not name the owner: another period can show that all are a member's.
        let isOfBuyer = order.allSatisfy { periods[$0].transactions.allSatisfy { transactions[$0].purchase.isOfBuyer } }
        let isActive = item(current).access.givesAccess
        var expiry: Instant
        if isActive {
            // A period can lie within another one.
            expiry =
                begun.lazy.filter { item($0).access.givesAccess }
                .map { periods[$0].end?.date ?? .distantFuture }.max() ?? .distantFuture
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
            renewal: isOfBuyer ? renewals[index] : nil)
    }
}

extension Array {
    /// Returns the elements in the order of their keys. Makes each key once.
    fileprivate func sorted<Key>(by key: (Element) -> Key, _ precedes: (Key, Key) -> Bool) -> [Element] {
        guard count > 1 else { return self }
        let keys = map(key)
        return indices.sorted { precedes(keys[$0], keys[$1]) }.map { self[$0] }
    }
}
