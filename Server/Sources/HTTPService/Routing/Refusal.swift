/// An error of which the client is told.
package protocol Refusal: Error {
    /// The answer to the request that was refused.
    var response: Response { get }
}

extension Response {
    /// The answer of `body`, or that to the error it throws.
    init(_ body: () throws -> Response) {
        do {
            self = try body()
        } catch let error as any Refusal {
            self = error.response
        } catch {
            self.init(status: 500, errorCode: "internal-error", message: "the request could not be answered")
        }
    }
}

/// The reason a request cannot be read. Its evidence is not at fault.
package struct RequestFault: Refusal {
    private let code: StaticString
    private let message: String

    /// - Parameter code: The word for programs; it is in the service's description.
    package init(_ message: String, code: StaticString = "invalid-request") {
        self.code = code
        self.message = message
    }

    package static func noDate(_ member: String, code: StaticString = "invalid-request") -> RequestFault {
        RequestFault("'\(member)' must be a date such as 2025-01-31 or 2025-01-31T12:00:00Z", code: code)
    }

    package var response: Response { Response(status: 400, errorCode: code, message: message) }
}
