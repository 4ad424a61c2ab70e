import CSQLite

/// A connection to a file of SQLite. One thread uses it at a time.
@safe
final class SQLiteConnection: SQLConnection {
    let dialect = SQLDialect.sqlite
    private let handle: OpaquePointer
    private var statements: [String: OpaquePointer] = unsafe [:]
    /// The files that this connection has open, by their paths.
    private var files: [(path: String, identity: FileIdentity?)] = []

    /// - Parameter identity: The file to which the path must lead.
    init(path: String, _ identity: FileIdentity?, isReader: Bool = false) throws(LedgerError) {
        var handle: OpaquePointer?
        // The pool gives a connection to one thread at a time. Without CREATE, a deleted file is an error, and not an empty ledger.
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let result = unsafe sqlite3_open_v2(path, &handle, flags, nil)
        guard result == SQLITE_OK, let opened = unsafe handle else {
            let message = unsafe handle.map { unsafe String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            unsafe sqlite3_close_v2(handle)
            throw LedgerError(.storeUnavailable, "\(path): \(message)")
        }
        unsafe self.handle = unsafe opened
        unsafe sqlite3_busy_timeout(opened, 5000)
        // FULL: in WAL mode, only this makes a commit durable before it returns.
        for pragma in [
            "PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON", "PRAGMA trusted_schema=OFF",
            // The journals of savepoints would be files.
            "PRAGMA temp_store=MEMORY",
        ] {
            try run(pragma)
        }
        // A read opens the log and its index.
        try run("SELECT 1 FROM sqlite_schema LIMIT 1")
        files.append((path, identity))
        // They are beside the file itself, also where the path is a symbolic link.
        if let file = unsafe sqlite3_db_filename(opened, "main") {
            for suffix in ["-wal", "-shm"] {
                let path = unsafe String(cString: file) + suffix
                files.append((path, FileIdentity(path: path)))
            }
        }
        try checkFiles()
        if isReader { try run("PRAGMA query_only=ON") }
    }

    deinit {
        unsafe statements.values.forEach { unsafe sqlite3_finalize($0) }
        unsafe sqlite3_close_v2(handle)
    }

    /// Whether no transaction is open. Some errors, such as a full disk, end one.
    var isIdle: Bool { unsafe sqlite3_get_autocommit(handle) != 0 }

    /// Throws an error if a file was deleted or replaced since it was opened: nobody finds what was written to it.
    func checkFiles() throws(LedgerError) {
        for (path, identity) in files {
            guard let identity, FileIdentity(path: path) == identity else {
                throw LedgerError(
                    .storeUnavailable,
                    "\(path) was deleted or replaced while the ledger was open; restart the program to use what is there now"
                )
            }
        }
    }

    func run(_ statements: [SQLStatement]) throws(LedgerError) -> [[SQLRow]] {
        try statements.map { (statement) throws(LedgerError) in try run(statement.text, statement.parameters) }
    }

    func write(_ statement: String, _ parameters: [SQLValue]) throws(LedgerError) {
        _ = try run(statement, parameters) as [SQLRow]
    }

    @discardableResult
    func run(_ statement: String, _ parameters: [SQLValue] = []) throws(LedgerError) -> [SQLRow] {
        let prepared = try unsafe prepare(statement)
        defer {
            unsafe sqlite3_reset(prepared)
            unsafe sqlite3_clear_bindings(prepared)
        }
        for (index, parameter) in parameters.enumerated() {
            // SQLite numbers `$2` by where it first stands, not by its name.
            let position = unsafe sqlite3_bind_parameter_index(prepared, "$\(index + 1)")
            guard position > 0 else { throw LedgerError(.storeFailed, "no parameter $\(index + 1): \(statement)") }
            try unsafe bind(parameter, position, prepared)
        }
        var rows: [SQLRow] = []
        while true {
            switch unsafe sqlite3_step(prepared) {
            case SQLITE_ROW: rows.append(unsafe row(prepared))
            case SQLITE_DONE: return rows
            case let code: throw error(code)
            }
        }
    }

    private func prepare(_ statement: String) throws(LedgerError) -> OpaquePointer {
        if let known = unsafe statements[statement] { return unsafe known }
        var prepared: OpaquePointer?
        let result = unsafe sqlite3_prepare_v3(
            handle, statement, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard result == SQLITE_OK, let prepared = unsafe prepared else { throw error(result) }
        unsafe statements[statement] = unsafe prepared
        return unsafe prepared
    }

    private func bind(
        _ parameter: SQLValue, _ position: Int32, _ statement: OpaquePointer
    ) throws(LedgerError) {
        let result =
            switch parameter {
            case .null: unsafe sqlite3_bind_null(statement, position)
            case .integer(let value): unsafe sqlite3_bind_int64(statement, position, value)
            case .array: throw LedgerError(.storeFailed, "SQLite has no arrays")
            case .text(var text):
                text.withUTF8 { utf8 in
                    unsafe utf8.withMemoryRebound(to: CChar.self) {
                        unsafe ledger_bind_text(statement, position, $0.baseAddress, UInt64($0.count))
                    }
                }
            }
        guard result == SQLITE_OK else { throw error(result) }
    }

    private func row(_ statement: OpaquePointer) -> SQLRow {
        let count = unsafe sqlite3_column_count(statement)
        return SQLRow(
            values: (0..<count).map { column in
                switch unsafe sqlite3_column_type(statement, column) {
                case SQLITE_INTEGER: return .integer(unsafe sqlite3_column_int64(statement, column))
                case SQLITE_NULL: return .null
                default:
                    let text = unsafe sqlite3_column_text(statement, column)
                    let bytes = unsafe UnsafeBufferPointer(
                        start: text, count: Int(sqlite3_column_bytes(statement, column)))
                    return .text(unsafe String(decoding: bytes, as: UTF8.self))
                }
            })
    }

    private func error(_ code: Int32) -> LedgerError {
        let message = unsafe String(cString: sqlite3_errmsg(handle))
        switch code & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL, SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_NOMEM, SQLITE_READONLY,
            SQLITE_PROTOCOL, SQLITE_INTERRUPT:
            return LedgerError(.storeUnavailable, "\(message) (SQLite \(code))")
        default: return LedgerError(.storeFailed, "\(message) (SQLite \(code))")
        }
    }
}
