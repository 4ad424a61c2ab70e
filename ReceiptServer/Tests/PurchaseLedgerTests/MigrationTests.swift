import AppStoreReceipt
import AppStoreReceiptTesting
import LedgerTestSupport
@testable import PurchaseLedger
import StrictText
import Testing

/// Ledgers of older versions.
@Suite struct MigrationTests {
    private static let first = Instant(millisecondsSince1970: 1_750_000_000_123)

    /// The purchases in ledgers of older versions.
    private static func bought() -> (
        PurchaseHistory, period: PurchaseHistory.Transaction, coins: PurchaseHistory.Transaction
    ) {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
        history.refund(coins, at: day(1))
        return (history, subscription.firstPeriod, coins)
    }

    /// Makes the tables of an older version, with rows in those of version 1.
    ///
    /// - Parameter isLacking: Whether the tables lack a change of their version.
    static func makeLedger(
        ofVersion version: Int, in store: any LedgerStore,
        lacking isLacking: @escaping (Schema.Change) -> Bool = { _ in false }
    ) throws {
        let (history, period, coins) = bought()
        var result: Result<Void, any Error> = .success(())
        try store.migrate { (connection) throws(LedgerError) in
            let versions = Schema.versions(connection.dialect)
            for statement in versions[0] { try connection.run(statement) }
            try connection.run("CREATE TABLE ledger_schema (version BIGINT NOT NULL)")
            try connection.run("INSERT INTO ledger_schema VALUES ($1)", [.integer(Int64(version))])
            result = Result { try fill(connection, history, period, refunded: coins) }
            let changes = Schema.changes(connection.dialect)
            let later = versions.count - changes.count
            for statement in versions[1..<min(version, later)].joined() { try connection.run(statement) }
            for change in changes.prefix(max(version - later, 0)).joined()
            where change.isAddition && !isLacking(change) {
                for statement in change.statements { try connection.run(statement) }
            }
        }
        try result.get()
    }

    /// Fills tables of version 1 as the ledger did at that time: a granted period, whose events wait, a renewal that
    /// begins later, and a refund that was not applied.
    private static func fill(
        _ connection: any SQLConnection, _ history: PurchaseHistory, _ period: PurchaseHistory.Transaction,
        refunded coins: PurchaseHistory.Transaction
    ) throws {
        func key(_ transaction: PurchaseHistory.Transaction) -> [SQLValue] {
            [.text("production"), .text(Minted.bundleID), .text(transaction.transactionID)]
        }
        func insert(_ table: String, _ values: [SQLValue]) throws {
            let parameters = (1...values.count).map { "$\($0)" }.joined(separator: ", ")
            try connection.run("INSERT INTO \(table) VALUES (\(parameters))", values)
        }
        let date = SQLValue(day(1))
        for (lineage, transaction, product, quantity) in [
            (1000, period, "monthly", 1), (1001, coins, "coins", 3),
        ] as [(Int64, PurchaseHistory.Transaction, String, Int64)] {
            try insert("families", [.integer(lineage), .text("anna"), date])
            try insert("identifiers", key(transaction) + [.integer(lineage)])
            let evidence = try history.evidence(transaction, signedAt: day(1))
            var purchase = try #require(evidence.purchases.first?.purchase)
            purchase.signedDate = Instant(millisecondsSince1970: 0)
            try insert("evidence", key(transaction) + [.integer(1), date, .text(StoredJSON.encode(purchase)), .null])
            try insert(
                "grants",
                key(transaction) + [
                    .text(product), .text("anna"), .integer(quantity), .integer(quantity), date, date, .null,
                ])
        }
        var renewal = SubscriptionRenewal(originalTransactionID: period.transactionID, signedDate: day(1))
        renewal.environment = .production
        try insert(
            "renewals",
            [.text("production"), .text(period.transactionID), date, .text(StoredJSON.encode(renewal))])
        try insert("beginnings", key(period) + [SQLValue(day(5))])
        try insert(
            "notifications",
            [.text("production"), .text("uuid"), .text("TEST"), .null, .null, date, date, .text("{}")])
        try insert("answers", [.text("anna"), .text("k"), .text("digest"), .text("{}"), date])
        try connection.run(
            """
            INSERT INTO transfers (family_id, from_account, to_account, reason, transferred_at)
            VALUES (1000, 'ben', 'anna', 'support', 0)
            """)
        try insert("accounts", [.text("anna"), .integer(2)])
        for (sequence, state) in [(1, "delivered"), (2, "pending")] {
            // With the members and the order of version 1.
            let until = sequence == 1 ? "null" : "\(day(30).millisecondsSince1970)"
            let event = """
                {"account":"anna","at":\(Self.first.millisecondsSince1970),"bundle_id":"com.example.app",\
                "cause":"redeem","environment":"production","id":"id \(sequence)","kind":"granted",\
                "original_transaction_id":null,"previous_quantity":0,"product_id":"monthly","quantity":1,\
                "sequence":\(sequence),"transaction_id":"\(period.transactionID)","until":\(until)}
                """
            try insert(
                "outbox",
                [
                    .text("id \(sequence)"), .text("anna"), .integer(Int64(sequence)), .text(event), date,
                    .text(state), .integer(0), .integer(0), .integer(0), .null,
                ])
        }
    }

