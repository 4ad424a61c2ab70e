/// A request that is being received or answered.
///
/// One thread at a time uses it: the connection's thread of the daemon, and a thread of the queue while the daemon has suspended the connection.
final class Exchange: @unchecked Sendable {
    enum State {
        /// The body is being received.
        case receiving
        /// A thread of the queue makes the answer.
        case queued
        /// The answer is made.
        case answered(Response)
        /// The daemon has the answer.
        case sent
    }

    let connection: Connection
    /// The index of the route; `nil` if there is none.
    let route: Int?
    var request: Request
    var state = State.receiving
    /// What is wrong with the request, whatever its body is.
    var refusal: Response?
    /// The number of bytes received, also of what is not kept.
    var bodyByteCount = 0
    /// Whether it takes a place of the queue.
    var hasPlace = false
    /// When the request was complete.
    var start: UInt64 = 0

    init(_ connection: Connection, route: Int?, _ request: Request, refusal: Response? = nil) {
        self.connection = connection
        self.route = route
        self.request = request
        self.refusal = refusal
    }

    /// Keeps a part of the body, unless the request is refused already.
    func receive(_ bytes: UnsafeRawBufferPointer, _ limits: ServiceLimits, _ queue: WorkQueue) {
        bodyByteCount += bytes.count
        guard refusal == nil else { return }
        if bodyByteCount > limits.maximumBodyByteCount {
            refuse(.tooLarge(limit: limits.maximumBodyByteCount))
        } else if bodyByteCount > ServiceLimits.largeBodyByteCount, !hasPlace {
            hasPlace = queue.takePlace()
            if !hasPlace { refuse(.queueFull) }
        }
        // The capacity grows with what comes, and not with what a header promises.
        if refusal == nil { unsafe request.body.append(contentsOf: bytes) }
    }

    /// Answers with an error. What is left of the body is read and dropped, since a client that is still sending does not read.
    func refuse(_ response: Response) {
        refusal = response
        request.body = []
    }
}

extension Response {
    static var queueFull: Response {
        .busy("queue-full", "too many requests are waiting; try again later")
    }
}
