public import SpanASN1
import StrictText

// The queries are on verified receipts only, because their answers grant something.
//
// Common to all queries:
// - A purchase counts from its purchase date [1704] on. The purchase date of a record without one is the receipt's creation date.
// - A purchase gives no access from its revocation date [1712] on.
// - Access (`ownedNonConsumables`, `subscriptions`, `isActive`) ends when the receipt expires [21]. Only receipts of volume purchases do, and those
//   from Xcode, in the year 4001.
// - An answer is as old as the receipt: see ``VerifiedReceipt``.
extension VerifiedReceipt {
    /// Returns the purchases of a product that were made by a date, in the receipt's order.
    ///
    /// Each period of a subscription is a purchase. Expired periods are included. For access, see ``subscriptions(at:)`` and
    /// ``isActive(productIDs:at:gracePeriod:)``.
    ///
    /// - Parameters:
    ///   - productID: The product's identifier.
    ///   - date: The requested date. Later purchases are not included.
    ///   - includingRevoked: Whether to include purchases that were revoked by that date.
    public func purchases(
        of productID: String, at date: Instant, includingRevoked: Bool = false
    ) -> [InAppPurchase] {
        inAppPurchases.filter { purchase in
            purchase.isOf(productID) && start(of: purchase) <= date
                && (includingRevoked || !purchase.isRevoked(at: date))
        }
    }

    /// Returns the latest purchase of a product that was made, and not revoked, by a date.
    ///
    /// - Parameters:
    ///   - productID: The product's identifier.
    ///   - date: The requested date.
    public func latestPurchase(of productID: String, at date: Instant) -> InAppPurchase? {
        purchases(of: productID, at: date).max { isBefore($0, $1) }
    }

    /// Returns whether the receipt contains a purchase of a product that was made by a date, revoked or not.
    ///
    /// - Parameters:
    ///   - productID: The product's identifier.
    ///   - date: The requested date.
    public func hasEverPurchased(_ productID: String, at date: Instant) -> Bool {
        inAppPurchases.contains { $0.isOf(productID) && start(of: $0) <= date }
    }

    /// Returns the non-consumables [1707 is 0] that are owned at a date, in the receipt's order.
    ///
    /// For each product, it returns the latest purchase. A receipt does not say whether a purchase is family-shared.
    ///
    /// - Parameter date: The requested date.
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

    /// Returns whether at least one of several products gives access at a date.
    ///
    /// A product gives access as the current period of an active subscription, or as an owned non-consumable. A subscription that was upgraded to
    /// another product gives no access to the old product. Consumables and non-renewing subscriptions give no access.
    ///
    /// - Parameters:
    ///   - productIDs: The products' identifiers.
    ///   - date: The requested date.
    ///   - gracePeriod: The time after its end for which the last period still gives access, unless it was revoked. It allows for payments that Apple is
    ///     still collecting, and for receipts that do not contain the latest renewal. It must not be negative.
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

    /// Returns whether the receipt contains an introductory offer or a free trial of a subscription group by a date.
    ///
    /// - Parameters:
    ///   - productIDs: The identifiers of all products of the group. A customer can use one offer for all of them together.
    ///   - date: The requested date. Later purchases are not considered.
    public func introductoryOffer(productIDs: Set<String>, at date: Instant) -> IntroductoryOfferUse {
        let group = Set(productIDs.map(UTF8Bytes.init))
        for purchase in inAppPurchases where purchase.isIntroductory && start(of: purchase) <= date {
            if let productID = purchase.productKey, group.contains(productID) { return .used(purchase) }
        }
        return .notSeenInThisReceipt
    }

    /// The distinct original transaction ids in the receipt's order, for requests to the App Store Server API.
    public var originalTransactionIDs: [String] {
        var seen: Set<UTF8Bytes> = []
        return inAppPurchases.compactMap { purchase in
            purchase.subscriptionKey.flatMap { seen.insert($0).inserted ? $0.string : nil }
        }
    }

    /// Returns whether the receipt itself has expired at a date [21].
    ///
    /// Only receipts of volume purchases expire, and those from Xcode, in the year 4001.
    ///
    /// - Parameter date: The requested date.
    public func isExpired(at date: Instant) -> Bool { expirationDate.map { $0 <= date } ?? false }
}

/// What a receipt says about an introductory offer.
///
/// A receipt cannot prove that a customer is eligible. It does not contain finished and later purchases, or those of other Apple accounts.
public enum IntroductoryOfferUse: Hashable, Sendable {
    /// The customer has used an offer: this purchase was a free trial or had an introductory price. A refund does not change that.
    case used(InAppPurchase)
    /// The receipt contains no offer. Ask the App Store Server API or StoreKit about eligibility.
    case notSeenInThisReceipt
}

extension VerifiedReceipt {
    /// Returns the date from which a purchase counts. (A verified receipt has a creation date.)
    func start(of purchase: InAppPurchase) -> Instant {
        purchase.purchaseDate ?? creationDate ?? .distantPast
    }

    /// Orders purchases by purchase date, then by end, then by the receipt's order.
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

    /// The id that the periods of a subscription have in common: the original transaction id or, for a record from Xcode without one, its own id.
    var subscriptionID: String? { originalTransactionID ?? transactionID }

    /// ``subscriptionID``, for comparisons.
    var subscriptionKey: UTF8Bytes? { key(.originalTransactionID) ?? key(.transactionID) }

    /// ``productID``, for comparisons.
    var productKey: UTF8Bytes? { key(.productID) }

    /// Compares byte for byte: two spellings of one character are different products.
    func isOf(_ productID: String) -> Bool { productKey == UTF8Bytes(productID) }
}
