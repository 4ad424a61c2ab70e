import Foundation
@testable import HTTPService
@testable import LedgerService
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import Testing
import TrialSupport

/// `receipt-server init`, `--new-ledger`, and other commands without a ledger.
@Suite(.serialized) struct NewLedgerCommandTests {
    private static let minted = Result { try MintedEvidence() }
    private static var stores: [String] { PostgreSQLServer.binaries == nil ? ["SQLite"] : ["SQLite", "PostgreSQL"] }

    private let evidence: MintedEvidence
    private let tokens: String

    init() throws {
        evidence = try Self.minted.get()
        tokens = try evidence.write(Array("\(LedgerProcess.token)\n".utf8), to: "tokens")
    }

    private func location(_ store: String) throws -> String {
        try store == "SQLite"
            ? evidence.path("new-\(UUID().uuidString).db") : PostgreSQLServer.shared.get().makeDatabase()
    }

    private func run(_ arguments: [String]) throws -> (status: Int32, text: String) {
        let process = try ChildProcess(
            ["/bin/sh", "-c", "exec \"$@\" 2>&1", "sh", ServerProcess.executable.path] + arguments)
        process.closeInput()
        let text = process.readAll()
        return (process.wait() >> 8, text)
    }

    private func server(_ location: String, _ options: String...) -> [String] {
        [
            "--bundle-id", MintedEvidence.bundleID, "--ledger", location, "--token-file", tokens, "--listen",
            "127.0.0.1:0",
        ]
            + options
    }

    @Test(.enabled(if: Sampling.runsSlowTests), arguments: stores)
    func `init makes a ledger once, and the log's start says which and how much it has`(_ store: String) throws {
        let location = try location(store)
        #expect(try run(server(location)).text.contains("--ledger: no-ledger: "))
        #expect(try run(server(location)).status == 2)
        #expect(try run(["init", "--ledger", location]).status == 0)
        for again in [["init", "--ledger", location], server(location, "--new-ledger")] {
            let refused = try run(again)
            #expect(refused.status == 2 && refused.text.contains("--ledger: ledger-exists: "), "\(refused.text)")
        }
        for count in 0...1 {
            let server = try ServerProcess(
                ["--bundle-id", MintedEvidence.bundleID, "--ledger", location, "--token-file", tokens]
                    + evidence.trustOptions)
            let start = try #require(server.events("start").first)
            let summary = try PurchaseLedger(location).summary()
            #expect(start["ledger"] as? String == store && start["ledger_id"] as? String == summary.id)
            #expect(start["ledger_created"] as? String == summary.creationDate.description)
            #expect(start["grants"] as? Int == count)
            let metrics = try request("GET", "/metrics", port: server.metricsPort).text
            let label = "{ledger=\"\(summary.id)\"}"
            #expect(metrics.contains("receipt_server_ledger_grants\(label) \(count)\n"))
            let seconds = summary.creationDate.millisecondsSince1970 / 1000
            #expect(metrics.contains("receipt_server_ledger_created_timestamp_seconds\(label) \(seconds)\n"))
            let client = try Client(port: server.port)
            _ = LedgerProcess.redeem(try evidence.coins(1), for: "anna", over: client)
            #expect(server.terminate() == 0)
        }
    }

    @Test func `init needs a place, and takes it from the variable, too`() throws {
        #expect(try run(["init"]).text.contains("init needs --ledger"))
        #expect(try run(["init", "--ledger", "mysql://host"]).status == 2)
        #expect(try run(["init", "--ledger", "postgresql:///ledger?host=/nowhere&connect_timeout=2"]).status == 1)
        let help = try run(["init", "--help"]).text
        #expect(help.contains("RECEIPT_SERVER_LEDGER") && !help.contains("RECEIPT_SERVER_BUNDLE_ID"))
    }

    @Test func `nothing that starts a server again makes a ledger`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../deployment")
        for name in ["receipt-server.service", "Dockerfile"] {
            let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            #expect(!text.contains("new-ledger") && !text.contains("NEW_LEDGER") && !text.contains("server init"))
        }
    }
}
