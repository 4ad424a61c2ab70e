/// The tables of inquiries and their answers. Without ``LedgerPolicy/inquiries``, they stay empty.
enum InquiryTables {
    static func statements(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        let app = "environment \(text) NOT NULL, bundle_id \(text) NOT NULL"
        return [
            // The inquiries. A finished one is removed. `unknown` and `failed` rows are for an operator.
            """
            CREATE TABLE questions (\(app), kind \(text) NOT NULL, subject \(text) NOT NULL, priority BIGINT NOT NULL,
                reason \(text) NOT NULL, made_at BIGINT NOT NULL, due_at BIGINT NOT NULL, attempts BIGINT NOT NULL,
                leased_until BIGINT NOT NULL, state \(text) NOT NULL, cursor \(text), failure \(text),
                PRIMARY KEY (environment, bundle_id, kind, subject))
            """,
            """
            CREATE INDEX questions_due ON questions (environment, bundle_id, priority, kind, due_at)
            WHERE state = 'pending'
            """,
            "CREATE INDEX questions_ended ON questions (made_at) WHERE state <> 'pending'",
            // The dates up to which notifications are complete: those that Apple couldn't deliver, and all of them.
            """
            CREATE TABLE history_checkpoints (\(app), complete_until BIGINT, swept_until BIGINT, doubtful_from BIGINT,
                doubts BIGINT NOT NULL, gap_from BIGINT, gap_until BIGINT, PRIMARY KEY (environment, bundle_id))
            """,
            // Whether Apple knows a transaction. `answers` counts the consecutive negative answers.
            """
            CREATE TABLE confirmations (\(app), transaction_id \(text) NOT NULL, first_asked BIGINT NOT NULL,
                asked_at BIGINT NOT NULL, answers BIGINT NOT NULL, confirmed_at BIGINT, unknown_since BIGINT,
                PRIMARY KEY (environment, bundle_id, transaction_id))
            """,
            """
            CREATE INDEX confirmations_known ON confirmations (environment, bundle_id, confirmed_at)
            WHERE confirmed_at IS NOT NULL
            """,
            "CREATE INDEX confirmations_unknown ON confirmations (unknown_since) WHERE unknown_since IS NOT NULL",
            // The requests in an hour since 1970, and how many of them had a low priority. A row is locked for a batch,
            // because servers share it.
            """
            CREATE TABLE budgets (\(app), hour BIGINT NOT NULL, spent BIGINT NOT NULL, spent_low BIGINT NOT NULL,
                answered BIGINT NOT NULL, PRIMARY KEY (environment, bundle_id, hour))
            """,
        ]
    }
}
