import AppStoreReceipt
package import StrictText

/// How a large subscription is divided into ``SubscriptionParts``, as it is stored.
package struct Division: Sendable {
    /// The place of a transaction in the division.
    package struct Period: Equatable, Sendable {
        /// The beginning of its part, in milliseconds since 1970. No other part begins then.
        package let part: Int64
        /// The latest end of its period, also by other transactions with its line item, in milliseconds since 1970.
        /// After a migration, that of its part.
        package let end: Int64
        package let lineItem: UTF8Bytes?
        /// When time alone changes what was decided about the transaction, in milliseconds since 1970.
        package let changesAt: Int64?

        package init(part: Int64, end: Int64, lineItem: UTF8Bytes?, changesAt: Int64?) {
            (self.part, self.end, self.lineItem, self.changesAt) = (part, end, lineItem, changesAt)
        }
    }

    /// The identifier of the first transaction of the subscription.
    package let original: UTF8Bytes
    /// Whether the tokens of all parts are the owner's, or noted as waiting or reported (R3, R5), so that those of the
    /// parts that are not loaded change nothing.
    package var areTokensNoted: Bool
    /// The transactions of the parts that are loaded; `nil` if loaded without locks, to change nothing.
    package var periods: [TransactionKey: Period]?

    package init(original: UTF8Bytes, areTokensNoted: Bool, _ periods: [TransactionKey: Period]?) {
        (self.original, self.areTokensNoted, self.periods) = (original, areTokensNoted, periods)
    }

    /// - Parameter changes: When time alone changes what was decided about a transaction.
    init(_ parts: SubscriptionParts, areTokensNoted: Bool, _ changes: [TransactionKey: Instant]) {
        var rows: [TransactionKey: Period] = [:]
        for part in parts.parts {
            for period in part.periods {
                for key in period.transactions {
                    rows[key] = Period(
                        part: part.span.lowerBound, end: period.span.upperBound, lineItem: period.lineItem,
                        changesAt: changes[key]?.millisecondsSince1970)
                }
            }
        }
        self.init(original: parts.original, areTokensNoted: areTokensNoted, rows)
    }
}
