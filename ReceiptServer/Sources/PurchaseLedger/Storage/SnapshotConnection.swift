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
    /// Runs `body`, which records what it must and answers. If that is nothing, it takes no lock and waits for no disk:
    /// it is tried on a snapshot first.
    ///
    /// What a snapshot shows is durable. Whatever else happens meanwhile counts as later, since the number of the
    /// answer (``SQLConnection/sequence(of:)``) is of the same snapshot.
    ///
    /// - Parameters:
    ///   - purchaseCount: The number of purchases that it is about.
    ///   - write: Runs `body` where it can write.
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

    /// Runs `body` for nobody's account.
    func decide<Result>(
        about purchaseCount: Int = .max, _ body: @escaping (any SQLConnection) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Result {
        try decide(about: purchaseCount, body) { () throws(LedgerError) in try self.write(body) }
    }
}
