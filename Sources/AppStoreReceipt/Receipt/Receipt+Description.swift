// For logs. Strings are quoted and escaped, because anyone can have written those of an unverified receipt.

extension ReceiptContents {
    /// A summary for logs, such as `"com.example.app" 1.0, Production, made 2025-06-15T12:00:00Z, 3 purchases`.
    public var description: String {
        let app = [bundleID ?? "?", applicationVersion ?? ""].filter { !$0.isEmpty }.map(\.debugDescription)
        let count = inAppPurchases.count
        return [
            app.joined(separator: " "), receiptType?.debugDescription ?? "of no type",
            "made \(creationDate?.description ?? "at no time")", count == 1 ? "1 purchase" : "\(count) purchases",
        ].joined(separator: ", ")
    }
}

extension Receipt: CustomStringConvertible {}
extension VerifiedReceipt: CustomStringConvertible {}

extension UnverifiedReceipt: CustomStringConvertible {
    /// A summary for logs, which begins with `not verified`.
    public var description: String { "not verified: " + receipt.description }
}

extension InAppPurchase: CustomStringConvertible {
    /// A summary for logs, such as `"com.example.pro", transaction "1000", bought 2025-06-01T09:30:00Z, expires
    /// 2025-07-01T09:30:00Z`.
    public var description: String {
        var parts = [
            productID?.debugDescription ?? "no product", "transaction \(transactionID?.debugDescription ?? "?")",
        ]
        if let quantity, quantity != 1 { parts.append("\(quantity) times") }
        if let purchaseDate { parts.append("bought \(purchaseDate)") }
        if let expiresDate { parts.append("expires \(expiresDate)") }
        if let revocationDate { parts.append("cancelled \(revocationDate)") }
        return parts.joined(separator: ", ")
    }
}
