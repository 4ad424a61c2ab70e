import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
@testable import HTTPService
@testable import PurchaseLedger
@testable import SupportDesk
import Testing
import TrialSupport

/// What strangers and other sites try, over a real socket.
@Suite(.serialized) struct AttackTests {
    @Test func `every answer forbids scripts, frames, other bases and storing, also an error`() throws {
        let desk = try DeskFixture()
        let browser = try desk.browser()
        let answers = try [
            desk.get("/"), browser.get("/"), browser.get("/settings"), browser.post("/search", [("text", "x")]),
            desk.get("/none"), desk.post("/act", []), desk.post("/sign-in", [("token", "x")]),
            desk.get("/search"), desk.get("/favicon.ico"),
        ]
        for answer in answers {
            let policy = try #require(answer.headers["content-security-policy"])
            #expect(policy.hasPrefix("default-src 'none'; style-src 'sha256-"))
            #expect(policy.hasSuffix("; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"))
            #expect(!policy.contains("unsafe") && !policy.contains("script-src"))
            #expect(answer.headers["cache-control"] == "no-store")
            #expect(answer.headers["x-content-type-options"] == "nosniff")
            #expect(!answer.text.contains("<script"))
        }
    }

    static let forgeries: [(name: String, change: @Sendable (DeskFixture.Browser) -> ([(String, String)], [String]))] =
        [
            ("no token of the form", { _ in ([], []) }),
            ("another token", { _ in ([("form", String(repeating: "0", count: 64))], []) }),
            ("another session's token", { ([("form", (try? $0.desk.browser().form) ?? "")], []) }),
            ("the token in two fields", { ([("form", $0.form), ("form", $0.form)], []) }),
            ("another origin", { ([("form", $0.form)], ["Origin: https://evil.example"]) }),
            ("no origin of its own", { ([("form", $0.form)], ["Origin: null"]) }),
            ("another port", { ([("form", $0.form)], ["Origin: http://localhost:1"]) }),
            ("another site, by its word", { ([("form", $0.form)], ["Sec-Fetch-Site: cross-site"]) }),
            ("a neighbour of the same site", { ([("form", $0.form)], ["Sec-Fetch-Site: same-site"]) }),
        ]

    @Test(arguments: forgeries.indices)
    func `a request that another site made does nothing`(index: Int) throws {
        let (name, change) = Self.forgeries[index]
        let desk = try DeskFixture()
        try desk.redeem(desk.coins("340000000000001"), for: "anna")
        let browser = try desk.browser(DeskFixture.everything)
        let (fields, headers) = change(browser)
        let transfer = [
            ("act", "transfer"), ("number", "1"), ("environment", "production"), ("bundle", MintedEvidence.bundleID),
            ("id", "340000000000001"), ("account", "anna"), ("to", "eve"), ("reason", "none"),
        ]
        let answer = try desk.post("/act", fields + transfer, cookie: browser.cookie, headers: headers)
        #expect([400, 403].contains(answer.status), "\(name): \(answer.status)")
        #expect(!answer.text.contains("340000000000001"), "\(name)")
        let owner = try desk.ledger.entitlements(of: "eve", at: desk.date).items.count
        #expect(owner == 0, "\(name)")
        // The same request from the page itself is done.
        #expect(try browser.post("/act", transfer).text.contains("Purchases transferred to"))
    }

    @Test func `what is sent without a session, or as something else than a form, does nothing`() throws {
        let desk = try DeskFixture()
        let browser = try desk.browser(DeskFixture.everything)
        for path in ["/search", "/act", "/account", "/settings", "/sign-out"] {
            let stranger = try desk.post(path, [("form", browser.form), ("text", "anna")])
            #expect(stranger.status == 403 && stranger.text.contains("action=\"/sign-in\""), "\(path)")
            let json = try request(
                "POST", path, Array("{\"form\":\"\(browser.form)\"}".utf8),
                headers: ["Content-Type: text/plain", "Cookie: \(browser.cookie)"], port: desk.port)
            #expect(json.status == 400, "\(path)")
            #expect(try browser.get(path).status == (path == "/settings" ? 200 : 405), "\(path)")
        }
    }

