import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import Foundation
@testable import HTTPService
@testable import LedgerService
import LedgerTestSupport
@testable import PurchaseLedger
import Testing
import TrialSupport

/// `POST /v1/recover`, called without a network of its own; the App Store is behind one.
struct RecoverRouteTests {
    private let shop: AppleShop
    private let table: RouteTable
    private let ledger: PurchaseLedger
    private let document: OpenAPIDocument
    private let attempts: AttemptLog

    init() throws { try self.init(apps: { [$0] }) }

    /// - Parameters:
    ///   - apps: The apps that are asked about. The store has one of them.
    ///   - sandbox: The App Store of the other environment; `nil` for none.
    private init(
        apps: (String) -> [String], shop: AppleShop? = nil, sandbox: FakeAppStoreServer? = nil,
        clock: @escaping @Sendable () -> Instant = { .now }
    ) throws {
        self.shop = try shop ?? AppleShop()
        let shop = self.shop
        let bundleIDs = apps(shop.store.options.bundleID)
        try shop.writeKeys(for: bundleIDs, sandbox: sandbox)
        document = try OpenAPIDocument("openapi-ledger.json")
        let log = ServiceLog(detail: .none) { _ in }
        let verifier = try AppStoreVerifier(
            policy: VerificationPolicy(
                bundleIDs: Set(bundleIDs), environments: sandbox == nil ? [.production] : [.production, .sandbox]),
            trust: .roots([shop.store.trustAnchor]))
        let file = try AskAppleFile(shop.path("ask-apple.json"), verifier)
        var policy = LedgerPolicy()
        policy.inquiries = InquiryPolicy(apps: Set(file.askers.map(\.app.app)))
        ledger = try PurchaseLedger(creating: shop.path("ledger.db"), policy: policy)
        let tokens = try AccessTokens(file: shop.path("tokens"))
        let askApple = AskApple(shop.path("ask-apple.json"), file, ledger, verifier, log)
        attempts = AttemptLog(ledger, keeping: .seconds(60), withEvidence: true)
        var routes = LedgerRoutes(ledger, verifier, tokens, log, attempts, askApple)
        routes.clock = clock
        table = RouteTable(routes.routes)
    }

    private func recover(_ body: String, token: String = AppleShop.supportToken) throws -> (status: Int, [String: Any])
    {
        let field = Request.Field(.header, "Authorization", "Bearer \(token)")
        let response = table.answer(
            Request(method: "POST", path: "/v1/recover", fields: [field], body: Array(body.utf8)))
        let body = try #require(JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
        let fault = document.fault("post", "/v1/recover", response.status, response.contentType, body)
        #expect(fault == nil, "\(fault ?? "")")
        return (response.status, body)
    }

    private func code(_ answer: [String: Any]) -> String? { (answer["error"] as? [String: Any])?["code"] as? String }

    private func outcomes(_ answer: [String: Any]) -> [String]? {
        (answer["outcomes"] as? [[String: Any]])?.compactMap { $0["outcome"] as? String }
    }

    private func buy() -> PurchaseHistory.Transaction {
        let date = shop.store.now - .seconds(60)
        return shop.store.change(customer: 1) { $0.buyConsumable("coins", quantity: 3, at: date) }
    }

