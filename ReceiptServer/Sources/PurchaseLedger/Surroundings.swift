package import Instants

/// What the ledger takes from the machine. A simulation replaces all of it, so that a seed repeats a history.
package struct Surroundings: Sendable {
    /// The date. It can move in both directions when the clock is set.
    package var date: @Sendable () -> Instant = { .now }
    /// The time since some moment, which never goes back.
    package var uptime: @Sendable () -> ContinuousClock.Instant = { .now }
    /// Random bits for ids and tokens.
    package var random: @Sendable () -> UInt64 = { .random(in: .min ... .max) }

    package init() {}

    /// 128 random bits: an id stays unique after a restored back-up.
    func makeID() -> String {
        (0..<2).map { _ in
            let digits = String(random(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
