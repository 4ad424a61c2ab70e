import Foundation
import LedgerTestSupport
import Testing
import TrialSupport

@Suite struct ReplacedFileServiceTests {
    /// It would go on writing to a file that nobody finds again.
    @Test(arguments: ["deleted", "replaced"])
    func `a server whose file is deleted or replaced answers 503 and says why, and starts with a ledger alone`(
        change: String
    ) throws {
        let evidence = try MintedEvidence()
        defer { evidence.remove() }
        let file = try newLedger(evidence.path("ledger.db"))
        func redeem(_ id: Int, _ server: LedgerProcess) throws -> (status: Int, outcomes: [String])? {
            LedgerProcess.redeem(try evidence.coins(id), for: "anna", over: try Client(port: server.port))
        }
        let server = try LedgerProcess(evidence, file)
        #expect(try redeem(1, server)?.outcomes == ["granted"])
        if change == "replaced" {
            // Like restoring a backup, but with a running server.
            let commands = "cp ledger.db copy && mv copy ledger.db && rm ledger.db-*"
            try ChildProcess.run(["sh", "-c", "cd '\(evidence.folder.path)' && \(commands)"])
        } else {
            try FileManager.default.removeItem(atPath: file)
        }
        for _ in 0..<2 { #expect(try redeem(2, server)?.status == 503) }
        let lines = (0..<2).compactMap { _ in server.process.readLine() }
        server.kill()
        let logged = lines.compactMap {
            try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
        }
        #expect(logged.count == 2 && logged.allSatisfy { $0["code"] as? String == "store-unavailable" }, "\(lines)")
        let message = try #require(logged.first?["message"] as? String)
        #expect(message.contains("ledger.db was deleted or replaced while the ledger was open; stop the program"))
        if change == "deleted" {
            let error = #expect(throws: ChildProcess.Failure.self) { try LedgerProcess(evidence, file) }
            #expect(error?.description == "the server did not start")
            #expect(!FileManager.default.fileExists(atPath: file))
            return
        }
        let restarted = try LedgerProcess(evidence, file)
        defer { restarted.kill() }
        #expect(try redeem(2, restarted)?.outcomes == ["granted"])
    }
}
