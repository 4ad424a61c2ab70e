/// The schema and its migrations.
///
/// `REFERENCE.md` lists the tables. Text is compared byte for byte, even if the database has a locale.
enum Schema {
    /// A change of the tables.
    struct Change {
        /// A column (`table.column`) or an index that the change adds or removes. No later version may undo it: each
        /// upgrade checks for it, and would make the change again.
        let object: String
        let isAddition: Bool
        let statements: [String]

        init(adding object: String, _ statements: [String]) {
            (self.object, isAddition, self.statements) = (object, true, statements)
        }

        init(removing object: String, _ statements: [String]) {
            (self.object, isAddition, self.statements) = (object, false, statements)
        }
    }

    /// Returns the statements that upgrade to each version from the previous one. From version 3 to 11, each
    /// creates the indexes of large tables, which takes long, before it locks grants. Later ones copy large tables,
    /// change each event, or only add columns.
    static func versions(_ dialect: SQLDialect) -> [[String]] {
        finished(dialect) + changes(dialect).map { $0.filter(\.isAddition).flatMap(\.statements) }
    }

    /// Returns the statements of the versions whose changes were all made at once.
    private static func finished(_ dialect: SQLDialect) -> [[String]] {
        [
            first(dialect) + OutboxTables.statements(dialect),
            second(dialect) + OutboxTables.dueAccounts(dialect) + identifiersOfTransaction
                + TokenTables.statements(dialect) + OrderTables.statements(dialect) + ImportTables.statements(dialect)
                + parts(dialect),
            notificationsAndTransfers + OrderTables.byTransaction + SupportTables.statements(dialect)
                + adjustedGrants,
            InquiryTables.statements(dialect) + notificationsByType, CommitMarks.tables(dialect),
        ]
    }

    /// Returns the changes of each later version.
    ///
    /// While version 6 or 7 was being developed, commits changed it. The tables of earlier commits lack these changes,
    /// and get them with the next version, in its transaction.
    static func changes(_ dialect: SQLDialect) -> [[Change]] {
        [
            [
                Change(adding: "ended_periods.listed_at", EndedPeriod.tables(dialect)),
                Change(adding: "attempts.evidence_digest", SupportTables.evidenceDigests(dialect)),
                Change(adding: "account_tokens_by_date", TokenTables.byDate),
                Change(adding: "orders.shop_order_id", OrderTables.shopOrders(dialect)),
                // Stored answers can contain the number of seats as a quantity, or the access in another form. Repeated
                // requests are decided again.
                Change(adding: "outbox.due_at", ["DELETE FROM answers"]),
                Change(adding: "outbox.due_at", OutboxTables.members + OutboxTables.urgent),
                Change(adding: "outbox_urgent_of_account", OutboxTables.urgentOfAccount),
                Change(adding: "unowned_events.event", LifecycleTables.statements(dialect)),
                // The first commits of version 6 marked only the buyers' seats. Marks add nothing that stays: tables
                // that lack this column are of these commits, or of a few after them.
                Change(adding: "families.claim_number", SeatTables.marks),
                Change(adding: "families.is_member", SeatTables.statements(dialect)),
                Change(adding: "unnamed_notifications.uuid", UnnamedNotification.tables(dialect)),
                Change(adding: "ledger_identity.id", LedgerSummary.tables(dialect)),
                Change(adding: "families.claim_number", ClaimOrder.statements(dialect)),
                Change(adding: "imports.id", ImportTables.runs(dialect)),
                Change(removing: "imports_by_state", ["DROP INDEX imports_by_state"]),
                Change(adding: "imports.untold", ImportTables.unreported(dialect)),
                Change(adding: "grants.import_id", importedGrants(dialect)),
                Change(adding: "families.lifecycle", LifecycleTables.states(dialect)),
            ],
            // One of these indexes at a time: each takes long, and locks its table.
            [
                Change(adding: "families.tokens_noted", tokensOfParts),
                Change(removing: "families.is_consumable", consumables),
                Change(adding: "families.gives_no_access", lineagesWithoutAccess),
            ],
            [
                Change(
                    adding: "families_lasting",
                    ["CREATE INDEX families_lasting ON families (account) WHERE gives_no_access IS NULL"])
            ],
            [
                Change(
                    adding: "grants_lasting",
                    ["CREATE INDEX grants_lasting ON grants (account) WHERE gives_no_access IS NULL"])
            ],
            [Change(adding: "periods.ends_at", endsOfPeriods)],
            // Only the changes that the tables lack.
            [],
            // Each of the large tables is copied in a transaction of its own.
            [
                Change(adding: "identifiers.id", IdentifierTables.numbers(dialect)),
                Change(adding: "due_moments.identifier_id", IdentifierTables.dueMoments(dialect)),
                Change(adding: "periods.identifier_id", IdentifierTables.periods(dialect)),
                Change(adding: "unordered_purchases.identifier_id", IdentifierTables.unorderedPurchases(dialect)),
            ],
            [Change(adding: "evidence.identifier_id", IdentifierTables.evidence(dialect))],
            [Change(adding: "grants.identifier_id", IdentifierTables.grants(dialect))],
            [Change(adding: "outbox.identifier_id", OutboxTables.subjects(dialect))],
            [Change(adding: "accounts.leased_until", OutboxTables.leases)],
            [Change(adding: "evidence.price", prices(dialect))],
        ]
    }

