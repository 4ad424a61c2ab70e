public import AppStoreReceipt

extension PurchaseLedger {
    /// The same as the call without `await`.
    public func deadLetters() async throws(LedgerError) -> [DeadLetter] {
        try await onThread { (ledger) throws(LedgerError) in try ledger.deadLetters() }
    }

    /// The same as the call without `await`.
    public func unownedEvents() async throws(LedgerError) -> [String] {
        try await onThread { (ledger) throws(LedgerError) in try ledger.unownedEvents() }
    }

    /// The same as the call without `await`.
    public func outboxCounts() async throws(LedgerError) -> (pending: Int, oldestPending: Instant?, dead: Int) {
        try await onThread { (ledger) throws(LedgerError) in try ledger.outboxCounts() }
    }
}
