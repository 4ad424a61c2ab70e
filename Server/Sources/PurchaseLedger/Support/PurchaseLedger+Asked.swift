package import SpanASN1

extension PurchaseLedger {
    /// Records that somebody had Apple asked, for the story of each transaction.
    ///
    /// - Parameters:
    ///   - names: What was asked about, which can be an order id of Apple's, and what the answer named.
    ///   - reason: Who decided it, and why.
    ///   - answer: A word for what came of it.
    package func recordAsking(
        about names: [TransactionName], reason: String, answer: String, at now: Instant = .now
    ) throws(LedgerError) {
        try LedgerText.check(reason, "reason")
        for name in names { try name.check() }
        try store.write { (connection) throws(LedgerError) in
            for name in names.prefix(TransactionStory.maximumCount) {
                let owners = try connection.run(
                    """
                    SELECT account FROM families WHERE id = (SELECT family_id FROM identifiers
                        WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3)
                    """, name.key.columns)
                // Nobody's purchase is in nobody's history.
                let owner = try owners.first?.optionalText(0) ?? ""
                try connection.write(
                    """
                    INSERT INTO acts (kind, account, environment, bundle_id, transaction_id, reason, acted_at, answer)
                    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                    """,
                    [.text(ActFact.Kind.recover.rawValue), .text(owner)] + name.key.columns + [
                        .text(reason), SQLValue(now), .text(answer),
                    ])
            }
        }
    }
}
