import AppStoreReceipt
import Foundation
@testable import HTTPService
@testable import LedgerService
import LedgerTestSupport
@testable import PurchaseLedger
import Reconciliation
import Sampling
import Testing
import TrialSupport

/// What the log reports to an operator, and how often.
@Suite struct OperatorLogTests {
    @Test func `what goes on is reported once a minute, and another reason at once`() {
        var recent = RecentReports()
        let news = ["status 500", "status 500", "status 503"].map { recent.isNews($0) }
        #expect(news == [true, false, true])
        // Many reasons take limited memory.
        for number in 0..<1000 { _ = recent.isNews("\(number)") }
        let isForgotten = recent.isNews("status 500")
        #expect(isForgotten)
    }

    @Test(.enabled(if: Sampling.runsSlowTests))
    func `the events that fail for one reason are one line of the log`() throws {
        let evidence = try MintedEvidence()
        defer { evidence.remove() }
        let server = try start(evidence, tokens: LedgerProcess.token, ["--webhook", "http://127.0.0.1:9/"])
        let client = try Client(port: server.port)
        for (number, account) in ["anna", "ben", "carl"].enumerated() {
            let coins = try evidence.coins(number + 1)
            #expect(LedgerProcess.redeem(coins, for: account, over: client)?.outcomes == ["granted"])
        }
        try wait { !server.events("delivery").isEmpty }
        // Each is tried within a second.
        usleep(2_000_000)
        #expect(server.terminate() == 0)
        let lines = server.events("delivery")
        #expect(lines.map { $0["code"] as? String } == ["delivery-failed"], "\(server.log)")
    }

    @Test func `of what somebody has to act on, each is logged`() {
        let lines = Guarded<[String]>([])
        let log = FindingLog(
            ServiceLog(detail: .none) { line in lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) } })
        let app = AskedApp(.production, "com.example.app")
        for id in ["1", "2", "3"] {
            log.write(.endedUnnotified(app, transactionID: id))
            log.write(.statusMismatch(app, originalTransactionID: id))
        }
        #expect(lines.withLock { $0.count { $0.contains("period-ended-unheard") } } == 3)
        #expect(lines.withLock { $0.count { $0.contains("status-mismatch") } } == 3)
    }

    @Test func `what is granted without an end is logged once a product and day`() {
        let lines = Guarded<[String]>([])
        let now = Guarded(Instant(millisecondsSince1970: 1_750_000_000_000))
        let log = ServiceLog(detail: .none) { line in
            lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }
        let unknown = UnknownLengths(log) { now.withLock(\.self) }
        // Bytes are compared: these are two products.
        for product in ["card", "card", "caf\u{e9}", "cafe\u{301}", "card"] { unknown.add(product) }
        #expect(lines.withLock(\.count) == 3)
        #expect(lines.withLock { $0[0].contains(#""event":"length-unknown","product_id":"card"}"#) })
        now.withLock { $0 = Instant(millisecondsSince1970: 1_750_031_999_999) }
        unknown.add("card")
        #expect(lines.withLock(\.count) == 3)
        // It is the next day.
        now.withLock { $0 = Instant(millisecondsSince1970: 1_750_032_000_000) }
        for _ in 0..<2 { unknown.add("card") }
        #expect(lines.withLock(\.count) == 4)
        for number in 0..<2000 { unknown.add("\(number)") }
        #expect(lines.withLock(\.count) == 1003)
    }

    @Test func `a purchase that went to another account than its token's is logged and counted`() {
        let lines = Guarded<[String]>([])
        let log = ServiceLog(detail: .none) { line in
            lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }
        let conflicts = TokenConflicts(log)
        for id in ["1", "2"] { conflicts.add(TokenConflict(transactionID: id)) }
        #expect(lines.withLock { $0.filter { $0.contains(#""event":"token-conflict","transaction_id":"#) }.count } == 2)
        var text = ""
        conflicts.metric.append(to: &text)
        #expect(text.contains("receipt_server_token_conflicts_total 2\n"))
    }

    @Test(
        arguments: [
            (LedgerProcess.token, "127.0.0.1:0", ["support-without-token"]),
            (LedgerProcess.token + " support", "0.0.0.0:0", ["support-without-tls"]),
            (LedgerProcess.token + " read,support", "127.0.0.1:0", []),
        ] as [(String, String, [String])])
    func `a desk that nobody can sign in to, or to which tokens go in clear text, is a warning`(
        tokens: String, address: String, warnings: [String]
    ) throws {
        let evidence = try MintedEvidence()
        defer { evidence.remove() }
        let server = try start(evidence, tokens: tokens, ["--support", address])
        #expect(server.terminate() == 0)
        let all = ["support-without-token", "support-without-tls"]
        #expect(all.filter { !server.events($0).isEmpty } == warnings, "\(server.log)")
    }

    private func start(_ evidence: MintedEvidence, tokens: String, _ options: [String]) throws -> ServerProcess {
        let tokenFile = try evidence.write(Array((tokens + "\n").utf8), to: "tokens")
        let secret = try evidence.write(Array("a secret of a test\n".utf8), to: "secret")
        let webhook = options.contains("--webhook") ? ["--webhook-secret-file", secret] : []
        return try ServerProcess(
            [
                "--bundle-id", MintedEvidence.bundleID, "--ledger", evidence.path("ledger.db"), "--new-ledger",
                "--token-file", tokenFile,
            ]
                + evidence.trustOptions + options + webhook)
    }
}
