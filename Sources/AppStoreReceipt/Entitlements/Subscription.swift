public import Instants

/// The state of a subscription at a date.
///
/// The periods of a subscription have the same original transaction id, which does not change with renewals, upgrades and downgrades within a subscription
/// group. (A migration changes it, and `previousOriginalTransactionID` joins the two.)
public struct Subscription: Hashable, Sendable {
    /// All periods, ordered by purchase date. Those that begin after the date are among them.
    ///
    /// Restored transactions of a period, and those of seats that were added to it, are not listed again.
    public let periods: [Entitlements.Item]
    /// The period that decides: the one that is running or, if none is, the one that began last.
    public let currentPeriod: Entitlements.Item
    /// The date access ends or ended: the end of the last period that follows ``currentPeriod`` without a gap. If it is
    /// not known when access ended, it is the start of that period.
    public let expiresDate: Instant
    /// A Boolean value that indicates whether access continues after the end of the period, because Apple is still trying to charge.
    public let isInGracePeriod: Bool
    /// What Apple has signed about the next renewal; `nil` if it is not known what comes after ``expiresDate``.
    ///
    /// Receipts and transactions do not contain it. Ask the App Store Server API (Get All Subscription Statuses), or pass renewal information and notifications.
    public let renewal: SubscriptionRenewal?

    /// The original transaction id; after a migration, the latest.
    public var originalTransactionID: String { periods[periods.count - 1].purchase.originalTransactionID }
    /// The access that ``currentPeriod`` gives, or the reason it gives none.
    public var access: Entitlements.Access { currentPeriod.access }
    /// A Boolean value that indicates whether the subscription gives access.
    public var isActive: Bool { access.givesAccess }
    /// The product of ``currentPeriod``. After an upgrade, it is the new product.
    public var productID: String { currentPeriod.purchase.productID }
    /// The identifier of the subscription group; `nil` if no evidence contains it.
    public var groupID: String? {
        periods.lazy.reversed().compactMap { $0.purchase.subscriptionGroupID }.first
    }
    /// The seats of ``currentPeriod``: those of all its transactions. It is `nil` if the evidence says no seats, and
    /// for members.
    public var seats: Int? { currentPeriod.periodSeats }
    /// A Boolean value that indicates whether the subscription will renew; `nil` if it is not known.
    public var willRenew: Bool? {
        switch renewal?.autoRenewStatus {
        case .on?: true
        case .off?: false
        default: nil
        }
    }
}
