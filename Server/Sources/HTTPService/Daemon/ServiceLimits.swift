/// What one client, or all of them, may take of a service.
package struct ServiceLimits: Sendable {
    /// The maximum size of a body, in bytes.
    package var maximumBodyByteCount = 1 << 20
    /// The maximum number of open connections. The answer to a request on another one is 503.
    package var maximumConnectionCount = 4096
    /// Whether there may be fewer connections, because the system allows fewer open files.
    package var allowsFewerConnections = true
    /// The maximum number of requests of a lane that wait for a thread or are being answered. The answer to another one is 503.
    package var queueCapacity = 256
    /// The maximum time that a request waits for a thread of its lane. The answer to one that waits longer is 503, and nothing is done.
    package var queueTime = Duration.seconds(5)
    /// The maximum size of all large bodies and of the answers to queued requests together, in bytes. Lanes share it equally. The answer to a body that exceeds it is 503.
    package var memoryByteCount = 256 << 20
    /// The number of threads that read requests and write answers.
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

    /// A client that has gone is looked for only where a request waited so long: one that closed its half of the connection early is answered else.
    static let noticeableWait = Duration.seconds(1)

    /// The number of threads that answer the requests of a lane. Those that wait for a database take no processor.
    func threadCount(of lane: Lane) -> Int {
        switch lane {
        case .processor: threadCount
        case .guarded: max(threadCount, 8)
        case .unguarded: max(threadCount / 2, 2)
        }
    }

    /// The memory of each of so many lanes, in bytes. One body always fits.
    func memoryByteCount(laneCount: Int) -> Int { max(memoryByteCount / laneCount, maximumBodyByteCount) }

    /// The number of connections beyond ``maximumConnectionCount`` to which the service says that it is busy. Others wait in the system.
    var busyConnectionCount: Int { max(maximumConnectionCount / 8, 64) }

    /// The number of files that the process may have to open.
    package var openFileCount: Int { maximumConnectionCount + busyConnectionCount + 64 }

    /// Lowers the number of connections to what so many open files allow.
    mutating func fit(openFileCount count: Int) {
        maximumConnectionCount = min(maximumConnectionCount, max(min((count - 64) / 9 * 8, count - 128), 1))
    }
}
