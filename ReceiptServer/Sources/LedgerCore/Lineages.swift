@_spi(Ledger) package import AppStoreReceipt
package import StrictText

/// The lineages that some requests are about: as they are stored, and then as they are to be.
package struct Lineages: Sendable {
    /// By their numbers.
    package var byID: [Int64: Lineage] = [:]
    /// The numbers of the lineages of transactions, known or looked up.
    package var identifiers: [TransactionKey: Int64] = [:]
    /// The stored renewal information of subscriptions, even if nothing else is known about them.
    package var renewals: [RenewalKey: SubscriptionRenewal] = [:]
    /// The accounts of tokens; `nil` if the ledger does not use tokens.
    package var holders: [AppAccountToken: TokenHolder]?
    /// Numbers for new lineages.
    package var freeNumbers: ArraySlice<Int64> = []
    /// What changed besides the contents of lineages.
    package var structure = StructuralChanges()

    package init() {}

    package subscript(key: TransactionKey) -> Lineage? { identifiers[key].flatMap { byID[$0] } }

    package func with(_ numbers: [Int64]) -> [Lineage] { numbers.compactMap { byID[$0] } }

    /// Makes an account the owner of a lineage. It has had no event about the lineage yet.
    mutating func claim(
        _ id: Int64, for account: String, restingOn basis: ClaimBasis, in order: ClaimOrder = .last, at date: Instant
    ) {
        byID[id]?.owner = Lineage.Ownership(account: account, claimedAt: date, order: order, basis: basis)
        byID[id]?.lifecycle = nil
        structure.claimed.append(id)
    }

    /// Records what else the claim of a lineage's owner rests on.
    mutating func extendClaim(of id: Int64, by more: @autoclosure () -> ClaimBasis) {
        guard let basis = byID[id]?.owner?.basis, !basis.isLasting else { return }
        byID[id]?.owner?.basis = basis.union(more())
    }

    /// Ends the division of a lineage, so that all of it is loaded from now on.
    mutating func undivide(_ id: Int64) {
        guard byID[id]?.division != nil else { return }
        byID[id]?.division = nil
        structure.undivided.append(id)
    }

    // MARK: Evidence

    mutating func record(_ signed: SubmittedPurchase, _ key: TransactionKey) {
        guard let id = identifiers[key] else { return }
        byID[id]?.record(signed, key)
    }

    /// Records renewal information. The latest counts. Apple names no app in it, but original transaction ids are
    /// unique in an environment.
    mutating func record(_ renewal: SubscriptionRenewal) {
        guard let key = RenewalKey(renewal) else { return }
        // Ordered as in decisions, so that the order of arrival decides nothing.
        if let known = renewals[key], !known.isSuperseded(by: renewal) { return }
        renewals[key] = renewal
    }
}

/// What renewal information is about.
package struct RenewalKey: Hashable, Comparable, Sendable {
    package let environment: AppStoreEnvironment
    package let originalTransactionID: UTF8Bytes

    package init(environment: AppStoreEnvironment, originalTransactionID: UTF8Bytes) {
        (self.environment, self.originalTransactionID) = (environment, originalTransactionID)
    }

    /// Returns `nil` for what the tables cannot hold.
    package init?(_ renewal: SubscriptionRenewal) {
        guard let environment = renewal.environment, LedgerText.isStorable(renewal.originalTransactionID) else {
            return nil
        }
        self.init(environment: environment, originalTransactionID: UTF8Bytes(renewal.originalTransactionID))
    }

    package static func < (left: RenewalKey, right: RenewalKey) -> Bool {
        left.environment == right.environment
            ? left.originalTransactionID < right.originalTransactionID
            : left.environment.rawValue.utf8.lexicographicallyPrecedes(right.environment.rawValue.utf8)
    }
}

/// Changes that a comparison of rows doesn't show: lineages that are created, merged or split, and transfers.
package struct StructuralChanges: Sendable {
    package struct Transfer: Sendable {
        package let lineage: Int64
        package let from: String
        package let to: String
        package let reason: String
    }

    /// Transactions that leave a lineage because they are a member's.
    var splits: [Gathering.Split] = []
    /// New lineages.
    package var created: [Int64] = []
    /// Lineages that got an owner, in their order.
    package var claimed: [Int64] = []
    /// Lineages that turned out to be another, in their order.
    package var merged: [(from: Int64, into: Int64)] = []
    /// Identifiers that get a row, or leave their lineage.
    package var inserted: [TransactionKey] = []
    package var moved: [TransactionKey] = []
    /// New names for a member's original transactions, for the lineage that keeps the others. They may be stored
    /// already.
    package var names: [(key: TransactionKey, lineage: Int64)] = []
    /// Lineages whose stored division is out of date.
    package var undivided: [Int64] = []
    package var transfers: [Transfer] = []
    /// Lineages whose owner an operator has to confirm.
    package var uncertain: [Int64] = []
    /// What accounts had of lineages that lost their owner, or of transactions that are a member's, and that nobody has
    /// now; with the lineage that was split.
    package var lost: [(lineage: Int64, grant: Grant)] = []
}
