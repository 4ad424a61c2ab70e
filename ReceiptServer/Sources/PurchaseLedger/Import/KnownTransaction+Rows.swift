import AppStoreReceipt
import StrictText

extension KnownTransaction {
    /// Returns the queries whose results ``init(_:)`` reads.
    static func statements(_ key: TransactionKey) -> [SQLStatement] {
        [
            """
            SELECT families.id, families.account FROM identifiers
            JOIN families ON families.id = identifiers.family_id
            WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3
            """,
            """
            SELECT account, product_id, granted_quantity, granted_at, original_transaction_id FROM grants
            WHERE identifier_id = \(TransactionKey.id)
            """,
            "SELECT \(Purchase.columns) FROM evidence WHERE identifier_id = \(TransactionKey.id) ORDER BY variant",
        ].map { SQLStatement($0, key.columns) }
    }

    init(_ answers: some Collection<[SQLRow]>) throws(LedgerError) {
        self.init()
        for (index, rows) in answers.enumerated() {
            for row in rows {
                switch index {
                case 0: (lineage, owner) = (try row.integer("id"), try row.optionalText("account"))
                case 1:
                    granted = Granted(
                        account: try row.text("account"), productID: try row.text("product_id"),
                        quantity: try row.integer("granted_quantity"), date: try row.date("granted_at"),
                        originalTransactionID: try row.optionalText("original_transaction_id"))
                default: evidence.append(try Purchase(row))
                }
            }
        }
    }
}

extension SQLConnection {
    func known(_ keys: [TransactionKey]) throws(LedgerError) -> [KnownTransaction] {
        var answers = try run(keys.flatMap(KnownTransaction.statements))[...]
        return try keys.map { (_) throws(LedgerError) in
            defer { answers = answers.dropFirst(3) }
            return try KnownTransaction(answers.prefix(3))
        }
    }
}
