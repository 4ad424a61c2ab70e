import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import Testing
import TrialSupport

/// Servers and commands that ask, as processes.
@Suite(.serialized) struct AskAppleProcessTests {
    private static let isLong = Sampling.extent == .long
    private static var stores: [String] { PostgreSQLServer.binaries == nil ? ["SQLite"] : ["SQLite", "PostgreSQL"] }

    private func location(_ store: String, _ shop: AppleShop) throws -> String {
        store == "SQLite" ? shop.path("ledger.db") : try PostgreSQLServer.shared.get().makeDatabase()
    }

    /// Purchases of the last days that anna's app submitted, each fourth of them refunded since. Apple reached nobody.
    private func sell(_ count: Int, _ shop: AppleShop, _ ledger: PurchaseLedger) throws -> Set<String> {
        var refunded: Set<String> = []
        for number in 0..<count {
            let (customer, date) = (1 + number % 20, shop.store.now - .seconds(20 * 86_400 - Int64(number) * 600))
            let coins = shop.store.change(customer: customer) { $0.buyConsumable("coins", at: date) }
            _ = try ledger.redeem(shop.evidence(coins, of: customer, at: date), for: "anna", at: date)
            guard number % 4 == 0 else { continue }
            shop.store.change(customer: customer) { $0.refund(coins, at: date + .seconds(60)) }
            refunded.insert(coins.transactionID)
        }
        shop.store.deliverNotifications()
        return refunded
    }

    private func refunds(_ ledger: PurchaseLedger) throws -> Set<String> {
        Set(
            try ledger.texts(
                "SELECT transaction_id FROM grants JOIN identifiers ON id = identifier_id WHERE quantity = 0"
            ).map { $0[0] })
    }

    private func recordedCount(_ ledger: PurchaseLedger) throws -> Int {
        try ledger.texts("SELECT uuid FROM notifications").count
    }

    private func isComplete(_ ledger: PurchaseLedger) throws -> Bool {
        try ledger.texts(
            "SELECT environment FROM history_checkpoints WHERE complete_until IS NOT NULL"
        ).count == 1
    }

    @Test(arguments: stores)
    func `a server that is killed between a page and its checkpoint leaves nothing out`(_ store: String) throws {
        let shop = try AppleShop()
        let location = try location(store, shop)
        let ledger = try shop.ledger(location, isNew: true)
        let refunded = try sell(240, shop, ledger)
        let total = 300
        #expect(try refunds(ledger) == [])
        var kills = 0
        func pages() -> Int { shop.store.requestCounts[.notificationHistory] ?? 0 }
        // At any moment of the first windows: only the last ones have notifications.
        while kills < Sampling.count("killed-inquiries"), try recordedCount(ledger) < total {
            let server = try shop.serve(location)
            let asked = pages() + Int.random(in: 2...(Self.isLong ? 4 : 12))
            try wait { try pages() >= asked || recordedCount(ledger) == total }
            usleep(UInt32.random(in: 0...20_000))
            server.send(SIGKILL)
            _ = server.wait()
            kills += 1
            try ledger.endLeases()
        }
        print("reconciliation, \(store): \(kills) servers killed, \(try recordedCount(ledger)) of \(total) known")
        let server = try shop.serve(location)
        try wait { try recordedCount(ledger) == total && isComplete(ledger) }
        #expect(try refunds(ledger) == refunded)
        #expect(server.terminate() == 0)
        // A kill costs the current page, and a request for undelivered notifications.
        #expect(pages() <= 60 + kills * 20, "\(pages()) pages")
    }

