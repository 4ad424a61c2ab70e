/// Which of two claims was first: the database says so, since the clocks of servers differ.
enum ClaimOrder: Equatable {
    /// The claim has a number, which is greater than those before it; 0 if it was made before there were numbers.
    case number(Int64)
    /// It was made in this transaction, after all others.
    case last
    /// A backend stated its date, at which it had granted the purchase before there was a ledger.
    case stated

    /// The column `claim_number`.
    init(_ number: Int64?) { self = number == Self.statedNumber ? .stated : .number(number ?? 0) }

    private static let statedNumber: Int64 = -1

    /// What a claim of this order has in the column, in a statement in which this is the last parameter.
    func column(_ parameter: String, _ dialect: SQLDialect) -> (text: String, parameters: [SQLValue]) {
        switch self {
        case .number(let number): (parameter, [.integer(number)])
        case .last: (dialect.nextClaimNumber, [])
        case .stated: (parameter, [.integer(Self.statedNumber)])
        }
    }

    private var rank: (Int, Int64) {
        switch self {
        case .number(let number): (0, number)
        case .last: (1, 0)
        case .stated: (2, 0)
        }
    }

    /// Returns the family whose claim was first. A stated date is compared with the date of the first other claim.
    static func first(_ families: [Family]) -> Family? {
        func before(_ left: Family, _ right: Family) -> Bool {
            (left.claimedAt ?? .distantFuture, left.id) < (right.claimedAt ?? .distantFuture, right.id)
        }
        let claimed = families.filter { $0.account != nil }
        let stated = claimed.filter { $0.claimOrder == .stated }.min(by: before)
        let other = claimed.filter { $0.claimOrder != .stated }.min { left, right in
            left.claimOrder.rank == right.claimOrder.rank
                ? before(left, right) : left.claimOrder.rank < right.claimOrder.rank
        }
        guard let stated, let other else { return stated ?? other ?? families.min { $0.id < $1.id } }
        return before(stated, other) ? stated : other
    }

    static func statements(_ dialect: SQLDialect) -> [String] {
        ["ALTER TABLE families ADD COLUMN claim_number BIGINT", dialect.claimNumbers]
            // The number that the floor had with the deletion: what the account was answered before it has a lower one.
            + ["ALTER TABLE deletions ADD COLUMN number BIGINT"]
    }
}
