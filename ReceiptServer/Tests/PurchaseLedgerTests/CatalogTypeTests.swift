import AppStoreReceipt
import AppStoreReceiptTesting
import Testing

@testable import PurchaseLedger

/// Old evidence does not say what kind of product was bought. The policy can.
struct CatalogTypeTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let stated: CatalogType?
        let outcome: Outcome
        var quantity = 0
        var until: Double?

        var testDescription: String { stated.map { "\($0)" } ?? "nothing" }

        static let all = [
            Row(stated: nil, outcome: .undetermined),
            Row(stated: .consumable, outcome: .granted, quantity: 3),
            Row(stated: .nonConsumable, outcome: .granted, quantity: 3),
            Row(stated: .nonRenewing(days: 90), outcome: .granted, quantity: 3, until: 90),
            Row(stated: .nonRenewing(days: 9), outcome: .expired),
            Row(stated: .autoRenewable, outcome: .undetermined),
        ]
    }

    /// A receipt without product types, as before 2013.
    private func receipt(_ ids: [String] = ["1"], signedAt date: Instant = day(10)) throws -> VerifiedEvidence {
        let purchases = ids.map { id in
            var purchase = ReceiptBuilder.Purchase()
            (purchase.productID, purchase.transactionID, purchase.quantity) = ("p", id, 3)
            purchase.originalTransactionID = "1"
            (purchase.purchaseDate, purchase.originalPurchaseDate) = (day(0), day(0))
            purchase.productType = nil
            return purchase
        }
        var builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: purchases)
        builder.creationDate = date
        return try Minted.evidence(builder)
    }

    private static let authority = Result { try TestCertificateAuthority() }

    private func transactionReceipt() throws -> VerifiedEvidence {
        let authority = try Self.authority.get()
        var builder = TransactionReceiptBuilder(
            bundleID: Minted.bundleID, productID: "p", transactionID: "10000000000001")
        (builder.quantity, builder.purchaseDate) = (3, day(0))
        let verifier = try AppStoreVerifier(
            bundleID: Minted.bundleID, environments: [.production, .sandbox],
            trust: .roots([authority.trustAnchor])
                .adding([TransactionReceiptIssuer(der: authority.intermediate.certificate)]))
        return try verifier.verify(builder.signedBase64(by: authority))
    }

    private func policy(_ type: CatalogType?) -> LedgerPolicy {
        var policy = LedgerPolicy()
        policy.productTypes = type.map { ["p": $0] } ?? [:]
        return policy
    }

    @Test(arguments: Row.all, Place.available)
    func `evidence without a type is granted by the stated type`(_ row: Row, _ place: Place) throws {
        for evidence in try [receipt(), transactionReceipt()] {
            try place.withLedger(policy(row.stated)) { ledger in
                let outcome = try #require(ledger.redeem(evidence, for: "anna", at: day(10)).outcomes.first)
                #expect(outcome.outcome == row.outcome && outcome.quantity == row.quantity)
                if row.outcome == .granted { #expect(outcome.until == row.until.map(day)) }
            }
        }
    }

    /// A server that is started again with another setting.
    @Test(
        arguments: [nil, .consumable, .nonConsumable, .nonRenewing(days: 9), .nonRenewing(days: 365)]
            as [CatalogType?], Place.available)
    func `what was granted by a stated type is decided by it from then on`(
        _ later: CatalogType?, _ place: Place
    ) throws {
        for first in [CatalogType.consumable, .nonConsumable, .nonRenewing(days: 90)] {
            let location = try place.makeLocation()
            let before = try PurchaseLedger(location.text, policy: policy(first))
            let granted = try before.redeem(receipt(), for: "anna", at: day(10)).outcomes[0]
            #expect(granted.outcome == .granted)
            let after = try PurchaseLedger(location.text, policy: policy(later))
            // The same, and the same signed again: neither changes anything, and there is no event.
            for date in [day(10), day(11)] {
                let again = try after.redeem(receipt(signedAt: date), for: "anna", at: day(12)).outcomes[0]
                #expect(again.outcome == .alreadyYours)
                #expect(
                    again.access == granted.access && again.until == granted.until
                        && again.quantity == granted.quantity)
            }
            #expect(try after.outboxCounts().pending == 1)
            // A purchase that is not granted yet is decided by the new setting.
            let other = try after.redeem(
                Minted.evidence(untyped("2", boughtAt: day(1))), for: "ben", at: day(12)
            ).outcomes[0]
            let expected: Outcome =
                switch later {
                case nil: .undetermined
                case .nonRenewing(days: 9): .expired
                default: .granted
                }
            #expect(other.outcome == expected)
            withExtendedLifetime(location) {}
        }
    }

    private func untyped(_ id: String, boughtAt date: Instant) -> ReceiptBuilder {
        var purchase = ReceiptBuilder.Purchase()
        (purchase.productID, purchase.transactionID, purchase.originalTransactionID) = ("p", id, id)
        (purchase.purchaseDate, purchase.originalPurchaseDate, purchase.quantity) = (date, date, 1)
        purchase.productType = nil
        var builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: [purchase])
        builder.creationDate = day(10)
        return builder
    }

    @Test(arguments: Place.available)
    func `a restored copy stays a copy without the setting`(_ place: Place) throws {
        let location = try place.makeLocation()
        let before = try PurchaseLedger(location.text, policy: policy(.nonConsumable))
        #expect(try before.outcomes(receipt(["1", "2"]), for: "anna", at: day(10)).contains(.granted))
        let after = try PurchaseLedger(location.text)
        #expect(try after.outcomes(receipt(["1", "2"]), for: "anna", at: day(12)) == [.alreadyYours, .alreadyYours])
        #expect(try after.outboxCounts().pending == 1)
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `what Apple says later counts, whatever the policy states`(_ place: Place) throws {
        try place.withLedger(policy(.nonRenewing(days: 90))) { ledger in
            #expect(try ledger.outcomes(receipt(), for: "anna", at: day(10)) == [.granted])
            var builder = JWSBuilder.transaction(
                bundleID: Minted.bundleID, productID: "p", transactionID: "1", signedDate: day(11))
            builder.payload["originalTransactionId"] = "1"
            builder.payload["purchaseDate"] = .integer(day(0).millisecondsSince1970)
            builder.payload["quantity"] = 3
            builder.payload["type"] = "Non-Consumable"
            let outcome = try ledger.redeem(Minted.evidence(builder), for: "anna", at: day(100)).outcomes[0]
            #expect(outcome.outcome == .alreadyYours && outcome.access == .owned && outcome.until == nil)
        }
    }
}
