/// A connection that reads one snapshot of the database, and locks nothing.
///
/// The first statement that would write ends the work with ``LedgerError/write``.
final class SnapshotConnection: SQLConnection {
    let dialect: SQLDialect
    private let connection: any SQLConnection

    init(_ connection: any SQLConnection) {
        self.connection = connection
        dialect = connection.dialect.withoutLocks
    }

    var isSnapshot: Bool { true }

    func run(_ statements: [SQLStatement]) throws(LedgerError) -> [[SQLRow]] {
        guard statements.allSatisfy({ $0.text.utf8.starts(with: "SELECT".utf8) }) else { throw .write }
        return try connection.run(statements)
    }

    func write(_ statement: String, _ parameters: [SQLValue]) throws(LedgerError) { throw .write }
}

extension LedgerStore {
    /// Runs `body`, which records what is necessary and answers. It first runs on a snapshot: if it has nothing to
    /// record, it takes no locks and waits for no disk.
    ///
    /// The contents of a snapshot are durable. Anything else that happens meanwhile counts as later, because the
    /// answer's number (``SQLConnection/sequence(of:)``) comes from the same snapshot.
    ///
    /// - Parameters:
    ///   - purchaseCount: The number of purchases involved.
    ///   - write: Runs `body` with a connection that can write.
    func decide<Result>(
        about purchaseCount: Int, _ body: (any SQLConnection) throws(LedgerError) -> Result,
        else write: () throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        do throws(LedgerError) {
            return try read(about: purchaseCount) { (connection) throws(LedgerError) in
                try body(SnapshotConnection(connection))
            }
        } catch {
            guard error.isWrite else { throw error }
        }
        return try write()
    }

    /// Runs `body` without an account.
    func decide<Result>(
        about purchaseCount: Int = .max, _ body: @escaping (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try decide(about: purchaseCount, body) { () throws(LedgerError) in try self.write(body) }
    }
}
