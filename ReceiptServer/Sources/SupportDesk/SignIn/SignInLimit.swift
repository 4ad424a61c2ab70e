import Instants
import Synchronization

/// Limits how many wrong tokens are checked.
///
/// Nobody guesses 128 random bits: long tokens are always checked, so an attacker can't lock out their owners. Short
/// tokens are rate limited.
final class SignInLimit: Sendable {
    /// The size from which a token is always checked: 16 random bytes as hexadecimal digits.
    static let longByteCount = 32
    /// The number of wrong attempts allowed in a row, and the time until another is allowed.
    static let maximumCount = 20
    static let interval = Duration.seconds(3)

    private struct State {
        var left = SignInLimit.maximumCount
        var filledAt: Instant?
    }

    private let state = Mutex(State())

    /// Returns whether wrong attempts are left.
    func isOpen(at now: Instant) -> Bool { state.withLock { Self.fill(&$0, now) > 0 } }

    /// Counts a wrong attempt. Returns `false` if none was left.
    func count(at now: Instant) -> Bool {
        state.withLock { state in
            guard Self.fill(&state, now) > 0 else { return false }
            state.left -= 1
            return true
        }
    }

    private static func fill(_ state: inout State, _ now: Instant) -> Int {
        let since = state.filledAt.map { $0.duration(to: now) } ?? .zero
        // If the clock was set back, start over.
        if state.filledAt == nil || since < .zero { state.filledAt = now }
        let count = Int(clamping: max(.zero, since).components.seconds / interval.components.seconds)
        if count > 0 {
            state.left = min(maximumCount, state.left + min(count, maximumCount))
            state.filledAt = now
        }
        return state.left
    }
}
