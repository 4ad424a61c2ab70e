public import SpanASN1
import StrictText

/// A subscription at a date: all its periods in one receipt, and what follows from them.
///
/// Periods belong together by their original transaction id, which stays the same over renewals, upgrades and downgrades within a
/// subscription group. A period is a purchase with an expiry; it gives access from its purchase date until its expiry, or until its
/// cancellation or the expiry of the receipt itself, whichever comes first. The end itself is not included.
///
/// A period that begins ends the one before it. A receipt does not mark periods that an upgrade has ended: Apple marks them in its answers
/// (`is_upgraded`), and those are the ones that a later period overlaps. Their money has gone into the upgrade.
public struct Subscription: Hashable, Sendable {
    /// The original transaction id; a record of Xcode's without one has its own transaction id here. `nil` for a period without any id, which
    /// is a subscription of its own.
    public var originalTransactionID: String? { currentPeriod.subscriptionID }
    /// All periods in the receipt, earliest first. One can lie after the asked date: Apple charges a renewal some hours ahead.
    public let periods: [InAppPurchase]
    /// The period that decides: of those that had begun by the asked date, the one that began last, and if two began together the one that
    /// ends last. After an upgrade, it is of the product upgraded to.
    public let currentPeriod: InAppPurchase
    /// What the subscription was at the asked date.
    public let state: State
    /// When access ends, or ended: the end of ``currentPeriod``, and while that is running the end of the last period that follows it without
    /// a gap.
    ///
    /// A renewal after the receipt was signed moves it, and the receipt does not know: see ``renewal``.
    public let expiry: Instant

    /// What a subscription was at a date.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// The current period runs. It may have a cancellation date, later than the asked date.
        case active
        /// The current period has ended.
        case expired
        /// The current period was cancelled by the asked date: refunded, or revoked for an upgrade that this receipt does not have.
        case cancelled
    }

    /// What kind of price a period has.
    public enum Offer: String, Hashable, Sendable, CaseIterable {
        /// The full price.
        case none
        /// A free trial [1713], whether or not it is marked as introductory [1719], too.
        case freeTrial = "free-trial"
        /// An introductory price [1719].
        case introductory
        /// A promotional offer [1721].
        case promotional
    }

    /// Whether a subscription will renew is in no receipt.
    public enum Renewal: String, Hashable, Sendable {
        /// Ask the App Store Server API (Get All Subscription Statuses), or keep its notifications.
        case unknown
    }

    /// The product of ``currentPeriod``: after an upgrade, the one upgraded to.
    public var productID: String? { currentPeriod.productID }
    /// Whether ``state`` is ``State/active``. No grace period counts: see ``VerifiedReceipt/isActive(productIDs:at:gracePeriod:)``.
    public var isActive: Bool { state == .active }
    /// When the current period was or will be cancelled, as far as the receipt knows.
    public var revocationDate: Instant? { currentPeriod.revocationDate }
    /// The offer of the current period.
    public var offer: Offer { Offer(currentPeriod) }
    /// Always ``Renewal/unknown``: no receipt says it.
    public var renewal: Renewal { .unknown }
}

extension Subscription.Offer {
    init(_ purchase: InAppPurchase) {
        self =
            if purchase.isTrialPeriod == true {
                .freeTrial
            } else if purchase.isInIntroOfferPeriod == true {
                .introductory
            } else if purchase.hasPromotionalOffer {
                .promotional
            } else {
                .none
            }
    }
}

extension VerifiedReceipt {
    /// The subscriptions that had begun by a date, as they were at that date, in the order in which they first occur in the receipt.
    ///
    /// Purchases without an expiry [1708] are no periods, so non-renewing subscriptions are not among them.
    public func subscriptions(at date: Instant) -> [Subscription] {
        var groups: [[InAppPurchase]] = []
        var groupsByID: [UTF8Bytes: Int] = [:]
        for purchase in inAppPurchases where purchase.expiresDate != nil {
            let id = purchase.subscriptionKey
            if let group = id.flatMap({ groupsByID[$0] }) {
                groups[group].append(purchase)
            } else {
                if let id { groupsByID[id] = groups.count }
                groups.append([purchase])
            }
        }
        return groups.compactMap { Subscription($0.sorted(by: isBefore), of: self, at: date) }
    }
}

extension Subscription {
    /// - Parameter purchases: all periods, in the order of ``VerifiedReceipt/isBefore(_:_:)``.
    fileprivate init?(_ purchases: [InAppPurchase], of receipt: VerifiedReceipt, at date: Instant) {
        func end(of period: InAppPurchase) -> Instant {
            let end = min(
                period.expiresDate ?? .distantFuture, period.revocationDate ?? .distantFuture,
                receipt.expirationDate ?? .distantFuture)
            // A renewal can be refunded before it begins.
            return max(end, receipt.start(of: period))
        }
        let begun = purchases.prefix { receipt.start(of: $0) <= date }
        guard let current = begun.last else { return nil }
        var expiry = end(of: current)
        let isRunning = date < expiry
        if isRunning {
            for period in purchases[begun.endIndex...] {
                guard receipt.start(of: period) <= expiry else { break }
                expiry = end(of: period)
            }
        }
        periods = purchases
        currentPeriod = current
        self.expiry = expiry
        state = isRunning ? .active : current.isRevoked(at: date) ? .cancelled : .expired
    }
}
