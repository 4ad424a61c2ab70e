/// The table of events, and the dates of deliveries.
enum OutboxTables {
    static func statements(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        return [
            // The events for the backend. A row is `pending`, `delivered` or `dead`.
            """
            CREATE TABLE outbox (id \(text) PRIMARY KEY, account \(text) NOT NULL, sequence BIGINT NOT NULL,
                event \(text) NOT NULL, made_at BIGINT NOT NULL, state \(text) NOT NULL, attempts BIGINT NOT NULL,
                due_at BIGINT NOT NULL, leased_until BIGINT NOT NULL, failure \(text), UNIQUE (account, sequence))
            """,
            "CREATE INDEX outbox_due ON outbox (due_at) WHERE state = 'pending'",
            "CREATE INDEX outbox_pending ON outbox (account, sequence) WHERE state = 'pending'",
            "CREATE INDEX outbox_dead ON outbox (made_at) WHERE state = 'dead'",
            "CREATE INDEX outbox_by_age ON outbox (made_at)",
        ]
    }

    /// Returns the statements of version 2, which record when the next event of an account is due, and give each state
    /// an index of its own.
    static func dueAccounts(_ dialect: SQLDialect) -> [String] {
        [
            dialect.eventDatesAsText,
            // The date when the first pending event of an account is due; NULL if there is none. With it, finding what
            // is due reads no other events.
            "ALTER TABLE accounts ADD COLUMN due_at BIGINT",
            """
            UPDATE accounts SET due_at = (
                SELECT MIN(made_at) FROM outbox WHERE outbox.account = accounts.account AND state = 'pending')
            """,
            "CREATE INDEX accounts_due ON accounts (due_at) WHERE due_at IS NOT NULL",
            "DROP INDEX outbox_due",
            "ALTER TABLE outbox DROP COLUMN due_at",
            "ALTER TABLE outbox DROP COLUMN leased_until",
            // One index for each state, so that no query reads the events in another.
            "DROP INDEX outbox_by_age",
            "CREATE INDEX outbox_oldest ON outbox (made_at) WHERE state = 'pending'",
            "CREATE INDEX outbox_delivered ON outbox (made_at) WHERE state = 'delivered'",
        ]
    }

    /// Adds the missing members to an older version's events, which can be sent again.
    static let members = [
        """
        UPDATE outbox SET event = CASE WHEN event LIKE '%"account_token":%' THEN '{' ELSE
                '{"account_token":null,"length":null,"order_id":null,"purchase_date":null,"shop_order_id":null,'
                || CASE WHEN event LIKE '%"seats":%' THEN '' ELSE '"seats":null,' END
            END || substr(event, 2, length(event) - 2) || ',"version":2}'
        WHERE event NOT LIKE '%"version":%'
        """
    ]

    /// When an `urgent` event, which waits for no other, is due.
    static let urgent = [
        "ALTER TABLE outbox ADD COLUMN due_at BIGINT",
        "CREATE INDEX outbox_urgent ON outbox (due_at) WHERE state = 'urgent'",
    ]

    /// The kind of each event, and the number of the transaction that it is about.
    static func subjects(_ dialect: SQLDialect) -> [String] {
        func member(_ name: String) -> String { dialect.member(name, of: "event") }
        return [
            "ALTER TABLE outbox ADD COLUMN kind \(dialect.text)", "ALTER TABLE outbox ADD COLUMN identifier_id BIGINT",
            """
            UPDATE outbox SET kind = \(member("kind")), identifier_id = (
                SELECT id FROM identifiers WHERE environment = \(member("environment"))
                    AND bundle_id = \(member("bundle_id")) AND transaction_id = \(member("transaction_id")))
            """,
        ]
    }

    /// The leases of accounts and of urgent events, apart from when they are due, and the date at which the backend
    /// acknowledged an event.
    static let leases = [
        "ALTER TABLE accounts ADD COLUMN leased_until BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE outbox ADD COLUMN leased_until BIGINT NOT NULL DEFAULT 0",
        "ALTER TABLE outbox ADD COLUMN delivered_at BIGINT",
    ]

    static let urgentOfAccount = [
        "CREATE INDEX outbox_urgent_of_account ON outbox (account, sequence) WHERE state = 'urgent'"
    ]
}
