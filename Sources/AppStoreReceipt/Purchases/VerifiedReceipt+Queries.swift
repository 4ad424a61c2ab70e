public import SpanASN1
import StrictText

// What the receipt's owner has, by a date that the caller gives. On verified receipts only: these answers grant something.
//
// Common to all queries:
// - A purchase counts from its purchase date [1704] on; one without is dated by the receipt's creation.
// - From its cancellation date [1712] on a purchase gives nothing, whatever it was. Before, it counts, and shows that date.
// - What gives access (`ownedNonConsumables`, `subscriptions`, `isActive`) ends with the receipt itself, where that expires [21]: volume
//   purchases, and Xcode's receipts in the year 4001.
// - An answer is as old as the receipt: see ``VerifiedReceipt``.
extension VerifiedReceipt {
    /// The purchases of a product made by a date, in the receipt's order. Of a subscription each period is one.
    ///
    /// What was bought, not what is still running: see ``subscriptions(at:)`` and ``isActive(productIDs:at:gracePeriod:)``.
    ///
    /// - Parameters:
    ///   - productID: the product's identifier.
    ///   - date: what was bought later is not listed.
    ///   - includingRevoked: whether to list those, too, that were cancelled by that date.
    public func purchases(
        of productID: String, at date: Instant, includingRevoked: Bool = false
    ) -> [InAppPurchase] {
        inAppPurchases.filter { purchase in
            purchase.isOf(productID) && start(of: purchase) <= date
                && (includingRevoked || !purchase.isRevoked(at: date))
        }
    }

    /// The purchase of a product with the latest purchase date, by a date and not cancelled by then.
    public func latestPurchase(of productID: String, at date: Instant) -> InAppPurchase? {
        purchases(of: productID, at: date).max { isBefore($0, $1) }
    }

    /// Whether a product was bought by a date, cancelled or not.
    public func hasEverPurchased(_ productID: String, at date: Instant) -> Bool {
        inAppPurchases.contains { $0.isOf(productID) && start(of: $0) <= date }
    }

    /// The non-consumables [1707 is 0] owned at a date, one purchase for each product: the latest.
    ///
    /// In the receipt's order. Whether one is shared by the family is not in a receipt.
    public func ownedNonConsumables(at date: Instant) -> [InAppPurchase] {
        guard !isExpired(at: date) else { return [] }
        var latest: [UTF8Bytes?: InAppPurchase] = [:]
        for purchase in inAppPurchases where isOwnedNonConsumable(purchase, at: date) {
            let productID = purchase.productKey
            if let other = latest[productID], !isBefore(other, purchase) { continue }
            latest[productID] = purchase
        }
        return latest.values.sorted { $0.index < $1.index }
    }

    /// Whether any of some products gives access at a date: as the current period of an active subscription, or as a non-consumable that is
    /// owned.
    ///
    /// A product that was upgraded from does not, nor do consumables, nor non-renewing subscriptions, whose length only the app knows.
    ///
    /// - Parameters:
    ///   - productIDs: any of them will do.
    ///   - date: the date that is asked for.
    ///   - gracePeriod: for how long after its end the last period still gives access, unless it was cancelled: for the time in which Apple
    ///     collects a payment, or for a receipt that does not have the renewal yet. Not negative.
    public func isActive(productIDs: Set<String>, at date: Instant, gracePeriod: Duration = .zero) -> Bool {
        guard !isExpired(at: date) else { return false }
        let asked = Set(productIDs.map(UTF8Bytes.init))
        func isAsked(_ purchase: InAppPurchase) -> Bool { purchase.productKey.map(asked.contains) ?? false }
        return inAppPurchases.contains { isOwnedNonConsumable($0, at: date) && isAsked($0) }
            || subscriptions(at: date).contains { subscription in
                guard isAsked(subscription.currentPeriod) else { return false }
                switch subscription.state {
                case .active: return true
                case .expired: return date < subscription.expiry.advanced(by: gracePeriod)
                case .cancelled: return false
                }
            }
    }

    /// Whether an introductory offer or a free trial of a subscription group shows in the receipt by a date.
    ///
    /// - Parameters:
    ///   - productIDs: all products of the group: an offer can be used once for them together.
    ///   - date: what was bought later does not count.
    public func introductoryOffer(productIDs: Set<String>, at date: Instant) -> IntroductoryOfferUse {
        let group = Set(productIDs.map(UTF8Bytes.init))
        for purchase in inAppPurchases where purchase.isIntroductory && start(of: purchase) <= date {
            if let productID = purchase.productKey, group.contains(productID) { return .used(purchase) }
        }
        return .notSeenInThisReceipt
    }

    /// The distinct original transaction ids, in the order in which they first occur: what to ask the App Store Server API for.
    public var originalTransactionIDs: [String] {
        var seen: Set<UTF8Bytes> = []
        return inAppPurchases.compactMap { purchase in
            purchase.subscriptionKey.flatMap { seen.insert($0).inserted ? $0.string : nil }
        }
    }

    /// Whether the receipt itself has expired at a date: volume purchases only [21]. Xcode's expire in the year 4001.
    public func isExpired(at date: Instant) -> Bool { expirationDate.map { $0 <= date } ?? false }
}

/// What a receipt tells about an introductory offer. It cannot prove that somebody is eligible: finished and later purchases, and those
/// of other Apple accounts, are not in it.
public enum IntroductoryOfferUse: Hashable, Sendable {
    /// This purchase was a free trial or at an introductory price; a refund does not undo it.
    case used(InAppPurchase)
    /// The receipt has none; ask the App Store Server API or StoreKit about eligibility.
    case notSeenInThisReceipt
}

extension VerifiedReceipt {
    /// When a purchase begins to count. (A verified receipt has a creation date.)
    func start(of purchase: InAppPurchase) -> Instant {
        purchase.purchaseDate ?? creationDate ?? .distantPast
    }

    /// By purchase date, then by end, then by the receipt's order.
    func isBefore(_ first: InAppPurchase, _ second: InAppPurchase) -> Bool {
        func order(_ purchase: InAppPurchase) -> (Instant, Instant, Int) {
            (start(of: purchase), purchase.expiresDate ?? .distantFuture, purchase.index)
        }
        return order(first) < order(second)
    }

    private func isOwnedNonConsumable(_ purchase: InAppPurchase, at date: Instant) -> Bool {
        purchase.productType == .nonConsumable && purchase.expiresDate == nil && start(of: purchase) <= date
            && !purchase.isRevoked(at: date)
    }
}

extension InAppPurchase {
    func isRevoked(at date: Instant) -> Bool { revocationDate.map { $0 <= date } ?? false }

    var hasPromotionalOffer: Bool { key(.promotionalOfferID) != nil }

    var isIntroductory: Bool { isTrialPeriod == true || isInIntroOfferPeriod == true }

    /// What groups the periods of a subscription: the original transaction id, and for a record of Xcode's without one its own id.
    var subscriptionID: String? { originalTransactionID ?? transactionID }

    /// ``subscriptionID``, to be compared.
    var subscriptionKey: UTF8Bytes? { key(.originalTransactionID) ?? key(.transactionID) }

    /// ``productID``, to be compared.
    var productKey: UTF8Bytes? { key(.productID) }

    /// Byte for byte: two spellings of one character make two products.
    func isOf(_ productID: String) -> Bool { productKey == UTF8Bytes(productID) }
}
