import AppStoreReceipt

/// Version 6's changes for lifecycle events.
enum LifecycleTables {
    static func statements(_ dialect: SQLDialect) -> [String] {
        [
            // When an `urgent` event, which waits for no other, is due, or when its lease ends.
            "ALTER TABLE outbox ADD COLUMN due_at BIGINT",
            "CREATE INDEX outbox_urgent ON outbox (due_at) WHERE state = 'urgent'",
            "CREATE INDEX outbox_urgent_of_account ON outbox (account, sequence) WHERE state = 'urgent'",
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
