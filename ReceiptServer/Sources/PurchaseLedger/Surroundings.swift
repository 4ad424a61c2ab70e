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
    /// Whether leases end by the clock of a database server, which has none in a simulation.
    package var hasDatabaseClock = true
    /// The clock of the ledger's database server, or `nil` if this machine's is the only one.
    var databaseClock: DatabaseClock?

    package init() {}

    /// The date that all servers of the ledger agree on, for the leases of events and inquiries.
    package var sharedDate: Instant { databaseClock?.date ?? date() }

    /// Returns the range from a date of this machine's clock to the date of the database's, or the reverse. If the
    /// clocks differ, what is due now is due at the beginning, and a lease that begins now is counted from the end.
    func dates(_ now: Instant) -> ClosedRange<Instant> {
        let shared = databaseClock?.date ?? now
        return min(now, shared)...max(now, shared)
    }

    /// 128 random bits, so ids stay unique after a restored backup.
    func makeID() -> String {
        (0..<2).map { _ in
            let digits = String(random(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
