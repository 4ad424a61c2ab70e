/// Whether a ledger must exist, and what may change.
enum LedgerOpening {
    /// It must exist. An older version's tables are upgraded.
    case existing
    /// It must not exist, and is created.
    case creating
    /// It must exist, and nothing is changed, not even SQLite's journal mode.
    case asItIs
}

/// A ledger's location.
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
        // A misspelled scheme, or libpq's `keyword=value` form, isn't a file name.
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
