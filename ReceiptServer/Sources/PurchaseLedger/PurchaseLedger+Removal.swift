public import Instants

extension PurchaseLedger {
    /// Removes delivered events, lifecycle events of unowned purchases and answers to idempotency keys from before a
    /// date, orders that were abandoned before it, and the digests of names of accounts that were deleted more than a
    /// day ago.
    ///
    /// If the policy has no orders, they stay a year longer, because another process may keep them open.
    @available(*, noasync)
    public func removeHistory(before date: Instant) throws(LedgerError) {
        let removals = [
            ("outbox", "id", OutboxQuery.old, date),
            (
                "unowned_events", "id",
                "SELECT id FROM unowned_events WHERE made_at < $1 ORDER BY made_at LIMIT 1000", date
            ),
            (
                "answers", "account, idempotency_key",
                "SELECT account, idempotency_key FROM answers WHERE answered_at < $1 LIMIT 1000", date
            ),
            ("deletions", "account_digest", Self.oldDeletions, policy.surroundings.date() - Self.deletionTime),
            (
                "orders", "id", OrderQuery.old,
                date - (policy.orders?.orderTime ?? .seconds(3600 * OrderPolicy.maximumOrderHours))
            ),
        ]
        for (table, key, old, date) in removals {
            // Remove them in small batches, so that other transactions don't wait.
            var count = 1000
            while count >= 1000 {
                count = try store.write { (connection) throws(LedgerError) in
                    // What another transaction is changing is no longer old.
                    let found = old + connection.dialect.skippingRowLock
                    let statement = "DELETE FROM \(table) WHERE (\(key)) IN (\(found)) RETURNING 1"
                    return try connection.run(statement, [SQLValue(date)]).count
                }
            }
        }
    }
}
