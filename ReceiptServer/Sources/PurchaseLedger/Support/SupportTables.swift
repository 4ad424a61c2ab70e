/// The tables for the support desk: the requests of clients and their answers, and the actions of operators.
enum SupportTables {
    static func statements(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        return [
            // Requests to redeem evidence. Their ids are in order of time.
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
            // The submitted bytes, compressed with zlib.
            """
            CREATE TABLE kept_evidence (digest \(text) PRIMARY KEY, evidence \(dialect.bytes) NOT NULL,
                bytes BIGINT NOT NULL, stored_bytes BIGINT NOT NULL)
            """,
            // The SHA-256 of deleted account names, for attempts that a server hasn't recorded yet.
            "CREATE TABLE deletions (account_digest \(text) PRIMARY KEY, deleted_at BIGINT NOT NULL)",
            "CREATE INDEX deletions_by_date ON deletions (deleted_at)",
            // The actions of operators, with their reasons. Transfers have a separate table.
            """
            CREATE TABLE acts (id \(dialect.rowNumber), kind \(text) NOT NULL, account \(text) NOT NULL,
                environment \(text), bundle_id \(text), transaction_id \(text), product_id \(text), event_id \(text),
                previous_quantity BIGINT, quantity BIGINT, reason \(text) NOT NULL, acted_at BIGINT NOT NULL,
                sequence BIGINT, idempotency_key \(text), request \(text), answer \(text))
            """,
            "CREATE UNIQUE INDEX acts_by_key ON acts (account, idempotency_key)",
            "CREATE INDEX acts_on_transaction ON acts (transaction_id)",
        ]
    }

    /// Returns the statements for the digest of evidence within the submitted bytes. It is NULL if they are the same.
    static func evidenceDigests(_ dialect: SQLDialect) -> [String] {
        [
            "ALTER TABLE attempts ADD COLUMN evidence_digest \(dialect.text)",
            "CREATE INDEX attempts_with_evidence ON attempts (evidence_digest) WHERE evidence_digest IS NOT NULL",
        ]
    }
}
