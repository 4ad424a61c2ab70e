import Foundation

/// A proxy for a PostgreSQL server that ends connections where a test chooses.
package final class LossyProxy: Sendable {
    /// When a lost call's connection ends.
    package enum Moment: String, CaseIterable, Sendable {
        /// Before the server receives the call.
        case before
        /// After the server has answered, and the client has received half of the answer.
        case amid
        /// After the server has answered, and before the client receives it.
        case after
    }

    /// The planned losses.
    private struct Plan {
        /// The number of commits with an insert whose answers to lose.
        var commits = 0
        /// The number of connections to refuse after each.
        var connectionsThen = 0
        var connections = 0
        /// A call after `rest` others. A call is all that a client sends before it waits.
        var call: (rest: Int, moment: Moment)?
        var lostCalls = 0
    }

    /// The URI of the database through the proxy.
    package let uri: String
    /// The folder of the socket.
    private let folder: String
    private let listener: Int32
    private let plan = Guarded(Plan())

    /// - Parameter uri: A database's URI, with the server's socket folder as its host.
    package init(before uri: String) throws {
        guard let server = uri.components(separatedBy: "host=").last?.components(separatedBy: "&").first else {
            throw ChildProcess.Failure(description: "no folder in \(uri)")
        }
        let folder = "/tmp/ledger-proxy-\(UUID().uuidString.prefix(8))"
        self.folder = folder
        self.uri = uri.replacingOccurrences(of: server, with: folder)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        listener = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard Self.withAddress(folder, { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
            throw ChildProcess.Failure(description: "no socket in \(folder)")
        }
        Thread { [listener, plan] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                Self.serve(client, server, plan)
            }
        }.start()
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Loses the answers to the next `count` commits with an insert, and refuses `connections` connections after each.
    package func loseCommits(_ count: Int, andConnections connections: Int = 0) {
        plan.withLock { ($0.commits, $0.connectionsThen) = (count, connections) }
    }

    /// Loses one call after `count` others on any connection. Opening a connection counts as a call.
    package func loseCall(after count: Int, _ moment: Moment) { plan.withLock { $0.call = (count, moment) } }

    /// Cancels the plan, and returns the number of lost calls.
    @discardableResult
    package func loseNothing() -> Int {
        plan.withLock { plan in
            defer { plan = Plan() }
            return plan.lostCalls
        }
    }

    private static func withAddress(_ folder: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: (folder + "/.s.PGSQL.5432").utf8) }
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }

    /// The state that both directions share.
    private struct Exchange {
        var openCount = 2
        var isLost: Moment?
        var hasInserted = false
    }

    private static func serve(_ client: Int32, _ server: String, _ plan: Guarded<Plan>) {
        let backend = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let isRefused = plan.withLock { plan in
            defer { plan.connections = max(0, plan.connections - 1) }
            return plan.connections > 0
        }
        guard !isRefused, withAddress(server, { connect(backend, $0, $1) }) == 0 else {
            close(backend)
            close(client)
            return
        }
        let exchange = Guarded(Exchange())
        let end = { @Sendable in
            shutdown(client, Int32(SHUT_RDWR))
            shutdown(backend, Int32(SHUT_RDWR))
            let isLast = exchange.withLock {
                $0.openCount -= 1
                return $0.openCount == 0
            }
            if isLast {
                close(client)
                close(backend)
            }
        }
        Thread {
            // The first message has no type byte.
            pump(client, backend, isTyped: false) { type, call in
                // The startup message, Sync, Query and Terminate complete a call.
                guard type == 0 || "SQX".utf8.contains(type) else { return .wait }
                guard type != UInt8(ascii: "X") else { return .pass(call) }
                let lost = plan.withLock { plan -> Moment? in
                    guard let (rest, moment) = plan.call else { return nil }
                    plan.call = rest == 0 ? nil : (rest - 1, moment)
                    if rest == 0 { plan.lostCalls += 1 }
                    return rest == 0 ? moment : nil
                }
                exchange.withLock { $0.isLost = lost }
                return lost == .before ? .end([]) : .pass(call)
            }
            end()
        }.start()
        Thread {
            pump(backend, client, isTyped: true) { type, answer in
                // ReadyForQuery ends the answer.
                guard type == UInt8(ascii: "Z") else { return .wait }
                return exchange.withLock { exchange in
                    if exchange.isLost == .after { return .end([]) }
                    if exchange.isLost == .amid { return .end(answer.prefix(answer.count / 2)) }
                    if contains(answer, "INSERT 0 1") { exchange.hasInserted = true }
                    guard contains(answer, "COMMIT") else { return .pass(answer) }
                    defer { exchange.hasInserted = false }
                    let isLost = plan.withLock { plan in
                        guard exchange.hasInserted, plan.commits > 0 else { return false }
                        plan.commits -= 1
                        plan.lostCalls += 1
                        plan.connections = plan.connectionsThen
                        return true
                    }
                    return isLost ? .end([]) : .pass(answer)
                }
            }
            end()
        }.start()
    }

    /// Whether an answer contains a command tag.
    private static func contains(_ bytes: ArraySlice<UInt8>, _ tag: String) -> Bool {
        let tag = Array(tag.utf8) + [0]
        return bytes.indices.contains { bytes[$0] == tag[0] && bytes[$0...].starts(with: tag) }
    }

    /// What to do with messages.
    private enum Passage {
        /// Wait for more.
        case wait
        case pass(ArraySlice<UInt8>)
        /// End the connection after them.
        case end(ArraySlice<UInt8>)
    }

    /// Forwards messages. Each has a type byte, except a client's first one, and a length that includes itself
    /// (PostgreSQL's documentation, 55.7).
    ///
    /// - Parameter decide: Called after each message, with its type and all waiting messages.
    private static func pump(
        _ from: Int32, _ to: Int32, isTyped: Bool, _ decide: (UInt8, ArraySlice<UInt8>) -> Passage
    ) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        var waiting: [UInt8] = []
        // The beginning of the incomplete message.
        var start = 0
        var hasType = isTyped
        while case let count = recv(from, &buffer, buffer.count, 0), count > 0 {
            waiting += buffer[..<count]
            while case let head = hasType ? 1 : 0, waiting.count - start >= head + 4 {
                let length = waiting[(start + head)..<(start + head + 4)].reduce(0) { $0 << 8 | Int($1) }
                guard waiting.count - start >= head + length else { break }
                let type = hasType ? waiting[start] : 0
                hasType = true
                start += head + length
                switch decide(type, waiting[..<start]) {
                case .wait: continue
                case .pass(let bytes):
                    guard send(bytes, to) else { return }
                    waiting.removeFirst(start)
                    start = 0
                case .end(let bytes):
                    _ = send(bytes, to)
                    return
                }
            }
        }
    }

    private static func send(_ bytes: ArraySlice<UInt8>, _ to: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Foundation.send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
