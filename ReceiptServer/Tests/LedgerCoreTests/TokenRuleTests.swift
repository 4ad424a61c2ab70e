import AppStoreReceipt
import AppStoreReceiptTesting
@testable import LedgerCore
import LedgerModels
import Testing

/// The rules about tokens, by their numbers in `ORDERS.md`. Those about orders and transfers of open orders need
/// tables: `OrderRuleTests` has them.
@Suite struct TokenRuleTests {
    private static let annas = AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a01")!
    private static let bens = AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a02")!

    /// A ledger that knows both tokens.
    private func ledger(forSale: [String]? = nil, requiringTokenSince date: Instant? = nil) -> MemoryLedger {
        let ledger = MemoryLedger(forSale: forSale, usesTokens: true, requiresTokenSince: date)
        ledger.register(Self.annas, for: "anna", at: day(0))
        ledger.register(Self.bens, for: "ben", at: day(0))
        return ledger
    }

    private func history(_ token: AppAccountToken?) -> PurchaseHistory {
        PurchaseHistory(bundleID: Minted.bundleID, appAccountToken: token?.description)
    }

    /// A consumable that was bought with a token, as Apple signed it on that day.
    private func coins(_ token: AppAccountToken?, at date: Double = 0) throws -> VerifiedEvidence {
        var history = history(token)
        let coins = history.buyConsumable("coins", at: day(date))
        return try history.evidence(coins, signedAt: day(date + 0.1))
    }

