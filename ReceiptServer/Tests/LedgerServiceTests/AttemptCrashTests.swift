import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import Testing
import TrialSupport

/// The attempts that a server has recorded when it ends.
@Suite(.serialized) struct AttemptCrashTests {
    private static let minted = Result { try MintedEvidence() }

    private static let stores = PostgreSQLServer.binaries == nil ? ["sqlite"] : ["sqlite", "postgreSQL"]

    /// - Parameter isKilled: Otherwise it is asked to stop.
    @Test(.enabled(if: Sampling.runsSlowTests), arguments: stores, [true, false])
    func `a server that is killed loses no grant, and the attempts of the last second alone; one that stops loses none`(
        _ store: String, isKilled: Bool
    ) throws {
        let evidence = try Self.minted.get()
        let file = try newLedger(
            store == "sqlite"
                ? evidence.path("attempts-\(UUID().uuidString).db") : PostgreSQLServer.shared.get().makeDatabase())
        let server = try LedgerProcess(evidence, file)
        let client = try Client(port: server.port)
        var answered: [(id: String, at: ContinuousClock.Instant)] = []
        // The machine may have stood still as long, when the attempts were to be written.
        var longest = Duration.zero
        let begin = ContinuousClock.now
        var transaction = 1
        while ContinuousClock.now - begin < .seconds(3) {
            // No account has more than are kept.
            let account = "account \(transaction / 50)"
            let start = ContinuousClock.now
            let answer = try LedgerProcess.redeem(evidence.coins(transaction), for: account, over: client)
            longest = max(longest, ContinuousClock.now - start)
            #expect(answer?.outcomes == ["granted"])
            answered.append(("\(transaction)", .now))
            transaction += 1
        }
        let end = ContinuousClock.now
        if isKilled {
            server.kill()
        } else {
            server.process.signal(SIGTERM)
            server.process.wait()
        }
        let ledger = try PurchaseLedger(file)
        func ids(_ query: String) throws -> Set<String> {
            Set(
                try ledger.store.read { (connection) throws(LedgerError) in try connection.run(query) }
                    .map { try $0.text(0) })
        }
        #expect(
            try ids("SELECT transaction_id FROM grants JOIN identifiers ON id = identifier_id")
                == Set(answered.map(\.id)))
        let attempted = try ids("SELECT transaction_id FROM attempted_transactions")
        let lost = answered.filter { !attempted.contains($0.id) }
        // A second, and as much again for a busy machine.
        let limit = .seconds(2) + longest * 2
        #expect(lost.allSatisfy { isKilled && end - $0.at < limit }, "\(lost.count) of \(answered.count)")
        #expect(!attempted.isEmpty)
    }
}
