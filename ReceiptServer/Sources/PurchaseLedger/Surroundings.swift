package import Instants

/// The clock and random numbers. A simulation replaces them, so that a seed reproduces a history.
package struct Surroundings: Sendable {
    /// The date. It can move in both directions when the clock is set.
    package var date: @Sendable () -> Instant = { .now }
    /// The time since some moment, which never goes back.
    package var uptime: @Sendable () -> ContinuousClock.Instant = { .now }
    /// Random bits for ids and tokens.
    package var random: @Sendable () -> UInt64 = { .random(in: .min ... .max) }

    package init() {}

    /// 128 random bits, so ids stay unique after a restored backup.
    func makeID() -> String {
        (0..<2).map { _ in
            let digits = String(random(), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