    @Test(arguments: Place.available)
    func `a ledger of version 1 with rows in every table is opened, and is right`(_ place: Place) throws {
        let location = try place.makeEmptyLocation()
        let store = try LedgerLocation(location.text).open(.creating)
        let (bought, period, coins) = Self.bought()
        var history = bought
        try Self.makeLedger(ofVersion: 1, in: store)

        let ledger = try PurchaseLedger(location.text)
        #expect(ledger.upgrade?.found == 1)
        func rows(_ statement: String) throws -> [SQLRow] {
            try ledger.store.read { (connection) throws(LedgerError) in try connection.run(statement) }
        }
        #expect(
            try rows("SELECT version FROM ledger_schema").map { try $0.integer(0) } == [
                Int64(Schema.versions(.sqlite).count)
            ])
        // Nothing was lost but the answers.
        for (table, count) in [
            ("families", 2), ("identifiers", 2), ("evidence", 2), ("renewals", 1), ("grants", 2), ("due_moments", 2),
            ("notifications", 1), ("answers", 0), ("transfers", 1), ("accounts", 1), ("outbox", 2),
        ] { #expect(try rows("SELECT * FROM \(table)").count == count, "\(table)") }
        #expect(try rows("SELECT id FROM families WHERE gives_no_access = 1").map { try $0.integer(0) } == [1001])
        let consumables = try rows(
            "SELECT transaction_id FROM grants JOIN identifiers ON id = identifier_id WHERE gives_no_access = 1")
        #expect(try consumables.map { try $0.text(0) } == [coins.transactionID])
        // Pending events have the current form.
        let waiting = try ledger.events()
        #expect(waiting.map(\.at) == [Self.first, Self.first] && waiting.map(\.until) == [nil, day(30)])
        #expect(waiting.map(\.account) == ["anna", "anna"] && waiting.map(\.sequence) == [1, 2])
        let subjects = try rows(
            "SELECT kind, transaction_id FROM outbox JOIN identifiers ON identifiers.id = identifier_id")
        let subject = ["granted", period.transactionID]
        #expect(try subjects.map { try [$0.text(0), $0.text(1)] } == [subject, subject])
        #expect(try ledger.takeEvents(limit: 4, lease: .seconds(1), at: day(400)).map(\.id) == ["id 2"])

        // The account has what it had. Events have newer numbers and the end of access, which version 1 did not record.
        let evidence = try history.evidence(period, signedAt: day(1))
        let answer = try ledger.redeem(evidence, for: "anna", idempotencyKey: "k", at: day(2))
        #expect(answer.outcomes.map(\.outcome) == [.alreadyYours] && !answer.isRepeated)
        #expect(answer.outcomes.map(\.grantedAs) == [period.transactionID])
        let event = try #require(ledger.events().last)
        #expect(event.kind == .changed && event.until == day(30) && event.sequence == answer.sequence)
        #expect(answer.sequence >= day(2).millisecondsSince1970)
        #expect(try ledger.settleDue(at: day(5)) == 2)
        #expect(try rows("SELECT * FROM due_moments").isEmpty)
        let refund = try #require(ledger.events().last)
        #expect(refund.kind == .revoked && refund.transactionID == coins.transactionID && refund.quantity == 0)
        history.refund(period, at: day(3))
        for notification in try history.verifiedNotifications(through: day(4)) {
            try ledger.record(notification, at: day(4))
        }
        #expect(try ledger.events().last?.kind == .revoked)
        withExtendedLifetime(location) {}
    }