    @Test func `the order id of an invoice is redeemed for the account that support names`() throws {
        let coins = buy()
        let order = FakeAppStore.orderID(of: coins.transactionID)
        let (status, recorded) = try recover(#"{"apple_order_id":"\#(order)"}"#)
        #expect(status == 200 && recorded["transactions"] as? [String] == [coins.transactionID])
        #expect(outcomes(recorded) == [])
        #expect(outcomes(try recover(#"{"apple_order_id":"\#(order)","account":"anna"}"#).1) == ["granted"])
        #expect(
            outcomes(try recover(#"{"transaction_id":"\#(coins.transactionID)","account":"anna"}"#).1) == [
                "already-yours"
            ])
        #expect(outcomes(try recover(#"{"apple_order_id":"\#(order)","account":"ben"}"#).1) == ["belongs-to-another"])
    }

    @Test(arguments: [
        #"{"order_id":"MX1A2B3C4D"}"#, #"{"order_id":"0b7c","account":"anna"}"#, #"{"\u006frder_id":null}"#,
        #"{"transaction_id":"1","order_id":"MX1A2B3C4D"}"#, #"{"acount":"anna","order_id":"MX1A2B3C4D"}"#,
    ])
    func `an order of the ledger is none of Apple's, whose name is said`(body: String) throws {
        let (status, answer) = try recover(body)
        let message = (answer["error"] as? [String: Any])?["message"] as? String
        #expect(status == 400 && code(answer) == "invalid-request")
        // The first fault is reported.
        #expect(message?.contains("'apple_order_id'") == true, "\(message ?? "")")
        #expect(message?.contains("'order_id' is an order of this ledger") == !body.contains("acount"))
    }

    @Test func `what support asks for an account is among its attempts, found by the id, and nobody's is not`() throws {
        let order = FakeAppStore.orderID(of: buy().transactionID)
        for body in [
            #"{"apple_order_id":"\#(order)"}"#, #"{"apple_order_id":"\#(order)","account":"anna"}"#,
            #"{"apple_order_id":"MX77","account":"anna"}"#,
        ] { _ = try recover(body) }
        try attempts.write()
        #expect(
            try ledger.texts("SELECT account, code FROM attempts ORDER BY request_id")
                == [["anna", "ok"], ["anna", "unknown-to-apple"]])
        let digest = try #require(EvidenceDigest.text(of: Array(order.utf8)))
        let found = try #require(ledger.attempts(withDigest: digest).first)
        #expect(found.outcomes.map(\.outcome) == ["granted"] && !found.isEvidenceKept)
    }

