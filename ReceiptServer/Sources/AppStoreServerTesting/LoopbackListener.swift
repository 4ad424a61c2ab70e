#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import ServerThreads
import Synchronization

/// A small HTTP/1.1 listener on 127.0.0.1 that can also violate HTTP, with one thread for each connection.
final class LoopbackListener: Sendable {
    let port: UInt16
    private let descriptor: CInt
    private let answer: @Sendable (FakeRequest) -> FakeAnswer
    private let connections = Mutex(Connections())

    /// The open descriptors. They are used and closed only while the mutex is held, because the system reuses the
    /// number of a closed descriptor.
    private struct Connections {
        var open: Set<CInt> = []
        var isStopping = false
        /// Whether the listening socket is closed.
        var isClosed = false
    }

    /// - Parameter port: The port, or 0 for any free port.
    /// - Returns: `nil` if the port is taken.
    init?(port: UInt16, _ answer: @escaping @Sendable (FakeRequest) -> FakeAnswer) {
        let descriptor = socket(AF_INET, Self.stream, 0)
        guard descriptor >= 0 else { return nil }
        var one: CInt = 1
        _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = port.bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe bind(descriptor, $0, length) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isListening else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        self.port = UInt16(bigEndian: address.sin_port)
        self.answer = answer
    }

    private static var stream: CInt {
        #if canImport(Glibc)
        CInt(SOCK_STREAM.rawValue)
        #else
        SOCK_STREAM
        #endif
    }

    /// Accepts connections until ``stop()``.
    func start() {
        Thread.detached { [self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0 else { break }
                let isOpen = connections.withLock { state in
                    if !state.isStopping { state.open.insert(connection) }
                    return !state.isStopping
                }
                guard isOpen else {
                    close(connection)
                    break
                }
                Thread.detached { [self] in
                    serve(connection)
                    connections.withLock { state in
                        state.open.remove(connection)
                        close(connection)
                    }
                }
            }
            connections.withLock { state in
                state.isClosed = true
                close(descriptor)
            }
        }
    }

    /// Ends all connections, and accepts no more.
    func stop() {
        connections.withLock { state in
            state.isStopping = true
            for connection in state.open { shutdown(connection, CInt(SHUT_RDWR)) }
            if !state.isClosed { shutdown(descriptor, CInt(SHUT_RDWR)) }
        }
    }

    private func serve(_ connection: CInt) {
        var reader = HTTPReader(connection)
        var answer: FakeAnswer?
        while let request = reader.next() {
            // This request was read, but its connection ends without an answer.
            if answer?.delivery == .closeOnReuse { return }
            let next = self.answer(request)
            answer = next
            guard send(next, on: connection), !reader.isLast else { return }
        }
    }

    private func send(_ answer: FakeAnswer, on connection: CInt) -> Bool {
        if case .slow(let time) = answer.delivery {
            // Sleep in short intervals, so that stopping doesn't have to wait.
            var rest = Int(time / .milliseconds(1))
            while rest > 0, !connections.withLock(\.isStopping) {
                usleep(UInt32(min(rest, 50)) * 1000)
                rest -= 50
            }
        }
        var head = "HTTP/1.1 \(answer.status) Fake\r\n"
        for header in answer.headers { head += "\(header.name): \(header.value)\r\n" }
        head += "Content-Length: \(answer.body.count)\r\n"
        if answer.delivery == .tornHeader {
            _ = write(Array(head.utf8), to: connection)
            return false
        }
        let body = answer.delivery == .tornBody ? Array(answer.body.prefix(answer.body.count / 2)) : answer.body
        return write(Array((head + "\r\n").utf8) + body, to: connection) && answer.delivery != .tornBody
    }

    private func write(_ bytes: [UInt8], to connection: CInt) -> Bool {
        var start = 0
        while start < bytes.count {
            let count = unsafe bytes[start...].withUnsafeBytes { bytes in
                unsafe Self.send(connection, bytes.baseAddress, bytes.count)
            }
            guard count > 0 else { return false }
            start += count
        }
        return true
    }

    @unsafe
    private static func send(_ connection: CInt, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
        // Writing to a closed connection must not end the process with SIGPIPE.
        #if canImport(Darwin)
        unsafe Darwin.send(connection, bytes, count, 0)
        #elseif canImport(Musl)
        unsafe Musl.send(connection, bytes, count, CInt(MSG_NOSIGNAL))
        #else
        unsafe Glibc.send(connection, bytes, count, CInt(MSG_NOSIGNAL))
        #endif
    }
}
