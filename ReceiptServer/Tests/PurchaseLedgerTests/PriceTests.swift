import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import Testing

/// The price, the currency and the storefront in the ledger.
@Suite struct PriceTests {
    private func coins(signed: Double, _ members: [String: JSONValue?] = [:]) throws -> VerifiedEvidence {
        try Minted.evidence(builder(signed: signed, members))
    }

    private func builder(signed: Double, _ members: [String: JSONValue?]) -> JWSBuilder {
        var builder = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "coins", transactionID: "1", signedDate: day(signed))
        for name in ["purchaseDate", "originalPurchaseDate"] {
            builder.payload[name] = .integer(day(0).millisecondsSince1970)
        }
        for (name, value) in members { builder.payload[name] = value }
        return builder
    }

    private static let unknown: [String: JSONValue?] = ["price": nil, "currency": nil, "storefront": nil]

    private func receipt(signed: Double) throws -> VerifiedEvidence {
        var purchase = ReceiptBuilder.Purchase.consumable("coins", transactionID: "1")
        purchase.purchaseDate = day(0)
        var builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: [purchase])
        builder.creationDate = day(signed)
        return try Minted.evidence(builder)
    }

    private func price(_ ledger: PurchaseLedger) throws -> String {
        let json = try ledger.entitlements(of: "anna", at: day(10)).json
        let start = try #require(json.firstRange(of: #""price""#)).lowerBound
        let end = try #require(json.firstRange(of: #","product_type_source""#)).lowerBound
        return String(json[start..<end])
    }

    /// The signed dates in the rows.
    private func rows(_ ledger: PurchaseLedger) throws -> [Instant] {
        try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT signed_date FROM evidence ORDER BY signed_date").map {
                (row) throws(LedgerError) in try row.date(0)
            }
        }
    }

    /// Makes the rows those of a version that stored no price.
    ///
    /// - Parameter isOf030: Whether it is version 0.3.0, which also lacked other members.
    private func forgetPrices(_ ledger: PurchaseLedger, isOf030: Bool = false) throws {
        try ledger.store.write { (connection) throws(LedgerError) in
            for row in try connection.run("SELECT variant, purchase FROM evidence") {
                var purchase: Purchase = try StoredJSON.decode(row.text(1))
                (purchase.price, purchase.currency, purchase.storefront) = (nil, nil, nil)
                if isOf030 { (purchase.appTransactionID, purchase.multiSeatInfo) = (nil, nil) }
                try connection.run(
                    """
                    UPDATE evidence SET purchase = $1, price = NULL, currency = NULL, storefront = NULL
                    WHERE variant = $2
                    """,
                    [.text(StoredJSON.encode(purchase)), .integer(row.integer(0))])
            }
        }
        #expect(try price(ledger) == Self.noPrice)
    }

    private static let noPrice = #""price":null,"currency":null,"storefront":null"#
    private static let usual = #""price":1990,"currency":"USD","storefront":"USA""#

    private func orders<Element>(_ elements: [Element]) -> [[Element]] {
        guard let last = elements.last else { return [[]] }
        return orders(Array(elements.dropLast())).flatMap { order in
            (0...order.count).map { Array(order[..<$0]) + [last] + Array(order[$0...]) }
        }
    }

    @Test(arguments: Place.available)
    func `a price has columns, and one in the JSON of older tables counts until there are new ones`(
        _ place: Place
    ) throws {
        try place.withLedger { ledger in
            _ = try ledger.redeem(coins(signed: 5), for: "anna", at: day(10))
            func columns() throws -> [String] {
                try ledger.store.read { (connection) throws(LedgerError) in
                    try connection.run("SELECT purchase, price, currency, storefront FROM evidence").map {
                        (row) throws(LedgerError) in
                        let price = try row.optionalInteger("price").map(String.init) ?? "none"
                        let names = try [row.optionalText("currency"), row.optionalText("storefront")].map {
                            $0 ?? "none"
                        }
                        return ([price] + names + (try row.text("purchase").contains("1990") ? ["1990"] : []))
                            .joined(separator: " ")
                    }
                }
            }
            #expect(try columns() == ["1990 USD USA"] && price(ledger) == Self.usual)
            _ = try ledger.store.write { (connection) throws(LedgerError) in
                try connection.run(
                    """
                    UPDATE evidence SET price = NULL, currency = NULL, storefront = NULL,
                        purchase = '{"currency":"USD","price":1990,"storefront":"USA",' || substr(purchase, 2)
                    """)
            }
            #expect(try columns() == ["none none none 1990"] && price(ledger) == Self.usual)
            _ = try ledger.redeem(coins(signed: 6), for: "anna", at: day(10))
            #expect(try columns() == ["1990 USD USA"] && price(ledger) == Self.usual)
        }
    }

    @Test(arguments: Place.available)
    func `a currency and a storefront with a NUL are stored, too`(_ place: Place) throws {
        try place.withLedger { ledger in
            let names = "U\u{0}D"
            let evidence = try coins(signed: 5, ["currency": .string(names), "storefront": .string(names)])
            for _ in 0..<2 { _ = try ledger.redeem(evidence, for: "anna", at: day(10)) }
            #expect(try price(ledger) == #""price":1990,"currency":"U\u0000D","storefront":"U\u0000D""#)
            #expect(try rows(ledger) == [day(5)])
        }
    }

    /// SQLite has one writer at a time.
    @Test(arguments: Place.available.filter { $0 != .sqlite })
    func `evidence that is signed again while its price is filled in keeps the later date`(_ place: Place) throws {
        let location = try place.makeLocation()
        let ledgers = try (0..<2).map { _ in try PurchaseLedger(location.text) }
        _ = try ledgers[0].redeem(coins(signed: 1, Self.unknown), for: "anna", at: day(10))
        let priced = try coins(signed: 1).purchases.map(\.purchase)
        let again = try coins(signed: 5, Self.unknown)
        try ledgers[0].store.write { (connection) throws(LedgerError) in
            let fillings = try connection.priceFillings(of: priced)
            _ = try ledgers[1].redeem(again, for: "anna", at: day(10))
            for filling in fillings { try connection.write(filling) }
        }
        #expect(try rows(ledgers[0]) == [day(5)])
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `the price that Apple signed last counts, in whatever order it is redeemed, and adds no row`(
        _ place: Place
    ) throws {
        let evidence = try [
            coins(signed: 5), coins(signed: 7, ["price": 2990, "currency": "EUR", "storefront": "DEU"]),
            coins(signed: 9, Self.unknown), receipt(signed: 8),
        ]
        for order in orders(evidence) {
            try place.withLedger { ledger in
                for piece in order { _ = try ledger.redeem(piece, for: "anna", at: day(10)) }
                #expect(try price(ledger) == #""price":2990,"currency":"EUR","storefront":"DEU""#)
                #expect(try rows(ledger) == [day(8), day(9)])
            }
        }
    }

    @Test(arguments: Place.available)
    func `two prices of one moment are one, in whatever order they are redeemed`(_ place: Place) throws {
        let evidence = try [
            coins(signed: 5), coins(signed: 5, ["price": 1990, "currency": "EUR"]),
            coins(signed: 5, ["price": nil]),
        ]
        for order in orders(evidence) {
            try place.withLedger { ledger in
                for piece in order { _ = try ledger.redeem(piece, for: "anna", at: day(10)) }
                #expect(try price(ledger) == Self.usual)
                #expect(try rows(ledger) == [day(5)])
            }
        }
    }

    struct Filling: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// The day when an earlier version's row was signed.
        let stored: Double
        let signed: Double
        let isNotification: Bool
    }

    @Test(
        arguments: Place.available,
        [
            Filling(testDescription: "the same", stored: 5, signed: 5, isNotification: false),
            Filling(testDescription: "signed anew", stored: 5, signed: 7, isNotification: false),
            Filling(testDescription: "signed before", stored: 7, signed: 5, isNotification: false),
            Filling(testDescription: "a notification", stored: 5, signed: 7, isNotification: true),
        ])
    func `what an earlier version stored is filled in, and nothing else changes`(
        _ place: Place, _ filling: Filling
    ) throws {
        try place.withLedger { ledger in
            _ = try ledger.redeem(coins(signed: filling.stored), for: "anna", at: day(10))
            #expect(try price(ledger) == Self.usual)
            try forgetPrices(ledger)
            let count = try ledger.events().count
            if filling.isNotification {
                try ledger.record(
                    Minted.notification(
                        .notification(
                            .oneTimeCharge, bundleID: Minted.bundleID,
                            transaction: builder(signed: filling.signed, [:]).signed(by: Minted.authority.get()),
                            signedDate: day(filling.signed))), at: day(10))
            } else {
                let outcomes = try ledger.outcomes(coins(signed: filling.signed), for: "anna", at: day(10))
                #expect(outcomes == [.alreadyYours])
            }
            #expect(try price(ledger) == Self.usual)
            #expect(try rows(ledger) == [day(max(filling.stored, filling.signed))])
            #expect(try ledger.events().count == count)
        }
    }

    @Test(arguments: Place.available)
    func `an outcome has the price of what the account has, and nothing that only another account sent`(
        _ place: Place
    ) throws {
        func price(_ redemption: Redemption) -> [String?] {
            redemption.outcomes.map { outcome in
                outcome.price.map { "\($0) \(outcome.currency ?? "") \(outcome.storefront ?? "")" }
            }
        }
        try place.withLedger { ledger in
            let priced = try ledger.redeem(coins(signed: 5), for: "anna", idempotencyKey: "1", at: day(10))
            #expect(price(priced) == ["1990 USD USA"])
            #expect(try price(ledger.redeem(receipt(signed: 7), for: "anna", at: day(10))) == ["1990 USD USA"])
            #expect(try price(ledger.redeem(receipt(signed: 7), for: "ben", at: day(10))) == [nil])
            #expect(try price(ledger.redeem(coins(signed: 5), for: "ben", at: day(10))) == ["1990 USD USA"])
            // The recorded answer of an earlier version has none.
            let again = try ledger.redeem(coins(signed: 5), for: "anna", idempotencyKey: "1", at: day(10))
            #expect(again.isRepeated && price(again) == ["1990 USD USA"])
            try ledger.store.write { (connection) throws(LedgerError) in
                for row in try connection.run("SELECT answer FROM answers") {
                    let answer = try [#""price":1990,"#, #""currency":"USD","#, #""storefront":"USA","#]
                        .reduce(row.text(0)) { $0.replacing($1, with: "") }
                    try connection.run("UPDATE answers SET answer = $1", [.text(answer)])
                }
            }
            let older = try ledger.redeem(coins(signed: 5), for: "anna", idempotencyKey: "1", at: day(10))
            #expect(older.isRepeated && price(older) == [nil])
        }
    }

    @Test(arguments: Place.available)
    func `a receipt fills nothing in`(_ place: Place) throws {
        try place.withLedger { ledger in
            _ = try ledger.redeem(coins(signed: 5), for: "anna", at: day(10))
            try forgetPrices(ledger)
            _ = try ledger.redeem(receipt(signed: 9), for: "anna", at: day(10))
            #expect(try price(ledger) == Self.noPrice)
        }
    }

    @Test(arguments: Place.available)
    func `evidence that is kept fills in what version 0.3.0 stored of it, and what is damaged stops nothing`(
        _ place: Place
    ) throws {
        try place.withLedger { ledger in
            let evidence = try builder(signed: 5, ["appTransactionId": "704"]).signed(by: Minted.authority.get())
            _ = try ledger.redeem(Minted.verifier.get().verify(evidence), for: "anna", at: day(10))
            try forgetPrices(ledger, isOf030: true)
            for (number, kept) in [Array("damaged".utf8), Array(evidence.utf8)].enumerated() {
                try ledger.record([#require(Attempt("\(number)", of: "anna", kept, code: "ok", at: day(10)))])
                if number > 0 { continue }
                try ledger.store.write { (connection) throws(LedgerError) in
                    _ = try connection.run("UPDATE kept_evidence SET evidence = $1", [.bytes([0])])
                }
            }
            try ledger.fillPricesFromKeptEvidence { try? Minted.verifier.get().verify($0) }
            #expect(try price(ledger) == Self.usual)
        }
    }

    @Test(arguments: Place.available)
    func `evidence that is kept fills in what it proves, and nothing that is not genuine`(_ place: Place) throws {
        try place.withLedger { ledger in
            let genuine = try builder(signed: 5, [:]).signed(by: Minted.authority.get())
            let forged = try builder(signed: 5, ["price": 1]).signed(by: TestCertificateAuthority(.ellipticCurve))
            let other = try builder(signed: 5, ["price": 2, "quantity": 2]).signed(by: Minted.authority.get())
            let receipt = try Array(ReceiptBuilder(bundleID: Minted.bundleID).signed(by: Minted.authority.get()))
            _ = try ledger.redeem(coins(signed: 7), for: "anna", at: day(10))
            try forgetPrices(ledger)
            let kept = [Array(forged.utf8), Array(other.utf8), receipt, Array(genuine.utf8)]
            for (number, evidence) in kept.enumerated() {
                #expect(try price(ledger) == Self.noPrice)
                try ledger.record(
                    [#require(Attempt("request-\(number)", of: "anna", evidence, code: "ok", at: day(10)))])
                try ledger.fillPricesFromKeptEvidence { try? Minted.verifier.get().verify($0) }
            }
            #expect(try price(ledger) == Self.usual)
            #expect(try rows(ledger) == [day(7)])
            // What was signed after it still counts.
            _ = try ledger.redeem(coins(signed: 6, ["price": 3]), for: "anna", at: day(10))
            #expect(try price(ledger) == #""price":3,"currency":"USD","storefront":"USA""#)
            try ledger.fillPricesFromKeptEvidence { try? Minted.verifier.get().verify($0) }
            #expect(try price(ledger) == #""price":3,"currency":"USD","storefront":"USA""#)
        }
    }

    @Test(arguments: Place.available)
    func `prices that change displace no evidence`(_ place: Place) throws {
        try place.withLedger { ledger in
            let refund: [String: JSONValue?] = ["revocationDate": .integer(day(1).millisecondsSince1970)]
            _ = try ledger.redeem(coins(signed: 2, refund), for: "anna", at: day(10))
            for number in 0..<(Lineage.maximumVariantCount + 1) {
                let price = JSONValue.integer(Int64(number))
                _ = try ledger.redeem(coins(signed: 1, ["price": price]), for: "anna", at: day(10))
            }
            #expect(try rows(ledger) == [day(1), day(2)])
            #expect(try ledger.entitlements(of: "anna", at: day(10)).items.allSatisfy { !$0.access.isGrantable })
        }
    }
}
