import AppStoreReceipt

/// A grant as a row of the table `grants`, beside its key.
extension Grant {
    /// The columns that ``init(_:)`` reads.
    static let columns = """
        grants.account AS granted_account, grants.product_id, grants.quantity, grants.until, grants.voided_at,
            grants.adjusted_quantity, grants.adjusted_from, grants.seats, grants.granted_at
        """

    init(_ row: SQLRow) throws(LedgerError) {
        self.init(
            transaction: try row.transactionKey, account: try row.text("granted_account"),
            productID: try row.text("product_id"), quantity: try row.integer("quantity"),
            until: try row.optionalDate("until"), seats: try row.optionalInteger("seats"),
            isVoided: try !row.isNull("voided_at"))
        grantedAt = try row.date("granted_at")
        adjusted = try row.optionalInteger("adjusted_quantity").map { (quantity) throws(LedgerError) in
            AdjustedQuantity(quantity: quantity, signedThen: try row.integer("adjusted_from"))
        }
    }

    /// The columns that every change writes.
    static let changingColumns = [
        "account", "quantity", "until", "seats", "adjusted_quantity", "adjusted_from", "changed_at",
    ]

    var changingValues: [SQLValue] {
        [
            .text(account), .integer(quantity), until.map { SQLValue($0) } ?? .null,
            seats.map(SQLValue.integer) ?? .null, adjusted.map { .integer($0.quantity) } ?? .null,
            adjusted.map { .integer($0.signedThen) } ?? .null, SQLValue(changedAt ?? grantedAt),
        ]
    }

    /// The assignments of a change, whose key has the first three parameters.
    static let changes = changingColumns.enumerated().map { "\($1) = $\($0 + 4)" }.joined(separator: ", ")

    /// The columns that only a new grant writes.
    static let lastingColumns = [
        "product_id", "granted_quantity", "granted_at", "import_id", "original_transaction_id",
    ]

    var lastingValues: [SQLValue] {
        [
            .text(productID), .integer(grantedQuantity ?? quantity), SQLValue(grantedAt),
            importRun.map(SQLValue.integer) ?? .null, SQLValue(importedOriginal),
        ]
    }
}
