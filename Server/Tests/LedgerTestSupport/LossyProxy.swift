import Foundation

/// A socket in front of a PostgreSQL server that can lose the answer to a commit: the server has committed, and the client sees the end of its connection.
package final class LossyProxy: Sendable {
    /// The folder of the socket.
    package let folder: String
    private let server: String
    private let listener: Int32
    private let losses = Guarded(0)

    /// - Parameter server: The folder of the server's socket.
    package init(before server: String) throws {
        self.server = server
        folder = "/tmp/ledger-proxy-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        listener = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard Self.withAddress(folder, { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
            throw ChildProcess.Failure(description: "no socket in \(folder)")
        }
        Thread { [listener, losses] in
            while case let client = accept(listener, nil, nil), client >= 0 {
                Self.serve(client, server, losses)
            }
        }.start()
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Loses the answers to the next commits that have inserted something.
    package func loseCommits(_ count: Int) { losses.withLock { $0 = count } }

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

    private static func serve(_ client: Int32, _ server: String, _ losses: Guarded<Int>) {
        let backend = Foundation.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard withAddress(server, { connect(backend, $0, $1) }) == 0 else {
            close(backend)
            close(client)
            return
        }
        let open = Guarded(2)
        let end = { @Sendable in
            shutdown(client, Int32(SHUT_RDWR))
            shutdown(backend, Int32(SHUT_RDWR))
            // Both directions have ended.
            if open.withLock({
                $0 -= 1; return $0 == 0
            }) {
                close(client)
                close(backend)
            }
        }
        Thread {
            pump(client, backend) { _ in true }
            end()
        }.start()
        Thread {
            var hasInserted = false
            pump(backend, client) { bytes in
                if contains(bytes, "INSERT 0 1") { hasInserted = true }
                guard contains(bytes, "COMMIT") else { return true }
                defer { hasInserted = false }
                guard hasInserted else { return true }
                return losses.withLock { count in
                    guard count > 0 else { return true }
                    count -= 1
                    return false
                }
            }
            end()
        }.start()
    }

    /// Whether an answer has the tag of a command.
    private static func contains(_ bytes: ArraySlice<UInt8>, _ tag: String) -> Bool {
        let tag = Array(tag.utf8) + [0]
        return bytes.indices.contains { bytes[$0] == tag[0] && bytes[$0...].starts(with: tag) }
    }

    /// Passes on what comes, until `isWanted` says otherwise.
    private static func pump(_ from: Int32, _ to: Int32, _ isWanted: (ArraySlice<UInt8>) -> Bool) {
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while case let count = recv(from, &buffer, buffer.count, 0), count > 0 {
            guard isWanted(buffer[..<count]) else { return }
            var sent = 0
            while sent < count {
                let part = buffer[sent..<count].withUnsafeBytes {
                    send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard part > 0 else { return }
                sent += part
            }
        }
    }
}
