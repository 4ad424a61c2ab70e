public import AppStoreReceipt

extension LedgerEvent {
    /// What a lifecycle event says besides what all events say. It reports what became of a subscription, or of a
    /// request for a refund, and changes no quantity.
    public struct Lifecycle: Sendable {
        /// The date Apple signed what the event reports; of ``LedgerEvent/Kind/expired``, the end of access.
        public internal(set) var happenedAt: Instant
        /// The transaction under which the account was granted the purchase; `nil` if it was not.
        public internal(set) var grantedAs: String?
        /// The product of the next period, if the subscription renews.
        public internal(set) var renewsAs: String?
        /// The state of a price increase.
        public internal(set) var priceIncrease: Subscription.PriceIncrease?
        /// The reason the subscription expired, or could not be charged.
        public internal(set) var expirationReason: Subscription.ExpirationReason?
        /// The UUID of the notification that reports a request for a refund, or that it was declined.
        public internal(set) var requestID: String?
        /// The reason of a request for a refund.
        public internal(set) var reason: ConsumptionRequestReason?
        /// The date until which a request for a refund can be answered.
        public internal(set) var deadline: Instant?

        init(at date: Instant) { happenedAt = date }

        init(_ kind: Kind, of subscription: Subscription) {
            let purchase = subscription.newestPeriod.purchase
            let renewal = subscription.renewal.flatMap { $0.covers(purchase) ? $0 : nil }
            happenedAt = kind == .renewalExtended ? purchase.signedDate : renewal?.signedDate ?? purchase.signedDate
            if kind == .expired, let end = purchase.expiresDate {
                happenedAt = max(end, renewal?.gracePeriodExpiresDate ?? end, renewal?.renewalDate ?? end)
            }
            renewsAs = renewal?.nextProductID ?? purchase.productID
            guard renewal != nil else { return }
            priceIncrease = subscription.priceIncrease
            expirationReason = subscription.expirationReason
        }
    }
}
