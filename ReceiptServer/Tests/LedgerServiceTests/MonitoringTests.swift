import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import Testing
import TrialSupport

/// The dashboard and alarms in `deployment`, against the metrics of a server to which all that they show has happened.
@Suite(.serialized) struct MonitoringTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../deployment")

    /// The queries by name. Grafana puts a time in place of its variable.
    private static func queries() throws -> [(name: String, text: String, isAlarm: Bool)] {
        let file = try Data(contentsOf: folder.appending(path: "dashboard.json"))
        let dashboard = try #require(JSONSerialization.jsonObject(with: file) as? [String: Any])
        let panels = try #require(dashboard["panels"] as? [[String: Any]])
        var queries = panels.flatMap { panel in
            (panel["targets"] as? [[String: Any]] ?? []).map { target in
                let text = (target["expr"] as? String ?? "").replacing("$__rate_interval", with: "10s")
                return (panel["title"] as? String ?? "", text, false)
            }
        }
        let alarms = try String(contentsOf: folder.appending(path: "alarms.yml"), encoding: .utf8)
        for match in alarms.matches(of: /- alert: (\w+)\n(?: +#.*\n)* +expr: (.+)\n/) {
            queries.append((String(match.1), String(match.2), true))
        }
        try #require(queries.count { $0.2 } == alarms.matches(of: /- alert:/).count)
        try #require(queries.count > 40)
        return queries
    }

    /// A server that has granted, refused, notified and asked.
    private struct Scene {
        let shop: AppleShop
        let server: ServerProcess
        let receiver: WebhookReceiver

        init() throws {
            shop = try AppleShop()
            receiver = try WebhookReceiver { _ in 200 }
            let ledger = try shop.ledger(shop.path("ledger.db"), isNew: true)
            let date = shop.store.now - .seconds(3 * 86_400)
            let coins = shop.store.change(customer: 1) { $0.buyConsumable("coins", at: date) }
            _ = try ledger.redeem(shop.evidence(coins, of: 1, at: date), for: "anna", at: date)
            shop.store.change(customer: 1) { $0.refund(coins, at: date + .seconds(60)) }
            shop.store.deliverNotifications()
            shop.store.inject(.changedSignature, into: .notificationHistory)
            try shop.write(Array("a secret of a test\n".utf8), to: "secret")
            server = try shop.serve(
                shop.path("ledger.db"),
                ["--webhook", receiver.url, "--webhook-secret-file", shop.path("secret"), "--orders"])
            let bundleID = shop.store.options.bundleID
            // As if Apple had said for days that it does not know the transaction that is redeemed next.
            try ledger.store.write { (connection) throws(LedgerError) in
                _ = try connection.run(
                    "INSERT INTO confirmations VALUES ('production', $1, '1', 0, 0, 6, NULL, 1)", [.text(bundleID)])
            }
            let builder = JWSBuilder.transaction(bundleID: bundleID, productID: "pro", transactionID: "1")
            let transaction = try builder.signed(by: shop.store.authority)
            for evidence in [transaction, "x"] {
                _ = try request(
                    "POST", "/v1/redeem", Array(#"{"account":"anna","evidence":"\#(evidence)"}"#.utf8),
                    headers: ["Authorization: Bearer \(LedgerProcess.token)"], port: server.port)
            }
            // With a value that this version does not know.
            let notification = JWSBuilder.notification(
                .subscribed, subtype: NotificationSubtype(rawValue: "NEW"), bundleID: bundleID, transaction: transaction
            )
            let body = #"{"signedPayload":"\#(try notification.signed(by: shop.store.authority))"}"#
            #expect(try request("POST", "/v1/notifications", Array(body.utf8), port: server.port).status == 200)
        }

        func metrics() throws -> String { try request("GET", "/metrics", port: server.metricsPort).text }
    }

    /// Waits until nothing is missing, and returns what is.
    private func missing(_ look: () throws -> [String]) throws -> [String] {
        let end = Date.now.addingTimeInterval(300)
        var missing = try look()
        while !missing.isEmpty, Date.now < end {
            usleep(200_000)
            missing = try look()
        }
        return missing
    }

    @Test(.enabled(if: Sampling.runsSlowTests))
    func `every metric, label and value of a query is in the metrics of the server`() throws {
        let scene = try Scene()
        let queries = try Self.queries()
        let missing = try missing {
            var labels: [String: [[String: String]]] = [:]
            for match in try scene.metrics().matches(of: /(?m)^([a-z_]+)(?:\{(.*)\})? \S+$/) {
                let pairs = (match.2 ?? "").matches(of: /(\w+)="([^"]*)"/).map { (String($0.1), String($0.2)) }
                labels[String(match.1), default: []].append(Dictionary(uniqueKeysWithValues: pairs))
            }
            return queries.flatMap { query in
                // `up`, `job` and `instance` are Prometheus's own.
                let selectors = query.text.matches(of: /((?:receipt_server|process)_\w+)(?:\{([^}]*)\})?/)
                var missing = selectors.flatMap { selector -> [String] in
                    guard let samples = labels[String(selector.1)] else { return [String(selector.1)] }
                    let matchers = (selector.2 ?? "").matches(of: /(\w+)(=~|!~|!=|=)"([^"]*)"/)
                    return matchers.filter { $0.1 != "job" }.compactMap { matcher in
                        let values = samples.compactMap { $0[String(matcher.1)] }
                        let isThere = matcher.2 == "=" ? values.contains(String(matcher.3)) : !values.isEmpty
                        return isThere ? nil : String(selector.0)
                    }
                }
                let names = Set(selectors.flatMap { labels[String($0.1)] ?? [] }.flatMap(\.keys))
                for list in query.text.matches(of: /by \(([^)]*)\)/) {
                    missing += list.1.split(separator: ", ").map(String.init).filter {
                        $0 != "job" && !names.contains($0)
                    }
                }
                if selectors.isEmpty, !query.text.hasPrefix("up{") { missing.append("no metric") }
                return missing.map { "\(query.name): \($0)" }
            }
        }
        #expect(missing == [])
        #expect(scene.server.terminate() == 0)
    }

    @Test func `each alarm says how urgent it is, and what to do`() throws {
        let alarms = try String(contentsOf: Self.folder.appending(path: "alarms.yml"), encoding: .utf8)
        let count = alarms.matches(of: /- alert:/).count
        let isUrgent = /\n    labels: {severity: (page|ticket)}\n    annotations: {description: ".+"}\n/
        #expect(alarms.matches(of: isUrgent).count == count)
    }

    // MARK: Prometheus

    /// Debian's package `prometheus` has both.
    private static func program(_ name: String) -> String? {
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    private static let isPrometheusInstalled = program("prometheus") != nil && program("promtool") != nil

    @Test(.enabled(if: Sampling.runsSlowTests), .enabled(if: isPrometheusInstalled))
    func `the alarms ring for what they say, and for nothing else`() throws {
        let promtool = try #require(Self.program("promtool"))
        for arguments in [["check", "rules", "alarms.yml"], ["test", "rules", "alarms-test.yml"]] {
            let command =
                "cd '\(Self.folder.path(percentEncoded: false))' && \(promtool) \(arguments.joined(separator: " ")) 2>&1"
            let process = try ChildProcess(["/bin/sh", "-c", command])
            let text = process.readAll()
            #expect(process.wait() == 0, "\(text)")
        }
        let alarms = try Self.queries().filter(\.isAlarm).map(\.name)
        let tests = try String(contentsOf: Self.folder.appending(path: "alarms-test.yml"), encoding: .utf8)
        for alarm in alarms { #expect(tests.contains("alertname=\"\(alarm)\""), "\(alarm)") }
    }

    @Test(.enabled(if: Sampling.runsSlowTests), .enabled(if: isPrometheusInstalled))
    func `Prometheus evaluates every query of the dashboard to a value, and every alarm without an error`() throws {
        let scene = try Scene()
        let configuration = """
            global: {scrape_interval: 1s}
            scrape_configs:
            - job_name: receipt-server
              static_configs: [{targets: ['127.0.0.1:\(scene.server.metricsPort)']}]
            """
        try scene.shop.write(Array(configuration.utf8), to: "prometheus.yml")
        let program = try #require(Self.program("prometheus"))
        let process = try ChildProcess([
            "/bin/sh", "-c",
            """
            exec \(program) --config.file=\(scene.shop.path("prometheus.yml")) --web.listen-address=127.0.0.1:0 \
            --storage.tsdb.path=\(scene.shop.path("data")) --log.format=json 2>&1
            """,
        ])
        defer {
            process.signal(SIGKILL)
            process.wait()
        }
        var port: UInt16 = 0
        while port == 0, let line = process.readLine() {
            // 2.53 has the members in another order than 2.42.
            guard line.contains(#""Listening on""#) else { continue }
            let match = line.firstMatch(of: /"address":"127\.0\.0\.1:(\d+)"/)
            port = match.flatMap { UInt16($0.1) } ?? 0
        }
        try #require(port != 0)
        let promtool = try #require(Self.program("promtool"))
        /// The values that Prometheus computes; `nil` for a query that it cannot.
        func values(_ query: String) throws -> String? {
            let process = try ChildProcess([promtool, "query", "instant", "http://127.0.0.1:\(port)", query])
            let text = process.readAll()
            return process.wait() == 0 ? text : nil
        }
        let queries = try Self.queries()
        let missing = try missing {
            try queries.filter { !$0.isAlarm }.filter { (try values($0.text) ?? "").isEmpty }
                .map { "\($0.name): \($0.text)" }
        }
        #expect(missing == [])
        for alarm in queries where alarm.isAlarm { #expect(try values(alarm.text) != nil, "\(alarm.name)") }
        #expect(scene.server.terminate() == 0)
    }
}
