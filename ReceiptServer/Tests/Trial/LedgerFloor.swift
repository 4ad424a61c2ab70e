import CLibpq
import CSQLite
import Foundation
import LedgerTestSupport
import TrialSupport

/// Writes the rows of a grant in plain SQL. No ledger with these tables and databases is faster.
struct LedgerFloor {
    private let location: String
    private let clients: Int
    /// Whether one commit has a grant of each client.
    private let isGrouped: Bool
    /// The stored purchase and event, as SQL literals.
    private let purchase: String
    private let price: String
    private let event: String

    /// - Parameter location: A ledger in which one purchase was granted.
    init(_ location: String, clients: Int, isGrouped: Bool) throws {
        (self.location, self.clients, self.isGrouped) = (location, clients, isGrouped)
        let database = try Database(location)
        func literal(_ query: String) throws -> String {
            "'" + (try database.run(query) ?? "").replacing("'", with: "''") + "'"
        }
        purchase = try literal("SELECT purchase FROM evidence")
        price = try ["price", "currency", "storefront"].map { try literal("SELECT \($0) FROM evidence") }
            .joined(separator: ", ")
        event = try literal("SELECT event FROM outbox")
    }

    func measure(_ seconds: Double) throws -> Load.Result {
        let end = ContinuousClock.now + .milliseconds(Int(seconds * 1000))
        let latencies = Guarded<[UInt32]>([])
        let faults = Guarded<[String]>([])
        let (size, writers) = isGrouped ? (clients, 1) : (1, clients)
        let threads = (0..<writers).map { writer in
            Thread {
                do {
                    let database = try Database(location)
                    var (number, own): (Int, [UInt32]) = (0, [])
                    var start = ContinuousClock.now
                    while start < end {
                        let rows = (0..<size).map { statements(10_000_000 * (writer + 100) + number + $0) }
                        number += size
                        _ = try database.run("BEGIN;" + rows.joined() + "COMMIT")
                        let now = ContinuousClock.now
                        let time = UInt32(clamping: Int((now - start) / .microseconds(1)))
                        own += Array(repeating: time, count: size)
                        start = now
                    }
                    latencies.withLock { $0 += own }
                } catch {
                    faults.withLock { $0.append("\(error)") }
                }
            }
        }
        threads.forEach { $0.start() }
        while threads.contains(where: { !$0.isFinished }) { usleep(1000) }
        if let fault = faults.withLock(\.first) { throw ChildProcess.Failure(description: fault) }
        var result = Load.Result()
        result.latencies = latencies.withLock { $0 }
        result.answerCount = result.latencies.count
        result.seconds = seconds
        return result
    }

    private func statements(_ id: Int) -> String {
        let account = "'account \(id)'"
        let grant = "product_id, account, quantity, granted_quantity, granted_at, changed_at"
        return """
            INSERT INTO families (id, account, claimed_at) VALUES (\(id), \(account), \(id));
            INSERT INTO identifiers (id, environment, bundle_id, transaction_id, family_id) VALUES
                (\(id), 'production', '\(MintedEvidence.bundleID)', '\(id)', \(id));
            INSERT INTO evidence (identifier_id, variant, signer, signed_date, purchase, price, currency, storefront)
                VALUES (\(id), 1, '\(String(repeating: "0", count: 64))', \(id), \(purchase), \(price));
            INSERT INTO grants (identifier_id, \(grant)) VALUES (\(id), 'pro', \(account), 1, 1, \(id), \(id));
            INSERT INTO accounts (account, last_sequence, due_at) VALUES (\(account), \(id), \(id));
            INSERT INTO outbox (id, identifier_id, account, sequence, kind, event, made_at, state, attempts) VALUES
                ('\(UUID().uuidString)', \(id), \(account), \(id), 'granted', \(event), \(id), 'pending', 0);

            """
    }

    /// A connection that runs SQL text.
    private final class Database {
        private var file: OpaquePointer?
        private var server: OpaquePointer?

        init(_ location: String) throws {
            if location.contains("://") {
                server = PQconnectdb(location)
                guard PQstatus(server) == CONNECTION_OK else { throw failure }
            } else {
                guard sqlite3_open(location, &file) == SQLITE_OK else { throw failure }
                sqlite3_busy_timeout(file, 5000)
                _ = try run("PRAGMA journal_mode=WAL")
                _ = try run("PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON")
            }
        }

        deinit {
            if let server { PQfinish(server) }
            sqlite3_close(file)
        }

        private var failure: ChildProcess.Failure {
            let message = server.map { String(cString: PQerrorMessage($0)) } ?? String(cString: sqlite3_errmsg(file))
            return ChildProcess.Failure(description: message)
        }

        /// Runs statements, and returns the first value of the last one's rows.
        func run(_ statements: String) throws -> String? {
            if let server {
                let result = PQexec(server, statements)
                defer { PQclear(result) }
                switch PQresultStatus(result) {
                case PGRES_COMMAND_OK: return nil
                case PGRES_TUPLES_OK: return PQgetvalue(result, 0, 0).map { String(cString: $0) }
                default: throw failure
                }
            }
            var value: String?
            let status = withUnsafeMutablePointer(to: &value) { value in
                sqlite3_exec(
                    file, statements,
                    { value, _, texts, _ in
                        value?.assumingMemoryBound(to: String?.self).pointee = texts?[0].map { String(cString: $0) }
                        return 0
                    }, value, nil)
            }
            guard status == SQLITE_OK else { throw failure }
            return value
        }
    }
}
