import ServerThreads

/// A limited number of connections, each used by one thread at a time.
final class ConnectionPool<Connection>: @unchecked Sendable {
    private let monitor = Monitor()
    /// The state below is guarded by the monitor.
    private var idle: [Connection] = []
    /// The number of further connections that can be made.
    private var remaining: Int
    private let patience: Duration
    private let make: @Sendable () throws(LedgerError) -> Connection

    /// - Parameters:
    ///   - patience: The maximum time that a thread waits for a connection.
    init(
        limit: Int, patience: Duration = .seconds(5), make: @escaping @Sendable () throws(LedgerError) -> Connection
    ) {
        remaining = limit
        self.patience = patience
        self.make = make
    }

    /// Runs `body` with a connection, and drops the connection if `isUsable` then returns `false`.
    ///
    /// - Throws: `store-unavailable` if no connection is free in time, or the error that `body` throws.
    func withConnection<Result>(
        isUsable: (Connection) -> Bool, _ body: (Connection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        let connection = try take()
        defer { give(isUsable(connection) ? connection : nil) }
        return try body(connection)
    }

    /// Runs `body` like ``withConnection(isUsable:_:)`` if a connection is idle; otherwise returns `nil` immediately.
    func withIdleConnection<Result>(
        isUsable: (Connection) -> Bool, _ body: (Connection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result? {
        guard let connection = monitor.locked({ idle.popLast() }) else { return nil }
        defer { give(isUsable(connection) ? connection : nil) }
        return try body(connection)
    }

    private func take() throws(LedgerError) -> Connection {
        let deadline = Monitor.Deadline(after: patience)
        let idle = try monitor.locked { () throws(LedgerError) -> Connection? in
            while self.idle.isEmpty, remaining == 0 {
                guard monitor.wait(until: deadline) else {
                    throw LedgerError(.storeUnavailable, "all connections are in use")
                }
            }
            if let connection = self.idle.popLast() { return connection }
            remaining -= 1
            return nil
        }
        if let idle { return idle }
        do throws(LedgerError) {
            return try make()
        } catch {
            give(nil)
            throw error
        }
    }

    /// - Parameter connection: The connection, or `nil` if it was dropped, so that another can be made.
    private func give(_ connection: Connection?) {
        monitor.locked {
            if let connection { idle.append(connection) } else { remaining += 1 }
        }
        monitor.signal()
    }
}
