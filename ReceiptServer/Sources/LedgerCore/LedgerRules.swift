@_spi(Ledger) package import AppStoreReceipt
package import StrictText

/// The settings that decide about purchases.
package struct LedgerRules: Sendable {
    /// The products that are for sale; `nil` for all.
    private let forSale: Set<UTF8Bytes>?
    /// How far a purchase date may be in the future, for clocks that are slow.
    private let clockAllowance: Duration
    private let productTypes: ProductCatalog
    /// Whether purchases reach accounts by the tokens with which they were made.
    let usesTokens: Bool
    /// The date from which a purchase without a token is not granted to its submitter (R4); `nil` for never.
    package let requiresTokenSince: Instant?
    /// Whether there are events about what becomes of subscriptions and of requests for refunds.
    let notifiesLifecycles: Bool
    /// A subscription with more transactions is divided, so that not all of them are loaded each time.
    let wholeLineageLimit: Int

    package init(
        forSale: Set<UTF8Bytes>?, clockAllowance: Duration, productTypes: ProductCatalog, usesTokens: Bool,
        requiresTokenSince: Instant?, notifiesLifecycles: Bool, wholeLineageLimit: Int
    ) {
        (self.forSale, self.clockAllowance, self.productTypes) = (forSale, clockAllowance, productTypes)
        (self.usesTokens, self.requiresTokenSince) = (usesTokens, requiresTokenSince)
        (self.notifiesLifecycles, self.wholeLineageLimit) = (notifiesLifecycles, wholeLineageLimit)
    }

    package func isForSale(_ productID: String) -> Bool { forSale?.contains(UTF8Bytes(productID)) ?? true }

    /// Says what lineages mean. All decisions ask here.
    package func entitlements(
        of lineages: [Lineage], and renewals: [SubscriptionRenewal] = [], at date: Instant,
        leavingOut isLeftOut: (([Entitlements.Item]) -> Bool)? = nil
    ) -> Entitlements {
        Entitlements(
            trustingStored: lineages.flatMap(\.purchases), renewals: lineages.flatMap(\.renewals) + renewals, at: date,
            clockAllowance: clockAllowance, productTypes: productTypes, leavingOut: isLeftOut)
    }
}
