import Foundation
import Testing
import TrialSupport

/// The built executable on loopback: what only a process and a socket show.
@Suite(.serialized) struct EndToEndTests {
    /// Keys take time, so all tests have the same authorities.
    private static let minted = Result { try MintedEvidence() }
    private let evidence: MintedEvidence

    init() throws { evidence = try Self.minted.get() }

    private func start(_ options: String..., environment: [String: String] = [:]) throws -> ServerProcess {
        try ServerProcess(
            evidence.trustOptions + ["--bundle-id", MintedEvidence.bundleID] + options, environment: environment)
    }

    private func verifyReceipt(_ server: ServerProcess, _ path: String = "/verifyReceipt") throws -> ReceivedAnswer {
        try request("POST", path, Array(MintedEvidence.body(evidence.receipt()).utf8), port: server.port)
    }

    /// Whether the server still answers others.
    private func expectServed(_ server: ServerProcess) throws {
        #expect(try verifyReceipt(server).object["status"] as? Int == 0)
        #expect(try request("GET", "/healthz", port: server.port).status == 200)
    }

    /// Waits until the metrics have a line: the server sees connections and bodies when it comes to them.
    private func waitFor(_ line: String, in server: ServerProcess) throws {
        try wait { try request("GET", "/metrics", port: server.metricsPort).text.contains(line + "\n") }
    }

    // MARK: Answers

    @Test func `answers have the status, the headers and the length of HTTP`() throws {
        let server = try start()
        let answer = try verifyReceipt(server)
        #expect(answer.status == 200)
        #expect(answer.headers["content-type"] == "application/json")
        #expect(answer.object["status"] as? Int == 0)
        let head = try request("HEAD", "/healthz", port: server.port)
        #expect(head.status == 200 && head.headers["content-length"] == "15" && head.body.isEmpty)
        let other = try request("PATCH", "/v1/verify", port: server.port)
        #expect(other.status == 405 && other.headers["allow"] == "POST")
        #expect(server.terminate() == 0)
    }

