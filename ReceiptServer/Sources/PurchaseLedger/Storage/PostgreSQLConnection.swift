#if PostgreSQL
import CLibpq
import StrictText

/// A connection to PostgreSQL. One thread uses it at a time.
@safe
final class PostgreSQLConnection: SQLConnection {
    /// How long the server may take to answer a statement; `nil` for any time. The server itself gives up earlier.
    private let patience: Duration?

    let dialect = SQLDialect.postgreSQL
    private let handle: OpaquePointer
    /// The names of the prepared statements.
    private var statements: [String: String] = [:]
    private var insertions = SQLInsertions()
    /// What is sent before the next statement whose rows are read.
    private var unsent: [SQLStatement] = []
    private var isOpen = true
    /// Whether the connection can be used again.
    private(set) var isUsable = true
    /// Whether ``end()`` has not been answered.
    private var isEnding = false
    /// Whether a transaction has begun without any answer, and its commit has not been sent: the same work can be done
    /// over another connection.
    private var isUntouched = false
    /// The mark of the last transaction that left one.
    private var lastMark: Int64?

    init(uri: String, patience: Duration? = .seconds(15)) throws(LedgerError) {
        self.patience = patience
        guard let handle = unsafe PQconnectdb(uri) else { throw LedgerError(.storeUnavailable, "out of memory") }
        unsafe self.handle = unsafe handle
        guard unsafe PQstatus(handle) == CONNECTION_OK else {
            throw LedgerError(.storeUnavailable, unsafe Self.message(PQerrorMessage(handle)))
        }
        // With another encoding, an account or a product may have characters that it cannot store. SQL_ASCII stores any
        // bytes, and a pooler may not say which it is.
        if let encoding = unsafe PQparameterStatus(handle, "server_encoding").map({ unsafe String(cString: $0) }),
            !["UTF8", "SQL_ASCII"].contains(where: encoding.hasSameBytes)
        {
            throw LedgerError(
                .invalidLocation,
                "the database has the encoding \(encoding): dump it, and restore it into one with UTF8")
        }
        // What is sent waits in memory while answers are read.
        guard unsafe PQsetnonblocking(handle, 1) == 0 else { throw LedgerError(.storeUnavailable, "out of memory") }
        // A backend that lost its client must not keep its locks, and a commit is durable when it is answered, whatever
        // the server's default.
        let settings = [
            // By a statement, because libpq's own function would wait without end for a server that does not answer.
            "SET client_encoding = 'UTF8'",
            "SET statement_timeout = '\(patience == nil ? 0 : 10)s'", "SET lock_timeout = '5s'",
            "SET idle_in_transaction_session_timeout = '30s'",
            // libpq would print what is no error, such as that a table exists already.
            "SET client_min_messages = 'warning'",
            // Every statement follows an index. A plan that was made for empty tables, or for the first arrays, would
            // stay. Where there is no index, the plan seems so dear that it would be compiled each time.
            "SET enable_seqscan = off", "SET plan_cache_mode = 'force_generic_plan'", "SET jit = off",
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
        ]
        _ = try run(settings.map { SQLStatement($0) })
    }

    deinit { close() }

    /// Ends the connection, which cannot be used any more.
    func close() {
        guard isOpen else { return }
        (isOpen, isUsable) = (false, false)
        unsafe PQfinish(handle)
    }

    /// Throws an error if a URI is malformed. libpq's message quotes the URI, with parts of the password.
    static func check(_ uri: String) throws(LedgerError) {
        let malformed = LedgerError(.invalidLocation, "not a valid postgresql: URI; percent-encode the password")
        let (slash, at) = (UInt8(ascii: "/"), UInt8(ascii: "@"))
        let address = uri.utf8.drop { $0 != slash }.dropFirst(2)
        // For libpq, user and password end at the first @, if no / precedes it. Any further @ before the query is part
        // of a password that is not encoded.
        let end = address.firstIndex { $0 == slash || $0 == at } ?? address.endIndex
        let place = address[end...].first == at ? address[end...].dropFirst() : address
        guard !place.prefix(while: { $0 != UInt8(ascii: "?") }).contains(at) else { throw malformed }
        guard let options = unsafe PQconninfoParse(uri, nil) else { throw malformed }
        defer { unsafe PQconninfoFree(options) }
        var option = unsafe options
        while let keyword = unsafe option.pointee.keyword {
            // A list of ports; an empty one is the default.
            if unsafe String(cString: keyword).hasSameBytes(as: "port"), let value = unsafe option.pointee.val {
                let ports = unsafe String(cString: value).utf8.split(separator: UInt8(ascii: ","))
                let numbers = ports.map { UInt16(String(decoding: $0, as: UTF8.self)) ?? 0 }
                guard !numbers.contains(0) else { throw malformed }
            }
            unsafe option += 1
        }
    }

