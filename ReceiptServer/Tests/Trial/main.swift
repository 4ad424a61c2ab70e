import AppStoreReceipt
import Foundation
import TrialSupport

// Measures the server's promises, and shows whether each holds.
//
//   server-trial [--long]
//   server-trial --ledger [OPTIONS]     only a ledger: see `../../benchmark --help`
//   server-trial --attempts [COUNT]     only a table of COUNT attempts, a million by default
//   server-trial --service --json       only the latency under 1 to 256 connections
//   server-trial --reconcile [OPTIONS]  only the cost of asking Apple

let arguments = Array(CommandLine.arguments.dropFirst())
let isLong = arguments.contains("--long")
// Before what the other trials send is minted, which takes longer.
if arguments.first == "--killed" {
    try KilledLedger.run(Array(arguments.dropFirst()))
    exit(0)
}
let evidence = try MintedEvidence()
var failures = 0

func format(_ value: Double, _ digits: Int = 1) -> String { String(format: "%.\(digits)f", value) }

@MainActor func row(_ name: String, _ value: String, _ holds: Bool = true) {
    // Don't buffer output to a file.
    FileHandle.standardOutput.write(Data("\(holds ? "ok    " : "FAILED")  \(name): \(value)\n".utf8))
    if !holds { failures += 1 }
}

@MainActor func start(_ options: String...) throws -> ServerProcess {
    try ServerProcess(evidence.trustOptions + ["--bundle-id", MintedEvidence.bundleID, "--log", "none"] + options)
}

/// Receipts of several sizes, including refused ones, for both routes.
let mixed: [[UInt8]] = try {
    var requests: [[UInt8]] = []
    for count in [0, 1, 1, 1, 2, 3, 5, 10, 20, 50] {
        let receipt = try evidence.receipt(purchaseCount: count)
        requests.append(requestBytes("POST", "/verifyReceipt", Array(MintedEvidence.body(receipt).utf8)))
        requests.append(requestBytes("POST", "/v1/verify", Array(receipt.base64EncodedString.utf8)))
    }
    let sandbox = try evidence.receipt(purchaseCount: 3, environment: .sandbox)
    requests.append(requestBytes("POST", "/verifyReceipt", Array(MintedEvidence.body(sandbox).utf8)))
    let forged = try evidence.receipt(purchaseCount: 3, isForged: true)
    requests.append(requestBytes("POST", "/verifyReceipt", Array(MintedEvidence.body(forged).utf8)))
    return requests
}()
/// ``mixed``, and other requests.
let all =
    try mixed + [
        requestBytes("POST", "/v1/verify", Array(try evidence.transaction().utf8)),
        requestBytes(
            "POST", "/v1/entitlements",
            Array(
                #"{"evidence":["\#(evidence.receipt(purchaseCount: 5).base64EncodedString)","\#(evidence.transaction())"]}"#
                    .utf8)),
        requestBytes("GET", "/healthz"), requestBytes("GET", "/nothing"),
    ]
let healthRequests = [requestBytes("GET", "/healthz")]

/// The request with `Connection: close`.
func alone(_ request: [UInt8]) -> [UInt8] {
    guard let line = request.firstIndex(of: UInt8(ascii: "\n")) else { return request }
    return request[...line] + Array("Connection: close\r\n".utf8) + request[(line + 1)...]
}

extension [UInt8] {
    var base64EncodedString: String { Data(self).base64EncodedString() }
}

func load(_ server: ServerProcess, _ requests: [[UInt8]], connections: Int = 64, seconds: Double) -> Load.Result {
    var load = Load(port: server.port, requests: requests)
    load.connectionCount = connections
    load.seconds = seconds
    return load.run()
}

// MARK: A ledger

if arguments.first == "--in-process" {
    defer { evidence.remove() }
    try InProcessLoad.run(Array(arguments.dropFirst()), evidence)
    exit(0)
}

if isLong || arguments.first == "--attempts" {
    do {
        let count = isLong ? nil : arguments.dropFirst().first.flatMap { Int($0) }
        try AttemptsTrial(evidence, count: count ?? 1_000_000).run()
    } catch {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        failures += 1
    }
    if !isLong {
        evidence.remove()
        exit(failures == 0 ? 0 : 1)
    }
}

if isLong || arguments.first == "--reconcile" {
    do {
        try ReconcileTrial(evidence, isLong ? [] : Array(arguments.dropFirst())).run()
    } catch {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        failures += 1
    }
    if !isLong {
        evidence.remove()
        exit(failures == 0 ? 0 : 1)
    }
}

