import ServerThreads

/// Delivers an event, and returns the failure, or `nil` if there was none. One thread uses it.
typealias EventSender = (OutgoingEvent) -> String?

/// Threads that deliver events, each one event at a time.
final class EventSenders: @unchecked Sendable {
    /// An event, and the failure to deliver it, or `nil` if it was delivered.
    typealias Result = (event: OutgoingEvent, failure: String?)

    private let monitor = Monitor()
    /// The state below is guarded by the monitor.
    private var waiting: [OutgoingEvent] = []
    private var results: [Result] = []
    /// The events, by id, that were accepted and whose results haven't been taken.
    private var open: [String: OutgoingEvent] = [:]
    private var isStopping = false
    private var threads: [Thread] = []

    /// - Parameter makeSender: Called once on each thread.
    init(count: Int, _ makeSender: @escaping @Sendable () -> EventSender) {
        threads = (0..<count).compactMap { _ in
            Thread {
                let send = makeSender()
                while let event = self.next() {
                    let failure = send(event)
                    self.monitor.locked { self.results.append((event, failure)) }
                    self.monitor.broadcast()
                }
            }
        }
    }

    /// The number of threads, which is less than requested if the system can't provide more.
    var count: Int { threads.count }
    /// The number of further events that can be delivered at once.
    var freeCount: Int { monitor.locked { threads.count - open.count } }

    /// The events that were accepted and whose results haven't been taken.
    var openEvents: [OutgoingEvent] { monitor.locked { Array(open.values) } }

    func send(_ events: [OutgoingEvent]) {
        guard !events.isEmpty else { return }
        monitor.locked {
            waiting += events
            for event in events { open[event.id] = event }
        }
        monitor.broadcast()
    }

    /// Returns the results since the last call, waiting for one if there are none.
    func takeResults(within time: Duration) -> [Result] {
        let deadline = Monitor.Deadline(after: time)
        return monitor.locked {
            while results.isEmpty, monitor.wait(until: deadline) {}
            return take()
        }
    }

    /// Sends nothing more.
    func end() {
        monitor.locked {
            isStopping = true
            for event in waiting { open[event.id] = nil }
            waiting = []
        }
        monitor.broadcast()
    }

    /// Ends the threads after their current deliveries.
    ///
    /// - Returns: The results of those deliveries.
    func stop() -> [Result] {
        end()
        for thread in threads { thread.join() }
        threads = []
        return monitor.locked { take() }
    }

    private func take() -> [Result] {
        defer { results = [] }
        for (event, _) in results { open[event.id] = nil }
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
