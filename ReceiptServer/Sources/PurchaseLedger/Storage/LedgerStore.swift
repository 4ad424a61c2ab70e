/// A database that holds a ledger.
///
/// The same statements work in both databases, so the ledger is written only once. Parameters are `$1`, `$2` and so on.
protocol LedgerStore: Sendable {
    /// Runs `body` in a transaction that can write, and commits it. If `body` locks the rows that it reads with
    /// ``SQLDialect/rowLock``, the transaction is serializable. When this method returns, the changes survive a crash
    /// of the machine.
    ///
    /// `body` can run several times and on another thread, because the transaction can be retried after a conflict, or
    /// shared with other requests.
    func write<Result>(
        _ share: WorkShare, _ body: @escaping (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result

    /// Answers a request from a snapshot, which other requests can share; `nil` if it has something to record.
    func look(_ request: RedemptionRequest) throws(LedgerError) -> RedemptionRequest.Look?

    /// Answers a request, in a transaction as with ``write(_:_:)`` that other requests can share.
    ///
    /// - Parameter then: Called once with the answer, which is `nil` if the idempotency key belongs to another request:
    ///   before this method returns, or later on another thread. It must not wait or use the store: a connection may
    ///   be in use.
    func redeem(
        _ request: RedemptionRequest, then: @escaping @Sendable (Result<Redemption?, LedgerError>) -> Void)

    /// Runs `body` in a read-only transaction, which sees the database at one moment.
    func read<Result>(
        _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result

    /// Runs `body`, which reads about this much, like ``read(_:)``.
    func read<Result>(
        _ share: WorkShare, _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result

    /// Runs `body` like ``read(_:)``, without a time limit.
    func readLong<Result>(
        _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result

    /// Runs `body` in a transaction as with ``write(_:_:)``, with enough time to create an index of a large table.
    func migrate<Result>(
        _ body: @escaping (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result

    /// Returns the lock that an import needs, or `nil` if another import has it.
    func lockImports() throws(LedgerError) -> ImportLock?

    /// Moves the data that a database keeps beside its file into the file.
    func completeFile() throws(LedgerError)
}

extension LedgerStore {
    func look(_ request: RedemptionRequest) throws(LedgerError) -> RedemptionRequest.Look? {
        try read(request.share) { (connection) throws(LedgerError) in
            try RedemptionRequest.look([request], connection)[0]
        }
    }

    func read<Result>(
        _ share: WorkShare, _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result { try read(body) }

    /// A store without time limits needs no other implementation.
    func readLong<Result>(
        _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result { try read(body) }

    /// A store that no other process uses needs no lock.
    func lockImports() throws(LedgerError) -> ImportLock? { ImportLock {} }

    /// Runs `body` without an account.
    func write<Result>(
        _ body: @escaping (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try write(WorkShare(), body)
    }
}

extension RedemptionRequest {
    var share: WorkShare { WorkShare(account: claim.account, weight: max(1, submission.purchases.count)) }
}

/// A connection to a database, within a transaction.
protocol SQLConnection: AnyObject {
    var dialect: SQLDialect { get }

    /// Runs statements in order, and returns the rows of each. Each statement is prepared once for each connection.
    func run(_ statements: [SQLStatement]) throws(LedgerError) -> [[SQLRow]]

    /// Runs a statement without returning its rows, at the latest before the next statement whose rows are read and
    /// before the commit. An error can be thrown by the next statement instead.
    func write(_ statement: String, _ parameters: [SQLValue]) throws(LedgerError)
}

extension SQLConnection {
    @discardableResult
    func run(_ statement: String, _ parameters: [SQLValue] = []) throws(LedgerError) -> [SQLRow] {
        try run([SQLStatement(statement, parameters)])[0]
    }

    func write(_ statement: SQLStatement) throws(LedgerError) { try write(statement.text, statement.parameters) }

    /// Returns the rows of each query.
    func run(_ queries: [SQLQuery]) throws(LedgerError) -> [[SQLRow]] {
        var answers = try run(queries.flatMap(\.statements))[...]
        return queries.map { query in
            defer { answers = answers.dropFirst(query.statements.count) }
            return Array(answers.prefix(query.statements.count).joined())
        }
    }
}

/// A statement with its parameters.
struct SQLStatement: Sendable {
    let text: String
    let parameters: [SQLValue]

    init(_ text: String, _ parameters: [SQLValue] = []) {
        self.text = text
        self.parameters = parameters
    }
}

/// A query about several values, made of one statement for all or one for each.
struct SQLQuery {
    let statements: [SQLStatement]

    init(_ statement: String, _ parameters: [SQLValue]) { self.init(SQLStatement(statement, parameters)) }

    init(_ statement: SQLStatement) { statements = [statement] }

    /// - Parameters:
    ///   - text: A `SELECT` that compares a column by ``SQLDialect/oneOf(_:_:)`` with its last parameter, and returns
    ///     that column, too.
    ///   - parameters: The other parameters.
    init(
        _ text: String, _ parameters: [SQLValue] = [], oneOf values: [SQLValue], _ dialect: SQLDialect
    ) {
        statements =
            values.count > dialect.maximumSingleCount
            ? [SQLStatement(text, parameters + [.array(values)])]
            : values.map { SQLStatement(text, parameters + [$0]) }
    }
}

/// The differences between the databases.
struct SQLDialect: Sendable {
    /// Whether the database is a separate server, so that each request, of one or several statements, is a round trip.
    let isServer: Bool
    /// A query for the server's date, or `nil` if the database has no clock of its own.
    let clock: String?
    /// The type of a text column that is compared byte for byte.
    let text: String
    /// The type of a column that numbers the rows.
    let rowNumber: String
    /// The type of a column of bytes.
    let bytes: String
    /// The end of `CREATE TABLE` that stores the rows within the primary key.
    let inPrimaryKey: String
    /// The SQL before and after an array parameter, which must contain a column's value.
    let arrayBegin: String
    let arrayEnd: String
    /// The texts in the array `$1`, as a table.
    let texts: String
    /// The largest number of values for which separate statements are faster than one array parameter.
    let maximumSingleCount: Int
    /// The end of a `SELECT` that locks its rows until the end of the transaction. SQLite has only one writer and needs
    /// no locks.
    let rowLock: String
    /// The same, skipping the rows that another transaction has locked.
    let skippingRowLock: String
    /// Returns `$1` numbers for new lineages, which no other transaction gets.
    let freeNumbers: String
    /// The statement that sets up numbering claims, and the expression for the next number.
    let claimNumbers: String
    let nextClaimNumber: String
    /// The statements before a migration. If two servers start at the same time, the second waits however long the
    /// first takes.
    let migrationLock: [String]
    /// The statements that lock account names until the end of the transaction: shared locks for the names in an array,
    /// in order, to write them; and an exclusive lock to remove one name.
    let sharedAccountLocks: [String]
    let accountLock: [String]
    /// Takes the locks in an array, in order: each is twice the lock's number, plus one if exclusive.
    let tokenLocks: String?
    /// The same for the floor of event numbers: shared to take numbers, exclusive to raise the floor.
    let sharedFloorLock: [String]
    let floorLock: [String]
    /// A query that returns a row if the tables of a ledger exist.
    let tableQuery: String
    /// A query that returns a row if the ledger has a column (`table.column`) or an index. Another schema of the
    /// database can have one of the same name.
    let objectQuery: String
    /// A statement that converts the dates of events in the outbox to RFC 3339. Version 1 wrote milliseconds since
    /// 1970.
    let eventDatesAsText: String

    /// Returns the text of a member of the JSON object in a column. PostgreSQL can't read an object if any text in it
    /// has a NUL, so each NUL is read as U+0001.
    func member(_ name: String, of column: String) -> String {
        isServer
            ? "(replace(\(column), '\\u0000', '\\u0001')::json ->> '\(name)')" : "json_extract(\(column), '$.\(name)')"
    }

    /// Returns the right side of a comparison that tests whether a column is one of several values.
    func oneOf(_ parameter: String, _ count: Int) -> String {
        count > maximumSingleCount ? "\(arrayBegin)\(parameter)\(arrayEnd)" : "= \(parameter)"
    }

    /// Returns the texts as a table `names` with a column `value`, and its parameter, `$1`.
    func names(_ texts: [String]) -> (table: String, parameter: SQLValue) {
        texts.count == 1
            ? ("(SELECT $1 AS value) AS names", .text(texts[0]))
            : ("\(self.texts) AS names", .array(texts.map(SQLValue.text)))
    }

    /// Returns the rows of `identifiers` for some transactions of the app `$1` and `$2`, and their parameter, `$3`.
    func identifiers(of transactions: [String]) -> (table: String, parameter: SQLValue) {
        transactions.count == 1
            ? (Self.identifier, .text(transactions[0])) : (identifiers, .array(transactions.map(SQLValue.text)))
    }

    /// The row of `identifiers` for the transaction `$3` of the app `$1` and `$2`.
    static let identifier = identifiers("= $3")

    /// The rows for the transactions in the array `$3`.
    var identifiers: String { Self.identifiers("\(arrayBegin)$3\(arrayEnd)") }

    private static func identifiers(_ condition: String) -> String {
        "(SELECT * FROM identifiers WHERE environment = $1 AND bundle_id = $2 AND transaction_id \(condition))"
    }

    static let sqlite = SQLDialect(
        isServer: false, clock: nil, text: "TEXT", rowNumber: "INTEGER PRIMARY KEY", bytes: "BLOB",
        inPrimaryKey: " WITHOUT ROWID",
        arrayBegin: "IN (SELECT value FROM json_each(", arrayEnd: "))",
        texts: "(SELECT value FROM json_each($1))",
        maximumSingleCount: 4, rowLock: "", skippingRowLock: "",
        // Only one transaction writes.
        freeNumbers: """
            WITH RECURSIVE free (id) AS (
                SELECT COALESCE(MAX(id), 0) + 1 FROM families UNION ALL SELECT id + 1 FROM free LIMIT $1)
            SELECT id FROM free
            """,
        claimNumbers: "CREATE INDEX families_by_claim ON families (claim_number) WHERE claim_number IS NOT NULL",
        nextClaimNumber:
            "(SELECT MAX(COALESCE(MAX(claim_number), 0), 0) + 1 FROM families WHERE claim_number IS NOT NULL)",
        migrationLock: [],
        sharedAccountLocks: [], accountLock: [], tokenLocks: nil, sharedFloorLock: [], floorLock: [],
        tableQuery: "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'ledger_schema'",
        objectQuery: """
            SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = $1 UNION ALL
            SELECT 1 FROM sqlite_schema AS tables JOIN pragma_table_info(tables.name) AS columns
            WHERE tables.type = 'table' AND tables.name || '.' || columns.name = $1
            """,
        eventDatesAsText: """
            UPDATE outbox SET event = json_set(event,
                '$.at', strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(event, '$.at') / 1000.0, 'unixepoch'),
                '$.until', strftime('%Y-%m-%dT%H:%M:%fZ', json_extract(event, '$.until') / 1000.0, 'unixepoch'))
            """)
    static let postgreSQL = SQLDialect(
        isServer: true, clock: "SELECT (EXTRACT(EPOCH FROM clock_timestamp()) * 1000)::bigint",
        text: "TEXT COLLATE \"C\"", rowNumber: "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
        bytes: "BYTEA", inPrimaryKey: "", arrayBegin: "= ANY(", arrayEnd: ")",
        texts: "(SELECT unnest($1::text[]) AS value)",
        maximumSingleCount: 0,
        rowLock: " FOR UPDATE",
        skippingRowLock: " FOR UPDATE SKIP LOCKED",
        freeNumbers: """
            SELECT nextval((SELECT pg_get_serial_sequence('families', 'id')::regclass)) FROM generate_series(1, $1)
            """, claimNumbers: "CREATE SEQUENCE claim_numbers", nextClaimNumber: "nextval('claim_numbers')",
        migrationLock: [
            "SET LOCAL lock_timeout = 0", "SELECT pg_advisory_xact_lock(7310579653419)",
            "SET LOCAL lock_timeout = '5s'",
            // Unlike a request, a migration reads whole tables.
            "SET LOCAL enable_seqscan = on",
        ],
        sharedAccountLocks: [
            "SELECT pg_advisory_xact_lock_shared(hashtextextended(name, 0)) FROM unnest($1::text[]) AS names (name)"
        ],
        accountLock: ["SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"],
        tokenLocks: """
            SELECT CASE WHEN lock % 2 = 1 THEN pg_advisory_xact_lock(1310579653, (lock / 2)::int)::text
                ELSE pg_advisory_xact_lock_shared(1310579653, (lock / 2)::int)::text END
            FROM unnest($1::bigint[]) AS locks (lock)
            """,
        sharedFloorLock: ["SELECT pg_advisory_xact_lock_shared(7310579653420)"],
        floorLock: ["SELECT pg_advisory_xact_lock(7310579653420)"],
        tableQuery: "SELECT 1 WHERE to_regclass('ledger_schema') IS NOT NULL",
        objectQuery: """
            SELECT 1 FROM pg_class AS object
            WHERE relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('ledger_schema'))
                AND (relname::text = $1::text OR EXISTS (
                    SELECT 1 FROM pg_attribute WHERE attrelid = object.oid AND NOT attisdropped
                        AND object.relname::text || '.' || attname::text = $1::text))
            """,
        eventDatesAsText: """
            UPDATE outbox SET event = (event::jsonb || (SELECT jsonb_object_agg(name, to_char(
                    to_timestamp((event::jsonb ->> name)::numeric / 1000) AT TIME ZONE 'UTC',
                    'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
                FROM (VALUES ('at'), ('until')) AS dates (name)))::text
            """)
}
