import AppStoreReceiptTesting
import TestSupport
import Testing

@testable import AppStoreReceipt

/// Renewal information, and what a subscription says with and without it.
@Suite struct SubscriptionTests {
    private static let periods = [Transaction.period("1", 0..<30), .period("2", 30..<60)]

    private func renewal(
        signed: Double, grace: Double? = nil, product: String = "basic", retries: Bool = false, status: Int64 = 1,
        consent: Int64? = nil
    ) throws -> VerifiedEvidence {
        var builder = JWSBuilder.renewalInfo(productID: product, originalTransactionID: "1", signedDate: day(signed))
        builder.payload["gracePeriodExpiresDate"] = grace.map { .integer(day($0).millisecondsSince1970) }
        builder.payload["isInBillingRetryPeriod"] = .boolean(retries)
        builder.payload["autoRenewStatus"] = .integer(status)
        builder.payload["priceIncreaseStatus"] = consent.map { .integer($0) }
        return .renewalInfo(try Minted.verifier().verifyRenewalInfo(Minted.jws(builder)))
    }

    private func evidence(_ transactions: [Transaction], signed: Double = 1000) throws -> [VerifiedEvidence] {
        let verifier = try Minted.verifier()
        return try transactions.map { .transaction(try verifier.verifyTransaction(Minted.jws($0.jws(signed: signed)))) }
    }

    @Test func `without renewal information nobody knows what comes next`() throws {
        for source in EvidenceSource.allCases {
            let subscription = try #require(try source.entitlements(of: Self.periods, at: day(10)).subscriptions.first)
            #expect(subscription.renewal == nil && subscription.willRenew == nil && !subscription.isInGracePeriod)
            #expect(subscription.currentPeriod.transactionID == "1" && subscription.expiresDate == day(60))
            #expect(subscription.originalTransactionID == "1" && subscription.productID == "basic")
            #expect(subscription.periods.map(\.transactionID) == ["1", "2"])
        }
        #expect(try EvidenceSource.receipt.entitlements(of: Self.periods, at: day(-1)).subscriptions.isEmpty)
    }

