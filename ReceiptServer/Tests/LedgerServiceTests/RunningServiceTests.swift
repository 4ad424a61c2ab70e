import AppStoreReceipt
import Foundation
@testable import HTTPService
@testable import LedgerService
@testable import PurchaseLedger
import Testing
import TrialSupport

/// The ledger of a service, which runs in this process.
@Suite(.serialized) struct RunningServiceTests {
    private static let minted = Result { try MintedEvidence() }

    private let evidence: MintedEvidence
    private let location: String

    init() throws {
        evidence = try Self.minted.get()
        location = try newLedger(evidence.path("ledger-\(UUID().uuidString).db"))
    }

    private func service(_ options: [String] = []) throws -> LedgerService {
        let tokens = try evidence.write(Array("\(LedgerProcess.token)\n".utf8), to: "tokens")
        let values = try OptionTable(LedgerService.options).read(
            ["--ledger", location, "--token-file", tokens] + options
        ) { _ in nil }
        let verifier = try AppStoreVerifier(
            bundleID: MintedEvidence.bundleID, environments: [.production], trust: evidence.trust)
        let service = try LedgerService(values, verifier, [:], ServiceLog(detail: .none) { _ in })
        return try #require(service)
    }

    @Test func `what was sent is kept for the days of --keep-attempts`() throws {
        let service = try service(["--keep-attempts", "30"])
        for (account, days) in [("anna", 29), ("ben", 31)] as [(String, Int64)] {
            let date = Instant.now - .seconds(days * 86_400)
            let attempt = Attempt("request-of-\(account)", of: account, [0x78], code: "ok", [], of: 0, at: date)
            try service.ledger.record([try #require(attempt)])
        }
        let finish = try service.start()
        defer { finish() }
        func accounts() throws -> [[String]] { try service.ledger.texts("SELECT account FROM attempts") }
        try wait { try !accounts().contains(["ben"]) }
        #expect(try accounts() == [["anna"]])
    }

    @Test func `the metrics say that the database does not answer`() throws {
        let service = try service()
        func isUp(_ value: Int) -> Bool {
            var text = ""
            for family in service.metrics() { family.append(to: &text) }
            return text.contains("receipt_server_ledger_up \(value)\n")
        }
        try FileManager.default.removeItem(atPath: location)
        let finish = try service.start()
        defer { finish() }
        try wait { isUp(0) }
    }
}
