#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import Synchronization

/// An open connection, and the time until which its client must have done what it is waited for.
///
/// libmicrohttpd's own time limit counts from the last byte: a client that sends one byte a second is never too late.
/// This one counts from the beginning.
final class Connection: @unchecked Sendable {
    /// What the client is waited for.
    enum Phase: UInt64, CaseIterable, Sendable {
        /// The client does not matter: a request is being answered.
        case none
        case headers, body, answer, idle
    }

    let socket: CInt
    /// Whether there were too many connections when this one came.
    let isExcess: Bool
    /// The address in libmicrohttpd's buffer where the version should follow the path and the query. Only the
    /// connection's thread of the daemon uses it.
    var endOfTarget: UInt = 0
    /// The phase in the lowest three bits, and above them the time in milliseconds at which it ends.
    private let deadline: Atomic<UInt64>

    init(socket: CInt, isExcess: Bool) {
        self.socket = socket
        self.isExcess = isExcess
        deadline = Atomic(0)
    }

    func enter(_ phase: Phase, for time: Duration) {
        let end = System.monotonicMilliseconds + time.milliseconds
        deadline.store(end << 3 | phase.rawValue, ordering: .relaxed)
    }

    func enterNoPhase() { deadline.store(0, ordering: .relaxed) }

    /// The phase that should have ended; `nil` if the client is not too late.
    func lateness(at milliseconds: UInt64) -> Phase? {
        let value = deadline.load(ordering: .relaxed)
        guard value >> 3 <= milliseconds, let phase = Phase(rawValue: value & 7), phase != .none else { return nil }
        return phase
    }

    /// Whether no request is under way. When the service stops, such a connection has little time left.
    var isIdle: Bool { deadline.load(ordering: .relaxed) & 7 == Phase.idle.rawValue }

    /// Whether the client has ended the connection, and sent nothing else before. While a request waits, nobody else
    /// reads from the socket.
    var isGone: Bool {
        var byte: UInt8 = 0
        let count = unsafe recv(socket, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT))
        return count == 0 || count < 0 && errno == ECONNRESET
    }

    /// Makes the daemon see that the connection has ended. Only a socket that is still open may be shut down: its
    /// number may be another's.
    func shutDown() { _ = shutdown(socket, CInt(SHUT_RDWR)) }
}

extension Duration {
    var milliseconds: UInt64 {
        let (seconds, attoseconds) = components
        return UInt64(max(seconds, 0)) * 1000 + UInt64(max(attoseconds, 0)) / 1_000_000_000_000_000
    }
}

/// All open connections of a daemon.
final class ConnectionTable: Sendable {
    private let connections = Mutex<[ObjectIdentifier: Connection]>([:])

    var count: Int { connections.withLock(\.count) }

    /// - Parameter limit: The number of connections beyond which another is excess.
    func insert(socket: CInt, limit: Int) -> Connection {
        connections.withLock { connections in
            let connection = Connection(socket: socket, isExcess: connections.count >= limit)
            connections[ObjectIdentifier(connection)] = connection
            return connection
        }
    }

    /// Removes a connection whose socket is about to be closed.
    func remove(_ connection: Connection) {
        _ = connections.withLock { $0.removeValue(forKey: ObjectIdentifier(connection)) }
    }

    /// Ends the connections whose client is too late. While it runs, no socket is closed.
    ///
    /// - Parameter isOver: Whether another connection is to end.
    /// - Returns: The number of connections that were late in each phase.
    func shutDownLate(alsoWhere isOver: (Connection) -> Bool = { _ in false }) -> [Connection.Phase: Int] {
        let now = System.monotonicMilliseconds
        return connections.withLock { connections in
            var late: [Connection.Phase: Int] = [:]
            for connection in connections.values {
                if let phase = connection.lateness(at: now) {
                    late[phase, default: 0] += 1
                    // A client that is late again has had its answer.
                    connection.enterNoPhase()
                    connection.shutDown()
                } else if isOver(connection) {
                    connection.shutDown()
                }
            }
            return late
        }
    }
}
