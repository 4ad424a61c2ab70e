import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import Testing

/// What the ledger says about renewals.
@Suite struct RenewalStateTests {
    private func period(_ change: (inout JWSBuilder) -> Void = { _ in }) throws -> VerifiedEvidence {
        var builder = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "basic", transactionID: "1", signedDate: day(5))
        builder.payload["type"] = "Auto-Renewable Subscription"
        builder.payload["subscriptionGroupIdentifier"] = "20000001"
        builder.payload["purchaseDate"] = .integer(day(0).millisecondsSince1970)
        builder.payload["expiresDate"] = .integer(day(30).millisecondsSince1970)
        change(&builder)
        return try Minted.evidence(builder)
    }

    private func renewal(
        signed: Double = 5, in environment: AppStoreEnvironment = .production, _ members: [String: JSONValue] = [:]
    ) throws -> VerifiedEvidence {
        var builder = JWSBuilder.renewalInfo(
            productID: "basic", originalTransactionID: "1", environment: environment, signedDate: day(signed))
        for (name, value) in members { builder.payload[name] = value }
        return try Minted.evidence(builder)
    }

    private func orders<Element>(_ elements: [Element]) -> [[Element]] {
        guard let last = elements.last else { return [[]] }
        return orders(Array(elements.dropLast())).flatMap { order in
            (0...order.count).map { Array(order[..<$0]) + [last] + Array(order[$0...]) }
        }
    }

    /// The JSON from the subscriptions on.
    private func subscriptions(_ ledger: PurchaseLedger, in environment: AppStoreEnvironment = .production) throws
        -> String
    {
        let json = try ledger.entitlements(of: "anna", in: environment, at: day(10)).json
        return String(json[try #require(json.firstRange(of: #""subscriptions""#)).lowerBound...])
    }

    @Test(arguments: Place.available)
    func `the renewal information that Apple signed last counts, in whatever order it is redeemed`(
        _ place: Place
    ) throws {
        let evidence = try [
            period(), renewal(signed: 7, ["renewalPrice": 7]),
            renewal(signed: 8, ["autoRenewStatus": 0, "autoRenewProductId": "gold", "priceIncreaseStatus": 0]),
        ]
        for order in orders(evidence) {
            try place.withLedger { ledger in
                for piece in order { _ = try ledger.redeem(piece, for: "anna", at: day(10)) }
                #expect(
                    try subscriptions(ledger) == """
                        "subscriptions":[{"original_transaction_id":"1","environment":"production",\
                        "bundle_id":"com.example.app","product_id":"basic",\
                        "subscription_group_id":"20000001","gives_access":true,"until":"2025-01-31T00:00:00Z",\
                        "will_renew":false,"renews_as":"gold","renewal_date":"2025-02-08T00:00:00Z",\
                        "renews_as_seats":null,"in_grace_period":false,"grace_period_expires_date":null,\
                        "in_billing_retry":null,"price_increase":"pending","renewal_price":1990,\
                        "renewal_currency":"USD","expiration_intent":null,"renewal_offer":null,\
                        "as_of":"2025-01-09T00:00:00Z"}]}
                        """)
            }
        }
    }

    @Test(arguments: Place.available)
    func `what was signed at one time counts as in a decision, in whatever order it is redeemed`(
        _ place: Place
    ) throws {
        let evidence = try [
            period(), renewal(["autoRenewStatus": 0]), renewal(["renewalPrice": 7]), renewal(["offerType": 2]),
        ]
        let decided = Entitlements(evidence, at: day(10)).subscriptions
        for order in orders(evidence) {
            try place.withLedger { ledger in
                for piece in order { _ = try ledger.redeem(piece, for: "anna", at: day(10)) }
                let kept = try ledger.entitlements(of: "anna", at: day(10)).subscriptions
                #expect(kept.map(\.renewal) == decided.map(\.renewal))
            }
        }
    }

    @Test(arguments: Place.available)
    func `what an earlier version stored is filled in by the same evidence`(_ place: Place) throws {
        try place.withLedger { ledger in
            let information = try renewal()
            _ = try ledger.redeem(period(), for: "anna", at: day(10))
            _ = try ledger.redeem(information, for: "anna", at: day(10))
            var older = try #require(information.renewals.first).renewal
            (older.renewalPrice, older.currency) = (nil, nil)
            let text = StoredJSON.encode(older)
            _ = try ledger.store.write { (connection) throws(LedgerError) in
                try connection.run("UPDATE renewals SET renewal = $1", [.text(text)])
            }
            #expect(try subscriptions(ledger).contains(#""renewal_price":null,"renewal_currency":null"#))
            _ = try ledger.redeem(information, for: "anna", at: day(11))
            #expect(try subscriptions(ledger).contains(#""renewal_price":1990,"renewal_currency":"USD""#))
        }
    }

    @Test(arguments: Place.available)
    func `a notification says it, and another environment never`(_ place: Place) throws {
        try place.withLedger { ledger in
            _ = try ledger.redeem(period(), for: "anna", at: day(6))
            _ = try ledger.redeem(
                period { $0.payload["environment"] = "Sandbox" }, for: "anna", at: day(6))
            let authority = try Minted.authority.get()
            var transaction = JWSBuilder.transaction(
                bundleID: Minted.bundleID, productID: "basic", transactionID: "1", signedDate: day(7))
            transaction.payload["type"] = "Auto-Renewable Subscription"
            transaction.payload["purchaseDate"] = .integer(day(0).millisecondsSince1970)
            transaction.payload["expiresDate"] = .integer(day(30).millisecondsSince1970)
            var information = JWSBuilder.renewalInfo(
                productID: "basic", originalTransactionID: "1", signedDate: day(7))
            information.payload["autoRenewStatus"] = 0
            try ledger.record(
                Minted.notification(
                    .notification(
                        .didChangeRenewalStatus, subtype: .autoRenewDisabled, bundleID: Minted.bundleID,
                        transaction: transaction.signed(by: authority), renewalInfo: information.signed(by: authority),
                        signedDate: day(7))), at: day(8))
            #expect(try subscriptions(ledger).contains(#""will_renew":false"#))
            #expect(try subscriptions(ledger, in: .sandbox).contains(#""will_renew":null"#))
            _ = try ledger.redeem(renewal(signed: 9, in: .sandbox), for: "anna", at: day(9))
            #expect(try subscriptions(ledger).contains(#""will_renew":false"#))
            #expect(try subscriptions(ledger, in: .sandbox).contains(#""will_renew":true"#))
        }
    }

    @Test(arguments: Place.available)
    func `nothing is known of the renewal for whom somebody else bought it`(_ place: Place) throws {
        for ownership in ["FAMILY_SHARED", "ASSIGNED"] {
            try place.withLedger { ledger in
                _ = try ledger.redeem(
                    period { $0.payload["inAppOwnershipType"] = .string(ownership) }, for: "anna", at: day(6))
                _ = try ledger.redeem(renewal(), for: "anna", at: day(6))
                let json = try subscriptions(ledger)
                #expect(json.contains(#""gives_access":true"#) && json.contains(#""will_renew":null"#), "\(ownership)")
                #expect(json.contains(#""price_increase":null"#) && json.contains(#""as_of":null"#), "\(ownership)")
            }
        }
    }
}
