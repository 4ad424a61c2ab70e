/// The tables, and how those of older versions become those of today.
///
/// `REFERENCE.md` lists them. Texts are compared byte for byte, also where the database has a locale.
enum Schema {
    /// The statements that make each version from the one before.
    static func versions(_ dialect: SQLDialect) -> [[String]] {
        [
            first(dialect), second(dialect) + OrderTables.statements(dialect) + parts(dialect),
            SupportTables.statements(dialect), QuestionTables.statements(dialect), CommitMarks.tables(dialect),
            // Indexes of large tables take long: before grants are locked.
            EndedPeriod.tables(dialect) + SupportTables.evidenceDigests(dialect) + OrderTables.tokensByDate
                + OrderTables.shopOrders(dialect) + LifecycleTables.statements(dialect)
                + SeatTables.statements(dialect)
                + UnnamedNotification.tables(dialect)
                + LedgerSummary.tables(dialect) + ClaimOrder.statements(dialect)
                + ImportTables.statements(dialect) + LifecycleTables.states(dialect),
        ]
    }

    /// The version of today.
    private static let latest = versions(.sqlite).count

    /// Makes the tables, in one transaction.
    ///
    /// - Throws: `ledger-exists` if they are there.
    static func create(_ store: some LedgerStore) throws(LedgerError) {
        try store.migrate { (connection) throws(LedgerError) in
            for statement in connection.dialect.migrationLock { try connection.run(statement) }
            guard try found(connection).isEmpty else { throw LedgerError(.ledgerExists, "a ledger is there") }
            try connection.run("CREATE TABLE IF NOT EXISTS ledger_schema (version BIGINT NOT NULL)")
            for statement in versions(connection.dialect).joined() { try connection.run(statement) }
            try connection.run("INSERT INTO ledger_schema VALUES ($1)", [.integer(Int64(latest))])
        }
    }

    /// Changes the tables of older versions, in one transaction for each version.
    ///
    /// - Returns: The version that was found, and the one of today.
    /// - Throws: `no-ledger` if there are no tables.
    static func migrate(_ store: some LedgerStore) throws(LedgerError) -> (found: Int, now: Int) {
        var found: Int?
        while true {
            let (version, next) = try store.migrate(step)
            found = found ?? version
            if next == latest { return (found ?? version, next) }
        }
    }

    /// Throws an error unless the tables are there, and are those of today.
    static func check(_ store: some LedgerStore) throws(LedgerError) {
        let version = try store.read { (connection) throws(LedgerError) in try Self.version(found(connection)) }
        guard version == latest else {
            throw LedgerError(
                .olderSchema, "the tables have version \(version), not \(latest); a server changes them when it starts")
        }
    }

    /// There is no ledger where one is to be.
    ///
    /// - Parameter file: The file; `nil` for a database, whose URI can have a password.
    static func missing(in file: String? = nil) -> LedgerError {
        let advice = "restore its back-up, or make a new one with 'receipt-server init' or PurchaseLedger(creating:)"
        return LedgerError(.noLedger, "\(file.map { "\($0): " } ?? "")there is none; \(advice)")
    }

    /// Returns the row that has the version of the tables; none if there are no tables.
    private static func found(_ connection: any SQLConnection) throws(LedgerError) -> [SQLRow] {
        if try connection.run(connection.dialect.tableQuestion).isEmpty { return [] }
        return try connection.run("SELECT version FROM ledger_schema")
    }

    private static func version(_ rows: [SQLRow]) throws(LedgerError) -> Int {
        guard let row = rows.first else { throw missing() }
        let found = Int(try row.integer(0))
        guard found <= latest else {
            throw LedgerError(.newerSchema, "the tables have version \(found); this library knows \(latest)")
        }
        return found
    }

    /// Returns the version of the tables, and the one that they have now.
    private static func step(_ connection: any SQLConnection) throws(LedgerError) -> (version: Int, next: Int) {
        for statement in connection.dialect.migrationLock { try connection.run(statement) }
        let version = try Self.version(found(connection))
        guard version < latest else { return (version, version) }
        for statement in versions(connection.dialect)[version] { try connection.run(statement) }
        try connection.run("UPDATE ledger_schema SET version = $1", [.integer(Int64(version + 1))])
        return (version, version + 1)
    }

