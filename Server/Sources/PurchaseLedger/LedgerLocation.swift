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
        // A misspelt scheme, or what else libpq reads, is not the name of a file: the server would make an empty ledger.
        let others = ["postgresql:", "postgres:", "host=", "dbname=", "service="]
        guard !text.contains("://"), !others.contains(where: { text.utf8.starts(with: $0.utf8) }) else {
            throw LedgerError(
                .invalidLocation, "neither a file nor a URI such as postgresql://user@host/database")
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
