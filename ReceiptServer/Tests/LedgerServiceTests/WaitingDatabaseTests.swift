import CSQLite
import Foundation
import LedgerTestSupport
import Sampling
import Testing
import TrialSupport

/// A service whose database does not answer.
@Suite(.serialized) struct WaitingDatabaseTests {
    private static let minted = Result { try MintedEvidence() }

    /// A ledger that another program keeps locked for as long as this exists.
    private final class Lock {
        private var handle: OpaquePointer?
        private var program: ChildProcess?

        /// - Parameter mode: The mode of PostgreSQL's table lock. `EXCLUSIVE` allows reading.
        init(_ location: String, _ mode: String = "ACCESS EXCLUSIVE") throws {
            if location.contains("://") {
                let program = try ChildProcess([(PostgreSQLServer.binaries ?? "") + "/psql", "-XAtq", location])
                program.write("BEGIN; LOCK TABLE families IN \(mode) MODE;\nSELECT 'locked';\n")
                guard program.readLine() == "locked" else { throw Self.failure }
                self.program = program
            } else {
                guard sqlite3_open(location, &handle) == SQLITE_OK, sqlite3_busy_timeout(handle, 5000) == SQLITE_OK,
                    sqlite3_exec(handle, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK
                else { throw Self.failure }
            }
        }

        private static let failure = ChildProcess.Failure(description: "the ledger cannot be locked")

        deinit {
            program?.closeInput()
            program?.wait()
            sqlite3_close(handle)
        }
    }

    /// New ledgers in all available databases.
    private static func locations(_ evidence: MintedEvidence) throws -> [String] {
        let file = evidence.path("ledger-\(UUID().uuidString).db")
        let files =
            PostgreSQLServer.binaries == nil ? [file] : [file, try PostgreSQLServer.shared.get().makeDatabase()]
        return try files.map(newLedger)
    }

    /// Sends redemptions, each on a connection of its own, and waits for no answer.
    private func startRedemptions(
        _ count: Int, _ evidence: MintedEvidence, _ port: UInt16, of id: Int = 1, for account: String = "anna"
    ) throws -> [Client] {
        let coins = try evidence.coins(id)
        let body = Array(#"{"account":"\#(account)","evidence":"\#(coins)"}"#.utf8)
        return try (0..<count).map { _ in
            let client = try Client(port: port)
            client.set(timeout: 60)
            client.send(
                requestBytes("POST", "/v1/redeem", body, headers: ["Authorization: Bearer \(LedgerProcess.token)"]))
            return client
        }
    }

    /// Expects that `body` takes less time than what waits for the database, once of three times: a machine can stand
    /// still.
    private func expectShort(_ limit: Duration, _ body: () throws -> Void) rethrows {
        for attempt in 1...3 {
            let start = ContinuousClock.now
            try body()
            let time = ContinuousClock.now - start
            if time < limit { return }
            if attempt == 3 { Issue.record("\(time)") }
        }
    }

    @Test(.enabled(if: Sampling.runsSlowTests))
    func `a database that waits stops neither what needs none nor the end, and what waits gets 503`() throws {
        let evidence = try Self.minted.get()
        for location in try Self.locations(evidence) { try expectOthersServed(evidence, location) }
    }

    private func expectOthersServed(_ evidence: MintedEvidence, _ location: String) throws {
        let server = try LedgerProcess(evidence, location, options: ["--queue-time", "2", "--stop-time", "3"])
        // So large that no thread that reads requests answers it.
        let body = try evidence.receipt(purchaseCount: 200)
        #expect(body.count > 64 << 10)
        let lock = try Lock(location)
        var clients: [Client] = []
        try expectShort(.seconds(4)) {
            // Each takes 5 seconds at least.
            clients = try startRedemptions(60, evidence, server.port)
            #expect(try request("POST", "/v1/verify", body, port: server.port).status == 200)
        }
        // A redemption that waited for a thread, or for the database: the first gives up after 2 seconds, the second
        // after 10.
        let answers = clients.suffix(20).compactMap { $0.receive() }
        #expect(answers.count == 20 && answers.allSatisfy { $0.status == 503 && $0.headers["retry-after"] != nil })
        #expect(answers.contains { $0.errorCode == "queue-timeout" })
        let others = try startRedemptions(60, evidence, server.port)
        usleep(200_000)
        let stop = ContinuousClock.now
        server.process.signal(SIGTERM)
        #expect(server.process.wait() == 0)
        // After 3 seconds, not when the database gives up.
        #expect(ContinuousClock.now - stop < .seconds(9))
        withExtendedLifetime((lock, clients, others)) {}
    }

    @Test func `an account whose requests wait for the database delays no other's that change nothing`() throws {
        let evidence = try Self.minted.get()
        for location in try Self.locations(evidence) {
            let server = try LedgerProcess(evidence, location)
            defer { server.kill() }
            let first = try startRedemptions(1, evidence, server.port, of: 2, for: "ben")
            #expect(first[0].receive()?.status == 200)
            let lock = try Lock(location, "EXCLUSIVE")
            // Beyond its quarter, it is refused at once.
            let waiting = try startRedemptions(200, evidence, server.port)
            usleep(300_000)
            try expectShort(.seconds(4)) {
                let again = try startRedemptions(20, evidence, server.port, of: 2, for: "ben")
                #expect(again.allSatisfy { $0.receive()?.status == 200 })
            }
            withExtendedLifetime((lock, first, waiting)) {}
        }
    }

    @Test func `a request without a token takes no place`() throws {
        let evidence = try Self.minted.get()
        let file = try newLedger(evidence.path("ledger-\(UUID().uuidString).db"))
        let server = try LedgerProcess(evidence, file, options: ["--queue", "9"])
        let lock = try Lock(file)
        let waiting = try startRedemptions(8, evidence, server.port)
        usleep(200_000)
        for _ in 0..<20 {
            let answer = try request(
                "POST", "/v1/redeem", headers: ["Authorization: Bearer nothing"], port: server.port)
            #expect(answer.status == 401)
        }
        server.kill()
        withExtendedLifetime((lock, waiting)) {}
    }
}
