import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
import TrialSupport

/// Measures the throughput and latency of a ledger, and of plain SQL that writes the same rows.
///
/// Each client is a connection that sends a request, waits for its answer, and sends the next. Each measurement has
/// servers and a database of its own.
@MainActor struct LedgerLoad {
    enum Store: String, CaseIterable { case sqlite, postgresql }

    enum Work: Equatable {
        /// New purchases, each of which is granted.
        case grants
        /// Purchases that the account has.
        case repeats
        /// The same without HTTP: each server is a process that redeems on a thread for each client.
        case repeatsInProcess
        /// A known transaction of a subscription with this many transactions.
        case renewals(Int)
        /// A receipt with this many purchases, new or known.
        case receipt(Int, isKnown: Bool)
        /// New purchases, while three clients each repeat a receipt with this many purchases.
        case others(Int)
        /// The rows of a grant in plain SQL, with one commit for each grant or for all clients.
        case floor(isGrouped: Bool)

        var name: String {
            switch self {
            case .grants: "grants"
            case .repeats: "repeats"
            case .repeatsInProcess: "repeats-in-process"
            case .renewals(let count): "renewals-\(count)"
            case .receipt(let count, let isKnown): "receipt-\(count)-\(isKnown ? "again" : "first")"
            case .others: "others"
            case .floor(let isGrouped): isGrouped ? "floor-groups" : "floor"
            }
        }
    }

    struct Case {
        let store: Store
        let servers: Int
        let clients: Int
        let work: Work
    }

    struct Options {
        /// Only these, or `nil` for all.
        var stores: [String]?
        var works: [String]?
        var clients: [Int]?
        var seconds = 2.0
        /// The number of measurements of each case. Their median counts.
        var rounds = 1
        /// Per server.
        var threads = 16
        /// The folder of another build's executables.
        var other: URL?
        /// Whether to measure alternately with and without the table of attempts.
        var comparesAttempts = false
        /// The delay of each sync of a server, in milliseconds.
        var syncDelay: Double?
        var isJSON = false

        /// Reads the options of `benchmark --ledger`.
        init(_ arguments: some Sequence<String>) throws {
            var rest = Array(arguments)
            while let name = rest.first {
                rest.removeFirst()
                if name == "--json" {
                    isJSON = true
                    continue
                }
                if name == "--attempts" {
                    comparesAttempts = true
                    continue
                }
                guard let value = rest.first else { throw Self.fault(name) }
                rest.removeFirst()
                let list = value.split(separator: ",").map(String.init)
                switch (name, Double(value)) {
                case ("--store", _): stores = list
                case ("--work", _): works = list
                case ("--clients", _): clients = list.compactMap { Int($0) }
                case ("--seconds", let number?) where number > 0: seconds = number
                case ("--rounds", let number?) where number >= 1: rounds = Int(number)
                case ("--threads", let number?) where number >= 1: threads = Int(number)
                case ("--sync-delay", let number?) where 0..<1000 ~= number: syncDelay = number
                case ("--against", _): other = try Self.folder(value)
                default: throw Self.fault("\(name) \(value)")
                }
            }
            if other != nil || comparesAttempts, rounds == 1 { rounds = 3 }
        }

        private static func fault(_ argument: String) -> ChildProcess.Failure {
            ChildProcess.Failure(description: "unknown or without its value: \(argument)")
        }

        /// Returns the folder of a checkout's executables, or of an executable.
        private static func folder(_ path: String) throws -> URL {
            let given = URL(filePath: path)
            let places = [
                given.appending(path: "ReceiptServer/.build/release"), given.appending(path: ".build/release"), given,
                given.deletingLastPathComponent(),
            ]
            let found = places.first {
                let file = $0.appending(path: "receipt-server").path(percentEncoded: false)
                return FileManager.default.isExecutableFile(atPath: file)
            }
            guard let found else {
                throw ChildProcess.Failure(
                    description: "\(path): no receipt-server; swift build -c release --product receipt-server makes it")
            }
            return found
        }
    }

    private static let token = "token-of-the-backend-1234"
    private let evidence: MintedEvidence
    private let tokens: String
    private let options: Options
    private let purchases: Purchases
    /// Passed to servers.
    private let environment: [String: String]

    init(_ evidence: MintedEvidence, _ options: Options) throws {
        self.evidence = evidence
        self.options = options
        environment = try options.syncDelay.map { try Self.slowSync($0, evidence.path("slow-sync.so")) } ?? [:]
        tokens = try evidence.write(Array((Self.token + "\n").utf8), to: "load-tokens")
        purchases = Purchases(evidence)
    }

