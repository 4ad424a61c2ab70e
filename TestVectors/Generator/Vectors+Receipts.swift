import AppStoreReceipt
import AppStoreReceiptTesting

// Receipts that are accepted: every attribute, every kind of receipt, many purchases.
extension Vector {
    private static let subscriptions: [ReceiptBuilder.Purchase] = {
        let first = ReceiptBuilder.defaultPurchaseDate
        func days(_ count: Int64) -> Instant {
            Instant(millisecondsSince1970: first.millisecondsSince1970 + count * 86_400_000)
        }
        var trial = ReceiptBuilder.Purchase.autoRenewable(
            "com.example.app.monthly", transactionID: "340000000000100", purchaseDate: first, expiresDate: days(7),
            isTrialPeriod: true)
        trial.isInIntroOfferPeriod = false
        var renewal = ReceiptBuilder.Purchase.autoRenewable(
            "com.example.app.monthly", transactionID: "340000000000101", originalTransactionID: "340000000000100",
            purchaseDate: days(7), originalPurchaseDate: first, expiresDate: days(37))
        renewal.webOrderLineItemID = "340000000000002"
        renewal.promotionalOfferID = "com.example.app.monthly.half-price"
        return [trial, renewal]
    }()

    /// The receipt that the README verifies.
    private static let example = Step.receipt { receipt in
        receipt.purchases =
            [
                .consumable("com.example.app.coins.100", transactionID: "340000000000001", quantity: 2),
                .nonConsumable(
                    "com.example.app.pro", transactionID: "340000000000002",
                    purchaseDate: try date("2024-03-09T18:21:07Z")),
                .nonConsumable(
                    "com.example.app.stickers", transactionID: "340000000000003",
                    purchaseDate: try date("2025-05-20T07:02:55Z")
                ).revoked(at: try date("2025-05-22T10:15:00Z"), reason: .appIssue),
            ] + subscriptions
        receipt.applicationVersion = "2.4.1"
    }

    private static func many(_ count: Int) -> Step {
        .receipt { receipt in
            receipt.purchases = (0..<count).map { index in
                .consumable("com.example.app.coins.\(index % 7)", transactionID: "\(200_000_000_000_000 + index)")
            }
        }
    }

