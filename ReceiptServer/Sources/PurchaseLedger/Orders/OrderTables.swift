/// The tables of account tokens, orders and imports. Without ``LedgerPolicy/orders`` and imports, they stay empty.
enum OrderTables {
    static func statements(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        let transaction = "environment \(text) NOT NULL, bundle_id \(text) NOT NULL, transaction_id \(text) NOT NULL"
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
            // The purchases that backends announced, and the transactions that resulted.
            """
            CREATE TABLE orders (id \(text) PRIMARY KEY, account \(text) NOT NULL, environment \(text) NOT NULL,
                bundle_id \(text) NOT NULL, product_id \(text) NOT NULL, token \(text) NOT NULL,
                idempotency_key \(text), created_at BIGINT NOT NULL, transaction_id \(text))
            """,
            "CREATE INDEX orders_open ON orders (account, created_at) WHERE transaction_id IS NULL",
            "CREATE UNIQUE INDEX orders_by_key ON orders (account, idempotency_key)",
            // New purchases without an order.
            "CREATE TABLE unordered_purchases (\(transaction), granted_at BIGINT NOT NULL, PRIMARY KEY (environment, bundle_id, transaction_id))",
            "CREATE INDEX unordered_purchases_by_date ON unordered_purchases (granted_at)",
            // The progress of imports.
            """
            CREATE TABLE imports (file \(text) PRIMARY KEY, bytes BIGINT NOT NULL, lines BIGINT NOT NULL,
                added BIGINT NOT NULL, known BIGINT NOT NULL, conflicts BIGINT NOT NULL, faults BIGINT NOT NULL)
            """,
        ]
    }

    /// Returns the statements for the shops' order ids, and for whether a purchase is known to belong to the order that
    /// it closed. They also add the missing members to an older version's events, which can be sent again.
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

    /// Lists tokens in pages, because an account can have thousands.
    static let tokensByDate = [
        "DROP INDEX account_tokens_of_account",
        "CREATE INDEX account_tokens_by_date ON account_tokens (account, made_at, token)",
    ]
}
