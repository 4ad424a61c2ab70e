/// The tables of account tokens.
enum TokenTables {
    static func statements(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        return [
            // Tokens (`appAccountToken`) and their accounts. The tokens of a deleted account are kept, so that
            // purchases made with them belong to nobody else (R13).
            """
            CREATE TABLE account_tokens (token \(text) PRIMARY KEY, account \(text) NOT NULL, kind \(text) NOT NULL,
                made_at BIGINT NOT NULL, retired_at BIGINT)
            """,
            "CREATE INDEX account_tokens_of_account ON account_tokens (account)",
            """
            CREATE UNIQUE INDEX account_tokens_made ON account_tokens (account)
            WHERE kind = 'made' AND retired_at IS NULL
            """,
            // Tokens of lineages that don't belong to the owner: those without an account yet and, with a date, those
            // of another account, which was reported (R3, R5).
            """
            CREATE TABLE waiting_tokens (token \(text) NOT NULL, family_id BIGINT NOT NULL, told_at BIGINT,
                PRIMARY KEY (token, family_id))
            """,
            "CREATE INDEX waiting_tokens_of_family ON waiting_tokens (family_id)",
        ]
    }

    /// Lists tokens in pages, because an account can have thousands.
    static let byDate = [
        "DROP INDEX account_tokens_of_account",
        "CREATE INDEX account_tokens_by_date ON account_tokens (account, made_at, token)",
    ]
}
