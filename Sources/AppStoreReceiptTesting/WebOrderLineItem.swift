import Instants

/// The default web order line item of a specified period.
enum WebOrderLineItem {
    /// Returns the identifier of a period of a subscription.
    ///
    /// As with Apple's, a restored copy of a period has the same, and other periods have others. The end identifies the
    /// period, because the default purchase date depends on the signing date.
    static func identifier(original: String, productID: String, end: Instant?) -> String {
        let text = [original, productID, end.map { "\($0)" } ?? ""].joined(separator: "/")
        return String(680_000_000_000_000 + text.stableHash % 1_000_000_000_000)
    }
}