    @Test func `what support asks for an account is dated before Apple is asked: a deletion meanwhile erases it`()
        throws
    {
        let looks = Guarded(0)
        let start = Instant.now
        // Each look at the clock is an hour later.
        let tests = try RecoverRouteTests(apps: { [$0] }) {
            looks.withLock { count in
                count += 1
                return start + .seconds(3600 * (Int64(count) - 1))
            }
        }
        _ = try tests.recover(#"{"transaction_id":"\#(tests.buy().transactionID)","account":"anna"}"#)
        _ = try tests.ledger.deleteAccount("anna", at: start + .seconds(1))
        try tests.attempts.write()
        #expect(try tests.ledger.texts("SELECT account FROM attempts") == [])
    }

    @Test func `a refund of which no notification came is recorded at once`() throws {
        let coins = buy()
        _ = try ledger.redeem(shop.evidence(coins, of: 1), for: "anna")
        let date = shop.store.now
        shop.store.change(customer: 1) { $0.refund(coins, at: date) }
        #expect(try recover(#"{"transaction_id":"\#(coins.transactionID)"}"#).status == 200)
        #expect(try ledger.texts("SELECT CAST(quantity AS TEXT) FROM grants") == [["0"]])
    }

    @Test(arguments: [
        (#"{}"#, 400, "invalid-request"),
        (#"{"transaction_id":"1","apple_order_id":"2"}"#, 400, "invalid-request"),
        (#"{"transaction_id":"1","acount":"anna"}"#, 400, "invalid-request"),
        (#"{"transaction_id":1}"#, 400, "invalid-request"),
        (#"{"transaction_id":"1","skip_refused":true}"#, 400, "invalid-request"),
        (#"{"transaction_id":"1","skip_refused":true,"reason":null}"#, 400, "invalid-request"),
        (#"{"transaction_id":"1","skip_refused":"true","reason":"r"}"#, 400, "invalid-request"),
        (#"{"transaction_id":"1","skip_refused":false,"reason":"r"}"#, 400, "invalid-request"),
        (#"{"transaction_id":"1","reason":"r"}"#, 400, "invalid-request"),
        (#"{"transaction_id":"1","skip_refused":true,"reason":""}"#, 400, "invalid-text"),
        (#"{"transaction_id":"1","skip_refused":true,"reason":"a\u0000"}"#, 400, "invalid-text"),
        (#"{"transaction_id":"../notifications"}"#, 400, "invalid-request"),
        (#"{"transaction_id":"3.4E+14"}"#, 400, "invalid-request"),
        (#"{"transaction_id":"NULL"}"#, 400, "invalid-request"),
        (#"{"transaction_id":"GPA.3345-1234-5678-90123"}"#, 400, "invalid-request"),
        ("[]", 400, "invalid-json"),
        (#"{"transaction_id":"77"}"#, 404, "unknown-to-apple"),
        (#"{"apple_order_id":"MX77"}"#, 404, "unknown-to-apple"),
    ])
    func `what names no purchase is refused`(body: String, status: Int, expected: String) throws {
        let (found, answer) = try recover(body)
        #expect(found == status && code(answer) == expected)
    }

    @Test(arguments: [
        (FakeFault.internalError, 503, "apple-unavailable"), (.rateLimit, 503, "apple-unavailable"),
        (.tornBody, 503, "apple-unavailable"), (.unauthorized, 503, "apple-unavailable"),
        (.changedSignature, 502, "apple-refused"), (.otherApp, 502, "apple-refused"),
        (.otherEnvironment, 502, "apple-refused"), (.untrustedRoot, 502, "apple-refused"),
    ])
    func `an answer that proves nothing grants nothing`(fault: FakeFault, status: Int, expected: String) throws {
        let coins = buy()
        shop.store.inject(fault, count: 100)
        let (found, answer) = try recover(#"{"transaction_id":"\#(coins.transactionID)","account":"anna"}"#)
        #expect(found == status && code(answer) == expected, "\(answer)")
        #expect(try ledger.texts("SELECT transaction_id FROM grants JOIN identifiers ON id = identifier_id").isEmpty)
    }

    @Test func `a refused item is named, and the rest is recorded for a reason, which the history of acts has`() throws
    {
        let date = shop.store.now - .seconds(86_400)
        let period = shop.store.change(customer: 1) {
            $0.subscribe(to: "monthly", in: "group", for: .days(30), at: date).firstPeriod
        }
        let id = period.transactionID
        shop.store.inject(.changedSignature, into: .transactionHistory, count: 100)
        func message(_ answer: [String: Any]) -> String {
            (answer["error"] as? [String: Any])?["message"] as? String ?? ""
        }
        let refused = try recover(#"{"transaction_id":"\#(id)","account":"anna"}"#)
        #expect(refused.status == 502 && code(refused.1) == "apple-refused")
        #expect(message(refused.1).contains("\(id) (invalid-signature)"), "\(message(refused.1))")
        #expect(try ledger.texts("SELECT transaction_id FROM evidence JOIN identifiers ON id = identifier_id") == [])
        let skip = #""skip_refused":true,"reason":"ticket 7""#
        let incomplete = try recover(#"{"transaction_id":"\#(id)","account":"anna",\#(skip)}"#)
        #expect(incomplete.status == 409 && code(incomplete.1) == "recovery-incomplete")
        #expect(message(incomplete.1).contains("\(id) (invalid-signature)"))
        #expect(
            try ledger.texts("SELECT transaction_id FROM evidence JOIN identifiers ON id = identifier_id") == [[id]])
        #expect(try ledger.texts("SELECT account FROM families WHERE account IS NOT NULL") == [])
        let (status, recorded) = try recover(#"{"transaction_id":"\#(id)",\#(skip)}"#)
        #expect(status == 200 && recorded["refused"] as? Int == 1 && recorded["transactions"] as? [String] == [id])
        let items = recorded["refused_items"] as? [[String: String]]
        #expect(items == [["transaction_id": id, "code": "invalid-signature"]])
        #expect(
            try ledger.texts("SELECT DISTINCT kind, transaction_id, reason, answer FROM acts")
                == [["recover", id, "ticket 7", "partial"]])
        try attempts.write()
        #expect(
            try ledger.texts("SELECT code FROM attempts ORDER BY request_id")
                == [["apple-refused"], ["recovery-incomplete"]])
    }

    @Test(arguments: [true, false])
    func `an app whose key Apple refuses hides no purchase of another one`(isFirst: Bool) throws {
        let tests = try Self { isFirst ? ["com.example.refused", $0] : [$0, "com.example.refused"] }
        let coins = tests.buy()
        // Even while requests for that app pause for an hour.
        for _ in 0..<4 {
            #expect(try tests.recover(#"{"transaction_id":"\#(coins.transactionID)"}"#).status == 200)
            let (status, answer) = try tests.recover(#"{"transaction_id":"77"}"#)
            #expect(status == 503 && tests.code(answer) == "apple-unavailable")
        }
    }

    @Test func `where there are both environments, one is named, and the other is not asked`()
        throws
    {
        let shop = try AppleShop()
        var options = FakeAppStore.Options()
        options.environment = .sandbox
        let other = try FakeAppStoreServer(
            FakeAppStore(options, authority: shop.store.authority, clientKey: shop.store.clientKey))
        defer { other.stop() }
        let tests = try Self(apps: { [$0] }, shop: shop, sandbox: other)
        let coins = tests.buy()
        let order = FakeAppStore.orderID(of: coins.transactionID)
        func ask(_ members: String) throws -> (status: Int, [String: Any]) {
            try tests.recover(#"{"account":"anna",\#(members)}"#)
        }
        for id in [#""transaction_id":"\#(coins.transactionID)""#, #""apple_order_id":"\#(order)""#] {
            for environment in ["", #","environment":"xcode""#, #","environment":null"#] {
                let (status, answer) = try ask(id + environment)
                #expect(status == 400 && tests.code(answer) == "invalid-request", "\(id)\(environment)")
            }
        }
        #expect(shop.store.requestCounts.isEmpty && other.store.requestCounts.isEmpty)
        let id = #""transaction_id":"\#(coins.transactionID)","#
        #expect(try tests.code(ask(id + #""environment":"sandbox""#).1) == "unknown-to-apple")
        #expect(shop.store.requestCounts.isEmpty && !other.store.requestCounts.isEmpty)
        #expect(try tests.ledger.texts("SELECT environment FROM grants JOIN identifiers ON id = identifier_id") == [])
        #expect(outcomes(try ask(id + #""environment":"production""#).1) == ["granted"])
        #expect(
            try tests.ledger.texts("SELECT environment FROM grants JOIN identifiers ON id = identifier_id") == [
                ["production"]
            ])
    }

    @Test(arguments: ["", String(repeating: "a", count: 256), #"a\u0000"#])
    func `Apple is not asked for an account that cannot be`(_ account: String) throws {
        let (status, answer) = try recover(
            #"{"transaction_id":"\#(buy().transactionID)","account":"\#(account)"}"#)
        #expect(status == 400 && code(answer) == "invalid-text")
        let (_, reason) = try recover(
            #"{"transaction_id":"\#(buy().transactionID)","skip_refused":true,"reason":"\#(account)"}"#)
        #expect(code(reason) == "invalid-text")
        #expect(shop.store.requestCounts.isEmpty)
    }

    @Test func `the scope is none that a token has by itself`() throws {
        let (status, answer) = try recover(#"{"transaction_id":"1"}"#, token: LedgerProcess.token)
        #expect(status == 403 && code(answer) == "forbidden")
    }
}