    @Test(.enabled(if: PostgreSQLServer.binaries != nil))
    func `two servers share one queue: each page is asked for once`() throws {
        let shop = try AppleShop()
        let location = try PostgreSQLServer.shared.get().makeDatabase()
        let ledger = try shop.ledger(location, isNew: true)
        let refunded = try sell(240, shop, ledger)
        let servers = try (0..<2).map { _ in try shop.serve(location) }
        try wait { try recordedCount(ledger) == 300 && isComplete(ledger) }
        sleep(2)
        #expect(try refunds(ledger) == refunded)
        // 15 pages; weekly windows for 179 days, and undelivered notifications.
        let pages = shop.store.requestCounts[.notificationHistory] ?? 0
        #expect(pages <= 26 + 15 + 15 + 4, "\(pages) requests")
        for server in servers { #expect(server.terminate() == 0) }
    }

    @Test(.enabled(if: Sampling.runsSlowTests))
    func `a key that Apple refuses stops the inquiries, and SIGHUP reads the next one`() throws {
        let shop = try AppleShop()
        let ledger = try shop.ledger(shop.path("ledger.db"), isNew: true)
        _ = try sell(4, shop, ledger)
        try shop.writeKeys(try SigningKey(generating: .p256))
        let server = try shop.serve(shop.path("ledger.db"))
        func metrics() throws -> String { try request("GET", "/metrics", port: server.metricsPort).text }
        try wait { try metrics().contains(#"code="401"} "#) }
        #expect(try recordedCount(ledger) == 0)
        try shop.writeKeys()
        server.send(SIGHUP)
        try wait { try recordedCount(ledger) == 5 }
        try wait {
            let text = try metrics()
            return text.contains(
                #"receipt_server_apple_recovered_total{app="com.example.app",environment="production",type="REFUND"} 1"#
            )
                && text.contains(#"receipt_server_last_notification_seconds{environment="production",type="REFUND"}"#)
        }
        // A faulty file leaves the keys as they are.
        try shop.write(Array("[]".utf8), to: "ask-apple.json")
        server.send(SIGHUP)
        try wait { server.events("ask-apple-not-reloaded").count == 1 }
        #expect(server.terminate() == 0)
    }

    // MARK: The runbook of a restored back-up

    /// Copies a ledger, as `RUNBOOK.md` says; returns what restores it.
    private func backUp(_ store: String, _ location: String, _ shop: AppleShop) throws -> () throws -> Void {
        if store == "SQLite" {
            try ChildProcess.run(["sqlite3", location, ".backup \(shop.path("copy.db"))"])
            return {
                for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: location + suffix) }
                try FileManager.default.removeItem(atPath: location)
                try FileManager.default.moveItem(atPath: shop.path("copy.db"), toPath: location)
            }
        }
        let binaries = try #require(PostgreSQLServer.binaries)
        let (server, schema) = try #require(
            location.range(of: "&options=-csearch_path%3D").map {
                (String(location[..<$0.lowerBound]), String(location[$0.upperBound...]))
            })
        try ChildProcess.run([binaries + "/pg_dump", "--schema", schema, "-f", shop.path("copy.sql"), server])
        return {
            _ = try PostgreSQLServer.query(server, "DROP SCHEMA \(schema) CASCADE")
            try ChildProcess.run([
                binaries + "/psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-f", shop.path("copy.sql"), server,
            ])
        }
    }

    private func state(_ ledger: PurchaseLedger) throws -> [String: [String]] {
        let rows = try ledger.texts(
            """
            SELECT transaction_id, account, CAST(quantity AS TEXT) FROM grants JOIN identifiers ON id = identifier_id
            WHERE quantity > 0
            """
        )
        return Dictionary(uniqueKeysWithValues: rows.map { ($0[0], Array($0.dropFirst())) })
    }

    @Test(arguments: stores)
    func `after last week's back-up, reconcile brings back what Apple signed, and lists what nobody owns`(
        _ store: String
    ) throws {
        let shop = try AppleShop()
        let location = try location(store, shop)
        let now = shop.store.now
        func ago(_ days: Int64) -> Instant { now - .seconds(days * 86_400) }
        let token = "6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a01"
        let (early, subscription) = shop.store.change(customer: 1) { history in
            (
                history.buyConsumable("coins", at: ago(14)),
                history.subscribe(to: "weekly", in: "g", for: .days(7), at: ago(10))
            )
        }
        let restore: () throws -> Void
        do {
            let ledger = try shop.ledger(location, orders: true, isNew: true)
            for transaction in [early, subscription.firstPeriod] {
                _ = try ledger.redeem(shop.evidence(transaction, of: 1, at: ago(9)), for: "anna", at: ago(9))
            }
            _ = try ledger.token(for: "clara", storing: AppAccountToken(token)!, at: ago(9))
            try ledger.completeFile()
            restore = try backUp(store, location, shop)
        }
        // A week passes.
        let byToken = shop.store.change(customer: 2) { history in
            history.appAccountToken = token
            return history.buyNonConsumable("pro", at: ago(5))
        }
        let lost = shop.store.change(customer: 3) { $0.buyConsumable("coins", quantity: 2, at: ago(4)) }
        let renewal = shop.store.change(customer: 1) { history in
            history.refund(early, at: ago(6))
            return history.renew(subscription)
        }
        shop.isDelivering.withLock { $0 = true }
        shop.store.deliverNotifications()
        var before: [String: [String]] = [:]
        do {
            let ledger = try shop.ledger(location, orders: true)
            let submitted = [(early, 1, "anna"), (renewal, 1, "anna"), (byToken, 2, "clara"), (lost, 3, "ben")]
            for (transaction, customer, account) in submitted {
                _ = try ledger.redeem(shop.evidence(transaction, of: customer), for: account)
            }
            before = try state(ledger)
            #expect(before[lost.transactionID] == ["ben", "2"] && before[early.transactionID] == nil)
        }
        try restore()
        let since = ["--orders", "--since", ago(8).description]
        let dry = try shop.run("reconcile", location, since + ["--dry-run"])
        #expect(dry.text.contains("would-tell revoked 1"), "\(dry.text)")
        // Before the totals: a killed run has named what it found.
        let lines = dry.text.split(separator: "\n")
        let missing = lines.indices {
            $0.hasPrefix("missing com.example.app production REFUND ") && $0.hasSuffix(" revoked")
        }
        #expect(missing.ranges.count == 1, "\(dry.text)")
        let sum = try #require(lines.firstIndex { $0.hasPrefix("requests ") })
        #expect(missing.ranges.allSatisfy { $0.upperBound <= sum })
        let run = try shop.run("reconcile", location, since)
        #expect(run.status == 0, "\(run.text)")
        #expect(run.text.contains("unowned com.example.app production \(lost.transactionID) coins"), "\(run.text)")
        #expect(run.text.contains("recovered com.example.app production REFUND 1"), "\(run.text)")
        let ledger = try shop.ledger(location, orders: true)
        var expected = before
        expected[lost.transactionID] = nil
        #expect(try state(ledger) == expected, "\(run.text)")
        // Its customer's app submits it again.
        _ = try ledger.redeem(shop.evidence(lost, of: 3), for: "ben")
        #expect(try state(ledger) == before)
        let again = try shop.run("reconcile", location, since)
        #expect(
            again.status == 0 && again.text.contains("recovered 0") && !again.text.contains("unowned"), "\(again.text)")
    }

