/// The tables of account tokens, orders and imports. Without ``LedgerPolicy/orders`` and imports, they stay empty.
enum OrderTables {
    static func statements(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        let transaction = "environment \(text) NOT NULL, bundle_id \(text) NOT NULL, transaction_id \(text) NOT NULL"
        return [
            // Tokens (`appAccountToken`) and their accounts. Those of a deleted account stay: what is bought with them
            // is nobody else's (R13).
            """
            CREATE TABLE account_tokens (token \(text) PRIMARY KEY, account \(text) NOT NULL, kind \(text) NOT NULL,
                made_at BIGINT NOT NULL, retired_at BIGINT)
            """,
            "CREATE INDEX account_tokens_of_account ON account_tokens (account)",
            """
            CREATE UNIQUE INDEX account_tokens_made ON account_tokens (account)
            WHERE kind = 'made' AND retired_at IS NULL
            """,
            // Tokens of families that are not their owner's: nobody's yet, or, with a date, another account's, which
            // was reported (R3, R5).
            """
            CREATE TABLE waiting_tokens (token \(text) NOT NULL, family_id BIGINT NOT NULL, told_at BIGINT,
                PRIMARY KEY (token, family_id))
            """,
            "CREATE INDEX waiting_tokens_of_family ON waiting_tokens (family_id)",
            // What backends announced, and the purchase that came of it.
            """
            CREATE TABLE orders (id \(text) PRIMARY KEY, account \(text) NOT NULL, environment \(text) NOT NULL,
                bundle_id \(text) NOT NULL, product_id \(text) NOT NULL, token \(text) NOT NULL,
                idempotency_key \(text), created_at BIGINT NOT NULL, transaction_id \(text))
            """,
            "CREATE INDEX orders_open ON orders (account, created_at) WHERE transaction_id IS NULL",
            "CREATE UNIQUE INDEX orders_by_key ON orders (account, idempotency_key)",
            // New purchases that no order announced.
            "CREATE TABLE unordered_purchases (\(transaction), granted_at BIGINT NOT NULL, PRIMARY KEY (environment, bundle_id, transaction_id))",
            "CREATE INDEX unordered_purchases_by_date ON unordered_purchases (granted_at)",
            // How far files were imported.
            """
            CREATE TABLE imports (file \(text) PRIMARY KEY, bytes BIGINT NOT NULL, lines BIGINT NOT NULL,
                added BIGINT NOT NULL, known BIGINT NOT NULL, conflicts BIGINT NOT NULL, faults BIGINT NOT NULL)
            """,
        ]
    }

    /// What shops call their orders, and whether it is known that a purchase is of the order that it closed. Events of
    /// an older version that are sent again have every member, too.
    static func shopOrders(_ dialect: SQLDialect) -> [String] {
        [
            "ALTER TABLE orders ADD COLUMN shop_order_id \(dialect.text)",
            "ALTER TABLE orders ADD COLUMN is_named BIGINT",
            "CREATE UNIQUE INDEX orders_by_shop_order ON orders (shop_order_id)",
            """
            UPDATE outbox SET event = '{"account_token":null,"length":null,"order_id":null,"purchase_date":null,"seats":null,'
                || '"shop_order_id":null,' || substr(event, 2, length(event) - 2) || ',"version":2}'
            """,
        ]
    }

    /// An account can have thousands of tokens, which are listed in parts.
    static let tokensByDate = [
        "DROP INDEX account_tokens_of_account",
        "CREATE INDEX account_tokens_by_date ON account_tokens (account, made_at, token)",
    ]
}
