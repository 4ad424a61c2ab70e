import AppStoreReceipt
package import AppStoreReceiptTesting
import SeededRandom

extension ReceiptBuilder {
    /// A receipt as Apple writes one for an app with subscriptions: all attributes, in DER's order, some 400 bytes a
    /// purchase.
    package static func typical(purchases count: Int) -> ReceiptBuilder {
        var generator = SeededGenerator(seed: UInt64(count))
        return ReceiptBuilder(
            bundleID: "com.example.app",
            purchases: (0..<count).map { .typical($0, using: &generator) })
    }
}

extension ReceiptBuilder.Purchase {
    /// Seven of ten are periods of subscriptions, the others were bought once.
    package static func typical(_ index: Int, using generator: inout some RandomNumberGenerator) -> Self {
        let product = "com.example.app." + productNames[Int.random(in: productNames.indices, using: &generator)]
        let transaction = String(700_001_000_000_000 + index)
        // From 2019 up to June 2025, whole seconds.
        let bought = Instant(
            millisecondsSince1970: Int64.random(in: 1_546_300_800...1_748_736_000, using: &generator) * 1000)
        var purchase: Self
        switch index % 10 {
        case 0, 1: purchase = .consumable(product, transactionID: transaction, purchaseDate: bought)
        case 2: purchase = .nonConsumable(product, transactionID: transaction, purchaseDate: bought)
        default:
            let first = Int64.random(in: 0...700, using: &generator)
            purchase = .autoRenewable(
                product, transactionID: transaction, originalTransactionID: String(700_000_000_000_000 + first),
                purchaseDate: bought,
                originalPurchaseDate: Instant(
                    millisecondsSince1970: bought.millisecondsSince1970 - first * 86_400_000),
                expiresDate: Instant(millisecondsSince1970: bought.millisecondsSince1970 + 30 * 86_400_000),
                isTrialPeriod: first == 0)
            purchase.webOrderLineItemID = String(700_000_400_000_000 + index)
        }
        purchase.itemID = String(1_400_000_000 + product.utf8.count)
        if index % 50 == 49 { purchase = purchase.revoked(at: bought) }
        return purchase
    }

    private static let productNames = [
        "monthly", "yearly", "pro.monthly", "pro.yearly", "coins.100", "coins.1000", "unlock.everything", "season.2",
    ]
}
