import AppStoreReceiptTesting
import SpanASN1
import TestSupport
import Testing

@testable @_spi(Ledger) import AppStoreReceipt

struct StoredPurchaseTests {
    private func evidence() throws -> VerifiedEvidence {
        var builder = JWSBuilder.transaction(bundleID: Minted.bundleID, productID: "pro", transactionID: "1")
        builder.productType = .autoRenewableSubscription
        builder.expiresDate = JWSBuilder.defaultDate + .seconds(86_400)
        return try Minted.verifier().verify(builder.signed(by: Minted.ellipticAuthority))
    }

    @Test func `what was verified is the same after it was stored`() throws {
        let evidence = try evidence()
        let verified = try #require(evidence.purchases.first)
        let stored = StoredPurchase(verified)
        #expect(stored.purchase == verified.purchase && stored.productID == "pro")
        #expect(try StoredPurchase(trusting: stored.json) == stored)
        #expect(StoredPurchase(trusting: verified.purchase) == stored)
        let now = Entitlements(stored: [stored], renewals: [], at: JWSBuilder.defaultDate)
        #expect(now.items.map(\.access) == Entitlements([evidence], at: JWSBuilder.defaultDate).items.map(\.access))
        #expect(now.isActive("pro") && !now.isActive("other") && now.isActive(anyOf: ["other", "pro"]))
        #expect(throws: DecodingError.self) { try StoredPurchase(trusting: "{}") }
    }

    @Test func `renewal information is the same after it was stored`() throws {
        var builder = JWSBuilder.renewalInfo(productID: "pro", originalTransactionID: "1")
        builder.gracePeriodExpiresDate = JWSBuilder.defaultDate + .seconds(100)
        let evidence = try Minted.verifier().verify(builder.signed(by: Minted.ellipticAuthority))
        let verified = try #require(evidence.renewals.first)
        let stored = StoredRenewal(verified)
        #expect(stored.renewal == verified.renewal && stored.gracePeriodExpiresDate == builder.gracePeriodExpiresDate)
        #expect(
            try StoredRenewal(trusting: stored.json) == stored && StoredRenewal(trusting: verified.renewal) == stored)
        #expect(throws: DecodingError.self) { try StoredRenewal(trusting: "[]") }
    }

    @Test func `a revocation is one value`() throws {
        var purchase = Purchase(
            productID: "pro", transactionID: "1", purchaseDate: day(0), signedDate: day(1), revocation: .notRevoked)
        #expect(purchase.revocation == .notRevoked && purchase.isRevoked == false)
        let details = Purchase.Revocation.Details(
            date: day(1), reason: .appIssue, type: .proratedRefund, percentage: 50_000)
        purchase.revocation = .revoked(details)
        #expect(purchase.revocation.details == details && purchase.revocationPercentage == 50_000)
        #expect(try StoredPurchase(trusting: StoredPurchase(trusting: purchase).json).revocation == .revoked(details))
        purchase.revocation = .unknown
        #expect(purchase.isRevoked == nil && purchase.revocationDate == nil && purchase.revocation.details == nil)
    }

    @Test func `without an app or an environment there is no verified purchase, and the decision says why`() throws {
        let policy = VerificationPolicy(bundleIDs: nil, environments: nil)
        let verifier = try AppStoreVerifier(policy: policy, trust: Minted.trust)
        for member in ["bundleId", "environment"] {
            var builder = JWSBuilder.transaction(bundleID: Minted.bundleID, productID: "pro", transactionID: "1")
            builder.payload[member] = nil
            let evidence = try verifier.verify(builder.signed(by: Minted.ellipticAuthority))
            #expect(evidence.purchases.isEmpty && evidence.signedPurchases.count == 1 && evidence.nothing == nil)
            let items = Entitlements([evidence], at: .now).items
            #expect(items.map(\.access) == [.undetermined])
        }
        let purchase = try #require(try evidence().purchases.first)
        #expect(purchase.environment == .production && purchase.bundleID == Minted.bundleID)
    }
}
