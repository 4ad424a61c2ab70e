#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif
import Synchronization

/// An open connection, and the deadline for its client's next step.
///
/// libmicrohttpd's own time limit restarts with every byte, so a client that sends one byte a second is never too late.
/// This one counts from the beginning of the step.
final class Connection: @unchecked Sendable {
    /// The step that the client must complete.
    enum Phase: UInt64, CaseIterable, Sendable {
        /// None: the server is making the answer.
        case none
        case headers, body, answer, idle
    }

    let socket: CInt
    /// Whether this connection exceeded the limit when it was accepted.
    let isExcess: Bool
    /// The address in libmicrohttpd's buffer where the version should follow the path and the query. Only the daemon's
    /// thread for this connection uses it.
    var endOfTarget: UInt = 0
    /// The phase in the lowest three bits, and its deadline in milliseconds in the others.
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

    /// The phase whose deadline has passed, or `nil` if the client is in time.
    func lateness(at milliseconds: UInt64) -> Phase? {
        let value = deadline.load(ordering: .relaxed)
        guard value >> 3 <= milliseconds, let phase = Phase(rawValue: value & 7), phase != .none else { return nil }
        return phase
    }

    /// Whether no request is under way. When the service stops, such a connection gets only a little more time.
    var isIdle: Bool { deadline.load(ordering: .relaxed) & 7 == Phase.idle.rawValue }

    /// Whether the client has closed the connection without sending more. No other thread reads from the socket while a
    /// request waits.
    var isGone: Bool {
        var byte: UInt8 = 0
        let count = unsafe recv(socket, &byte, 1, CInt(MSG_PEEK) | CInt(MSG_DONTWAIT))
        return count == 0 || count < 0 && errno == ECONNRESET
    }

    /// Makes the daemon see that the connection has ended. Call it only while the socket is open: its number can be
    /// reused.
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

    /// - Parameter limit: The maximum number of connections that aren't excess.
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

    /// Shuts down the connections whose client is too late. No socket is closed while it runs.
    ///
    /// - Parameter isOver: Returns whether to shut down a connection that isn't late.
    /// - Returns: The number of late connections by phase.
    func shutDownLate(alsoWhere isOver: (Connection) -> Bool = { _ in false }) -> [Connection.Phase: Int] {
        let now = System.monotonicMilliseconds
        return connections.withLock { connections in
            var late: [Connection.Phase: Int] = [:]
            for connection in connections.values {
                if let phase = connection.lateness(at: now) {
                    late[phase, default: 0] += 1
                    // Don't count this connection as late a second time.
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
