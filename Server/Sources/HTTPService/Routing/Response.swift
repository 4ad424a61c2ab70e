import StrictText

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

    package init(status: Int = 200, body: [UInt8], code: String = "ok") {
        self.status = status
        self.body = body
        self.code = code
    }

    /// An answer with the object `{"error":{"code":…,"message":…}}`.
    package init(status: Int, errorCode: StaticString, message: String) {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("error")
        writer.beginObject()
        writer.name("code")
        writer.string(errorCode)
        writer.name("message")
        writer.string(message)
        writer.endObject()
        writer.endObject()
        self.init(status: status, body: writer.bytes, code: "\(errorCode)")
    }
}

// The answers that no route gives.
extension Response {
    package static var notFound: Response {
        Response(status: 404, errorCode: "not-found", message: "there is nothing at this path")
    }

    static func methodNotAllowed(_ allowed: [String]) -> Response {
        var response = Response(
            status: 405, errorCode: "method-not-allowed",
            message: "this path answers \(allowed.joined(separator: ", ")) only")
        response.headers = [("Allow", allowed.joined(separator: ", "))]
        return response
    }

    static func tooLarge(limit: Int) -> Response {
        Response(
            status: 413, errorCode: "body-too-large",
            message: "the body has more than \(limit) bytes, which is the limit")
    }

    /// 503 with the time after which a client is to try again.
    package static func busy(_ code: StaticString, _ message: String) -> Response {
        var response = Response(status: 503, errorCode: code, message: message)
        response.headers = [("Retry-After", "1")]
        return response
    }
}
