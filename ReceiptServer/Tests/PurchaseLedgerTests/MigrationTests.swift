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
    static func makeLedger(ofVersion version: Int, in store: any LedgerStore) throws {
        let (history, period, coins) = bought()
        var result: Result<Void, any Error> = .success(())
        try store.migrate { (connection) throws(LedgerError) in
            let versions = Schema.versions(connection.dialect)
            for statement in versions[0] { try connection.run(statement) }
            try connection.run("CREATE TABLE ledger_schema (version BIGINT NOT NULL)")
            try connection.run("INSERT INTO ledger_schema VALUES ($1)", [.integer(Int64(version))])
            result = Result { try fill(connection, history, period, refunded: coins) }
            for statement in versions[1..<version].joined() { try connection.run(statement) }
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
        let consumables = try rows("SELECT transaction_id FROM grants WHERE gives_no_access = 1")
        #expect(try consumables.map { try $0.text(0) } == [coins.transactionID])
        // Pending events have the current form.
        let waiting = try ledger.events()
        #expect(waiting.map(\.at) == [Self.first, Self.first] && waiting.map(\.until) == [nil, day(30)])
        #expect(waiting.map(\.account) == ["anna", "anna"] && waiting.map(\.sequence) == [1, 2])
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
        for version in 2..<Schema.versions(.postgreSQL).count {
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
