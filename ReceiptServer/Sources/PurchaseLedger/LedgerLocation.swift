/// What is expected where a ledger is to be, and what may be changed there.
enum LedgerOpening {
    /// A ledger, whose tables may be those of an older version.
    case existing
    /// None: one is made.
    case creating
    /// A ledger, which is not changed, not even the kind of SQLite's journal.
    case asItIs
}

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
        // A misspelt scheme, or the keywords that libpq reads, are not the name of a file.
        let isScheme = ["postgresql:", "postgres:"].contains { text.utf8.starts(with: $0.utf8) }
        let isKeyword = text.utf8.drop { $0 == UInt8(ascii: " ") || Self.isLetter($0) }.first == UInt8(ascii: "=")
        let isPath = [UInt8(ascii: "."), UInt8(ascii: "/")].contains(text.utf8.first)
        guard isPath || !text.contains("://") && !isScheme && !isKeyword else {
            throw LedgerError(
                .invalidLocation,
                "neither a file nor a URI such as postgresql://user@host/database; a file of such a name is ./NAME")
        }
        self = .file(text)
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || byte == UInt8(ascii: "_")
    }

    func open(_ opening: LedgerOpening = .existing) throws(LedgerError) -> any LedgerStore {
        switch self {
        case .file(let path): try SQLiteStore(path: path, opening)
        case .postgreSQL(let uri):
            #if PostgreSQL
            try PostgreSQLStore(uri: uri)
            #else
            throw LedgerError(.invalidLocation, "this program was built without PostgreSQL: see the package's traits")
            #endif
        }
    }
}
