import Foundation

/// A server on a free port of this machine that answers each request with a status.
package final class WebhookReceiver: Sendable {
    package struct Received: Sendable {
        package let id: String
        package let signature: String
        package let body: String
    }

    package let url: String
    private let socket: Int32
    private let rawAnswer: @Sendable (Int) -> [String]?
    private let requests = Guarded<[Received]>([])

    package var received: [Received] { requests.withLock { $0 } }

    /// - Parameters:
    ///   - rawAnswer: Returns the pieces to send in place of the answer to a request, by its number, or `nil`. They are
    ///     sent 50 ms apart, and an empty one ends the connection.
    ///   - prepare: Called with each request before it is answered.
    ///   - status: The status of the answer, by the id of the event.
    package init(
        rawAnswer: @escaping @Sendable (Int) -> [String]? = { _ in nil },
        prepare: @escaping @Sendable (Received) -> Void = { _ in },
        _ status: @escaping @Sendable (String) -> Int
    ) throws {
        let listener = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 16) == 0
                    && getsockname(listener, $0, &length) == 0
            }
        }
        guard isBound else { throw ChildProcess.Failure(description: "no port") }
        socket = listener
        self.rawAnswer = rawAnswer
        url = "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/hook"
        Thread { [weak self] in
            while case let connection = accept(listener, nil, nil), connection >= 0 {
                let receiver = self
                Thread {
                    receiver?.serve(connection) { received in
                        prepare(received)
                        return status(received.id)
                    }
                }.start()
            }
        }.start()
    }

    deinit {
        shutdown(socket, Int32(SHUT_RDWR))
        close(socket)
    }

    private func serve(_ connection: Int32, _ status: (Received) -> Int) {
        defer { close(connection) }
        var buffer: [UInt8] = []
        while let request = readHead(connection, &buffer) {
            let headers = request.split(separator: "\r\n").map { $0.split(separator: ": ", maxSplits: 1) }
            func header(_ name: String) -> String {
                headers.first { $0[0].lowercased() == name }.flatMap { $0.count > 1 ? String($0[1]) : nil } ?? ""
            }
            let count = Int(header("content-length")) ?? 0
            while buffer.count < count, receive(connection, &buffer) {}
            let body = String(decoding: buffer.prefix(count), as: UTF8.self)
            buffer.removeFirst(min(count, buffer.count))
            let received = Received(
                id: header("ledger-event-id"), signature: header("ledger-signature"), body: body)
            let number = requests.withLock { requests in
                requests.append(received)
                return requests.count
            }
            let head = "HTTP/1.1 \(status(received)) Answer\r\nLocation: \(url)/else\r\nContent-Length: 0\r\n\r\n"
            let answer = rawAnswer(number) ?? [head]
            for (index, piece) in answer.enumerated() {
                if index > 0 { usleep(50_000) }
                if piece.isEmpty { return }
                _ = send(connection, piece, piece.utf8.count, Int32(MSG_NOSIGNAL))
            }
        }
    }

    private func readHead(_ connection: Int32, _ buffer: inout [UInt8]) -> String? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let place = buffer.indices.first(where: { buffer[$0...].starts(with: end) }) {
                let head = String(decoding: buffer[..<place], as: UTF8.self)
                buffer.removeFirst(place + 4)
                return head
            }
            guard receive(connection, &buffer) else { return nil }
        }
    }

    private func receive(_ connection: Int32, _ buffer: inout [UInt8]) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 4096)
        let count = recv(connection, &chunk, chunk.count, 0)
        guard count > 0 else { return false }
        buffer += chunk.prefix(count)
        return true
    }
}
