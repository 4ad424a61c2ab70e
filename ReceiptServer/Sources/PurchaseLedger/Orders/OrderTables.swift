/// The tables of orders.
enum OrderTables {
    static func statements(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        let transaction = "environment \(text) NOT NULL, bundle_id \(text) NOT NULL, transaction_id \(text) NOT NULL"
        return [
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
        ]
    }

    static let byTransaction = [
        "CREATE INDEX orders_of_transaction ON orders (transaction_id) WHERE transaction_id IS NOT NULL"
    ]

    /// Returns the statements for the shops' order ids, and for whether a purchase is known to belong to the order that
    /// it closed.
    static func shopOrders(_ dialect: SQLDialect) -> [String] {
        [
            "ALTER TABLE orders ADD COLUMN shop_order_id \(dialect.text)",
            "ALTER TABLE orders ADD COLUMN is_named BIGINT",
            "CREATE UNIQUE INDEX orders_by_shop_order ON orders (shop_order_id)",
        ]
    }
}