    @Test(arguments: stores)
    func `check-apple and reconcile make no ledger, and exit with 2 where there is none`(_ store: String) throws {
        let shop = try AppleShop()
        let location = try location(store, shop)
        for (command, options) in [
            ("check-apple", []), ("reconcile", ["--dry-run"]), ("reconcile", []),
        ] as [(String, [String])] {
            let refused = try shop.run(command, location, options)
            #expect(refused.status == 2, "\(command)")
            #expect(refused.text.contains("--ledger: no-ledger: "), "\(refused.text)")
        }
        #expect(!FileManager.default.fileExists(atPath: shop.path("ledger.db")))
        _ = try shop.ledger(location, isNew: true)
    }

    @Test func `an ended period is listed once, without keys, and an account that cannot be is no configuration`()
        throws
    {
        let shop = try AppleShop()
        let location = shop.path("ledger.db")
        let ledger = try shop.ledger(location, isNew: true)
        _ = try ledger.store.write { (connection) throws(LedgerError) in
            try connection.run(
                "INSERT INTO ended_periods VALUES ('production', 'com.example.app', $1, 1, NULL)", [.text("7\u{1B}")])
        }
        func list(_ options: String...) throws -> (status: Int32, text: String) {
            let process = try ChildProcess(
                [ServerProcess.executable.path, "reconcile", "--ledger", location, "--ended"] + options)
            process.closeInput()
            let text = process.readAll()
            return (process.wait() >> 8, text)
        }
        let line = "ended com.example.app production 7\\u{1B}"
        for (options, expected) in [(["--dry-run"], line), ([], line), ([], "")] as [([String], String)] {
            let listed = try options.isEmpty ? list() : list(options[0])
            #expect(listed.status == 0 && listed.text.split(separator: "\n").joined() == expected, "\(listed.text)")
        }
        #expect(try list("--since=2026-01-01").status == 2)
        for account in ["", String(repeating: "a", count: 256)] {
            #expect(try shop.run("reconcile", location, ["--account=\(account)"]).status == 2)
        }
    }

