import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import Testing
import TrialSupport

/// The records of a ledger whose process is killed at a chosen point of a group.
@Suite(.serialized) struct KilledGroupTests {
    @Test(arguments: PostgreSQLServer.binaries == nil ? ["sqlite"] : ["sqlite", "postgreSQL"], GroupPoint.allCases)
    func `a group that is killed is recorded as a whole or not at all, and what was answered is`(
        _ store: String, _ point: GroupPoint
    ) throws {
        let evidence = try MintedEvidence()
        defer { evidence.remove() }
        let file = try newLedger(
            store == "sqlite" ? evidence.path("ledger.db") : PostgreSQLServer.shared.get().makeDatabase())
        let rounds = Sampling.count("killed-groups")
        let trial = ServerProcess.executable.deletingLastPathComponent().appending(path: "server-trial")
        var answered: Set<String> = []
        var killedCount = 0
        for round in 0..<rounds {
            let number = Int.random(in: 0...(point == .member ? 100 : 8))
            // What was not answered is sent again each third time.
            let first = 1000 * (round / 3 + 1)
            let child = try ChildProcess([trial.path, "--killed", file, point.rawValue, "\(number)", "\(first)"])
            let lines = child.readAll().split(separator: "\n").map(String.init)
            if child.wait() & 0x7F == SIGKILL { killedCount += 1 }
            #expect(lines.filter { Int($0) == nil } == [])
            answered.formUnion(lines)
            let ledger = try PurchaseLedger(file)
            func texts(_ query: String) throws -> [String] {
                try ledger.store.read { (connection) throws(LedgerError) in
                    try connection.run(query).map { (row) throws(LedgerError) in try row.text(0) }
                }
            }
            let granted = try texts(
                "SELECT transaction_id FROM grants JOIN identifiers ON id = identifier_id WHERE quantity = 1")
            #expect(answered.isSubset(of: granted), "\(point) \(number)")
            for other in [
                "SELECT transaction_id FROM identifiers",
                "SELECT transaction_id FROM evidence JOIN identifiers ON id = identifier_id",
                "SELECT substr(account, 9) FROM families", "SELECT substr(account, 9) FROM outbox",
                "SELECT substr(account, 9) FROM accounts",
            ] {
                #expect(try texts(other).sorted() == granted.sorted(), "\(point) \(number): \(other)")
            }
        }
        print("ledger: \(store): killed \(killedCount) times at \(point): \(answered.count) answers")
        #expect(killedCount * 2 > rounds)
    }
}
