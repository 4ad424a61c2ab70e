import AppStoreReceipt
package import StrictText

/// How a large subscription is divided into ``SubscriptionParts``, as it is stored.
package struct Division: Sendable {
    /// The end of a part, whose beginning is the key of its row.
    package struct PartRow: Equatable, Sendable {
        package let end: Int64
        /// When time alone changes what was decided about the part, in milliseconds since 1970.
        package let changesAt: Int64?

        package init(end: Int64, changesAt: Int64?) { (self.end, self.changesAt) = (end, changesAt) }
    }

    /// The place of a transaction in the division.
    package struct PeriodRow: Equatable, Sendable {
        /// The beginning of the part that it is in.
        package let part: Int64
        package let lineItem: UTF8Bytes?

        package init(part: Int64, lineItem: UTF8Bytes?) { (self.part, self.lineItem) = (part, lineItem) }
    }

    /// The parts that are loaded, by their beginnings, and the periods in them.
    package struct Rows: Sendable {
        package var parts: [Int64: PartRow] = [:]
        package var periods: [TransactionKey: PeriodRow] = [:]

        package init() {}
    }

    /// The identifier of the first transaction of the subscription.
    package let original: UTF8Bytes
    /// Whether the tokens of all parts are the owner's, or noted as waiting or reported (R3, R5), so that those of the
    /// parts that are not loaded change nothing.
    package var areTokensNoted: Bool
    /// `nil` if loaded without locks, to change nothing.
    package var rows: Rows?

    package init(original: UTF8Bytes, areTokensNoted: Bool, _ rows: Rows?) {
        (self.original, self.areTokensNoted, self.rows) = (original, areTokensNoted, rows)
    }

    /// - Parameter changes: When time alone changes what was decided about a transaction.
    init(_ parts: SubscriptionParts, areTokensNoted: Bool, _ changes: [TransactionKey: Instant]) {
        var rows = Rows()
        for part in parts.parts {
            let begin = part.span.lowerBound
            let changesAt = part.transactions.compactMap { changes[$0] }.min()
            rows.parts[begin] = PartRow(end: part.span.upperBound, changesAt: changesAt?.millisecondsSince1970)
            for key in part.transactions { rows.periods[key] = PeriodRow(part: begin, lineItem: parts.lineItems[key]) }
        }
        self.init(original: parts.original, areTokensNoted: areTokensNoted, rows)
    }
}
