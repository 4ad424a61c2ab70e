package import AppStoreReceipt

extension VerifiedPurchase {
    /// What the purchase alone gives at a date.
    package func access(at date: Instant) -> Entitlements.Access { Entitlements([self], at: date).items[0].access }

    package func givesAccess(at date: Instant) -> Bool { access(at: date).givesAccess }
}
