package import AppStoreReceipt
import StrictText

/// What the claim of a family's owner rests on.
///
/// A receipt does not say whose a transaction is. If it turns out to be a member's, it is split off, and a claim that
/// rests on nothing else is gone.
struct ClaimBasis: Equatable {
    /// Whether it rests on something that cannot be split off.
    let isLasting: Bool
    /// The transactions that only receipts have.
    private(set) var transactions: Set<UTF8Bytes> = []

    static let lasting = ClaimBasis(isLasting: true)

    init(isLasting: Bool, _ transactions: Set<UTF8Bytes> = []) {
        (self.isLasting, self.transactions) = (isLasting, transactions)
    }

    /// What a claim by some transactions rests on, as far as is known of them.
    init(_ keys: some Sequence<TransactionKey>, _ evidence: FamilyEvidence) {
        var isLasting = false
        for key in keys {
            let known = evidence.variants[key] ?? []
            if known.contains(where: { $0.purchase.ownershipType != nil }) {
                isLasting = true
            } else {
                transactions.insert(key.transactionID)
            }
        }
        self.isLasting = isLasting
    }

    /// - Parameter json: As ``json``.
    init(_ json: String) throws(LedgerError) {
        let words: [String] = try StoredJSON.decode(json)
        isLasting = words.contains("")
        transactions = Set(words.filter { !$0.isEmpty }.map(UTF8Bytes.init))
    }

    /// The identifiers of the transactions, and an empty one for what is lasting.
    var json: String { StoredJSON.encode((isLasting ? [""] : []) + transactions.sorted().map(\.string)) }

    var isEmpty: Bool { !isLasting && transactions.isEmpty }

    func union(_ other: ClaimBasis) -> ClaimBasis {
        ClaimBasis(isLasting: isLasting || other.isLasting, transactions.union(other.transactions))
    }

    mutating func remove(_ transaction: UTF8Bytes) { transactions.remove(transaction) }
}

/// A transaction that was known from receipts in the family of another's purchase, and is a member's.
struct MemberSplit {
    let transaction: TransactionKey
    /// The family that it leaves.
    var family: Int64
}

/// A claim with unknown evidence, some of whose purchases turned out to be a member's.
package struct UncertainClaim: Sendable {
    package let account: String
    /// A transaction of what is left.
    package let name: TransactionName
    package let splitAt: Instant
}

extension PurchaseLedger {
    /// The claims of version 0.3.0 that an operator has to decide about, the newest first: `transfer` gives what is
    /// left to another account.
    package func uncertainClaims() throws(LedgerError) -> [UncertainClaim] {
        try store.read { (connection) throws(LedgerError) in
            try connection.run(
                """
                SELECT identifiers.environment, identifiers.bundle_id, MIN(identifiers.transaction_id),
                    families.account, uncertain_claims.split_at
                FROM uncertain_claims JOIN families ON families.id = uncertain_claims.family_id
                JOIN identifiers ON identifiers.family_id = families.id
                WHERE families.basis IS NULL AND families.account IS NOT NULL
                    AND \(MemberID.isNone)
                GROUP BY families.id, families.account, uncertain_claims.split_at, identifiers.environment,
                    identifiers.bundle_id
                ORDER BY uncertain_claims.split_at DESC LIMIT 100
                """
            ).map { (row) throws(LedgerError) in
                UncertainClaim(account: try row.text(3), name: try row.transactionName(0), splitAt: try row.date(4))
            }
        }
    }
}
