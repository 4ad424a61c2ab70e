import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import StrictText
import Testing

/// Requests that change nothing.
@Suite(.serialized) struct SnapshotTests {
    /// A second submission, and its outcomes.
    struct Request: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let outcomes: [Outcome]
        /// Submits it, and returns the outcomes.
        let submit: @Sendable (PurchaseLedger, Customer) throws -> [Outcome]
    }

    /// The purchases of a customer.
    struct Customer: Sendable {
        let coins: VerifiedEvidence
        let older: VerifiedEvidence
        let receipt: VerifiedEvidence
        let early: VerifiedEvidence
        let notifications: [VerifiedNotification]

        init() throws {
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coin = history.buyConsumable("coins", at: day(0))
            let others = (0..<3).map { _ in history.buyConsumable("coins", at: day(0)) }
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let renewal = history.renew(subscription)
            history.refund(others[0], at: day(2))
            older = try history.evidence(coin, signedAt: day(0.5))
            coins = try history.evidence(coin, signedAt: day(1))
            receipt = try Minted.evidence(history.receipt(signedAt: day(1), of: others))
            early = try history.evidence(renewal, signedAt: day(30))
            notifications = try history.verifiedNotifications(through: day(40))
        }
    }

    static let requests = [
        Request(testDescription: "a purchase of the account", outcomes: [.alreadyYours]) {
            try $0.outcomes($1.coins, for: "anna", at: day(1))
        },
        Request(testDescription: "the same with an older signature", outcomes: [.alreadyYours]) {
            try $0.outcomes($1.older, for: "anna", at: day(1))
        },
        Request(testDescription: "a purchase of another account", outcomes: [.belongsToAnother]) {
            try $0.outcomes($1.coins, for: "ben", at: day(1))
        },
        Request(
            testDescription: "a receipt with a refunded purchase",
            outcomes: [.revoked, .alreadyYours, .alreadyYours]
        ) { try $0.outcomes($1.receipt, for: "anna", at: day(3)) },
        Request(testDescription: "a renewal that begins later", outcomes: [.tooEarly]) {
            try $0.outcomes($1.early, for: "anna", at: day(20))
        },
        Request(testDescription: "a request with its key", outcomes: [.alreadyYours]) {
            try $0.outcomes($1.coins, for: "anna", key: "key", at: day(1))
        },
        Request(testDescription: "notifications with renewal information", outcomes: []) { ledger, customer in
            for notification in customer.notifications { try ledger.record(notification, at: day(20)) }
            return []
        },
        Request(testDescription: "a notification as evidence", outcomes: [.tooEarly]) { ledger, customer in
            let renewal = try #require(
                customer.notifications.last { !VerifiedEvidence.notification($0).renewals.isEmpty })
            return try ledger.outcomes(.notification(renewal), for: "anna", at: day(20))
        },
    ]

    @Test(arguments: Place.available)
    func `the basis of a claim is read once, and of a lasting one only to change it`(_ place: Place) throws {
        let location = try place.makeLocation()
        let ledger = try PurchaseLedger(location.text)
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        let periods = [subscription.firstPeriod] + (0..<4).map { _ in history.renew(subscription) }
        let ids = Set(periods.map { UTF8Bytes($0.transactionID) })
        let receipt = try Minted.evidence(history.receipt(signedAt: day(140), of: periods))
        let transaction = try history.evidence(periods[4], signedAt: day(140))
        for (evidence, isLasting) in [(receipt, false), (transaction, true)] {
            _ = try ledger.redeem(evidence, for: "anna", at: day(140))
            let submission = Submission(evidence)
            func basis(_ loaded: LineageLoader.Loaded?) -> ClaimBasis? {
                loaded?.stored.byID.values.first?.owner?.basis
            }
            try ledger.store.write { [policy = ledger.policy] (connection) throws(LedgerError) in
                let statement = LineageStatements.whole(
                    of: submission.keys.map(\.transactionID), in: .production, UTF8Bytes(Minted.bundleID),
                    connection.dialect)
                let rows = try connection.run([statement])[0]
                #expect(rows.count >= periods.count)
                var count = 0
                for row in rows where try !row.isNull("basis") { count += 1 }
                #expect(count == 1)
                let loader = LineageLoader(
                    connection: connection, submissions: [submission], policy: policy, now: day(140))
                let (looked, loaded) = (try loader.look()[0], try [loader.load(), loader.load(isLocking: false)])
                #expect(basis(looked) == (isLasting ? .lasting : ClaimBasis(isLasting: false, ids)))
                for loaded in loaded { #expect(basis(loaded) == ClaimBasis(isLasting: isLasting, ids)) }
            }
        }
        withExtendedLifetime(location) {}
    }

    /// What changes when something is written.
    private static func state(_ location: String, _ observer: SQLiteConnection?) throws -> [String] {
        guard let observer else {
            // A lock of a row has a transaction id, and each has a record in the log.
            return try PostgreSQLServer.query(
                location, "SELECT pg_current_wal_insert_lsn(), pg_snapshot_xmax(pg_current_snapshot())"
            ).split(separator: "|").map(String.init)
        }
        let version = try observer.run("PRAGMA data_version").map { try $0.integer(0) }
        let log = try FileManager.default.attributesOfItem(atPath: location + "-wal")
        return ["\(version)", "\(log[.size] ?? 0)", "\(log[.modificationDate] ?? 0)"]
    }

    @Test(arguments: Place.available, requests)
    func `what changes nothing writes nothing, and waits for no lock`(_ place: Place, _ request: Request) throws {
        // A server of its own: others would write to the log of a shared one.
        let server = place == .postgreSQL ? try Self.server.get() : nil
        let folder = place == .sqlite ? try TemporaryFolder() : nil
        let path = try server?.makeDatabase() ?? (folder?.path ?? "") + "/ledger.db"
        let ledger = try PurchaseLedger(creating: path)
        let customer = try Customer()
        for evidence in [customer.coins, customer.receipt] {
            _ = try ledger.outcomes(evidence, for: "anna", at: day(1))
        }
        for notification in customer.notifications { try ledger.record(notification, at: day(3)) }
        _ = try request.submit(ledger, customer)
        let observer = folder == nil ? nil : try SQLiteConnection(path: path, FileIdentity(path: path))
        // PostgreSQL removes old rows of a page when it reads it, and has work of its own.
        for attempt in 1... {
            let before = try Self.state(path, observer)
            #expect(try request.submit(ledger, customer) == request.outcomes)
            let after = try Self.state(path, observer)
            if before == after { break }
            guard attempt < 4 else {
                Issue.record("\(before) became \(after)")
                break
            }
        }
        let lock = try ForeignLock(path)
        // A request that waits for a lock gets an error after five seconds.
        #expect(try request.submit(ledger, customer) == request.outcomes)
        withExtendedLifetime((lock, folder)) {}
    }

    @Test(arguments: Place.available)
    func `transactions are found by their whole keys, also before the database has statistics`(_ place: Place) throws {
        try place.withLedger { ledger in
            for ids in [["1"], ["1", "2"]] {
                let plan = try ledger.store.read { (connection) throws(LedgerError) in
                    let rows = connection.dialect.identifiers(of: ids)
                    // EXPLAIN needs values.
                    let values = place == .sqlite ? "'[1,2]'" : "'{1,2}'"
                    var text = "SELECT * FROM \(rows.table) AS found"
                    for (parameter, value) in [("$1", "'a'"), ("$2", "'b'"), ("$3", ids.count == 1 ? "'1'" : values)] {
                        text = text.replacingOccurrences(of: parameter, with: value)
                    }
                    let explain = place == .sqlite ? "EXPLAIN QUERY PLAN " : "EXPLAIN "
                    let lines = try connection.run(explain + text)
                    return try lines.map { (row) throws(LedgerError) in try row.text(place == .sqlite ? 3 : 0) }
                }
                let search = place == .sqlite ? "SEARCH identifiers USING" : "Index Cond"
                #expect(plan.contains { $0.contains(search) && $0.contains("transaction_id") }, "\(plan)")
            }
        }
    }

    private static let server = Result { try PostgreSQLServer() }

    @Test(arguments: Place.available)
    func `a newer signature is recorded`(_ place: Place) throws {
        try place.withLedger { ledger in
            let customer = try Customer()
            for evidence in [customer.older, customer.coins] {
                _ = try ledger.outcomes(evidence, for: "anna", at: day(1))
            }
            let rows = try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT signed_date FROM evidence")
            }
            #expect(try rows.map { try $0.date(0) } == [day(1)])
        }
    }
}

/// Locks all rows of a ledger, as somebody else, while it exists.
private final class ForeignLock {
    private var file: SQLiteConnection?
    private var program: ChildProcess?

    init(_ location: String) throws {
        if location.contains("://") {
            let program = try ChildProcess([(PostgreSQLServer.binaries ?? "") + "/psql", "-XAtq", location])
            let tables = ["families", "identifiers", "evidence", "renewals", "grants", "notifications", "accounts"]
            let locks = tables.map { "LOCK TABLE \($0) IN EXCLUSIVE MODE;" }.joined()
            program.write("BEGIN; \(locks)\nSELECT 'locked';\n")
            guard program.readLine() == "locked" else { throw ChildProcess.Failure(description: "not locked") }
            self.program = program
        } else {
            file = try SQLiteConnection(path: location, FileIdentity(path: location))
            try file?.run("BEGIN IMMEDIATE")
        }
    }

    deinit {
        program?.closeInput()
        program?.wait()
    }
}
