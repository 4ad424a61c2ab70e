import Foundation
import TrialSupport

// What README.md promises, measured: each row with what it must be.
//
//   server-trial [--long]

let isLong = CommandLine.arguments.contains("--long")
let evidence = try MintedEvidence()
var failures = 0

func format(_ value: Double, _ digits: Int = 1) -> String { String(format: "%.\(digits)f", value) }

@MainActor func row(_ name: String, _ value: String, _ holds: Bool = true) {
    // At once, also into a file.
    FileHandle.standardOutput.write(Data("\(holds ? "ok    " : "FAILED")  \(name): \(value)\n".utf8))
    if !holds { failures += 1 }
}

@MainActor func start(_ options: String...) throws -> ServerProcess {
    try ServerProcess(evidence.trustOptions + ["--bundle-id", MintedEvidence.bundleID, "--log", "none"] + options)
}

/// Receipts of several sizes, also some that are refused, on every path.
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
    requests.append(requestBytes("POST", "/v1/verify", Array(try evidence.transaction().utf8)))
    let pieces = #"{"evidence":["\#(try evidence.receipt(purchaseCount: 5).base64EncodedString)","\#(try evidence.transaction())"]}"#
    requests.append(requestBytes("POST", "/v1/entitlements", Array(pieces.utf8)))
    return requests
}()
let healthRequests = [requestBytes("GET", "/healthz")]

extension [UInt8] {
    var base64EncodedString: String { Data(self).base64EncodedString() }
}

func load(_ server: ServerProcess, _ requests: [[UInt8]], connections: Int = 64, seconds: Double) -> Load.Result {
    var load = Load(port: server.port, requests: requests)
    load.connectionCount = connections
    load.seconds = seconds
    return load.run()
}

// MARK: Throughput

do {
    let server = try start()
    _ = load(server, mixed, seconds: 1)
    let memory = server.residentKiB
    var health: [Load.Result] = [], receipts: [Load.Result] = []
    var processorSeconds = 0.0
    for _ in 0..<2 {
        health.append(load(server, healthRequests, seconds: 5))
        let before = server.processorSeconds
        receipts.append(load(server, mixed, seconds: 10))
        processorSeconds += server.processorSeconds - before
        health.append(load(server, healthRequests, seconds: 5))
    }
    func mean(_ results: [Load.Result]) -> Double { results.map(\.perSecond).reduce(0, +) / Double(results.count) }
    let ratio = mean(receipts) / mean(health)
    let answers = receipts.reduce(0) { $0 + $1.answerCount }
    row("64 connections, /healthz", "\(format(mean(health), 0)) requests a second, p99 \(format(health[0].latency(0.99))) ms")
    for result in receipts {
        row(
            "64 connections for 10 s, mixed receipts",
            "\(format(result.perSecond, 0)) requests a second, p50 \(format(result.latency(0.5))) ms, p99 \(format(result.latency(0.99))) ms, greatest \(format(result.latency(1))) ms, statuses \(result.statuses.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")), cut \(result.cutCount)",
            result.cutCount == 0 && result.refusedCount == 0 && result.statuses.keys.allSatisfy { $0 == 200 })
    }
    row("mixed receipts beside /healthz", "\(format(ratio, 2)) ×, and at least 0.80", ratio >= 0.8)
    row("requests a second of one processor, all of it the server's", format(Double(answers) / processorSeconds, 0))
    row("memory after \(answers) requests", "\(server.residentKiB / 1024) MiB, before \(memory / 1024) MiB", server.residentKiB - memory < 8 << 10)
    row("end", "exit status \(server.terminate())")
}

// MARK: Clients that are slow or idle

do {
    let server = try start("--connections", "4096")
    _ = load(server, mixed, connections: 8, seconds: 1)
    let alone = load(server, mixed, connections: 8, seconds: 3)
    let before = server.residentKiB
    let idle = try (0..<1000).map { _ in try Client(port: server.port) }
    // Half of them in the headers, half in the body; each gets a byte a second.
    let slow = try (0..<400).map { index in
        let client = try Client(port: server.port)
        client.send(index % 2 == 0 ? "GET / HTTP/1.1\r\n" : "POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
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
    row("400 slow ones", "\(ended.count) ended, the last after \(format(ended.max() ?? 0)) s", ended.count == 400 && (ended.max() ?? 99) < 13)
    row("memory of 1400 connections", "\((memory - before) / 1024) MiB", memory - before < 64 << 10)
    usleep(500_000)
    row("open files afterwards", "\(server.openFileCount)", server.openFileCount < 40)
    withExtendedLifetime(idle) {}
    row("end", "exit status \(server.terminate())")
}

// MARK: SIGTERM under load

do {
    var cut = 0, answers = 0, forced = 0
    var longest = 0.0
    for _ in 0..<(isLong ? 50 : 10) {
        let server = try start()
        var run = Load(port: server.port, requests: mixed)
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
    row("SIGTERM under load", "\(cut) connections cut, \(answers) requests answered, longest end \(format(longest * 1000, 0)) ms", cut == 0 && forced == 0)
}

// MARK: A million requests

if isLong {
    let server = try start()
    var run = Load(port: server.port, requests: mixed)
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
