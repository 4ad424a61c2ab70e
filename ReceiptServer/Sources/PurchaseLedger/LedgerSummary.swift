package import Instants

/// Which ledger it is, and how much it has: an operator sees that another one, or an older copy, is in its place.
package struct LedgerSummary: Sendable {
    /// 128 random bits in hexadecimal, which a restored back-up keeps.
    package let id: String
    /// The date at which it was made; for a ledger of 0.3.0 or before, that at which a later version first opened it.
    package let creationDate: Instant
    package let grantCount: Int64

    /// What is known at once, when a program starts.
    package struct Beginning: Sendable {
        package let id: String
        package let creationDate: Instant
        /// `nil` if there are too many to count at once.
        package let grantCount: Int64?
    }

    package var beginning: Beginning { Beginning(id: id, creationDate: creationDate, grantCount: grantCount) }

    static func tables(_ dialect: SQLDialect) -> [String] {
        ["CREATE TABLE ledger_identity (id \(dialect.text) NOT NULL, created_at BIGINT NOT NULL)"]
    }

    /// Gives the ledger a name, unless it has one. The caller has locked the floor of the numbers.
    static func identify(
        _ connection: any SQLConnection, _ surroundings: Surroundings, at now: Instant
    ) throws(LedgerError) {
        guard try connection.run("SELECT id FROM ledger_identity").isEmpty else { return }
        try connection.run(
            "INSERT INTO ledger_identity VALUES ($1, $2)", [.text(surroundings.makeID()), SQLValue(now)])
    }
}

extension PurchaseLedger {
    /// Returns which ledger it is. It counts all grants, which takes a second or more for ten million.
    package func summary() throws(LedgerError) -> LedgerSummary {
        try store.readLong { (connection) throws(LedgerError) in
            let (id, date) = try connection.ledgerIdentity()
            return LedgerSummary(
                id: id, creationDate: date,
                grantCount: try connection.run("SELECT COUNT(*) FROM grants")[0].integer(0))
        }
    }

    /// Returns which ledger it is, at once: a program that starts waits for no count.
    ///
    /// - Parameter limit: The most grants that are counted.
    package func summaryAtStart(
        countingUpTo limit: Int64 = 100_000
    ) throws(LedgerError) -> LedgerSummary.Beginning {
        let (id, date) = try store.read { (connection) throws(LedgerError) in try connection.ledgerIdentity() }
        var count: Int64?
        do throws(LedgerError) {
            let found = try store.read { (connection) throws(LedgerError) in
                try connection.run(
                    "SELECT COUNT(*) FROM (SELECT 1 FROM grants LIMIT $1) AS counted", [.integer(limit + 1)]
                )[0].integer(0)
            }
            if found <= limit { count = found }
        } catch {
            // A database that does not answer it in time.
            guard error.code == .storeUnavailable else { throw error }
        }
        return LedgerSummary.Beginning(id: id, creationDate: date, grantCount: count)
    }
}

extension SQLConnection {
    fileprivate func ledgerIdentity() throws(LedgerError) -> (id: String, creationDate: Instant) {
        guard let row = try run("SELECT id, created_at FROM ledger_identity").first else {
            throw LedgerError(.storeFailed, "the table ledger_identity is empty")
        }
        return (try row.text(0), try row.date(1))
    }
}
