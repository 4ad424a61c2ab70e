import PurchaseLedger
import ServerThreads

/// What the metrics say of the tables, read every few seconds: who asks for metrics never waits for the database.
final class DatabaseReading<Value: Sendable>: @unchecked Sendable {
    /// The least time between two readings.
    private static var interval: Duration { .seconds(5) }
    /// A reading that takes longer is a database that does not answer.
    private static var patience: Duration { .seconds(15) }

    /// The time between two readings, as a multiple of what one takes.
    private let pauseFactor: Int
    private let monitor = Monitor()
    /// Within the monitor.
    private var value: Value?
    private var readAt = ContinuousClock.now
    private var isAnswered = true
    private var isStopping = false

    init(pauseFactor: Int = 0) { self.pauseFactor = pauseFactor }

    /// Whether the database answered the last time, not long ago, and what it said. Before the first reading it has
    /// just been opened.
    var last: (isAnswered: Bool, value: Value?) {
        monitor.locked { (isAnswered && ContinuousClock.now - readAt < Self.patience, value) }
    }

    /// Reads until ``stop()`` is called. Call it on a thread of its own.
    func run(_ read: () throws(LedgerError) -> Value) {
        while monitor.locked({ !isStopping }) {
            let found: Value?
            let start = ContinuousClock.now
            // The delivery of events says why.
            do throws(LedgerError) { found = try read() } catch { found = nil }
            let deadline = Monitor.Deadline(after: max(Self.interval, (ContinuousClock.now - start) * pauseFactor))
            monitor.locked {
                isAnswered = found != nil
                value = found ?? value
                if found != nil { readAt = .now }
                while !isStopping, monitor.wait(until: deadline) {}
            }
        }
    }

    func stop() {
        monitor.locked { isStopping = true }
        monitor.broadcast()
    }
}
