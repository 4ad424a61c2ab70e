import Dispatch
import Synchronization

/// Waits for SIGINT and SIGTERM until ``end()``. The second of a kind ends the process, as the first does where nobody waits.
///
/// After the first, the work is left to end by itself as long as its output is taken. The process ends all the same when none was for a
/// time of ``grace``: a write that nobody takes never returns.
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

    /// - Parameters:
    ///   - output: counts what was written.
    ///   - handler: called at the first, on a thread of its own.
    init(output: WriteCounter, _ handler: @escaping @Sendable () -> Void) {
        let state = state
        let sources = System.interruptingSignals.map { number in
            System.setIgnored(true, signal: number)
            let queue = DispatchQueue(label: "Interruption")
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                System.setIgnored(false, signal: number)
                state.hasHappened.store(true, ordering: .releasing)
                handler()
                Self.watch(output, state, on: queue)
            }
            source.resume()
            return source
        }
        self.sources = Mutex(sources)
    }

    /// Ends the process unless something is written, or the work ends, within a time of ``grace``; and so on.
    private static func watch(_ output: WriteCounter, _ state: State, on queue: DispatchQueue) {
        let before = output.byteCount
        queue.asyncAfter(deadline: .now() + grace) {
            guard !state.hasEnded.load(ordering: .acquiring) else { return }
            guard output.byteCount != before else {
                System.exit(ExitStatus.interrupted.rawValue, atOnce: true)
            }
            watch(output, state, on: queue)
        }
    }

    func end() {
        state.hasEnded.store(true, ordering: .releasing)
        for source in sources.withLock({ $0 }) { source.cancel() }
        for number in System.interruptingSignals { System.setIgnored(false, signal: number) }
    }
}
