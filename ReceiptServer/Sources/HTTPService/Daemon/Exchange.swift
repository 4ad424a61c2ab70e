import LargeMemory

/// A request that is being received or answered.
///
/// Only one thread uses it at a time: the daemon's thread for the connection or, while the connection is suspended, the
/// thread that makes the answer.
final class Exchange: @unchecked Sendable {
    enum State {
        /// The body is being received.
        case receiving
        /// The connection is suspended until the answer is ready.
        case queued
        /// The answer is ready.
        case answered(Response)
        /// The daemon has the answer.
        case sent
    }

    let connection: Connection
    /// The index of the route, or `nil` if no route matches.
    let route: Int?
    var request: Request
    var state = State.receiving
    /// The reason to refuse the request regardless of its body.
    var refusal: Response?
    /// The number of bytes received, including those that were dropped.
    var bodyByteCount = 0
    /// The number of bytes taken from the memory budget.
    private var heldByteCount = 0
    private let memory: MemoryBudget
    /// The time when the request was complete, in nanoseconds.
    var start: UInt64 = 0

    /// - Parameter memory: The budget that the requests of the lane share.
    init(
        _ connection: Connection, route: Int?, _ request: Request, _ memory: MemoryBudget, refusal: Response? = nil
    ) {
        self.connection = connection
        self.route = route
        self.request = request
        self.memory = memory
        self.refusal = refusal
    }

    /// Appends a part of the body, unless the request has already been refused.
    func receive(_ bytes: UnsafeRawBufferPointer, _ limits: ServiceLimits) {
        bodyByteCount += bytes.count
        guard refusal == nil else { return }
        if bodyByteCount > limits.maximumBodyByteCount {
            refuse(.tooLarge(limit: limits.maximumBodyByteCount))
        } else if hasLargeBody {
            // Only received bytes count against the budget, so a client that stalls holds no more than it sent.
            if memory.take(bodyByteCount - heldByteCount) {
                heldByteCount = bodyByteCount
            } else {
                refuse(Response(HTTPFault.memoryFull))
            }
        }
        // The capacity grows with the received bytes: a header can promise any length.
        if refusal == nil { unsafe LargeMemory.append(bytes, to: &request.body) }
    }

    var hasLargeBody: Bool { bodyByteCount > ServiceLimits.largeBodyByteCount }

    /// Answers with an error. Reads and drops the rest of the body, because a client doesn't read while it sends.
    func refuse(_ response: Response) {
        refusal = response
        release()
    }

    /// Returns the answer to a request that is refused when its turn comes, or `nil` if it should run.
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
