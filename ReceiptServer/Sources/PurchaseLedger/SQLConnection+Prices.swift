@_spi(Ledger) import AppStoreReceipt

/// Versions before 0.4.0 stored no price. The same evidence fills it in, and changes nothing else.
extension SQLConnection {
    /// Fills in the prices of purchases where the tables have the same evidence without one.
    func fillPrices(of purchases: [Purchase]) throws(LedgerError) {
        for statement in try priceFillings(of: purchases) { try write(statement.text, statement.parameters) }
    }

    /// Returns the statements that fill in prices where the tables have the same evidence without one: with the same
    /// content, or the same signing date, because version 0.3.0 lacked other members, too.
    func priceFillings(of purchases: [Purchase]) throws(LedgerError) -> [SQLStatement] {
        var fillings: [SQLStatement] = []
        for var purchase in purchases where purchase.price != nil {
            guard let key = PurchaseKeys(purchase)?.transaction else { continue }
            let rows = try run(
                """
                SELECT variant, \(Purchase.columns) FROM evidence WHERE identifier_id = \(TransactionKey.id)
                """, key.columns)
            for row in rows {
                var known = try Purchase(row)
                purchase.statedType = known.statedType
                guard known.price == nil,
                    known.signedDate == purchase.signedDate || known.saysTheSame(as: purchase)
                else { continue }
                known.mergePrice(purchase, signedDate: known.signedDate)
                // Another transaction can have changed the row.
                fillings.append(
                    SQLStatement(
                        """
                        UPDATE evidence SET \(Purchase.changes)
                        WHERE identifier_id = \(TransactionKey.id) AND variant = $4 AND signed_date = $5
                            AND purchase = $10 AND price IS NULL
                        """,
                        try key.columns + [.integer(row.integer("variant"))] + known.storedValues + [
                            .text(row.text("purchase"))
                        ]))
            }
        }
        return fillings
    }
}
