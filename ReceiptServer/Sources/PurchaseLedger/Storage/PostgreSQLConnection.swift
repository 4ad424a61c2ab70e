#if PostgreSQL
import CLibpq
import StrictText

/// A connection to PostgreSQL, used by one thread at a time.
@safe
final class PostgreSQLConnection: SQLConnection {
    /// The maximum time for the answer to a statement, or `nil` for any. The server itself gives up earlier.
    private let patience: Duration?

    let dialect = SQLDialect.postgreSQL
    private let handle: OpaquePointer
    /// The names of the prepared statements, and the columns of their results.
    private(set) var statements: [String: String] = [:]
    private var columns: [String: SQLColumns] = [:]
    /// The statements to send before the next one whose rows are read.
    private var unsent: [SQLStatement] = []
    private var isOpen = true
    /// Whether the connection can be used again.
    private(set) var isUsable = true
    /// Whether the answer to ``end()`` hasn't been read yet.
    private var isEnding = false
    /// Whether the current transaction has had no answer and its commit hasn't been sent, so that another connection
    /// can repeat the work.
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
        // In another encoding, an account or a product id can have characters that the database can't store. SQL_ASCII
        // stores any bytes. A pooler may not report the encoding.
        if let encoding = unsafe PQparameterStatus(handle, "server_encoding").map({ unsafe String(cString: $0) }),
            !["UTF8", "SQL_ASCII"].contains(where: encoding.hasSameBytes)
        {
            throw LedgerError(
                .invalidLocation,
                "the database has the encoding \(encoding): dump it, and restore it into one with UTF8")
        }
        // Buffer what can't be sent while answers are read.
        guard unsafe PQsetnonblocking(handle, 1) == 0 else { throw LedgerError(.storeUnavailable, "out of memory") }
        // A backend that lost its client must not keep its locks. A commit must be durable when it is answered,
        // whatever the server's default is.
        let settings = [
            // Use a statement, because libpq's function would wait forever for a server that doesn't answer.
            "SET client_encoding = 'UTF8'",
            "SET statement_timeout = '\(patience == nil ? 0 : 10)s'", "SET lock_timeout = '5s'",
            "SET idle_in_transaction_session_timeout = '30s'",
            // libpq would print notices that aren't errors, such as that a table already exists.
            "SET client_min_messages = 'warning'",
            // Every statement uses an index. A plan made for empty tables, or for the first arrays, would be kept.
            // Where there is no index, the plan seems so expensive that it would be compiled each time.
            "SET enable_seqscan = off", "SET plan_cache_mode = 'force_generic_plan'", "SET jit = off",
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
        ]
        _ = try run(settings.map { SQLStatement($0) })
    }

    deinit { close() }

    /// Closes the connection for good.
    func close() {
        guard isOpen else { return }
        (isOpen, isUsable) = (false, false)
        unsafe PQfinish(handle)
    }

    /// Throws if a URI is malformed. libpq's own message would quote the URI, including parts of the password.
    static func check(_ uri: String) throws(LedgerError) {
        let malformed = LedgerError(.invalidLocation, "not a valid postgresql: URI; percent-encode the password")
        let (slash, at) = (UInt8(ascii: "/"), UInt8(ascii: "@"))
        let address = uri.utf8.drop { $0 != slash }.dropFirst(2)
        // For libpq, the user and password end at the first @, unless a / precedes it. Any further @ before the query
        // belongs to a password that isn't percent-encoded.
        let end = address.firstIndex { $0 == slash || $0 == at } ?? address.endIndex
        let place = address[end...].first == at ? address[end...].dropFirst() : address
        guard !place.prefix(while: { $0 != UInt8(ascii: "?") }).contains(at) else { throw malformed }
        guard let options = unsafe PQconninfoParse(uri, nil) else { throw malformed }
        defer { unsafe PQconninfoFree(options) }
        var option = unsafe options
        while let keyword = unsafe option.pointee.keyword {
            // A list of ports. An empty one means the default.
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

    /// - Parameter mark: Shows later whether the transaction was committed, or `nil` if there is no table for it.
    func commit(_ mark: Int64?) throws(LedgerError) {
        isUntouched = false
        guard let mark else {
            try run("COMMIT")
            return
        }
        let answers = try run(CommitMarks.leave(mark, removing: lastMark) + [SQLStatement("COMMIT")])
        if !answers[0].isEmpty { lastMark = mark }
    }

    /// Ends a read-only transaction without waiting for the answer.
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

    /// Rolls back after an error, and returns the error. If the connection was lost while idle, as after a restart of
    /// the server, the error is a conflict.
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
        let all = unsent + statements
        unsent = []
        return Array(try pipeline(all).suffix(statements.count))
    }

    /// Sends statements, then reads their answers. If one fails, those after it don't run.
    private func pipeline(_ statements: [SQLStatement]) throws(LedgerError) -> [[SQLRow]] {
        let isEnding = isEnding
        guard isEnding || (unsafe PQenterPipelineMode(handle)) == 1 else { throw lost() }
        self.isEnding = false
        // For each answer, the statement that it confirms as prepared, or `nil`.
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
                    rows = unsafe self.rows(result, of: statements[answers.count].text)
                // A statement after the one that failed.
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
        // All values, concatenated, and the range of each.
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
        // Even an empty text needs an address.
        bytes.append(0)
        // Text and bytes are sent with their length, so a NUL in a text is an error and doesn't end the text.
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

    /// Appends the text form of an array (PostgreSQL documentation, 8.15.6). Its elements are keys without NULs.
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

    /// Waits for the next result. Returns `nil` after the last result of a statement.
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

    private func rows(_ result: OpaquePointer, of statement: String) -> [SQLRow] {
        let count = unsafe PQnfields(result)
        let names =
            columns[statement]
            ?? SQLColumns((0..<count).map { unsafe PQfname(result, $0).map { unsafe String(cString: $0) } ?? "" })
        columns[statement] = names
        return (0..<(unsafe PQntuples(result))).map { row in
            SQLRow(
                values: (0..<count).map { column in
                    if unsafe PQgetisnull(result, row, column) == 1 { return .null }
                    let count = Int(unsafe PQgetlength(result, row, column))
                    let bytes = unsafe UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: count)
                    return .text(unsafe String(decoding: bytes, as: UTF8.self))
                }, columns: names)
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
        // The classes of PostgreSQL's error codes (Appendix A of its documentation).
        switch state.prefix(2) {
        // 40: serialization failures and deadlocks. 23505: another transaction inserted the same row.
        case "40": return LedgerError(.storeUnavailable, message, isConflict: true)
        case "23": return LedgerError(.storeFailed, message, isConflict: state == "23505")
        // Connections, resources such as disk space, operator intervention, the system, and locks that weren't
        // available.
        case "08", "53", "57", "58", "55", "25": return LedgerError(.storeUnavailable, message)
        case "": return LedgerError(.storeUnavailable, message)
        default: return LedgerError(.storeFailed, message)
        }
    }

    /// Returns the first line of a message.
    private static func message(_ text: UnsafePointer<CChar>?) -> String {
        guard let text = unsafe text else { return "out of memory" }
        let message = unsafe String(cString: text)
        return String(message.prefix { $0 != "\n" })
    }
}
#endif