    // MARK: Transactions

    /// Begins a transaction with the next statement.
    func begin(_ statement: String) {
        unsent = [SQLStatement(statement)]
        isUntouched = true
    }

    /// - Parameter mark: Tells later whether the transaction was committed; `nil` where there are no tables for it.
    func commit(_ mark: Int64?) throws(LedgerError) {
        isUntouched = false
        guard let mark else {
            try run("COMMIT")
            return
        }
        let answers = try run(CommitMarks.leave(mark, removing: lastMark) + [SQLStatement("COMMIT")])
        if !answers[0].isEmpty { lastMark = mark }
    }

    /// Ends a transaction that only read, and does not wait for the answer.
    func end() {
        unsent = []
        isUntouched = false
        guard isUsable, !isEnding, unsafe PQtransactionStatus(handle) != PQTRANS_IDLE else { return }
        isEnding =
            unsafe PQenterPipelineMode(handle) == 1
            && PQsendQueryParams(handle, "ROLLBACK", 0, nil, nil, nil, nil, 0) == 1
            && PQpipelineSync(handle) == 1 && PQflush(handle) == 0
        if !isEnding { isUsable = false }
    }

    /// Reads the answer to ``end()``.
    private func finishEnd() throws(LedgerError) {
        while let result = unsafe try nextResult() { unsafe PQclear(result) }
        guard let end = unsafe try nextResult() else { throw lost() }
        unsafe PQclear(end)
    }

    /// Ends the transaction after an error, which is returned: as a conflict if the connection was lost while it was
    /// idle, after a restart of the server for example.
    func rollBack(_ error: LedgerError) -> LedgerError {
        unsent = []
        if isUsable, unsafe PQtransactionStatus(handle) != PQTRANS_IDLE { _ = try? run("ROLLBACK") }
        guard !isUsable else { return error }
        return LedgerError(error.code, error.detail, isConflict: isUntouched, isLost: !isUntouched)
    }

    // MARK: Statements

    func write(_ statement: String, _ parameters: [SQLValue]) { unsent.append(SQLStatement(statement, parameters)) }

    func run(_ statements: [SQLStatement]) throws(LedgerError) -> [[SQLRow]] {
        guard !statements.isEmpty else { return [] }
        let all = insertions.merged(unsent) + statements
        unsent = []
        return Array(try pipeline(all).suffix(statements.count))
    }

    /// Sends statements, and then reads their answers. If one fails, those after it are not run.
    private func pipeline(_ statements: [SQLStatement]) throws(LedgerError) -> [[SQLRow]] {
        let isEnding = isEnding
        guard isEnding || (unsafe PQenterPipelineMode(handle)) == 1 else { throw lost() }
        self.isEnding = false
        // Of each answer: the statement that it says is prepared.
        var steps: [String?] = []
        var names = self.statements
        for statement in statements {
            let known = names[statement.text]
            let name = known ?? "ledger_\(names.count)"
            if known == nil {
                guard unsafe PQsendPrepare(handle, name, statement.text, 0, nil) == 1 else { throw lost() }
                names[statement.text] = name
                steps.append(statement.text)
            }
            guard send(name, statement.parameters) else { throw lost() }
            steps.append(nil)
        }
        guard unsafe PQpipelineSync(handle) == 1 else { throw lost() }
        if isEnding { try finishEnd() }
        var answers: [[SQLRow]] = []
        var failure: LedgerError?
        for prepared in steps {
            var rows: [SQLRow] = []
            while let result = unsafe try nextResult() {
                defer { unsafe PQclear(result) }
                switch unsafe PQresultStatus(result) {
                case PGRES_COMMAND_OK:
                    isUntouched = false
                    if let prepared { self.statements[prepared] = names[prepared] }
                case PGRES_TUPLES_OK:
                    isUntouched = false
                    rows = unsafe Self.rows(result)
                // What comes after the one that failed.
                case PGRES_PIPELINE_ABORTED: break
                default: failure = unsafe failure ?? error(result)
                }
            }
            if prepared == nil { answers.append(rows) }
        }
        guard let end = unsafe try nextResult() else { throw failure ?? lost() }
        unsafe PQclear(end)
        guard unsafe PQexitPipelineMode(handle) == 1 else { throw failure ?? lost() }
        if let failure { throw failure }
        return answers
    }

