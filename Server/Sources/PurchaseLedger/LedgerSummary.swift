package import SpanASN1

/// Which ledger it is, and how much it has: an operator sees that another one, or an older copy, is in its place.
package struct LedgerSummary: Sendable {
    /// 128 random bits in hexadecimal, which a restored back-up keeps.
    package let id: String
    /// The date at which it was made; for a ledger of 0.3.0 or before, that at which a later version first opened it.
    package let creationDate: Instant
    package let grantCount: Int64

    static func tables(_ dialect: SQLDialect) -> [String] {
        ["CREATE TABLE ledger_identity (id \(dialect.text) NOT NULL, created_at BIGINT NOT NULL)"]
    }

    /// Gives the ledger a name, unless it has one. Who calls it has locked the floor of the numbers.
    static func identify(
        _ connection: any SQLConnection, _ surroundings: Surroundings, at now: Instant
    ) throws(LedgerError) {
        guard try connection.run("SELECT id FROM ledger_identity").isEmpty else { return }
        try connection.run(
            "INSERT INTO ledger_identity VALUES ($1, $2)", [.text(surroundings.makeID()), SQLValue(now)])
    }
}

extension PurchaseLedger {
    /// Returns which ledger it is. It counts the grants, which takes a second for ten million.
    package func summary() throws(LedgerError) -> LedgerSummary {
        try store.read { (connection) throws(LedgerError) in
            let rows = try connection.run(
                "SELECT id, created_at, (SELECT COUNT(*) FROM grants) FROM ledger_identity")
            guard let row = rows.first else { throw LedgerError(.storeFailed, "the table ledger_identity is empty") }
            return LedgerSummary(
                id: try row.text(0), creationDate: try row.date(1), grantCount: try row.integer(2))
        }
    }
}
