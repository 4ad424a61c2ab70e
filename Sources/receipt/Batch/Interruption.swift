import Dispatch
import Synchronization

/// Waits for SIGINT and SIGTERM until ``end()``. The second of a kind ends the process, as the first does where nobody waits.
final class Interruption: Sendable {
    private let flag = Flag()
    private let sources: Mutex<[any DispatchSourceSignal]>

    private final class Flag: Sendable { let value = Atomic<Bool>(false) }

    /// Whether one has come.
    var hasHappened: Bool { flag.value.load(ordering: .acquiring) }

    /// - Parameter handler: called at the first, on a thread of its own.
    init(_ handler: @escaping @Sendable () -> Void) {
        let flag = flag
        let sources = System.interruptingSignals.map { number in
            System.setIgnored(true, signal: number)
            let source = DispatchSource.makeSignalSource(signal: number, queue: DispatchQueue(label: "Interruption"))
            source.setEventHandler {
                System.setIgnored(false, signal: number)
                flag.value.store(true, ordering: .releasing)
                handler()
            }
            source.resume()
            return source
        }
        self.sources = Mutex(sources)
    }

    func end() {
        for source in sources.withLock({ $0 }) { source.cancel() }
        for number in System.interruptingSignals { System.setIgnored(false, signal: number) }
    }
}
