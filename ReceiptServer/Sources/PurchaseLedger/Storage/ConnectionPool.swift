import ServerThreads

/// A limited number of connections. One thread at a time uses each.
final class ConnectionPool<Connection>: @unchecked Sendable {
    private let monitor = Monitor()
    /// Within the monitor.
    private var idle: [Connection] = []
    /// How many more may be made.
    private var remaining: Int
    private let patience: Duration
    private let make: @Sendable () throws(LedgerError) -> Connection

    /// - Parameters:
    ///   - patience: how long a thread waits for a connection.
    init(
        limit: Int, patience: Duration = .seconds(5), make: @escaping @Sendable () throws(LedgerError) -> Connection
    ) {
        remaining = limit
        self.patience = patience
        self.make = make
    }

    /// Runs `body` with a connection, which is dropped if `isUsable` says so afterwards.
    ///
    /// - Throws: `store-unavailable` if none is free in time, or what `body` throws.
    func withConnection<Result>(
        isUsable: (Connection) -> Bool, _ body: (Connection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        let connection = try take()
        defer { give(isUsable(connection) ? connection : nil) }
        return try body(connection)
    }

    /// Runs `body` as ``withConnection(isUsable:_:)`` does if a connection is idle; otherwise returns `nil` at once.
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

    /// - Parameter connection: `nil` for one that was dropped, in whose place another may be made.
    private func give(_ connection: Connection?) {
        monitor.locked {
            if let connection { idle.append(connection) } else { remaining += 1 }
        }
        monitor.signal()
    }
}
