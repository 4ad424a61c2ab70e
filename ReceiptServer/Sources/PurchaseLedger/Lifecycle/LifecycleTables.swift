import AppStoreReceipt

/// Version 6's changes for lifecycle events.
enum LifecycleTables {
    static func statements(_ dialect: SQLDialect) -> [String] {
        [
            // Events about purchases without an owner.
            """
            CREATE TABLE unowned_events (id \(dialect.text) PRIMARY KEY, made_at BIGINT NOT NULL,
                event \(dialect.text) NOT NULL)
            """,
            "CREATE INDEX unowned_events_by_date ON unowned_events (made_at)",
        ]
    }

    /// The state of a subscription after the owner's last event: a `LifecycleState`.
    static func states(_ dialect: SQLDialect) -> [String] {
        ["ALTER TABLE families ADD COLUMN lifecycle \(dialect.text)"]
    }
}