    @Test func `R1, R2: a token's account owns the purchase, whoever submits it, and anybody's notification grants it`()
        throws
    {
        let evidence = try coins(Self.annas)
        let submitted = ledger()
        #expect(submitted.redeem(evidence, for: "ben", at: day(1)) == [.belongsToAnother])
        let notified = ledger()
        notified.record(evidence, at: day(1))
        for ledger in [submitted, notified] { #expect(ledger.grants.map(\.account) == ["anna"]) }
    }

    @Test func `R1, R11: of several tokens, that of the earliest purchase counts, and an owner stays`() throws {
        var history = history(Self.annas)
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        let first = try history.evidence(subscription.firstPeriod, signedAt: day(1))
        history.appAccountToken = Self.bens.description
        let renewal = history.renew(subscription, at: day(30))
        let second = try history.evidence(renewal, signedAt: day(31))
        let purchases = (first.purchases + second.purchases).map { SubmittedPurchase($0.purchase) }
        let together = ledger()
        let outcomes = together.redeem(Submission(purchases), for: "ben", at: day(31))
        #expect(outcomes == [.belongsToAnother, .belongsToAnother])
        let apart = ledger()
        apart.record(first, at: day(1))
        apart.record(second, at: day(31))
        for ledger in [together, apart] { #expect(Set(ledger.grants.map(\.account)) == ["anna"]) }
    }

    @Test func `R1: a restored copy has the token of its own date`() throws {
        var builders = [
            period("1", of: "1", from: 0), period("2", of: "1", from: 30), period("3", of: "1", from: 0, signed: 40),
        ]
        // It restores the first period.
        (builders[2].purchaseDate, builders[2].webOrderLineItemID) = (day(40), "91")
        builders[1].appAccountToken = Self.annas.description
        builders[2].appAccountToken = Self.bens.description
        let ledger = ledger()
        ledger.record(
            Submission(try builders.flatMap { try Minted.evidence($0).purchases.map { SubmittedPurchase($0) } }),
            at: day(41))
        #expect(ledger.balances == ["anna 2": 1])
    }

    @Test func `R3: who stores an unknown token claims what waits for it, and not what another account has`() throws {
        let third = AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a03")!
        let ledger = ledger()
        try ledger.record(coins(third), at: day(1))
        #expect(ledger.grants.isEmpty)
        ledger.register(third, for: "carl", at: day(2))
        #expect(ledger.grants.map(\.account) == ["carl"] && ledger.events.map(\.cause) == [.token])
        #expect(ledger.lineages.byID.values.map(\.tokenNotes) == [[:]])
        // R15
        let late = self.ledger()
        #expect(try late.redeem(coins(third), for: "anna", at: day(1)) == [.granted])
        late.register(third, for: "carl", at: day(2))
        #expect(late.grants.map(\.account) == ["anna"])
        #expect(late.events.map(\.kind) == [.granted, .conflict])
        #expect(late.effects.notices.tokenConflicts.count == 1)
    }

    @Test(arguments: [(annas, .granted), (bens, .notYours)] as [(AppAccountToken, Outcome)])
    func `whose token a period has counts, also if it is not for sale`(
        _ token: AppAccountToken, _ outcome: Outcome
    ) throws {
        let ledger = ledger(forSale: ["gold"])
        var first = period("1", of: "1", from: 0)
        first.appAccountToken = token.description
        let upgrade = period("2", of: "1", "gold", from: 5)
        let purchases = try [first, upgrade].flatMap { try Minted.evidence($0).purchases }
        let submission = Submission(purchases.map { SubmittedPurchase($0.purchase) })
        #expect(ledger.redeem(submission, for: "anna", at: day(6)) == [.notForSale, outcome])
    }

    @Test func `R13: a deleted account's purchases and tokens are nobody's, and nobody is notified`() throws {
        var history = history(Self.annas)
        let bought = history.buyConsumable("coins", at: day(0))
        let later = history.buyConsumable("coins", at: day(3))
        history.appAccountToken = Self.bens.description
        let other = history.buyConsumable("coins", at: day(0))
        let ledger = ledger()
        for (transaction, account) in [(bought, "anna"), (other, "ben")] {
            let evidence = try history.evidence(transaction, signedAt: day(1))
            #expect(ledger.redeem(evidence, for: account, at: day(1)) == [.granted])
        }
        let count = ledger.events.count
        ledger.forget("anna", as: "forgotten", at: day(2))
        #expect(ledger.events.count == count)
        #expect(ledger.grants.map(\.account).sorted() == ["ben", "forgotten"])
        for account in ["anna", "ben"] {
            for transaction in [bought, later] {
                let evidence = try history.evidence(transaction, signedAt: day(4))
                #expect(ledger.redeem(evidence, for: account, at: day(4)) == [.belongsToAnother])
            }
        }
    }

    @Test(arguments: [(0, .granted), (5, .tokenMissing), (6, .tokenMissing)] as [(Double, Outcome)])
    func `R4: from its first instant on, a required token is missed`(_ date: Double, _ outcome: Outcome) throws {
        let ledger = ledger(requiringTokenSince: day(5))
        #expect(try ledger.redeem(coins(nil, at: date), for: "anna", at: day(7)) == [outcome])
        let isOwned = ledger.lineages.byID.values.contains { $0.owner != nil }
        #expect(isOwned == (outcome == .granted))
    }

    @Test func `R4: with a required token, one that no account has is not enough`() throws {
        let unknown = AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a03")!
        for (token, outcome) in [(unknown, Outcome.notYours), (Self.annas, .granted)] {
            let ledger = ledger(requiringTokenSince: day(5))
            #expect(try ledger.redeem(coins(token, at: 6), for: "anna", at: day(7)) == [outcome])
        }
    }

    @Test(
        arguments: [(.nonConsumable, .granted), (.autoRenewableSubscription, .tokenMissing)] as [(ProductType, Outcome)]
    )
    func `R4: a restored non-consumable is as old as its first purchase, and a renewal is not`(
        _ type: ProductType, _ outcome: Outcome
    ) throws {
        var builder = period("2", of: "1", from: 6)
        (builder.productType, builder.originalPurchaseDate) = (type, day(1))
        if type == .nonConsumable { (builder.expiresDate, builder.webOrderLineItemID) = (nil, nil) }
        let ledger = ledger(requiringTokenSince: day(5))
        #expect(try ledger.redeem(Minted.evidence(builder), for: "anna", at: day(7)) == [outcome])
    }

    @Test func `R4: a required token exempts offer codes, what a family shares, and receipts`() throws {
        var code = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "coins", transactionID: "7", signedDate: day(6))
        code.productType = .consumable
        code.offerType = .offerCode
        var shared = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "pro", transactionID: "8", signedDate: day(6))
        shared.productType = .nonConsumable
        shared.ownershipType = .familyShared
        var history = history(nil)
        history.buyNonConsumable("pro", at: day(6))
        let receipt = try Minted.evidence(history.receipt(signedAt: day(6.5)))
        for evidence in [try Minted.evidence(code), try Minted.evidence(shared), receipt] {
            let ledger = ledger(requiringTokenSince: day(5))
            #expect(ledger.redeem(evidence, for: "anna", at: day(7)) == [.granted])
        }
    }

