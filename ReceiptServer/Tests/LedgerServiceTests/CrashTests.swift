import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import Synchronization
import Testing
import TrialSupport

/// The records of a server that is killed, or whose disk is full.
@Suite(.serialized) struct CrashTests {
    private static let minted = Result { try MintedEvidence() }
    private let evidence: MintedEvidence
    private let file: String

    init() throws {
        evidence = try Self.minted.get()
        file = try newLedger(evidence.path("ledger-\(UUID().uuidString).db"))
    }

    /// The clients' requests, and the answers.
    private struct Clients {
        var next = 1
        /// The account of each transaction whose grant was acknowledged.
        var granted: [Int: String] = [:]
        /// Those that were sent and not answered, which clients send again.
        var unanswered: [Int] = []
        var failures: [String] = []

        static func account(of transaction: Int) -> String { "account \(transaction % 20)" }
    }

    /// 16 clients: it is also killed between two members of a group, before and after their commit.
    @Test(
        .enabled(if: Sampling.runsSlowTests),
        arguments: PostgreSQLServer.binaries == nil ? ["sqlite"] : ["sqlite", "postgreSQL"])
    func `a server that is killed under load loses no acknowledged grant, and grants none twice`(
        _ store: String
    ) throws {
        let file = try store == "sqlite" ? file : newLedger(PostgreSQLServer.shared.get().makeDatabase())
        let rounds = Sampling.count("crashes" + (store == "sqlite" ? "" : "-postgresql"))
        let receiver = try WebhookReceiver { _ in 200 }
        let clients = Guarded(Clients())
        for _ in 0..<rounds {
            let server = try LedgerProcess(evidence, file, webhook: receiver.url)
            let isOver = Atomic(false)
            let threads = (0..<16).map { _ in
                Thread { [evidence] in Self.load(evidence, server.port, clients, isOver) }
            }
            threads.forEach { $0.start() }
            usleep(UInt32.random(in: 20_000...300_000))
            server.kill()
            isOver.store(true, ordering: .relaxed)
            while threads.contains(where: { !$0.isFinished }) { usleep(1000) }
        }
        // What was not answered is sent again, and then everything is delivered.
        let server = try LedgerProcess(evidence, file, webhook: receiver.url)
        let client = try Client(port: server.port)
        for transaction in clients.withLock(\.unanswered) {
            Self.redeem(transaction, evidence, client, clients)
        }
        let ledger = try PurchaseLedger(file)
        try wait { try ledger.outboxCounts().pending == 0 }
        server.kill()

        let state = clients.withLock { $0 }
        print(
            "ledger: \(store): killed \(rounds) times: \(state.granted.count) grants, \(receiver.received.count) deliveries"
        )
        #expect(state.failures.prefix(3) == [])
        #expect(state.granted.count > rounds)
        let rows = try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run(
                "SELECT transaction_id, account, quantity FROM grants JOIN identifiers ON id = identifier_id")
        }
        var recorded: [Int: String] = [:]
        for row in rows {
            recorded[Int(try row.text(0)) ?? 0] = try row.text(1)
            #expect(try row.integer(2) == 1)
        }
        for (transaction, account) in state.granted { #expect(recorded[transaction] == account) }
        #expect(recorded.count == state.next - 1)
        // Each grant has one event, and each event was delivered.
        let events = try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT id FROM outbox")
        }
        #expect(events.count == recorded.count)
        #expect(Set(try events.map { try $0.text(0) }) == Set(receiver.received.map(\.id)))
    }

    private static func load(
        _ evidence: MintedEvidence, _ port: UInt16, _ clients: Guarded<Clients>,
        _ isOver: borrowing Atomic<Bool>
    ) {
        guard let client = try? Client(port: port) else { return }
        while !isOver.load(ordering: .relaxed) {
            let transaction = clients.withLock { clients in
                if let again = clients.unanswered.popLast() { return again }
                clients.next += 1
                return clients.next - 1
            }
            guard redeem(transaction, evidence, client, clients) else {
                clients.withLock { $0.unanswered.append(transaction) }
                return
            }
        }
    }

    /// Returns whether the request was answered.
    @discardableResult
    private static func redeem(
        _ transaction: Int, _ evidence: MintedEvidence, _ client: Client, _ clients: Guarded<Clients>
    ) -> Bool {
        let account = Clients.account(of: transaction)
        guard let coins = try? evidence.coins(transaction),
            let answer = LedgerProcess.redeem(coins, for: account, over: client)
        else { return false }
        clients.withLock { clients in
            switch answer.outcomes {
            case ["granted"]:
                if clients.granted.updateValue(account, forKey: transaction) != nil {
                    clients.failures.append("\(transaction) was granted twice")
                }
            // It was granted by the request that was not answered.
            case ["already-yours"]: clients.granted[transaction] = account
            default: clients.failures.append("\(transaction): \(answer)")
            }
        }
        return true
    }

    @Test func `a full disk gives 503, and loses nothing`() throws {
        let server = try LedgerProcess(evidence, file, limit: 4000)
        let client = try Client(port: server.port)
        var granted: [Int] = []
        var refused: [Int] = []
        for transaction in 1...2000 where refused.count < 20 {
            let answer = try #require(LedgerProcess.redeem(evidence.coins(transaction), for: "anna", over: client))
            switch (answer.status, answer.outcomes) {
            case (200, ["granted"]): granted.append(transaction)
            case (503, []): refused.append(transaction)
            default: Issue.record("\(transaction): \(answer)")
            }
        }
        print("ledger: full disk after \(granted.count) grants")
        #expect(granted.count > 10 && refused.count == 20)
        #expect(try request("GET", "/healthz", port: server.port).status == 200)
        server.kill()
        // With room again, grants are there, and the rest can be granted.
        let second = try LedgerProcess(evidence, file)
        let other = try Client(port: second.port)
        for (transactions, outcome) in [(granted, "already-yours"), (refused, "granted")] {
            for transaction in transactions {
                let answer = try #require(LedgerProcess.redeem(evidence.coins(transaction), for: "anna", over: other))
                #expect(answer.outcomes == [outcome], "\(transaction)")
            }
        }
        second.kill()
    }

    @Test func `a file that may not grow gives 503 to whom it has no room for, and loses nothing`() throws {
        let server = try LedgerProcess(evidence, file, options: ["--threads", "16"], limit: 4000)
        try fill(server, file) {}
    }

    /// A tmpfs of 2 MB.
    private struct SmallDisk {
        static let isAvailable = (try? SmallDisk())?.unmount() != nil
        let folder = FileManager.default.temporaryDirectory.appending(path: "disk-\(UUID().uuidString)")

        init() throws {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try ChildProcess.run(["/bin/mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder.path])
        }

        func grow() throws { try ChildProcess.run(["/bin/mount", "-o", "remount,size=64m", folder.path]) }

        func unmount() {
            _ = try? ChildProcess.run(["/bin/umount", "-l", folder.path])
            try? FileManager.default.removeItem(at: folder)
        }
    }

    @Test(.enabled(if: SmallDisk.isAvailable, "only root can mount a small disk"))
    func `a disk that is full for a group gives 503 to whom it has no room for, and loses nothing`() throws {
        let disk = try SmallDisk()
        defer { disk.unmount() }
        let file = try newLedger(disk.folder.appending(path: "ledger.db").path)
        let server = try LedgerProcess(evidence, file, options: ["--threads", "16"])
        try fill(server, file) { try disk.grow() }
    }

    /// Redeems on 16 connections until each was refused three times. When there is room again, all that was granted is
    /// there, and the rest can be.
    private func fill(_ server: LedgerProcess, _ file: String, makeRoom: () throws -> Void) throws {
        let granted = Guarded<[Int]>([])
        let refused = Guarded<[Int]>([])
        let failures = Guarded<[String]>([])
        let threads = (0..<16).map { thread in
            Thread { [evidence] in
                guard let client = try? Client(port: server.port) else { return }
                var refusals = 0
                for transaction in stride(from: thread + 1, to: 16_000, by: 16) where refusals < 3 {
                    guard let coins = try? evidence.coins(transaction) else { return }
                    let account = "account \(thread)"
                    switch LedgerProcess.redeem(coins, for: account, over: client) {
                    case (200, ["granted"])?: granted.withLock { $0.append(transaction) }
                    case (503, [])?:
                        refusals += 1
                        refused.withLock { $0.append(transaction) }
                    case let answer: failures.withLock { $0.append("\(transaction): \(String(describing: answer))") }
                    }
                }
            }
        }
        threads.forEach { $0.start() }
        while threads.contains(where: { !$0.isFinished }) { usleep(1000) }
        server.kill()
        try makeRoom()
        let counts = (granted.withLock(\.count), refused.withLock(\.count))
        print("ledger: full disk in a group after \(counts.0) grants")
        #expect(failures.withLock { $0.prefix(3) } == [])
        #expect(counts.0 > 16 && counts.1 == 48)
        let second = try LedgerProcess(evidence, file)
        let other = try Client(port: second.port)
        for (transactions, outcome) in [
            (granted.withLock { $0 }, "already-yours"), (refused.withLock { $0 }, "granted"),
        ] {
            for transaction in transactions {
                let account = "account \((transaction - 1) % 16)"
                let answer = try #require(LedgerProcess.redeem(evidence.coins(transaction), for: account, over: other))
                #expect(answer.outcomes == [outcome], "\(transaction)")
            }
        }
        second.kill()
    }

    @Test(.enabled(if: PostgreSQLServer.binaries != nil))
    func `a stopped database gives 503, and loses nothing`() throws {
        let database = try PostgreSQLServer()
        let server = try LedgerProcess(evidence, newLedger(database.makeDatabase()))
        let client = try Client(port: server.port)
        func redeem(_ transaction: Int) throws -> (status: Int, outcomes: [String]) {
            try #require(LedgerProcess.redeem(evidence.coins(transaction), for: "anna", over: client))
        }
        for transaction in 1...5 { #expect(try redeem(transaction).outcomes == ["granted"]) }
        database.stop()
        for transaction in 4...8 { #expect(try redeem(transaction).status == 503) }
        #expect(try request("GET", "/healthz", port: server.port).status == 200)
        try database.start()
        for transaction in 1...8 {
            #expect(try redeem(transaction).outcomes == [transaction <= 5 ? "already-yours" : "granted"])
        }
        server.kill()
    }

    @Test(.enabled(if: Sampling.runsSlowTests))
    func `a file of tokens that blocks stops neither requests nor the end`() throws {
        let server = try LedgerProcess(evidence, file)
        let client = try Client(port: server.port)
        let tokens = evidence.path("tokens")
        try FileManager.default.removeItem(atPath: tokens)
        defer { unlink(tokens) }
        #expect(mkfifo(tokens, 0o600) == 0)
        for _ in 0..<3 {
            server.process.signal(SIGHUP)
            usleep(300_000)
        }
        #expect(LedgerProcess.redeem(try evidence.coins(1), for: "anna", over: client)?.status == 200)
        server.process.signal(SIGTERM)
        #expect(server.process.wait() == 0)
    }

    @Test func `SIGHUP reads the tokens again, and the log has none`() throws {
        let server = try LedgerProcess(evidence, file)
        let client = try Client(port: server.port)
        func status() throws -> Int? { LedgerProcess.redeem(try evidence.coins(1), for: "anna", over: client)?.status }
        #expect(try status() == 200)
        try evidence.write(Array("short\n".utf8), to: "tokens")
        server.process.signal(SIGHUP)
        #expect(server.process.readLine()?.contains("tokens-not-reloaded") == true)
        #expect(try status() == 200)
        try evidence.write(Array("another-token-for-the-backend\n".utf8), to: "tokens")
        server.process.signal(SIGHUP)
        let line = try #require(server.process.readLine())
        #expect(line.contains("tokens-reloaded") && !line.contains("another-token"))
        #expect(try status() == 401)
        server.process.signal(SIGTERM)
        let rest = server.process.readAll()
        #expect(server.process.wait() == 0 && !rest.contains("token"))
    }
}
