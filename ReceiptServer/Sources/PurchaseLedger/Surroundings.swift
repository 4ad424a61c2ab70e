package import Instants

/// The clock and random numbers. A simulation replaces them, so that a seed reproduces a history.
package struct Surroundings: Sendable {
    package typealias Uptime = ContinuousClock.Instant

    /// The date. It can move in both directions when the clock is set.
    package var date: @Sendable () -> Instant = { .now }
    /// The time since some moment, which never goes back.
    package var uptime: @Sendable () -> Uptime = { .now }
    /// Random bits for ids and tokens.
    package var random: @Sendable () -> UInt64 = { .random(in: .min ... .max) }
    /// Whether to read the clock of a database server. A simulation sets it to `false`.
    package var hasDatabaseClock = true
    /// The clock of the ledger's database server, or `nil` if this machine's is the only one.
    var databaseClock: DatabaseClock?

    package init() {}

    /// Reads the clock of the database server.
    func databaseClock(_ connection: any SQLConnection) throws(LedgerError) -> DatabaseClock? {
        hasDatabaseClock ? try DatabaseClock(connection, uptime) : nil
    }

    /// The date that all servers of the ledger agree on, for the leases of events and inquiries.
    package var sharedDate: Instant { databaseDate ?? date() }
    /// The date of the database's clock, or `nil` if this machine's is the only one.
    package var databaseDate: Instant? { databaseClock?.date }

    /// Returns the date that leases end by, given that of this machine's clock.
    func leaseDate(_ now: Instant) -> Instant { databaseDate ?? now }

    /// Returns the date from which to count what becomes due, given that of this machine's clock: the earlier of both
    /// clocks, so that a clock that is ahead delays nothing.
    func dueDate(_ now: Instant) -> Instant { min(now, databaseDate ?? now) }

    /// 128 random bits, so ids stay unique after a restored backup.
    func makeID() -> String {
        (0..<2).map { _ in
            let digits = String(random(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