    /// Renewal information doesn't name an app.
    private static let identifiersOfTransaction = [
        "CREATE INDEX identifiers_of_transaction ON identifiers (transaction_id)"
    ]

    private static let notificationsAndTransfers = [
        "CREATE INDEX notifications_of_transaction ON notifications (transaction_id)",
        "CREATE INDEX transfers_of_family ON transfers (family_id)",
        "CREATE INDEX transfers_from ON transfers (from_account)",
        "CREATE INDEX transfers_to ON transfers (to_account)",
    ]

    /// For the date of the last notification of a type.
    private static let notificationsByType = [
        "CREATE INDEX notifications_by_type ON notifications (environment, type, received_at)"
    ]

    /// The quantity that an operator set for a grant, and the quantity in Apple's evidence at the time; NULL if the
    /// grant follows the evidence.
    private static let adjustedGrants = [
        "ALTER TABLE grants ADD COLUMN adjusted_quantity BIGINT",
        "ALTER TABLE grants ADD COLUMN adjusted_from BIGINT",
    ]

    /// The import that made a grant, and the first transaction of the purchase according to the line.
    private static func importedGrants(_ dialect: SQLDialect) -> [String] {
        [
            "ALTER TABLE grants ADD COLUMN import_id BIGINT",
            "ALTER TABLE grants ADD COLUMN original_transaction_id \(dialect.text)",
        ]
    }

    /// Removes what two commits had in place of ``lineagesWithoutAccess``.
    private static let consumables = ["families", "grants"].flatMap {
        ["DROP INDEX IF EXISTS \($0)_lasting", "ALTER TABLE \($0) DROP COLUMN is_consumable"]
    }

    /// The price, currency and storefront of a purchase, which is JSON otherwise.
    private static func prices(_ dialect: SQLDialect) -> [String] {
        ["price BIGINT", "currency \(dialect.text)", "storefront \(dialect.text)"].map {
            "ALTER TABLE evidence ADD COLUMN \($0)"
        }
    }

    /// What gives no access, such as consumables, is left out of indexes: an account can have thousands.
    private static let lineagesWithoutAccess = [
        "ALTER TABLE families ADD COLUMN gives_no_access BIGINT",
        "ALTER TABLE grants ADD COLUMN gives_no_access BIGINT",
        """
        UPDATE families SET gives_no_access = 1 WHERE subscription IS NULL AND NOT EXISTS (
            SELECT 1 FROM identifiers
            JOIN evidence ON evidence.environment = identifiers.environment
                AND evidence.bundle_id = identifiers.bundle_id AND evidence.transaction_id = identifiers.transaction_id
            WHERE identifiers.family_id = families.id AND purchase NOT LIKE '%"product_type":"Consumable"%')
        """,
        """
        UPDATE grants SET gives_no_access = 1 WHERE EXISTS (
            SELECT 1 FROM identifiers JOIN families ON families.id = identifiers.family_id
            WHERE identifiers.environment = grants.environment AND identifiers.bundle_id = grants.bundle_id
                AND identifiers.transaction_id = grants.transaction_id AND families.gives_no_access = 1)
        """,
    ]

