public import SpanASN1
import StrictText

/// The state of a subscription at a date, according to a receipt.
///
/// The periods of a subscription have the same original transaction id, which does not change with renewals, upgrades and downgrades within a
/// subscription group. A period is a purchase with an expiration date. It gives access from its purchase date until its expiration date, its
/// revocation or the expiration of the receipt, whichever comes first. The end itself is not included.
///
/// A period ends the period before it. A receipt does not mark the periods that an upgrade has ended, although Apple does in its answers
/// (`is_upgraded`). They are the periods that a later period overlaps.
public struct Subscription: Hashable, Sendable {
    /// The original transaction id; for a record from Xcode without one, its transaction id.
    ///
    /// It is `nil` for a record without any id. Such a record is a separate subscription.
    public var originalTransactionID: String? { currentPeriod.subscriptionID }
    /// All periods in the receipt, in the order of their dates.
    ///
    /// A period can begin after the requested date, because Apple charges a renewal some hours in advance.
    public let periods: [InAppPurchase]
    /// The period that decides the state: of the periods that had begun by the requested date, the one that began last.
    ///
    /// If two periods began together, it is the one that ends last. After an upgrade, it is the period of the new product.
    public let currentPeriod: InAppPurchase
    /// The state at the requested date.
    public let state: State
    /// The date access ends or ended.
    ///
    /// It is the end of ``currentPeriod``. While that period is running, it is the end of the last period that follows without a gap. The receipt does
    /// not contain renewals after it was signed. See ``renewal``.
    public let expiry: Instant

    /// The states of a subscription at a date.
    public enum State: String, Hashable, Sendable, CaseIterable {
        /// The current period is running. It may have a revocation date that is later than the requested date.
        case active
        /// The current period has ended.
        case expired
        /// The current period was revoked by the requested date: refunded, or ended by an upgrade that this receipt does not contain.
        case cancelled
    }

    /// The kinds of prices of a period.
    public enum Offer: String, Hashable, Sendable, CaseIterable {
        /// The full price.
        case none
        /// A free trial [1713], whether or not it is also marked as introductory [1719].
        case freeTrial = "free-trial"
        /// An introductory price [1719].
        case introductory
        /// A promotional offer [1721].
        case promotional
    }

    /// What a receipt says about the next renewal.
    public enum Renewal: String, Hashable, Sendable {
        /// Not known. Ask the App Store Server API (Get All Subscription Statuses), or store its notifications.
        case unknown
    }

    /// The product of ``currentPeriod``. After an upgrade, it is the new product.
    public var productID: String? { currentPeriod.productID }
    /// A Boolean value that indicates whether ``state`` is ``State/active``.
    ///
    /// It does not consider a grace period. See ``VerifiedReceipt/isActive(productIDs:at:gracePeriod:)``.
    public var isActive: Bool { state == .active }
    /// The date the current period was or will be revoked, according to the receipt.
    public var revocationDate: Instant? { currentPeriod.revocationDate }
    /// The offer of the current period.
    public var offer: Offer { Offer(currentPeriod) }
    /// What the receipt says about the next renewal. It is always ``Renewal/unknown``.
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
    /// Returns the subscriptions that had begun by a date, with their state at that date, in the order of their first period in the receipt.
    ///
    /// A purchase without an expiration date [1708] is not a period. Therefore non-renewing subscriptions are not among them.
    ///
    /// - Parameter date: The requested date.
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
    /// - Parameter purchases: All periods, in the order of ``VerifiedReceipt/isBefore(_:_:)``.
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
