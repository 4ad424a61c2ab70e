import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
@testable import HTTPService
@testable import LedgerService
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import Testing
import TrialSupport

/// The answers over HTTP while each of SQLite's calls to the system fails in turn.
@Suite(.serialized) struct FailingRoutesTests {
    /// In the short run, every n-th call is tried, beginning with a random one.
    private static let stride = Sampling.count("failing-route-calls")

    private static let token = "token-of-the-backend-1234"

    struct Act {
        let method: String
        /// `EVENT` is the first event's id, `ORDER` the first order's.
        let path: String
        var body = ""
        var query: [String: String] = [:]
    }

    private struct Expected {
        let path: String
        let answer: String
        /// What the ledger has afterwards.
        let contents: [String]
    }

    private static func acts(_ minted: MintedEvidence) throws -> [Act] {
        func coins(_ id: Int, _ change: (inout JWSBuilder) -> Void = { _ in }) throws -> String {
            try minted.transaction {
                ($0.transactionID, $0.originalTransactionID, $0.productType) = ("\(id)", "\(id)", .consumable)
                change(&$0)
            }
        }
        let bought = #"{"account":"anna","evidence":"\#(try coins(1))","idempotency_key":"k"}"#
        let refunded = try coins(1) {
            $0.signedDate = Instant(millisecondsSince1970: 1_749_999_000_000)
            $0.revocationDate = Instant(millisecondsSince1970: 1_749_998_000_000)
        }
        let refund = try JWSBuilder.notification(
            .refund, bundleID: MintedEvidence.bundleID, transaction: refunded,
            signedDate: Instant(millisecondsSince1970: 1_749_999_000_000)
        ).signed(by: minted.ellipticAuthority)
        let story = "/v1/transactions/production/\(MintedEvidence.bundleID)/1"
        return [
            Act(method: "POST", path: "/v1/redeem", body: bought),
            Act(method: "POST", path: "/v1/redeem", body: #"{"account":"ben","evidence":"\#(try coins(1))"}"#),
            Act(method: "POST", path: "/v1/accounts/anna/token", body: "{}"),
            Act(
                method: "POST", path: "/v1/orders",
                body: #"{"account":"anna","product_id":"pro","idempotency_key":"k"}"#),
            Act(method: "POST", path: "/v1/redeem", body: #"{"account":"anna","evidence":"\#(try coins(2))"}"#),
            Act(method: "GET", path: "/v1/orders/ORDER"),
            Act(method: "GET", path: "/v1/orders", query: ["without": "order"]),
            Act(method: "POST", path: "/v1/notifications", body: #"{"signedPayload":"\#(refund)"}"#),
            Act(method: "GET", path: "/v1/accounts/anna/entitlements"), Act(method: "GET", path: story),
            Act(method: "POST", path: "/v1/accounts/anna/transfer", body: #"{"to":"ben","reason":"ticket 7"}"#),
            Act(
                method: "POST", path: "/v1/accounts/ben/adjust",
                body: #"{"product_id":"gift","quantity":2,"reason":"ticket 7","idempotency_key":"g"}"#),
            Act(method: "POST", path: "/v1/events/EVENT/send", body: #"{"reason":"ticket 9"}"#),
            Act(method: "GET", path: "/v1/events/dead"), Act(method: "GET", path: "/v1/accounts/ben/history"),
            Act(method: "GET", path: "/v1/accounts/anna/tokens"),
            Act(method: "POST", path: "/v1/redeem", body: bought),
            Act(method: "DELETE", path: "/v1/accounts/ben"), Act(method: "DELETE", path: "/v1/accounts/ben"),
        ]
    }

    /// A server on a ledger whose dates and ids follow from the request.
    private struct Shop {
        let ledger: PurchaseLedger
        private let table: RouteTable
        private let random = Guarded<UInt64>(0)

        init(_ store: SQLiteStore, _ minted: MintedEvidence, _ tokens: AccessTokens) throws {
            var policy = LedgerPolicy()
            policy.orders = OrderPolicy()
            let now = Instant(millisecondsSince1970: 1_750_000_000_000)
            policy.surroundings.date = { now }
            policy.surroundings.random = { [random] in
                random.withLock {
                    $0 += 1
                    return $0
                }
            }
            ledger = try PurchaseLedger(store, policy, at: now)
            let verifier = try AppStoreVerifier(
                bundleID: MintedEvidence.bundleID, environments: [.production], trust: minted.trust)
            var routes = LedgerRoutes(ledger, verifier, tokens, ServiceLog(detail: .none) { _ in })
            routes.clock = { now }
            table = RouteTable(routes.routes)
        }

        func send(_ act: Act, number: Int, path: String) -> (status: Int, text: String) {
            random.withLock { $0 = UInt64(number) << 32 }
            let fields =
                act.query.map { Request.Field(.query, $0, $1) }
                + [.init(.header, "Authorization", "Bearer \(FailingRoutesTests.token)")]
            let response = table.answer(
                Request(method: act.method, path: path, fields: fields, body: Array(act.body.utf8)))
            return (Int(response.status), "\(response.status) \(String(decoding: response.body, as: UTF8.self))")
        }

        /// What all tables have.
        func contents() throws -> [String] {
            try ledger.store.read { (connection) throws(LedgerError) in
                var lines: [String] = []
                for table in try connection.run("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name") {
                    let name = try table.text(0)
                    for row in try connection.run("SELECT * FROM \(name)") { lines.append("\(name) \(row.values)") }
                }
                return lines.sorted()
            }
        }

        func first(_ query: String) throws -> String {
            try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run(query).first?.text(0) ?? "none"
            }
        }
    }

    private let minted: MintedEvidence
    private let tokens: AccessTokens
    private let template: String
    private let acts: [Act]

    init() throws {
        minted = try MintedEvidence()
        let file = minted.path("tokens")
        try "\(Self.token) redeem,read,events,transfer,delete,adjust\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        tokens = try AccessTokens(file: file)
        template = minted.path("template.db")
        acts = try Self.acts(minted)
        try PurchaseLedger(creating: template).completeFile()
    }

    /// The answers without faults.
    private func expected() throws -> (beginning: [String], [Expected]) {
        try FileManager.default.copyItem(atPath: template, toPath: minted.path("expected.db"))
        let shop = try Shop(SQLiteStore(path: minted.path("expected.db")), minted, tokens)
        let beginning = try shop.contents()
        let expected = try acts.enumerated().map { number, act in
            let path = act.path
                .replacingOccurrences(of: "EVENT", with: try shop.first("SELECT id FROM outbox ORDER BY id"))
                .replacingOccurrences(of: "ORDER", with: try shop.first("SELECT id FROM orders ORDER BY id"))
            let answer = shop.send(act, number: number, path: path)
            #expect(answer.status < 300 || number == acts.count - 1 && answer.status == 404, "\(path): \(answer.text)")
            return Expected(path: path, answer: answer.text, contents: try shop.contents())
        }
        return (beginning, expected)
    }

    @Test(arguments: WatchedDisk.Fault.Kind.allCases)
    func `a request during which a call fails has its true answer, or 503 and nothing was done`(
        _ kind: WatchedDisk.Fault.Kind
    ) throws {
        let (beginning, expected) = try expected()
        var count = Int.random(in: 0..<Self.stride)
        let first = count
        var (failed, refused) = (0, 0)
        while true {
            let folder = minted.path("\(kind) \(count)")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: folder) }
            try FileManager.default.copyItem(atPath: template, toPath: folder + "/ledger.db")
            let disk = try WatchedDisk(folder)
            let shop = try Shop(SQLiteStore(path: folder + "/ledger.db", vfs: disk.vfs), minted, tokens)
            disk.fail(WatchedDisk.Fault(kind, after: count))
            var before = beginning
            for (number, (act, expected)) in zip(acts, expected).enumerated() {
                var answer = shop.send(act, number: number, path: expected.path)
                if answer.text != expected.answer {
                    refused += 1
                    #expect(answer.status == 503, "call \(count): \(expected.path): \(answer.text)")
                    disk.fail(nil)
                    #expect(try shop.contents() == before, "call \(count): \(expected.path)")
                    answer = shop.send(act, number: number, path: expected.path)
                    #expect(answer.text == expected.answer, "call \(count)")
                }
                let found = try disk.withoutFault { try shop.contents() }
                #expect(found == expected.contents, "call \(count): \(expected.path)")
                before = expected.contents
            }
            if disk.failureCount == 0 { break }
            failed += 1
            count += Self.stride
        }
        #expect(failed > 5 && refused > 0)
        print("failing calls, HTTP, \(kind): \(failed) of calls \(first) to \(count), \(refused) answers of 503")
        minted.remove()
    }
}
