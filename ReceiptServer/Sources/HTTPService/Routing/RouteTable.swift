import StrictText

/// All routes of a listener.
package struct RouteTable: Sendable {
    private struct Entry: Sendable {
        /// The segments of the path, with `nil` for each placeholder.
        let segments: [UTF8Bytes?]
        let index: Int
    }

    package let routes: [Route]
    /// The headers that every answer of the listener has.
    let headers: [(name: String, value: String)]
    private let entries: [Entry]

    package init(_ routes: [Route], headers: [(name: String, value: String)] = []) {
        self.routes = routes
        self.headers = headers
        entries = routes.enumerated().map { index, route in
            Entry(
                segments: Self.segments(of: route.path).map { segment in
                    segment.first == UInt8(ascii: "{") ? nil : UTF8Bytes(segment)
                },
                index: index)
        }
    }

    /// The result of looking up a method and a path.
    enum Match {
        /// A route, by its index in ``RouteTable/routes``, and the values of its placeholders.
        case route(Int, parameters: [String])
        case methodNotAllowed([String])
        case notFound
    }

    func match(_ method: String, _ path: String) -> Match {
        let segments = Self.segments(of: path)
        var allowed: [String] = []
        for entry in entries {
            guard let parameters = Self.parameters(of: entry, segments) else { continue }
            let route = routes[entry.index]
            if route.answers(method) { return .route(entry.index, parameters: parameters) }
            if case .only(let name) = route.methods {
                allowed += name.hasSameBytes(as: "GET") ? ["GET", "HEAD"] : [name]
            }
        }
        return allowed.isEmpty ? .notFound : .methodNotAllowed(allowed)
    }

    /// Returns the values of the placeholders, or `nil` if the path doesn't match.
    private static func parameters(of entry: Entry, _ segments: [ArraySlice<UInt8>]) -> [String]? {
        guard entry.segments.count == segments.count else { return nil }
        var parameters: [String] = []
        for (expected, segment) in zip(entry.segments, segments) {
            if let expected {
                guard expected == UTF8Bytes(segment) else { return nil }
            } else {
                guard let value = PercentEncoding.decode(segment), !value.isEmpty else { return nil }
                parameters.append(value)
            }
        }
        return parameters
    }

    private static func segments(of path: String) -> [ArraySlice<UInt8>] {
        Array(path.utf8).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    }

    /// Answers a request as the daemon does, for routes that need no queue.
    package func answer(_ request: Request) -> Response {
        switch match(request.method, request.path) {
        case .notFound: return Response(HTTPFault.notFound)
        case .methodNotAllowed(let allowed): return .methodNotAllowed(allowed)
        case .route(let index, let parameters):
            var request = request
            request.parameters = parameters
            return routes[index].refusal(request) ?? routes[index].answer(request)
        }
    }
}
