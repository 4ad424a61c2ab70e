import Synchronization

/// The counters of a service. Labels are routes, statuses and fixed words, so no client can add a series.
package final class ServiceMetrics: Sendable {
    /// The answers of one route.
    private struct Answers {
        var byStatus: [Int: UInt64] = [:]
        /// The counts by bucket, with one bucket more than ``bounds``.
        var buckets = [UInt64](repeating: 0, count: bounds.count + 1)
        var nanoseconds: UInt64 = 0
    }

    /// The upper bounds of the duration buckets, in seconds.
    private static let bounds = [0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.01, 0.1, 1, 10]

    /// The paths of the routes, then one entry for requests that match no route.
    private let paths: [String]
    private let answers: [Mutex<Answers>.Box]
    private let accepted = Atomic<UInt64>(0)
    private let refused = Atomic<UInt64>(0)
    private let aborted = Atomic<UInt64>(0)
    private let late = Mutex<[Connection.Phase: UInt64]>([:])
    private let startSeconds = Double(System.now.millisecondsSince1970) / 1000

    package init(_ routes: RouteTable) {
        paths = routes.routes.map(\.path) + ["none"]
        answers = paths.map { _ in .init(Answers()) }
    }

    /// - Parameter route: The index of the route, or `nil` if there is none.
    func count(_ answer: AnswerRecord, route: Int?) {
        let seconds = Double(answer.nanoseconds) / 1e9
        let bucket = Self.bounds.firstIndex { seconds <= $0 } ?? Self.bounds.count
        answers[route ?? paths.count - 1].value.withLock {
            $0.byStatus[answer.status, default: 0] += 1
            $0.buckets[bucket] += 1
            $0.nanoseconds += answer.nanoseconds
        }
    }

    func countConnection(isExcess: Bool) {
        accepted.add(1, ordering: .relaxed)
        if isExcess { refused.add(1, ordering: .relaxed) }
    }

    /// Counts a request whose client disconnected before it had the answer.
    func countAborted() { aborted.add(1, ordering: .relaxed) }

    func countLate(_ counts: [Connection.Phase: Int]) {
        guard !counts.isEmpty else { return }
        late.withLock { late in for (phase, count) in counts { late[phase, default: 0] += UInt64(count) } }
    }

    func path(of route: Int?) -> String { paths[route ?? paths.count - 1] }

    /// Returns all metrics.
    ///
    /// - Parameters:
    ///   - connectionCount: The number of open connections.
    ///   - lanes: The number of slots of each lane that are taken, and the size of its large bodies and answers.
    ///   - others: The metrics of the routes.
    func text(
        connectionCount: Int, lanes: [Lane: (queuedCount: Int, memoryByteCount: Int)], others: [MetricFamily]
    ) -> String {
        var requests = MetricFamily(.counter, "receipt_server_requests_total", "Answers by route and HTTP status.")
        var times = MetricFamily(
            .histogram, "receipt_server_request_seconds",
            "Seconds from the end of a request until its answer was ready.")
        for (path, answers) in zip(paths, answers) {
            let answers = answers.value.withLock(\.self)
            let route = ("route", path)
            for (status, count) in answers.byStatus.sorted(by: { $0.key < $1.key }) {
                requests.add(count, [route, ("status", "\(status)")])
            }
            var count: UInt64 = 0
            guard answers.buckets.contains(where: { $0 > 0 }) else { continue }
            for (bound, bucket) in zip(Self.bounds.map { "\($0)" } + ["+Inf"], answers.buckets) {
                count += bucket
                times.add(count, [route, ("le", bound)], suffix: "_bucket")
            }
            times.add(seconds: Double(answers.nanoseconds) / 1e9, [route], suffix: "_sum")
            times.add(count, [route], suffix: "_count")
        }
        var late = MetricFamily(
            .counter, "receipt_server_late_clients_total",
            "Connections closed because the client was too slow, by the phase that timed out.")
        for (phase, count) in self.late.withLock(\.self).sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            late.add(count, [("phase", "\(phase)")])
        }
        var queued = MetricFamily(
            .gauge, "receipt_server_queue_length",
            "Requests in a queue or being answered: large ones (processor), those with a token (guarded) and notifications (unguarded)."
        )
        var memory = MetricFamily(
            .gauge, "receipt_server_memory_bytes", "The size of all large bodies and answers in memory.")
        for lane in Lane.allCases {
            guard let counts = lanes[lane] else { continue }
            queued.add(UInt64(counts.queuedCount), [("lane", "\(lane)")])
            memory.add(UInt64(counts.memoryByteCount), [("lane", "\(lane)")])
        }
        var families = [
            requests, times,
            MetricFamily(
                .gauge, "receipt_server_connections", "Open connections.", value: UInt64(connectionCount)),
            MetricFamily(
                .counter, "receipt_server_connections_total", "Accepted connections.",
                value: accepted.load(ordering: .relaxed)),
            MetricFamily(
                .counter, "receipt_server_connections_refused_total",
                "Connections beyond the limit, which were answered 503.",
                value: refused.load(ordering: .relaxed)),
            MetricFamily(
                .counter, "receipt_server_requests_aborted_total",
                "Requests whose connection ended before their answer was sent.",
                value: aborted.load(ordering: .relaxed)),
            queued, memory, late,
        ]
        families += others
        if let bytes = System.residentByteCount {
            families.append(
                MetricFamily(
                    .gauge, "process_resident_memory_bytes", "Memory of the process, in bytes.", value: UInt64(bytes)))
        }
        var start = MetricFamily(.gauge, "process_start_time_seconds", "Start of the process, in seconds since 1970.")
        start.add(seconds: startSeconds)
        families.append(start)
        var text = ""
        for family in families { family.append(to: &text) }
        return text
    }
}

extension Mutex where Value: Sendable {
    /// A mutex that can be an element of an array.
    fileprivate final class Box: Sendable {
        let value: Mutex<Value>

        init(_ value: Value) { self.value = Mutex(value) }
    }
}
