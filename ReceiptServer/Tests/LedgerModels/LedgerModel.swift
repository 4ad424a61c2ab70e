@_spi(Ledger) package import AppStoreReceipt
package import LedgerCore

/// The ledger without a database: it keeps everything that it ever got, and computes everything anew.
package struct LedgerModel {
    private var purchases: [Purchase] = []
    private var renewals: [SubscriptionRenewal] = []
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
        purchases += evidence.purchases.map(\.purchase)
        renewals += evidence.renewals.map(\.renewal)
        settle(preferring: evidence, at: now)
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
        func isGrantable(_ clockAllowance: Duration) -> [Bool] {
            Entitlements(
                trustingStored: purchases, renewals: renewals, at: now, clockAllowance: clockAllowance
            ).items.map(\.access.isGrantable)
        }
        return isGrantable(.zero) != isGrantable(.seconds(300))
    }

    package mutating func redeem(_ evidence: VerifiedEvidence, for account: String, at now: Instant) -> [Outcome] {
        purchases += evidence.purchases.map(\.purchase)
        for purchase in evidence.purchases where owner(of: purchase.transactionID) == nil {
            claims.append((purchase.transactionID, account))
        }
        let before = Set(grants.keys)
        settle(preferring: evidence, at: now)
        let items = Entitlements(trustingStored: purchases, renewals: renewals, at: now).items
        return evidence.purchases.map { purchase in
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

    /// The account of the first claim in the lineage of a transaction.
    private func owner(of transaction: String) -> String? {
        let member = member(of: transaction)
        let purchases = purchases.filter { self.member(of: $0.transactionID) == member }
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
        return claims.first { self.member(of: $0.transaction) == member && lineage.contains($0.transaction) }?.account
    }

    /// The owner of a transaction, if it was assigned to a member of a group. A member's lineage is not the buyer's.
    private func member(of transaction: String) -> String? {
        purchases.first { $0.transactionID == transaction && $0.ownershipType == .assigned }
            .map { $0.appTransactionID ?? $0.transactionID }
    }

    private mutating func settle(preferring evidence: VerifiedEvidence, at now: Instant) {
        let items = Entitlements(trustingStored: purchases, renewals: renewals, at: now).items
        let submitted = Set(evidence.transactionIDs)
        // Only what the evidence is about can change: time alone grants nothing.
        let touched = Set(evidence.purchases.map { lineage(of: $0.transactionID, items) })
        settle(items.filter { touched.contains(lineage(of: $0.transactionID, items)) }, preferring: submitted)
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
            member(of: transaction),
        ]
    }
}
