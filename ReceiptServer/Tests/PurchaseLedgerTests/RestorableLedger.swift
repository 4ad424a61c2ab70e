import Foundation
@testable import PurchaseLedger
import Instants
import Testing

/// A ledger with a backup, which is made and restored as an operator does it.
final class RestorableLedger {
    private let location: Place.Location
    /// The servers over it.
    private(set) var servers: [PurchaseLedger] = []
    private let policy: LedgerPolicy
    private let count: Int
    private let onTokenConflict: @Sendable (TokenConflict) -> Void
    /// PostgreSQL's tables, with those that others refer to first.
    private var tables: [String] = []

    init(
        _ place: Place, servers count: Int = 1, _ policy: LedgerPolicy = LedgerPolicy(), at now: Instant,
        onTokenConflict: @escaping @Sendable (TokenConflict) -> Void = { _ in }
    ) throws {
        (self.policy, self.count, self.onTokenConflict) = (policy, count, onTokenConflict)
        location = try place.makeLocation()
        try open(at: now)
        guard case .postgreSQL = place else { return }
        let rows = try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run(
                "SELECT table_name::text FROM information_schema.tables WHERE table_schema = current_schema()")
        }
        tables = try rows.map { try $0.text(0) }.sorted {
            ($0 != "families" ? 1 : 0, $0) < ($1 != "families" ? 1 : 0, $1)
        }
        try run(tables.map { "CREATE TABLE copy_of_\($0) AS TABLE \($0) WITH NO DATA" })
    }

    var ledger: PurchaseLedger { get throws { try #require(servers.first) } }

    private func open(at now: Instant) throws { servers = try (0..<count).map { _ in try openedLedger(at: now) } }

    private func openedLedger(at now: Instant) throws -> PurchaseLedger {
        try PurchaseLedger(LedgerLocation(location.text).open(), policy, at: now, onTokenConflict: onTokenConflict)
    }

    /// Starts one of the servers again.
    func reopen(_ index: Int, at now: Instant) throws -> PurchaseLedger {
        servers[index] = try openedLedger(at: now)
        return servers[index]
    }

    func backUp() throws {
        if tables.isEmpty {
            try ledger.completeFile()
            try? FileManager.default.removeItem(atPath: location.text + ".copy")
            try FileManager.default.copyItem(atPath: location.text, toPath: location.text + ".copy")
        } else {
            try run(tables.flatMap { ["DELETE FROM copy_of_\($0)", "INSERT INTO copy_of_\($0) SELECT * FROM \($0)"] })
        }
    }

    /// Restores the back-up, and starts again.
    func restore(at now: Instant) throws {
        if tables.isEmpty {
            servers = []
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: location.text + suffix) }
            try FileManager.default.copyItem(atPath: location.text + ".copy", toPath: location.text)
        } else {
            var statements = tables.reversed().map { "DELETE FROM \($0)" }
            statements += tables.map { "INSERT INTO \($0) SELECT * FROM copy_of_\($0)" }
            for table in ["families", "identifiers", "transfers", "acts"] {
                statements.append(
                    "SELECT setval(pg_get_serial_sequence('\(table)', 'id'), (SELECT COALESCE(MAX(id), 0) + 1 FROM \(table)))"
                )
            }
            try run(statements)
            servers = []
        }
        try open(at: now)
    }

    private func run(_ statements: [String]) throws {
        try ledger.store.write { (connection) throws(LedgerError) in
            for statement in statements { try connection.run(statement) }
        }
    }
}
