import AppStoreReceiptTesting
import TestSupport
import Testing

@_spi(Ledger) @testable import AppStoreReceipt

struct CatalogTypeTests {
    /// A product's type as the evidence and the app say it, and what follows.
    struct Row: Sendable, CustomTestStringConvertible {
        let evidence: ProductType?
        var end: Double?
        let stated: CatalogType?
        let code: String
        var type: ProductType?
        var length = "null"
        /// What the JSON says about the source of the type.
        let json: String

        var testDescription: String { "\(evidence?.rawValue ?? "no type") and \(stated.map { "\($0)" } ?? "nothing")" }
    }

    @Test(arguments: [
        Row(evidence: nil, stated: nil, code: "undetermined", json: ""),
        Row(
            evidence: nil, stated: .consumable, code: "consumable", type: .consumable,
            json: #""product_type_source":"setting","stated_product_type":"consumable","product_type":"Consumable","#),
        Row(
            evidence: nil, stated: .nonConsumable, code: "owned", type: .nonConsumable,
            json:
                #""product_type_source":"setting","stated_product_type":"non-consumable","product_type":"Non-Consumable","#
        ),
        Row(
            evidence: nil, stated: .nonRenewing(days: 90), code: "active", type: .nonRenewingSubscription,
            length: #""P90D""#,
            json:
                #""product_type_source":"setting","stated_product_type":"non-renewing:90","product_type":"Non-Renewing Subscription","#
        ),
        Row(
            evidence: nil, stated: .nonRenewing(days: 9), code: "expired", type: .nonRenewingSubscription,
            length: #""P9D""#,
            json:
                #""product_type_source":"setting","stated_product_type":"non-renewing:9","product_type":"Non-Renewing Subscription","#
        ),
        Row(
            evidence: nil, stated: .autoRenewable, code: "undetermined", type: .autoRenewableSubscription,
            json:
                #""product_type_source":"setting","stated_product_type":"auto-renewable","product_type":"Auto-Renewable Subscription","#
        ),
        Row(
            evidence: nil, end: 30, stated: .autoRenewable, code: "active", type: .autoRenewableSubscription,
            json:
                #""product_type_source":"setting","stated_product_type":"auto-renewable","product_type":"Auto-Renewable Subscription","#
        ),
        // What has ended cannot be owned for ever because of a misspelt setting.
        Row(
            evidence: nil, end: 9, stated: .nonConsumable, code: "expired",
            json: #""contradicted_product_type":"non-consumable","#),
        Row(
            evidence: nil, end: 9, stated: .nonRenewing(days: 90), code: "expired",
            json: #""contradicted_product_type":"non-renewing:90","#),
        Row(
            evidence: .consumable, stated: .consumable, code: "consumable", type: .consumable,
            json: #""product_type_source":"evidence","product_type":"Consumable","#),
        Row(
            evidence: .consumable, stated: .nonConsumable, code: "consumable", type: .consumable,
            json:
                #""product_type_source":"evidence","contradicted_product_type":"non-consumable","product_type":"Consumable","#
        ),
        Row(
            evidence: .nonRenewingSubscription, stated: nil, code: "length-unknown", type: .nonRenewingSubscription,
            length: #""unknown""#,
            json: #""product_type_source":"evidence","product_type":"Non-Renewing Subscription","#),
        Row(
            evidence: .nonRenewingSubscription, stated: .nonRenewing(days: 90), code: "active",
            type: .nonRenewingSubscription, length: #""P90D""#,
            json:
                #""product_type_source":"evidence","stated_product_type":"non-renewing:90","product_type":"Non-Renewing Subscription","#
        ),
        Row(
            evidence: .nonRenewingSubscription, stated: .autoRenewable, code: "length-unknown",
            type: .nonRenewingSubscription, length: #""unknown""#,
            json:
                #""product_type_source":"evidence","contradicted_product_type":"auto-renewable","product_type":"Non-Renewing Subscription","#
        ),
    ])
    func `a stated type fills in what evidence does not say, and each item says by what its type is known`(row: Row)
        throws
    {
        let bought = Transaction(id: "1", product: "p", type: row.evidence, start: 0, end: row.end)
        let other = Transaction(id: "2", product: "q", type: row.evidence, start: 0, end: row.end)
        let productTypes = row.stated.map { ["p": $0] } ?? [:]
        for source in EvidenceSource.allCases {
            let entitlements = try source.entitlements(of: [bought], at: day(20), productTypes: productTypes)
            let item = try #require(entitlements.items.first)
            #expect(entitlements.codes == ["1": row.code])
            #expect(item.purchase.productType == row.type)
            let head =
                #""quantity":1,"purchased_quantity":1,"seats":null,"period_seats":null,"length":\#(row.length),"app_transaction_id":null,"#
            // Receipts do not say it.
            let price =
                source == .receipt || source == .mixed
                ? #""price":null,"currency":null,"storefront":null,"#
                : #""price":1990,"currency":"USD","storefront":"USA","#
            #expect(entitlements.json.contains(head + price + row.json + #""purchase_date""#), "\(entitlements.json)")
            // A type is stated of one product.
            let neither = try source.entitlements(of: [other], at: day(20), productTypes: productTypes)
            let without = try source.entitlements(of: [other], at: day(20))
            #expect(neither.json == without.json)
        }
    }

    @Test func `restored copies of a stated non-consumable are one purchase`() throws {
        let first = Transaction(id: "1", product: "pro", type: nil, start: 0)
        let restored = Transaction(id: "2", product: "pro", type: nil, original: "1", start: 5)
        let entitlements = try EvidenceSource.receipt.entitlements(
            of: [first, restored], at: day(20), productTypes: ["pro": .nonConsumable])
        #expect(entitlements.items.map(\.firstTransactionID) == ["1", "1"])
        #expect(entitlements.ownedNonConsumables.count == 1)
    }

    @Test func `if other evidence of the transaction says the type, the app does not`() throws {
        let old = try Transaction(id: "1", product: "p", type: nil, start: 0).purchase(signed: 1)
        let new = try Transaction(id: "1", product: "p", type: .nonConsumable, start: 0).purchase(signed: 2)
        for purchases in [[old, new], [new, old]] {
            let item = Entitlements(trustingStored: purchases, at: day(20), productTypes: ["p": .consumable]).items[0]
            #expect(item.access == .owned && item.typeSource == .contradicted(.consumable))
            #expect(item.statedType == nil && !item.isTypeStated)
        }
    }

    @Test func `what was stated when evidence was first stored is not changed by a later setting`() throws {
        var first = try Transaction(id: "1", product: "p", type: nil, start: 0).purchase(signed: 1)
        var later = try Transaction(id: "1", product: "p", type: nil, start: 0).purchase(signed: 2)
        (first.statedType, later.statedType) = (.consumable, .nonConsumable)
        for order in permutations([first, later]) {
            let decided = Entitlements(trustingStored: order, at: day(20), productTypes: ["p": .nonConsumable])
            #expect(decided.codes == ["1": "consumable"])
        }
    }

    @Test(
        arguments: [
            ("consumable", .consumable), ("non-consumable", .nonConsumable), ("auto-renewable", .autoRenewable),
            ("non-renewing:1", .nonRenewing(days: 1)), ("non-renewing:36500", .nonRenewing(days: 36_500)),
            ("", nil), ("Consumable", nil), ("non-renewing", nil), ("non-renewing:", nil), ("non-renewing:0", nil),
            ("non-renewing:-1", nil), ("non-renewing:+1", nil), ("non-renewing:1.5", nil), ("non-renewing:36501", nil),
            ("non-renewing:99999999999999999999", nil), ("non-renewing:90d", nil), ("consumable ", nil),
            ("non-renewing:٩", nil),
        ] as [(String, CatalogType?)])
    func `the text of a type is one of four`(text: String, type: CatalogType?) {
        #expect(CatalogType(text) == type)
        if let type { #expect(type.description == text) }
    }

    @Test(arguments: [Int.min, -1, 0, 1, 36_500, 36_501, .max])
    func `no length is too long or too short to compute with`(days: Int) throws {
        let season = Transaction(id: "1", product: "season", type: .nonRenewingSubscription, start: 0)
        let item = try EvidenceSource.transactions.entitlements(
            of: [season], at: day(0.5), productTypes: ["season": .nonRenewing(days: days)]
        ).items[0]
        #expect(item.accessEndDate == day(Double(min(max(days, 1), 36_500))))
    }
}
