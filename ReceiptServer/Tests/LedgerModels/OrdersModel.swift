@_spi(Ledger) package import AppStoreReceipt
package import LedgerCore

/// The rules R1 to R15 of one customer without a database: everything that ever arrived, and all of it computed anew.
/// All transactions of a lineage have one original transaction.
package struct OrdersModel {
    package struct Order: Equatable {
        package let id: String
        package internal(set) var account: String
        package let productID: String
        package let createdAt: Instant
        package let token: AppAccountToken
        package let shopOrderID: String?
        package internal(set) var transactionID: String?
        /// Whether events name it.
        var isNamed = false

        package init(
            id: String, account: String, productID: String, createdAt: Instant, token: AppAccountToken,
            shopOrderID: String?
        ) {
            (self.id, self.account, self.productID) = (id, account, productID)
            (self.createdAt, self.token, self.shopOrderID) = (createdAt, token, shopOrderID)
        }
    }

    private struct Place: Hashable {
        let token: AppAccountToken
        let lineage: String
    }

    private let rules: LedgerRules
    private var purchases: [Purchase] = []
    private var renewals: [SubscriptionRenewal] = []
    /// By original transaction.
    package private(set) var owners: [String: String] = [:]
    package private(set) var grants: [String: LedgerState.Row] = [:]
    package private(set) var tokens: [AppAccountToken: (account: String, isRetired: Bool)] = [:]
    private var reported: Set<Place> = []
    package private(set) var conflicts: [String] = []
    package private(set) var orders: [Order] = []
    package private(set) var unordered: Set<String> = []
    /// The date of each lineage's last decision, which goes back with a clock.
    private var decided: [String: Instant] = [:]

    package init(_ rules: LedgerRules) { self.rules = rules }

    // MARK: What arrives

    package mutating func record(_ evidence: VerifiedEvidence, at now: Instant) {
        record(
            evidence.purchases.map(\.purchase), evidence.renewals.map(\.renewal), at: now)
    }

    /// What the App Store answered is evidence, too.
    package mutating func record(_ submitted: [Purchase], _ renewals: [SubscriptionRenewal], at now: Instant) {
        purchases += submitted
        self.renewals += renewals
        let lineages = Set(submitted.map(\.originalTransactionID))
        claimByTokens(lineages, at: now)
        settle(lineages, Set(submitted.map(\.transactionID)), at: now)
    }

    package mutating func redeem(
        _ evidence: VerifiedEvidence, for account: String, _ token: AppAccountToken?, at now: Instant
    ) -> [String] {
        add(evidence)
        let lineages = lineages(of: evidence)
        let items = items(lineages, at: now)
        claimByTokens(lineages, at: now)
        func isFor(_ purchase: Purchase) -> Bool? {
            if let holder = holder(of: purchase) { return holder.account == account }
            guard let token, let mine = purchase.appAccountToken else { return nil }
            return mine == token
        }
        let forOthers = Set(items.filter { isFor($0.purchase) == false }.map(\.originalTransactionID))
        var isReceipt = false
        if case .receipt = evidence { isReceipt = true }
        for purchase in evidence.purchases {
            guard let item = items.first(where: { $0.transactionID == purchase.transactionID }) else { continue }
            let lineage = item.originalTransactionID
            guard owners[lineage] == nil, rules.isForSale(item.productID), missing(item, isReceipt) == nil,
                isFor(item.purchase) == true || !forOthers.contains(lineage)
            else { continue }
            owners[lineage] = account
        }
        let before = Set(grants.keys)
        settle(lineages, Set(evidence.transactionIDs), at: now)
        return evidence.purchases.map { purchase in
            let id = purchase.transactionID
            guard let item = items.first(where: { $0.transactionID == id }) else { return "undetermined true" }
            let outcome = outcome(of: item, items, account, before, isReceipt)
            let isConflict = outcome == .belongsToAnother && isFor(item.purchase) == true
            return "\(outcome.rawValue) \(outcome.mayFinish && !isConflict)"
        }
    }

    private func outcome(
        of item: Entitlements.Item, _ items: [Entitlements.Item], _ account: String, _ before: Set<String>,
        _ isReceipt: Bool
    ) -> Outcome {
        let same = items.filter { $0.firstTransactionID == item.firstTransactionID }.map(\.transactionID)
        let existing = same.compactMap { grants[$0] }
        if !existing.isEmpty {
            let own = existing.filter { $0.account == account }
            if own.isEmpty { return .belongsToAnother }
            if grants[item.transactionID] != nil, !before.contains(item.transactionID) { return .granted }
            return own.contains { $0.quantity > 0 } ? .alreadyYours : .revoked
        }
        if let owner = owners[item.originalTransactionID], owner != account { return .belongsToAnother }
        if !rules.isForSale(item.productID) { return .notForSale }
        if owners[item.originalTransactionID] == nil { return missing(item, isReceipt) ?? .notYours }
        switch item.access {
        case .notYet: return .tooEarly
        case .expired, .upgraded: return .expired
        case .revoked, .consumable: return .revoked
        default: return .undetermined
        }
    }

    /// Decides again about what began or was refunded since its last decision.
    package mutating func settleDue(at now: Instant) {
        let due = purchases.filter { purchase in
            let decided = decided[purchase.originalTransactionID] ?? .distantPast
            return [purchase.purchaseDate, purchase.revocation.details?.date].compactMap(\.self).contains {
                decided < $0 && $0 <= now
            }
        }
        let lineages = Set(due.map(\.originalTransactionID)).filter { owners[$0] != nil }
        grant(items(lineages, at: now, clockAllowance: .zero), [], at: now)
        for lineage in lineages { decided[lineage] = now }
    }

    /// R3, R15. Returns `nil` if the token belongs to another account.
    package mutating func token(_ token: AppAccountToken, for account: String, at now: Instant) -> Bool? {
        if let holder = tokens[token] { return holder.account == account && !holder.isRetired ? false : nil }
        tokens[token] = (account, false)
        let all = Set(purchases.map(\.originalTransactionID))
        let lineages = Set(
            items(all, at: now).filter { $0.purchase.appAccountToken == token }.map(\.originalTransactionID))
        claimByTokens(lineages, at: now)
        settle(lineages, [], at: now)
        return true
    }

    /// Returns the number of purchases.
    package mutating func transfer(from account: String, to other: String, _ original: String?, movesTokens: Bool)
        -> Int
    {
        let moved = owners.filter { $0.value == account && (original == nil || $0.key == original) }.keys
        for lineage in moved {
            owners[lineage] = other
            for purchase in purchases where purchase.originalTransactionID == lineage {
                if let grant = grants[purchase.transactionID], grant.account == account {
                    grants[purchase.transactionID] = .init(account: other, quantity: grant.quantity)
                }
            }
        }
        if movesTokens {
            for (token, holder) in tokens where holder.account == account { tokens[token] = (other, false) }
            for index in orders.indices where orders[index].account == account && orders[index].transactionID == nil {
                orders[index].account = other
            }
        }
        return moved.count
    }

    /// R13
    package mutating func forget(_ account: String, as name: String) {
        owners = owners.mapValues { $0 == account ? name : $0 }
        grants = grants.mapValues { $0.account == account ? .init(account: name, quantity: $0.quantity) : $0 }
        for (token, holder) in tokens where holder.account == account { tokens[token] = (name, true) }
        orders.removeAll { $0.account == account }
    }

    package mutating func add(_ order: Order) { orders.append(order) }

    // MARK: What events name

    private static func token(of item: Entitlements.Item) -> AppAccountToken? {
        item.purchase.appAccountToken.flatMap { AppAccountToken(uuid: $0.description) }
    }

    /// The token of a transaction, if it is an account's.
    package func accountToken(_ transactionID: String, _ account: String, at now: Instant) -> AppAccountToken? {
        let items = items(Set(purchases.map(\.originalTransactionID)), at: now)
        guard let item = items.first(where: { $0.transactionID == transactionID }), let token = Self.token(of: item),
            let holder = tokens[token], holder.account == account, !holder.isRetired
        else { return nil }
        return token
    }

    /// The order that is known to be a transaction's.
    package func order(_ transactionID: String, _ account: String) -> Order? {
        orders.first { $0.isNamed && $0.transactionID == transactionID && $0.account == account }
    }

    // MARK: What follows

    private mutating func add(_ evidence: VerifiedEvidence) {
        purchases += evidence.purchases.map(\.purchase)
        renewals += evidence.renewals.map(\.renewal)
    }

    private func lineages(of evidence: VerifiedEvidence) -> Set<String> {
        Set(evidence.purchases.map(\.originalTransactionID))
    }

    private func items(
        _ lineages: Set<String>, at now: Instant, clockAllowance: Duration = .seconds(300)
    ) -> [Entitlements.Item] {
        Entitlements(
            trustingStored: purchases.filter { lineages.contains($0.originalTransactionID) },
            renewals: renewals.filter { lineages.contains($0.originalTransactionID) }, at: now,
            clockAllowance: clockAllowance
        ).items
    }

    private func byDate(_ items: [Entitlements.Item]) -> [Entitlements.Item] {
        items.sorted { ($0.purchase.purchaseDate, $0.transactionID) < ($1.purchase.purchaseDate, $1.transactionID) }
    }

    /// R7
    private func holder(of purchase: Purchase) -> (account: String, isRetired: Bool)? {
        purchase.ownershipType == .familyShared ? nil : purchase.appAccountToken.flatMap { tokens[$0] }
    }

    /// R4
    private func missing(_ item: Entitlements.Item, _ isReceipt: Bool) -> Outcome? {
        let date =
            item.purchase.productType == .nonConsumable
            ? item.purchase.originalPurchaseDate ?? item.purchase.purchaseDate : item.purchase.purchaseDate
        guard let since = rules.requiresTokenSince, date >= since, item.purchase.ownershipType != .familyShared
        else { return nil }
        if item.purchase.appAccountToken != nil { return holder(of: item.purchase) == nil ? .notYours : nil }
        return isReceipt || item.purchase.offer?.type == .offerCode ? nil : .tokenMissing
    }

    /// R1, R14
    private mutating func claimByTokens(_ lineages: Set<String>, at now: Instant) {
        for item in byDate(items(lineages, at: now)) where rules.isForSale(item.productID) {
            guard owners[item.originalTransactionID] == nil, let holder = holder(of: item.purchase) else { continue }
            owners[item.originalTransactionID] = holder.account
        }
    }

    private mutating func settle(_ lineages: Set<String>, _ submitted: Set<String>, at now: Instant) {
        let items = items(lineages, at: now)
        grant(items, submitted, at: now)
        for lineage in lineages { decided[lineage] = now }
        // R5
        for item in byDate(items) where rules.isForSale(item.productID) {
            guard let token = item.purchase.appAccountToken, let holder = holder(of: item.purchase), !holder.isRetired,
                let owner = owners[item.originalTransactionID], owner != holder.account,
                reported.insert(Place(token: token, lineage: item.originalTransactionID)).inserted
            else { continue }
            conflicts.append(item.transactionID)
        }
    }

    private mutating func grant(_ items: [Entitlements.Item], _ submitted: Set<String>, at now: Instant) {
        var seen: Set<String> = []
        for first in items where seen.insert(first.firstTransactionID).inserted {
            let group = items.filter { $0.firstTransactionID == first.firstTransactionID }
            guard let item = group.first(where: { submitted.contains($0.transactionID) }) ?? group.first,
                let quantity = item.ownedQuantity.map(Int64.init)
            else { continue }
            let existing = group.map(\.transactionID).filter { grants[$0] != nil }
            for id in existing { grants[id] = .init(account: grants[id]?.account ?? "", quantity: quantity) }
            guard existing.isEmpty, item.access.isGrantable || item.access == .lengthUnknown,
                let account = owners[item.originalTransactionID], rules.isForSale(item.productID)
            else { continue }
            grants[item.transactionID] = .init(account: account, quantity: quantity)
            close(item, account, at: now)
        }
    }

    private mutating func close(_ item: Entitlements.Item, _ account: String, at now: Instant) {
        guard item.transactionID == item.originalTransactionID, item.purchase.ownershipType != .familyShared else {
            return
        }
        let open = orders.indices.filter {
            let order = orders[$0]
            return order.account == account && order.productID == item.productID && order.transactionID == nil
                && order.createdAt + .seconds(72 * 3600) > now
        }
        let oldest = open.min { (orders[$0].createdAt, orders[$0].id) < (orders[$1].createdAt, orders[$1].id) }
        let token = Self.token(of: item)
        let fitting = token == nil ? open : open.filter { orders[$0].token == token }
        if fitting.count == 1 {
            orders[fitting[0]].transactionID = item.transactionID
            orders[fitting[0]].isNamed = true
        } else if let oldest {
            orders[oldest].transactionID = item.transactionID
        } else {
            unordered.insert(item.transactionID)
        }
    }
}
