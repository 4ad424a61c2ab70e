/// The reasons for which any service can refuse a request.
package enum HTTPFault: String, ServiceFault {
    case ambiguousRequest = "ambiguous-request"
    case ambiguousLength = "ambiguous-length"
    case invalidRequest = "invalid-request"
    case invalidJSON = "invalid-json"
    case invalidDate = "invalid-date"
    case notFound = "not-found"
    case methodNotAllowed = "method-not-allowed"
    case bodyTooLarge = "body-too-large"
    case internalError = "internal-error"
    case tooManyConnections = "too-many-connections"
    case queueFull = "queue-full"
    case queueTimeout = "queue-timeout"
    case clientGone = "client-gone"
    case memoryFull = "memory-full"
    case stopping

    package var row: FaultRow {
        switch self {
        case .ambiguousRequest:
            FaultRow(
                400, "the path contains a NUL, or the request has more than one 'Host' header",
                "Send one 'Host' header, and a path without NUL.")
        case .ambiguousLength:
            FaultRow(
                400, "the headers do not say clearly where the body ends",
                "Send one 'Content-Length', or chunks in HTTP/1.1, and not both.")
        case .invalidRequest:
            FaultRow(
                400, "the request cannot be read",
                "Send it as openapi.json or, for the ledger, openapi-ledger.json describes it.")
        case .invalidJSON:
            FaultRow(
                400, "the body is not the expected JSON object",
                "Send it as openapi.json or, for the ledger, openapi-ledger.json describes it.")
        case .invalidDate:
            FaultRow(400, "a date cannot be read", "Send a date such as 2025-01-31 or 2025-01-31T12:00:00Z.")
        case .notFound:
            FaultRow(
                404, "there is nothing at this path",
                "Compare the path with openapi.json or, for the ledger, openapi-ledger.json.")
        case .methodNotAllowed:
            FaultRow(405, "this path does not support the method", "Use a method from the 'Allow' header.")
        case .bodyTooLarge:
            FaultRow(
                413, "the body is larger than the limit",
                "Evidence is far below it. Have the operator of the server raise --maximum-body if you send many pieces at once."
            )
        case .internalError:
            FaultRow(500, "the request could not be answered", "Report it to the operator of the server.")
        case .tooManyConnections:
            FaultRow(503, "too many connections are open", "Try again later, and reuse connections.")
        case .queueFull: FaultRow(503, "too many requests are waiting", "Try again later.")
        case .queueTimeout:
            FaultRow(503, "the request waited too long, and nothing was done", "Send it again.")
        case .clientGone:
            FaultRow(
                503, "the client ended the connection while the request waited, and nothing was done",
                "Wait longer for answers. Send the request again.")
        case .memoryFull: FaultRow(503, "too many large requests are being received", "Try again later.")
        case .stopping: FaultRow(503, "the service is stopping", "Send requests to another server.")
        }
    }
}
