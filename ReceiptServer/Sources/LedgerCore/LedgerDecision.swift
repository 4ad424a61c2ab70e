@_spi(Ledger) @_spi(Surfaces) package import AppStoreReceipt
import StrictText

/// What follows from a request: the lineages as they are to be, the events to post, and the facts for others.
///
/// Nothing depends on the order in which evidence arrives. Each time, it computes from all evidence what an account
/// should have, and compares that with its grants. It is a pure function of what was loaded, the request, the rules
/// and the date.
package struct LedgerDecision {
    /// The transactions of one purchase or period: a restored transaction has a new id, but grants nothing new.
    struct Copies {
        var items: [(key: TransactionKey, item: Entitlements.Item)]
    }

    /// The events and facts that orders, the outbox and inquiries act on.
    package struct Effects {
        /// The events to post.
        package var events: [LedgerEvent] = []
        /// Lifecycle events about purchases without an owner, which are only counted and listed.
        package var unownedEvents: [LedgerEvent] = []
        /// Grants of new purchases, which orders may have announced.
        package var newPurchases: [NewPurchase] = []
        /// What was granted, with the original transaction.
        package var granted: [(key: TransactionKey, original: TransactionKey)] = []
        /// The ends of granted periods, with the original transaction.
        package var periodEnds: [(original: TransactionKey, end: Instant)] = []
        /// When time alone changes what was decided about a transaction.
        package var dueDates: [TransactionKey: Instant] = [:]
        /// What was submitted and not granted, or what has the token of another account.
        package var disputed: [TransactionKey] = []
        /// Periods of owned subscriptions, submitted after the period ended and not heard of before: nothing is
        /// granted for them.
        package var endedUnnotified: [TransactionKey] = []
        /// The reports to the operator.
        package var notices = LedgerNotices()

        package init() {}

        package static func += (effects: inout Effects, more: Effects) {
            effects.events += more.events
            effects.unownedEvents += more.unownedEvents
            effects.newPurchases += more.newPurchases
            effects.granted += more.granted
            effects.periodEnds += more.periodEnds
            effects.dueDates.merge(more.dueDates) { $1 }
            effects.disputed += more.disputed
            effects.endedUnnotified += more.endedUnnotified
            effects.notices += more.notices
        }
    }

    let rules: LedgerRules
    let now: Instant
    let cause: LedgerEvent.Cause
    let submission: Submission
    /// The number of the import that makes its grants; `nil` for none.
    let importRun: Int64?
    /// The lineages that the submission is about.
    let numbers: [Int64]
    package var lineages: Lineages
    /// What the evidence says.
    private(set) var groups: [Copies] = []
    private(set) var subscriptions: [Subscription] = []
    private var groupsByTransaction: [TransactionKey: Int] = [:]
    /// What this decision granted.
    var granted: Set<TransactionKey> = []
    package var effects = Effects()

    /// Records a submission, and evaluates all evidence about its lineages.
    ///
    /// - Parameters:
    ///   - numbers: The lineages that the submission is about.
    ///   - lineages: These and other lineages, with every submitted transaction in its lineage.
    package init(
        _ submission: Submission, about numbers: [Int64], in lineages: Lineages, _ rules: LedgerRules,
        _ cause: LedgerEvent.Cause, import importRun: Int64? = nil, at now: Instant
    ) {
        (self.submission, self.numbers, self.lineages) = (submission, numbers, lineages)
        (self.rules, self.cause, self.importRun, self.now) = (rules, cause, importRun, now)
        for (signed, keys) in submission.purchases { if let keys { self.lineages.record(signed, keys.transaction) } }
        for renewal in submission.renewals { self.lineages.record(renewal) }
        evaluate()
        for (number, grant) in self.lineages.structure.lost where numbers.contains(number) && grant.quantity > 0 {
            var taken = grant
            (taken.quantity, taken.seats) = (0, nil)
            effects.events.append(
                taken.event(.revoked, cause, item(of: grant.transaction), before: grant.quantity, at: now))
        }
    }

    /// Asks the library's `Entitlements` what the evidence means: which variant of a transaction counts, what it gives,
    /// and until when (see *Granting purchases*).
    private mutating func evaluate() {
        let concerned = lineages.with(numbers)
        // Stored renewal information counts, even if it arrived before anything else. So does what is submitted, even
        // if another app's displaced it: in Xcode, the ids of each app count from 0.
        let entitlements = rules.entitlements(
            of: concerned, and: submission.renewals + lineages.renewals.values, at: now)
        subscriptions = entitlements.subscriptions
        var byFirst: [TransactionKey: Int] = [:]
        for item in entitlements.items {
            guard let key = PurchaseKeys(item.purchase)?.transaction else { continue }
            let index = byFirst[key.sibling(item.firstTransactionID)] ?? groups.count
            if index == groups.count {
                byFirst[key.sibling(item.firstTransactionID)] = index
                groups.append(Copies(items: []))
            }
            groups[index].items.append((key, item))
            groupsByTransaction[key] = index
        }
    }

    // MARK: What is known

    func item(of key: TransactionKey) -> Entitlements.Item? {
        groupsByTransaction[key].flatMap { index in groups[index].items.first { $0.key == key }?.item }
    }

    func group(of key: TransactionKey) -> Copies? { groupsByTransaction[key].map { groups[$0] } }

    package func grant(of key: TransactionKey) -> Grant? { lineages[key]?.grants[key] }

    /// The grants of a purchase.
    func grants(of group: Copies) -> [Grant] {
        if group.items.count == 1, group.items[0].item.purchase.productType != .nonConsumable {
            return grant(of: group.items[0].key).map { [$0] } ?? []
        }
        return Grant.keys(of: group.items).sorted().compactMap { grant(of: $0) }
    }

    /// The grants of the purchase of a transaction.
    func grants(ofPurchaseWith key: TransactionKey) -> [Grant] { group(of: key).map { grants(of: $0) } ?? [] }

    /// The grants that repeat an account's grant of one period, made before it was known that both transactions are of
    /// one period. The first one counts.
    func repeatedGrants(_ existing: [Grant], of group: Copies) -> Set<TransactionKey> {
        guard group.items.contains(where: { $0.item.purchase.isOneOfSeveral }) else { return [] }
        var accounts: Set<UTF8Bytes> = []
        let ordered = existing.filter { !$0.isVoided }
            .sorted { ($0.grantedAt, $0.transaction) < ($1.grantedAt, $1.transaction) }
        return Set(ordered.filter { !accounts.insert(UTF8Bytes($0.account)).inserted }.map(\.transaction))
    }

    var itemsByDate: [(key: TransactionKey, item: Entitlements.Item)] {
        groups.flatMap(\.items).sorted {
            ($0.item.purchase.purchaseDate, $0.key) < ($1.item.purchase.purchaseDate, $1.key)
        }
    }

    /// The original transaction of an item.
    static func original(of key: TransactionKey, _ item: Entitlements.Item) -> TransactionKey {
        key.sibling(item.originalTransactionID)
    }

    // MARK: Changes

    @discardableResult
    mutating func add(_ grant: Grant, at date: Instant) -> Grant {
        var grant = grant
        (grant.grantedAt, grant.grantedQuantity) = (date, grant.quantity)
        keep(grant)
        return grant
    }

    mutating func change(_ grant: Grant) {
        var grant = grant
        grant.changedAt = now
        keep(grant)
    }

    private mutating func keep(_ grant: Grant) {
        guard let id = lineages.identifiers[grant.transaction] else { return }
        lineages.byID[id]?.grants[grant.transaction] = grant
    }

    /// The most disputed transactions of one request: all of a receipt have one customer.
    static let maximumDisputedCount = 20

    /// Notes that the App Store may be asked about a transaction.
    mutating func dispute(_ key: TransactionKey) {
        if effects.disputed.count < Self.maximumDisputedCount, !effects.disputed.contains(key) {
            effects.disputed.append(key)
        }
    }
}

/// A new purchase that was granted, which may have an order.
package struct NewPurchase: Sendable {
    package let grant: Grant
    /// The token of the purchase.
    package let token: AppAccountToken?
}
