package import AppStoreReceipt

extension Entitlements {
    /// Decides by plain purchases, as if they had been stored.
    package init(
        trustingStored purchases: some Sequence<Purchase>, renewals: [SubscriptionRenewal] = [], at date: Instant,
        clockAllowance: Duration = .seconds(300), productTypes: ProductCatalog = [:]
    ) {
        self.init(
            stored: purchases.map { StoredPurchase(trusting: $0) },
            renewals: renewals.map { StoredRenewal(trusting: $0) }, at: date, clockAllowance: clockAllowance,
            productTypes: productTypes)
    }

    /// Decides by verified purchases alone.
    package init(
        _ purchases: some Sequence<VerifiedPurchase>, renewals: [Verified<RenewalInfo>] = [], at date: Instant,
        clockAllowance: Duration = .seconds(300), productTypes: ProductCatalog = [:]
    ) {
        self.init(
            purchases: purchases, renewals: renewals, at: date, clockAllowance: clockAllowance,
            productTypes: productTypes)
    }
}