    @Test(arguments: [
        "receipt-support=; receipt-support=", "receipt-support", "receipt-support=\"", "Receipt-Support=",
        " receipt-support=a=b", "receipt-support-view=; ;;=;", "__Host-receipt-support=",
    ])
    func `a cookie that is not the session's own is none`(header: String) throws {
        let desk = try DeskFixture()
        let browser = try desk.browser()
        let id = browser.cookie.dropFirst("receipt-support=".count)
        for cookie in [header, header + id] where !cookie.hasPrefix("receipt-support=\(id)") {
            #expect(try !desk.get("/", cookie: cookie).text.contains("action=\"/search\""), "\(cookie)")
        }
        // Two cookies of one name: one isn't this desk's.
        let two = "\(browser.cookie); receipt-support=\(String(repeating: "0", count: 64))"
        #expect(try desk.get("/", cookie: two).text.contains("action=\"/sign-in\""))
    }

    @Test(arguments: ["evil.example", "desk.evil.example:8081", "localhost.evil.example", "127.0.0.1.evil.example"])
    func `a name that a stranger lets point to this machine is not answered`(host: String) throws {
        let desk = try DeskFixture()
        let client = try Client(port: desk.port)
        client.send("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        #expect(client.receive()?.status == 421)
    }

    static let hostile = [
        "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'><svg/onload=alert(1)>",
        "</style><script>alert(1)</script>", "</textarea><script>alert(1)</script>", "</option></select><script>",
        "javascript:alert(1)", "<form action=//evil.example><button>", "<!--", "{{7*7}}", "${alert(1)}",
        "\u{202E}txt.exe\u{202C}", "anna\r\nSet-Cookie: a=b", "%3Cscript%3E", "&lt;script&gt;",
        "a\u{300}\u{301}\u{302}\u{303}\u{304}",
    ]

    @Test(arguments: hostile)
    func `names of accounts and products, reasons and searches are text, and forms give them back byte for byte`(
        text: String
    ) throws {
        let desk = try DeskFixture()
        try desk.redeem(desk.coins("340000000000001") { $0.productID = text }, for: text)
        try desk.ledger.transfer(
            from: text, to: text + "2", transactionID: "340000000000001", in: .production, reason: text, at: desk.date)
        let browser = try desk.browser(DeskFixture.everything)
        for search in ["340000000000001", text, text + "2"] {
            let page = try browser.search(search)
            #expect(page.contains("340000000000001"), "\(search)")
            let tags = Set(
                page.split(separator: "<").dropFirst().map { $0.prefix { $0.isLetter || $0.isNumber || $0 == "/" } })
            #expect(tags.isDisjoint(with: ["script", "img", "svg/onload", "iframe", "link", "base", "object"]))
            #expect(!page.contains("alert(1)>") && !page.contains("<!--"))
            let own = "<form method=\"post\" action=\"/"
            #expect(page.components(separatedBy: "<form").count == page.components(separatedBy: own).count)
            #expect(!words(page).contains("\u{202E}"))
        }
        // The hidden field has the account as it is: the act finds it.
        let answer = try browser.post(
            "/act",
            [
                ("act", "set-quantity"), ("number", "1"), ("environment", "production"),
                ("bundle", MintedEvidence.bundleID), ("id", "340000000000001"), ("account", text + "2"),
                ("quantity", "2"), ("reason", text),
            ])
        #expect(words(answer.text).contains("The quantity is now 2; it was 3."), "\(text)")
    }

    @Test(arguments: [
        "/../", "//", "/%2e%2e/", "/search/", "/SEARCH", "/search%00", "/sign-in?token=x", "/settings/../", "/?form=1",
        "/v1/accounts/anna/entitlements", "/metrics", "/healthz", "/v1/redeem", "/act;a", "/./search",
    ])
    func `another path is no path of the desk, and says nothing of a session`(path: String) throws {
        let desk = try DeskFixture()
        let answer = try desk.get(path)
        // A query changes nothing: it is not read.
        if path.hasPrefix("/?") {
            #expect(answer.status == 200 && answer.text.contains("action=\"/sign-in\""))
        } else {
            #expect([400, 404, 405].contains(answer.status), "\(path): \(answer.status)")
        }
        #expect(try desk.post(path, []).cookies.isEmpty)
    }

    @Test(arguments: [
        [("id", "340000000000002")], [("environment", "sandbox")], [("bundle", "com.example.other")],
        [("account", "ben")], [("account", "")], [("environment", "../production")], [("id", "340000000000001\u{0}")],
        [("quantity", "-1")], [("quantity", "1e9")], [("quantity", "99999999999999999999")], [("reason", " ")],
        [("reason", String(repeating: "语", count: 100))], [("act", "delete")], [("number", "")],
        [("id", "' OR 1=1 --")], [("account", "anna' OR 'a'='a")],
    ])
    func `an id that is not the account's, or a value that is none, changes nothing`(changed: [(String, String)]) throws
    {
        let desk = try DeskFixture()
        try desk.redeem(desk.coins("340000000000001"), for: "anna")
        try desk.redeem(desk.coins("340000000000003"), for: "ben")
        let browser = try desk.browser(DeskFixture.everything)
        var fields = [
            "act": "set-quantity", "number": "1", "environment": "production", "bundle": MintedEvidence.bundleID,
            "id": "340000000000001", "account": "anna", "quantity": "9", "reason": "a test",
        ]
        for (name, value) in changed { fields[name] = value }
        let answer = try browser.post("/act", fields.map { ($0, $1) })
        #expect([200, 400].contains(answer.status))
        if answer.status == 200 { #expect(words(answer.text).contains("Nothing was done"), "\(changed)") }
        for (account, id) in [("anna", "340000000000001"), ("ben", "340000000000003")] {
            let name = TransactionName(
                environment: .production, bundleID: MintedEvidence.bundleID, transactionID: id)
            let grant = try #require(try desk.ledger.story(of: name, at: desk.date)?.grants.first)
            #expect(grant.quantity == 3 && grant.account == account)
        }
    }

    @Test func `the forms of strangers are refused by their headers, and take no memory`() throws {
        let desk = try DeskFixture()
        let browser = try desk.browser()
        func refusal(_ path: String, _ headers: [String: String], _ method: String = "POST") throws -> Int? {
            let route = try #require(desk.desk.routes.routes.first { $0.path == path && $0.answers(method) })
            let fields = headers.map { Request.Field(.header, $0, $1) }
            #expect(headers.keys.allSatisfy(route.headers.contains))
            return route.refusal(Request(method: method, path: path, fields: fields))?.status
        }
        for path in ["/search", "/act", "/account", "/settings", "/sign-out"] {
            #expect(try refusal(path, [:]) == 403)
            #expect(try refusal(path, ["Cookie": "receipt-support=\(String(repeating: "0", count: 64))"]) == 403)
            #expect(try refusal(path, ["Cookie": browser.cookie]) == nil)
            #expect(try refusal(path, ["Cookie": browser.cookie, "Host": "evil.example"]) == 421)
            #expect(try refusal(path, ["Cookie": browser.cookie, "Sec-Fetch-Site": "cross-site"]) == 403)
        }
        #expect(try refusal("/sign-in", ["Content-Length": "16384"]) == nil)
        for length in ["16385", "99999999999999999999", "-", ""] {
            #expect(try refusal("/sign-in", ["Content-Length": length]) == 413, "\(length)")
        }
        #expect(try refusal("/sign-in", [:]) == 413)
        for method in ["GET", "HEAD"] {
            #expect(try refusal("/", [:], method) == nil)
            #expect(try refusal("/", ["Content-Length": "16385"], method) == 413)
            #expect(try refusal("/", ["Transfer-Encoding": "chunked"], method) == 413)
        }
        let token = String(repeating: "x", count: 20_000)
        #expect(try desk.post("/sign-in", [("token", token)]).status == 413)
    }

    @Test func `a form with too many fields, a long number or an account that none can have is refused as such`()
        throws
    {
        let desk = try DeskFixture()
        try desk.redeem(desk.coins("340000000000001"), for: "anna")
        let browser = try desk.browser(DeskFixture.everything)
        let many = (0..<100_000).map { ("a\($0)", "") }
        #expect(try browser.post("/search", many).status == 400)
        // What is kept of each form is short.
        let long = ["number": String(repeating: "1", count: 65)]
        #expect(try browser.act(.setQuantity, "340000000000001", long).status == 400)
        for account in ["a\u{0}b", String(repeating: "a", count: 256)] {
            #expect(try browser.post("/account", [("account", account)]).status == 400)
            let fields = ["account": account, "id": "", "product": "x", "quantity": "1"]
            #expect(try browser.act(.grantProduct, "", fields).status == 400)
        }
        for cursor in [
            "x", "1-0-ff", "-9223372036854775808-0-", "9223372036854775807-4-1",
            "1-2-" + many.map(\.0).joined(),
        ] {
            let answer = try browser.post("/account", [("account", "anna"), ("after", cursor)])
            #expect([200, 400].contains(answer.status), "\(cursor.prefix(30)): \(answer.status)")
        }
        #expect(desk.lines.withLock { $0.filter { $0.contains("\"event\":\"ledger\"") } } == [])
    }

    @Test(arguments: [
        Act.transfer, .setQuantity, .followApple, .askApple,
    ])
    func `an act is of the app and the environment that the form names`(act: Act) throws {
        let desk = try DeskFixture()
        try desk.redeem(desk.coins("340000000000001"), for: "anna")
        let browser = try desk.browser(DeskFixture.everything)
        for change in [["bundle": "com.example.other"], ["environment": "sandbox"], ["environment": "PRODUCTION"]] {
            let fields = ["to": "ben", "quantity": "9"].merging(change) { $1 }
            let text = try words(browser.act(act, "340000000000001", fields).text)
            #expect(text.contains("Nothing was done"), "\(change): \(text.prefix(300))")
        }
        #expect(try desk.quantity(of: "anna", "340000000000001") == 3)
    }

    @Test(arguments: ["", ":8081", "[::1", "localhost.", "127.0.0.1@evil.example", "127.0.0.1 evil.example"])
    func `a host that is no address of this machine is not answered`(host: String) throws {
        let desk = try DeskFixture()
        let client = try Client(port: desk.port)
        client.send("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        let answer = try #require(client.receive())
        #expect([400, 421].contains(answer.status) && !answer.text.contains("sign-in"), "\(answer.status)")
    }

    @Test(arguments: [
        nil, "null", "http://desk.example.com", "https://desk.example.com:444", "https://desk.example.com.evil.example",
    ])
    func `behind TLS, a form of another origin, or of none, is refused`(other: String?) throws {
        let origin = "https://desk.example.com"
        let desk = try DeskFixture(["--support", "127.0.0.1:0", "--support-origin", origin])
        let form = [("token", DeskFixture.staff)]
        let answer = try desk.post("/sign-in", form, headers: other.map { ["Origin: \($0)"] } ?? [])
        #expect(answer.status == 403 && answer.cookies.isEmpty)
        let own = try desk.post("/sign-in", form, headers: ["Origin: \(origin)"])
        let cookie = try #require(own.cookies.first?.prefix { $0 != ";" })
        // A name without the prefix could be set by a neighbour.
        let id = cookie.dropFirst("__Host-".count)
        #expect(try desk.get("/", cookie: String(cookie)).text.contains("action=\"/search\""))
        #expect(try desk.get("/", cookie: String(id)).text.contains("action=\"/sign-in\""))
    }

    @Test func `no value of a form becomes a header`() throws {
        let desk = try DeskFixture()
        let browser = try desk.browser()
        let hostile = "zh-Hans\r\nSet-Cookie: receipt-support=injected\r\n"
        let answers = try [
            browser.post("/settings", [("language", hostile), ("zone", hostile)]),
            desk.post("/sign-in", [("token", DeskFixture.staff), ("language", hostile)]),
            browser.post("/search", [("text", hostile)]),
            desk.get("/", cookie: "receipt-support-view=zh-Hans|Asia/Shanghai\u{0B}x"),
        ]
        for answer in answers {
            #expect(answer.headers["location"] ?? "/" == "/")
            #expect(
                answer.cookies.allSatisfy { !$0.contains("injected") && !$0.contains("zh-Hans") }, "\(answer.cookies)")
            #expect(answer.headers["cache-control"] == "no-store")
        }
    }

    @Test func `who signs out ends that session alone, and the log has no token, account, reason or evidence`() throws {
        let desk = try DeskFixture()
        let coins = try desk.coins("340000000000001")
        try desk.redeem(coins, for: "account-of-anna")
        let (first, second) = (try desk.browser(DeskFixture.everything), try desk.browser(DeskFixture.everything))
        for text in ["account-of-anna", coins, "340000000000001"] { _ = try first.search(text) }
        let fields = [
            "account": "account-of-anna", "to": "account-of-ben", "quantity": "1", "reason": "because-she-said",
        ]
        for act in Act.allCases { _ = try first.act(act, "340000000000001", fields) }
        #expect(try first.post("/sign-out", []).status == 303)
        #expect(try first.post("/search", [("text", "account-of-anna")]).status == 403)
        #expect(try second.get("/").text.contains("action=\"/search\""))
        let log = desk.lines.withLock { $0.joined() }
        #expect(log.contains("\"event\":\"support-act\",\"act\":\"transfer\",\"request\":\""))
        // Failed acts are not logged: the forms have no event and no product, and this desk cannot ask Apple.
        for act in [Act.sendAgain, .grantProduct, .askApple] {
            #expect(!log.contains("\"act\":\"\(act.rawValue)\""))
        }
        for secret in [
            "account-of", "because-she-said", coins, first.form, second.form, DeskFixture.everything,
            String(first.cookie.suffix(64)),
        ] {
            #expect(!log.contains(secret), "\(secret)")
        }
    }
}
