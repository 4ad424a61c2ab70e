/// The tables of the support desk: the requests of clients and their answers, the acts of operators, and what is found
/// by a transaction.
enum SupportTables {
    static func statements(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        return [
            // Indexes of large tables take long: before grants are locked.
            "CREATE INDEX notifications_of_transaction ON notifications (transaction_id)",
            "CREATE INDEX transfers_of_family ON transfers (family_id)",
            "CREATE INDEX transfers_from ON transfers (from_account)",
            "CREATE INDEX transfers_to ON transfers (to_account)",
            "CREATE INDEX orders_of_transaction ON orders (transaction_id) WHERE transaction_id IS NOT NULL",
            // Requests to redeem evidence. Their names are in the order of time.
            """
            CREATE TABLE attempts (request_id \(text) PRIMARY KEY, account \(text) NOT NULL,
                attempted_at BIGINT NOT NULL, times BIGINT NOT NULL, digest \(text) NOT NULL, code \(text) NOT NULL,
                outcomes \(text) NOT NULL, transactions BIGINT NOT NULL)\(dialect.inPrimaryKey)
            """,
            "CREATE INDEX attempts_of_account ON attempts (account, request_id)",
            "CREATE INDEX attempts_with_digest ON attempts (digest)",
            """
            CREATE TABLE attempted_transactions (environment \(text) NOT NULL, bundle_id \(text) NOT NULL,
                transaction_id \(text) NOT NULL, request_id \(text) NOT NULL,
                PRIMARY KEY (environment, bundle_id, transaction_id, request_id))\(dialect.inPrimaryKey)
            """,
            "CREATE INDEX attempted_transactions_of_request ON attempted_transactions (request_id)",
            // What was sent, compressed by zlib.
            """
            CREATE TABLE kept_evidence (digest \(text) PRIMARY KEY, evidence \(dialect.bytes) NOT NULL,
                bytes BIGINT NOT NULL, stored_bytes BIGINT NOT NULL)
            """,
            // The SHA-256 of names that were deleted, for attempts that a server has not recorded yet.
            "CREATE TABLE deletions (account_digest \(text) PRIMARY KEY, deleted_at BIGINT NOT NULL)",
            "CREATE INDEX deletions_by_date ON deletions (deleted_at)",
            // What operators did, and why. Transfers have a table of their own.
            """
            CREATE TABLE acts (id \(dialect.rowNumber), kind \(text) NOT NULL, account \(text) NOT NULL,
                environment \(text), bundle_id \(text), transaction_id \(text), product_id \(text), event_id \(text),
                previous_quantity BIGINT, quantity BIGINT, reason \(text) NOT NULL, acted_at BIGINT NOT NULL,
                sequence BIGINT, idempotency_key \(text), request \(text), answer \(text))
            """,
            "CREATE UNIQUE INDEX acts_by_key ON acts (account, idempotency_key)",
            "CREATE INDEX acts_on_transaction ON acts (transaction_id)",
            // What an operator set the quantity of a grant to, and what Apple's evidence said then; NULL for what
            // follows the evidence.
            "ALTER TABLE grants ADD COLUMN adjusted_quantity BIGINT",
            "ALTER TABLE grants ADD COLUMN adjusted_from BIGINT",
        ]
    }

    /// The digest of the evidence in what was sent; NULL if it was sent alone.
    static func evidenceDigests(_ dialect: SQLDialect) -> [String] {
        [
            "ALTER TABLE attempts ADD COLUMN evidence_digest \(dialect.text)",
            "CREATE INDEX attempts_with_evidence ON attempts (evidence_digest) WHERE evidence_digest IS NOT NULL",
        ]
    }
}
