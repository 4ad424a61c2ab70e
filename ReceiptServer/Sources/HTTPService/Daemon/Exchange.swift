import LargeMemory

/// A request that is being received or answered.
///
/// One thread at a time uses it: the connection's thread of the daemon, and a thread of the queue while the daemon has
/// suspended the connection.
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
    /// The bytes of the memory budget that it has.
    private var heldByteCount = 0
    private let memory: MemoryBudget
    /// When the request was complete.
    var start: UInt64 = 0

    /// - Parameter memory: What the requests of its lane share.
    init(
        _ connection: Connection, route: Int?, _ request: Request, _ memory: MemoryBudget, refusal: Response? = nil
    ) {
        self.connection = connection
        self.route = route
        self.request = request
        self.memory = memory
        self.refusal = refusal
    }

    /// Keeps a part of the body, unless the request is refused already.
    func receive(_ bytes: UnsafeRawBufferPointer, _ limits: ServiceLimits) {
        bodyByteCount += bytes.count
        guard refusal == nil else { return }
        if bodyByteCount > limits.maximumBodyByteCount {
            refuse(.tooLarge(limit: limits.maximumBodyByteCount))
        } else if hasLargeBody {
            // What a client has sent counts, and not that it began: whoever stalls takes no more than that.
            if memory.take(bodyByteCount - heldByteCount) {
                heldByteCount = bodyByteCount
            } else {
                refuse(Response(HTTPFault.memoryFull))
            }
        }
        // The capacity grows with what comes, and not with what a header promises.
        if refusal == nil { unsafe LargeMemory.append(bytes, to: &request.body) }
    }

    var hasLargeBody: Bool { bodyByteCount > ServiceLimits.largeBodyByteCount }

    /// Answers with an error. Reads and drops the rest of the body, since a client that is still sending does not read.
    func refuse(_ response: Response) {
        refusal = response
        release()
    }

    /// The answer to a request that is not begun when its turn comes; `nil` if it is.
    func refusal(at turn: WorkQueue.Turn) -> Response? {
        if turn == .tooLate { return Response(HTTPFault.queueTimeout) }
        let waited = System.monotonicNanoseconds - start
        return waited > ServiceLimits.noticeableWait.milliseconds * 1_000_000 && connection.isGone
            ? Response(HTTPFault.clientGone) : nil
    }

    /// Keeps an answer in place of the body, until the client has read it.
    func answer(_ response: Response) {
        release()
        state = .answered(response)
        heldByteCount = response.body.count
        memory.takeAnyway(heldByteCount)
    }

    /// Drops the body, or the answer.
    func release() {
        request.body = []
        memory.leave(heldByteCount)
        heldByteCount = 0
    }
}
