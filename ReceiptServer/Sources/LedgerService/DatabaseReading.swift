import PurchaseLedger
import ServerThreads

/// Values for the metrics, read from the tables at intervals, so that metrics never wait for the database.
final class DatabaseReading<Value: Sendable>: @unchecked Sendable {
    /// The minimum time between two reads.
    private static var interval: Duration { .seconds(5) }
    /// A read that takes longer is treated as a database that doesn't answer.
    private static var patience: Duration { .seconds(15) }

    /// The time between two reads, as a multiple of the duration of one.
    private let pauseFactor: Int
    private let monitor = Monitor()
    /// The state below is guarded by the monitor.
    private var value: Value?
    private var readAt = ContinuousClock.now
    private var isAnswered = true
    private var isStopping = false

    init(pauseFactor: Int = 0) { self.pauseFactor = pauseFactor }

    /// Whether the database answered a recent read, and the last value. Initially, it counts as answering, because it
    /// has just been opened.
    var last: (isAnswered: Bool, value: Value?) {
        monitor.locked { (isAnswered && ContinuousClock.now - readAt < Self.patience, value) }
    }

    /// Reads until ``stop()`` is called. Call it on a separate thread.
    func run(_ read: () throws(LedgerError) -> Value) {
        while monitor.locked({ !isStopping }) {
            let found: Value?
            let start = ContinuousClock.now
            // The delivery of events reports the reason.
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
