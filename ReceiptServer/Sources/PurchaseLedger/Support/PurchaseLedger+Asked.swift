package import Instants
import StrictText

extension PurchaseLedger {
    /// Records, in the story of each transaction, that an operator asked Apple.
    ///
    /// - Parameters:
    ///   - names: The transaction that was asked about, which can be an Apple order id, and those in the answer.
    ///   - reason: The operator and the reason.
    ///   - answer: A word for the result.
    package func recordAsking(
        about names: [TransactionName], reason: String, answer: String, at now: Instant = .now
    ) throws(LedgerError) {
        try LedgerText.check(reason, "reason")
        for name in names { try name.check() }
        let names = names.prefix(TransactionStory.maximumCount)
        try store.write { (connection) throws(LedgerError) in
            func owners() throws(LedgerError) -> [String?] {
                try connection.run(
                    names.map { name in
                        SQLStatement(
                            """
                            SELECT account FROM families WHERE id = (SELECT family_id FROM identifiers
                                WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3)
                            """, name.key.columns)
                    }
                ).map { (rows) throws(LedgerError) in try rows.first?.optionalText(0) }
            }
            let locked = try owners().compactMap(\.self)
            try connection.lockAccounts(locked)
            let owners = try owners()
            // An account was deleted meanwhile, or another account became the owner.
            let isLocked = owners.allSatisfy { owner in
                owner.map { name in locked.contains { $0.hasSameBytes(as: name) } } ?? true
            }
            guard isLocked else { throw .conflict }
            for (name, owner) in zip(names, owners) {
                try connection.write(
                    """
                    INSERT INTO acts (kind, account, environment, bundle_id, transaction_id, reason, acted_at, answer)
                    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                    """,
                    // A purchase without an owner appears in no account's history.
                    [.text(ActFact.Kind.recover.rawValue), .text(owner ?? "")] + name.key.columns + [
                        .text(reason), SQLValue(now), .text(answer),
                    ])
            }
        }
    }
}