    @Test(arguments: stores)
    func `every ended period is listed, each once, and none is taken for listed that could not be written`(
        _ store: String
    ) throws {
        let shop = try AppleShop()
        let location = try location(store, shop)
        let ledger = try shop.ledger(location, isNew: true)
        _ = try ledger.store.write { (connection) throws(LedgerError) in
            try connection.run(
                """
                WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2300)
                INSERT INTO ended_periods SELECT 'production', 'com.example.app', CAST(n AS TEXT), n / 1500, NULL
                FROM numbers
                """)
        }
        func list(_ shell: String) throws -> (status: Int32, lines: [Substring]) {
            let command = [ServerProcess.executable.path, "reconcile", "--ledger", location, "--ended"]
            let process = try ChildProcess(
                ["/bin/sh", "-c", #"exec "$0" "$@" "# + shell] + command)
            process.closeInput()
            let text = process.readAll()
            return (process.wait() >> 8, text.split(separator: "\n"))
        }
        let full = try list("> /dev/full 2>&1")
        #expect(full.status == 1)
        for options in ["--dry-run", ""] {
            let listed = try list(options)
            #expect(listed.status == 0 && listed.lines.count == 2300 && Set(listed.lines).count == 2300, "\(options)")
        }
        #expect(try list("").lines.isEmpty)
    }

    @Test func `a run names what was refused in Apple's answers, also if it is killed before its sums`() throws {
        let shop = try AppleShop()
        _ = try newLedger(shop.path("ledger.db"))
        let date = shop.store.now - .seconds(86_400)
        _ = shop.store.change(customer: 1) { $0.buyConsumable("coins", at: date) }
        shop.store.deliverNotifications()
        shop.store.inject(.changedSignature, into: .notificationHistory, count: 100)
        let run = try shop.run("reconcile", shop.path("ledger.db"), ["--since", (date - .seconds(60)).description])
        let lines = run.text.split(separator: "\n")
        let named = try #require(lines.firstIndex(of: "refused-item com.example.app production invalid-signature -"))
        #expect(named < (try #require(lines.firstIndex { $0.hasPrefix("requests ") })) && run.status == 1)
    }

    @Test(arguments: stores)
    func `the tokens since a back-up are imported before the start, and reconcile counts who waits without them`(
        _ store: String
    ) throws {
        let shop = try AppleShop()
        let location = try location(store, shop)
        let token = "6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a01"
        _ = try shop.ledger(location, orders: true, isNew: true)
        let date = shop.store.now - .seconds(3600)
        let coins = shop.store.change(customer: 1) { history in
            history.appAccountToken = token
            return history.buyConsumable("coins", at: date)
        }
        shop.isDelivering.withLock { $0 = true }
        shop.store.deliverNotifications()
        let since = ["--orders", "--since", (date - .seconds(60)).description]
        let run = try shop.run("reconcile", location, since)
        #expect(run.text.split(separator: "\n").contains("waiting-for-token 1"), "\(run.text)")
        // As the runbook says.
        try shop.write(Array(#"{"account":"clara","token":"\#(token)"}"#.utf8), to: "tokens.jsonl")
        let process = try ChildProcess([
            ServerProcess.executable.path, "import", shop.path("tokens.jsonl"), "--ledger", location, "--orders",
            "--bundle-id", shop.store.options.bundleID,
        ])
        process.closeInput()
        let text = process.readAll()
        #expect(process.wait() == 0 && text.contains("added 1"), "\(text)")
        #expect(try state(shop.ledger(location, orders: true))[coins.transactionID]?.first == "clara")
        #expect(try shop.run("reconcile", location, since).text.split(separator: "\n").contains("waiting-for-token 0"))
    }

    @Test func `a name that Apple signed cannot write to the terminal of reconcile`() throws {
        let shop = try AppleShop()
        _ = try newLedger(shop.path("ledger.db"))
        let date = shop.store.now - .seconds(86_400)
        _ = shop.store.change(customer: 1) { $0.buyConsumable("a\u{1B}[2J\nunowned b", at: date) }
        shop.store.deliverNotifications()
        let run = try shop.run("reconcile", shop.path("ledger.db"), ["--since", (date - .seconds(60)).description])
        #expect(run.text.contains(#" a\u{1B}[2J\u{A}unowned b "#), "\(run.text)")
        #expect(!run.text.contains("\u{1B}") && !run.text.contains("\nunowned b"), "\(run.text)")
    }

    @Test func `notifications that Apple no longer keeps are reported, and the exit status says so once`() throws {
        let shop = try AppleShop()
        _ = try newLedger(shop.path("ledger.db"))
        let since = (shop.store.now - .seconds(200 * 86_400)).description
        let lost = try shop.run("reconcile", shop.path("ledger.db"), ["--since", since])
        #expect(lost.status == 1 && lost.text.contains("gap com.example.app production "), "\(lost.text)")
        let again = try shop.run("reconcile", shop.path("ledger.db"))
        #expect(again.status == 0, "\(again.text)")
    }

    @Test func `the desk of a server that asks Apple can ask, and the ledger has the types of products`() throws {
        let shop = try AppleShop()
        try shop.write(Array("\(LedgerProcess.token)\n\(AppleShop.supportToken) support,recover\n".utf8), to: "tokens")
        let server = try shop.serve(
            newLedger(shop.path("ledger.db")), ["--support", "127.0.0.1:0", "--product-type", "old=non-consumable"])
        var old = JWSBuilder.transaction(
            bundleID: shop.store.options.bundleID, productID: "old", transactionID: "340000000000001")
        old.productType = nil
        let answer = try LedgerProcess.redeem(
            old.signed(by: shop.store.authority), for: "anna", over: Client(port: server.port))
        #expect(answer?.outcomes == ["granted"])
        let address = try #require(server.events("start").first?["support"] as? String)
        let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
        func post(_ path: String, _ form: String, _ headers: [String] = []) throws -> ReceivedAnswer {
            let type = "Content-Type: application/x-www-form-urlencoded"
            return try request("POST", path, Array(form.utf8), headers: [type] + headers, port: port)
        }
        let cookies = try post("/sign-in", "token=\(AppleShop.supportToken)").cookies
        let session = try #require(cookies.first { $0.hasPrefix("receipt-support=") }?.prefix { $0 != ";" })
        let page = try request("GET", "/", headers: ["Cookie: \(session)"], port: port).text
        let form = try #require(page.firstMatch(of: /name="form" value="([^"]+)"/)?.1)
        let found = try post("/search", "form=\(form)&text=MX1A2B3C4D", ["Cookie: \(session)"]).text
        #expect(found.contains(#"value="ask-apple""#) && !found.contains("not set up to ask Apple"), "\(found)")
        #expect(server.terminate() == 0)
    }

    @Test func `the exit status says that something is left over, or that Apple refuses the key`() throws {
        let shop = try AppleShop()
        let location = shop.path("ledger.db")
        _ = try sell(4, shop, shop.ledger(location, isNew: true))
        shop.store.inject(.changedSignature, into: .notificationHistory, count: 100)
        let refused = try shop.run("reconcile", location)
        #expect(refused.status == 1 && refused.text.contains("refused "), "\(refused.text)")
        shop.store.endFaults()
        try shop.writeKeys(try SigningKey(generating: .p256))
        #expect(try shop.run("reconcile", location).status == 2)
        #expect(try shop.run("check-apple", location).status == 2)
        try shop.writeKeys()
        #expect(try shop.run("reconcile", location, ["--account", "anna"]).status == 0)
        #expect(try shop.run("reconcile", location, ["--since", "yesterday"]).text.contains("--since must be a date"))
        // It tries for some minutes.
        guard Self.isLong else { return }
        shop.server.stop()
        let unreachable = try shop.run("reconcile", location)
        #expect(unreachable.status == 1, "\(unreachable.text)")
    }
}