    /// The current version.
    private static let latest = versions(.sqlite).count

    /// Creates the tables in one transaction.
    ///
    /// - Throws: `ledger-exists` if they already exist.
    static func create(_ store: some LedgerStore) throws(LedgerError) {
        try store.migrate { (connection) throws(LedgerError) in
            for statement in connection.dialect.migrationLock { try connection.run(statement) }
            guard try found(connection).isEmpty else { throw LedgerError(.ledgerExists, "a ledger is there") }
            try connection.run("CREATE TABLE IF NOT EXISTS ledger_schema (version BIGINT NOT NULL)")
            for statement in versions(connection.dialect).joined() { try connection.run(statement) }
            try connection.run("INSERT INTO ledger_schema VALUES ($1)", [.integer(Int64(latest))])
        }
    }

    /// Upgrades the tables of an older version, with one transaction for each step.
    ///
    /// - Returns: The version that was found, and the current one.
    /// - Throws: `no-ledger` if there are no tables.
    static func migrate(_ store: some LedgerStore) throws(LedgerError) -> (found: Int, now: Int) {
        var found: Int?
        while true {
            let (version, next) = try store.migrate(step)
            found = found ?? version
            if next == latest { return (found ?? version, next) }
        }
    }

    /// Throws unless the tables exist and have the current version.
    static func check(_ store: some LedgerStore) throws(LedgerError) {
        let version = try store.read { (connection) throws(LedgerError) in try Self.version(found(connection)) }
        guard version == latest else {
            throw LedgerError(
                .olderSchema, "the tables have version \(version), not \(latest); a server changes them when it starts")
        }
    }

    /// Returns the error for a missing ledger.
    ///
    /// - Parameter file: The file, or `nil` for a database, whose URI can contain a password.
    static func missing(in file: String? = nil) -> LedgerError {
        let advice = "restore its back-up, or make a new one with 'receipt-server init' or PurchaseLedger(creating:)"
        return LedgerError(.noLedger, "\(file.map { "\($0): " } ?? "")there is none; \(advice)")
    }

