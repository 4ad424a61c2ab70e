import Dispatch
import Synchronization

/// A handler of SIGINT and SIGTERM until ``end()``. The second signal of a kind ends the process, as the first does
/// without a handler.
///
/// After the first signal, the work may end by itself as long as its output is read. The process ends if nothing was
/// read for the time ``grace``, because a write that is not read never returns.
final class Interruption: Sendable {
    private let state = State()
    private let sources: Mutex<[any DispatchSourceSignal]>

    static let grace = DispatchTimeInterval.seconds(1)

    private final class State: Sendable {
        let hasHappened = Atomic<Bool>(false)
        let hasEnded = Atomic<Bool>(false)
    }

    /// Whether a signal was received.
    var hasHappened: Bool { state.hasHappened.load(ordering: .acquiring) }

    /// - Parameters:
    ///   - output: The number of bytes that were written.
    ///   - handler: A closure that is called at the first signal, on its own thread.
    init(output: SharedCount, _ handler: @escaping @Sendable () -> Void) {
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

    /// Ends the process unless output is written, or the work ends, within the time ``grace``, and repeats that.
    private static func watch(_ output: SharedCount, _ state: State, on queue: DispatchQueue) {
        let before = output.value
        queue.asyncAfter(deadline: .now() + grace) {
            guard !state.hasEnded.load(ordering: .acquiring) else { return }
            guard output.value != before else {
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