    /// The rows of tables about transactions, by the name of each column, with the transaction's instead of its number.
    private func copiedRows(_ connection: any SQLConnection, _ names: String) throws(LedgerError) -> [[String: String]]
    {
        var all: [[String: String]] = []
        for table in ["evidence", "grants", "due_moments", "periods", "unordered_purchases"] {
            let rows = try connection.run("SELECT * FROM \(table)\(names) ORDER BY transaction_id")
            for row in rows {
                var values = Dictionary(zip(row.columns.names, row.values.map { "\($0)" })) { first, _ in first }
                // Later columns, and the number.
                for name in ["price", "currency", "storefront", "identifier_id", "id"] { values[name] = nil }
                if table != "periods" { values["family_id"] = nil }
                values["table"] = table
                all.append(values)
            }
        }
        return all
    }

    @Test(arguments: Place.available)
    func `tables that name transactions by number have what they had`(_ place: Place) throws {
        let location = try place.makeEmptyLocation()
        let store = try LedgerLocation(location.text).open(.creating)
        try Self.makeLedger(ofVersion: 11, in: store)
        let columns = [
            "until", "adjusted_quantity", "adjusted_from", "seats", "import_id", "original_transaction_id", "voided_at",
            "changed_at", "granted_at", "quantity", "granted_quantity",
        ]
        let before = try store.migrate { (connection) throws(LedgerError) in
            let values = columns.enumerated().map {
                "\($1) = \($1 == "original_transaction_id" ? "'7'" : "\($0 + 100)")"
            }
            try connection.run("UPDATE grants SET \(values.joined(separator: ", ")) WHERE gives_no_access = 1")
            try connection.run("UPDATE evidence SET signer = 'signer', variant = 3 WHERE purchase LIKE '%coins%'")
            for (table, values) in [
                ("periods", "1000, 1, 'item', 2, 3"), ("unordered_purchases", "4"),
            ] {
                try connection.run(
                    "INSERT INTO \(table) SELECT environment, bundle_id, transaction_id, \(values) FROM identifiers")
            }
            return try copiedRows(connection, "")
        }
        #expect(before.count == 10 && before.contains { $0["signer"] == "\(SQLValue.text("signer"))" })
        #expect(try Schema.migrate(store).found == 11)
        let names = " JOIN identifiers ON id = identifier_id"
        let after = try store.read { (connection) throws(LedgerError) in try copiedRows(connection, names) }
        #expect(after == before)
        if place == .postgreSQL {
            let query = "SELECT CAST(reltuples AS BIGINT) FROM pg_class WHERE oid = to_regclass('grants')"
            let statistics = try store.read { (connection) throws(LedgerError) in try connection.run(query) }
            #expect(try statistics.first?.integer(0) == 2)
        }
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available, ["evidence": 12, "grants": 13])
    func `a table is not copied without a row whose transaction is unknown`(
        _ place: Place, _ table: (key: String, value: Int)
    ) throws {
        let location = try place.makeEmptyLocation()
        let store = try LedgerLocation(location.text).open(.creating)
        try Self.makeLedger(ofVersion: 11, in: store)
        _ = try store.migrate { (connection) throws(LedgerError) in
            try connection.run(
                """
                UPDATE \(table.key) SET transaction_id = 'unknown'
                WHERE transaction_id IN (SELECT MIN(transaction_id) FROM \(table.key))
                """
            )
        }
        #expect(throws: LedgerError.self) { try PurchaseLedger(location.text) }
        let (version, rows) = try store.read { (connection) throws(LedgerError) in
            (
                try connection.run("SELECT version FROM ledger_schema")[0].integer(0),
                try connection.run("SELECT transaction_id FROM \(table.key)")
            )
        }
        #expect(version == Int64(table.value) && rows.count == 2)
        withExtendedLifetime(location) {}
    }

