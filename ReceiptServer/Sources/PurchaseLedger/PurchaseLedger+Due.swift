public import AppStoreReceipt

extension PurchaseLedger {
    /// Grants what has begun, and takes back what was refunded with a date that was in the future. ``EventDelivery``
    /// calls it.
    ///
    /// - Returns: The number of transactions that were due, at most 100.
    /// - Throws: The first error. It does not keep the other transactions waiting.
    @discardableResult
    @available(*, noasync)
    public func settleDue(at now: Instant = .now) throws(LedgerError) -> Int {
        let due = try store.read { (connection) throws(LedgerError) in
            try connection.run(
                """
                SELECT environment, bundle_id, transaction_id, due_at FROM due_moments
                WHERE due_at <= $1 ORDER BY due_at LIMIT 100
                """, [SQLValue(now)])
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
    /// What fails stays marked, so that one row does not keep a ledger from being opened: ``settleDue(at:)`` tries it
    /// again, and throws.
    ///
    /// - Parameter marked: The rows of ``SeatTables/marked``.
    func settleMigrated(_ marked: [SQLRow], at now: Instant) { for row in marked { try? settle(row, at: now) } }

    private func settle(_ due: SQLRow, at now: Instant) throws(LedgerError) {
        let transaction = try due.transactionKey
        let key = transaction.columns
        let cause = try due.integer("due_at") == SeatTables.mark ? LedgerEvent.Cause.migration : .beginning
        let notices = try store.write { [policy] (connection) throws(LedgerError) in
            let found = try connection.run(
                """
                SELECT signed_date, purchase FROM evidence
                WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3
                ORDER BY CASE WHEN \(SeatTables.isAssigned) THEN 0 ELSE 1 END LIMIT 1
                """, key)
            var purchases: [SubmittedPurchase] = []
            if let stored = found.first {
                var purchase: Purchase = try StoredJSON.decode(stored.text(1))
                purchase.signedDate = try stored.date(0)
                purchases.append(SubmittedPurchase(purchase))
            }
            let settled = try connection.settle(Submission(purchases), policy, cause, at: now) {
                (decision) throws(LedgerError) in
                let isKnown = decision.removeDueDate(of: transaction)
                decision.settle()
                return isKnown
            }
            if !settled.result {
                try connection.write(
                    "DELETE FROM due_moments WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3", key)
            }
            return settled.effects.notices
        }
        report(notices)
    }
}
