import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Testing

/// Whether a transaction of PostgreSQL was committed when its answer was lost.
@Suite(.enabled(if: PostgreSQLServer.binaries != nil)) struct CommitMarksTests {
    private let location: Place.Location
    private let ledger: PurchaseLedger

    init() throws {
        location = try Place.postgreSQL.makeLocation()
        ledger = try PurchaseLedger(location.text)
    }

    private func connect() throws(LedgerError) -> PostgreSQLConnection { try PostgreSQLConnection(uri: location.text) }

    /// Begins a transaction that writes a row.
    private func begin() throws -> PostgreSQLConnection {
        let connection = try connect()
        connection.begin("BEGIN")
        try connection.run("INSERT INTO families (account) VALUES ('anna')")
        return connection
    }

    private func open(_ uri: String, patience: Duration) throws(LedgerError) -> PurchaseLedger {
        try PurchaseLedger(PostgreSQLStore(uri: uri, patience: patience), LedgerPolicy(), at: day(0))
    }

    private static func evidence() throws -> VerifiedEvidence {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", at: day(0))
        return try history.evidence(coins, signedAt: day(1))
    }

    private func rows(_ statement: String) throws -> [SQLRow] {
        try ledger.store.read { (connection) throws(LedgerError) in try connection.run(statement) }
    }

    @Test func `what was not committed when somebody asked never is`() throws {
        let connection = try begin()
        let mark = CommitMarks.make()
        for _ in 0..<2 { #expect(try !CommitMarks.isCommitted(mark, connect())) }
        let error = #expect(throws: LedgerError.self) { try connection.commit(mark) }
        #expect(error?.isConflict == true)
        #expect(try rows("SELECT 1 FROM families").isEmpty)
    }

    @Test func `what was committed is`() throws {
        let connection = try begin()
        let mark = CommitMarks.make()
        try connection.commit(mark)
        for _ in 0..<2 { #expect(try CommitMarks.isCommitted(mark, connect())) }
        #expect(try rows("SELECT 1 FROM families").count == 1)
    }

    @Test(arguments: [0, 3])
    func `a request whose commit is lost is answered, also if the database is away for a moment`(_ connections: Int)
        throws
    {
        let proxy = try LossyProxy(before: location.text)
        let ledger = try open(proxy.uri, patience: .seconds(60))
        let evidence = try Self.evidence()
        proxy.loseCommits(1, andConnections: connections)
        #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
        #expect(proxy.loseNothing() == 1)
        #expect(try ledger.events().count == 1)
    }

    @Test func `if nobody can be asked about a lost commit, the request ends, and the next one has the answer`() throws
    {
        let proxy = try LossyProxy(before: location.text)
        let ledger = try open(proxy.uri, patience: .zero)
        let evidence = try Self.evidence()
        proxy.loseCommits(1, andConnections: 1)
        let error = #expect(throws: LedgerError.self) { try ledger.outcomes(evidence, for: "anna", at: day(1)) }
        #expect(error?.code == .storeUnavailable)
        #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.alreadyYours])
        #expect(try ledger.events().count == 1)
    }

    @Test(arguments: [(1, [Outcome.granted]), (2, nil)])
    func `work whose commit ends its connection is done once more only`(_ ends: Int, _ outcomes: [Outcome]?) throws {
        try Self.endCommits(ends, in: ledger)
        let evidence = try Self.evidence()
        let answer = try? ledger.outcomes(evidence, for: "anna", at: day(1))
        #expect(answer == outcomes)
        #expect(try rows("SELECT 1 FROM grants").count == outcomes?.count ?? 0)
        // How often it was tried.
        #expect(try rows("SELECT last_value FROM ends")[0].integer(0) == 2)
    }

    /// Makes this many granting transactions end their connection at the commit, so that they do nothing.
    ///
    /// - Parameter grants: The minimum number of their grants.
    static func endCommits(_ count: Int, granting grants: Int = 1, in ledger: PurchaseLedger) throws {
        try ledger.store.migrate { (connection) throws(LedgerError) in
            for statement in [
                "CREATE SEQUENCE ends",
                """
                CREATE FUNCTION end_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF (SELECT count(*) FROM grants WHERE xmin = pg_current_xact_id()::xid) >= \(grants)
                        AND nextval('ends') <= \(count) THEN
                        PERFORM pg_terminate_backend(pg_backend_pid());
                    END IF;
                    RETURN NULL;
                END $$
                """,
                """
                CREATE CONSTRAINT TRIGGER end_commit AFTER INSERT ON grants DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION end_commit()
                """,
            ] { try connection.run(statement) }
        }
    }

    @Test(arguments: ["COMMIT", "ROLLBACK"])
    func `who asks while a transaction is committed waits for its end`(_ end: String) throws {
        let connection = try begin()
        let mark = CommitMarks.make()
        _ = try connection.run(CommitMarks.leave(mark, removing: nil))
        let asked = DispatchSemaphore(value: 0)
        let answer = Guarded<Result<Bool, LedgerError>?>(nil)
        Thread { [uri = location.text] in
            let found = Result { () throws(LedgerError) in
                try CommitMarks.isCommitted(mark, PostgreSQLConnection(uri: uri))
            }
            answer.withLock { $0 = found }
            asked.signal()
        }.start()
        let waiting = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        while try rows(waiting).isEmpty, answer.withLock({ $0 == nil }) { usleep(1000) }
        #expect(answer.withLock { $0 == nil })
        try connection.run(end)
        asked.wait()
        #expect(try answer.withLock(\.self)?.get() == (end == "COMMIT"))
    }

    @Test func `a connection keeps its last mark, and a server that starts removes those of a week ago`() throws {
        let connection = try connect()
        func marks() throws -> Set<Int64> { Set(try rows("SELECT mark FROM commit_marks").map { try $0.integer(0) }) }
        _ = try ledger.store.migrate { (connection) throws(LedgerError) in
            try connection.run(
                """
                INSERT INTO commit_marks
                VALUES (1, TRUE, now() - interval '169 hours'), (2, FALSE, now() - interval '167 hours')
                """)
        }
        var others = try marks()
        var last: [Int64] = []
        for writes in [true, true, false, true] {
            connection.begin("BEGIN")
            try connection.run(writes ? "INSERT INTO families (account) VALUES ('anna')" : "SELECT 1")
            let mark = CommitMarks.make()
            try connection.commit(mark)
            if writes { last = [mark] }
            #expect(try marks() == others.union(last))
        }
        _ = try PurchaseLedger(location.text)
        others.remove(1)
        #expect(try marks().isSuperset(of: others) && !marks().contains(1))
    }
}
