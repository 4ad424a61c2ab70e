import AppStoreReceipt
import AppStoreReceiptTesting
import CSQLite
import Foundation
import LedgerTestSupport
import PurchaseLedger
import TrialSupport

/// Measures how strangers, a locked database, a slow receiver and a backlog delay other requests to a server with an
/// SQLite ledger.
///
/// To measure another server, copy this executable beside it.
@MainActor struct WaitingTrial {
    private static let token = "token-of-the-backend-1234"
    private let evidence: MintedEvidence
    private let tokens: String
    private let secret: String

    init(_ evidence: MintedEvidence) throws {
        self.evidence = evidence
        tokens = try evidence.write(Array((Self.token + "\n").utf8), to: "tokens")
        secret = try evidence.write(Array("a secret of a trial\n".utf8), to: "secret")
    }

    func run() throws {
        try strangers()
        try lockedFile()
        try slowReceiver()
        try backlog()
    }

    // MARK: A server and its requests

    private func start(_ file: String, _ options: String...) throws -> ServerProcess {
        try ServerProcess(
            evidence.trustOptions + [
                "--bundle-id", MintedEvidence.bundleID, "--log", "none", "--ledger", file, "--token-file", tokens,
            ] + options)
    }

    private func newLedger() throws -> String {
        let file = evidence.path("ledger-\(UUID().uuidString).db")
        _ = try PurchaseLedger(creating: file)
        return file
    }

