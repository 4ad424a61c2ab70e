import Instants
import Synchronization

/// The clock of a database server. Leases of events and inquiries count from it, so that servers whose clocks differ
/// agree.
///
/// It is read every ten seconds, because another host with another clock can replace the database's. In between, this
/// machine's uptime continues it.
final class DatabaseClock: Sendable {
    private typealias Reading = (date: Instant, uptime: Surroundings.Uptime)

    private static let interval = Duration.seconds(10)
    /// The maximum time for an answer: a later one says less than the last reading.
    private static let patience = Duration.seconds(1)

    private let query: String
    private let uptime: @Sendable () -> Surroundings.Uptime
    private let reading: Mutex<Reading>

    /// Reads the clock; `nil` if the database is not a separate server, and its clock is this machine's.
    ///
    /// - Parameter uptime: The time since some moment, which never goes back.
    init?(
        _ connection: any SQLConnection, _ uptime: @escaping @Sendable () -> Surroundings.Uptime
    ) throws(LedgerError) {
        guard let query = connection.dialect.clock else { return nil }
        (self.query, self.uptime) = (query, uptime)
        reading = Mutex(try Self.read(query, connection, uptime))
    }

    private static func read(
        _ query: String, _ connection: any SQLConnection, _ uptime: () -> Surroundings.Uptime
    ) throws(LedgerError) -> Reading {
        guard let date = try connection.run(query).first?.date(0) else {
            throw LedgerError(.storeFailed, "the database has no date")
        }
        return (date, uptime())
    }

    var date: Instant {
        let reading = reading.withLock(\.self)
        return reading.date + reading.uptime.duration(to: uptime())
    }

    /// Reads the clock again if that was done more than ten seconds ago.
    func refresh(_ store: any LedgerStore) throws(LedgerError) {
        let start = uptime()
        guard reading.withLock(\.uptime) + Self.interval < start else { return }
        let new = try store.read { (connection) throws(LedgerError) in try Self.read(query, connection, uptime) }
        if new.uptime - start <= Self.patience { reading.withLock { $0 = new } }
    }
}
