public import AppStoreReceipt

extension LedgerEvent {
    /// What a lifecycle event says besides what all events say. It reports what became of a subscription, or of a
    /// request for a refund, and changes no quantity.
    public struct Lifecycle: Sendable {
        /// The date Apple signed what the event reports; of ``LedgerEvent/Kind/expired``, the end of access.
        public package(set) var happenedAt: Instant
        /// The transaction under which the account was granted the purchase; `nil` if it was not.
        public package(set) var grantedAs: String?
        /// The product of the next period, if the subscription renews.
        public package(set) var renewsAs: String?
        /// The state of a price increase.
        public package(set) var priceIncrease: Subscription.PriceIncrease?
        /// The reason the subscription expired, or could not be charged.
        public package(set) var expirationReason: Subscription.ExpirationReason?
        /// The UUID of the notification that reports a request for a refund, or that it was declined.
        public package(set) var requestID: String?
        /// The reason of a request for a refund.
        public package(set) var reason: ConsumptionRequestReason?
        /// The date until which a request for a refund can be answered.
        public package(set) var deadline: Instant?

        package init(at date: Instant) { happenedAt = date }

        package init(_ kind: Kind, of subscription: Subscription) {
            let purchase = subscription.newestPeriod.purchase
            let renewal = subscription.renewal.flatMap { $0.isSigned(of: purchase) ? $0 : nil }
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
