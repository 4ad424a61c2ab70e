import Instants
import ServerThreads

/// Threads that send events to a webhook, each one event at a time.
final class EventSenders: @unchecked Sendable {
    /// An event that was sent, with what went wrong, or `nil`.
    typealias Result = (event: OutgoingEvent, failure: String?)

    private let monitor = Monitor()
    /// Within the monitor.
    private var waiting: [OutgoingEvent] = []
    private var results: [Result] = []
    /// The events that were given and whose results were not taken.
    private var openCount = 0
    private var isStopping = false
    private var threads: [Thread] = []

    /// - Parameter date: The date of a signature.
    init(_ webhook: Webhook, count: Int, _ date: @escaping @Sendable () -> Instant) {
        threads = (0..<count).compactMap { _ in
            Thread {
                // A connection to the webhook lasts for as long as the receiver lets it.
                let client = WebhookClient(webhook, date)
                while let event = self.next() {
                    let failure = client.send(event.event, id: event.id)
                    self.monitor.locked { self.results.append((event, failure)) }
                    self.monitor.broadcast()
                }
            }
        }
    }

    /// The number of threads, less than what was asked for if the system has no more.
    var count: Int { threads.count }
    /// How many events can be sent at once.
    var freeCount: Int { monitor.locked { threads.count - openCount } }

    func send(_ events: [OutgoingEvent]) {
        guard !events.isEmpty else { return }
        monitor.locked {
            waiting += events
            openCount += events.count
        }
        monitor.broadcast()
    }

    /// Returns the events that have been sent, and waits for one if there is none.
    func takeResults(within time: Duration) -> [Result] {
        let deadline = Monitor.Deadline(after: time)
        return monitor.locked {
            while results.isEmpty, monitor.wait(until: deadline) {}
            return take()
        }
    }

    /// Ends the threads after what they are sending.
    ///
    /// - Returns: What they sent.
    func stop() -> [Result] {
        monitor.locked { isStopping = true }
        monitor.broadcast()
        for thread in threads { thread.join() }
        threads = []
        return monitor.locked { take() }
    }

    private func take() -> [Result] {
        defer { results = [] }
        openCount -= results.count
        return results
    }

    private func next() -> OutgoingEvent? {
        monitor.locked {
            while !isStopping {
                if !waiting.isEmpty { return waiting.removeFirst() }
                monitor.wait()
            }
            return nil
        }
    }
}
