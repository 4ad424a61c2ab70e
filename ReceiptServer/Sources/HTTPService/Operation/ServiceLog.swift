import StrictText
import Synchronization

/// The log: one JSON object a line, on standard error.
///
/// A line never contains a body, a header, a path as received, an account or any other text from a client, so no
/// receipt, password or token can leak into it. Transaction ids come from Apple, in verified evidence.
package struct ServiceLog: Sendable {
    /// The amount of detail to write.
    package enum Detail: String, CaseIterable, Sendable {
        /// Start, stop and warnings.
        case none
        /// Also every answer that isn't a success, and every client that was too late.
        case problems
        /// Also all other answers.
        case all
    }

    package enum Level: String, Sendable { case info, warning, error }

    package let detail: Detail
    private let write: @Sendable ([UInt8]) -> Void

    /// - Parameter write: Writes the bytes of a line.
    package init(
        detail: Detail, write: @escaping @Sendable ([UInt8]) -> Void = { System.write($0, to: System.standardError) }
    ) {
        self.detail = detail
        self.write = write
    }

    /// The value of a member: text or a number.
    package enum Value: Sendable {
        case text(String)
        case number(Int)
    }

    /// Writes a line that begins with the time.
    package func write(_ level: Level, _ event: StaticString, _ members: [(StaticString, Value)] = []) {
        var writer = JSONWriter(capacity: 256)
        writer.beginObject()
        writer.name("time")
        writer.string("\(System.now)")
        writer.name("level")
        writer.string(level.rawValue)
        writer.name("event")
        writer.string(event)
        for (name, value) in members {
            writer.name(name)
            switch value {
            case .text(let text): writer.string(text)
            case .number(let number): writer.integer(Int64(number))
            }
        }
        writer.endObject()
        writer.endLine()
        write(writer.bytes)
    }

    /// Writes the line of an answer.
    func write(_ answer: AnswerRecord, route: String) {
        guard detail == .all || detail == .problems && answer.isProblem else { return }
        write(
            answer.status >= 500 ? .error : answer.isProblem ? .warning : .info, "answer",
            [
                ("route", .text(route)), ("method", .text(answer.method)), ("status", .number(answer.status)),
                ("code", .text(answer.code)), ("bytes", .number(answer.bodyByteCount)),
                ("microseconds", .number(Int(answer.nanoseconds / 1000))), ("request", .text(answer.requestID)),
            ] + answer.logged.map { ($0.name, .text($0.value)) })
    }
}

/// The details of an answer for the log and the metrics.
struct AnswerRecord: Sendable {
    /// One of the known methods, or `other`, because a client can invent methods.
    let method: String
    let status: Int
    let code: String
    /// The size of the request's body.
    let bodyByteCount: Int
    /// The time from the end of the request until its answer was made.
    let nanoseconds: UInt64
    let requestID: String
    /// The members that the route adds.
    var logged: [(name: StaticString, value: String)] = []

    var isProblem: Bool { status >= 400 || !code.hasSameBytes(as: "ok") }

    static func known(_ method: String) -> String {
        let known = ["GET", "POST", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"]
        return known.first { $0.hasSameBytes(as: method) } ?? "other"
    }
}
