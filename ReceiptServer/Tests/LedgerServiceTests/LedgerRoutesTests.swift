import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
@testable import HTTPService
@testable import LedgerService
import LedgerTestSupport
@testable import PurchaseLedger
import Testing
import TrialSupport

/// Minted once: keys take time.
private let minted = Result { try MintedEvidence() }

/// The routes of a ledger, called without a network.
struct LedgerRoutesTests {

    private let evidence: MintedEvidence
    private let folder: URL
    private let tokens: AccessTokens
    private let table: RouteTable
    private let routes: LedgerRoutes
    private let log = Guarded<[String]>([])
    private let ledger: PurchaseLedger
    private let attempts: AttemptLog
    private let document: OpenAPIDocument

    init() throws {
        evidence = try minted.get()
        document = try OpenAPIDocument("openapi-ledger.json")
        folder = FileManager.default.temporaryDirectory.appending(path: "ledger-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "tokens").path
        try "# the backend\n\(Self.key)\n\(Self.supportKey) read,transfer,delete,adjust\n".write(
            toFile: file, atomically: true, encoding: .utf8)
        tokens = try AccessTokens(file: file)
        var policy = LedgerPolicy()
        policy.orders = OrderPolicy()
        ledger = try PurchaseLedger(creating: folder.appending(path: "ledger.db").path, policy: policy)
        attempts = AttemptLog(ledger, keeping: .seconds(90 * 86_400), withEvidence: true)
        let verifier = try AppStoreVerifier(
            bundleID: MintedEvidence.bundleID, environments: [.production], trust: evidence.trust)
        let log = log
        let serviceLog = ServiceLog(detail: .none) { line in
            log.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }
        let apple = try AskApple(asking: folder, ledger, verifier, serviceLog)
        var routes = LedgerRoutes(ledger, verifier, tokens, serviceLog, attempts, apple)
        routes.clock = { Instant(millisecondsSince1970: 1_750_000_000_000) }
        self.routes = routes
        table = RouteTable(routes.routes)
    }

    private static let key = "token-of-the-backend-1234"
    private static let supportKey = "token-of-support-56789012"

    private func send(
        _ method: String, _ path: String, _ body: String = "", token: String? = key, query: [String: String] = [:]
    ) -> Response {
        var fields = query.map { Request.Field(.query, $0, $1) }
        if let token { fields.append(.init(.header, "Authorization", "Bearer \(token)")) }
        let response = table.answer(Request(method: method, path: path, fields: fields, body: Array(body.utf8)))
        expectDescribed(response, method, path)
        return response
    }

    /// Compares an answer with `openapi-ledger.json`.
    private func expectDescribed(_ response: Response, _ method: String, _ path: String) {
        guard case .route(let index, _) = table.match(method, path) else {
            Issue.record("no route for \(method) \(path)")
            return
        }
        let body = (try? JSONSerialization.jsonObject(with: Data(response.body))) ?? ""
        let fault = document.fault(
            method.lowercased(), table.routes[index].path, response.status, response.contentType, body)
        #expect(fault == nil, "\(method) \(path): \(fault ?? "")")
    }

    @Test(arguments: [
        ("Bearer \(key)", true), ("bearer \(key)", true), ("BEARER \(key)", true), (key, false), ("Bearer", false),
        ("Bearer ", false), ("Basic \(key)", false), ("bearer\0\(key)", false), ("Bearer  \(key)", false),
        ("Bearer \(key) ", false), ("Bearer \(key.dropLast())", false),
    ])
    func `a token follows the name of the scheme, in any case`(header: String, isAllowed: Bool) throws {
        #expect(try (tokens.refusal(of: header, scope: .redeem) == nil) == isAllowed)
    }

    /// `UPDATE_ARTICLES=1 swift test --filter LedgerRoutesTests` writes them.
    @Test func `the documents have the table of outcomes, whole and in its words`() throws {
        let rows = Outcome.allCases.map { "| `\($0.rawValue)` | \($0.row.meaning) | \($0.mayFinish ? "yes" : "no") |" }
        #expect(
            try Document("REFERENCE.md").has(
                rows, after: "| outcome | the purchase | may the app finish the transaction? |\n| --- | --- | --- |\n",
                before: "\n\n"))
        let values = Outcome.allCases.map { "              \"\($0.rawValue)\"" }.joined(separator: ",\n")
        #expect(
            try Document("openapi-ledger.json").has(
                [values], after: "\"outcome\": {\n            \"enum\": [\n", before: "\n            ]"))
    }

    @Test func `every route is described, and no other`() {
        let routes = table.routes.map { route in
            if case .only(let method) = route.methods { "\(method) \(route.path)" } else { route.path }
        }
        let described = document.paths.flatMap { path in
            OpenAPIDocument.methods.filter { document.operation(path, $0) != nil }.map { "\($0.uppercased()) \(path)" }
        }
        #expect(Set(routes) == Set(described))
    }

    private func object(_ response: Response) throws -> [String: Any] {
        try #require(JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
    }

    private func redeem(_ evidence: String, _ account: String, _ members: String = "") throws -> [String] {
        let response = send(
            "POST", "/v1/redeem", #"{"account":"\#(account)","evidence":"\#(evidence)"\#(members)}"#)
        #expect(response.status == 200)
        let outcomes = try #require(object(response)["outcomes"] as? [[String: Any]])
        return outcomes.compactMap { $0["outcome"] as? String }
    }

    private func transaction(_ id: String, _ change: (inout JWSBuilder) -> Void = { _ in }) throws -> String {
        try evidence.transaction {
            $0.transactionID = id
            $0.originalTransactionID = id
            $0.productType = .consumable
            change(&$0)
        }
    }

    // MARK: Redeeming

    @Test func `a purchase is redeemed once, for one account`() throws {
        let coins = try transaction("1")
        let first = send("POST", "/v1/redeem", #"{"account":"anna","evidence":"\#(coins)","idempotency_key":"k"}"#)
        let answer = try object(first)
        let outcome = try #require((answer["outcomes"] as? [[String: Any]])?.first)
        #expect(outcome["transaction_id"] as? String == "1" && outcome["product_id"] as? String == "pro")
        #expect(outcome["outcome"] as? String == "granted" && outcome["may_finish"] as? Bool == true)
        #expect(outcome["product_type_source"] as? String == "evidence")
        #expect(outcome["quantity"] as? Int == 1 && outcome["environment"] as? String == "production")
        #expect(answer["repeated"] as? Bool == false)
        #expect(try redeem(coins, "anna", #","idempotency_key":"k""#) == ["granted"])
        #expect(try redeem(coins, "anna") == ["already-yours"])
        #expect(try redeem(coins, "ben") == ["belongs-to-another"])
    }

    @Test func `the token with which the app bought decides, if the caller names one`() throws {
        let token = "9c3e0a4f-1c5d-4b0e-8a57-3d0b8d1b6f00"
        let coins = try transaction("1") { $0.appAccountToken = token }
        #expect(try redeem(coins, "ben", #","account_token":"00000000-1c5d-4b0e-8a57-3d0b8d1b6f00""#) == ["not-yours"])
        #expect(try redeem(coins, "anna", #","account_token":"\#(token.uppercased())""#) == ["granted"])
    }

    @Test(arguments: [
        ("", 400, "invalid-json"), ("{}", 400, "invalid-request"), (#"{"account":"a"}"#, 400, "invalid-request"),
        (#"{"account":"a","evidence":"EVIDENCE","account_token":"anna"}"#, 400, "invalid-account-token"),
        (#"{"account":"a","evidence":"EVIDENCE","account_token":""}"#, 400, "invalid-account-token"),
        (
            #"{"account":"a","evidence":"EVIDENCE","account_token":"9c3e0a4f1c5d4b0e8a573d0b8d1b6f00"}"#, 400,
            "invalid-account-token"
        ),
        (
            #"{"account":"a","evidence":"EVIDENCE","account_token":"9c3e0a4f-1c5d-4b0e-8a57-3d0b8d1b6g00"}"#, 400,
            "invalid-account-token"
        ),
        (#"{"account":"a","account":"b","evidence":"x"}"#, 400, "invalid-json"),
        (#"{"account":"a","evidence":"no evidence"}"#, 400, "unrecognized-form"),
        (#"{"account":"","evidence":"EVIDENCE"}"#, 400, "invalid-text"),
        (#"{"account":"a\u0000b","evidence":"EVIDENCE"}"#, 400, "invalid-text"),
        (#"{"account":"a","evidence":"EVIDENCE","idempotency_key":""}"#, 400, "invalid-text"),
        // Ignored, a misspelt token would not be compared.
        (
            #"{"account":"a","evidence":"EVIDENCE","acount_token":"7e3fb20b-4cdb-47cc-936d-99d65f608138"}"#, 400,
            "invalid-request"
        ),
        (#"{"account":"a","evidence":"EVIDENCE","account":"a"}"#, 400, "invalid-json"),
    ])
    func `a request that cannot be read is refused`(body: String, status: Int, code: String) throws {
        let response = send(
            "POST", "/v1/redeem", body.replacingOccurrences(of: "EVIDENCE", with: try transaction("1")))
        #expect(response.status == status)
        let error = try #require(object(response)["error"] as? [String: Any])
        #expect(error["code"] as? String == code)
    }

    @Test(arguments: ["7", "true", "null", "[]", "{}", #"["a"]"#])
    func `a member that is no string is reported by its name`(value: String) throws {
        let redeem = ["account", "evidence", "account_token", "idempotency_key"]
        let transfer = ["to", "reason", "transaction_id", "environment"]
        for (path, members) in [("/v1/redeem", redeem), ("/v1/accounts/anna/transfer", transfer)] {
            for (index, member) in members.enumerated() {
                // `null` stands for an optional member that is not there.
                if value == "null", index >= 2 { continue }
                let body = members.map { #""\#($0)":\#($0 == member ? value : #""x""#)"# }.joined(separator: ",")
                let response = send("POST", path, "{\(body)}", token: path == "/v1/redeem" ? Self.key : Self.supportKey)
                #expect(response.status == 400)
                let error = try #require(object(response)["error"] as? [String: Any])
                #expect(error["message"] as? String == "the request cannot be read: '\(member)' must be a string")
                #expect(error["code"] as? String == "invalid-request")
            }
        }
    }

    @Test func `what gives nothing says why, in the answer, the log and the metrics`() throws {
        let cases: [(id: String, change: (inout JWSBuilder) -> Void, outcome: String, reason: String?)] = [
            ("q1", { $0.quantity = nil }, "undetermined", "quantity-missing"),
            ("q2", { $0.quantity = 0 }, "undetermined", "quantity-invalid"),
            ("q3", { $0.quantity = -1 }, "undetermined", "quantity-invalid"),
            ("q4", { $0.revocationDate = JWSBuilder.defaultDate }, "revoked", "revoked"),
            ("q5", { ($0.quantity, $0.productType) = (nil, .nonConsumable) }, "granted", nil),
        ]
        for (id, change, expected, reason) in cases {
            let body = #"{"account":"anna","evidence":"\#(try transaction(id, change))"}"#
            let response = send("POST", "/v1/redeem", body)
            let answer = try object(response)
            let outcome = try #require((answer["outcomes"] as? [[String: Any]])?.first)
            #expect(outcome["outcome"] as? String == expected && outcome["reason"] as? String == reason)
            #expect(outcome["may_finish"] as? Bool == (expected != "undetermined"))
            #expect(answer["nothing"] is NSNull && response.code == "ok")
        }
        #expect(metrics().contains(#"receipt_server_outcome_reasons_total{reason="quantity-invalid"} 2"# + "\n"))
        let stranger = send("POST", "/v1/redeem", #"{"account":"ben","evidence":"\#(try transaction("q5"))"}"#)
        let other = try #require((object(stranger)["outcomes"] as? [[String: Any]])?.first)
        #expect(other["reason"] as? String == "belongs-to-another")
        let renewal = try JWSBuilder.renewalInfo(productID: "pro", originalTransactionID: "1")
            .signed(by: evidence.ellipticAuthority)
        let receipt = Data(try evidence.receipt(purchaseCount: 0)).base64EncodedString()
        for (text, code) in [(receipt, "empty-in-app"), (renewal, "no-product")] {
            let response = send("POST", "/v1/redeem", #"{"account":"anna","evidence":"\#(text)"}"#)
            let answer = try object(response)
            #expect(answer["nothing"] as? String == code && (answer["outcomes"] as? [Any])?.isEmpty == true)
            #expect(response.code == code)
            #expect(metrics().contains(#"receipt_server_attempts_total{code="\#(code)"} 1"# + "\n"))
        }
    }

    @Test func `a purchase of another account with the submitter's own token is notified, logged and counted`() throws {
        let token = "9c3e0a4f-1c5d-4b0e-8a57-3d0b8d1b6f00"
        let coins = try transaction("1") { $0.appAccountToken = token }
        #expect(try redeem(coins, "anna") == ["granted"])
        #expect(metrics().contains("receipt_server_owner_conflicts_total 0\n"))
        let response = send(
            "POST", "/v1/redeem", #"{"account":"ben","evidence":"\#(coins)","account_token":"\#(token)"}"#)
        let outcome = try #require((object(response)["outcomes"] as? [[String: Any]])?.first)
        #expect(outcome["outcome"] as? String == "belongs-to-another" && outcome["may_finish"] as? Bool == false)
        #expect(outcome["granted_as"] is NSNull)
        #expect(metrics().contains("receipt_server_owner_conflicts_total 1\n"))
        #expect(metrics().contains("receipt_server_outcomes_total{outcome=\"belongs-to-another\"} 1\n"))
        let lines = log.withLock { $0 }
        #expect(lines.count == 1 && lines[0].contains(#""event":"owner-conflict","transaction_id":"1"}"#))
        #expect(!lines[0].contains("ben") && !lines[0].contains(token) && !lines[0].contains(coins))
        // Without the token, nothing shows that it is anybody else's.
        #expect(try redeem(coins, "ben") == ["belongs-to-another"] && log.withLock(\.count) == 1)
    }

    private func metrics() -> String {
        var text = ""
        for family in routes.metrics { family.append(to: &text) }
        return text
    }

    @Test func `forged evidence is refused, and grants nothing`() throws {
        let stranger = try TestCertificateAuthority(.ellipticCurve)
        let forged = try JWSBuilder.transaction(
            bundleID: MintedEvidence.bundleID, productID: "pro", transactionID: "1"
        ).signed(by: stranger)
        let response = send("POST", "/v1/redeem", #"{"account":"anna","evidence":"\#(forged)"}"#)
        #expect(response.status == 403)
        #expect(try redeem(transaction("1"), "anna") == ["granted"])
    }

    @Test func `an idempotency key of another request is a conflict`() throws {
        #expect(try redeem(transaction("1"), "anna", #","idempotency_key":"k""#) == ["granted"])
        let other = try transaction("2")
        let response = send("POST", "/v1/redeem", #"{"account":"anna","evidence":"\#(other)","idempotency_key":"k"}"#)
        #expect(response.status == 409 && response.code == "idempotency-key-reused")
    }

    // MARK: Accounts

    @Test func `an account's entitlements at a date`() throws {
        let monthly = try transaction("1") {
            $0.productType = .autoRenewableSubscription
            $0.purchaseDate = Instant(millisecondsSince1970: 1_749_900_000_000)
            $0.expiresDate = Instant(millisecondsSince1970: 1_752_500_000_000)
        }
        #expect(try redeem(monthly, "an na") == ["granted"])
        func access(_ query: [String: String]) throws -> String? {
            let response = send("GET", "/v1/accounts/an%20na/entitlements", query: query)
            #expect(response.status == 200)
            let item = try (object(response)["items"] as? [[String: Any]])?.first
            for name in item == nil ? [] : ["gives_access", "grantable"] {
                #expect(item?[name] as? Bool == (item?["access"] as? String == "active"))
            }
            return item?["access"] as? String
        }
        #expect(try access([:]) == "active")
        #expect(try access(["at": "2026-01-01"]) == "expired")
        #expect(try access(["environment": "sandbox"]) == nil)
        #expect(send("GET", "/v1/accounts/a/entitlements", query: ["at": "soon"]).status == 400)
        #expect(send("GET", "/v1/accounts/a/entitlements", query: ["environment": "moon"]).status == 400)
        #expect(try redeem(transaction("2") { $0.productType = .consumable }, "an na") == ["granted"])
        for (consumables, count) in [(nil, 2), ("true", 2), ("false", 1)] as [(String?, Int)] {
            let query = consumables.map { ["consumables": $0] } ?? [:]
            let response = send("GET", "/v1/accounts/an%20na/entitlements", query: query)
            #expect(try (object(response)["items"] as? [Any])?.count == count, "\(query)")
        }
        for consumables in ["", "no", "False"] {
            let response = send("GET", "/v1/accounts/a/entitlements", query: ["consumables": consumables])
            #expect(response.status == 400 && response.code == "invalid-request")
        }
    }

    @Test func `an account's entitlements have the names of --entitlement, for each environment apart`() throws {
        let verifier = try AppStoreVerifier(
            bundleID: MintedEvidence.bundleID, environments: [.production, .sandbox], trust: evidence.trust)
        let routes = LedgerRoutes(
            ledger, verifier, tokens, ServiceLog(detail: .none) { _ in },
            names: try EntitlementNames(["premium=pro.month,pro.year"]))
        let table = RouteTable(routes.routes)
        let yearly = try transaction("1") {
            $0.payload["productId"] = "pro.year"
            $0.payload["environment"] = "Sandbox"
            $0.productType = .autoRenewableSubscription
            $0.purchaseDate = Instant(millisecondsSince1970: 1_749_900_000_000)
            $0.expiresDate = Instant(millisecondsSince1970: 1_752_500_000_000)
        }
        let redeemed = send(
            "POST", "/v1/redeem", #"{"account":"anna","evidence":"\#(yearly)"}"#, token: Self.key, to: table)
        #expect(redeemed.status == 200)
        for (environment, premium) in [
            ("production", #"{"active":false,"until":null}"#),
            ("sandbox", #"{"active":true,"until":"2025-07-14T13:33:20Z"}"#),
        ] {
            let fields = [
                Request.Field(.header, "Authorization", "Bearer \(Self.key)"),
                .init(.query, "environment", environment),
                .init(.query, "at", "2025-06-20"),
            ]
            let response = table.answer(
                Request(method: "GET", path: "/v1/accounts/anna/entitlements", fields: fields, body: []))
            let names = #""names":{"\#(environment)":{"com.example.app":{"premium":\#(premium)}}}}"#
            #expect(String(decoding: response.body, as: UTF8.self).hasSuffix(names))
            expectDescribed(response, "GET", "/v1/accounts/anna/entitlements")
        }
    }

    @Test func `support gives purchases to another account, and forgets accounts`() throws {
        let coins = try transaction("1")
        #expect(try redeem(coins, "anna") == ["granted"])
        let body = #"{"to":"ben","reason":"ticket 7","transaction_id":"1"}"#
        #expect(send("POST", "/v1/accounts/anna/transfer", body).status == 403)
        let transfer = send("POST", "/v1/accounts/anna/transfer", body, token: Self.supportKey)
        #expect(transfer.status == 200)
        #expect(try object(transfer)["purchases"] as? Int == 1)
        let moved = try #require(array(send("GET", Self.story), "transfers").first)
        #expect(moved["from"] as? String == "anna" && moved["to"] as? String == "ben")
        #expect(send("POST", "/v1/accounts/anna/transfer", body, token: Self.supportKey).status == 404)
        #expect(try redeem(coins, "ben") == ["already-yours"])
        #expect(send("DELETE", "/v1/accounts/ben").status == 403)
        let name = try object(send("DELETE", "/v1/accounts/ben", token: Self.supportKey))["forgotten_as"] as? String
        #expect(name?.hasPrefix("forgotten-") == true)
        #expect(send("DELETE", "/v1/accounts/ben", token: Self.supportKey).status == 404)
        #expect(try redeem(coins, "ben") == ["belongs-to-another"])
    }

    @Test func `a transfer to the account itself is an error`() throws {
        #expect(try redeem(transaction("1"), "anna") == ["granted"])
        for members in ["", #","transaction_id":"1""#] {
            let response = send(
                "POST", "/v1/accounts/anna/transfer", #"{"to":"anna","reason":"ticket 7"\#(members)}"#,
                token: Self.supportKey)
            #expect(response.status == 400 && response.code == "invalid-text")
        }
    }

    @Test func `where the server has two environments, a transfer by transaction id names one`() throws {
        let verifier = try AppStoreVerifier(
            bundleID: MintedEvidence.bundleID, environments: [.production, .sandbox], trust: evidence.trust)
        let routes = LedgerRoutes(ledger, verifier, tokens, ServiceLog(detail: .none) { _ in })
        let both = RouteTable(routes.routes)
        #expect(try redeem(transaction("1"), "anna") == ["granted"])
        func transfer(_ table: RouteTable, _ members: String, to account: String = "ben") -> Int {
            let fields = [Request.Field(.header, "Authorization", "Bearer \(Self.supportKey)")]
            let body = Array(#"{"to":"\#(account)","reason":"ticket 7"\#(members)}"#.utf8)
            let path = "/v1/accounts/\(account == "ben" ? "anna" : "ben")/transfer"
            return table.answer(Request(method: "POST", path: path, fields: fields, body: body)).status
        }
        #expect(transfer(both, #","transaction_id":"1""#) == 400)
        #expect(transfer(both, #","transaction_id":"1","environment":"moon""#) == 400)
        #expect(transfer(both, #","transaction_id":"1","environment":"sandbox""#) == 404)
        #expect(transfer(both, #","transaction_id":"1","environment":"production""#) == 200)
        #expect(transfer(both, "", to: "anna") == 200)
        // With one environment, it is that one.
        #expect(transfer(table, #","transaction_id":"1","environment":"sandbox""#) == 404)
        #expect(transfer(table, #","transaction_id":"1""#) == 200)
    }

    /// The routes of a server with other apps or environments.
    private func makeTable(of bundleIDs: Set<String>, _ environments: Set<AppStoreEnvironment>) throws -> RouteTable {
        let policy = VerificationPolicy(bundleIDs: bundleIDs, environments: environments)
        let verifier = try AppStoreVerifier(policy: policy, trust: evidence.trust)
        return RouteTable(LedgerRoutes(ledger, verifier, tokens, ServiceLog(detail: .none) { _ in }).routes)
    }

    private func send(
        _ method: String, _ path: String, _ body: String, token: String, to table: RouteTable
    ) -> Response {
        let fields = [Request.Field(.header, "Authorization", "Bearer \(token)")]
        return table.answer(Request(method: method, path: path, fields: fields, body: Array(body.utf8)))
    }

    @Test(arguments: [
        ("/v1/orders", key, #""account":"anna","product_id":"pro""#),
        (
            "/v1/accounts/anna/adjust", supportKey,
            #""product_id":"gift","quantity":2,"reason":"r","idempotency_key":"g""#
        ),
    ])
    func `where the server has two apps, an order, and what support grants, names one`(
        path: String, token: String, members: String
    ) throws {
        let both = try makeTable(of: [MintedEvidence.bundleID, "com.example.other"], [.production])
        #expect(try redeem(transaction("1"), "anna") == ["granted"])
        let before = try contents()
        #expect(send("POST", path, "{\(members)}", token: token, to: both).status == 400)
        #expect(try contents() == before)
        let named = #"{\#(members),"bundle_id":"\#(MintedEvidence.bundleID)"}"#
        #expect(send("POST", path, named, token: token, to: both).status == 200)
    }

    @Test func `a request that names no environment is about that of the server, if it has one only`() throws {
        let sandbox = try makeTable(of: [MintedEvidence.bundleID], [.sandbox])
        let level = try transaction("1") { ($0.productType, $0.environment) = (.nonConsumable, .sandbox) }
        func answer(_ method: String, _ path: String, _ body: String = "") throws -> [String: Any] {
            try object(send(method, path, body, token: Self.key, to: sandbox))
        }
        _ = try answer("POST", "/v1/redeem", #"{"account":"anna","evidence":"\#(level)"}"#)
        #expect(try (answer("GET", "/v1/accounts/anna/entitlements")["items"] as? [Any])?.count == 1)
        let order = try answer("POST", "/v1/orders", #"{"account":"anna","product_id":"pro"}"#)
        #expect(order["environment"] as? String == "sandbox")
    }

    @Test func `what waits for Apple has together no more places than one account`() throws {
        let recover = try #require(table.routes.first { $0.path == "/v1/recover" })
        #expect(recover.parse(Request(method: "POST", path: "/v1/recover")).owner == "")
    }

    @Test func `too many open orders are a conflict`() {
        func order() -> Response { send("POST", "/v1/orders", #"{"account":"anna","product_id":"coins"}"#) }
        for _ in 0..<100 { #expect(order().status == 200) }
        let refused = order()
        #expect(refused.status == 409 && refused.code == "too-many-orders")
    }

    // MARK: Notifications and events

    @Test func `notifications need no token, and a refund takes back what was granted`() throws {
        #expect(try redeem(transaction("1"), "anna") == ["granted"])
        let refunded = try transaction("1") {
            $0.signedDate = Instant(millisecondsSince1970: 1_749_999_000_000)
            $0.revocationDate = Instant(millisecondsSince1970: 1_749_998_000_000)
        }
        let notification = try JWSBuilder.notification(
            .refund, bundleID: MintedEvidence.bundleID, transaction: refunded,
            signedDate: Instant(millisecondsSince1970: 1_749_999_000_000)
        ).signed(by: evidence.ellipticAuthority)
        for _ in 0..<2 {
            let response = send(
                "POST", "/v1/notifications", #"{"signedPayload":"\#(notification)"}"#, token: nil)
            #expect(response.status == 200)
        }
        #expect(try redeem(transaction("1"), "anna") == ["revoked"])
        let grant = try #require(array(send("GET", Self.story), "grants").first)
        #expect(grant["quantity"] as? Int == 0 && grant["granted_quantity"] as? Int == 1)
    }

    @Test func `dead letters are seen and sent again`() throws {
        #expect(try redeem(transaction("1"), "anna") == ["granted"])
        let taken = try ledger.takeEvents(limit: 8, lease: .seconds(1), at: .now)
        try ledger.record(taken.map { ($0, "status 500") }, maximumAttempts: 1, at: .now)
        let events = try #require(object(send("GET", "/v1/events/dead"))["events"] as? [[String: Any]])
        #expect(events.count == 1 && events[0]["failure"] as? String == "status 500")
        #expect((events[0]["event"] as? [String: Any])?["account"] as? String == "anna")
        let id = try #require(events[0]["id"] as? String)
        #expect(send("POST", "/v1/events/\(id)/send").status == 202)
        #expect(send("POST", "/v1/events/none/send").status == 404)
        #expect(try ledger.outboxCounts().pending == 1)
    }

    // MARK: Tokens

    @Test func `every route but that of notifications needs a token with its scope`() throws {
        let scopes: [(method: String, path: String, scope: TokenScope)] = [
            ("POST", "/v1/redeem", .redeem), ("GET", "/v1/accounts/a/entitlements", .read),
            ("POST", "/v1/accounts/a/transfer", .transfer), ("DELETE", "/v1/accounts/a", .delete),
            ("GET", "/v1/accounts/a/history", .read), ("GET", "/v1/transactions/production/a/1", .read),
            ("GET", "/v1/accounts/a/tokens", .read),
            ("POST", "/v1/accounts/a/adjust", .adjust),
            ("GET", "/v1/events/dead", .events), ("GET", "/v1/events/unowned", .events),
            ("POST", "/v1/events/a/send", .events),
            ("POST", "/v1/recover", .recover),
            ("POST", "/v1/accounts/a/token", .redeem), ("POST", "/v1/orders", .redeem), ("GET", "/v1/orders", .read),
            ("GET", "/v1/orders/a", .read),
        ]
        let guarded = scopes.compactMap { method, path, _ in
            if case .route(let index, _) = table.match(method, path) { index } else { nil }
        }
        let others = Set(table.routes.indices).subtracting(guarded)
        #expect(others.map { table.routes[$0].path } == ["/v1/notifications"])
        let file = folder.appending(path: "tokens").path
        try TokenScope.allCases.map { "token-with-scope-\($0.rawValue) \($0.rawValue)" }.joined(separator: "\n").write(
            toFile: file, atomically: true, encoding: .utf8)
        try tokens.reload()
        for (method, path, needed) in scopes {
            for token in [nil, "", "token-with-scope-", "token-with-scope-redeem ", Self.key] {
                let response = send(method, path, token: token)
                #expect(response.status == 401 && response.headers.map(\.name) == ["WWW-Authenticate"], "\(path)")
            }
            for scope in TokenScope.allCases {
                let response = send(method, path, token: "token-with-scope-\(scope.rawValue)")
                #expect((response.status == 403) == (scope != needed), "\(path) \(scope)")
                #expect(response.status != 401, "\(path) \(scope)")
            }
        }
    }

    @Test func `a file of tokens that is too large is refused, not cut within a token`() throws {
        let comment = "#" + String(repeating: "c", count: (1 << 20) - 22) + "\n"
        try (comment + "the-first-part-of-a-token-and-the-rest read\n").write(
            toFile: folder.appending(path: "tokens").path, atomically: true, encoding: .utf8)
        let error = #expect(throws: ConfigurationError.self) { try tokens.reload() }
        #expect(error?.description.hasSuffix("File too large") == true)
        #expect(send("GET", "/v1/events/dead").status == 200)
    }

    @Test(arguments: [
        ("", "no token"), ("# nothing\n\n", "no token"), ("short\n", "line 1: a token must have"),
        ("token-of-the-backend-1234 everything\n", "line 1: an unknown scope"),
        ("token-of-the-backend-1234 read write\n", "nothing else"),
        ("token-of-the-backend-1234\ntoken-of-the-backend-1234 read\n", "line 2: the token is there twice"),
    ])
    func `a faulty file of tokens changes nothing, and no message has a token`(text: String, message: String) throws {
        try text.write(toFile: folder.appending(path: "tokens").path, atomically: true, encoding: .utf8)
        let error = #expect(throws: ConfigurationError.self) { try tokens.reload() }
        #expect(error?.description.contains(message) == true)
        #expect(error?.description.contains("1234") == false && error?.description.contains("short") == false)
        #expect(try redeem(transaction("1"), "anna") == ["granted"])
    }
}

/// Tokens and orders.
extension LedgerRoutesTests {
    private static let token = "9c3e0a4f-1c5d-4b0e-8a57-3d0b8d1b6f00"

    @Test func `an order is open, then granted, then refunded`() throws {
        let body = #"{"account":"anna","product_id":"pro","idempotency_key":"k"}"#
        let order = try object(send("POST", "/v1/orders", body))
        #expect(try object(send("POST", "/v1/orders", body)) as NSDictionary == order as NSDictionary)
        let token = try object(send("POST", "/v1/accounts/anna/token", "{}"))
        #expect(token["token"] as? String == order["token"] as? String && token["created"] as? Bool == false)
        #expect(order["state"] as? String == "open" && order["environment"] as? String == "production")
        #expect(order["bundle_id"] as? String == MintedEvidence.bundleID && order["product_id"] as? String == "pro")
        #expect(order["created_at"] as? String == "2025-06-15T15:06:40Z" && order["transaction_id"] == nil)
        let id = try #require(order["order_id"] as? String)
        func state() throws -> [String?] {
            let order = try object(send("GET", "/v1/orders/\(id)"))
            return [order["state"] as? String, order["transaction_id"] as? String]
        }
        #expect(try state() == ["open", nil])
        let text = try #require(order["token"] as? String)
        let coins = try transaction("1") { $0.appAccountToken = text }
        #expect(try redeem(coins, "ben") == ["belongs-to-another"])
        #expect(try state() == ["granted", "1"])
        _ = try redeem(transaction("2"), "anna")
        let without = try object(send("GET", "/v1/orders", query: ["without": "order"]))
        let purchases = try #require(without["purchases"] as? [[String: Any]])
        #expect(purchases.map { $0["transaction_id"] as? String } == ["2"] && without["next"] is NSNull)
        let query = ["without": "order", "after": "no place"]
        #expect(send("GET", "/v1/orders", query: query).code == "invalid-text")
        let refunded = try transaction("1") {
            $0.appAccountToken = text
            $0.revocationDate = Instant(millisecondsSince1970: 1_749_000_000_000)
            $0.signedDate = Instant(millisecondsSince1970: 1_750_000_000_000)
        }
        _ = try redeem(refunded, "anna")
        #expect(try state() == ["refunded", "1"])
    }

    @Test func `a shop's order is answered, closed and notified under the shop's id`() throws {
        func order(_ members: String) -> Response { send("POST", "/v1/orders", "{\(members)}") }
        let members = #""account":"anna","product_id":"coins","shop_order_id":"2026-648-订单""#
        let made = try object(order(members))
        #expect(made["shop_order_id"] as? String == "2026-648-订单" && made["state"] as? String == "open")
        #expect(try object(order(members)) as NSDictionary == made as NSDictionary)
        #expect(try object(order(#""account":"anna","product_id":"coins""#))["shop_order_id"] is NSNull)
        for other in [
            #""account":"ben","product_id":"coins""#, #""account":"anna","product_id":"gems""#,
        ] {
            let refused = order(other + #","shop_order_id":"2026-648-订单""#)
            #expect(refused.status == 409 && refused.code == "shop-order-taken")
        }
        for text in [#""""#, #""\#(String(repeating: "1", count: 256))""#, #""a\u0000""#] {
            #expect(order(#""account":"anna","product_id":"coins","shop_order_id":\#(text)"#).code == "invalid-text")
        }
        #expect(order(#""account":"anna","product_id":"coins","shop_order_id":7"#).code == "invalid-request")
        let token = try #require(made["token"] as? String)
        let bought = try transaction("1") {
            ($0.productID, $0.productType, $0.appAccountToken) = ("gems", .consumable, token)
        }
        let gems = try object(order(#""account":"anna","product_id":"gems","shop_order_id":"7""#))
        let id = try #require(gems["order_id"] as? String)
        #expect(try redeem(bought, "anna") == ["granted"])
        let found = try object(send("GET", "/v1/orders/\(id)"))
        #expect(found["shop_order_id"] as? String == "7" && found["transaction_id"] as? String == "1")
        let event = try #require(ledger.texts("SELECT event FROM outbox").last?.first)
        let posted = try #require(JSONSerialization.jsonObject(with: Data(event.utf8)) as? [String: Any])
        #expect(posted["order_id"] as? String == id && posted["shop_order_id"] as? String == "7")
        #expect(posted["account_token"] as? String == token && posted["length"] is NSNull)
        #expect(posted["purchase_date"] as? String != nil)
        let story = try object(
            send("GET", "/v1/transactions/production/\(MintedEvidence.bundleID)/1", token: Self.supportKey))
        #expect(story["order_id"] as? String == id && story["shop_order_id"] as? String == "7")
    }

    @Test func `an answer says of a subscription that does not renew that its length is unknown`() throws {
        let card = try transaction("1") { ($0.productID, $0.productType) = ("card", .nonRenewingSubscription) }
        let body = #"{"account":"anna","evidence":"\#(card)"}"#
        let outcomes = try object(send("POST", "/v1/redeem", body))["outcomes"] as? [[String: Any]]
        let outcome = try #require(outcomes?.first)
        #expect(outcome["outcome"] as? String == "granted" && outcome["length"] as? String == "unknown")
        #expect(outcome["until"] is NSNull && outcome["purchase_date"] as? String != nil)
        let items = try object(send("GET", "/v1/accounts/anna/entitlements"))["items"] as? [[String: Any]]
        #expect(items?.map { $0["length"] as? String } == ["unknown"])
        let pro = try transaction("2") { $0.productType = .nonConsumable }
        let other = try object(send("POST", "/v1/redeem", #"{"account":"anna","evidence":"\#(pro)"}"#))
        #expect((other["outcomes"] as? [[String: Any]])?.first?["length"] is NSNull)
    }

    @Test func `Apple's order is called so where support asked about one`() throws {
        let name = TransactionName(
            environment: .production, bundleID: MintedEvidence.bundleID, transactionID: "MX1A2B3C4D")
        try ledger.recordAsking(about: [name], reason: "the customer's invoice", answer: "unknown")
        let path = "/v1/transactions/production/\(MintedEvidence.bundleID)/MX1A2B3C4D"
        let story = try object(send("GET", path, token: Self.supportKey))
        for named in try [story, #require((story["acts"] as? [[String: Any]])?.first)] {
            #expect(named["apple_order_id"] as? String == "MX1A2B3C4D" && named["transaction_id"] is NSNull)
        }
    }

    @Test(arguments: [
        ("POST", "/v1/accounts/anna/token", "", "", 400, "invalid-json"),
        ("POST", "/v1/accounts/anna/token", "[]", "", 400, "invalid-json"),
        ("POST", "/v1/accounts/anna/token", #"{"tokem":"TOKEN"}"#, "", 400, "invalid-request"),
        ("POST", "/v1/accounts/anna/token", #"{"token":7}"#, "", 400, "invalid-request"),
        ("POST", "/v1/accounts/anna/token", #"{"token":"anna"}"#, "", 400, "invalid-account-token"),
        ("POST", "/v1/accounts/anna/token", #"{"token":""}"#, "", 400, "invalid-account-token"),
        ("POST", "/v1/accounts/anna/token", #"{"token":"TOKENNN"}"#, "", 400, "invalid-account-token"),
        (
            "POST", "/v1/accounts/anna/token", #"{"token":"00000000-0000-0000-0000-000000000000"}"#, "", 400,
            "invalid-account-token"
        ),
        ("POST", "/v1/accounts/ben/token", #"{"token":"TOKEN"}"#, "", 409, "token-taken"),
        ("POST", "/v1/orders", "{}", "", 400, "invalid-request"),
        ("POST", "/v1/orders", #"{"account":"anna"}"#, "", 400, "invalid-request"),
        ("POST", "/v1/orders", #"{"account":"anna","product_id":7}"#, "", 400, "invalid-request"),
        ("POST", "/v1/orders", #"{"account":"anna","product_id":""}"#, "", 400, "invalid-text"),
        ("POST", "/v1/orders", #"{"account":"","product_id":"pro"}"#, "", 400, "invalid-text"),
        (
            "POST", "/v1/orders", #"{"account":"anna","product_id":"pro","environment":"sandbox"}"#, "", 400,
            "invalid-request"
        ),
        (
            "POST", "/v1/orders", #"{"account":"anna","product_id":"pro","environment":"Production"}"#, "", 400,
            "invalid-request"
        ),
        (
            "POST", "/v1/orders", #"{"account":"anna","product_id":"pro","bundle_id":"com.example.other"}"#, "", 400,
            "invalid-request"
        ),
        (
            "POST", "/v1/orders", #"{"account":"anna","product_id":"coins","idempotency_key":"known"}"#, "", 409,
            "idempotency-key-reused"
        ),
        ("POST", "/v1/orders", #"{"account":"anna","product_id":"pro","idempotency_key":""}"#, "", 400, "invalid-text"),
        ("GET", "/v1/orders", "", "", 400, "invalid-request"),
        ("GET", "/v1/orders", "", "purchase", 400, "invalid-request"),
        ("GET", "/v1/orders/none", "", "", 404, "not-found"),
        (
            "POST", "/v1/accounts/anna/transfer", #"{"to":"ben","reason":"r","tokens":"true"}"#, "", 400,
            "invalid-request"
        ),
        (
            "POST", "/v1/accounts/anna/transfer",
            #"{"to":"ben","reason":"r","tokens":true,"transaction_id":"1","environment":"production"}"#, "", 400,
            "invalid-text"
        ),
    ])
    func `a request about tokens or orders that cannot be answered changes nothing`(
        method: String, path: String, body: String, without: String, status: Int, code: String
    ) throws {
        #expect(send("POST", "/v1/accounts/anna/token", #"{"token":"\#(Self.token)"}"#).status == 200)
        let order = #"{"account":"anna","product_id":"pro","idempotency_key":"known"}"#
        #expect(send("POST", "/v1/orders", order).status == 200)
        let before = try contents()
        let response = send(
            method, path, body.replacingOccurrences(of: "TOKEN", with: Self.token),
            token: path.hasSuffix("transfer") ? Self.supportKey : Self.key,
            query: without.isEmpty ? [:] : ["without": without])
        let error = try #require(object(response)["error"] as? [String: Any])
        #expect(response.status == status && error["code"] as? String == code)
        #expect(try contents() == before)
    }

    private func contents() throws -> [String] {
        let tables = [
            "account_tokens", "waiting_tokens", "orders", "unordered_purchases", "families", "outbox", "grants", "acts",
        ]
        return try ledger.store.read { (connection) throws(LedgerError) in
            var all: [String] = []
            for table in tables {
                for row in try connection.run("SELECT * FROM \(table)") { all.append("\(row.values)") }
            }
            return all
        }
    }
}

/// The support desk.
extension LedgerRoutesTests {
    private func array(_ response: Response, _ name: String) throws -> [[String: Any]] {
        try #require(object(response)[name] as? [[String: Any]])
    }

    @Test func `evidence in something else is redeemed as if it were sent alone, and Apple's is not unwrapped`() throws
    {
        let coins = try transaction("1")
        let wrapped = #"{\"Store\":\"AppleAppStore\",\"Payload\":\"\#(coins)\"}"#
        let key = #","idempotency_key":"k""#
        let first = send("POST", "/v1/redeem", #"{"account":"anna","evidence":"\#(wrapped)"\#(key)}"#)
        #expect(try first.status == 200 && object(first)["unwrapped"] as? [String] == ["unity"])
        // The key is that of the evidence.
        let second = try object(send("POST", "/v1/redeem", #"{"account":"anna","evidence":"\#(coins)"\#(key)}"#))
        #expect(second["repeated"] as? Bool == true && second["unwrapped"] == nil)
        let refused = send("POST", "/v1/redeem", #"{"account":"anna","evidence":"200000000000001"}"#)
        #expect(refused.status == 400 && refused.code == "transaction-id")
        try attempts.write()
        let entries = try array(send("GET", "/v1/accounts/anna/history"), "entries")
            .filter { $0["kind"] as? String == "attempt" }
        let ofEvidence = entries.filter { $0["code"] as? String == "ok" }
        #expect(Set(ofEvidence.compactMap { $0["evidence_digest"] as? String }).count == 1)
        for body in [#"{"Store":"AppleAppStore","Payload":"\#(coins)"}"#, "\"\(coins)\"", "signedPayload=\(coins)"] {
            #expect(send("POST", "/v1/notifications", body).status == 400)
        }
    }

    @Test func `what is refused after a deletion is an attempt of the account that returns, and before it of nobody`()
        throws
    {
        #expect(try redeem(transaction("1"), "anna") == ["granted"])
        func sendRefused() { #expect(send("POST", "/v1/redeem", #"{"account":"anna","evidence":"?"}"#).status == 400) }
        sendRefused()
        #expect(send("DELETE", "/v1/accounts/anna", token: Self.supportKey).status == 200)
        sendRefused()
        try attempts.write()
        #expect(try ledger.texts("SELECT account, CAST(times AS TEXT) FROM attempts") == [["anna", "1"]])
    }

    @Test func `what begins before a deletion and is answered after it is an attempt of nobody`() throws {
        #expect(try redeem(transaction("1"), "anna") == ["granted"])
        var routes = routes
        routes.clock = { [ledger, attempts] in
            _ = try? ledger.deleteAccount("anna")
            try? attempts.noteDeletion()
            return Instant(millisecondsSince1970: 1_750_000_000_000)
        }
        let fields = [Request.Field(.header, "Authorization", "Bearer \(Self.key)")]
        let body = Array(#"{"account":"anna","evidence":"?"}"#.utf8)
        let request = Request(method: "POST", path: "/v1/redeem", fields: fields, body: body)
        #expect(RouteTable(routes.routes).answer(request).status == 400)
        try attempts.write()
        #expect(try ledger.texts("SELECT account FROM attempts") == [])
    }

    private static let story = "/v1/transactions/production/\(MintedEvidence.bundleID)/1"

    @Test func `support sees who has a purchase, who sent what, and why not, and sets what an account has`() throws {
        let coins = try transaction("1")
        #expect(try redeem(coins, "anna") == ["granted"])
        #expect(try redeem(coins, "ben") == ["belongs-to-another"])
        let stranger = try TestCertificateAuthority(.ellipticCurve)
        let forged = try JWSBuilder.transaction(
            bundleID: MintedEvidence.bundleID, productID: "pro", transactionID: "1"
        ).signed(by: stranger)
        let refused = send("POST", "/v1/redeem", #"{"account":"ben","evidence":"\#(forged)"}"#)
        let requestID = try #require(refused.headers.first { $0.name == "Request-Id" }?.value)
        try attempts.write()
        let story = try object(send("GET", Self.story))
        #expect(story["owner"] as? String == "anna" && story["access"] as? String == "consumable")
        let tried = try #require(story["attempts"] as? [[String: Any]])
        #expect(tried.map { $0["account"] as? String } == ["ben", "anna"])
        for name in ["grants", "evidence", "events"] {
            #expect((story[name] as? [Any])?.count == 1, "\(name)")
        }
        let entries = try array(send("GET", "/v1/accounts/ben/history"), "entries")
        #expect(entries.map { $0["code"] as? String } == [refused.code, "ok"])
        #expect(entries[0]["request_id"] as? String == requestID && entries[0]["evidence_kept"] as? Bool == true)
        let digest = try #require(entries[0]["digest"] as? String)
        #expect(try ledger.keptEvidence(digest) == Array(forged.utf8))

        let body = #"{"transaction_id":"1","quantity":9,"reason":"ticket 7","idempotency_key":"k"}"#
        #expect(send("POST", "/v1/accounts/anna/adjust", body).status == 403)
        for isRepeated in [false, true] {
            let answer = try object(send("POST", "/v1/accounts/anna/adjust", body, token: Self.supportKey))
            #expect(answer["previous_quantity"] as? Int == 1 && answer["quantity"] as? Int == 9)
            #expect(answer["repeated"] as? Bool == isRepeated)
        }
        let adjusted = try #require(array(send("GET", Self.story), "grants").first)
        #expect(adjusted["adjusted_quantity"] as? Int == 9 && adjusted["adjusted_from"] as? Int == 1)
        let gift = #"{"product_id":"gift","quantity":2,"reason":"ticket 7","idempotency_key":"g"}"#
        let granted = try object(send("POST", "/v1/accounts/anna/adjust", gift, token: Self.supportKey))
        #expect((granted["transaction_id"] as? String)?.hasPrefix("support-") == true)
        let back = #"{"transaction_id":"1","as_signed":true,"reason":"ticket 8"}"#
        let signed = send("POST", "/v1/accounts/anna/adjust", back, token: Self.supportKey)
        #expect(try object(signed)["quantity"] as? Int == 1)
        let event = try #require(array(send("GET", Self.story), "events").first?["id"] as? String)
        #expect(send("POST", "/v1/events/\(event)/send", #"{"reason":"ticket 9"}"#).status == 202)
        let acts = try array(send("GET", Self.story), "acts")
        #expect(acts.map { $0["act"] as? String } == ["send", "adjust", "adjust"])
        let kinds = try array(send("GET", "/v1/accounts/anna/history"), "entries").map { $0["kind"] as? String }
        #expect(kinds.filter { $0 == "act" }.count == 4 && kinds.filter { $0 == "event" }.count == 4)

        #expect(send("DELETE", "/v1/accounts/ben", token: Self.supportKey).status == 200)
        #expect(send("GET", "/v1/accounts/ben/history").status == 404)
        #expect(try ledger.keptEvidence(digest) == nil)
        #expect(try array(send("GET", Self.story), "attempts").map { $0["account"] as? String } == ["anna"])
    }

    @Test func `the tokens of an account are listed newest first, in parts`() throws {
        let stored = (1...3).map { "00000000-0000-4000-8000-00000000000\($0)" }
        for token in stored {
            #expect(send("POST", "/v1/accounts/anna/token", #"{"token":"\#(token)"}"#).status == 200)
        }
        let made = try object(send("POST", "/v1/accounts/anna/token", "{}"))["token"] as? String
        var found: [[String: Any]] = []
        var query = ["limit": "3"]
        while true {
            let response = send("GET", "/v1/accounts/anna/tokens", query: query)
            #expect(try object(response)["count"] as? Int == 4)
            found += try array(response, "tokens")
            guard let next = try object(response)["next"] as? String else { break }
            query["after"] = next
        }
        // Those of one moment are in the order of their names.
        #expect(Set(found.compactMap { $0["token"] as? String }) == Set(stored + [made].compactMap(\.self)))
        #expect(found.count == 4 && found.allSatisfy { $0["retired_at"] is NSNull })
        #expect(found.count { $0["kind"] as? String == "made" } == 1)
        let dates = found.compactMap { $0["at"] as? String }
        #expect(dates == dates.sorted(by: >) && dates.count == 4)
    }

    @Test func `a history is paged`() throws {
        for number in 1...3 { #expect(try redeem(transaction("\(number)"), "anna") == ["granted"]) }
        try attempts.write()
        var found = 0
        var query = ["limit": "2"]
        while true {
            let response = send("GET", "/v1/accounts/anna/history", query: query)
            found += try array(response, "entries").count
            guard let next = try object(response)["next"] as? String else { break }
            query["after"] = next
        }
        #expect(found == 9)
    }

    @Test(arguments: [
        ("GET", "/v1/accounts/anna/history", "", ["limit": "0"], 400, "invalid-request"),
        ("GET", "/v1/accounts/anna/history", "", ["limit": "501"], 400, "invalid-request"),
        ("GET", "/v1/accounts/anna/history", "", ["limit": "many"], 400, "invalid-request"),
        ("GET", "/v1/accounts/anna/history", "", ["after": "many"], 400, "invalid-text"),
        ("GET", "/v1/accounts/nobody/history", "", [:], 404, "not-found"),
        ("GET", "/v1/accounts/anna/tokens", "", ["limit": "0"], 400, "invalid-request"),
        ("GET", "/v1/accounts/anna/tokens", "", ["limit": "501"], 400, "invalid-request"),
        ("GET", "/v1/accounts/anna/tokens", "", ["after": "1-2"], 400, "invalid-text"),
        ("GET", "/v1/accounts/nobody/tokens", "", [:], 404, "not-found"),
        ("GET", "/v1/transactions/moon/com.example.app/1", "", [:], 400, "invalid-request"),
        ("GET", "/v1/transactions/sandbox/com.example.app/1", "", [:], 404, "not-found"),
        ("GET", "/v1/transactions/production/com.example.app/%25", "", [:], 404, "not-found"),
        ("POST", "/v1/accounts/anna/adjust", "{}", [:], 400, "invalid-request"),
        ("POST", "/v1/accounts/anna/adjust", #"{"transaction_id":"1","reason":"r"}"#, [:], 400, "invalid-request"),
        (
            "POST", "/v1/accounts/anna/adjust", #"{"transaction_id":"1","quantity":"3","reason":"r"}"#, [:], 400,
            "invalid-request"
        ),
        (
            "POST", "/v1/accounts/anna/adjust", #"{"transaction_id":"1","quantity":1.5,"reason":"r"}"#, [:], 400,
            "invalid-request"
        ),
        (
            "POST", "/v1/accounts/anna/adjust", #"{"transaction_id":"1","quantity":-1,"reason":"r"}"#, [:], 400,
            "invalid-text"
        ),
        (
            "POST", "/v1/accounts/anna/adjust", #"{"transaction_id":"1","quantity":1,"as_signed":true,"reason":"r"}"#,
            [:], 400, "invalid-request"
        ),
        (
            "POST", "/v1/accounts/anna/adjust", #"{"transaction_id":"1","product_id":"p","quantity":1,"reason":"r"}"#,
            [:], 400, "invalid-request"
        ),
        ("POST", "/v1/accounts/anna/adjust", #"{"transaction_id":"1","quantity":1}"#, [:], 400, "invalid-request"),
        (
            "POST", "/v1/accounts/anna/adjust",
            #"{"transaction_id":"1","quantity":1,"reason":"r","environment":"sandbox"}"#, [:], 400, "invalid-request"
        ),
        (
            "POST", "/v1/accounts/anna/adjust",
            #"{"transaction_id":"1","quantity":1,"reason":"r","bundle_id":"com.example.other"}"#, [:], 400,
            "invalid-request"
        ),
        (
            "POST", "/v1/accounts/anna/adjust", #"{"product_id":"p","quantity":1,"reason":"r"}"#, [:], 400,
            "invalid-text"
        ),
        (
            "POST", "/v1/accounts/ben/adjust", #"{"transaction_id":"1","quantity":1,"reason":"r"}"#, [:], 404,
            "not-found"
        ),
        (
            "POST", "/v1/accounts/anna/adjust", #"{"transaction_id":"2","quantity":1,"reason":"r"}"#, [:], 409,
            "not-adjustable"
        ),
    ])
    func `a request of support's that cannot be answered changes nothing`(
        method: String, path: String, body: String, query: [String: String], status: Int, code: String
    ) throws {
        #expect(try redeem(transaction("1"), "anna") == ["granted"])
        #expect(try redeem(transaction("2"), "anna") == ["granted"])
        let refunded = try transaction("2") {
            $0.revocationDate = Instant(millisecondsSince1970: 1_749_998_000_000)
            $0.signedDate = Instant(millisecondsSince1970: 1_749_999_000_000)
        }
        #expect(try redeem(refunded, "anna") == ["revoked"])
        let before = try contents()
        let response = send(method, path, body, token: Self.supportKey, query: query)
        let error = try #require(object(response)["error"] as? [String: Any])
        #expect(response.status == status && error["code"] as? String == code)
        #expect(try contents() == before)
    }

    @Test func `the log says request, transactions and outcomes, and neither an account nor evidence`() throws {
        let verifier = try AppStoreVerifier(
            bundleID: MintedEvidence.bundleID, environments: [.production], trust: evidence.trust)
        let receipt = Data(try evidence.receipt(purchaseCount: 25)).base64EncodedString()
        let fields = [Request.Field(.header, "Authorization", "Bearer \(Self.key)")]
        let body = Array(#"{"account":"anna","evidence":"\#(receipt)"}"#.utf8)
        for (detail, isSaid) in [(ServiceLog.Detail.all, true), (.problems, false)] {
            let table = RouteTable(LedgerRoutes(ledger, verifier, tokens, ServiceLog(detail: detail) { _ in }).routes)
            let logged = table.answer(Request(method: "POST", path: "/v1/redeem", fields: fields, body: body)).logged
            #expect(logged.count == (isSaid ? 1 : 0))
            for (name, text) in logged {
                #expect("\(name)" == "transactions" && text.hasSuffix(", and 5 more"))
                #expect(!text.contains("anna") && !text.contains(receipt.prefix(20)))
            }
        }
    }

    @Test func `no line of the log has an account, evidence, a token, a key or a reason, whatever the route`() throws {
        try "\(Self.key) \(TokenScope.allCases.map(\.rawValue).joined(separator: ","))\n".write(
            toFile: folder.appending(path: "tokens").path, atomically: true, encoding: .utf8)
        try tokens.reload()
        let lines = Guarded<[String]>([])
        let log = ServiceLog(detail: .all) { line in
            lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
        }
        let verifier = try AppStoreVerifier(
            bundleID: MintedEvidence.bundleID, environments: [.production], trust: evidence.trust)
        let apple = try AskApple(asking: folder, ledger, verifier, log)
        let routes = LedgerRoutes(ledger, verifier, tokens, log, attempts, apple).routes
        let address = try #require(ListenAddress("127.0.0.1:0"))
        let daemon = try HTTPDaemon(address, RouteTable(routes), ServiceLimits(), log, ServiceState())
        defer { _ = daemon.stop(within: .seconds(2)) }
        let (coins, forged) = (try transaction("1"), Data(try evidence.receipt(isForged: true)).base64EncodedString())
        let texts = [
            #""account":"secret-anna","evidence":"\#(coins)","account_token":"\#(Self.token)","idempotency_key":"secret-k""#,
            #""account":"secret-anna","evidence":"\#(coins)""#, #""account":"secret-ben","evidence":"\#(coins)""#,
            #""account":"secret-anna","evidence":"\#(forged)""#, #""to":"secret-ben","reason":"secret-reason""#,
            #""transaction_id":"1","quantity":9,"reason":"secret-reason","idempotency_key":"secret-k""#,
            #""product_id":"secret-product","quantity":2,"reason":"secret-reason","idempotency_key":"secret-g""#,
            #""token":"\#(Self.token)""#, #""account":"secret-anna","product_id":"secret-product""#,
            #""account":"secret-anna","transaction_id":"secret-id""#, #""reason":"secret-reason""#,
            #""secret-member":"secret""#, "secret-text",
        ]
        var count = 0
        for route in routes {
            guard case .only(let method) = route.methods else { continue }
            let path = route.path.split(separator: "/").map { $0.first == "{" ? "secret-anna" : $0 }
                .joined(separator: "/")
            for text in texts {
                _ = try request(
                    method, "/\(path)?after=secret-cursor&environment=secret&without=secret", Array("{\(text)}".utf8),
                    headers: ["Authorization: Bearer \(Self.key)"], port: daemon.address.port)
                count += 1
            }
        }
        let written = lines.withLock { $0 }
        #expect(written.filter { $0.contains(#""event":"answer""#) && $0.contains(#","request":"0"#) }.count == count)
        #expect(written.contains { $0.contains(#""transactions":"1 granted""#) })
        for secret in ["secret", coins, forged, Self.token, Self.key] {
            #expect(written.first { $0.contains(secret) } == nil, "\(secret.prefix(40))")
        }
    }
}

extension AskApple {
    /// Asks a port on which nothing listens.
    convenience init(
        asking folder: URL, _ ledger: PurchaseLedger, _ verifier: AppStoreVerifier, _ log: ServiceLog
    ) throws {
        let path = folder.appending(path: "ask-apple.json").path
        let entry = """
            [{"bundle_id":"\(MintedEvidence.bundleID)","issuer_id":"1","key_id":"2","key_file":"key.p8",\
            "url":"http://127.0.0.1:9"}]
            """
        for (name, bytes) in [
            ("key.p8", try SigningKey(generating: .p256).pem()), ("ask-apple.json", Array(entry.utf8)),
        ] {
            let file = folder.appending(path: name)
            try Data(bytes).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        }
        self.init(path, try AskAppleFile(path, verifier), ledger, verifier, log)
    }
}