    /// Returns the row with the version of the tables, or none if there are no tables.
    private static func found(_ connection: any SQLConnection) throws(LedgerError) -> [SQLRow] {
        if try connection.run(connection.dialect.tableQuery).isEmpty { return [] }
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

    /// Upgrades the tables by one version. Returns the previous version and the new one.
    private static func step(_ connection: any SQLConnection) throws(LedgerError) -> (version: Int, next: Int) {
        for statement in connection.dialect.migrationLock { try connection.run(statement) }
        let version = try Self.version(found(connection))
        guard version < latest else { return (version, version) }
        try upgrade(connection, from: version)
        try connection.run("UPDATE ledger_schema SET version = $1", [.integer(Int64(version + 1))])
        if version + 1 == latest, connection.dialect.isServer { try connection.run(IdentifierTables.statistics) }
        return (version, version + 1)
    }

    /// Makes the changes of the next version, and those of earlier versions that the tables lack.
    private static func upgrade(_ connection: any SQLConnection, from version: Int) throws(LedgerError) {
        let finished = finished(connection.dialect)
        guard version >= finished.count else {
            for statement in finished[version] { try connection.run(statement) }
            return
        }
        for change in changes(connection.dialect).prefix(version + 1 - finished.count).joined() {
            let found = try connection.run(connection.dialect.objectQuery, [.text(change.object)])
            guard found.isEmpty == change.isAddition else { continue }
            for statement in change.statements { try connection.run(statement) }
        }
    }

    private static func first(_ dialect: SQLDialect) -> [String] {
        let text = dialect.text
        let transaction = "environment \(text) NOT NULL, bundle_id \(text) NOT NULL, transaction_id \(text) NOT NULL"
        let key = "PRIMARY KEY (environment, bundle_id, transaction_id"
        return [
            // A lineage: all transactions of one purchase, including renewals, restored transactions and those renamed
            // by a migration. The account is the first that submitted one.
            """
            CREATE TABLE families (id \(dialect.rowNumber), account \(text), claimed_at BIGINT)
            """,
            "CREATE INDEX families_of_account ON families (account)",
            // Every transaction id, original transaction id and previous original transaction id, with its lineage.
            """
            CREATE TABLE identifiers (\(transaction), family_id BIGINT NOT NULL REFERENCES families (id), \(key)))
            """,
            "CREATE INDEX identifiers_of_family ON identifiers (family_id)",
            // The evidence that Apple signed about a transaction: a row for each distinct content, with the latest
            // signing date and the first signer.
            """
            CREATE TABLE evidence (\(transaction), variant BIGINT NOT NULL, signed_date BIGINT NOT NULL,
                purchase \(text) NOT NULL, signer \(text), \(key), variant))
            """,
            // The latest renewal information that Apple signed about a subscription. It names no app.
            """
            CREATE TABLE renewals (environment \(text) NOT NULL, original_transaction_id \(text) NOT NULL,
                signed_date BIGINT NOT NULL, renewal \(text) NOT NULL,
                PRIMARY KEY (environment, original_transaction_id))
            """,
            // The grants. The quantity is what the account has now: 0 after a refund.
            """
            CREATE TABLE grants (\(transaction), product_id \(text) NOT NULL, account \(text) NOT NULL,
                quantity BIGINT NOT NULL, granted_quantity BIGINT NOT NULL, granted_at BIGINT NOT NULL,
                changed_at BIGINT NOT NULL, voided_at BIGINT, \(key)))
            """,
            "CREATE INDEX grants_of_account ON grants (account)",
            // The owned purchases that begin later.
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
            // The former owners of a lineage, and the reasons that they no longer own it.
            """
            CREATE TABLE transfers (id \(dialect.rowNumber), family_id BIGINT NOT NULL, from_account \(text) NOT NULL,
                to_account \(text) NOT NULL, reason \(text) NOT NULL, transferred_at BIGINT NOT NULL)
            """,
            // The number of events of each account. Its row also serializes the transactions that write them.
            "CREATE TABLE accounts (account \(text) PRIMARY KEY, events BIGINT NOT NULL)",
        ]
    }

    private static func second(_ dialect: SQLDialect) -> [String] {
        [
            // The number of the last event of each account, whose events are no longer counted.
            "ALTER TABLE accounts RENAME COLUMN events TO last_sequence",
            // A single row. Later events have a greater number.
            "CREATE TABLE sequence_floor (floor BIGINT NOT NULL)",
            "INSERT INTO sequence_floor VALUES (0)",
            // The dates when a decision changes without new evidence: a purchase begins, or a refund takes effect.
            "ALTER TABLE beginnings RENAME TO due_moments",
            "ALTER TABLE due_moments RENAME COLUMN begins_at TO due_at",
            "DROP INDEX beginnings_due",
            "CREATE INDEX due_moments_by_date ON due_moments (due_at)",
            // Version 1 didn't apply a refund that Apple dated ahead of the clock or after the end of a period. Decide
            // on these again.
            """
            INSERT INTO due_moments SELECT DISTINCT environment, bundle_id, transaction_id, 0 FROM evidence
            WHERE purchase LIKE '%"revoked":true%' ON CONFLICT DO NOTHING
            """,
            // The end of access in the last event.
            "ALTER TABLE grants ADD COLUMN until BIGINT",
            // Some stored answers had outcomes that can improve. A repeated request is decided again.
            "DELETE FROM answers",
        ]
    }
}
