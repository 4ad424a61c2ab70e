import CLibpq

/// A connection to PostgreSQL. One thread uses it at a time.
@safe
final class PostgreSQLConnection: SQLConnection {
    /// How long the server may take to answer a statement. The server itself gives up earlier.
    private static let patience = Duration.seconds(15)

    let dialect = SQLDialect.postgreSQL
    private let handle: OpaquePointer
    /// The names of the prepared statements.
    private var statements: [String: String] = [:]
    /// Whether the connection can be used again.
    private(set) var isUsable = true

    init(uri: String) throws(LedgerError) {
        guard let handle = unsafe PQconnectdb(uri) else { throw LedgerError(.storeUnavailable, "out of memory") }
        unsafe self.handle = unsafe handle
        guard unsafe PQstatus(handle) == CONNECTION_OK else {
            throw LedgerError(.storeUnavailable, unsafe Self.message(PQerrorMessage(handle)))
        }
        guard unsafe PQsetClientEncoding(handle, "UTF8") == 0 else {
            throw LedgerError(.storeUnavailable, "the database has no conversion to UTF-8")
        }
        // A backend that lost its client must not keep its locks, and a commit is durable when it is answered, whatever the server's default.
        for setting in [
            "SET statement_timeout = '10s'", "SET lock_timeout = '5s'",
            "SET idle_in_transaction_session_timeout = '30s'",
            // libpq would print what is no error, such as that a table exists already.
            "SET client_min_messages = 'warning'",
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
        ] {
            try run(setting)
        }
    }

    deinit { unsafe PQfinish(handle) }

    func run(_ statement: String, _ parameters: [SQLValue]) throws(LedgerError) -> [SQLRow] {
        let name = try prepare(statement)
        let texts: [[UInt8]?] = parameters.map {
            switch $0 {
            case .null: nil
            case .integer(let value): Array(String(value).utf8) + [0]
            case .text(let text): Array(text.utf8)
            }
        }
        // Texts are sent with their length: a NUL is an error, and not the end of the text.
        let formats: [Int32] = parameters.map { if case .text = $0 { 1 } else { 0 } }
        let lengths = texts.map { Int32($0?.count ?? 0) }
        let flat: [UInt8] = texts.compactMap(\.self).joined() + [0]
        let isSent = unsafe flat.withUnsafeBufferPointer { buffer in
            var offset = 0
            let values: [UnsafePointer<CChar>?] = unsafe texts.map { text in
                guard let text else { return nil }
                defer { offset += text.count }
                return unsafe buffer.baseAddress.map {
                    unsafe UnsafeRawPointer($0 + offset).assumingMemoryBound(to: CChar.self)
                }
            }
            return unsafe PQsendQueryPrepared(handle, name, Int32(parameters.count), values, lengths, formats, 0) == 1
        }
        return try result(isSent: isSent)
    }

    private func prepare(_ statement: String) throws(LedgerError) -> String {
        if let known = statements[statement] { return known }
        let name = "ledger_\(statements.count)"
        _ = try result(isSent: unsafe PQsendPrepare(handle, name, statement, 0, nil) == 1)
        statements[statement] = name
        return name
    }

    // MARK: Answers

    /// Waits for the answer to what was sent.
    private func result(isSent: Bool) throws(LedgerError) -> [SQLRow] {
        guard isSent else { throw lost() }
        let deadline = ContinuousClock.now + Self.patience
        var rows: [SQLRow] = []
        var failure: LedgerError?
        while true {
            try waitForAnswer(until: deadline)
            guard let result = unsafe PQgetResult(handle) else { break }
            defer { unsafe PQclear(result) }
            switch unsafe PQresultStatus(result) {
            case PGRES_COMMAND_OK: break
            case PGRES_TUPLES_OK: rows = unsafe Self.rows(result)
            default: failure = unsafe error(result)
            }
        }
        if let failure { throw failure }
        return rows
    }

    private func waitForAnswer(until deadline: ContinuousClock.Instant) throws(LedgerError) {
        while true {
            let unsent = unsafe PQflush(handle)
            guard unsent >= 0 else { throw lost() }
            if unsent == 0, unsafe PQisBusy(handle) == 0 { return }
            let rest = ContinuousClock.now.duration(to: deadline).components
            guard rest.seconds >= 0 else {
                isUsable = false
                throw LedgerError(.storeUnavailable, "the database does not answer")
            }
            let events = Int16(unsent == 0 ? POLLIN : POLLIN | POLLOUT)
            var descriptor = unsafe pollfd(fd: PQsocket(handle), events: events, revents: 0)
            _ = unsafe poll(&descriptor, 1, Int32(rest.seconds) * 1000 + 1000)
            guard unsafe PQconsumeInput(handle) == 1 else { throw lost() }
        }
    }

    private static func rows(_ result: OpaquePointer) -> [SQLRow] {
        let columns = unsafe PQnfields(result)
        return (0..<(unsafe PQntuples(result))).map { row in
            SQLRow(
                values: (0..<columns).map { column in
                    if unsafe PQgetisnull(result, row, column) == 1 { return .null }
                    let count = Int(unsafe PQgetlength(result, row, column))
                    let bytes = unsafe UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: count)
                    return .text(unsafe String(decoding: bytes, as: UTF8.self))
                })
        }
    }

    // MARK: Errors

    private func lost() -> LedgerError {
        isUsable = false
        return LedgerError(.storeUnavailable, unsafe Self.message(PQerrorMessage(handle)))
    }

    private func error(_ result: OpaquePointer) -> LedgerError {
        if unsafe PQstatus(handle) != CONNECTION_OK { isUsable = false }
        let message = unsafe Self.message(PQresultErrorMessage(result))
        let state = unsafe ledger_sqlstate(result).map { unsafe String(cString: $0) } ?? ""
        // The classes of PostgreSQL's error codes, Appendix A of its documentation.
        switch state.prefix(2) {
        // 40: serialization failures and deadlocks. 23505: another transaction made the same row.
        case "40": return LedgerError(.storeUnavailable, message, isConflict: true)
        case "23": return LedgerError(.storeFailed, message, isConflict: state == "23505")
        // Connections, resources (a full disk among them), an operator's intervention, the system, and locks that were not available.
        case "08", "53", "57", "58", "55", "25": return LedgerError(.storeUnavailable, message)
        case "": return LedgerError(.storeUnavailable, message)
        default: return LedgerError(.storeFailed, message)
        }
    }

    /// The first line of a message.
    private static func message(_ text: UnsafePointer<CChar>?) -> String {
        guard let text = unsafe text else { return "out of memory" }
        let message = unsafe String(cString: text)
        return String(message.prefix { $0 != "\n" })
    }
}
