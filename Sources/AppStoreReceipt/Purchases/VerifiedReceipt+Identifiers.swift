public import Instants
import StrictText

extension VerifiedReceipt {
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

extension InAppPurchase {
    /// The id that the periods of a subscription have in common: the original transaction id or, for a record from
    /// Xcode without one, its own id.
    var subscriptionKey: UTF8Bytes? { key(.originalTransactionID) ?? key(.transactionID) }
}
