public import AppStoreReceipt

extension SQLConnection {
    /// Records due dates: when decisions change without new evidence.
    ///
    /// An outdated row can remain. When it is due, nothing changes, and the row is removed.
    func remember(_ dates: [TransactionKey: Instant]) throws(LedgerError) {
        for (key, date) in dates.sorted(by: { $0.key < $1.key }) {
            try write(
                """
                INSERT INTO due_moments VALUES (\(TransactionKey.id), $4)
                ON CONFLICT (identifier_id) DO UPDATE SET due_at = excluded.due_at
                WHERE due_moments.due_at <> excluded.due_at
                """, key.columns + [SQLValue(date)])
        }
    }

    /// Whether all of the dates are recorded.
    func remembers(_ dates: [TransactionKey: Instant]) throws(LedgerError) -> Bool {
        let answers = try run(
            dates.keys.map {
                SQLStatement(
                    "SELECT due_at FROM due_moments WHERE identifier_id = \(TransactionKey.id)", $0.columns)
            })
        for (date, rows) in zip(dates.values, answers) {
            guard try rows.first?.date("due_at") == date else { return false }
        }
        return true
    }
}

extension PurchaseLedger {
    /// Grants purchases that have begun, and revokes those whose refund date has arrived. ``EventDelivery`` calls it.
    ///
    /// - Returns: The number of transactions that were due, at most 100.
    /// - Throws: The first error. The other transactions are still settled.
    @discardableResult
    @available(*, noasync)
    public func settleDue(at now: Instant = .now) throws(LedgerError) -> Int {
        let due = try store.read { (connection) throws(LedgerError) in
            try connection.run(
                "SELECT identifier_id, due_at FROM due_moments WHERE due_at <= $1 ORDER BY due_at LIMIT 100",
                [SQLValue(now)])
        }
        var failure: LedgerError?
        for row in due {
            do throws(LedgerError) { try settle(row, at: now) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
        return due.count
    }

    /// Corrects what an older version granted.
    ///
    /// A row that fails stays marked, and doesn't keep the ledger from opening: ``settleDue(at:)`` tries it again, and
    /// throws.
    ///
    /// - Parameter marked: The rows of ``SeatTables/marked``.
    func settleMigrated(_ marked: [SQLRow], at now: Instant) { for row in marked { try? settle(row, at: now) } }

    private func settle(_ due: SQLRow, at now: Instant) throws(LedgerError) {
        let id = SQLValue.integer(try due.integer("identifier_id"))
        let cause = try due.integer("due_at") == SeatTables.mark ? LedgerEvent.Cause.migration : .beginning
        let notices = try store.write { [policy] (connection) throws(LedgerError) in
            let found = try connection.run(
                """
                SELECT \(Purchase.columns) FROM evidence WHERE identifier_id = $1
                ORDER BY CASE WHEN \(SeatTables.isAssigned) THEN 0 ELSE 1 END LIMIT 1
                """, [id])
            let purchases = try found.map { (row) throws(LedgerError) in SubmittedPurchase(try Purchase(row)) }
            return try connection.settle(Submission(purchases), policy, cause, at: now) {
                (decision) throws(LedgerError) in
                // The lineage is locked before the row.
                try connection.write("DELETE FROM due_moments WHERE identifier_id = $1", [id])
                decision.settle()
            }.effects.notices
        }
        report(notices)
    }
}
