import StrictText

/// Requests that wait together. A lane has places, threads and memory of its own, which the requests of no other lane
/// can take.
package enum Lane: CaseIterable, Sendable {
    /// Large requests, which need the processor and wait for nothing.
    case processor
    /// Requests of those who have a token, which may wait for a database.
    case guarded
    /// Requests of anyone, which may wait for a database.
    case unguarded
}

/// What answers requests of one method to one path.
package struct Route: Sendable {
    package enum Methods: Sendable {
        /// One method. A route for `GET` answers `HEAD`, too.
        case only(String)
        /// Every method.
        case any
    }

    /// Where a handler runs.
    package enum Execution: Hashable, Sendable {
        /// On the thread that read the request, unless the body is large: the handler never waits, and takes far less
        /// than a millisecond.
        case immediate
        /// On a thread of a lane: the handler may wait, for a database for example.
        case queued(Lane)
    }

    package let methods: Methods
    /// The path, in which a segment in braces stands for any segment, such as `/v1/accounts/{id}/entitlements`. It is
    /// the route's name in metrics and in the log.
    package let path: String
    package var execution = Execution.immediate
    /// The names of the headers that the handler reads.
    package var headers: [String] = []
    /// The names of the members of the query that the handler reads.
    package var queryItems: [String] = []
    /// Refuses a request by its first line and its headers, before its body is read and before it takes a place; `nil`
    /// admits it.
    package let refusal: @Sendable (Request) -> Response?
    /// The owner of a queued request, if known. An owner can use only a share of the lane's slots and threads.
    package let owner: @Sendable (Request) -> String?
    package let handler: @Sendable (Request) -> Response

    package init(
        _ methods: Methods, _ path: String, execution: Execution = .immediate, headers: [String] = [],
        queryItems: [String] = [], refusal: @escaping @Sendable (Request) -> Response? = { _ in nil },
        owner: @escaping @Sendable (Request) -> String? = { _ in nil },
        handler: @escaping @Sendable (Request) throws -> Response
    ) {
        self.methods = methods
        self.path = path
        self.execution = execution
        self.headers = headers
        self.queryItems = queryItems
        self.refusal = refusal
        self.owner = owner
        self.handler = { request in Response { try handler(request) } }
    }

    /// The lane of its requests that are not answered at once.
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
