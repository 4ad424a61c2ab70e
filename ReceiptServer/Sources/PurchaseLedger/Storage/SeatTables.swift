/// What version 6 adds: seats, which version 5 granted as a quantity.
enum SeatTables {
    /// The moment of what is decided again when the ledger is opened. No clock has it.
    static let mark = -1
    /// Whether a row of `evidence` says that a seat is assigned.
    static let isAssigned = #"purchase LIKE '%"ownership_type":"ASSIGNED"%'"#
    static let marked = "SELECT environment, bundle_id, transaction_id, due_at FROM due_moments WHERE due_at = \(mark)"

    static func statements(_ dialect: SQLDialect) -> [String] {
        [
            // Nothing but subscriptions has an end.
            """
            INSERT INTO due_moments SELECT environment, bundle_id, transaction_id, \(mark) FROM grants
            WHERE quantity > 1 AND EXISTS (
                SELECT 1 FROM evidence WHERE evidence.environment = grants.environment
                AND evidence.bundle_id = grants.bundle_id AND evidence.transaction_id = grants.transaction_id
                AND purchase LIKE '%"expires_date":%')
            ON CONFLICT (environment, bundle_id, transaction_id) DO UPDATE SET due_at = excluded.due_at
            """,
            // Until 0.3.0, a member's transactions were the buyer's.
            """
            INSERT INTO due_moments SELECT DISTINCT environment, bundle_id, transaction_id, \(mark) FROM evidence
            WHERE \(isAssigned)
            ON CONFLICT (environment, bundle_id, transaction_id) DO UPDATE SET due_at = excluded.due_at
            """,
            "ALTER TABLE grants ADD COLUMN seats BIGINT",
            // 1 for what is a member's; and what the claim of the account rests on.
            "ALTER TABLE families ADD COLUMN is_member BIGINT",
            "ALTER TABLE families ADD COLUMN basis \(dialect.text)",
            // They can say the number of seats as a quantity.
            "DELETE FROM answers",
            // Claims with unknown evidence, some of whose purchases turned out to be a member's.
            "CREATE TABLE uncertain_claims (family_id BIGINT PRIMARY KEY, split_at BIGINT NOT NULL)",
        ]
    }
}
