import ServerThreads
import StrictText

/// A class of requests that queue together. Each lane has slots, threads and memory of its own, which requests of other
/// lanes can't take.
package enum Lane: CaseIterable, Sendable {
    /// Large requests, which need the processor and don't wait.
    case processor
    /// Authenticated requests, which may wait for a database.
    case guarded
    /// Unauthenticated requests, which may wait for a database.
    case unguarded
}

/// A request that was parsed once, and waits for its answer.
package struct ParsedRequest: Sendable {
    /// How the answer is made.
    package enum Answer: Sendable {
        case now(@Sendable () -> Response)
        /// Passes the answer on once: before it returns, or later from any thread.
        case later(@Sendable (_ respond: @escaping @Sendable (Response) -> Void) -> Void)
    }

    /// The owner, if known. An owner can use only a share of the lane's slots and threads.
    package let owner: String?
    package let answer: Answer

    package init(owner: String?, _ answer: Answer) { (self.owner, self.answer) = (owner, answer) }

    package init(owner: String?, answer: @escaping @Sendable () -> Response) {
        self.init(owner: owner, .now(answer))
    }

    /// Waits for the answer, and returns it.
    func response() -> Response {
        switch answer {
        case .now(let answer): return answer()
        case .later(let answer):
            let response = Eventual<Response>()
            answer { response.set($0) }
            return response.wait()
        }
    }
}

/// The handler of requests with one method and path.
package struct Route: Sendable {
    package enum Methods: Sendable {
        /// One method. A route for `GET` also answers `HEAD`.
        case only(String)
        /// Every method.
        case any
    }

    /// The thread that runs a handler.
    package enum Execution: Hashable, Sendable {
        /// The thread that read the request, unless the body is large. The handler must not wait, and must take far
        /// less than a millisecond.
        case immediate
        /// A thread of a lane. The handler may wait, for example for a database.
        case queued(Lane)
    }

    package let methods: Methods
    /// The path, in which a segment in braces matches any segment, such as `/v1/accounts/{id}/entitlements`. It is also
    /// the route's name in metrics and in the log.
    package let path: String
    package var execution = Execution.immediate
    /// The names of the headers that the handler reads.
    package var headers: [String] = []
    /// The names of the query items that the handler reads.
    package var queryItems: [String] = []
    /// Refuses a request based on its request line and headers, before its body is read and before it takes a slot.
    /// Returns `nil` to admit it.
    package let refusal: @Sendable (Request) -> Response?
    /// Parses a request: before it takes a slot or, if its body is large, on the thread that answers it.
    package let parse: @Sendable (Request) -> ParsedRequest

    package init(
        _ methods: Methods, _ path: String, execution: Execution = .immediate, headers: [String] = [],
        queryItems: [String] = [], refusal: @escaping @Sendable (Request) -> Response? = { _ in nil },
        parse: @escaping @Sendable (Request) -> ParsedRequest
    ) {
        self.methods = methods
        self.path = path
        self.execution = execution
        self.headers = headers
        self.queryItems = queryItems
        self.refusal = refusal
        self.parse = parse
    }

    /// A route whose handler parses the request. It has no owner.
    package init(
        _ methods: Methods, _ path: String, execution: Execution = .immediate, headers: [String] = [],
        queryItems: [String] = [], refusal: @escaping @Sendable (Request) -> Response? = { _ in nil },
        handler: @escaping @Sendable (Request) throws -> Response
    ) {
        self.init(
            methods, path, execution: execution, headers: headers, queryItems: queryItems, refusal: refusal,
            parse: { request in ParsedRequest(owner: nil) { Response { try handler(request) } } })
    }

    func answer(_ request: Request) -> Response { parse(request).response() }

    /// The lane of requests that aren't answered immediately.
    var lane: Lane {
        switch execution {
        case .immediate: .processor
        case .queued(let lane): lane
        }
    }

    func answers(_ method: String) -> Bool {
        switch methods {
        case .any: true
        case .only(let own):
            own.hasSameBytes(as: method) || own.hasSameBytes(as: "GET") && method.hasSameBytes(as: "HEAD")
        }
    }
}