    /// Compiles the library that delays syncs, and returns the environment that loads it.
    private static func slowSync(_ milliseconds: Double, _ library: String) throws -> [String: String] {
        let source = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "slow-sync.c")
        try ChildProcess.run(
            ["cc", "-O1", "-shared", "-fPIC", "-o", library, source.path(percentEncoded: false), "-ldl"])
        return ["LD_PRELOAD": library, "SYNC_DELAY_US": "\(Int(milliseconds * 1000))"]
    }

    // MARK: Measurements

    static func cases() -> [Case] {
        var cases: [Case] = []
        for store in Store.allCases where store == .sqlite || PostgreSQLServer.binaries != nil {
            func add(_ work: Work, clients: [Int], servers: Int = 1) {
                cases += clients.map { Case(store: store, servers: servers, clients: $0, work: work) }
            }
            add(.floor(isGrouped: false), clients: store == .sqlite ? [1] : [1, 16, 64], servers: 0)
            add(.floor(isGrouped: true), clients: [16, 64], servers: 0)
            add(.grants, clients: [1, 16, 64])
            add(.repeats, clients: [1, 16, 64])
            add(.repeatsInProcess, clients: [16])
            for count in [10, 1000] { add(.renewals(count), clients: [1]) }
            for isKnown in [false, true] { add(.receipt(1000, isKnown: isKnown), clients: [1]) }
            add(.others(2500), clients: [16])
            guard store == .postgresql else { continue }
            add(.grants, clients: [16, 64], servers: 2)
            add(.repeats, clients: [16], servers: 2)
            add(.repeatsInProcess, clients: [16], servers: 2)
        }
        return cases
    }

    func run() throws {
        let cases = Self.cases().filter {
            options.stores?.contains($0.store.rawValue) ?? true && options.works?.contains($0.work.name) ?? true
                && options.clients?.contains($0.clients) ?? true
                && (options.syncDelay == nil || Self.syncsInServer($0))
        }
        var lines: [String] = []
        for test in cases {
            var (own, other): ([Load.Result], [Load.Result]) = ([], [])
            for round in 0..<options.rounds {
                // Alternate, because other load varies.
                if round % 2 == 0 { own.append(try measure(test, by: ServerProcess.executable)) }
                if options.comparesAttempts {
                    other.append(try measure(test, by: ServerProcess.executable, ["--keep-attempts", "0"]))
                } else if let folder = options.other, canMeasure(test, folder) {
                    other.append(try measure(test, by: folder.appending(path: "receipt-server")))
                }
                if round % 2 == 1 { own.append(try measure(test, by: ServerProcess.executable)) }
            }
            let line = Line(test, own, other)
            if options.isJSON { lines.append(line.json) } else { row(line.name, line.text) }
        }
        if options.isJSON { print("[\(lines.joined(separator: ",\n "))]") }
    }

    /// Returns whether the server syncs. PostgreSQL syncs in its own processes, and a floor has no server.
    private static func syncsInServer(_ test: Case) -> Bool {
        test.store == .sqlite && test.servers > 0 && test.work != .repeatsInProcess
    }

    private struct Line {
        let test: Case
        let own: [Load.Result]
        let other: [Load.Result]

        init(_ test: Case, _ own: [Load.Result], _ other: [Load.Result]) {
            (self.test, self.own, self.other) = (test, own, other)
        }

        var name: String {
            let servers = test.servers > 1 ? ", \(test.servers) servers" : ""
            return "\(test.store.rawValue)\(servers), \(test.clients) clients, \(test.work.name)"
        }

        var text: String {
            let pairs = other.isEmpty ? "" : "; \(format(ratio, 2)) × of (\(Self.figures(other)))"
            return Self.figures(own) + pairs
        }

        var json: String {
            let pairs = other.isEmpty ? "" : #","against":{\#(Self.members(other))},"ratio":\#(format(ratio, 3))"#
            let head = #""store":"\#(test.store.rawValue)","servers":\#(test.servers),"clients":\#(test.clients)"#
            return #"{\#(head),"work":"\#(test.work.name)",\#(Self.members(own))\#(pairs)}"#
        }

        /// The median of the pairs.
        private var ratio: Double { median(zip(own, other).map { $0.perSecond / $1.perSecond }) }

        private static func figures(_ results: [Load.Result]) -> String {
            let (p50, p99) = (median(results.map { $0.latency(0.5) }), median(results.map { $0.latency(0.99) }))
            let times = results.map { $0.processorSeconds / Double($0.answerCount) * 1e6 }
            return "\(format(median(results.map(\.perSecond)))) a second, p50 \(format(p50)) ms, p99 \(format(p99)) ms"
                + (times.contains(0) ? "" : ", \(format(median(times), 0)) µs of the server's processor time each")
        }

        private static func members(_ results: [Load.Result]) -> String {
            let (p50, p99) = (median(results.map { $0.latency(0.5) }), median(results.map { $0.latency(0.99) }))
            let perSecond = format(median(results.map(\.perSecond)))
            return #""per_second":\#(perSecond),"p50_ms":\#(format(p50, 3)),"p99_ms":\#(format(p99, 3))"#
        }

        private func median(_ values: [Double]) -> Double { Self.median(values) }

        private static func median(_ values: [Double]) -> Double {
            let sorted = values.sorted()
            return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
        }
    }

    /// Returns whether the other build can run a test.
    private func canMeasure(_ test: Case, _ folder: URL) -> Bool {
        switch test.work {
        case .floor: false
        case .repeatsInProcess:
            FileManager.default.isExecutableFile(
                atPath: folder.appending(path: "server-trial").path(percentEncoded: false))
        default: true
        }
    }

    // MARK: One measurement

    private func measure(
        _ test: Case, by executable: URL, _ serverOptions: [String] = []
    ) throws -> Load.Result {
        let location =
            switch test.store {
            case .sqlite: evidence.path("load-\(UUID().uuidString).db")
            case .postgresql: try PostgreSQLServer.shared.get().makeDatabase()
            }
        defer {
            if test.store == .sqlite {
                for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: location + suffix) }
            }
        }
        // Version 0.3.0 has no `init`: its server creates the ledger.
        let making = try ChildProcess([executable.path(percentEncoded: false), "init", "--ledger", location])
        _ = making.readAll()
        making.wait()
        if test.work == .repeatsInProcess {
            let folder = executable.deletingLastPathComponent().appending(path: "server-trial")
            return try InProcessLoad.measure(
                location, processes: test.servers, clients: test.clients, seconds: options.seconds, folder)
        }
        let servers = try (0..<max(test.servers, 1)).map { _ in
            try ServerProcess(
                evidence.trustOptions + [
                    "--bundle-id", MintedEvidence.bundleID, "--log", "none", "--ledger", location, "--token-file",
                    tokens, "--threads", "\(options.threads)", "--maximum-body", "4194304",
                ] + serverOptions, environment: environment, executable: executable)
        }
        if case .floor(let isGrouped) = test.work {
            _ = try send([request(purchases.coins(1), "anna")], to: servers)
            for server in servers { _ = server.terminate() }
            return try LedgerFloor(location, clients: test.clients, isGrouped: isGrouped).measure(options.seconds)
        }
        let result = try load(test, servers)
        for server in servers { _ = server.terminate() }
        return result
    }

    private func load(_ test: Case, _ servers: [ServerProcess]) throws -> Load.Result {
        var load = Load(port: 0, requests: [])
        load.ports = servers.map(\.port)
        load.connectionCount = test.clients
        load.seconds = options.seconds
        switch test.work {
        case .grants, .others:
            purchases.forgetCoins()
            // No request is repeated.
            let count = Int(options.seconds * 5000)
            load.requests = try (0..<count + test.clients).map {
                request(try purchases.coins($0), "account \($0 % 500)")
            }
            load.requestCount = count
        case .repeats:
            load.requests = try (0..<200).map { request(try purchases.coins($0), "account \($0)") }
            _ = try send(load.requests, to: servers)
        case .renewals(let count):
            _ = try send([request(purchases.receipt(periods: count, customer: 1), "anna")], to: servers)
            load.requests = [request(try purchases.renewal(count - 1, customer: 1), "anna")]
            // Record the StoreKit 2 form of the period, too.
            _ = try send(load.requests, to: servers)
        case .receipt(let count, isKnown: true):
            load.requests = [request(try purchases.receipt(coins: count, customer: 1), "anna")]
            _ = try send(load.requests, to: servers)
        case .receipt(let count, isKnown: false):
            load.requests = try (0..<5).map {
                request(try purchases.receipt(coins: count, customer: $0), "account \($0)")
            }
            load.requestCount = load.requests.count
            load.seconds = .infinity
        case .repeatsInProcess, .floor: break
        }
        guard case .others(let count) = test.work else {
            let before = servers.map(\.processorSeconds)
            var result = try checked(load.run())
            result.processorSeconds = zip(before, servers).reduce(0) { $0 + $1.1.processorSeconds - $1.0 }
            return result
        }
        let strangers = try (0..<3).map {
            request(try purchases.receipt(coins: count, customer: $0), "stranger \($0)")
        }
        for request in strangers { _ = try send([request], to: servers) }
        let ports = load.ports
        let threads = strangers.map { request in
            let seconds = options.seconds + 1
            return Thread {
                var load = Load(port: 0, requests: [request])
                load.ports = ports
                load.connectionCount = 1
                load.seconds = seconds
                _ = load.run()
            }
        }
        threads.forEach { $0.start() }
        usleep(500_000)
        let result = load.run()
        while threads.contains(where: { !$0.isFinished }) { usleep(10_000) }
        // A busy server answers with 503, which counts for the latency but not for the throughput.
        var answered = result
        answered.statuses[503] = nil
        answered.answerCount = result.statuses[200] ?? 0
        guard answered.answerCount > 0 else { return result }
        return try checked(answered)
    }

    private func checked(_ result: Load.Result) throws -> Load.Result {
        guard result.answerCount > 0, result.statuses.keys.allSatisfy({ $0 == 200 }), result.cutCount == 0 else {
            throw ChildProcess.Failure(description: "answers: \(result.statuses), cut: \(result.cutCount)")
        }
        return result
    }

    /// Sends each request once, to the first server.
    private func send(_ requests: [[UInt8]], to servers: [ServerProcess]) throws -> Load.Result {
        var load = Load(port: servers[0].port, requests: requests)
        load.connectionCount = min(requests.count, 8)
        load.requestCount = requests.count
        return try checked(load.run())
    }

    private func request(_ evidence: String, _ account: String) -> [UInt8] {
        requestBytes(
            "POST", "/v1/redeem", Array(#"{"account":"\#(account)","evidence":"\#(evidence)"}"#.utf8),
            headers: ["Authorization: Bearer \(Self.token)"])
    }

    /// Evidence that is signed once, for all measurements.
    @MainActor private final class Purchases {
        private let evidence: MintedEvidence
        private var coins: [String] = []
        private var receipts: [String: String] = [:]

        init(_ evidence: MintedEvidence) { self.evidence = evidence }

        /// Lets the next consumables be bought now: most are redeemed within seconds.
        func forgetCoins() { coins = [] }

        /// The transaction of a consumable.
        func coins(_ number: Int) throws -> String {
            while coins.count <= number {
                coins.append(try evidence.coins(1_000_000 + coins.count, boughtAt: .now))
            }
            return coins[number]
        }

        func receipt(coins count: Int, customer: Int) throws -> String {
            try receipt("\(count) coins of \(customer)") {
                (0..<count).map {
                    .consumable("coins", transactionID: "\(100_000_000 + customer * 10_000 + $0)")
                }
            }
        }

        /// A subscription whose last period has not ended.
        func receipt(periods count: Int, customer: Int) throws -> String {
            try receipt("\(count) periods of \(customer)") {
                (0..<count).map { number in
                    .autoRenewable(
                        "monthly", transactionID: id(number, customer), originalTransactionID: id(0, customer),
                        purchaseDate: begin(number - count + 1), originalPurchaseDate: begin(1 - count),
                        expiresDate: begin(number - count + 2))
                }
            }
        }

        /// A period of that subscription.
        func renewal(_ number: Int, customer: Int) throws -> String {
            try evidence.transaction {
                $0.productID = "monthly"
                $0.transactionID = id(number, customer)
                $0.originalTransactionID = id(0, customer)
                $0.productType = .autoRenewableSubscription
                $0.purchaseDate = begin(0)
                $0.originalPurchaseDate = begin(-number)
                $0.expiresDate = begin(1)
                $0.signedDate = begin(0) + .seconds(1)
            }
        }

        private func id(_ number: Int, _ customer: Int) -> String { "\(200_000_000 + customer * 10_000 + number)" }

        private let today = Instant(millisecondsSince1970: Instant.now.millisecondsSince1970 / 86_400_000 * 86_400_000)

        private func begin(_ period: Int) -> Instant { today + .seconds(period * 7 * 86_400) }

        private func receipt(_ name: String, _ purchases: () -> [ReceiptBuilder.Purchase]) throws -> String {
            if let known = receipts[name] { return known }
            var builder = ReceiptBuilder(
                bundleID: MintedEvidence.bundleID, environment: .production, purchases: purchases())
            builder.creationDate = today
            let text = try builder.signed(by: evidence.authority).base64EncodedString
            receipts[name] = text
            return text
        }
    }
}
