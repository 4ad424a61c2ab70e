import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import Synchronization
import Testing
import TrialSupport

/// Two servers, each a process of its own, over one database.
@Suite(.serialized, .enabled(if: PostgreSQLServer.binaries != nil)) struct TwoServersTests {
    private static let count = Sampling.count("shared-requests")

    @Test func `two servers grant each of 100 transactions once, to one of 50 accounts, and notify it once`() throws {
        let minted = try MintedEvidence()
        let evidence = try (0..<100).map { try minted.coins($0 + 1) }
        let database = try newLedger(PostgreSQLServer.shared.get().makeDatabase())
        let receiver = try WebhookReceiver { _ in 200 }
        let servers = try (0..<2).map { _ in try LedgerProcess(minted, database, webhook: receiver.url) }
        let granted = Guarded<[Int: String]>([:])
        let failures = Guarded<[String]>([])
        let next = Atomic(0)
        let start = ContinuousClock.now
        inThreads(16) { thread in
            guard let client = try? Client(port: servers[thread % 2].port) else {
                return failures.withLock { $0.append("no connection") }
            }
            while case let number = next.wrappingAdd(1, ordering: .relaxed).oldValue, number < Self.count {
                let (transaction, account) = (number % 100, "account \(number / 100 % 50)")
                switch LedgerProcess.redeem(evidence[transaction], for: account, over: client) {
                case (200, ["granted"])?:
                    let other = granted.withLock { $0.updateValue(account, forKey: transaction) }
                    if other != nil { failures.withLock { $0.append("\(transaction) was granted twice") } }
                case (200, ["already-yours"])?, (200, ["belongs-to-another"])?: break
                case let answer: failures.withLock { $0.append("\(transaction): \(String(describing: answer))") }
                }
            }
        }
        let seconds = Double((ContinuousClock.now - start) / .milliseconds(1)) / 1000
        print("ledger: two servers: \(Int(Double(Self.count) / seconds)) requests a second")
        let ledger = try PurchaseLedger(database)
        try wait { try ledger.outboxCounts().pending == 0 }
        for server in servers { server.kill() }
        #expect(failures.withLock { $0.prefix(3) } == [])
        let rows = try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT transaction_id, account FROM grants JOIN identifiers ON id = identifier_id")
        }
        let recorded = Dictionary(
            uniqueKeysWithValues: try rows.map { ((Int(try $0.text(0)) ?? 0) - 1, try $0.text(1)) })
        #expect(recorded == granted.withLock { $0 } && recorded.count == 100)
        let events = try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT id FROM outbox")
        }
        #expect(events.count == 100)
        #expect(Set(try events.map { try $0.text(0) }) == Set(receiver.received.map(\.id)))
    }
}
