import ServerThreads

/// Delivers an event, and returns what went wrong, or `nil`. One thread uses it.
typealias EventSender = (OutgoingEvent) -> String?

/// Threads that deliver events, each one event at a time.
final class EventSenders: @unchecked Sendable {
    /// An event that was sent, with what went wrong, or `nil`.
    typealias Result = (event: OutgoingEvent, failure: String?)

    private let monitor = Monitor()
    /// Within the monitor.
    private var waiting: [OutgoingEvent] = []
    private var results: [Result] = []
    /// Those that were given and whose results were not taken, by their ids.
    private var open: [String: OutgoingEvent] = [:]
    private var isStopping = false
    private var threads: [Thread] = []

    /// - Parameter makeSender: Is called once on each thread.
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

    /// The number of threads, less than what was asked for if the system has no more.
    var count: Int { threads.count }
    /// How many events can be sent at once.
    var freeCount: Int { monitor.locked { threads.count - open.count } }

    /// The events that were given and whose results were not taken.
    var openEvents: [OutgoingEvent] { monitor.locked { Array(open.values) } }

    func send(_ events: [OutgoingEvent]) {
        guard !events.isEmpty else { return }
        monitor.locked {
            waiting += events
            for event in events { open[event.id] = event }
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

    /// Sends nothing more.
    func end() {
        monitor.locked {
            isStopping = true
            for event in waiting { open[event.id] = nil }
            waiting = []
        }
        monitor.broadcast()
    }

    /// Ends the threads after what they are sending.
    ///
    /// - Returns: What they sent.
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
