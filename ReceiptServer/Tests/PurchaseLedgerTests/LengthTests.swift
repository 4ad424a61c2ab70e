import AppStoreReceipt
import AppStoreReceiptTesting
import LedgerTestSupport
@testable import PurchaseLedger
import Testing

/// The length of a non-renewing subscription, in answers and events, and of two that overlap.
@Suite struct LengthTests {
    private func policy(_ days: Int?) -> LedgerPolicy {
        var policy = LedgerPolicy()
        policy.productTypes = days.map { ["card": .nonRenewing(days: $0)] } ?? [:]
        return policy
    }

    @Test(arguments: [30, 7, nil], Place.available)
    func `outcomes, items and events have the length and the date of the purchase`(_ days: Int?, _ place: Place) throws
    {
        let length = days.map { "P\($0)D" } ?? "unknown"
        try place.withLedger(policy(days)) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let cards = [1.0, 3].map { history.buyNonRenewing("card", at: day($0)) }
            for card in cards {
                let answer = try ledger.redeem(history.evidence(card, signedAt: day(4)), for: "anna", at: day(4))
                let outcome = try #require(answer.outcomes.first)
                #expect(outcome.outcome == .granted && outcome.length == length)
                #expect(outcome.purchaseDate == card.purchaseDate && outcome.reason == nil)
                // They overlap.
                #expect(outcome.until == days.map { card.purchaseDate + .seconds(86_400 * $0) })
            }
            history.refund(cards[0], at: day(5))
            try ledger.record(#require(history.verifiedNotifications(through: day(6)).last), at: day(6))
            let events = try ledger.events()
            #expect(events.map(\.kind) == [.granted, .granted, .revoked])
            #expect(events.map(\.length) == [length, length, length])
            #expect(events.map(\.purchaseDate) == [cards[0], cards[1], cards[0]].map(\.purchaseDate))
            let items = try ledger.entitlements(of: "anna", at: day(6)).items
            #expect(items.map(\.length) == [days, days].map { $0.map(Entitlements.Length.days) ?? .unknown })
            let json = try ledger.entitlements(of: "anna", at: day(6)).json
            #expect(json.components(separatedBy: #""length":"\#(length)""#).count == 3)
        }
    }

    @Test(arguments: Place.available)
    func `no other product has a length, and each has the date of its purchase`(_ place: Place) throws {
        try place.withLedger(policy(nil)) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let period = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(1)).firstPeriod
            let bought = [
                history.buyConsumable("coins", at: day(1)), history.buyNonConsumable("pro", at: day(2)), period,
            ]
            for each in bought {
                let answer = try ledger.redeem(history.evidence(each, signedAt: day(3)), for: "anna", at: day(3))
                #expect(answer.outcomes.map(\.length) == [nil])
                #expect(answer.outcomes.map(\.purchaseDate) == [each.purchaseDate])
            }
            #expect(try ledger.events().allSatisfy { $0.length == nil })
            #expect(try ledger.events().map(\.purchaseDate) == bought.map(\.purchaseDate))
        }
    }

    @Test(arguments: Place.available)
    func `of a grant without evidence, no date is known`(_ place: Place) throws {
        try place.withLedger(policy(nil)) { ledger in
            let gift = Adjustment.Change.product(
                environment: .production, bundleID: Minted.bundleID, productID: "card", quantity: 1)
            try ledger.adjust(Adjustment(gift, reason: "lost", idempotencyKey: "k"), of: "anna", at: day(1))
            let event = try #require(ledger.events().first)
            #expect(event.purchaseDate == nil && event.length == nil)
            #expect(event.originalTransactionID == event.transactionID)
        }
    }

    /// How a purchase without a stated length is granted.
    enum Way: String, CaseIterable, Sendable { case redemption, notification, token, answer, imported }

    @Test(arguments: Way.allCases, Place.available)
    func `what is granted without an end is reported to the operator, however it is granted`(
        _ way: Way, _ place: Place
    ) throws {
        let location = try place.makeLocation()
        let reported = Guarded<[String]>([])
        var policy = policy(nil)
        policy.orders = OrderPolicy()
        let ledger = try PurchaseLedger(
            location.text, policy: policy, onUnknownLength: { product in reported.withLock { $0.append(product) } })
        let token = AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a07")!
        var history = PurchaseHistory(bundleID: Minted.bundleID, appAccountToken: token.description)
        let card = history.buyNonRenewing("card", at: day(1))
        let evidence = try history.evidence(card, signedAt: day(2))
        switch way {
        case .redemption: _ = try ledger.redeem(evidence, for: "anna", at: day(2))
        case .notification:
            _ = try ledger.token(for: "anna", storing: token)
            try ledger.record(#require(history.verifiedNotifications(through: day(2)).first), at: day(2))
        case .token:
            try ledger.record(#require(history.verifiedNotifications(through: day(2)).first), at: day(2))
            #expect(reported.withLock(\.self) == [])
            _ = try ledger.token(for: "anna", storing: token)
        case .answer:
            _ = try ledger.token(for: "anna", storing: token)
            guard case .transaction(let transaction) = evidence else { return }
            try ledger.record(answered: [transaction], about: AskedApp(.production, Minted.bundleID), at: day(2))
        case .imported:
            #expect(try ledger.imported([.evidence(account: "anna", evidence)], at: day(2))[0].outcome == .added)
        }
        #expect(reported.withLock(\.self) == ["card"])
        // Once: it is not granted again.
        _ = try ledger.redeem(evidence, for: "anna", at: day(3))
        #expect(reported.withLock(\.self) == ["card"])
        withExtendedLifetime(location) {}
    }
}
