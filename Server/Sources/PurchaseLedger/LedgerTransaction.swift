@_spi(Ledger) import AppStoreReceipt
import ServerText
import SpanASN1

/// The work of one transaction of the database: records evidence, asks what it means, and grants or takes back what follows.
///
/// Nothing depends on the order in which evidence arrives. What an account should have is computed from all evidence each time, and compared with what it was granted.
struct LedgerTransaction {
    let policy: LedgerPolicy
    let now: Instant
    let cause: LedgerEvent.Cause
    private let connection: any SQLConnection
    private var families: Families
    private var evidence: FamilyEvidence
    private var grants: Grants
    /// The purchases of the request, each transaction once.
    private let brought: [(purchase: Purchase, keys: PurchaseKeys?)]
    private var groups: [Group] = []
    private var groupsByTransaction: [TransactionKey: Int] = [:]
    /// What this transaction granted.
    private var granted: Set<TransactionKey> = []
    private var events: [LedgerEvent] = []

    /// The transactions of one purchase or period: a restored transaction has a new id, but grants nothing new.
    private struct Group {
        var items: [(key: TransactionKey, item: Entitlements.Item)]
    }

    /// Who brings purchases.
    struct Claim {
        let account: String
        /// The token with which the account buys; `nil` if the caller does not say.
        let token: AppAccountToken?
    }

    /// Records evidence.
    init(
        recording purchases: [SignedPurchase], _ renewals: [SubscriptionRenewal], _ policy: LedgerPolicy,
        _ connection: any SQLConnection, _ cause: LedgerEvent.Cause, at now: Instant
    ) throws(LedgerError) {
        self.policy = policy
        self.now = now
        self.cause = cause
        self.connection = connection
        brought = purchases.map { ($0.purchase, PurchaseKeys($0.purchase)) }
        families = try Families(of: brought.compactMap(\.keys), renewals, connection, at: now)
        evidence = FamilyEvidence(connection)
        grants = Grants(connection)
        for family in families.all {
            families.add(try evidence.load(family.id), to: family.id)
            try grants.load(family.id)
        }
        for (purchase, (_, keys)) in zip(purchases, brought) {
            guard let keys else { continue }
            try evidence.record(purchase, keys.transaction)
        }
        for renewal in renewals { try evidence.record(renewal) }
        makeGroups()
    }

    private mutating func makeGroups() {
        var byFirst: [TransactionKey: Int] = [:]
        for item in policy.entitlements(evidence, at: now).items {
            guard let key = PurchaseKeys(item.purchase)?.transaction else { continue }
            let first = TransactionKey(
                environment: key.environment, bundleID: key.bundleID.string, transactionID: item.firstTransactionID)
            let index = byFirst[first] ?? groups.count
            if index == groups.count {
                byFirst[first] = index
                groups.append(Group(items: []))
            }
            groups[index].items.append((key, item))
            groupsByTransaction[key] = index
        }
    }

    // MARK: Redeeming

    /// Makes an account the owner of the purchases that it brings and nobody has brought before, and returns the outcomes.
    mutating func redeem(_ claim: Claim) throws(LedgerError) -> [TransactionOutcome] {
        let familiesForOthers = Set(
            groups.flatMap(\.items).filter { isForAnother($0.item.purchase, claim) }.compactMap { families[$0.key]?.id }
        )
        for (_, keys) in brought {
            // With old evidence that has no token, such as a receipt, nobody gets what was bought for another account since.
            guard let keys, let family = families[keys.transaction], family.account == nil,
                let item = item(of: keys.transaction), policy.isForSale(item.productID),
                isFor(item.purchase, claim) || !familiesForOthers.contains(family.id)
            else { continue }
            try families.claim(family.id, for: claim.account, at: now)
        }
        try settle()
        var seen: Set<TransactionKey> = []
        return brought.compactMap { purchase, keys in
            if let keys, !seen.insert(keys.transaction).inserted { return nil }
            return outcome(of: purchase, keys, claim)
        }
    }

    private func isForAnother(_ purchase: Purchase, _ claim: Claim) -> Bool {
        guard let token = purchase.appAccountToken, let expected = claim.token else { return false }
        return token != expected
    }

    private func isFor(_ purchase: Purchase, _ claim: Claim) -> Bool {
        claim.token.map { $0 == purchase.appAccountToken } ?? false
    }

    private func item(of key: TransactionKey) -> Entitlements.Item? {
        groupsByTransaction[key].flatMap { index in groups[index].items.first { $0.key == key }?.item }
    }

    /// The grants of a purchase. Of a non-consumable that was restored, an operator may have recorded the first transaction without evidence.
    private func existingGrants(of group: Group) -> [Grant] {
        var keys = Set(group.items.map(\.key))
        for (key, item) in group.items where item.productType == .nonConsumable {
            keys.insert(
                TransactionKey(
                    environment: key.environment, bundleID: key.bundleID.string,
                    transactionID: item.originalTransactionID))
        }
        return keys.sorted().compactMap { grants[$0] }
    }

