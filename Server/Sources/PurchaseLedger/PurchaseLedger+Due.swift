public import AppStoreReceipt
public import SpanASN1

extension SQLConnection {
    /// Records that a purchase of an owner begins later, so that it is granted then without a client.
    func remember(_ key: TransactionKey, beginning date: Instant) throws(LedgerError) {
        try run(
            """
            INSERT INTO beginnings VALUES ($1, $2, $3, $4)
            ON CONFLICT (environment, bundle_id, transaction_id) DO UPDATE SET begins_at = excluded.begins_at
            """, key.columns + [SQLValue(date)])
    }
}

extension PurchaseLedger {
    /// Grants the renewals that Apple signed before they began, and that have begun since. ``EventDelivery`` calls it.
    ///
    /// - Returns: The number of transactions that had begun, at most 100.
    @discardableResult
    public func settleBegun(at now: Instant = .now) throws(LedgerError) -> Int {
        let due = try store.read { (connection) throws(LedgerError) in
            try connection.run(
                """
                SELECT environment, bundle_id, transaction_id FROM beginnings
                WHERE begins_at <= $1 ORDER BY begins_at LIMIT 100
                """, [SQLValue(now)])
        }
        for row in due {
            try store.write { (connection) throws(LedgerError) in
                let found = try connection.run(
                    """
                    SELECT signed_date, purchase FROM evidence
                    WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3 LIMIT 1
                    """, row.values)
                guard let stored = found.first else { return }
                var purchase: Purchase = try StoredJSON.decode(stored.text(1))
                purchase.signedDate = try stored.date(0)
                // The evidence is known: this locks the family, and asks again what it means.
                var transaction = try LedgerTransaction(
                    recording: [SignedPurchase(purchase)], [], policy, connection, .beginning, at: now)
                try connection.run(
                    "DELETE FROM beginnings WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3",
                    row.values)
                try transaction.settle()
            }
        }
        return due.count
    }
}
