@_spi(Ledger) package import AppStoreReceipt
package import LedgerCore

/// The ledger without a database: it keeps everything that it ever got, and computes everything anew.
package struct LedgerModel {
    private var purchases: [Purchase] = []
    private var renewals: [SubscriptionRenewal] = []
    /// The owners of transactions that were assigned to members of a group. A member's lineage is not the buyer's.
    private var members: [String: String] = [:]
    /// The account that submitted each transaction first, in that order.
    private var claims: [(transaction: String, account: String)] = []
    /// By transaction.
    package private(set) var grants: [String: LedgerState.Row] = [:]

    package init() {}

    package var state: LedgerState {
        var state = LedgerState()
        for (transaction, grant) in grants { state.set(grant.quantity, of: transaction, for: grant.account) }
        return state
    }

    package mutating func record(_ evidence: VerifiedEvidence, at now: Instant) {
        let new = evidence.purchases.map(\.purchase)
        add(new)
        renewals += evidence.renewals.map(\.renewal)
        settle(preferring: new, at: now)
    }

    /// Applies what is due. A period that is about to begin waits until it begins.
    package mutating func settleDue(at now: Instant) {
        let items = Entitlements(
            trustingStored: purchases, renewals: renewals, at: now, clockAllowance: .zero
        ).items
        settle(items, preferring: [])
    }

    /// Whether a period begins within the clock allowance. Then another due date of its lineage may grant it already.
    package func hasPeriodAboutToBegin(at now: Instant) -> Bool {
        purchases.contains { now < $0.purchaseDate && $0.purchaseDate <= now + .seconds(300) }
    }

    package mutating func redeem(_ evidence: VerifiedEvidence, for account: String, at now: Instant) -> [Outcome] {
        let new = evidence.purchases.map(\.purchase)
        add(new)
        for purchase in new where owner(of: purchase.transactionID) == nil {
            claims.append((purchase.transactionID, account))
        }
        let before = Set(grants.keys)
        let items = settle(preferring: new, at: now)
        return new.map { purchase in
            let id = purchase.transactionID
            guard let item = items.first(where: { $0.transactionID == id }) else { return .undetermined }
            let same = items.filter { $0.firstTransactionID == item.firstTransactionID }.map(\.transactionID)
            let existing = same.compactMap { grants[$0] }
            if !existing.isEmpty {
                let own = existing.filter { $0.account == account }
                if own.isEmpty { return .belongsToAnother }
                if grants[id] != nil, !before.contains(id) { return .granted }
                return own.contains { $0.quantity > 0 } ? .alreadyYours : .revoked
            }
            if owner(of: id) != account { return .belongsToAnother }
            switch item.access {
            case .notYet: return .tooEarly
            case .expired, .upgraded: return .expired
            case .revoked, .consumable: return .revoked
            default: return .undetermined
            }
        }
    }

    package func entitlements(of account: String, at date: Instant) -> Entitlements {
        Entitlements(
            trustingStored: purchases.filter { owner(of: $0.transactionID) == account }, renewals: renewals, at: date)
    }

    private mutating func add(_ new: [Purchase]) {
        purchases += new
        for purchase in new where purchase.ownershipType == .assigned && members[purchase.transactionID] == nil {
            members[purchase.transactionID] = purchase.appTransactionID ?? purchase.transactionID
        }
    }

    /// The account of the first claim in the lineage of a transaction.
    private func owner(of transaction: String) -> String? {
        let member = members[transaction]
        let purchases = purchases.filter { members[$0.transactionID] == member }
        var lineage: Set<String> = [transaction]
        var count = 0
        while lineage.count != count {
            count = lineage.count
            for purchase in purchases {
                let ids = [
                    purchase.transactionID, purchase.originalTransactionID, purchase.previousOriginalTransactionID,
                ].compactMap(\.self)
                if !lineage.isDisjoint(with: ids) { lineage.formUnion(ids) }
            }
        }
        return claims.first { members[$0.transaction] == member && lineage.contains($0.transaction) }?.account
    }

    @discardableResult
    private mutating func settle(preferring new: [Purchase], at now: Instant) -> [Entitlements.Item] {
        let items = Entitlements(trustingStored: purchases, renewals: renewals, at: now).items
        let submitted = Set(new.map(\.transactionID))
        // Only what the evidence is about can change: time alone grants nothing.
        let touched = Set(submitted.map { lineage(of: $0, items) })
        settle(items.filter { touched.contains(lineage(of: $0.transactionID, items)) }, preferring: submitted)
        return items
    }

    private mutating func settle(_ items: [Entitlements.Item], preferring submitted: Set<String>) {
        for group in Dictionary(grouping: items, by: \.firstTransactionID).values {
            guard let item = group.first(where: { submitted.contains($0.transactionID) }) ?? group.first else {
                continue
            }
            // An ended purchase is neither revoked nor granted.
            guard let quantity = item.ownedQuantity.map(Int64.init) else { continue }
            let existing = group.map(\.transactionID).filter { grants[$0] != nil }
            for id in existing { grants[id] = .init(account: grants[id]?.account ?? "", quantity: quantity) }
            if existing.isEmpty, item.access.isGrantable || item.access == .lengthUnknown,
                let account = owner(of: item.transactionID)
            {
                grants[item.transactionID] = .init(account: account, quantity: quantity)
            }
        }
    }

    /// In these histories, all transactions of a lineage have one original transaction.
    private func lineage(of transaction: String, _ items: [Entitlements.Item]) -> [String?] {
        [
            items.first { $0.transactionID == transaction }?.originalTransactionID ?? transaction,
            members[transaction],
        ]
    }
}
