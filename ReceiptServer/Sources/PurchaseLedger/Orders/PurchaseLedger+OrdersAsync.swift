public import AppStoreReceipt

extension PurchaseLedger {
    /// The same as the call without `await`.
    public func placeOrder(
        for account: String, productID: String, bundleID: String, in environment: AppStoreEnvironment,
        idempotencyKey: String? = nil, shopOrderID: String? = nil, at now: Instant = .now
    ) async throws(LedgerError) -> Order {
        try await onThread { (ledger) throws(LedgerError) in
            try ledger.placeOrder(
                for: account, productID: productID, bundleID: bundleID, in: environment,
                idempotencyKey: idempotencyKey, shopOrderID: shopOrderID, at: now)
        }
    }

    /// The same as the call without `await`.
    public func order(withID id: String, at now: Instant = .now) async throws(LedgerError) -> Order {
        try await onThread { (ledger) throws(LedgerError) in try ledger.order(withID: id, at: now) }
    }

    /// The same as the call without `await`.
    public func purchasesWithoutOrder() async throws(LedgerError) -> [UnorderedPurchase] {
        try await onThread { (ledger) throws(LedgerError) in try ledger.purchasesWithoutOrder() }
    }
}