if isLong || arguments.first == "--ledger" {
    do {
        let options = try LedgerLoad.Options(isLong ? [] : arguments.dropFirst())
        try LedgerLoad(evidence, options).run()
        if isLong || arguments.count == 1 { try WaitingTrial(evidence).run() }
    } catch {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        failures += 1
    }
    if !isLong {
        evidence.remove()
        exit(failures == 0 ? 0 : 1)
    }
}

// MARK: Latency against load

if arguments.starts(with: ["--service", "--json"]) {
    let seconds = arguments.contains("--smoke") ? 0.3 : 4
    let server = try start()
    _ = load(server, mixed, seconds: 1)
    let rows = [1, 2, 4, 8, 16, 32, 64, 128, 256].map { connections in
        let result = load(server, mixed, connections: connections, seconds: seconds)
        return """
            {"clients":\(connections),"per_second":\(format(result.perSecond, 0)),\
            "p50_ms":\(format(result.latency(0.5), 2)),"p99_ms":\(format(result.latency(0.99), 2))}
            """
    }
    print("[\(rows.joined(separator: ",\n "))]")
    _ = server.terminate()
    evidence.remove()
    exit(0)
}

guard arguments.allSatisfy({ $0 == "--long" }) else {
    FileHandle.standardError.write(Data("server-trial: see `benchmark` for the options\n".utf8))
    evidence.remove()
    exit(2)
}

// MARK: Throughput

/// Returns the processor time that the library takes for a ``mixed`` request in this process, while the server has the
/// same load.
@MainActor func libraryMicroseconds(under server: ServerProcess) throws -> Double {
    var policy = VerificationPolicy(bundleIDs: [MintedEvidence.bundleID], environments: [.production])
    policy.clock = { .now }
    let verifier = try AppStoreVerifier(policy: policy, trust: evidence.trust)
    let responder = try VerifyReceiptResponder(policy: policy, trust: evidence.trust)
    let bodies = mixed.map { request in
        let end = request.firstRange(of: Array("\r\n\r\n".utf8)).map(\.upperBound) ?? 0
        return (request.starts(with: "POST /verifyReceipt".utf8), Array(request[end...]))
    }
    let port = server.port
    let thread = Thread {
        var load = Load(port: port, requests: mixedForThread)
        load.connectionCount = 16
        load.seconds = 4
        _ = load.run()
    }
    mixedForThread = mixed
    thread.start()
    usleep(300_000)
    let start = threadSeconds()
    var count = 0
    while threadSeconds() - start < 1.5 {
        for (isRequest, body) in bodies {
            if isRequest { _ = responder.answer(to: body) } else { _ = try? verifier.verify(body).json }
            count += 1
        }
    }
    let result = (threadSeconds() - start) / Double(count) * 1e6
    while !thread.isFinished { usleep(50_000) }
    return result
}

/// Set before the thread that reads it starts.
nonisolated(unsafe) var mixedForThread: [[UInt8]] = []

func threadSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

do {
    func mean(_ results: [Load.Result]) -> Double { results.map(\.perSecond).reduce(0, +) / Double(results.count) }
    let server = try start()
    _ = load(server, mixed, seconds: 1)
    let memory = server.residentKiB
    let library = try libraryMicroseconds(under: server)
    // Alternate receipts and /healthz, because other load varies.
    for (name, change) in [("kept alive", { $0 }), ("one for each request", alone)] as [(String, ([UInt8]) -> [UInt8])]
    {
        var health: [Load.Result] = [], receipts: [Load.Result] = []
        var seconds = (health: 0.0, receipts: 0.0)
        for _ in 0..<2 {
            let start = server.processorSeconds
            health.append(load(server, healthRequests.map(change), seconds: 5))
            let middle = server.processorSeconds
            receipts.append(load(server, mixed.map(change), seconds: 10))
            let end = server.processorSeconds
            health.append(load(server, healthRequests.map(change), seconds: 5))
            seconds.health += server.processorSeconds - end + middle - start
            seconds.receipts += end - middle
        }
        func perSecond(_ results: [Load.Result], _ seconds: Double) -> String {
            format(Double(results.reduce(0) { $0 + $1.answerCount }) / seconds, 0)
        }
        row(
            "64 connections, \(name), /healthz",
            "\(format(mean(health), 0)) requests a second, p99 \(format(health[0].latency(0.99))) ms; \(perSecond(health, seconds.health)) a second of the server's processor time"
        )
        for result in receipts {
            row(
                "64 connections, \(name), 10 s of mixed receipts",
                "\(format(result.perSecond, 0)) requests a second, p50 \(format(result.latency(0.5))) ms, p99 \(format(result.latency(0.99))) ms, greatest \(format(result.latency(1))) ms, cut \(result.cutCount), refused \(result.refusedCount)",
                result.cutCount == 0 && result.refusedCount == 0 && result.statuses.keys.allSatisfy { $0 == 200 })
        }
        row(
            "    of one processor, all of it the server's", "\(perSecond(receipts, seconds.receipts)) requests a second"
        )
        row("    beside /healthz", "\(format(mean(receipts) / mean(health), 2)) × as many requests a second")
        // The server should add no more to the library's time than a request to /healthz takes, which is a third of
        // libcrypto's time for a signature.
        func microseconds(_ results: [Load.Result], _ seconds: Double) -> Double {
            seconds / Double(results.reduce(0) { $0 + $1.answerCount }) * 1e6
        }
        let (empty, whole) = (microseconds(health, seconds.health), microseconds(receipts, seconds.receipts))
        let share = (library + empty) / whole
        row(
            "    processor time of a request",
            "\(format(whole)) µs; /healthz takes \(format(empty)) and the library alone \(format(library)), together \(format(share, 2)) × of it, and at least 0.80",
            share >= 0.8)
    }
    row(
        "memory after all these", "\(server.residentKiB / 1024) MiB, before \(memory / 1024) MiB",
        server.residentKiB - memory < 8 << 10)
    row("end", "exit status \(server.terminate())")
}

