/// The changes of version 6: seats, which version 5 granted as a quantity.
enum SeatTables {
    /// The due date that marks what to decide again when the ledger is opened. No clock has it.
    static let mark = -1
    /// Whether a row of `evidence` says that a seat is assigned.
    static let isAssigned = #"purchase LIKE '%"ownership_type":"ASSIGNED"%'"#
    static let marked = "SELECT identifier_id, due_at FROM due_moments WHERE due_at = \(mark)"

    /// Marks what to decide again.
    static let marks = [
        // Only subscriptions have an expiration date.
        """
        INSERT INTO due_moments SELECT environment, bundle_id, transaction_id, \(mark) FROM grants
        WHERE quantity > 1 AND EXISTS (
            SELECT 1 FROM evidence WHERE evidence.environment = grants.environment
            AND evidence.bundle_id = grants.bundle_id AND evidence.transaction_id = grants.transaction_id
            AND purchase LIKE '%"expires_date":%')
        ON CONFLICT (environment, bundle_id, transaction_id) DO UPDATE SET due_at = excluded.due_at
        """,
        // Until 0.3.0, a member's transactions belonged to the buyer.
        """
        INSERT INTO due_moments SELECT DISTINCT environment, bundle_id, transaction_id, \(mark) FROM evidence
        WHERE \(isAssigned)
        ON CONFLICT (environment, bundle_id, transaction_id) DO UPDATE SET due_at = excluded.due_at
        """,
    ]

    static func statements(_ dialect: SQLDialect) -> [String] {
        [
            "ALTER TABLE grants ADD COLUMN seats BIGINT",
            // `is_member` is 1 for a member's lineage, and `basis` is the basis of the account's claim.
            "ALTER TABLE families ADD COLUMN is_member BIGINT",
            "ALTER TABLE families ADD COLUMN basis \(dialect.text)",
            // Claims with an unknown basis, some of whose purchases turned out to be a member's.
            "CREATE TABLE uncertain_claims (family_id BIGINT PRIMARY KEY, split_at BIGINT NOT NULL)",
        ]
    }
}
