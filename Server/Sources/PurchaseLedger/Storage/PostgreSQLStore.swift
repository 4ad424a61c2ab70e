/// A ledger in a PostgreSQL database, which several servers can use at the same time.
///
/// A transaction locks the families of its purchases, so that its reads and writes are as if it ran alone (`READ COMMITTED` with row locks). The
/// ledger takes all locks in one order.
struct PostgreSQLStore: LedgerStore {
    /// How often a transaction is run when others are in its way.
    private static let maximumAttempts = 10

    private let pool: ConnectionPool<PostgreSQLConnection>

    init(uri: String, connections: Int = 8) throws(LedgerError) {
        // A server that does not answer is an error after 5 seconds, unless the URI says otherwise.
        let uri = Self.withDefault("connect_timeout", "5", in: uri)
        pool = ConnectionPool(limit: connections) { () throws(LedgerError) in try PostgreSQLConnection(uri: uri) }
    }

    func write<Result>(
        _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try repeating("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", body)
    }

    /// Its server keeps its files.
    func completeFile() {}

    func read<Result>(
        _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try repeating("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", body)
    }

    private func repeating<Result>(
        _ begin: String, _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        var attempt = 1
        while true {
            do throws(LedgerError) {
                return try transaction(begin, body)
            } catch {
                guard error.isConflict, attempt < Self.maximumAttempts else { throw error }
                attempt += 1
            }
        }
    }

    private func transaction<Result>(
        _ begin: String, _ body: (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try pool.withConnection(isUsable: \.isUsable) { connection throws(LedgerError) in
            do throws(LedgerError) {
                try connection.run(begin)
            } catch {
                // The connection was lost while it was idle, after a restart of the server for example. Nothing has been done yet.
                guard !connection.isUsable else { throw error }
                throw LedgerError(.storeUnavailable, error.detail, isConflict: true)
            }
            do throws(LedgerError) {
                let result = try body(connection)
                try connection.run("COMMIT")
                return result
            } catch {
                if connection.isUsable { _ = try? connection.run("ROLLBACK") }
                throw error
            }
        }
    }

    /// Adds a parameter to a URI that does not have it.
    private static func withDefault(_ name: String, _ value: String, in uri: String) -> String {
        if uri.contains("\(name)=") { return uri }
        return uri + (uri.contains("?") ? "&" : "?") + "\(name)=\(value)"
    }
}
