package import AppStoreReceipt
import Instants
import StrictText

/// What lifecycle events report about a subscription: its state by what Apple signed last, in whatever order that
/// arrived.
///
/// A value is `nil` where nothing says it.
package struct LifecycleState: Codable, Equatable, Sendable {
    /// The newest period.
    private let transactionID: String
    private let productID: String
    /// The end that Apple signed, without a grace period, in seconds since 1970: receipts have no milliseconds.
    private let end: Int64?
    private var willRenew: Bool?
    private var renewsAs: String?
    private var hasBillingIssue: Bool?
    /// A `Subscription.PriceIncrease`.
    private var priceIncrease: String?
    private var hasExpired = false
    /// `nil` without renewal information.
    private var isRefunded: Bool?

    package init(_ subscription: Subscription) {
        let period = subscription.newestPeriod
        transactionID = period.transactionID
        productID = period.productID
        let expiresDate = period.purchase.expiresDate
        end = expiresDate?.secondsSince1970
        guard let renewal = subscription.renewal else { return }
        // A period that Apple sold later was charged, and renews as it is.
        let isCurrent = renewal.covers(period.purchase)
        willRenew = isCurrent ? subscription.willRenew : true
        renewsAs = isCurrent ? renewal.nextProductID : productID
        priceIncrease = isCurrent ? subscription.priceIncrease?.rawValue : nil
        // Only renewal information says that no period follows. A refunded period has not expired.
        // The renewal date is the end of the newest period, also of one that is not known.
        let isOver = max(expiresDate ?? .distantFuture, renewal.renewalDate ?? .distantPast) <= renewal.signedDate
        let hasEnded =
            isCurrent && isOver && !renewal.isTrying(after: expiresDate)
            && (willRenew == false || renewal.expirationIntent != nil)
        hasExpired = hasEnded && period.quantity > 0
        isRefunded = period.quantity == 0
        let isCharged = !isCurrent || period.purchase.purchaseDate > renewal.signedDate
        // Apple gave up, or the customer did: nothing recovered, also if it was refunded.
        hasBillingIssue = hasEnded ? nil : !isCharged && renewal.isTrying(after: expiresDate)
    }

    /// Returns the kinds of the events that notify an account of this state, and the state after them.
    ///
    /// - Parameters:
    ///   - before: The state after the account's last event; `nil` if there is none. The account then expects that the
    ///     subscription renews unchanged.
    ///   - isGranted: Whether the account was granted a period of the subscription. Otherwise, it has no `expired`.
    func following(
        _ before: LifecycleState?, isGranted: Bool
    ) -> (kinds: [LedgerEvent.Kind], notified: LifecycleState) {
        var expected = before ?? self
        if before == nil {
            (expected.willRenew, expected.renewsAs, expected.hasBillingIssue, expected.priceIncrease) =
                (true, nil, false, nil)
            expected.hasExpired = false
        }
        // Don't report the end to an account that was granted nothing.
        if !isGranted { expected.hasExpired = hasExpired }
        var notified = self
        notified.willRenew = willRenew ?? expected.willRenew
        notified.renewsAs = renewsAs ?? expected.renewsAs
        notified.hasBillingIssue = hasBillingIssue ?? expected.hasBillingIssue
        notified.priceIncrease = priceIncrease ?? expected.priceIncrease
        // A refund, and its reversal, do not end it again.
        if expected.hasExpired, isRefunded ?? true, expected.transactionID.hasSameBytes(as: transactionID),
            expected.end == end
        {
            notified.hasExpired = true
        }
        // Without word of the renewal, it was unchanged.
        if notified.renewsAs != nil, expected.renewsAs == nil { expected.renewsAs = productID }
        return (Self.kinds(from: expected, to: notified), notified)
    }

    private static func kinds(from before: LifecycleState, to after: LifecycleState) -> [LedgerEvent.Kind] {
        let isOtherProduct = before.renewsAs.map(UTF8Bytes.init) != after.renewsAs.map(UTF8Bytes.init)
        let isSamePeriod = before.transactionID.hasSameBytes(as: after.transactionID)
        let rules: [(kind: LedgerEvent.Kind, isNotified: Bool)] = [
            (.cancelled, before.willRenew == true && after.willRenew == false),
            (.uncancelled, before.willRenew == false && after.willRenew == true),
            (.billingIssue, before.hasBillingIssue == false && after.hasBillingIssue == true),
            (.recovered, before.hasBillingIssue == true && after.hasBillingIssue == false),
            (.priceIncrease, before.increase != after.increase && after.increase != noIncrease),
            (.productChange, isOtherProduct),
            (.renewalExtended, isSamePeriod && (before.end ?? .max) < (after.end ?? .min)),
            (.expired, !before.hasExpired && after.hasExpired),
        ]
        return rules.filter(\.isNotified).map(\.kind)
    }

    package static func == (left: LifecycleState, right: LifecycleState) -> Bool {
        left.texts == right.texts && left.end == right.end && left.willRenew == right.willRenew
            && left.hasBillingIssue == right.hasBillingIssue && left.hasExpired == right.hasExpired
            && left.isRefunded == right.isRefunded
    }

    private var texts: [UTF8Bytes?] {
        [transactionID, productID, renewsAs, priceIncrease].map { $0.map(UTF8Bytes.init) }
    }

    private static let noIncrease = UTF8Bytes(Subscription.PriceIncrease.none.rawValue)

    private var increase: UTF8Bytes { priceIncrease.map(UTF8Bytes.init) ?? Self.noIncrease }
}

extension Subscription {
    /// The period that was bought last, that no upgrade replaced, and that was not refunded before it began.
    var newestPeriod: Entitlements.Item {
        periods.last { item in
            if case .upgraded = item.access { return false }
            // The first of several transactions may be known only from before the upgrade.
            return item.purchase.isUpgraded != true && !item.purchase.wasRefundedByItsStart
        } ?? periods[periods.count - 1]
    }
}

extension Purchase {
    /// Whether a refund keeps it from ever beginning. As in `Entitlements`, one at the very start counts as before it.
    fileprivate var wasRefundedByItsStart: Bool {
        guard case .revoked(let details) = revocation, let date = details.date else { return false }
        return date <= purchaseDate
    }
}

extension SubscriptionRenewal {
    /// Whether Apple signed this of a period or of a later one, and not before the period was bought.
    ///
    /// The renewal date says which period was the newest: one that was charged in a grace period begins at the date of
    /// the failed charge. Apple charges a renewal up to a day before it begins. Receipts have no milliseconds.
    func covers(_ period: Purchase) -> Bool {
        let start = period.purchaseDate
        let renewal = (renewalDate ?? signedDate).secondsSince1970
        if signedDate >= start { return renewalDate == nil || renewal > start.secondsSince1970 }
        // An early renewal: this names the period's product or end, and nothing has expired.
        guard signedDate >= start - .seconds(86_400), expirationIntent == nil else { return false }
        let isOfProduct = [productID, nextProductID].contains { $0?.hasSameBytes(as: period.productID) ?? false }
        return isOfProduct && (renewalDate == nil || renewal >= start.secondsSince1970)
            || renewal == period.expiresDate?.secondsSince1970
    }

    /// Whether a charge failed, and Apple was still trying when it signed this.
    ///
    /// - Parameter end: The end of the newest period. A period that follows ends a grace period.
    fileprivate func isTrying(after end: Instant?) -> Bool {
        if isInBillingRetryPeriod == true { return true }
        guard let gracePeriodExpiresDate, signedDate < gracePeriodExpiresDate else { return false }
        return end.map { $0 < gracePeriodExpiresDate } ?? true
    }
}
