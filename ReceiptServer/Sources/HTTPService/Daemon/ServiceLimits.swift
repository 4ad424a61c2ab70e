/// What one client, or all of them, may take of a service.
package struct ServiceLimits: Sendable {
    /// The maximum size of a body, in bytes.
    package var maximumBodyByteCount = 1 << 20
    /// The maximum number of open connections. The answer to a request on another one is 503.
    package var maximumConnectionCount = 4096
    /// Whether there may be fewer connections, because the system allows fewer open files.
    package var allowsFewerConnections = true
    /// The maximum number of requests of a lane that wait for a thread or are being answered. The answer to another one
    /// is 503.
    package var queueCapacity = 256
    /// The maximum time that a request waits for a thread of its lane. The answer to one that waits longer is 503, and
    /// nothing is done.
    package var queueTime = Duration.seconds(5)
    /// The maximum size of all large bodies and of the answers to queued requests together, in bytes. Lanes share it
    /// equally. The answer to a body that exceeds it is 503.
    package var memoryByteCount = 256 << 20
    /// The number of threads that read requests and write answers, and of those that compute answers to large ones.
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

    /// A body beyond this size is answered by the queue, so that small requests do not wait for it.
    static let largeBodyByteCount = 64 << 10

    /// After a body of this size, what it took is given back to the kernel: a receipt of 40 MB left 270 MB to an idle
    /// service.
    static let hugeBodyByteCount = 16 << 20

    /// A client that has gone is looked for only where a request waited so long: one that closed its half of the
    /// connection early is answered else.
    static let noticeableWait = Duration.seconds(1)

    /// The number of threads that answer the requests of a lane.
    ///
    /// Those of ``Lane/processor`` compute. The others wait for a database most of the time: there are as many as may
    /// wait together, which share a commit, on a machine of any size. A thread that waits takes no processor.
    func threadCount(of lane: Lane) -> Int {
        switch lane {
        case .processor: threadCount
        case .guarded: max(threadCount, 64)
        case .unguarded: max(threadCount / 4, 16)
        }
    }

    /// The number of threads of a lane that large requests may have. They compute for long: half of the processors are
    /// left to the others.
    func largeThreadCount(of lane: Lane) -> Int {
        lane == .processor ? threadCount : max(System.processorCount / 2, 1)
    }

    /// The memory of each of `laneCount` lanes, in bytes. One body always fits.
    func memoryByteCount(laneCount: Int) -> Int { max(memoryByteCount / laneCount, maximumBodyByteCount) }

    /// The number of connections beyond ``maximumConnectionCount`` to which the service says that it is busy. Others
    /// wait in the system.
    var busyConnectionCount: Int { max(maximumConnectionCount / 8, 64) }

    /// The number of files that the process may have to open.
    package var openFileCount: Int { maximumConnectionCount + busyConnectionCount + 64 }

    /// Lowers the number of connections to what `count` open files allow.
    mutating func fit(openFileCount count: Int) {
        maximumConnectionCount = min(maximumConnectionCount, max(min((count - 64) / 9 * 8, count - 128), 1))
    }
}

// MARK: Options

extension ServiceLimits {
    /// An option for a limit: its row is all that there is of it.
    private struct Row: Sendable {
        let option: OptionTable.Option
        let read: @Sendable (OptionTable.Values, inout ServiceLimits) throws(ConfigurationError) -> Void

        /// A number. `help` follows the default.
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

        /// A time in seconds.
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
            "The maximum number of requests that wait because they are large (more than 64 KiB) or need the ledger",
            "Large requests, the ledger's requests with a token, and notifications have so many places each, of which one account, and the ledger's large requests together, can have a quarter. Beyond it: 503."
        ),
        .init(
            "--queue-time", \.queueTime, "The maximum time that such a request waits before it is begun",
            "Beyond it: 503, and nothing is done."),
        .init(
            "--memory", "BYTES", \.memoryByteCount, in: 1...(1 << 40),
            "The maximum size of all large bodies and answers together",
            "With a ledger, large requests, its requests with a token, and notifications have a third each. Beyond it: 503."
        ),
        .init(
            "--threads", "NUMBER", \.threadCount, in: 1...1024,
            "The number of threads that read requests and compute answers",
            byDefault: "by default that of the processors, and at least 2",
            "Requests that wait for the ledger's database have 64 of their own, and notifications 16, or more if this is more."
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

    /// Creates the limits that options name.
    package init(_ values: OptionTable.Values) throws(ConfigurationError) {
        self.init()
        for row in Self.rows { try row.read(values, &self) }
        if values["--connections"] != nil { allowsFewerConnections = false }
        guard memoryByteCount >= maximumBodyByteCount else {
            throw ConfigurationError("--memory must be at least the size of one body, \(maximumBodyByteCount)")
        }
    }
}