    @Test(arguments: [
        #""$0" --ledger "$(printf '\377')" 2>&1"#, #"env RECEIPT_SERVER_LEDGER="$(printf '\377')" "$0" 2>&1"#,
    ])
    func `an argument or a variable that is not UTF-8 is refused, and is not the name of another file`(
        command: String
    ) throws {
        let shell = Process()
        shell.executableURL = URL(filePath: "/bin/sh")
        shell.arguments = ["-c", command, ServerProcess.executable.path(percentEncoded: false)]
        let output = Pipe()
        shell.standardOutput = output
        try shell.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 2)
        #expect(text == "receipt-server: an argument or a variable RECEIPT_SERVER_… is not UTF-8\n")
    }

    @Test func `a variable of the environment has the effect of its option, and the option counts more`() throws {
        let server = try ServerProcess(
            ["--bundle-id", "com.example.other"],
            environment: [
                "RECEIPT_SERVER_ROOT": evidence.path("root.der"), "RECEIPT_SERVER_BUNDLE_ID": MintedEvidence.bundleID,
            ])
        #expect(try verifyReceipt(server).object["status"] as? Int == 21003)
        let second = try ServerProcess(
            environment: [
                "RECEIPT_SERVER_ROOT": evidence.path("root.der"),
                "RECEIPT_SERVER_BUNDLE_ID": "\(MintedEvidence.bundleID),com.example.other",
            ])
        #expect(try verifyReceipt(second).object["status"] as? Int == 0)
    }

    // MARK: Bodies

    @Test func `a body beyond the limit is answered with 413, with a length and in chunks`() throws {
        let server = try start("--maximum-body", "2000")
        let body = [UInt8](repeating: UInt8(ascii: "A"), count: 2001)
        #expect(try request("POST", "/v1/verify", body, port: server.port).status == 413)
        #expect(try request("POST", "/verifyReceipt", body, port: server.port).errorCode == "body-too-large")
        // The length alone says it: nothing of the body was sent.
        let early = try Client(port: server.port)
        early.send("POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
        #expect(early.receive()?.status == 413)
        #expect(early.readsEnd())
        // All of it is read, so that the client reads the answer; then the connection goes on.
        let chunked = try Client(port: server.port)
        chunked.send("POST /v1/verify HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<100 { chunked.send(Array("7d1\r\n".utf8) + body + Array("\r\n".utf8)) }
        chunked.send("0\r\n\r\n")
        #expect(chunked.receive()?.status == 413)
        chunked.send(requestBytes("GET", "/healthz"))
        #expect(chunked.receive()?.status == 200)
        #expect(try request("POST", "/v1/verify", Array(body.dropLast()), port: server.port).status == 400)
    }

    @Test func `a receipt in chunks is a receipt`() throws {
        let server = try start()
        let client = try Client(port: server.port)
        client.send("POST /v1/verify HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        for byte in try evidence.receipt() { client.send(Array("1\r\n".utf8) + [byte] + Array("\r\n".utf8)) }
        client.send("0\r\n\r\n")
        #expect(client.receive()?.object["verified"] as? Bool == true)
    }

    @Test func `large bodies that stall take no more than their memory, and beyond it the answer is 503`() throws {
        let large = try evidence.receipt(purchaseCount: 300)
        #expect(large.count > 65536)
        let server = try start(
            "--queue", "2", "--body-time", "60", "--maximum-body", "\(large.count)", "--memory", "\(4 * large.count)")
        // More clients than the queue has places do not finish.
        let held = try (0..<3).map { _ in
            let client = try Client(port: server.port)
            client.send(Array(requestBytes("POST", "/v1/verify", large).dropLast(10)))
            return client
        }
        let memoryOfThree = "receipt_server_memory_bytes{lane=\"processor\"} \(3 * (large.count - 10))"
        try waitFor(memoryOfThree, in: server)
        #expect(try request("POST", "/v1/verify", large, port: server.port).status == 200)
        // The memory of what was answered is given back after the answer.
        try waitFor(memoryOfThree, in: server)
        let fourth = try Client(port: server.port)
        fourth.send(Array(requestBytes("POST", "/v1/verify", large).dropLast(10)))
        try waitFor("receipt_server_memory_bytes{lane=\"processor\"} \(4 * (large.count - 10))", in: server)
        let busy = try request("POST", "/v1/verify", large, port: server.port)
        #expect(busy.status == 503 && busy.headers["retry-after"] == "1" && busy.errorCode == "memory-full")
        try expectServed(server)
        for client in held + [fourth] {
            client.send(Array(requestBytes("POST", "/v1/verify", large).suffix(10)))
            // The queue has two places.
            #expect([200, 503].contains(client.receive()?.status))
        }
        #expect(try request("POST", "/v1/verify", large, port: server.port).status == 200)
        try waitFor(#"receipt_server_memory_bytes{lane="processor"} 0"#, in: server)
    }

    // MARK: Clients that are slow, many or wrong

    @Test func `a client that sends one byte at a time is cut when its time is over`() throws {
        let server = try start("--header-time", "1", "--body-time", "1", "--idle-time", "2")
        let header = try Client(port: server.port)
        let body = try Client(port: server.port)
        body.send("POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
        let idle = try Client(port: server.port)
        idle.send(requestBytes("GET", "/healthz"))
        #expect(idle.receive()?.status == 200)
        let start = Date.now
        var end: [String: TimeInterval] = [:]
        for byte in Array(repeating: UInt8(ascii: "G"), count: 80) where end.count < 3 {
            usleep(100_000)
            for (name, client) in [("header", header), ("body", body), ("idle", idle)] where end[name] == nil {
                if !client.send([byte]) { end[name] = Date.now.timeIntervalSince(start) }
            }
        }
        for (name, time) in ["header": 1.0, "body": 1, "idle": 2] {
            #expect(try time...(time + 4) ~= #require(end[name]), "\(name) after \(end[name] ?? -1) s")
        }
        try expectServed(server)
        let metrics = try request("GET", "/metrics", port: server.metricsPort).text
        for phase in ["headers", "body", "idle"] {
            #expect(metrics.contains("receipt_server_late_clients_total{phase=\"\(phase)\"} 1\n"))
        }
    }

    @Test func `a client that does not read its answer is cut when its time is over`() throws {
        let server = try start("--answer-time", "1", "--idle-time", "60")
        let client = try Client(port: server.port)
        // As many answers as no buffer of the system holds.
        let requests = try requestBytes("POST", "/v1/verify", evidence.receipt(purchaseCount: 200))
        DispatchQueue.global().async { for _ in 0..<500 where !client.send(requests) { break } }
        try wait { !server.events("late").isEmpty }
        #expect(server.events("late").first?["phase"] as? String == "answer")
        try expectServed(server)
    }

    @Test func `connections beyond the limit get 503, and those within are served`() throws {
        let server = try start("--connections", "20", "--threads", "2")
        let within = try (0..<20).map { _ in try Client(port: server.port) }
        try waitFor("receipt_server_connections 20", in: server)
        let beyond = try request("GET", "/healthz", port: server.port)
        #expect(beyond.status == 503 && beyond.headers["retry-after"] == "1")
        #expect(beyond.errorCode == "too-many-connections" && beyond.headers["connection"] == "close")
        for client in within {
            client.send(requestBytes("GET", "/healthz"))
            #expect(client.receive()?.status == 200)
        }
    }

    @Test func `a thousand idle connections are bounded, and others are served`() throws {
        // Long enough that none is closed while the others connect.
        let server = try start("--header-time", "15")
        try expectServed(server)
        let before = server.residentKiB
        let idle = try (0..<1000).map { _ in try Client(port: server.port) }
        try waitFor("receipt_server_connections 1000", in: server)
        try expectServed(server)
        let perConnection = (server.residentKiB - before) / 1000
        print("1000 idle connections: \(perConnection) KiB each")
        #expect(perConnection < 40)
        #expect(server.openFileCount > 1000)
        try wait { server.openFileCount < 50 }
        withExtendedLifetime(idle) {}
    }

    private static let malformed: [(String, String)] = [
        ("empty lines", "\r\n\r\n\r\n\r\n"), ("a method alone", "GET\r\n\r\n"),
        ("no version", "GET /healthz\r\n\r\n"), ("an unknown version", "GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n"),
        ("no host", "GET /healthz HTTP/1.1\r\n\r\n"),
        ("a space before a colon", "GET /healthz HTTP/1.1\r\nHost : x\r\n\r\n"),
        ("a folded header", "GET /healthz HTTP/1.1\r\nHost: x\r\n folded: y\r\n\r\n"),
        ("control characters", "\u{0}\u{1}\u{2}\r\n\r\n"),
        ("the beginning of TLS", "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}"),
        ("a negative length", post("Content-Length: -1")), ("a length with an exponent", post("Content-Length: 1e3")),
        ("two lengths", post("Content-Length: 5\r\nContent-Length: 6") + "abcdef"),
        ("a length and chunks", post("Content-Length: 5\r\nTransfer-Encoding: chunked") + "0\r\n\r\n"),
        ("an unknown encoding", post("Transfer-Encoding: gzip") + "abc"),
        ("a chunk without a length", post("Transfer-Encoding: chunked") + "xyz\r\n"),
        ("a chunk beyond 64 bits", post("Transfer-Encoding: chunked") + "FFFFFFFFFFFFFFFFF\r\n"),
        ("a long path", "GET /" + String(repeating: "a", count: 100_000) + " HTTP/1.1\r\nHost: x\r\n\r\n"),
        ("a long header", "GET / HTTP/1.1\r\nHost: x\r\nX: " + String(repeating: "a", count: 100_000) + "\r\n\r\n"),
        ("many headers", "GET / HTTP/1.1\r\nHost: x\r\n" + String(repeating: "a: b\r\n", count: 20_000) + "\r\n"),
    ]
    private static func post(_ headers: String) -> String {
        "POST /v1/verify HTTP/1.1\r\nHost: x\r\n\(headers)\r\n\r\n"
    }

    @Test(arguments: malformed.indices)
    func `malformed HTTP is refused, and others are served`(index: Int) throws {
        let (name, text) = Self.malformed[index]
        let server = try start("--header-time", "1", "--body-time", "1")
        let client = try Client(port: server.port)
        client.send(text)
        if let answer = client.receive() {
            #expect((400..<600).contains(answer.status), "\(name): \(answer.status)")
        }
        #expect(client.readsEnd(), "\(name): still open")
        try expectServed(server)
        #expect(server.terminate() == 0)
    }

    @Test func `pipelined requests are answered in order`() throws {
        let server = try start()
        let client = try Client(port: server.port)
        let receipt = try evidence.receipt()
        for index in 0..<200 {
            client.send(index % 2 == 0 ? requestBytes("POST", "/v1/verify", receipt) : requestBytes("GET", "/healthz"))
        }
        for index in 0..<200 {
            let answer = client.receive()
            #expect((answer?.object["verified"] as? Bool == true) == (index % 2 == 0))
        }
        // One that pipelines without end is answered request by request, and others beside it.
        DispatchQueue.global().async {
            let requests = requestBytes("GET", "/healthz")
            for _ in 0..<200_000 where !client.send(requests) { break }
        }
        usleep(200_000)
        try expectServed(server)
        #expect(server.residentKiB < 200 << 10)
    }

    @Test func `where the system allows few open files, there are as many connections as fit`() throws {
        let server = try ServerProcess(evidence.trustOptions, openFileCount: 200)
        #expect(server.events("few-open-files").first?["connections"] as? Int == 72)
        // Without --bundle-id.
        #expect(server.events("no-bundle-id").count == 1)
        let clients = try (0..<72).map { _ in try Client(port: server.port) }
        try waitFor("receipt_server_connections 72", in: server)
        #expect(try request("GET", "/healthz", port: server.port).status == 503)
        for client in clients {
            client.send(requestBytes("GET", "/healthz"))
            #expect(client.receive()?.status == 200)
        }
    }

    @Test func `of few open files, those of the support desk are left to it`() throws {
        let tokens = try evidence.write(Array("a-token-of-staff-0123456789 support\n".utf8), to: "tokens-of-staff")
        let desk = [
            "--ledger", evidence.path("few.db"), "--new-ledger", "--token-file", tokens, "--support", "127.0.0.1:0",
        ]
        let server = try ServerProcess(
            evidence.trustOptions + ["--bundle-id", MintedEvidence.bundleID] + desk, openFileCount: 600)
        // The desk has 256 connections, 64 to say that it is busy, and 64 files.
        #expect(server.events("few-open-files").first?["connections"] as? Int == 88)
        #expect(server.events("no-bundle-id").isEmpty)
        #expect(server.terminate() == 0)
    }

    // MARK: Operation

    @Test func `SIGTERM under load cuts no connection, and ends in time`() throws {
        for _ in 0..<3 {
            let server = try start("--log", "none", "--stop-time", "30")
            var load = Load(
                port: server.port,
                requests: try [
                    requestBytes("POST", "/v1/verify", evidence.receipt()),
                    requestBytes("GET", "/healthz"),
                    requestBytes("POST", "/v1/verify", evidence.receipt(purchaseCount: 10)),
                    // By way of the queue.
                    requestBytes("POST", "/v1/verify", evidence.receipt(purchaseCount: 300)),
                ])
            load.seconds = 20
            var isSent = false
            let result = load.run { seconds in
                if seconds > 0.5, !isSent {
                    isSent = true
                    server.send(SIGTERM)
                }
            }
            #expect(result.cutCount == 0)
            #expect(result.statuses.keys.sorted() == [200])
            #expect(result.seconds < 30)
            #expect(server.wait() == 0)
            #expect(server.events("stop").first?["connections_cut"] as? Int == 0)
        }
    }

    @Test func `a stop with clients that hang ends at its deadline`() throws {
        let server = try start("--stop-time", "1", "--body-time", "60")
        let client = try Client(port: server.port)
        client.send("POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
        usleep(200_000)
        let start = Date.now
        #expect(server.terminate() == 0)
        #expect(Date.now.timeIntervalSince(start) < 3)
        #expect(server.events("stop").first?["connections_cut"] as? Int == 1)
    }

    @Test func `SIGHUP while it stops cuts no request that is under way`() throws {
        let server = try start()
        let client = try Client(port: server.port)
        let body = requestBytes("POST", "/v1/verify", try evidence.receipt())
        client.send(Array(body.dropLast(10)))
        usleep(200_000)
        server.send(SIGTERM)
        usleep(300_000)
        server.send(SIGHUP)
        usleep(100_000)
        client.send(Array(body.suffix(10)))
        #expect(client.receive()?.status == 200)
        #expect(server.wait() == 0)
    }

    @Test func `before it stops it says that it is not ready`() throws {
        let server = try start("--unready-time", "2")
        #expect(try request("GET", "/readyz", port: server.port).status == 200)
        server.send(SIGTERM)
        usleep(500_000)
        let answer = try request("GET", "/readyz", port: server.port)
        #expect(answer.status == 503 && answer.headers["retry-after"] == "1")
        try expectServed(server)
        #expect(server.wait() == 0)
    }

    @Test func `metrics count verdicts, answers, connections and the cache`() throws {
        let server = try start()
        for _ in 0..<3 { _ = try verifyReceipt(server) }
        _ = try request("POST", "/v1/verify", evidence.receipt(isForged: true), port: server.port)
        let answer = try request("GET", "/metrics", port: server.metricsPort)
        #expect(answer.headers["content-type"]?.hasPrefix("text/plain; version=0.0.4") == true)
        for line in [
            #"receipt_server_verdicts_total{code="verified"} 3"#,
            #"receipt_server_verdicts_total{code="untrusted-chain"} 1"#,
            #"receipt_server_requests_total{route="/verifyReceipt",status="200"} 3"#,
            #"receipt_server_requests_total{route="/v1/verify",status="403"} 1"#,
            #"receipt_server_request_seconds_count{route="/verifyReceipt"} 3"#,
            "receipt_server_chain_cache_hits_total 2",
            "receipt_server_connections_total 4",
        ] { #expect(answer.text.contains(line + "\n"), "\(line)") }
        // They are on no other listener, and nothing else is on theirs.
        #expect(try request("GET", "/metrics", port: server.port).status == 404)
        #expect(try request("POST", "/verifyReceipt", port: server.metricsPort).status == 404)
    }

    @Test func `the log has no receipt, no password and no token`() throws {
        let server = try start("--log", "all")
        let receipt = try evidence.receipt(isForged: true)
        let body = MintedEvidence.body(receipt, password: "hunter2")
        _ = try request(
            "POST", "/verifyReceipt?key=hunter3", Array(body.utf8), headers: ["Authorization: Bearer hunter4"],
            port: server.port)
        _ = try request("hunter5", "/hunter6", port: server.port)
        _ = try request("POST", "/v1/verify", Array(try evidence.transaction().utf8), port: server.port)
        let log = server.log
        #expect(server.events("answer").count == 3)
        #expect(server.events("answer").first?["code"] as? String == "untrusted-chain")
        #expect(!log.contains("hunter"))
        #expect(!log.contains(Data(receipt).base64EncodedString().prefix(40)))
        #expect(!log.contains("eyJ"))
        for line in log.split(separator: "\n") {
            #expect((try? JSONSerialization.jsonObject(with: Data(line.utf8))) is [String: Any], "\(line)")
        }
    }

    @Test(arguments: ["--listen", "--metrics", "--support"])
    func `a server whose port is taken says what to do, and leaves no ledger`(option: String) throws {
        let server = try start()
        let folder = FileManager.default.temporaryDirectory.appending(path: "port-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (ledger, tokens) = (folder.appending(path: "ledger.db").path, folder.appending(path: "tokens").path)
        try "a-token-of-staff-0123456789 support\n".write(toFile: tokens, atomically: true, encoding: .utf8)
        var addresses = ["--listen": "127.0.0.1:0", "--support": "127.0.0.1:0"]
        addresses[option] = "127.0.0.1:\(server.port)"
        let (status, text) = try run(
            ["--ledger", ledger, "--new-ledger", "--token-file", tokens] + addresses.flatMap { [$0.key, $0.value] })
        #expect(status == 2)
        #expect(text.contains("cannot listen on 127.0.0.1:\(server.port): Address already in use: end the program"))
        #expect(!FileManager.default.fileExists(atPath: ledger))
    }

    @Test(arguments: [
        (["--listen", "nowhere"], "--listen must be a host and a port"),
        (["--listen", "192.0.2.1:1"], "cannot listen on 192.0.2.1:1"),
        (["--environment", "xcode"], "--environment cannot be 'xcode'; expected: production, sandbox"),
        (["--root", "/nonexistent"], "/nonexistent: No such file"),
        (["--connections", "0"], "--connections must be a number"),
        (["--rot", "x"], "'--rot' is no option"),
        (["reconsile"], "'reconsile' is no command; there are init, import, check-apple, reconcile"),
        (
            ["reconcile", "--token-file", "x"],
            "'--token-file' is no option of 'receipt-server reconcile'; 'receipt-server reconcile --help' lists them"
        ), (["--bundle-id"], "--bundle-id needs a value"),
        (["--bundle-id="], "--bundle-id must not be empty"), (["--log", "loud"], "--log must be"),
        (["--connections", "1000000"], "need 1125064 open files, and this system allows"),
        (["--distrust", "x"], "x: No such file"), (["--listen=127.0.0.1:0", "--listen=127.0.0.1:0"], "given twice"),
    ])
    func `a configuration that cannot work ends with words and status 2`(options: [String], words: String) throws {
        let (status, text) = try run(options)
        #expect(status == 2)
        #expect(text.contains(words), "\(text)")
    }

    /// Runs a server that ends by itself, and returns its exit status and what it wrote to standard error.
    private func run(_ options: [String]) throws -> (status: Int32, errors: String) {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/bash")
        // The limit is that of a system which allows less than a million files.
        process.arguments =
            ["-c", "ulimit -n 5000; exec \"$@\"", "-", ServerProcess.executable.path(percentEncoded: false)] + options
        let errors = Pipe()
        process.standardError = errors
        try process.run()
        let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }
}
