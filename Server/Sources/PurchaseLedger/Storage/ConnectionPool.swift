#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A limited number of connections, of which each is used by one thread at a time.
///
/// The lock is the platform's own, because ThreadSanitizer does not understand `Synchronization.Mutex`.
@safe
final class ConnectionPool<Connection>: @unchecked Sendable {
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let returned: UnsafeMutablePointer<pthread_cond_t>
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
        unsafe lock = .allocate(capacity: 1)
        unsafe returned = .allocate(capacity: 1)
        unsafe pthread_mutex_init(lock, nil)
        unsafe pthread_cond_init(returned, nil)
    }

    deinit {
        unsafe pthread_cond_destroy(returned)
        unsafe pthread_mutex_destroy(lock)
        unsafe returned.deallocate()
        unsafe lock.deallocate()
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

    private func take() throws(LedgerError) -> Connection {
        var deadline = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &deadline)
        deadline.tv_sec += Int(patience.components.seconds)
        unsafe pthread_mutex_lock(lock)
        while true {
            if let connection = idle.popLast() {
                unsafe pthread_mutex_unlock(lock)
                return connection
            }
            if remaining > 0 { break }
            guard unsafe pthread_cond_timedwait(returned, lock, &deadline) == 0 else {
                unsafe pthread_mutex_unlock(lock)
                throw LedgerError(.storeUnavailable, "all connections are in use")
            }
        }
        remaining -= 1
        unsafe pthread_mutex_unlock(lock)
        do throws(LedgerError) {
            return try make()
        } catch {
            give(nil)
            throw error
        }
    }

    /// - Parameter connection: `nil` for one that was dropped, in whose place another may be made.
    private func give(_ connection: Connection?) {
        unsafe pthread_mutex_lock(lock)
        if let connection { idle.append(connection) } else { remaining += 1 }
        unsafe pthread_cond_signal(returned)
        unsafe pthread_mutex_unlock(lock)
    }
}
