import Dispatch
import Synchronization

/// Waits for SIGINT and SIGTERM until ``end()``. The second of a kind ends the process, as the first does where nobody waits.
///
/// After the first, the work has ``grace`` to end by itself. Then the process ends all the same: a write that nobody takes never returns.
final class Interruption: Sendable {
    private let state = State()
    private let sources: Mutex<[any DispatchSourceSignal]>

    static let grace = DispatchTimeInterval.seconds(1)

    private final class State: Sendable {
        let hasHappened = Atomic<Bool>(false)
        let hasEnded = Atomic<Bool>(false)
    }

    /// Whether one has come.
    var hasHappened: Bool { state.hasHappened.load(ordering: .acquiring) }

    /// - Parameter handler: called at the first, on a thread of its own.
    init(_ handler: @escaping @Sendable () -> Void) {
        let state = state
        let sources = System.interruptingSignals.map { number in
            System.setIgnored(true, signal: number)
            let queue = DispatchQueue(label: "Interruption")
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                System.setIgnored(false, signal: number)
                state.hasHappened.store(true, ordering: .releasing)
                handler()
                queue.asyncAfter(deadline: .now() + Self.grace) {
                    guard !state.hasEnded.load(ordering: .acquiring) else { return }
                    System.exit(ExitStatus.interrupted.rawValue, atOnce: true)
                }
            }
            source.resume()
            return source
        }
        self.sources = Mutex(sources)
    }

    func end() {
        state.hasEnded.store(true, ordering: .releasing)
        for source in sources.withLock({ $0 }) { source.cancel() }
        for number in System.interruptingSignals { System.setIgnored(false, signal: number) }
    }
}
