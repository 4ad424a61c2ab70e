package import StrictText

/// A table of the reasons for which a service refuses a request. The raw value of a case is its code.
///
/// Answers are made from the rows, and so is the table in `README.md`.
package protocol ServiceFault: RawRepresentable<String>, CaseIterable, Sendable {
    var row: FaultRow { get }
}

/// The status and the texts of a fault.
package struct FaultRow: Sendable {
    /// The HTTP status.
    package let status: Int
    /// A clause that says what is wrong.
    package let explanation: String
    /// A sentence that says what to do.
    package let advice: String

    package init(_ status: Int, _ explanation: String, _ advice: String) {
        self.status = status
        self.explanation = explanation
        self.advice = advice
    }

    /// The party that can correct the fault, named as in the categories of refused evidence.
    package var category: String { status < 500 ? "client" : "host" }
}

/// An error that is answered to the client.
package protocol Refusal: Error {
    /// The answer to the request that was refused.
    var response: Response { get }
}

/// A refused request whose evidence isn't at fault.
package struct RequestFault: Refusal {
    package let response: Response

    /// - Parameter detail: What is wrong with this request.
    package init(_ fault: some ServiceFault, _ detail: String? = nil) { response = Response(fault, detail) }

    package static func invalid(_ detail: String) -> RequestFault {
        RequestFault(HTTPFault.invalidRequest, detail)
    }

    package static func noDate(_ member: String) -> RequestFault {
        RequestFault(HTTPFault.invalidDate, "'\(member)' must be a date such as 2025-01-31 or 2025-01-31T12:00:00Z")
    }
}

extension Response {
    /// Creates an answer with the object `{"error":{"code":…,"category":…,"message":…,"advice":…}}`.
    ///
    /// - Parameters:
    ///   - detail: What is wrong with this request.
    ///   - advice: What to do, or `nil` for the advice in the table.
    package init(_ fault: some ServiceFault, _ detail: String? = nil, advice: String? = nil) {
        let row = fault.row
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("error")
        writer.beginObject()
        writer.member("code", fault.rawValue)
        writer.member("category", row.category)
        writer.member("message", [row.explanation, detail].compactMap(\.self).joined(separator: ": "))
        writer.member("advice", advice ?? row.advice)
        writer.endObject()
        writer.endObject()
        self.init(status: row.status, body: writer.bytes, code: fault.rawValue)
        // A second is enough for a queue to shrink or for a database to answer again.
        if row.status == 503 { headers = [("Retry-After", "1")] }
    }

    /// Creates the answer that `body` returns, or the answer to the error that it throws.
    package init(_ body: () throws -> Response) {
        do {
            self = try body()
        } catch let error as any Refusal {
            self = error.response
        } catch {
            self.init(HTTPFault.internalError)
        }
    }
}

extension JSONWriter {
    /// Writes a member with a text, or with `null`.
    package mutating func member(_ name: StaticString, _ text: String?) {
        self.name(name)
        if let text { string(text) } else { null() }
    }
}
