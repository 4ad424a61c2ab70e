package import Instants

/// The identity and size of a ledger, which show an operator that another one, or an older copy, is in its place.
package struct LedgerSummary: Sendable {
    /// 128 random bits in hexadecimal, which a restored backup keeps.
    package let id: String
    /// The date it was created or, for a ledger of 0.3.0 or earlier, the date a later version first opened it.
    package let creationDate: Instant
    package let grantCount: Int64

    /// The summary at the start of a program.
    package struct Beginning: Sendable {
        package let id: String
        package let creationDate: Instant
        /// `nil` if counting takes too long.
        package let grantCount: Int64?
    }

    package var beginning: Beginning { Beginning(id: id, creationDate: creationDate, grantCount: grantCount) }

    static func tables(_ dialect: SQLDialect) -> [String] {
        ["CREATE TABLE ledger_identity (id \(dialect.text) NOT NULL, created_at BIGINT NOT NULL)"]
    }

    /// Creates the ledger's id if it has none. The caller has locked the floor of event numbers.
    static func identify(
        _ connection: any SQLConnection, _ surroundings: Surroundings, at now: Instant
    ) throws(LedgerError) {
        guard try connection.run("SELECT id FROM ledger_identity").isEmpty else { return }
        try connection.run(
            "INSERT INTO ledger_identity VALUES ($1, $2)", [.text(surroundings.makeID()), SQLValue(now)])
    }
}

extension PurchaseLedger {
    /// Returns the summary. Counts all grants, which takes a second or more for ten million.
    package func summary() throws(LedgerError) -> LedgerSummary {
        try store.readLong { (connection) throws(LedgerError) in
            let (id, date) = try connection.ledgerIdentity()
            return LedgerSummary(
                id: id, creationDate: date,
                grantCount: try connection.run("SELECT COUNT(*) FROM grants")[0].integer(0))
        }
    }

    /// Returns the summary without a long count, so that a program starts quickly.
    ///
    /// - Parameter limit: The maximum grant count.
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
            // The database didn't count them in time.
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