    private func send(_ name: String, _ parameters: [SQLValue]) -> Bool {
        // All values, one after the other, and where each is.
        var bytes: [UInt8] = []
        var places: [Range<Int>?] = []
        for parameter in parameters {
            let start = bytes.count
            switch parameter {
            case .null: break
            case .integer(let value): bytes += "\(value)\0".utf8
            case .text(let text): bytes += text.utf8
            case .bytes(let value): bytes += value
            case .array(let values):
                Self.append(values, to: &bytes)
                bytes.append(0)
            }
            if case .null = parameter { places.append(nil) } else { places.append(start..<bytes.count) }
        }
        // An empty text has an address, too.
        bytes.append(0)
        // Texts and bytes are sent with their length: a NUL of a text is an error, and not its end.
        let formats: [Int32] = parameters.map {
            switch $0 {
            case .text, .bytes: 1
            case .null, .integer, .array: 0
            }
        }
        let lengths = places.map { Int32($0?.count ?? 0) }
        return unsafe bytes.withUnsafeBytes { buffer in
            let values: [UnsafePointer<CChar>?] = unsafe places.map { place in
                unsafe place.flatMap { place in
                    unsafe buffer.baseAddress.map { unsafe ($0 + place.lowerBound).assumingMemoryBound(to: CChar.self) }
                }
            }
            return unsafe PQsendQueryPrepared(handle, name, Int32(parameters.count), values, lengths, formats, 0) == 1
        }
    }

    /// Appends the text of an array (8.15.6 of PostgreSQL's documentation). Its texts are keys, which have no NUL.
    private static func append(_ values: [SQLValue], to bytes: inout [UInt8]) {
        let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
        bytes.append(UInt8(ascii: "{"))
        for (number, value) in values.enumerated() {
            if number > 0 { bytes.append(UInt8(ascii: ",")) }
            switch value {
            case .integer(let value): bytes += "\(value)".utf8
            case .text(let text):
                bytes.append(quote)
                for byte in text.utf8 {
                    if byte == quote || byte == backslash { bytes.append(backslash) }
                    bytes.append(byte)
                }
                bytes.append(quote)
            case .null, .array, .bytes: bytes += "NULL".utf8
            }
        }
        bytes.append(UInt8(ascii: "}"))
    }

    // MARK: Answers

    /// Waits for the next result; `nil` after the last one of a statement.
    private func nextResult() throws(LedgerError) -> OpaquePointer? {
        try waitForAnswer(until: patience.map { .now + $0 })
        return unsafe PQgetResult(handle)
    }

    private func waitForAnswer(until deadline: ContinuousClock.Instant?) throws(LedgerError) {
        while true {
            let unsent = unsafe PQflush(handle)
            guard unsent >= 0 else { throw lost() }
            if unsent == 0, unsafe PQisBusy(handle) == 0 { return }
            let rest = deadline.map { ContinuousClock.now.duration(to: $0).components.seconds }
            if let rest, rest < 0 {
                (isUsable, isUntouched) = (false, false)
                throw LedgerError(.storeUnavailable, "the database does not answer")
            }
            let events = Int16(unsent == 0 ? POLLIN : POLLIN | POLLOUT)
            var descriptor = unsafe pollfd(fd: PQsocket(handle), events: events, revents: 0)
            _ = unsafe poll(&descriptor, 1, rest.map { Int32($0) * 1000 + 1000 } ?? -1)
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
        // Connections, resources (a full disk among them), an operator's intervention, the system, and locks that were
        // not available.
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
#endif