// MARK: Clients that are slow or idle

do {
    let server = try start("--connections", "4096")
    _ = load(server, mixed, connections: 8, seconds: 1)
    let alone = load(server, mixed, connections: 8, seconds: 3)
    let before = server.residentKiB
    let idle = try (0..<1000).map { _ in try Client(port: server.port) }
    // Half stall in the headers, half in the body: each sends a byte a second.
    let slow = try (0..<400).map { index in
        let client = try Client(port: server.port)
        client.send(
            index % 2 == 0
                ? "GET / HTTP/1.1\r\n" : "POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
        return client
    }
    var ended: [Double] = []
    var open = slow
    var lastByte = 0.0
    var memory = 0
    var run = Load(port: server.port, requests: mixed)
    run.connectionCount = 8
    run.seconds = 13
    let result = run.run { seconds in
        guard seconds - lastByte >= 1 else { return }
        lastByte = seconds
        memory = max(memory, server.residentKiB)
        open = open.filter { client in
            if client.send("a") { return true }
            ended.append(seconds)
            return false
        }
    }
    row(
        "8 connections beside 1000 idle and 400 slow ones",
        "\(format(result.perSecond, 0)) requests a second (\(format(alone.perSecond, 0)) alone), p99 \(format(result.latency(0.99))) ms, cut \(result.cutCount)",
        result.cutCount == 0 && result.statuses.keys.allSatisfy { $0 == 200 })
    row(
        "400 slow ones", "\(ended.count) ended, the last after \(format(ended.max() ?? 0)) s",
        ended.count == 400 && (ended.max() ?? 99) < 13)
    row("memory of 1400 connections", "\((memory - before) / 1024) MiB", memory - before < 64 << 10)
    usleep(500_000)
    row("open files afterwards", "\(server.openFileCount)", server.openFileCount < 40)
    withExtendedLifetime(idle) {}
    row("end", "exit status \(server.terminate())")
}

// MARK: SIGTERM under load

for (name, change) in [("kept alive", { $0 }), ("one for each request", alone)] as [(String, ([UInt8]) -> [UInt8])] {
    var cut = 0
    var answers = 0
    var forced = 0
    var longest = 0.0
    for _ in 0..<(isLong ? 50 : 10) {
        let server = try start()
        var run = Load(port: server.port, requests: mixed.map(change))
        run.seconds = 20
        var sent: Double?
        let result = run.run { seconds in
            if seconds > 0.3, sent == nil {
                sent = seconds
                server.send(SIGTERM)
            }
        }
        cut += result.cutCount
        answers += result.answerCount
        forced += server.wait() == 0 ? 0 : 1
        longest = max(longest, result.seconds - (sent ?? 0))
    }
    row(
        "SIGTERM under load, connections \(name)",
        "\(cut) cut, \(answers) requests answered, longest end \(format(longest, 2)) s", cut == 0 && forced == 0)
}

// MARK: A million requests

if isLong {
    let server = try start()
    var run = Load(port: server.port, requests: all)
    run.requestCount = 100_000
    _ = run.run()
    let (memory, files) = (server.residentKiB, server.openFileCount)
    run.requestCount = 1_000_000
    let result = run.run()
    row(
        "a million requests",
        "\(format(result.perSecond, 0)) a second, memory \(memory) KiB after the first 100000 and \(server.residentKiB) KiB at the end, \(files) and \(server.openFileCount) open files, cut \(result.cutCount)",
        server.residentKiB - memory < 2 << 10 && result.cutCount == 0 && result.answerCount >= 1_000_000)
    row("end", "exit status \(server.terminate())")
}

evidence.remove()
exit(failures == 0 ? 0 : 1)