    static let receipts: [Vector] = [
        accepted("receipts/example.der", nil, purchases: 5, "The receipt that the README verifies.", example),
        accepted(
            "receipts/example-sha-1.der", nil, purchases: 5, "The same with SHA-1 throughout.",
            .shape { shape, _ in shape = .init(digest: .sha1) }, example, .receipt { $0.digest = .sha1 }),
        accepted("receipts/0-purchases.der", "20", purchases: 0, "No purchase.", many(0)),
        accepted("receipts/1-purchase.der", nil, purchases: 1, "One purchase.", many(1)),
        accepted("receipts/10-purchases.der", nil, purchases: 10, "Ten purchases.", many(10)),
        accepted("receipts/1000-purchases.der", nil, purchases: 1000, "A thousand purchases.", many(1000)),
        accepted(
            "receipts/sandbox.der", nil, "Ids of 0, attribute 8 empty, the sandbox's own purchase date.",
            .verifier { $0.environments = ["sandbox"] },
            .receipt {
                $0 = ReceiptBuilder(
                    bundleID: VerifierOptions.bundleID, environment: .sandbox, purchases: $0.purchases)
            }),
        accepted(
            "receipts/vpp.der", nil, "A volume purchase with an expiration date.",
            .receipt { receipt in
                receipt.receiptType = "ProductionVPP"
                receipt.expirationDate = try date("2026-06-15T12:00:00Z")
            },
            .adding(.date(.init(22), ReceiptBuilder.defaultPurchaseDate), .utf8String(.init(23), "vpp"))),
        accepted(
            "receipts/vpp-sandbox.der", nil, "A volume purchase in the sandbox.",
            .verifier { $0.environments = ["sandbox"] },
            .receipt { $0.receiptType = "ProductionVPPSandbox" }),
        accepted(
            "receipts/both-environments.der", nil, "A verifier for both environments.",
            .verifier { $0.environments = ["production", "sandbox"] }),
        accepted(
            "receipts/every-attribute.der", "20", purchases: 3, "Every attribute with a meaning, outer and inner.",
            .receipt { receipt in
                receipt.expirationDate = try date("2026-06-15T12:00:00Z")
                receipt.preorderDate = try date("2023-01-02T03:04:05Z")
                var purchase = subscriptions[1].revoked(at: try date("2025-06-12T00:00:00Z"), reason: .appIssue)
                purchase.isInIntroOfferPeriod = true
                purchase.itemID = "1297233222"
                receipt.purchases.append(purchase)
            }),
        accepted(
            "receipts/cancelled.der", "18", purchases: 1, "A refunded purchase.",
            .receipt { receipt in
                receipt.purchases = [receipt.purchases[0].revoked(at: try date("2025-06-12T00:00:00Z"))]
            }),
        accepted(
            "receipts/subscriptions.der", nil, purchases: 2, "A trial and its renewal.",
            .receipt { $0.purchases = subscriptions }),
        accepted(
            "receipts/minimal.der", "20", purchases: 1,
            "Type, bundle id and creation date, and a purchase that says nothing.",
            .receipt { receipt in
                receipt = ReceiptBuilder(bundleID: VerifierOptions.bundleID, environment: .xcode, purchases: [.init()])
                receipt.receiptType = "Production"
                receipt.encoding = .der
                (receipt.appItemID, receipt.applicationVersion, receipt.opaqueValue) = (nil, nil, nil)
                receipt.expirationDate = nil
            }),
        accepted(
            "receipts/as-xcode-writes-purchases.der", "20",
            "Purchases without 1705, 1706 and 1707, and no attribute 19.",
            .receipt { receipt in
                receipt.originalApplicationVersion = nil
                receipt.writesEmptyAttributes = false
                for index in receipt.purchases.indices {
                    receipt.purchases[index].originalTransactionID = nil
                    receipt.purchases[index].originalPurchaseDate = nil
                    receipt.purchases[index].productType = nil
                }
            }),
        accepted(
            "receipts/attributes-in-numerical-order.der", nil, "The order of attributes says nothing.",
            .receipt { receipt in
                receipt.attributeOrder = .asGiven
                receipt.purchaseAttributeOrder = .asGiven
            }),
        accepted(
            "receipts/attributes-shuffled.der", nil, "The order of attributes says nothing.",
            .receipt { receipt in
                receipt.attributeOrder = .shuffled(seed: 1)
                receipt.purchaseAttributeOrder = .shuffled(seed: 2)
            }),
        accepted(
            "receipts/original-transaction-id-shorter.der", nil,
            "An original transaction id with a digit less than the transaction id, which DER writes first.",
            .purchase { $0.originalTransactionID = "90000000000001" }),
        accepted(
            "receipts/unknown-attributes.der", nil, "Attributes of unknown meaning, outer and inner.",
            .adding(.init(.init(9999), version: 7, value: [1, 2, 3]), .init(.init(10_000), value: [])),
            .purchase { $0.additionalAttributes = [.init(.init(1750), version: 3, value: [0xFF])] }),
        accepted(
            "receipts/empty-strings.der", "18", "Empty strings stand for nothing, and refuse nothing.",
            .receipt { receipt in
                (receipt.applicationVersion, receipt.originalApplicationVersion) = ("", "")
                receipt.ageRating = ""
                receipt.originalCreationDate = nil
                receipt.purchases[0].originalTransactionID = ""
                receipt.purchases[0].promotionalOfferID = ""
            }),
        accepted(
            "receipts/strings-beyond-ascii.der", nil, "Product ids and versions in any script.",
            .receipt { receipt in
                receipt.applicationVersion = "1.0 β"
                receipt.purchases[0].productID = "com.example.app.münzen.金貨.🪙"
            }),
        accepted(
            "receipts/long-product-id.der", nil, "A product id of 300 characters: lengths in the long form.",
            .purchase { $0.productID = String(repeating: "x", count: 300) }),
    ]
}
