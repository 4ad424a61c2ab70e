/// Where a ledger is.
enum LedgerLocation {
    case file(String)
    case postgreSQL(String)

    init(_ text: String) throws(LedgerError) {
        guard !text.isEmpty, !text.utf8.contains(0) else {
            throw LedgerError(.invalidLocation, "the location is empty")
        }
        for scheme in ["postgresql://", "postgres://"] where text.utf8.starts(with: scheme.utf8) {
            self = .postgreSQL(text)
            return
        }
        // A misspelt scheme is not the name of a file.
        guard !text.contains("://") else {
            throw LedgerError(.invalidLocation, "neither a file nor a postgresql: URI")
        }
        self = .file(text)
    }

    /// - Parameter asItIs: Whether a missing file is an error.
    func open(asItIs: Bool = false) throws(LedgerError) -> any LedgerStore {
        switch self {
        case .file(let path): try SQLiteStore(path: path, asItIs: asItIs)
        case .postgreSQL(let uri): try PostgreSQLStore(uri: uri)
        }
    }
}
