package import AppStoreReceipt

/// A period of an owned subscription that ended before the ledger got any evidence of it. The customer paid but nothing
/// was granted, so it is kept until it has been listed.
package struct EndedPeriod: Sendable {
    package let name: TransactionName
    /// The owner of the subscription, or `nil` if there is none any more.
    package let account: String?
    package let recordedAt: Instant

    static func tables(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        return [
            """
            CREATE TABLE ended_periods (environment \(text) NOT NULL, bundle_id \(text) NOT NULL,
                transaction_id \(text) NOT NULL, recorded_at BIGINT NOT NULL, listed_at BIGINT,
                PRIMARY KEY (environment, bundle_id, transaction_id))
            """,
            "CREATE INDEX ended_periods_unlisted ON ended_periods (recorded_at) WHERE listed_at IS NULL",
        ]
    }
}

extension PurchaseLedger {
    /// Returns the periods that haven't been listed, newest first.
    ///
    /// - Parameter last: The period after which to continue, or `nil` to start with the first.
    package func endedPeriods(limit: Int, after last: EndedPeriod? = nil) throws(LedgerError) -> [EndedPeriod] {
        let names = ["recorded_at", "environment", "bundle_id", "transaction_id"]
        let condition = last == nil ? "" : " AND (\(names.joined(separator: ", "))) < ($2, $3, $4, $5)"
        let parameters =
            last.map { [SQLValue($0.recordedAt)] + $0.name.key.columns } ?? []
        func order(_ table: String) -> String { names.map { "\(table)\($0) DESC" }.joined(separator: ", ") }
        return try store.read { (connection) throws(LedgerError) in
            try connection.run(
                """
                SELECT ended.environment, ended.bundle_id, ended.transaction_id, families.account, ended.recorded_at
                FROM (SELECT * FROM ended_periods WHERE listed_at IS NULL\(condition)
                    ORDER BY \(order("")) LIMIT $1) AS ended
                LEFT JOIN identifiers ON identifiers.environment = ended.environment
                    AND identifiers.bundle_id = ended.bundle_id AND identifiers.transaction_id = ended.transaction_id
                LEFT JOIN families ON families.id = identifiers.family_id
                ORDER BY \(order("ended."))
                """, [.integer(Int64(limit))] + parameters
            ).map { (row) throws(LedgerError) in
                EndedPeriod(
                    name: try row.transactionName, account: try row.optionalText("account"),
                    recordedAt: try row.date("recorded_at"))
            }
        }
    }

    /// Records that periods were listed.
    package func noteListed(_ periods: [EndedPeriod], at now: Instant) throws(LedgerError) {
        try store.write { (connection) throws(LedgerError) in
            for period in periods {
                try connection.write(
                    """
                    UPDATE ended_periods SET listed_at = $4
                    WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3 AND listed_at IS NULL
                    """,
                    [
                        .text(period.name.environment.rawValue), .text(period.name.bundleID),
                        .text(period.name.transactionID), SQLValue(now),
                    ])
            }
        }
    }
}

extension SQLConnection {
    /// Records, once, a period that ended without a notification.
    func noteEnded(_ key: TransactionKey, at now: Instant) throws(LedgerError) {
        try write(
            "INSERT INTO ended_periods VALUES ($1, $2, $3, $4, NULL) ON CONFLICT DO NOTHING",
            key.columns + [SQLValue(now)])
    }
}
