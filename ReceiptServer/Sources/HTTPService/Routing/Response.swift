/// The answer to a request.
package struct Response: Sendable {
    /// The HTTP status.
    package var status: Int
    package var contentType = "application/json"
    /// Headers other than `Content-Type` and those of the connection.
    package var headers: [(name: String, value: String)] = []
    package var body: [UInt8]
    /// A word from a fixed list for the log: `ok` or the code of an error. It never comes from input.
    package var code: String
    /// Further members of the answer's log line.
    package var logged: [(name: StaticString, value: String)] = []

    package init(status: Int = 200, body: [UInt8], code: String = "ok") {
        self.status = status
        self.body = body
        self.code = code
    }
}

// The answers for requests that match no route.
extension Response {
    static func methodNotAllowed(_ allowed: [String]) -> Response {
        let allowed = allowed.joined(separator: ", ")
        var response = Response(HTTPFault.methodNotAllowed, "it has \(allowed)")
        response.headers = [("Allow", allowed)]
        return response
    }

    static func tooLarge(limit: Int) -> Response { Response(HTTPFault.bodyTooLarge, "\(limit) bytes") }
}
