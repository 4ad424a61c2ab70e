package import AppStoreReceipt
package import StrictText

/// A part of a large subscription.
package struct SubscriptionPart: Sendable {
    /// The transactions with a line item, or one that has none.
    package struct Period: Sendable {
        /// Milliseconds since 1970.
        var span: Range<Int64>
        let lineItem: UTF8Bytes?
        var transactions: [TransactionKey]
    }

    /// Milliseconds since 1970. No other part of the subscription overlaps it.
    var span: Range<Int64>
    var periods: [Period]
}

/// A subscription, divided where no period crosses: each part is decided as if the others did not exist.
///
/// `Entitlements` decides a period by what overlaps it, and by the transactions with its web order line item. A period
/// that only follows another changes nothing of it. Only a grace period reaches further than the period that it
/// extends: a subscription with one is decided as a whole.
package struct SubscriptionParts: Sendable {
    /// The identifier of the first transaction, which all others name.
    let original: UTF8Bytes
    /// Ordered by date.
    let parts: [SubscriptionPart]

    /// Returns `nil` for what is not divided: other purchases, subscriptions that were migrated, and evidence that
    /// contradicts itself.
    package init?(_ variants: [TransactionKey: [Lineage.Variant]]) {
        var periods: [SubscriptionPart.Period] = []
        var byLineItem: [UTF8Bytes: Int] = [:]
        var original: UTF8Bytes?
        for (key, known) in variants {
            guard let period = SubscriptionPeriod(known.map(\.purchase)), period.original == original ?? period.original
            else { return nil }
            original = period.original
            if let index = period.lineItem.flatMap({ byLineItem[$0] }) {
                periods[index].span = periods[index].span.joined(with: period.span)
                periods[index].transactions.append(key)
            } else {
                if let item = period.lineItem { byLineItem[item] = periods.count }
                periods.append(.init(span: period.span, lineItem: period.lineItem, transactions: [key]))
            }
        }
        guard let original else { return nil }
        self.original = original
        var parts: [SubscriptionPart] = []
        for period in periods.sorted(by: { $0.span.lowerBound < $1.span.lowerBound }) {
            if let last = parts.last, period.span.lowerBound < last.span.upperBound {
                parts[parts.count - 1].span = last.span.joined(with: period.span)
                parts[parts.count - 1].periods.append(period)
            } else {
                parts.append(SubscriptionPart(span: period.span, periods: [period]))
            }
        }
        self.parts = parts
    }
}

/// What decides to which part of a subscription a transaction belongs, by everything that was signed of it.
package struct SubscriptionPeriod {
    let original: UTF8Bytes
    /// From the earliest begin to the latest end that Apple signed.
    package private(set) var span: Range<Int64>
    package private(set) var lineItem: UTF8Bytes?

    /// Dates that leave room for computing with them.
    private static let dates: ClosedRange<Int64> = -(1 << 52)...(1 << 52)

    package init?(_ purchases: [Purchase]) {
        guard let first = purchases.first else { return nil }
        original = UTF8Bytes(first.originalTransactionID)
        span = 0..<0
        for (index, purchase) in purchases.enumerated() {
            let begin = purchase.purchaseDate.millisecondsSince1970
            guard purchase.productType == .autoRenewableSubscription, purchase.previousOriginalTransactionID == nil,
                UTF8Bytes(purchase.originalTransactionID) == original,
                let end = purchase.expiresDate?.millisecondsSince1970, Self.dates ~= begin, Self.dates ~= end
            else { return nil }
            // A period without length takes up its first millisecond.
            let own = begin..<max(end, begin + 1)
            span = index == 0 ? own : span.joined(with: own)
            // StoreKit Testing in Xcode writes "0", which names none.
            guard let item = purchase.webOrderLineItemID, !item.isEmpty, !item.hasSameBytes(as: "0") else { continue }
            guard LedgerText.isStorable(item), lineItem ?? UTF8Bytes(item) == UTF8Bytes(item) else { return nil }
            lineItem = UTF8Bytes(item)
        }
    }
}

extension Range<Int64> {
    package func joined(with other: Range) -> Range {
        Swift.min(lowerBound, other.lowerBound)..<Swift.max(upperBound, other.upperBound)
    }
}
