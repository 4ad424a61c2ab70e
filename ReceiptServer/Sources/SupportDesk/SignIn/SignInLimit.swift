import Instants
import Synchronization

/// How many wrong tokens are looked at. Strangers can use it up; staff with long tokens do not need it.
///
/// 128 random bits cannot be guessed, however many attempts there are: a long token is always looked at, so that nobody
/// can lock out who has one. A shorter one may be a word, and waits with everybody else.
final class SignInLimit: Sendable {
    /// The size of a token from which on it is always looked at: 16 random bytes as hexadecimal digits.
    static let longByteCount = 32
    /// The wrong attempts that are answered as such in a row, and the time after which there is one more.
    static let maximumCount = 20
    static let interval = Duration.seconds(3)

    private struct State {
        var left = SignInLimit.maximumCount
        var filledAt: Instant?
    }

    private let state = Mutex(State())

    /// Whether wrong attempts are left.
    func isOpen(at now: Instant) -> Bool { state.withLock { Self.fill(&$0, now) > 0 } }

    /// Counts a wrong attempt; `false` if none was left.
    func count(at now: Instant) -> Bool {
        state.withLock { state in
            guard Self.fill(&state, now) > 0 else { return false }
            state.left -= 1
            return true
        }
    }

    private static func fill(_ state: inout State, _ now: Instant) -> Int {
        let since = state.filledAt.map { $0.duration(to: now) } ?? .zero
        // A clock that was set back starts anew.
        if state.filledAt == nil || since < .zero { state.filledAt = now }
        let count = Int(clamping: max(.zero, since).components.seconds / interval.components.seconds)
        if count > 0 {
            state.left = min(maximumCount, state.left + min(count, maximumCount))
            state.filledAt = now
        }
        return state.left
    }
}