    private static func first(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        let transaction = "environment \(text) NOT NULL, bundle_id \(text) NOT NULL, transaction_id \(text) NOT NULL"
        let key = "PRIMARY KEY (environment, bundle_id, transaction_id"
        return [
            // All transactions of one purchase: its renewals, restored transactions, and what a migration renamed. The
            // account is who brought one first.
            """
            CREATE TABLE families (id \(dialect.rowNumber), account \(text), claimed_at BIGINT)
            """,
            "CREATE INDEX families_of_account ON families (account)",
            // Every transaction id, original transaction id and previous original transaction id, and its family.
            """
            CREATE TABLE identifiers (\(transaction), family_id BIGINT NOT NULL REFERENCES families (id), \(key)))
            """,
            "CREATE INDEX identifiers_of_family ON identifiers (family_id)",
            // What Apple has signed about a transaction: a row for each different content, with the date it was signed
            // last and the signer who was first.
            """
            CREATE TABLE evidence (\(transaction), variant BIGINT NOT NULL, signed_date BIGINT NOT NULL,
                purchase \(text) NOT NULL, signer \(text), \(key), variant))
            """,
            // What Apple signed last about the renewal of a subscription. It names no app.
            """
            CREATE TABLE renewals (environment \(text) NOT NULL, original_transaction_id \(text) NOT NULL,
                signed_date BIGINT NOT NULL, renewal \(text) NOT NULL,
                PRIMARY KEY (environment, original_transaction_id))
            """,
            // What was granted. The quantity is what the account has now: 0 after a refund.
            """
            CREATE TABLE grants (\(transaction), product_id \(text) NOT NULL, account \(text) NOT NULL,
                quantity BIGINT NOT NULL, granted_quantity BIGINT NOT NULL, granted_at BIGINT NOT NULL,
                changed_at BIGINT NOT NULL, voided_at BIGINT, \(key)))
            """,
            "CREATE INDEX grants_of_account ON grants (account)",
            // Purchases of an owner that begin later.
            "CREATE TABLE beginnings (\(transaction), begins_at BIGINT NOT NULL, \(key)))",
            "CREATE INDEX beginnings_due ON beginnings (begins_at)",
            """
            CREATE TABLE notifications (environment \(text) NOT NULL, uuid \(text) NOT NULL, type \(text) NOT NULL,
                subtype \(text), transaction_id \(text), signed_date BIGINT, received_at BIGINT NOT NULL,
                payload \(text), PRIMARY KEY (environment, uuid))
            """,
            """
            CREATE TABLE answers (account \(text) NOT NULL, idempotency_key \(text) NOT NULL, request \(text) NOT NULL,
                answer \(text) NOT NULL, answered_at BIGINT NOT NULL, PRIMARY KEY (account, idempotency_key))
            """,
            "CREATE INDEX answers_by_age ON answers (answered_at)",
            // Former owners of a family, and why they no longer own it.
            """
            CREATE TABLE transfers (id \(dialect.rowNumber), family_id BIGINT NOT NULL, from_account \(text) NOT NULL,
                to_account \(text) NOT NULL, reason \(text) NOT NULL, transferred_at BIGINT NOT NULL)
            """,
            // The number of events of each account, which also orders the transactions that write them.
            "CREATE TABLE accounts (account \(text) PRIMARY KEY, events BIGINT NOT NULL)",
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

    private static func second(_ dialect: SQLDialect) -> [String] {
        [
            // The number of the last event of each account, which no longer counts them.
            "ALTER TABLE accounts RENAME COLUMN events TO last_sequence",
            // One row: later events have a greater number.
            "CREATE TABLE sequence_floor (floor BIGINT NOT NULL)",
            "INSERT INTO sequence_floor VALUES (0)",
            // When a decision changes without new evidence: a purchase begins, or a refund comes into effect.
            "ALTER TABLE beginnings RENAME TO due_moments",
            "ALTER TABLE due_moments RENAME COLUMN begins_at TO due_at",
            "DROP INDEX beginnings_due",
            "CREATE INDEX due_moments_by_date ON due_moments (due_at)",
            // Version 1 applied no refund that Apple had dated ahead of the clock, or after a period's end: each is
            // looked at again.
            """
            INSERT INTO due_moments SELECT DISTINCT environment, bundle_id, transaction_id, 0 FROM evidence
            WHERE purchase LIKE '%"revoked":true%' ON CONFLICT DO NOTHING
            """,
            // The end of access in the last event.
            "ALTER TABLE grants ADD COLUMN until BIGINT",
            // Some were kept whose outcomes can change for the better. A request that is sent again is decided anew.
            "DELETE FROM answers",
            dialect.eventDatesAsText,
            // When the first pending event of an account is due, or when its lease ends; NULL if there is none. So a
            // look at what is due reads no other event.
            "ALTER TABLE accounts ADD COLUMN due_at BIGINT",
            """
            UPDATE accounts SET due_at = (
                SELECT MIN(made_at) FROM outbox WHERE outbox.account = accounts.account AND state = 'pending')
            """,
            "CREATE INDEX accounts_due ON accounts (due_at) WHERE due_at IS NOT NULL",
            "DROP INDEX outbox_due",
            "ALTER TABLE outbox DROP COLUMN due_at",
            "ALTER TABLE outbox DROP COLUMN leased_until",
            // One index for each state: no question reads the events of another.
            "DROP INDEX outbox_by_age",
            "CREATE INDEX outbox_oldest ON outbox (made_at) WHERE state = 'pending'",
            "CREATE INDEX outbox_delivered ON outbox (made_at) WHERE state = 'delivered'",
            // Renewal information names no app.
            "CREATE INDEX identifiers_of_transaction ON identifiers (transaction_id)",
        ]
    }
}
