import Instants
import StrictText

/// The sort key of a purchase: purchase date, then end, then identifiers, so that the order of the evidence decides
/// nothing.
///
/// It is made once for each purchase, and compared often.
struct PurchaseOrder {
    private let dates: (Instant, Instant)
    private let identifiers: (UTF8Bytes, UTF8Bytes, UTF8Bytes)

    init(_ purchase: Purchase) {
        dates = (purchase.purchaseDate, purchase.expiresDate ?? .distantFuture)
        identifiers = (
            UTF8Bytes(purchase.transactionID), UTF8Bytes(purchase.bundleID ?? ""),
            UTF8Bytes(purchase.environment?.rawValue ?? "")
        )
    }

    static func < (lhs: Self, rhs: Self) -> Bool {
        lhs.dates == rhs.dates ? lhs.identifiers < rhs.identifiers : lhs.dates < rhs.dates
    }
}

/// The sort key of evidence about a transaction or a subscription: the date of its signature, then its contents.
///
/// Of purchases signed together, a revocation, the larger of two, an upgrade and larger values count, and then their
/// texts decide, without the price. The longer text of renewal information counts, at last with its price: an earlier
/// version of this library stored fewer values.
struct SignatureOrder {
    private struct Text {
        /// 0 for purchases, whose texts are not ordered by length.
        var length = 0
        let deciding: [UInt8]
        /// The text with the price, if it is ordered.
        var whole: [UInt8] = []
    }

    private let values: (Instant, Int64, Int64, Int64, Int64, Int64)
    /// Writes the text, which few comparisons need.
    private let text: () -> Text

    init(_ purchase: Purchase) {
        values = (
            purchase.signedDate, purchase.revokedPart ?? -1, Int64(purchase.multiSeatInfo?.revokedSeatQuantity ?? -1),
            purchase.isUpgraded == true ? 1 : 0,
            (purchase.expiresDate ?? .distantPast).millisecondsSince1970, purchase.purchaseDate.millisecondsSince1970
        )
        text = {
            var deciding = purchase
            deciding.takePrice(of: nil)
            return Text(deciding: deciding.text)
        }
    }

    init(_ renewal: SubscriptionRenewal) {
        values = (
            renewal.signedDate, (renewal.gracePeriodExpiresDate ?? .distantPast).millisecondsSince1970,
            renewal.autoRenewStatus?.rawValue ?? -1, (renewal.renewalDate ?? .distantPast).millisecondsSince1970, 0, 0
        )
        text = {
            var deciding = renewal
            (deciding.renewalPrice, deciding.currency) = (nil, nil)
            let text = deciding.text
            return Text(length: text.count, deciding: text, whole: renewal.text)
        }
    }

    static func < (lhs: Self, rhs: Self) -> Bool {
        if lhs.values != rhs.values { return lhs.values < rhs.values }
        let (left, right) = (lhs.text(), rhs.text())
        if left.length != right.length { return left.length < right.length }
        if left.deciding != right.deciding { return left.deciding.lexicographicallyPrecedes(right.deciding) }
        return left.whole.count == right.whole.count
            ? left.whole.lexicographicallyPrecedes(right.whole) : left.whole.count < right.whole.count
    }
}

extension SubscriptionRenewal {
    /// Returns whether another one about the same subscription counts instead: Apple signed it later.
    @_spi(Ledger) public func isSuperseded(by other: SubscriptionRenewal) -> Bool {
        SignatureOrder(self) < SignatureOrder(other)
    }
}

extension Purchase {
    /// Takes the revocation of a later signature, whose values count together.
    mutating func mergeRevocation(_ later: Purchase) {
        if later.isRevoked == false {
            isRevoked = false
            (revocationDate, revocationReason, revocationType, revocationPercentage) = (nil, nil, nil, nil)
        } else if later.isRevoked == true {
            if isRevoked == true, later.revocationDate == revocationDate, !later.saysRevokedPart {
                // The same revocation, from a receipt.
                revocationReason = later.revocationReason ?? revocationReason
            } else {
                (revocationDate, revocationReason) = (later.revocationDate, later.revocationReason)
                (revocationType, revocationPercentage) = (later.revocationType, later.revocationPercentage)
            }
            isRevoked = true
        }
    }

    /// Whether the evidence can say that only a part was revoked. A receipt cannot, nor can it say whether the purchase
    /// was upgraded.
    private var saysRevokedPart: Bool { isUpgraded != nil || revocationType != nil || revocationPercentage != nil }
}

/// The sort key of a price among those that Apple signed for a transaction: the date of its signature, then its values.
/// A purchase without a price comes before one with a price.
private struct PriceOrder {
    private let values: (isKnown: Int, date: Instant, price: Int64)
    private let names: (currency: UTF8Bytes, storefront: UTF8Bytes)
    var date: Instant { values.date }

    /// Returns `nil` for a purchase whose evidence says nothing of its price.
    init?(_ purchase: Purchase) {
        if case (nil, nil, nil) = (purchase.price, purchase.currency, purchase.storefront) { return nil }
        values = (
            purchase.price == nil ? 0 : 1, purchase.priceSignedDate ?? purchase.signedDate, purchase.price ?? 0
        )
        names = (Self.order(purchase.currency), Self.order(purchase.storefront))
    }

    /// `nil` precedes an empty name.
    private static func order(_ name: String?) -> UTF8Bytes { UTF8Bytes(name.map { " " + $0 } ?? "") }

    static func < (lhs: Self, rhs: Self) -> Bool {
        lhs.values == rhs.values ? lhs.names < rhs.names : lhs.values < rhs.values
    }
}

extension Purchase {
    /// Takes the price, the currency and the storefront of the purchase whose price counts.
    ///
    /// - Parameter signedDate: The date of the signature after the merge.
    @_spi(Ledger) public mutating func mergePrice(_ other: Purchase, signedDate: Instant) {
        let (mine, others) = (PriceOrder(self), PriceOrder(other))
        var date = mine?.date
        if let others, mine.map({ $0 < others }) ?? true {
            takePrice(of: other)
            date = others.date
        }
        priceSignedDate = date == signedDate ? nil : date
    }

    /// Takes the price, the currency and the storefront; `nil` removes them.
    @_spi(Ledger) public mutating func takePrice(of other: Purchase?) {
        (price, currency, storefront) = (other?.price, other?.currency, other?.storefront)
        priceSignedDate = other?.priceSignedDate
    }
}

extension Purchase {
    /// The web order line item that an id names. StoreKit Testing in Xcode writes `0` in every transaction: it names
    /// none.
    static func lineItem(_ id: String?) -> String? {
        id.flatMap { $0.isEmpty ? nil : $0.nonZero }
    }
}