    private func outcome(
        of purchase: Purchase, _ keys: PurchaseKeys?, _ claim: Claim
    ) -> TransactionOutcome {
        // What another account has is not told.
        func answer(_ outcome: Outcome, _ item: Entitlements.Item?, _ own: Grant? = nil) -> TransactionOutcome {
            TransactionOutcome(
                transactionID: purchase.transactionID, originalTransactionID: purchase.originalTransactionID,
                grantedAs: own?.transaction.transactionID.string, productID: purchase.productID,
                bundleID: purchase.bundleID, environment: purchase.environment, outcome: outcome,
                access: item.map { "\($0.access.code)" }, quantity: own?.quantity ?? 0, until: item?.until,
                isOwnerConflict: outcome == .belongsToAnother && item.map { isFor($0.purchase, claim) } ?? false)
        }
        guard let keys, let index = groupsByTransaction[keys.transaction], let item = item(of: keys.transaction) else {
            return answer(.undetermined, nil)
        }
        let existing = existingGrants(of: groups[index])
        if !existing.isEmpty {
            let own = existing.filter { $0.account.hasSameBytes(as: claim.account) }
            // There are several if it became known later that they are of one purchase.
            let grant = own.first { $0.transaction == keys.transaction } ?? own.first { $0.quantity > 0 } ?? own.first
            guard let grant else { return answer(.belongsToAnother, item) }
            if granted.contains(keys.transaction) { return answer(.granted, item, grant) }
            return answer(grant.quantity > 0 ? .alreadyYours : .revoked, item, grant)
        }
        if let owner = families[keys.transaction]?.account, !owner.hasSameBytes(as: claim.account) {
            return answer(.belongsToAnother, item)
        }
        if !policy.isForSale(item.productID) { return answer(.notForSale, item) }
        if families[keys.transaction]?.account == nil { return answer(.notYours, item) }
        switch item.access {
        case .notYet: return answer(.tooEarly, item)
        case .expired, .upgraded: return answer(.expired, item)
        case .revoked, .consumable: return answer(.revoked, item)
        case .active, .owned, .lengthUnknown, .undetermined: return answer(.undetermined, item)
        }
    }

    // MARK: Settling

    /// Brings what was granted in line with what the evidence says, for all purchases that have an owner, and posts the events.
    mutating func settle() throws(LedgerError) {
        let broughtKeys = Set(brought.compactMap(\.keys?.transaction))
        for group in groups {
            // If a restored transaction is brought, it is the one that is answered with `granted`.
            guard let (key, item) = group.items.first(where: { broughtKeys.contains($0.key) }) ?? group.items.first
            else { continue }
            if let date = item.nextChange, families[key]?.account != nil {
                try connection.remember(group.items[0].key, dueAt: date)
            }
            let existing = existingGrants(of: group)
            if existing.isEmpty {
                try grant(key, item)
            } else {
                for grant in existing { try change(grant, item) }
            }
        }
        try connection.post(events, at: now)
        events = []
    }

    private mutating func grant(_ key: TransactionKey, _ item: Entitlements.Item) throws(LedgerError) {
        // A non-renewing subscription whose length only the app knows is granted once, as a consumable is.
        guard item.access.isGrantable || item.access == .lengthUnknown, let quantity = item.ownedQuantity,
            let account = families[key]?.account, policy.isForSale(item.productID)
        else { return }
        let grant = Grant(
            transaction: key, account: account, productID: item.productID, quantity: Int64(quantity),
            until: item.until, isVoided: false)
        try grants.insert(grant, at: now)
        granted.insert(key)
        events.append(grant.event(.granted, cause, item.originalTransactionID, before: 0, at: now))
    }

    private mutating func change(_ grant: Grant, _ item: Entitlements.Item) throws(LedgerError) {
        guard !grant.isVoided else { return }
        var changed = grant
        changed.quantity = item.ownedQuantity.map(Int64.init) ?? grant.quantity
        changed.until = item.until
        let kind: LedgerEvent.Kind
        switch (grant.quantity, changed.quantity) {
        // The end of what the account does not have is of no interest.
        case (0, 0): return
        case (_, 0): kind = .revoked
        case (0, _): kind = .restored
        case (let before, let after) where before == after:
            guard grant.until != changed.until else { return }
            kind = .changed
        default: kind = .adjusted
        }
        try grants.update(changed, at: now)
        // What was granted before cannot begin.
        let cause = cause == .beginning ? LedgerEvent.Cause.revocation : cause
        events.append(changed.event(kind, cause, item.originalTransactionID, before: grant.quantity, at: now))
    }
}
