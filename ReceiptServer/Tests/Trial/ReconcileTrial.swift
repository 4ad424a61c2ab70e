import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import Foundation
import LedgerTestSupport
import PurchaseLedger
import Reconciliation
import TrialSupport

/// Measures the cost of asking Apple: the requests of a day, and the time of redemptions.
///
///     server-trial --reconcile [--sales 100000] [--pairs 7] [--seconds 3]
@MainActor struct ReconcileTrial {
    private let evidence: MintedEvidence
    private var saleCount = 100_000
    private var pairCount = 7
    private var seconds = 3.0

    init(_ evidence: MintedEvidence, _ arguments: [String]) throws {
        self.evidence = evidence
        var rest = arguments[...]
        while let name = rest.popFirst(), let value = rest.popFirst().flatMap(Double.init) {
            switch name {
            case "--sales": saleCount = Int(value)
            case "--pairs": pairCount = Int(value)
            case "--seconds": seconds = value
            default: throw ChildProcess.Failure(description: "unknown: \(name)")
            }
        }
    }

    func run() throws {
        if saleCount > 0 { try runDay() }
        if pairCount > 0 { try runPairs() }
    }

    // MARK: A simulated day

    private func runDay() throws {
        let day = try SimulatedDay(evidence, saleCount)
        let start = ContinuousClock.now
        var minutes: Double { Double((ContinuousClock.now - start) / .seconds(60)) }
        let result = try day.run { hour in
            let line = "\(hour) hours simulated in \(format(minutes)) minutes\n"
            FileHandle.standardError.write(Data(line.utf8))
        }
        let requests = result.requests.sorted { $0.key.rawValue < $1.key.rawValue }
            .map { "\($0.key.rawValue) \($0.value)" }.joined(separator: ", ")
        let byPriority = result.requestsByPriority.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
        row(
            "a day of \(saleCount) purchases: requests by priority",
            "\(byPriority.joined(separator: ", ")); simulated in \(format(minutes)) minutes",
            result.requestsByPriority.values.reduce(0, +) == result.requests.values.reduce(0, +)
                && (saleCount < 1000 || [0, 2, 3].allSatisfy { result.requestsByPriority[$0] != nil }))
        row("    by endpoint", requests)
        row(
            "    in the hour of the most, of which those that can wait",
            "\(result.most) of \(SimulatedDay.budget), \(result.mostLow) of \(SimulatedDay.budget / 2)",
            result.most <= SimulatedDay.budget && result.mostLow <= SimulatedDay.budget / 2)
        row(
            "    notifications that did not arrive", "\(result.lost), \(result.missing) of them unknown in the end",
            result.missing == 0)
        row(
            "    purchases that nothing confirmed after 10 minutes, and were asked about one by one",
            "\(result.requests[.transactionInfo] ?? 0)")
        row("    inquiries left", "\(result.left)", result.left == 0)
    }

    // MARK: Pairs

    private func runPairs() throws {
        let store = try shop()
        let server = try FakeAppStoreServer(store)
        var ratios: [Double] = []
        var rates: (with: [Double], without: [Double]) = ([], [])
        for number in 0..<pairCount {
            // Alternate, because other load varies.
            var (with, without) = (0.0, 0.0)
            for isAsking in number % 2 == 0 ? [true, false] : [false, true] {
                let rate = try measure(isAsking ? server : nil)
                if isAsking { with = rate } else { without = rate }
            }
            ratios.append(with / without)
            rates.with.append(with)
            rates.without.append(without)
        }
        server.stop()
        func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
        row(
            "redemptions of a server that asks, \(pairCount) pairs",
            "\(format(median(rates.with))) a second, \(format(median(rates.without))) of one that does not; median of the ratios \(format(median(ratios), 2))",
            median(ratios) > 0.85)
    }

    /// An App Store whose notifications were not received.
    private func shop() throws -> FakeAppStore {
        var options = FakeAppStore.Options()
        options.environment = .production
        options.receiver = { _ in .timedOut }
        let store = try FakeAppStore(options, authority: evidence.ellipticAuthority)
        let date = store.now
        for customer in 1...20 {
            store.change(customer: customer) { history in
                for number in 0..<10 {
                    _ = history.buyConsumable("coins", at: date - .seconds(3600 * Int64(1 + number)))
                }
            }
        }
        store.deliverNotifications()
        return store
    }

    /// Returns the grants a second of a server, which asks `shop` unless it is `nil`.
    private func measure(_ shop: FakeAppStoreServer?) throws -> Double {
        let location = evidence.path("reconcile-\(UUID().uuidString).db")
        let tokens = try evidence.write(Array("token-of-the-backend-1234\n".utf8), to: "reconcile-tokens")
        var options =
            evidence.trustOptions + [
                "--bundle-id", MintedEvidence.bundleID, "--log", "none", "--ledger", location, "--new-ledger",
                "--token-file", tokens,
            ]
        if let shop {
            let key = try evidence.write(try shop.store.clientKey.pem(), to: "key.p8")
            let entry = """
                [{"bundle_id":"\(MintedEvidence.bundleID)","issuer_id":"\(shop.store.options.issuerID)",\
                "key_id":"\(shop.store.options.keyID)","key_file":"\(key)","url":"\(shop.url)"}]
                """
            let file = try evidence.write(Array(entry.utf8), to: "ask-apple.json")
            for path in [key, file] {
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            }
            options += ["--ask-apple", file]
        }
        let server = try ServerProcess(options)
        defer {
            _ = server.terminate()
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: location + suffix) }
        }
        var load = Load(port: server.port, requests: try requests(Int(seconds * 3000)))
        load.connectionCount = 16
        load.seconds = seconds
        load.requestCount = load.requests.count
        let result = load.run()
        guard result.answerCount > 0, result.statuses.keys.allSatisfy({ $0 == 200 }) else {
            throw ChildProcess.Failure(description: "answers: \(result.statuses)")
        }
        return result.perSecond
    }

    private static var minted: [[UInt8]] = []

    private func requests(_ count: Int) throws -> [[UInt8]] {
        while Self.minted.count < count {
            let number = Self.minted.count
            let body =
                #"{"account":"account \#(number % 500)","evidence":"\#(try evidence.coins(3_000_000 + number))"}"#
            Self.minted.append(
                requestBytes(
                    "POST", "/v1/redeem", Array(body.utf8), headers: ["Authorization: Bearer token-of-the-backend-1234"]
                ))
        }
        return Array(Self.minted.prefix(count))
    }
}
