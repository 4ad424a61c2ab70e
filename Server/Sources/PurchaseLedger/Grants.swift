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
    subscript(key: TransactionKey) -> Grant? { byTransaction[key] }

    mutating func add(_ family: FamilyContents) {
        for grant in family.grants { byTransaction[grant.transaction] = grant }
    }

    mutating func insert(_ grant: Grant, _ connection: any SQLConnection, at now: Instant) throws(LedgerError) {
        byTransaction[grant.transaction] = grant
        try connection.write(
            "INSERT INTO grants VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $7, NULL, $8)",
            grant.transaction.columns + [
                .text(grant.productID), .text(grant.account), .integer(grant.quantity), SQLValue(now),
                grant.until.map(SQLValue.init) ?? .null,
            ])
    }

    /// Records the quantity and the end of a grant.
    mutating func update(_ grant: Grant, _ connection: any SQLConnection, at now: Instant) throws(LedgerError) {
        byTransaction[grant.transaction] = grant
        try connection.write(
            """
            UPDATE grants SET quantity = $4, until = $5, changed_at = $6
            WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3
            """,
            grant.transaction.columns + [
                .integer(grant.quantity), grant.until.map(SQLValue.init) ?? .null, SQLValue(now),
            ])
    }
}