    @Test func `R5: an owner is notified once of each token of another account, whatever the quantity`() throws {
        let ledger = ledger()
        var history = history(Self.annas)
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        try ledger.record(history.evidence(subscription.firstPeriod, signedAt: day(1)), at: day(1))
        history.appAccountToken = Self.bens.description
        for month in 1...3 {
            let renewal = history.renew(subscription, at: day(Double(30 * month)))
            let date = day(Double(30 * month + 1))
            try ledger.record(history.evidence(renewal, signedAt: date), at: date)
        }
        #expect(ledger.events.map(\.kind) == [.granted, .granted, .conflict, .granted, .granted])
        #expect(Set(ledger.events.map(\.account)) == ["anna"])
        #expect(ledger.effects.disputed.count == 1)
    }

    @Test func `R5: a conflict about what the owner was not granted is disputed once`() throws {
        let ledger = ledger()
        #expect(
            try ledger.redeem(Minted.evidence(period("1", of: "1", from: 0)), for: "anna", at: day(1)) == [.granted])
        var ended = period("2", of: "1", from: 30)
        ended.appAccountToken = Self.bens.description
        #expect(try ledger.redeem(Minted.evidence(ended), for: "ben", at: day(70)) == [.belongsToAnother])
        let conflict = try #require(ledger.events.last)
        #expect((conflict.kind, conflict.account, conflict.transactionID) == (.conflict, "anna", "2"))
        #expect((conflict.quantity, conflict.until) == (0, day(60)))
        #expect(ledger.effects.disputed.map(\.transactionID.string) == ["2"])
    }

    @Test func `R5: what is not for sale makes no conflict`() throws {
        let ledger = ledger(forSale: ["gold"])
        let gold = try Minted.evidence(period("2", of: "1", "gold", from: 5))
        #expect(ledger.redeem(gold, for: "anna", at: day(6)) == [.granted])
        var first = period("1", of: "1", from: 0)
        first.appAccountToken = Self.bens.description
        ledger.record(try Minted.evidence(first), at: day(7))
        #expect(ledger.events.map(\.kind) == [.granted])
    }

    @Test func `R7: what a family shares belongs to the first account that submits it, not to the token's`() throws {
        var shared = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "pro", transactionID: "8", signedDate: day(1))
        shared.productType = .nonConsumable
        shared.ownershipType = .familyShared
        shared.appAccountToken = Self.annas.description
        let ledger = ledger()
        #expect(try ledger.redeem(Minted.evidence(shared), for: "ben", at: day(2)) == [.granted])
        #expect(ledger.events.map(\.kind) == [.granted])
        // It closes no order.
        #expect(ledger.effects.newPurchases.isEmpty)
    }

    @Test func `R9: a receipt claims no lineage with a purchase for another account`() throws {
        var history = history(nil)
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        let receipt = try Minted.evidence(history.receipt(signedAt: day(1)))
        history.appAccountToken = Self.annas.description
        let period = history.renew(subscription, at: day(30))
        let renewal = try history.evidence(period, signedAt: day(31))
        for (stated, outcome) in [(Self.bens, Outcome.notYours), (Self.annas, .granted)] {
            let ledger = MemoryLedger()
            ledger.record(renewal, at: day(31))
            #expect(ledger.redeem(receipt, for: "ben", token: stated, at: day(20)) == [outcome])
        }
    }

    @Test func `R9: a purchase with the stated token claims its lineage, whatever tokens other periods have`() throws {
        var (first, second) = (period("1", of: "1", from: 0), period("2", of: "1", from: 30))
        first.appAccountToken = Self.annas.description
        second.appAccountToken = Self.bens.description
        let purchases = try [first, second].flatMap { try Minted.evidence($0).purchases }
        let submission = Submission(purchases.map { SubmittedPurchase($0) })
        let outcomes = MemoryLedger().redeem(submission, for: "ben", token: Self.bens, at: day(31))
        #expect(outcomes == [.expired, .granted])
    }

    @Test func `R13: nobody claims what was bought with a deleted account's token, and no conflict is reported`()
        throws
    {
        let deleted = MemoryLedger(usesTokens: true)
        deleted.register(Self.annas, for: "deleted-1", isRetired: true, at: day(0))
        #expect(try deleted.redeem(coins(Self.annas), for: "ben", at: day(1)) == [.belongsToAnother])
        #expect(deleted.grants.map(\.account) == ["deleted-1"])
        // Its owner is another account already.
        let owned = MemoryLedger(usesTokens: true)
        #expect(try owned.redeem(coins(Self.annas), for: "ben", at: day(1)) == [.granted])
        owned.register(Self.annas, for: "deleted-1", isRetired: true, at: day(2))
        #expect(owned.events.map(\.kind) == [.granted])
    }

    @Test func `R14: a token claims nothing that is not for sale`() throws {
        let ledger = ledger(forSale: ["pro"])
        #expect(try ledger.redeem(coins(Self.annas), for: "anna", at: day(1)) == [.notForSale])
        #expect(ledger.lineages.byID.values.allSatisfy { $0.owner == nil })
    }

    @Test(arguments: [(.token, 1), (.notification, 1), (.beginning, 0), (.migration, 0)] as [(LedgerEvent.Cause, Int)])
    func `R15: a conflict is reported when evidence or a token arrives, and not by time or a migration`(
        _ cause: LedgerEvent.Cause, _ count: Int
    ) throws {
        let third = AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a03")!
        let ledger = ledger()
        #expect(try ledger.redeem(coins(third), for: "anna", at: day(1)) == [.granted])
        #expect(ledger.lastOutcomes.map(\.isOwnerConflict) == [false])
        var lineages = ledger.lineages
        lineages.holders?[third] = TokenHolder(account: "carl", isRetired: false)
        var decision = LedgerDecision(
            Submission(), about: Array(lineages.byID.keys), in: lineages, ledger.rules, cause, at: day(2))
        decision.settle()
        #expect(decision.effects.events.filter { $0.kind == .conflict }.count == count)
    }

    @Test func `a token that a backend states is the purchase's only if it is the same`() throws {
        for (stated, outcome) in [(Self.annas, Outcome.granted), (Self.bens, .notYours)] {
            let ledger = MemoryLedger()
            #expect(try ledger.redeem(coins(Self.annas), for: "anna", token: stated, at: day(1)) == [outcome])
            // What an account gets is no conflict, although it has the token.
            #expect(ledger.lastOutcomes.map(\.isOwnerConflict) == [false])
        }
    }

    @Test func `R9: nobody claims what is not for sale and has another's token, and its buyer may not finish it`()
        throws
    {
        let withdrawn = ledger(forSale: ["gems"])
        _ = try withdrawn.redeem(coins(Self.annas), for: "ben", at: day(1))
        #expect(withdrawn.lineages.byID.values.allSatisfy { $0.owner == nil })
        // Ben had it before the token was anna's.
        let third = AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a03")!
        let conflict = ledger()
        #expect(try conflict.redeem(coins(third), for: "ben", at: day(1)) == [.granted])
        conflict.register(third, for: "anna", at: day(2))
        #expect(try conflict.redeem(coins(third), for: "anna", at: day(3)) == [.belongsToAnother])
        #expect(conflict.lastOutcomes.map(\.isOwnerConflict) == [true] && !conflict.lastOutcomes[0].mayFinish)
        #expect(try conflict.redeem(coins(third), for: "carl", at: day(3)) == [.belongsToAnother])
        #expect(conflict.lastOutcomes.map(\.isOwnerConflict) == [false] && conflict.lastOutcomes[0].mayFinish)
    }

    @Test func `the nil UUID is nobody's token, and what is undetermined may not be finished`() {
        #expect(AppAccountToken(uuid: "00000000-0000-0000-0000-000000000000") == nil)
        #expect(AppAccountToken(uuid: "00000000-0000-0000-0000-000000000001") != nil)
        #expect(!Outcome.undetermined.mayFinish && !Outcome.tooEarly.mayFinish && Outcome.granted.mayFinish)
    }
}
