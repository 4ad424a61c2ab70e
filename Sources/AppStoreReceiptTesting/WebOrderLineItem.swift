import Instants

/// The web order line item of a period that a specification gives none.
enum WebOrderLineItem {
    /// Returns the identifier of a period of a subscription.
    ///
    /// As with Apple, a restored copy of a period has the same, and another period has another one. The end of a period
    /// identifies it, because a specification without a purchase date has one that follows its signing date.
    static func identifier(original: String, productID: String, end: Instant?) -> String {
        let text = [original, productID, end.map { "\($0)" } ?? ""].joined(separator: "/")
        return String(680_000_000_000_000 + text.stableHash % 1_000_000_000_000)
    }
}
