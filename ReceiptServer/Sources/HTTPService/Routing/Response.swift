/// The answer to a request.
package struct Response: Sendable {
    /// The HTTP status.
    package var status: Int
    package var contentType = "application/json"
    /// Headers besides `Content-Type` and those of the connection.
    package var headers: [(name: String, value: String)] = []
    package var body: [UInt8]
    /// A word from a fixed list that says what happened, for the log: `ok`, or the code of an error. No input adds one.
    package var code: String
    /// What else the log says of the answer.
    package var logged: [(name: StaticString, value: String)] = []

    package init(status: Int = 200, body: [UInt8], code: String = "ok") {
        self.status = status
        self.body = body
        self.code = code
    }
}

// The answers that no route gives.
extension Response {
    static func methodNotAllowed(_ allowed: [String]) -> Response {
        let allowed = allowed.joined(separator: ", ")
        var response = Response(HTTPFault.methodNotAllowed, "it has \(allowed)")
        response.headers = [("Allow", allowed)]
        return response
    }

    static func tooLarge(limit: Int) -> Response { Response(HTTPFault.bodyTooLarge, "\(limit) bytes") }
}
