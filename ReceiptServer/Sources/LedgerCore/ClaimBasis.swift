import AppStoreReceipt
package import StrictText

/// What the claim of a lineage's owner rests on.
///
/// A receipt does not say whose a transaction is. If it turns out to be a member's, it is split off, and a claim that
/// rests on nothing else is gone.
package struct ClaimBasis: Equatable, Sendable {
    /// Whether it rests on something that cannot be split off.
    package let isLasting: Bool
    /// The transactions that only receipts have.
    package private(set) var transactions: Set<UTF8Bytes> = []

    package static let lasting = ClaimBasis(isLasting: true)

    package init(isLasting: Bool, _ transactions: Set<UTF8Bytes> = []) {
        (self.isLasting, self.transactions) = (isLasting, transactions)
    }

    /// What a claim by some transactions of a lineage rests on, as far as is known of them.
    init(_ keys: some Sequence<TransactionKey>, of lineage: Lineage) {
        var isLasting = false
        for key in keys {
            if lineage.evidence[key]?.contains(where: { $0.purchase.ownershipType != nil }) ?? false {
                isLasting = true
            } else {
                transactions.insert(key.transactionID)
            }
        }
        self.isLasting = isLasting
    }

    var isEmpty: Bool { !isLasting && transactions.isEmpty }

    func union(_ other: ClaimBasis) -> ClaimBasis {
        ClaimBasis(isLasting: isLasting || other.isLasting, transactions.union(other.transactions))
    }

    mutating func remove(_ transaction: UTF8Bytes) { transactions.remove(transaction) }
}

/// Which of two claims was first: the database says so, since the clocks of servers differ.
package enum ClaimOrder: Equatable, Sendable {
    /// The claim has a number, which is greater than those before it; 0 if it was made before there were numbers.
    case number(Int64)
    /// It is made now, after all others.
    case last
    /// A backend stated its date, at which it had granted the purchase before there was a ledger.
    case stated

    private var rank: (Int, Int64) {
        switch self {
        case .number(let number): (0, number)
        case .last: (1, 0)
        case .stated: (2, 0)
        }
    }

    /// Returns the lineage whose claim was first; of lineages without a claim, the oldest. A stated date is compared
    /// with the date of the first other claim.
    static func first(_ lineages: [Lineage]) -> Lineage? {
        func before(_ left: Lineage, _ right: Lineage) -> Bool {
            (left.owner?.claimedAt ?? .distantFuture, left.id) < (right.owner?.claimedAt ?? .distantFuture, right.id)
        }
        func rank(_ lineage: Lineage) -> (Int, Int64) { (lineage.owner?.order ?? .last).rank }
        let stated = lineages.filter { $0.owner?.order == .stated }.min(by: before)
        let other = lineages.min { left, right in
            rank(left) == rank(right) ? before(left, right) : rank(left) < rank(right)
        }
        guard let stated, let other else { return other }
        return before(stated, other) ? stated : other
    }
}
