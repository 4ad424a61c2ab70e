import AppStoreReceipt
import SpanASN1

/// What was granted for a transaction. It is never granted again.
struct Grant {
    let transaction: TransactionKey
    var account: String
    let productID: String
    /// What the account has of it now.
    var quantity: Int64
    /// The date access ends, as the backend was told last.
    var until: Instant?
    /// Whether an operator took it back, which no signature changes.
    let isVoided: Bool
}

/// The grants of some families.
struct Grants {
    private var byTransaction: [TransactionKey: Grant] = [:]
    private let connection: any SQLConnection

    init(_ connection: any SQLConnection) { self.connection = connection }

    /// The grants of one family.
    init(_ family: Int64, _ connection: any SQLConnection) throws(LedgerError) {
        self.init(connection)
        try load(family)
    }

    subscript(key: TransactionKey) -> Grant? { byTransaction[key] }

    /// All grants, in the order of their transactions.
    var all: [Grant] { byTransaction.values.sorted { $0.transaction < $1.transaction } }

    /// The transactions that an operator took back.
    var voided: [TransactionKey] { byTransaction.values.filter(\.isVoided).map(\.transaction) }

    mutating func load(_ family: Int64) throws(LedgerError) {
        let rows = try connection.run(
            """
            SELECT grants.environment, grants.bundle_id, grants.transaction_id, grants.account, grants.product_id,
                grants.quantity, grants.until, grants.voided_at
            FROM identifiers JOIN grants ON grants.environment = identifiers.environment
                AND grants.bundle_id = identifiers.bundle_id AND grants.transaction_id = identifiers.transaction_id
            WHERE identifiers.family_id = $1
            """, [.integer(family)])
        for row in rows {
            guard let environment = AppStoreEnvironment(rawValue: try row.text(0)) else { continue }
            let key = TransactionKey(
                environment: environment, bundleID: try row.text(1), transactionID: try row.text(2))
            byTransaction[key] = Grant(
                transaction: key, account: try row.text(3), productID: try row.text(4), quantity: try row.integer(5),
                until: try row.optionalDate(6), isVoided: try row.optionalDate(7) != nil)
        }
    }

    mutating func insert(_ grant: Grant, at now: Instant) throws(LedgerError) {
        byTransaction[grant.transaction] = grant
        try connection.run(
            "INSERT INTO grants VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $7, NULL, $8)",
            grant.transaction.columns + [
                .text(grant.productID), .text(grant.account), .integer(grant.quantity), SQLValue(now),
                grant.until.map(SQLValue.init) ?? .null,
            ])
    }

    /// Records the quantity and the end of a grant.
    mutating func update(_ grant: Grant, at now: Instant) throws(LedgerError) {
        byTransaction[grant.transaction] = grant
        try connection.run(
            """
            UPDATE grants SET quantity = $4, until = $5, changed_at = $6
            WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3
            """,
            grant.transaction.columns + [
                .integer(grant.quantity), grant.until.map(SQLValue.init) ?? .null, SQLValue(now),
            ])
    }
}
