/// The limits on what one client, or all clients together, can use of a service.
package struct ServiceLimits: Sendable {
    /// The maximum size of a body, in bytes.
    package var maximumBodyByteCount = 1 << 20
    /// The maximum number of open connections. Requests on further connections are answered with 503.
    package var maximumConnectionCount = 4096
    /// Whether the limit is lowered if the system allows fewer open files.
    package var allowsFewerConnections = true
    /// The maximum number of requests of a lane that wait for a thread or are being answered. Further requests are
    /// answered with 503.
    package var queueCapacity = 256
    /// The maximum time that a request waits for a thread of its lane. After that, it is answered with 503 and has no
    /// effect.
    package var queueTime = Duration.seconds(5)
    /// The maximum total size of large bodies and of the answers to queued requests, in bytes, divided equally among
    /// the lanes. A body that exceeds it is answered with 503.
    package var memoryByteCount = 256 << 20
    /// The number of threads that read requests and write answers. As many others answer large requests.
    package var threadCount = max(System.processorCount, 2)
    /// The maximum time from the connection until the end of the headers.
    package var headerTime = Duration.seconds(10)
    /// The maximum time from the end of the headers until the end of the body.
    package var bodyTime = Duration.seconds(10)
    /// The maximum time from the answer until the client has read it.
    package var answerTime = Duration.seconds(30)
    /// The maximum time from an answer until the end of the next headers.
    package var idleTime = Duration.seconds(60)

    package init() {}

    /// The queue answers requests with a larger body, so that small requests don't wait for them.
    static let largeBodyByteCount = 64 << 10

    /// The minimum body size for returning freed memory to the kernel: after a receipt of 40 MB, an idle service kept
    /// 270 MB.
    static let hugeBodyByteCount = 16 << 20

    /// The wait after which the server checks whether the client has gone. It isn't checked earlier, so that a client
    /// that half-closes its connection still gets an answer.
    static let noticeableWait = Duration.seconds(1)

    /// The number of threads that answer the requests of a lane, and the maximum number of requests under way. A
    /// redemption that waits for a commit uses no thread, but counts.
    ///
    /// Threads of ``Lane/processor`` compute. The others mostly wait for a database, so a few processors serve many of
    /// them. Requests that wait together share a commit.
    func threadCount(of lane: Lane) -> Int {
        switch lane {
        case .processor: threadCount
        case .guarded: max(threadCount, 64)
        case .unguarded: max(threadCount / 4, 16)
        }
    }

    /// The number of threads of a lane that large requests can use. Large requests compute for long, so half of the
    /// processors are left to the others.
    func largeThreadCount(of lane: Lane) -> Int {
        lane == .processor ? threadCount : max(System.processorCount / 2, 1)
    }

    /// Returns the memory of each of `laneCount` lanes, in bytes. One body always fits.
    func memoryByteCount(laneCount: Int) -> Int { max(memoryByteCount / laneCount, maximumBodyByteCount) }

    /// The number of connections beyond ``maximumConnectionCount`` that are accepted only to answer that the service is
    /// busy. Further connections wait in the system.
    var busyConnectionCount: Int { max(maximumConnectionCount / 8, 64) }

    /// The number of files that the process may need to open.
    package var openFileCount: Int { maximumConnectionCount + busyConnectionCount + 64 }

    /// Lowers the number of connections to fit `count` open files.
    mutating func fit(openFileCount count: Int) {
        maximumConnectionCount = min(maximumConnectionCount, max(min((count - 64) / 9 * 8, count - 128), 1))
    }
}

// MARK: Options

extension ServiceLimits {
    /// An option for a limit, complete in one row.
    private struct Row: Sendable {
        let option: OptionTable.Option
        let read: @Sendable (OptionTable.Values, inout ServiceLimits) throws(ConfigurationError) -> Void

        /// Creates a row for a number. `help` follows the default.
        init(
            _ name: String, _ value: String, _ limit: any WritableKeyPath<ServiceLimits, Int> & Sendable,
            in range: ClosedRange<Int>, _ summary: String, byDefault: String? = nil, _ help: String = ""
        ) {
            let standard = byDefault ?? "\(ServiceLimits()[keyPath: limit]) by default"
            option = .init(name, value, "\(summary); \(standard).\(help.isEmpty ? "" : " " + help)")
            read = { (values, limits) throws(ConfigurationError) in
                if let number = try values.number(name, range) { limits[keyPath: limit] = number }
            }
        }

        /// Creates a row for a time in seconds.
        init(
            _ name: String, _ limit: any WritableKeyPath<ServiceLimits, Duration> & Sendable, _ summary: String,
            _ help: String = ""
        ) {
            let standard = ServiceLimits()[keyPath: limit].components.seconds
            option = .init(name, "SECONDS", "\(summary); \(standard) by default.\(help.isEmpty ? "" : " " + help)")
            read = { (values, limits) throws(ConfigurationError) in
                if let time = try values.seconds(name) { limits[keyPath: limit] = time }
            }
        }
    }

    private static let rows: [Row] = [
        .init(
            "--maximum-body", "BYTES", \.maximumBodyByteCount, in: 1...(64 << 20),
            "The maximum size of a request's body",
            "Beyond it: 413."),
        .init(
            "--connections", "NUMBER", \.maximumConnectionCount, in: 1...1_000_000,
            "The maximum number of open connections",
            byDefault: "4096 by default, or as many as the system allows",
            "Beyond it: 503."),
        .init(
            "--queue", "NUMBER", \.queueCapacity, in: 1...1_000_000,
            "The maximum number of waiting requests that are large (more than 64 KiB) or need the ledger",
            "There are three such queues: large requests, ledger requests with a token, and notifications. One account can use a quarter of a queue, and so can the ledger's large requests together. Beyond it: 503."
        ),
        .init(
            "--queue-time", \.queueTime, "The maximum time that such a request waits before it is begun",
            "Beyond it: 503, and nothing is done."),
        .init(
            "--memory", "BYTES", \.memoryByteCount, in: 1...(1 << 40),
            "The maximum size of all large bodies and answers together",
            "With a ledger, a third each for large requests, ledger requests with a token, and notifications. Beyond it: 503."
        ),
        .init(
            "--threads", "NUMBER", \.threadCount, in: 1...1024,
            "The number of threads that read requests and compute answers",
            byDefault: "by default that of the processors, and at least 2",
            "Ledger requests have another 64, or this number if it is larger; notifications 16, or a quarter of it."
        ),
        .init(
            "--header-time", \.headerTime, "The maximum time for the headers of a request"),
        .init(
            "--body-time", \.bodyTime, "The maximum time for the body of a request"),
        .init(
            "--answer-time", \.answerTime, "The maximum time in which a client reads its answer"),
        .init(
            "--idle-time", \.idleTime, "The maximum time between two requests of a connection"),
    ]

    /// The options for limits.
    package static let options = rows.map(\.option)

    /// Creates limits from the values of options.
    package init(_ values: OptionTable.Values) throws(ConfigurationError) {
        self.init()
        for row in Self.rows { try row.read(values, &self) }
        if values["--connections"] != nil { allowsFewerConnections = false }
        guard memoryByteCount >= maximumBodyByteCount else {
            throw ConfigurationError("--memory must be at least the size of one body, \(maximumBodyByteCount)")
        }
    }
}