    /// A text may have the characters of an escape, too. Another app's transaction may have the same id.
    @Test(arguments: Place.available, [#"\u0000"#, #"a\\u0000"#, #"\\\u0000\u0000b"#])
    func `an old event gets its kind and transaction, also if it has a NUL, which PostgreSQL can't read`(
        _ place: Place, text: String
    ) throws {
        let location = try place.makeEmptyLocation()
        let store = try LedgerLocation(location.text).open(.creating)
        try Self.makeLedger(ofVersion: 14, in: store)
        try store.migrate { (connection) throws(LedgerError) in
            let event = [SQLValue.text(#"{"renews_as":"\#(text)","#)]
            try connection.run("UPDATE outbox SET event = $1 || substr(event, 2) WHERE sequence = 1", event)
            for others in ["'sandbox', bundle_id", "environment, 'other'"] {
                try connection.run(
                    """
                    INSERT INTO identifiers (environment, bundle_id, transaction_id, family_id)
                    SELECT \(others), transaction_id, family_id FROM identifiers WHERE environment = 'production'
                        AND bundle_id = '\(Minted.bundleID)'
                    """)
            }
        }
        #expect(try PurchaseLedger(location.text).events().map(\.kind) == [.granted, .granted])
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `the periods of a divided subscription get the ends of their parts`(_ place: Place) throws {
        let location = try place.makeEmptyLocation()
        let store = try LedgerLocation(location.text).open(.creating)
        try Self.makeLedger(ofVersion: 9, in: store)
        try store.migrate { (connection) throws(LedgerError) in
            for lineage in [1000, 1001] {
                try connection.run(
                    "INSERT INTO parts VALUES (\(lineage), 0, 60, NULL), (\(lineage), 60, 90, \(lineage))")
            }
            try connection.run(
                """
                INSERT INTO identifiers VALUES ('production', 'app', '1', 1000), ('production', 'app', '2', 1000),
                    ('production', 'app', '3', 1000), ('production', 'app', '4', 1001)
                """)
            try connection.run(
                """
                INSERT INTO periods VALUES ('production', 'app', '1', 1000, 0, 'item'),
                    ('production', 'app', '2', 1000, 0, NULL), ('production', 'app', '3', 1000, 60, NULL),
                    ('production', 'app', '4', 1001, 60, NULL)
                """)
        }
        let ledger = try PurchaseLedger(location.text)
        let periods = try ledger.store.read { (connection) throws(LedgerError) in
            try Division.Period.byTransaction(
                connection.run([1000, 1001].map { Division.Period.query($0, parts: nil, .sqlite) }).flatMap(\.self))
        }
        func period(_ part: Int64, _ end: Int64, _ lineItem: String?, changing: Int64?) -> Division.Period {
            Division.Period(
                part: part, end: end, lineItem: lineItem.map(UTF8Bytes.init), changesAt: changing)
        }
        let key = TransactionKey(environment: .production, bundleID: "app", transactionID: "1")
        #expect(
            periods == [
                key: period(0, 60, "item", changing: nil), key.sibling("2"): period(0, 60, nil, changing: nil),
                key.sibling("3"): period(60, 90, nil, changing: 1000),
                key.sibling("4"): period(60, 90, nil, changing: 1001),
            ])
        withExtendedLifetime(location) {}
    }

    /// The tables of commits between 0.3.0 and the last one that changed a finished version.
    struct UnfinishedTables: CustomTestStringConvertible, Sendable {
        /// The first commit with these tables.
        let commit: String
        let version: Int
        /// What each change that they lack adds.
        let lacking: Set<String>
        /// What the commit did otherwise.
        let statements: [String]

        var testDescription: String { commit }

        /// What version 6 lacked, the newest first.
        private static let added = [
            ["outbox_urgent_of_account"], ["outbox.due_at", "unowned_events.event", "families.lifecycle"],
            ["orders.shop_order_id"], ["account_tokens_by_date", "imports.untold"],
            ["ended_periods.listed_at", "ledger_identity.id", "families.claim_number"], ["attempts.evidence_digest"],
            ["imports.id", "grants.import_id"],
        ]

        private init(
            _ commit: String, version: Int = 6, _ count: Int, _ lacking: Set<String> = [], _ statements: [String] = []
        ) {
            (self.commit, self.version, self.statements) = (commit, version, statements)
            self.lacking = Set(Self.added.prefix(count).joined()).union(lacking)
        }

        private static let consumables = [
            "ALTER TABLE families ADD COLUMN is_consumable BIGINT",
            "ALTER TABLE grants ADD COLUMN is_consumable BIGINT",
            "CREATE INDEX families_lasting ON families (account) WHERE is_consumable IS NULL",
            "CREATE INDEX grants_lasting ON grants (account) WHERE is_consumable IS NULL",
        ]
        private static let access: Set = ["families.gives_no_access", "families_lasting", "grants_lasting"]

        static let all = [
            UnfinishedTables("a9941a98", 7),
            UnfinishedTables("45eceff5", 6, [], ["CREATE INDEX imports_by_state ON imports (state)"]),
            UnfinishedTables("fb5fc1a6", 6), UnfinishedTables("3ad0a050", 5), UnfinishedTables("8c62c992", 4),
            UnfinishedTables("96eab00a", 3),
            // It gave the events all members but one.
            UnfinishedTables(
                "c0fc591c", 2, [],
                [
                    """
                    UPDATE outbox SET event = '{"account_token":null,"length":null,"order_id":null,\
                    "purchase_date":null,"seats":null,"shop_order_id":null,' || substr(event, 2)
                    """
                ]),
            UnfinishedTables("0ac97673", 1), UnfinishedTables("6e617c24", version: 7, 0, ["families.gives_no_access"]),
            UnfinishedTables("94cd7306", version: 10, 0, access.union(["periods.ends_at"]), consumables),
            UnfinishedTables("55c391ea", version: 9, 0, access, consumables),
            // Upgraded by a server that made only the changes of later versions.
            UnfinishedTables("8c62c992, upgraded", version: 10, 4),
        ]
    }

    /// The columns and indexes of a ledger.
    private func tables(_ ledger: PurchaseLedger) throws -> Set<String> {
        try ledger.store.read { (connection) throws(LedgerError) in
            let isServer = connection.dialect.isServer
            return try Set(
                connection.run(
                    isServer
                        ? """
                        SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable
                            || COALESCE(collation_name, '') FROM information_schema.columns
                        WHERE table_schema = current_schema() UNION ALL
                        SELECT replace(indexdef, current_schema() || '.', '') FROM pg_indexes
                        WHERE schemaname = current_schema()
                        """
                        : """
                        SELECT tables.name || '.' || columns.name || ' ' || columns.type || ' ' || columns."notnull"
                        FROM sqlite_schema AS tables JOIN pragma_table_info(tables.name) AS columns
                        WHERE tables.type = 'table' UNION ALL
                        SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL
                        """
                ).map { (row) throws(LedgerError) in try row.text(0) })
        }
    }

    @Test(arguments: Place.available, UnfinishedTables.all)
    func `a ledger that a commit made within a version gets what it lacks`(
        _ place: Place, _ unfinished: UnfinishedTables
    ) throws {
        let location = try place.makeEmptyLocation()
        let store = try LedgerLocation(location.text).open(.creating)
        try Self.makeLedger(ofVersion: unfinished.version, in: store) { unfinished.lacking.contains($0.object) }
        let seats: Int? = unfinished.lacking.contains("orders.shop_order_id") ? 5 : nil
        let swapTypes = "UPDATE evidence SET purchase = replace(purchase, '\"PURCHASED\"', '\"ASSIGNED\"')"
        _ = try store.migrate { (connection) throws(LedgerError) in
            for statement in unfinished.statements { try connection.run(statement) }
            // The events of these commits had this member, and not yet the others.
            if let seats { try connection.run("UPDATE outbox SET event = '{\"seats\":\(seats),' || substr(event, 2)") }
            try connection.run(swapTypes)
            try connection.run("INSERT INTO answers VALUES ('anna', 'k', 'digest', '{}', 0)")
        }
        #expect(try Schema.migrate(store).found == unfinished.version)
        let (marks, answers) = try store.migrate { (connection) throws(LedgerError) in
            try connection.run("UPDATE evidence SET purchase = replace(purchase, '\"ASSIGNED\"', '\"PURCHASED\"')")
            return (
                try connection.run("DELETE FROM due_moments WHERE due_at = \(SeatTables.mark) RETURNING 1").count,
                try connection.run("SELECT 1 FROM answers").count
            )
        }
        // Their form changed before this column was added.
        #expect(answers == (unfinished.lacking.contains("outbox.due_at") ? 0 : 1))
        #expect(marks == (unfinished.lacking.contains("families.claim_number") ? 2 : 0))

        let ledger = try PurchaseLedger(location.text)
        let new = try place.makeLocation()
        #expect(try tables(ledger) == tables(PurchaseLedger(new.text)))
        // The events have the current form, with each member once.
        let events = try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT event FROM outbox ORDER BY sequence").map { (row) throws(LedgerError) in
                try row.text(0)
            }
        }
        for event in events.prefix(2) {
            for member in ["account_token", "seats", "shop_order_id", "version"] {
                #expect(event.split(separator: "\"\(member)\":", omittingEmptySubsequences: false).count == 2)
            }
        }
        #expect(try ledger.events().prefix(2).map(\.until) == [nil, day(30)])
        #expect(try ledger.events().prefix(2).map(\.seats) == [seats, seats])
        // It goes on.
        var (history, period, _) = Self.bought()
        let coins = history.buyConsumable("coins", at: day(2))
        for (account, transaction, outcome) in [("anna", period, .alreadyYours), ("ben", coins, .granted)]
            as [(String, PurchaseHistory.Transaction, Outcome)]
        {
            let answer = try ledger.redeem(history.evidence(transaction, signedAt: day(2)), for: account, at: day(2))
            #expect(answer.outcomes.map(\.outcome) == [outcome])
        }
        withExtendedLifetime((location, new)) {}
    }

    @Test(.enabled(if: PostgreSQLServer.binaries != nil))
    func `what a table of another schema has, the ledger's can lack`() throws {
        let location = try Place.postgreSQL.makeEmptyLocation()
        try Self.makeLedger(ofVersion: 5, in: LedgerLocation(location.text).open())
        _ = try PostgreSQLServer.query(
            location.text,
            """
            CREATE SCHEMA shop; CREATE TABLE shop.unowned_events (event TEXT);
            DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path = public, shop', current_database()); END $$
            """)
        let new = try Place.postgreSQL.makeLocation()
        #expect(try tables(PurchaseLedger(location.text)) == tables(PurchaseLedger(new.text)))
        #expect(try PostgreSQLServer.query(location.text, "SELECT * FROM shop.unowned_events").isEmpty)
    }

    @Test(.enabled(if: PostgreSQLServer.binaries != nil))
    func `a migration has more time than PostgreSQL and its client give a request`() throws {
        let store = try LedgerLocation(PostgreSQLServer.shared.get().makeDatabase()).open()
        let rows = try store.migrate { (connection) throws(LedgerError) in try connection.run("SELECT 1, pg_sleep(16)")
        }
        #expect(try rows.first?.integer(0) == 1)
    }

    @Test(.enabled(if: PostgreSQLServer.binaries != nil))
    func `while the indexes of large tables are made, grants of other servers are not locked`() throws {
        let store = try LedgerLocation(PostgreSQLServer.shared.get().makeDatabase()).open()
        try store.migrate { (connection) throws(LedgerError) in
            for statement in Schema.versions(connection.dialect)[0..<2].joined() { try connection.run(statement) }
        }
        // Later versions copy the tables.
        for version in 2..<11 {
            try store.migrate { (connection) throws(LedgerError) in
                var isLocked = false
                for statement in Schema.versions(connection.dialect)[version] {
                    try connection.run(statement)
                    let locks = try connection.run(
                        """
                        SELECT 1 FROM pg_locks WHERE pid = pg_backend_pid() AND mode <> 'AccessShareLock'
                            AND relation IN ('grants'::regclass, 'evidence'::regclass, 'families'::regclass)
                        """)
                    #expect(!isLocked || !statement.hasPrefix("CREATE INDEX"), "\(statement)")
                    if !locks.isEmpty { isLocked = true }
                }
            }
        }
    }

    @Test(arguments: Place.available)
    func `a migration that fails keeps the versions before it, and goes on from there`(_ place: Place) throws {
        let location = try place.makeEmptyLocation()
        let store = try LedgerLocation(location.text).open(.creating)
        func version() throws -> Int64 {
            try store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT version FROM ledger_schema")[0].integer(0)
            }
        }
        try store.migrate { (connection) throws(LedgerError) in
            for statement in Schema.versions(connection.dialect)[0] { try connection.run(statement) }
            try connection.run("CREATE TABLE ledger_schema (version BIGINT NOT NULL)")
            try connection.run("INSERT INTO ledger_schema VALUES (1)")
            // Version 4 makes it.
            try connection.run("CREATE TABLE questions (id BIGINT)")
        }
        #expect(throws: LedgerError.self) { try PurchaseLedger(location.text) }
        #expect(try version() == 3)
        _ = try store.migrate { (connection) throws(LedgerError) in try connection.run("DROP TABLE questions") }
        #expect(try PurchaseLedger(location.text).upgrade?.found == 3)
        #expect(try version() == Int64(Schema.versions(.sqlite).count))
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `tables of a newer version are refused`(_ place: Place) throws {
        let location = try place.makeLocation()
        let ledger = try PurchaseLedger(location.text)
        _ = try ledger.store.write { (connection) throws(LedgerError) in
            try connection.run("UPDATE ledger_schema SET version = version + 1")
        }
        let error = #expect(throws: LedgerError.self) { try PurchaseLedger(location.text) }
        #expect(error?.code == .newerSchema)
        withExtendedLifetime(location) {}
    }
}