    @Test func `a billing grace period gives access until its end, and billing retry alone gives none`() throws {
        for (grace, asked, code) in [
            (66.0, 59.0, "active"), (66, 60, "active"), (66, 65.9, "active"), (66, 66, "expired"), (nil, 60, "expired"),
        ] {
            let all = try evidence(Self.periods) + [renewal(signed: 60, grace: grace, retries: true)]
            for order in permutations(all) {
                let entitlements = Entitlements(order, at: day(asked))
                #expect(entitlements.codes == ["1": "expired", "2": code])
                #expect(entitlements.subscriptions[0].isInGracePeriod == (asked >= 60 && code == "active"))
                #expect(entitlements.subscriptions[0].renewal?.isInBillingRetryPeriod == true)
                if code == "active" { #expect(entitlements.items[1].accessEndDate == day(66)) }
                expectAgreement(in: entitlements)
            }
        }
    }

    @Test func `the latest renewal information counts, in whatever order it comes`() throws {
        let all =
            try evidence([Self.periods[0]])
            + [renewal(signed: 30, grace: 36, retries: true), renewal(signed: 33, status: 0)]
        for order in permutations(all) {
            let subscription = Entitlements(order, at: day(34)).subscriptions[0]
            #expect(!subscription.isActive && subscription.willRenew == false)
        }
    }

    @Test func `a renewal ends the grace period before it`() throws {
        let all =
            try evidence([.period("1", 0..<30), .period("2", 33..<63)]) + [
                renewal(signed: 31, grace: 36, retries: true)
            ]
        for (asked, codes) in [
            (31.0, ["1": "active", "2": "not-yet"]), (33, ["1": "expired", "2": "active"]),
            (35, ["1": "expired", "2": "active"]),
        ] {
            #expect(Entitlements(all, at: day(asked)).codes == codes)
        }
    }

    @Test func `a refund and an upgrade end a grace period`() throws {
        let refunded = try evidence([.period("1", 0..<30, revoked: 32)]) + [renewal(signed: 31, grace: 36)]
        #expect(Entitlements(refunded, at: day(31)).codes == ["1": "active"])
        #expect(Entitlements(refunded, at: day(32)).codes == ["1": "revoked"])
    }

    @Test func `a grace period that ends before its period, or after an early renewal, shortens nothing`() throws {
        for grace in [20.0, 36] {
            let all = try evidence([.period("1", 0..<30), .period("2", 29..<59)]) + [renewal(signed: 10, grace: grace)]
            for (asked, codes) in [
                (25.0, ["1": "active", "2": "not-yet"]), (29.5, ["1": "active", "2": "active"]),
                (30, ["1": "expired", "2": "active"]),
            ] {
                #expect(Entitlements(all, at: day(asked)).codes == codes)
            }
        }
    }

    @Test func `renewal information of another product or an older period extends nothing`() throws {
        let other = try evidence([Self.periods[0]]) + [renewal(signed: 31, grace: 36, product: "news")]
        #expect(Entitlements(other, at: day(31)).codes == ["1": "expired"])
        let old = try evidence(Self.periods) + [renewal(signed: 10, grace: 36)]
        #expect(Entitlements(old, at: day(61)).codes == ["1": "expired", "2": "expired"])
    }

    @Test func `renewal information of the sandbox extends nothing in production, and the other way round`() throws {
        for environment in [AppStoreEnvironment.production, .sandbox] {
            for other in [AppStoreEnvironment.production, .sandbox] {
                var purchase = try Self.periods[0].purchase()
                purchase.environment = environment
                var renewal = SubscriptionRenewal(originalTransactionID: "1", signedDate: day(31))
                (renewal.environment, renewal.gracePeriodExpiresDate) = (other, day(36))
                let entitlements = Entitlements(trustingStored: [purchase], renewals: [renewal], at: day(33))
                #expect(entitlements.codes == ["1": environment == other ? "active" : "expired"])
                #expect((entitlements.subscriptions[0].renewal == nil) == (environment != other))
            }
        }
    }

    @Test func `a price increase without consent never ends a period that is paid`() throws {
        let all = try evidence([Self.periods[0]]) + [renewal(signed: 10, status: 0, consent: 0)]
        #expect(Entitlements(all, at: day(29)).codes == ["1": "active"])
        #expect(Entitlements(all, at: day(29)).subscriptions[0].renewal?.priceIncreaseStatus == .pending)
    }

    @Test func `a notification brings its transaction and its renewal information`() throws {
        var info = JWSBuilder.renewalInfo(productID: "basic", originalTransactionID: "1", signedDate: day(31))
        info.payload["gracePeriodExpiresDate"] = .integer(day(36).millisecondsSince1970)
        let builder = try JWSBuilder.notification(
            .didFailToRenew, subtype: .gracePeriod, bundleID: Minted.bundleID,
            transaction: Minted.jws(Self.periods[0].jws(signed: 31)), renewalInfo: Minted.jws(info), signedDate: day(31)
        )
        let evidence = try Minted.verifier().verify(Minted.jws(builder))
        #expect(Entitlements([evidence], at: day(35)).codes == ["1": "active"])
        #expect(Entitlements([evidence], at: day(36)).codes == ["1": "expired"])
    }

    @Test func `a family member's purchase ends by its revocation`() throws {
        var builder = Self.periods[0].jws(signed: 12)
        builder.payload["inAppOwnershipType"] = "FAMILY_SHARED"
        builder.payload["revocationDate"] = .integer(day(11).millisecondsSince1970)
        builder.payload["revocationType"] = "FAMILY_REVOKE"
        let purchase = try #require(Minted.verifier().verifyTransaction(Minted.jws(builder)).purchase)
        #expect(purchase.ownershipType == .familyShared && purchase.appAccountToken == nil)
        #expect(purchase.access(at: day(10)).givesAccess && purchase.access(at: day(11)) == .revoked(at: day(11)))
    }

    @Test func `subscriptions are listed by original id and by group`() throws {
        var other = Transaction.period("9", 5..<35, "news")
        other.original = "9"
        let entitlements = try EvidenceSource.transactions.entitlements(of: Self.periods + [other], at: day(10))
        #expect(entitlements.subscriptions.map(\.originalTransactionID) == ["1", "9"])
        #expect(entitlements.subscription(originalTransactionID: "9")?.productID == "news")
        #expect(
            entitlements.subscriptions(inGroup: "group").count == 2 && entitlements.subscriptions(inGroup: "x").isEmpty)
        #expect(
            try EvidenceSource.transactions.entitlements(of: Self.periods + [other], at: day(3)).subscriptions.count
                == 1)
    }

    @Test func `a renewal that was refunded before it began does not shorten the period before it`() throws {
        let periods = [Transaction.period("1", 0..<30), .period("2", 30..<60, revoked: 29)]
        for (asked, current, expires) in [(29.5, "1", 30.0), (31, "2", 30)] {
            let subscription = try EvidenceSource.receipt.entitlements(of: periods, at: day(asked)).subscriptions[0]
            #expect(subscription.currentPeriod.transactionID == current && subscription.expiresDate == day(expires))
        }
    }

    @Test func `a period after a gap does not lengthen the one before it`() throws {
        let periods = [Transaction.period("1", 0..<30), .period("2", 40..<70)]
        for (asked, expires) in [(10.0, 30.0), (35, 30), (50, 70)] {
            let subscription = try EvidenceSource.stored.entitlements(of: periods, at: day(asked)).subscriptions[0]
            #expect(subscription.expiresDate == day(expires) && subscription.isActive == (asked != 35))
        }
    }

    @Test func `the current period is the last that gives access`() throws {
        let periods = [Transaction.period("1", 0..<30), .period("2", 10..<40, "premium", revoked: 9)]
        let subscription = try EvidenceSource.stored.entitlements(of: periods, at: day(11)).subscriptions[0]
        #expect(subscription.isActive && subscription.productID == "basic" && subscription.expiresDate == day(30))
    }
}
