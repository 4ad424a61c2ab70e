import CSQLite
import StrictText

/// A connection to an SQLite file, used by one thread at a time.
@safe
final class SQLiteConnection: SQLConnection {
    let dialect = SQLDialect.sqlite
    private let handle: OpaquePointer
    private var statements: [String: Prepared] = unsafe [:]
    /// The texts of the statements that were prepared.
    var preparedStatements: [String] { unsafe Array(statements.keys) }

    /// A statement, the positions of its parameters `$1`, `$2` and so on, and its columns.
    private typealias Prepared = (handle: OpaquePointer, positions: [Int32], columns: SQLColumns)
    /// The files that this connection has open.
    private var files: [(path: String, identity: FileIdentity?)] = []

    /// - Parameters:
    ///   - identity: The expected identity of the file at the path.
    ///   - vfs: The name of SQLite's VFS, or `nil` for the default one.
    ///   - opening: The way to open the file. One that is opened as it is keeps the journal mode stored in it.
    init(
        path: String, _ identity: FileIdentity?, vfs: String? = nil, isReader: Bool = false,
        _ opening: LedgerOpening = .existing
    ) throws(LedgerError) {
        var handle: OpaquePointer?
        // The pool lends a connection to one thread at a time. Without CREATE, opening a deleted file is an error
        // instead of creating an empty ledger.
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        let result = unsafe sqlite3_open_v2(path, &handle, flags, vfs)
        guard result == SQLITE_OK, let opened = unsafe handle else {
            let message = unsafe handle.map { unsafe String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            unsafe sqlite3_close_v2(handle)
            throw LedgerError(.storeUnavailable, "\(path): \(message)")
        }
        unsafe self.handle = unsafe opened
        unsafe sqlite3_busy_timeout(opened, 5000)
        files.append((path, identity))
        try checkFiles()
        if opening != .creating { try checkTables(of: path) }
        let asItIs = opening == .asItIs
        let journal = try run(asItIs ? "PRAGMA journal_mode" : "PRAGMA journal_mode=WAL").first?.text(0)
        // In WAL mode, only FULL makes a commit durable before it returns.
        for pragma in [
            "PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON", "PRAGMA trusted_schema=OFF",
            // Otherwise, the journals of savepoints would be files.
            "PRAGMA temp_store=MEMORY",
            // A checkpoint syncs the log and the file, and writes a page only once for all the groups that changed it.
            "PRAGMA wal_autocheckpoint=4000",
            // In KiB. A group changes more pages than fit into the default, 2000, which would write some of them twice.
            "PRAGMA cache_size=\(isReader ? -2000 : -16000)",
        ] {
            try run(pragma)
        }
        // Read, so that SQLite opens the log and its index.
        try run("SELECT 1 FROM sqlite_schema LIMIT 1")
        // They are beside the file itself, even if the path is a symbolic link.
        let hasLog = !asItIs || journal?.hasSameBytes(as: "wal") ?? false
        if hasLog, let file = unsafe sqlite3_db_filename(opened, "main") {
            for suffix in ["-wal", "-shm"] {
                let path = unsafe String(cString: file) + suffix
                files.append((path, FileIdentity(path: path)))
            }
        }
        try checkFiles()
        if isReader { try run("PRAGMA query_only=ON") }
    }

    deinit {
        unsafe statements.values.forEach { unsafe sqlite3_finalize($0.handle) }
        unsafe sqlite3_close_v2(handle)
    }

    /// Whether no transaction is open. Some errors, such as a full disk, end the transaction.
    var isIdle: Bool { unsafe sqlite3_get_autocommit(handle) != 0 }

    /// Throws if a file was deleted or replaced since it was opened, because writes to it would be lost.
    func checkFiles() throws(LedgerError) {
        for (path, identity) in files {
            guard let identity, FileIdentity(path: path) == identity else {
                throw LedgerError(
                    .storeUnavailable,
                    "\(path) was deleted or replaced while the ledger was open; stop the program, restore the file, and start again"
                )
            }
        }
    }

    /// Throws if the file doesn't contain a ledger, before anything is written to it.
    private func checkTables(of path: String) throws(LedgerError) {
        let rows: [SQLRow]
        var isCutShort = false
        do throws(LedgerError) {
            rows = try run(dialect.tableQuery)
            // SQLite reads the missing part of a last page as zeros. If a checkpoint has begun to write pages, the log
            // still has them.
            let pageByteCount = try Int(run("PRAGMA page_size").first?.integer(0) ?? 1)
            isCutShort =
                FileIdentity.byteCount(path) % max(pageByteCount, 1) != 0
                && FileIdentity.byteCount(FileIdentity.resolved(path) + "-wal") == 0
        } catch {
            // The file was cut short, or isn't an SQLite file.
            guard [SQLITE_NOTADB, SQLITE_CORRUPT].contains(unsafe sqlite3_errcode(handle) & 0xFF) else { throw error }
            throw LedgerError(.noLedger, "\(Schema.missing(in: path).detail); \(error.detail)")
        }
        guard !rows.isEmpty, !isCutShort else { throw Schema.missing(in: path) }
    }

    func run(_ statements: [SQLStatement]) throws(LedgerError) -> [[SQLRow]] {
        try statements.map { (statement) throws(LedgerError) in try run(statement.text, statement.parameters) }
    }

    func write(_ statement: String, _ parameters: [SQLValue]) throws(LedgerError) {
        _ = try run(statement, parameters) as [SQLRow]
    }

    @discardableResult
    func run(_ statement: String, _ parameters: [SQLValue] = []) throws(LedgerError) -> [SQLRow] {
        let (prepared, positions, columns) = try unsafe prepare(statement)
        defer {
            unsafe sqlite3_reset(prepared)
            unsafe sqlite3_clear_bindings(prepared)
        }
        guard positions.count == parameters.count else {
            throw LedgerError(.storeFailed, "\(parameters.count) parameters: \(statement)")
        }
        for (parameter, position) in zip(parameters, positions) { try unsafe bind(parameter, position, prepared) }
        var rows: [SQLRow] = []
        while true {
            switch unsafe sqlite3_step(prepared) {
            case SQLITE_ROW: rows.append(unsafe row(prepared, columns))
            case SQLITE_DONE: return rows
            case let code: throw error(code)
            }
        }
    }

    private func prepare(_ statement: String) throws(LedgerError) -> Prepared {
        if let known = unsafe statements[statement] { return unsafe known }
        var prepared: OpaquePointer?
        let result = unsafe sqlite3_prepare_v3(
            handle, statement, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard result == SQLITE_OK, let prepared = unsafe prepared else { throw error(result) }
        // SQLite numbers `$2` by its first occurrence, not by its name.
        let positions = (0..<(unsafe sqlite3_bind_parameter_count(prepared))).map {
            unsafe sqlite3_bind_parameter_index(prepared, "$\($0 + 1)")
        }
        let columns = SQLColumns(
            (0..<(unsafe sqlite3_column_count(prepared))).map { column in
                unsafe sqlite3_column_name(prepared, column).map { unsafe String(cString: $0) } ?? ""
            })
        unsafe statements[statement] = unsafe (prepared, positions, columns)
        return unsafe (prepared, positions, columns)
    }

    private func bind(
        _ parameter: SQLValue, _ position: Int32, _ statement: OpaquePointer
    ) throws(LedgerError) {
        let result =
            switch parameter {
            case .null: unsafe sqlite3_bind_null(statement, position)
            case .integer(let value): unsafe sqlite3_bind_int64(statement, position, value)
            case .array(let values): unsafe bind(Self.json(values), position, statement)
            case .bytes(let bytes):
                unsafe bytes.withUnsafeBytes {
                    unsafe ledger_bind_blob(statement, position, $0.baseAddress, UInt64($0.count))
                }
            case .text(let text): unsafe bind(text, position, statement)
            }
        guard result == SQLITE_OK else { throw error(result) }
    }

    private func bind(_ text: String, _ position: Int32, _ statement: OpaquePointer) -> Int32 {
        var text = text
        return text.withUTF8 { utf8 in
            unsafe utf8.withMemoryRebound(to: CChar.self) {
                unsafe ledger_bind_text(statement, position, $0.baseAddress, UInt64($0.count))
            }
        }
    }

    private static func json(_ values: [SQLValue]) -> String {
        var writer = JSONWriter(capacity: 16 * values.count)
        writer.beginArray()
        for value in values {
            switch value {
            case .integer(let value): writer.integer(value)
            case .text(let text): writer.string(text)
            case .null, .bytes, .array: writer.null()
            }
        }
        writer.endArray()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private func row(_ statement: OpaquePointer, _ columns: SQLColumns) -> SQLRow {
        let count = unsafe sqlite3_column_count(statement)
        return SQLRow(
            values: (0..<count).map { column in
                switch unsafe sqlite3_column_type(statement, column) {
                case SQLITE_INTEGER: return .integer(unsafe sqlite3_column_int64(statement, column))
                case SQLITE_NULL: return .null
                case SQLITE_BLOB:
                    let blob = unsafe sqlite3_column_blob(statement, column)
                    return .bytes(
                        unsafe Array(
                            UnsafeRawBufferPointer(start: blob, count: Int(sqlite3_column_bytes(statement, column)))))
                default:
                    let text = unsafe sqlite3_column_text(statement, column)
                    let bytes = unsafe UnsafeBufferPointer(
                        start: text, count: Int(sqlite3_column_bytes(statement, column)))
                    return .text(unsafe String(decoding: bytes, as: UTF8.self))
                }
            }, columns: columns)
    }

    private func error(_ code: Int32) -> LedgerError {
        let message = unsafe String(cString: sqlite3_errmsg(handle))
        switch code & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL, SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_NOMEM, SQLITE_READONLY,
            SQLITE_PROTOCOL, SQLITE_INTERRUPT:
            return LedgerError(.storeUnavailable, "\(message) (SQLite \(code))")
        // The extended codes 6 and 8 are for a primary and another key: the row already exists, like 23505 in
        // PostgreSQL.
        case SQLITE_CONSTRAINT:
            return LedgerError(
                .storeFailed, "\(message) (SQLite \(code))", isConflict: code >> 8 == 6 || code >> 8 == 8)
        default: return LedgerError(.storeFailed, "\(message) (SQLite \(code))")
        }
    }
}
