import AppStoreReceiptTesting
import Sampling
import SeededRandom
import TestSupport
import Testing

@_spi(Ledger) @_spi(Surfaces) @testable import AppStoreReceipt

/// The price, the currency and the storefront are shown as Apple signed them, and decide nothing.
@Suite struct PriceTests {
    private static let coins = Transaction.consumable("1", 0, quantity: 3)

    // MARK: As signed

    struct Signed: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let members: [String: JSONValue?]
        let json: String

        init(_ description: String, _ members: [String: JSONValue?], _ json: String) {
            (testDescription, self.members, self.json) = (description, members, json)
        }
    }

    @Test(arguments: [
        Signed("all", [:], #""price":1990,"currency":"USD","storefront":"USA""#),
        Signed("none", ["price": nil, "currency": nil, "storefront": nil], Self.unknown),
        Signed("nothing is free", ["price": 0], #""price":0,"currency":"USD","storefront":"USA""#),
        Signed("below nothing", ["price": -1], #""price":-1,"currency":"USD","storefront":"USA""#),
        Signed(
            "the largest", ["price": .integer(.max)],
            #""price":9223372036854775807,"currency":"USD","storefront":"USA""#),
        Signed("no currency", ["currency": nil], #""price":1990,"currency":null,"storefront":"USA""#),
        Signed("no price", ["price": nil], #""price":null,"currency":"USD","storefront":"USA""#),
        Signed(
            "other types", ["price": "1990", "currency": 840, "storefront": [:]], Self.unknown),
        Signed("a fraction", ["price": .raw("1.5")], #""price":null,"currency":"USD","storefront":"USA""#),
        Signed(
            "too large", ["price": .raw("9223372036854775808")],
            #""price":null,"currency":"USD","storefront":"USA""#),
        Signed(
            "any text", ["currency": "\u{202E}\n", "storefront": ""],
            #""price":1990,"currency":"\u202e\n","storefront":"""#),
    ])
    func `JSON has them as they are signed, and null for what is not`(signed: Signed) throws {
        var builder = Self.coins.jws(signed: 5)
        for (name, value) in signed.members { builder.payload[name] = value }
        let json = try Minted.verifier().decision(on: [Minted.jws(builder)], in: .production, at: day(10)).json
        #expect(json.contains(signed.json), "\(json)")
        #expect(json.contains(#""access":"consumable","gives_access":false,"grantable":true"#))
    }

    private static let unknown = #""price":null,"currency":null,"storefront":null"#

    @Test func `a receipt says none of them`() throws {
        let receipt = try Minted.verified(Self.coins.record)
        #expect(Entitlements([.receipt(receipt)], at: day(10)).json.contains(Self.unknown))
    }

    // MARK: Totals

    struct Total: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let total: Int64?
        private(set) var purchase = Purchase(
            productID: "pro", productType: .autoRenewableSubscription, transactionID: "1", purchaseDate: day(0),
            expiresDate: day(30), signedDate: day(0))

        init(_ description: String, _ total: Int64?, _ change: (inout Purchase) -> Void) {
            (testDescription, self.total) = (description, total)
            purchase.price = 4990
            change(&purchase)
        }
    }

    @Test(arguments: [
        Total("one seat", 4990) { _ in },
        Total("eight seats", 39_920) { $0.quantity = 8 },
        Total("eight seats, two refunded: as signed", 39_920) {
            ($0.quantity, $0.multiSeatInfo) = (8, PurchaseSeatInfo(revokedSeatQuantity: 2))
        },
        Total("a free subscription", 9980) { ($0.quantity, $0.productType) = (2, .freeSubscription) },
        Total("no type, and an end", 9980) { ($0.quantity, $0.productType) = (2, nil) },
        Total("no type, and no end", 4990) { ($0.quantity, $0.productType, $0.expiresDate) = (2, nil, nil) },
        Total("three consumables", 4990) { ($0.quantity, $0.productType) = (3, .consumable) },
        Total("no quantity of a consumable", 4990) { ($0.quantity, $0.productType) = (nil, .consumable) },
        Total("a non-renewing subscription", 4990) { ($0.quantity, $0.productType) = (2, .nonRenewingSubscription) },
        Total("no price", nil) { $0.price = nil },
        Total("no quantity", nil) { $0.quantity = nil },
        Total("no seat", nil) { $0.quantity = 0 },
        Total("less than no seat", nil) { $0.quantity = .min },
        Total("as large as a number can be", .max) { $0.price = .max },
        Total("too large", nil) { ($0.quantity, $0.price) = (2, .max) },
        Total("too far below nothing", nil) { ($0.quantity, $0.price) = (.max, .min) },
        Total("a family member", nil) { $0.ownershipType = .familyShared },
        Total("an assigned seat", nil) { ($0.quantity, $0.ownershipType) = (8, .assigned) },
    ])
    func `the total is the price of all seats, and the price of anything else`(total: Total) {
        #expect(total.purchase.totalPrice == total.total)
    }

    @Test(
        arguments: [
            (0, "0"), (1, "0.001"), (10, "0.01"), (990, "0.99"), (4990, "4.99"), (4995, "4.995"), (5000, "5"),
            (5500, "5.50"), (100_000, "100"), (-1, "-0.001"), (-4500, "-4.50"), (.max, "9223372036854775.807"),
            (.min, "-9223372036854775.808"),
        ] as [(Int64, String)])
    func `amounts are written in units`(amount: Int64, text: String) {
        #expect(Milliunits.text(amount) == text)
    }

    // MARK: Merging

    private struct Price: Sendable {
        var signed: Double
        var price: Int64?
        var currency: String?
        var storefront: String?
        var isReceipt = false
    }

    private func purchase(_ price: Price) throws -> Purchase {
        if price.isReceipt {
            var builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: [Self.coins.record])
            builder.creationDate = day(price.signed)
            return try #require(Minted.verified(builder).purchases.first).purchase
        }
        var purchase = try Self.coins.purchase(signed: price.signed)
        (purchase.price, purchase.currency, purchase.storefront) = (price.price, price.currency, price.storefront)
        return purchase
    }

    @Test(
        arguments: [
            // What says no price takes none away, whenever it was signed.
            ([Price(signed: 9), Price(signed: 8, isReceipt: true), Price(signed: 5, price: 5, currency: "USD")], 2),
            // The date of a price stays that of its own signature.
            ([Price(signed: 9), Price(signed: 5, price: 5), Price(signed: 7, price: 7)], 2),
            // The latest, with its own currency and storefront.
            (
                [
                    Price(signed: 5, price: 5, currency: "USD", storefront: "USA"),
                    Price(signed: 7, price: 7, currency: "EUR"), Price(signed: 6, price: 6, storefront: "DEU"),
                ], 1
            ),
            // A later storefront alone says no price.
            ([Price(signed: 9, storefront: "FRA"), Price(signed: 5, price: 5)], 1),
            ([Price(signed: 9, storefront: "FRA"), Price(signed: 5)], 0),
            // Of one moment, the values decide.
            (
                [
                    Price(signed: 5, price: 5, currency: "EUR"), Price(signed: 5, price: 5, currency: "USD"),
                    Price(signed: 5, price: 4, currency: "ZAR"),
                ], 1
            ),
            ([Price(signed: 5)], 0),
        ] as [([Price], Int)])
    private func `of several that are signed, one counts, whatever their order`(prices: [Price], counts: Int) throws {
        let purchases = try prices.map(purchase)
        let expected = prices[counts]
        var generator = SeededGenerator(seed: Sampling.seed)
        for _ in 0..<24 {
            let order = purchases.shuffled(using: &generator)
            // At once, and each with what was merged before it.
            var merged = Entitlements(trustingStored: [order[0]], at: day(10)).items.map(\.purchase)
            for next in order {
                merged = Entitlements(trustingStored: merged + [next], at: day(10)).items.map(\.purchase)
            }
            for purchase in merged + Entitlements(trustingStored: order, at: day(10)).items.map(\.purchase) {
                #expect(purchase.price == expected.price)
                #expect(purchase.currency == expected.currency)
                #expect(purchase.storefront == expected.storefront)
                // Storing it forgets nothing.
                #expect(try Purchase(storedJSON: purchase.storedJSON) == purchase)
            }
        }
    }

    @Test(arguments: 0..<8)
    func `decisions are the same with prices and without`(part: Int) throws {
        var generator = SeededGenerator(seed: Sampling.seed &+ UInt64(part))
        let count = Sampling.count("price-decisions")
        for _ in 0..<count {
            var evidence: [Purchase] = []
            for number in 0..<Int.random(in: 1...4, using: &generator) {
                // Many are signed together, so that the ties are decided, too.
                for _ in 0..<Int.random(in: 1...4, using: &generator) {
                    evidence.append(.random("\(number)", using: &generator))
                }
            }
            let priced = evidence.map { purchase in
                var priced = purchase
                priced.price = Bool.random(using: &generator) ? .random(in: 0...3, using: &generator) : nil
                priced.currency = ["EUR", "USD", "", nil].randomElement(using: &generator)!
                priced.storefront = ["DEU", "USA", nil].randomElement(using: &generator)!
                return priced
            }.shuffled(using: &generator)
            let without = Entitlements(trustingStored: evidence, at: day(20))
            let with = Entitlements(trustingStored: priced, at: day(20))
            #expect(with.subscriptions.map(\.expiresDate) == without.subscriptions.map(\.expiresDate))
            try #require(with.items.map(\.withoutPrice) == without.items.map(\.withoutPrice), "seed \(Sampling.seed)")
            #expect(
                Entitlements(trustingStored: priced.shuffled(using: &generator), at: day(20)).items.map(\.purchase)
                    == with.items.map(\.purchase))
        }
    }
}

extension Entitlements.Item {
    /// All that was decided, and the purchase without its price.
    fileprivate var withoutPrice: [String] {
        var purchase = purchase
        purchase.takePrice(of: nil)
        return [
            purchase.storedJSON, "\(access)", "\(String(describing: accessEndDate))", "\(quantity)",
            "\(String(describing: seats))", purchaseKey ?? "", formerPurchaseKeys.joined(separator: " "),
        ]
    }
}

extension Purchase {
    fileprivate static func random(_ id: String, using generator: inout SeededGenerator) -> Purchase {
        func chance() -> Bool { Bool.random(using: &generator) }
        var purchase = Purchase(
            productID: chance() ? "gold" : "basic", productType: .autoRenewableSubscription, transactionID: id,
            originalTransactionID: "0", bundleID: "com.example.app", environment: .production,
            quantity: chance() ? 1 : 2, purchaseDate: day(chance() ? 0 : 10),
            expiresDate: chance() ? day(15) : day(30), signedDate: day(chance() ? 10 : 11),
            revocation: chance() ? .notRevoked : .revoked(.init(date: day(12))),
            ownershipType: chance() ? .purchased : .familyShared)
        purchase.isUpgraded = [true, false, nil].randomElement(using: &generator)!
        purchase.offer = chance() ? PurchaseOffer(type: .promotional, id: chance() ? "a" : "b") : nil
        purchase.webOrderLineItemID = chance() ? "9\(id)" : nil
        return purchase
    }
}