    private func redemption(_ id: Int, _ account: String) throws -> [UInt8] {
        let coins = try evidence.coins(id)
        return requestBytes(
            "POST", "/v1/redeem", Array(#"{"account":"\#(account)","evidence":"\#(coins)"}"#.utf8),
            headers: ["Authorization: Bearer \(Self.token)"])
    }

    private func seconds(_ body: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try body()
        return Double((ContinuousClock.now - start) / .microseconds(1)) / 1e6
    }

    /// Sends each request on its own connection, without waiting for answers.
    private func send(_ requests: [[UInt8]], to server: ServerProcess) throws -> [Client] {
        try requests.map { request in
            let client = try Client(port: server.port)
            client.set(timeout: 120)
            client.send(request)
            return client
        }
    }

    private func greatest(_ times: [Double]) -> String { "\(format((times.max() ?? 0) * 1000)) ms" }

    // MARK: Trials

    /// Redeems while 600 connections post notifications.
    private func strangers() throws {
        let server = try start(newLedger())
        let notification = try JWSBuilder.notification(
            .refund, bundleID: MintedEvidence.bundleID,
            transaction: evidence.transaction()
        ).signed(by: evidence.ellipticAuthority)
        let body = Array(#"{"signedPayload":"\#(notification)"}"#.utf8)
        var load = Load(port: server.port, requests: [requestBytes("POST", "/v1/notifications", body)])
        load.connectionCount = 600
        load.seconds = 8
        let redemptions = try (0..<43).map { try redemption(1000 + $0, "account \($0)") }
        let statuses = Guarded<[Int]>([])
        let times = Guarded<[Double]>([])
        let port = server.port
        let thread = Thread {
            for request in redemptions {
                usleep(150_000)
                let start = Date.now
                guard let client = try? Client(port: port) else { continue }
                client.send(request)
                let status = client.receive()?.status ?? 0
                statuses.withLock { $0.append(status) }
                times.withLock { $0.append(Date.now.timeIntervalSince(start)) }
            }
        }
        thread.start()
        let result = load.run()
        while !thread.isFinished { usleep(10_000) }
        let all = statuses.withLock { $0 }
        row(
            "43 redemptions beside 600 connections that post notifications",
            "\(all.filter { $0 == 200 }.count) answered with 200, greatest \(greatest(times.withLock { $0 })); \(result.answerCount) notifications answered",
            all.allSatisfy { $0 == 200 })
        _ = server.terminate()
    }

    /// Redeems while this process locks the file.
    private func lockedFile() throws {
        let path = try newLedger()
        let server = try start(path, "--stop-time", "3")
        var handle: OpaquePointer?
        sqlite3_open(path, &handle)
        sqlite3_busy_timeout(handle, 5000)
        sqlite3_exec(handle, "BEGIN IMMEDIATE", nil, nil, nil)
        defer { sqlite3_close(handle) }
        let receipt = try evidence.receipt(purchaseCount: 220)
        let redemptions = try (0..<20).map { try redemption($0, "anna") }
        let waiting = try send(redemptions, to: server)
        usleep(200_000)
        let verification = try seconds {
            for client in try send([requestBytes("POST", "/v1/verify", receipt)], to: server) { _ = client.receive() }
        }
        row(
            "/v1/verify of \(receipt.count) bytes beside 20 redemptions that wait for a locked file",
            "\(format(verification, 2)) s", verification < 2)
        let time = seconds { for client in waiting { _ = client.receive() } }
        row("    all 20 answered after", "\(format(time)) s", time < 20)
        let others = try send(redemptions, to: server)
        usleep(200_000)
        let end = seconds { _ = server.terminate() }
        row("    SIGTERM with --stop-time 3", "ended after \(format(end)) s", end < 4)
        withExtendedLifetime(others) {}
    }

    /// Delivers events of 40 accounts, while the receiver takes 10 seconds for those of four.
    private func slowReceiver() throws {
        let path = try newLedger()
        do {
            let server = try start(path)
            for index in 0..<48 {
                let client = try Client(port: server.port)
                client.send(try redemption(index + 1, index < 8 ? "slow \(index % 4)" : "quick \(index)"))
                _ = client.receive()
            }
            _ = server.terminate()
        }
        let quick = Guarded<Set<String>>([])
        let receiver = try WebhookReceiver(prepare: { received in
            if received.body.contains(#""account":"slow"#) {
                sleep(10)
            } else {
                quick.withLock { _ = $0.insert(received.id) }
            }
        }) { _ in 200 }
        let server = try start(path, "--webhook", receiver.url, "--webhook-secret-file", secret)
        let start = Date.now
        while quick.withLock(\.count) < 40, Date.now.timeIntervalSince(start) < 45 { usleep(20_000) }
        let time = Date.now.timeIntervalSince(start)
        row(
            "events of 40 accounts beside 4 whose receiver hangs",
            "\(quick.withLock(\.count)) delivered after \(format(time)) s", quick.withLock(\.count) == 40 && time < 5)
        server.send(SIGKILL)
        _ = server.wait()
    }

    /// Redeems beside 100,000 due events of one account, and one later event of each of 100,000 accounts.
    private func backlog() throws {
        let path = try newLedger()
        _ = try start(path).terminate()
        let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
        let later = Int(Date.now.timeIntervalSince1970 * 1000) + 1_800_000
        var handle: OpaquePointer?
        sqlite3_open(path, &handle)
        func run(_ statement: String) -> Bool { sqlite3_exec(handle, statement, nil, nil, nil) == SQLITE_OK }
        for (account, id, sequence) in [("'old'", "'old ' || i", "i"), ("'later ' || i", "'later ' || i", "1")] {
            let isDone = run(
                """
                \(numbers) INSERT INTO outbox (id, account, sequence, event, made_at, state, attempts)
                SELECT \(id), \(account), \(sequence), '{}', i, 'pending', 0 FROM n
                """)
            if !isDone { row("the backlog", String(cString: sqlite3_errmsg(handle)), false) }
        }
        _ = run(
            "\(numbers) INSERT INTO accounts (account, last_sequence, due_at) SELECT 'later ' || i, 1, \(later) FROM n")
        _ = run("INSERT INTO accounts (account, last_sequence, due_at) VALUES ('old', 100000, 0)")
        sqlite3_close(handle)
        let delivered = Guarded<Set<String>>([])
        let receiver = try WebhookReceiver(prepare: { received in
            guard received.body.contains(#""account":"new"#) else { return }
            delivered.withLock { _ = $0.insert(received.id) }
        }) { _ in 200 }
        let server = try start(path, "--webhook", receiver.url, "--webhook-secret-file", secret)
        sleep(2)
        let times = try (0..<40).map { index in
            let request = try redemption(index + 1, "new \(index)")
            usleep(50_000)
            return try seconds {
                let client = try Client(port: server.port)
                client.send(request)
                _ = client.receive()
            }
        }
        let start = Date.now
        while delivered.withLock(\.count) < 40, Date.now.timeIntervalSince(start) < 30 { usleep(10_000) }
        let sorted = times.sorted()
        row(
            "40 redemptions beside 200,000 events that wait",
            "median \(format(sorted[20] * 1000)) ms, greatest \(greatest(times))", sorted[20] < 0.1)
        row(
            "    their events",
            "\(delivered.withLock(\.count)) delivered, the last \(format(Date.now.timeIntervalSince(start))) s after its redemption",
            delivered.withLock(\.count) == 40 && Date.now.timeIntervalSince(start) < 5)
        let scrape = try (0..<5).map { _ in try seconds { _ = try request("GET", "/metrics", port: server.metricsPort) }
        }
        row("    GET /metrics", "greatest \(greatest(scrape))", (scrape.max() ?? 1) < 0.1)
        server.send(SIGKILL)
        _ = server.wait()
    }
}
