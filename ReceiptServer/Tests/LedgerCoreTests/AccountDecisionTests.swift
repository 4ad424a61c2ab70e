@_spi(Ledger) import AppStoreReceipt
import AppStoreReceiptTesting
@testable import LedgerCore
import LedgerModels
import Testing

/// What accounts are answered, and what support and transfers change.
@Suite struct AccountDecisionTests {
    private func evidence(
        _ id: String, of original: String? = nil, _ product: String = "pro", type: ProductType = .nonConsumable,
        signed: Double = 0, _ change: (inout JWSBuilder) -> Void = { _ in }
    ) throws -> VerifiedEvidence {
        var builder = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: product, transactionID: id, signedDate: day(signed))
        (builder.productType, builder.purchaseDate) = (type, day(0))
        builder.originalTransactionID = original ?? id
        change(&builder)
        return try Minted.evidence(builder)
    }

    private func key(_ id: String) -> TransactionKey {
        TransactionKey(environment: .production, bundleID: Minted.bundleID, transactionID: id)
    }

    // MARK: Answers

    @Test func `an answer names the transaction, what was paid, and the grant`() throws {
        let ledger = MemoryLedger()
        let paid = try evidence("2", of: "1", "coins", type: .consumable) {
            ($0.price, $0.quantity) = (4990, 3)
            ($0.payload["currency"], $0.payload["storefront"]) = ("EUR", "DEU")
        }
        ledger.redeem(paid, for: "anna", at: day(1))
        let answer = try #require(ledger.lastOutcomes.first)
        #expect((answer.transactionID, answer.originalTransactionID, answer.grantedAs) == ("2", "1", "2"))
        #expect((answer.productID, answer.bundleID) == ("coins", Minted.bundleID) && answer.environment == .production)
        #expect((answer.outcome, answer.quantity) == (.granted, 3) && answer.reason == nil)
        #expect((answer.price, answer.currency, answer.storefront) == (4990, "EUR", "DEU"))
        #expect(answer.isTypeStated == false && !answer.isOwnerConflict && answer.seats == nil)
        ledger.redeem(paid, for: "ben", at: day(1))
        let other = try #require(ledger.lastOutcomes.first)
        #expect((other.outcome, other.quantity, other.grantedAs) == (.belongsToAnother, 0, nil))
        #expect(!other.isOwnerConflict && other.reason == "belongs-to-another")
        try ledger.redeem(evidence("9") { $0.payload["type"] = nil }, for: "anna", at: day(1))
        #expect(ledger.lastOutcomes.map { $0.isTypeStated } == [nil])
    }

    @Test func `of several grants of one purchase, the one submitted is answered, or else the one that stands`() throws
    {
        let ledger = MemoryLedger()
        for id in ["1", "2"] { try ledger.redeem(evidence(id), for: "anna", at: day(1)) }
        // Apple signs later that the second restores the first.
        let second = try evidence("2", of: "1", signed: 2)
        ledger.record(second, at: day(2))
        try ledger.adjust(key("1"), to: 0, at: day(3))
        let submitted = try [evidence("1"), second, evidence("3", of: "1", signed: 3)]
        for (evidence, answer) in zip(submitted, [(Outcome.revoked, "1"), (.alreadyYours, "2"), (.alreadyYours, "2")]) {
            ledger.redeem(evidence, for: "anna", at: day(4))
            let given = try #require(ledger.lastOutcomes.first)
            #expect((given.outcome, given.grantedAs) == answer)
        }
    }

    @Test func `an account has a period once, the seats of a second grant end, and support cannot set it`() throws {
        let ledger = MemoryLedger()
        var (first, second) = (SeatTransaction.eight, SeatTransaction.three)
        // Neither has a reason yet, and the second is of a subscription of its own.
        (second.addsSeats, second.signed) = (false, 10)
        try ledger.redeem(first.evidence, for: "buyer", at: day(10))
        try ledger.redeem(second.evidence, for: "buyer", at: day(10))
        (first.addsSeats, first.signed) = (true, 11)
        try ledger.record(.notification(first.notification(.didChangeRenewalPreference, uuid: 1)), at: day(12))
        let grants = ledger.grants.sorted { $0.transaction < $1.transaction }
        #expect(grants.map(\.quantity) == [1, 0] && grants.map(\.seats) == [11, nil])
        let event = try #require(ledger.events.last)
        #expect((event.kind, event.transactionID, event.previousQuantity, event.quantity) == (.adjusted, "2", 1, 0))
        try ledger.redeem(SeatTransaction.three.evidence, for: "buyer", at: day(12))
        let answer = try #require(ledger.lastOutcomes.first)
        #expect((answer.outcome, answer.grantedAs, answer.seats) == (.alreadyYours, "1", 11))
        let error = #expect(throws: LedgerError.self) { try ledger.adjust(key("2"), to: 1, at: day(12)) }
        #expect(error?.code == .notAdjustable)
        try ledger.adjust(key("1"), to: 0, at: day(12))
        try ledger.adjust(key("1"), to: 1, at: day(13))
        #expect(ledger.lineages[key("1")]?.grants[key("1")]?.seats == 11)
    }

    @Test func `the type that the policy stated stays with what was granted, and nobody's purchase keeps one`() throws {
        let ledger = MemoryLedger(productTypes: ["coins": .consumable])
        for signed in [1.0, 2] {
            let untyped = try evidence("1", "coins", signed: signed) {
                ($0.payload["type"], $0.quantity) = (nil, Int(signed))
            }
            ledger.redeem(untyped, for: "anna", at: day(signed))
        }
        let variants = try #require(ledger.lineages[key("1")]?.evidence[key("1")])
        #expect(variants.map(\.purchase.statedType) == [.consumable, .consumable])
        // What nobody owns keeps no type.
        try ledger.record(evidence("2", "coins") { $0.payload["type"] = nil }, at: day(3))
        #expect(ledger.lineages[key("2")]?.evidence[key("2")]?.map(\.purchase.statedType) == [nil])
    }

    @Test func `a client keeps the transaction of what is not for sale, which can be granted later`() throws {
        for product in ["pro", "gems"] {
            let ledger = MemoryLedger(forSale: [product])
            try ledger.redeem(evidence("1"), for: "anna", at: day(1))
            #expect(ledger.lastOutcomes.map(\.mayFinish) == [product == "pro"])
        }
    }

    // MARK: One grant of a purchase

    @Test func `a restored non-consumable is what was granted without evidence of its first transaction`() throws {
        let ledger = MemoryLedger()
        let coins = try evidence("3", of: "1", "coins", type: .consumable) { $0.purchaseDate = day(-1) }
        #expect(ledger.grant(Grant(transaction: key("1"), account: "anna", productID: "pro", quantity: 1), at: day(0)))
        #expect(ledger.redeem(coins, for: "anna", at: day(1)) == [.granted])
        #expect(try ledger.redeem(evidence("2", of: "1"), for: "anna", at: day(1)) == [.alreadyYours])
        #expect(ledger.lastOutcomes.map(\.grantedAs) == ["1"])
        // Its type is known from the copy.
        let error = #expect(throws: LedgerError.self) { try ledger.adjust(key("1"), to: 2, at: day(2)) }
        #expect(error?.code == .invalidText)
    }

    @Test func `a renewal that was restored is granted although the first period was`() throws {
        let ledger = MemoryLedger()
        try ledger.redeem(Minted.period("1", of: "1", from: 0), for: "anna", at: day(1))
        let copies = try ["2", "3"].map { id in
            let evidence = try Minted.period(id, of: "1", from: 30) { $0.webOrderLineItemID = "92" }
            return SubmittedPurchase(evidence.purchases[0].purchase)
        }
        #expect(ledger.redeem(Submission(copies), for: "anna", at: day(31)) == [.granted, .alreadyYours])
        #expect(ledger.balances == ["anna 1": 1, "anna 2": 1])
    }

    @Test func `of two grants of one period, the earlier counts, and none that an operator took back in the database`()
        throws
    {
        var (first, second) = (SeatTransaction.eight, SeatTransaction.three)
        (second.addsSeats, second.signed) = (false, 10)
        for isVoided in [false, true] {
            let ledger = MemoryLedger()
            let voided = Grant(transaction: key("1"), account: "buyer", productID: "team", quantity: 0, isVoided: true)
            if isVoided { #expect(ledger.grant(voided, at: day(0))) }
            try ledger.redeem(second.evidence, for: "buyer", at: day(10))
            (first.addsSeats, first.signed) = (false, 1)
            if !isVoided { try ledger.redeem(first.evidence, for: "buyer", at: day(11)) }
            // Apple signs later that both are of one period.
            (first.addsSeats, first.signed) = (true, 11)
            try ledger.record(first.evidence, at: day(12))
            #expect(ledger.balances == ["buyer 2": 1])
        }
        #expect(!Grant(transaction: key("1"), account: "anna", productID: "pro", quantity: 0).isTakenBack)
    }

    @Test(
        arguments: [(false, nil, false), (true, nil, true), (false, 0, true), (false, 1, false)]
            as [(Bool, Int64?, Bool)])
    func `nothing gives back what an operator took, in the database or as support`(
        isVoided: Bool, adjusted: Int64?, isTakenBack: Bool
    ) {
        var grant = Grant(transaction: key("1"), account: "anna", productID: "pro", quantity: 0, isVoided: isVoided)
        grant.adjusted = adjusted.map { AdjustedQuantity(quantity: $0, signedThen: 1) }
        #expect(grant.isTakenBack == isTakenBack)
    }

    // MARK: The end of a period

    @Test func `the end of a granted period is noted again when Apple extends it, and no end of anything else`() throws
    {
        let ledger = MemoryLedger(productTypes: ["pass": .nonRenewing(days: 10)])
        try ledger.redeem(Minted.period("1", of: "1", from: 0), for: "anna", at: day(1))
        try ledger.record(Minted.period("1", of: "1", from: 0, signed: 2) { $0.expiresDate = day(40) }, at: day(2))
        try ledger.redeem(evidence("2", "pass", type: .nonRenewingSubscription), for: "anna", at: day(2))
        #expect(Set(ledger.grants.map(\.until)) == [day(40), day(10)])
        #expect(ledger.effects.periodEnds.map(\.end) == [day(30), day(40)])
    }

    @Test func `a period that ended unnotified is reported if the owner had the subscription before its end`() throws {
        let owned = MemoryLedger(forSale: ["basic"])
        try owned.redeem(Minted.period("1", of: "1", from: 0), for: "anna", at: day(1))
        func isReported(from start: Double, _ change: (inout JWSBuilder) -> Void = { _ in }) throws -> Bool {
            let ledger = owned.copy()
            try ledger.redeem(Minted.period("2", of: "1", from: start, signed: 2, change), for: "anna", at: day(90))
            return ledger.effects.endedUnnotified == [key("2")]
        }
        #expect(try isReported(from: 40) && isReported(from: -28.9))
        #expect(try !isReported(from: -29))
        #expect(try !isReported(from: 40) { $0.productType = .nonRenewingSubscription })
        #expect(try !isReported(from: 40) { $0.productID = "gold" })
    }

    @Test func `a refund that Apple dated ahead is a revocation, and not the beginning of anything`() throws {
        let ledger = MemoryLedger()
        let refunded = try evidence("1", signed: 1) { ($0.revocationDate, $0.revocationReason) = (day(5), .other) }
        #expect(ledger.redeem(refunded, for: "anna", at: day(2)) == [.granted])
        ledger.settleDue(at: day(6))
        #expect(ledger.events.map(\.kind) == [.granted, .revoked])
        #expect(ledger.events.map(\.cause) == [.redeem, .revocation])
    }

    // MARK: Evidence

    @Test func `of evidence that says the same, what expires last counts, or what does not expire`() throws {
        var lineage = Lineage(id: 1)
        var purchase = try evidence("1").purchases[0].purchase
        for (end, expected) in [(5, day(5)), (9, day(9)), (7, day(9)), (nil, nil)] as [(Double?, Instant?)] {
            purchase.evidenceExpirationDate = end.map(day)
            lineage.record(SubmittedPurchase(purchase), key("1"))
            #expect(lineage.purchases.map(\.evidenceExpirationDate) == [expected])
        }
    }

    // MARK: Adjustments

    @Test func `support sets quantities of consumables, and whether an account has anything else`() throws {
        let ledger = MemoryLedger()
        try ledger.redeem(evidence("1", "coins", type: .consumable) { $0.quantity = 5 }, for: "anna", at: day(1))
        try ledger.redeem(Minted.period("2", of: "2", from: 0), for: "anna", at: day(1))
        func grant(_ id: String) throws -> Grant { try #require(ledger.lineages[key(id)]?.grants[key(id)]) }
        try ledger.adjust(key("1"), to: 7, at: day(2))
        #expect(try grant("1").quantity == 7 && grant("1").changedAt == day(2))
        try ledger.adjust(key("1"), to: nil, at: day(3))
        #expect(try grant("1").quantity == 5 && grant("1").adjusted == nil)
        for quantity: Int64 in [0, 1] {
            try ledger.adjust(key("2"), to: quantity, at: day(3))
            #expect(try grant("2").quantity == quantity && grant("2").until == day(30))
        }
        let error = #expect(throws: LedgerError.self) { try ledger.adjust(key("2"), to: 2, at: day(3)) }
        #expect(error?.code == .invalidText)
        #expect(throws: LedgerError.self) { try ledger.adjust(key("3"), to: 0, at: day(3)) }
        #expect(ledger.state == ledger.stateByEvents)
        // An adjustment stays when Apple extends the period.
        try ledger.adjust(key("2"), to: 0, at: day(4))
        try ledger.record(Minted.period("2", of: "2", from: 0, signed: 5) { $0.expiresDate = day(40) }, at: day(5))
        #expect(try grant("2").quantity == 0)
        // Its end is that of the evidence when support gives it back.
        try ledger.adjust(key("2"), to: 1, at: day(6))
        #expect(try grant("2").until == day(40) && ledger.events.last?.until == day(40))
    }

    @Test func `what support set of a subscription until 0.3.0 was its seats, and is one subscription`() throws {
        let ledger = MemoryLedger()
        var grant = Grant(transaction: key("1"), account: "anna", productID: "basic", quantity: 5)
        grant.adjusted = AdjustedQuantity(quantity: 5, signedThen: 8)
        #expect(ledger.grant(grant, at: day(0)))
        try ledger.redeem(Minted.period("1", of: "1", from: 0), for: "anna", at: day(1))
        #expect(ledger.grants.map(\.quantity) == [1])
        #expect(ledger.grants.map(\.adjusted) == [AdjustedQuantity(quantity: 1, signedThen: 1)])
    }

    // MARK: Transfers

    @Test func `a transfer is noted once a lineage, and its events are in the order of transactions`() throws {
        let ledger = MemoryLedger(notifiesLifecycles: true)
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        let periods = [subscription.firstPeriod] + (0..<4).map { _ in history.renew(subscription) }
        history.turnOffRenewal(of: subscription, at: day(125))
        for (number, period) in periods.enumerated() {
            let date = Double(30 * number + 1)
            ledger.redeem(try history.evidence(period, signedAt: day(date)), for: "anna", at: day(date))
        }
        for notification in try history.verifiedNotifications(through: day(126)) {
            ledger.record(.notification(notification), at: day(126))
        }
        let before = ledger.events.count
        ledger.transfer(from: "anna", to: "ben", at: day(127))
        let events = ledger.events[before...]
        let moved = events.filter { [.granted, .revoked].contains($0.kind) }
        let ids = periods.map(\.transactionID)
        #expect(moved.map(\.transactionID) == ids.flatMap { [$0, $0] })
        #expect(moved.map(\.account) == ids.flatMap { _ in ["anna", "ben"] })
        // The new owner is notified of the state.
        #expect(events.filter { $0.kind == .cancelled }.map(\.account) == ["ben"])
        #expect(ledger.transfers.map { [$0.from, $0.to, $0.reason] } == [["anna", "ben", "test"]])
        let basis = try #require(ledger.lineages[key(ids[0])]?.owner?.basis)
        #expect(basis.isLasting)
        #expect(ledger.effects.dueDates.values.allSatisfy { $0 != day(127) })
    }

    @Test func `a transfer asks again about the parts of a period, and about nothing else`() throws {
        let ledger = MemoryLedger()
        try ledger.redeem(SeatTransaction.eightAgain.evidence, for: "buyer", at: day(11))
        ledger.transfer(from: "buyer", to: "ben", at: day(12))
        #expect(ledger.effects.dueDates[key("1")] == day(12))
    }

    @Test(arguments: [(false, false), (true, false), (false, true)])
    func `the claim of who got a receipt's purchases lasts if one was granted without evidence, or says whose it is`(
        _ isImported: Bool, _ isSigned: Bool
    ) throws {
        let ledger = MemoryLedger()
        var receipt = SeatTransaction.eight
        receipt.original = "90"
        try ledger.redeem(receipt.receipt, for: "anna", at: day(11))
        let imported = Grant(transaction: key("90"), account: "anna", productID: "team", quantity: 1)
        if isImported { #expect(ledger.grant(imported, at: day(11))) }
        if isSigned { try ledger.record(receipt.evidence, at: day(11)) }
        #expect(ledger.lineages[key("1")]?.owner?.basis?.isLasting == false)
        ledger.transfer(from: "anna", to: "ben", at: day(12))
        let basis = try #require(ledger.lineages[key("1")]?.owner?.basis)
        #expect(basis.isLasting == (isImported || isSigned))
        #expect(basis.transactions.map(\.string) == (isSigned ? [] : ["1"]))
        #expect(ledger.effects.dueDates.values.allSatisfy { $0 != day(12) })
    }

    @Test func `who is given a part of a lineage changes nothing of what its owner was notified of`() throws {
        let ledger = MemoryLedger(notifiesLifecycles: true)
        try ledger.redeem(Minted.period("1", of: "1", from: 0), for: "anna", at: day(1))
        try ledger.redeem(Minted.period("2", of: "2", from: 30), for: "ben", at: day(31))
        // Apple signs later that both are of one subscription.
        try ledger.record(
            Minted.period("2", of: "2", from: 30, signed: 32) { $0.payload["previousOriginalTransactionId"] = "1" },
            at: day(32))
        try ledger.record(Minted.renewal(of: "2", signed: 33, ends: 60) { $0.autoRenewStatus = .off }, at: day(33))
        #expect(ledger.events.last.map { "\($0.account) \($0.kind)" } == "anna cancelled")
        let before = ledger.events.count
        ledger.transfer(from: "ben", to: "carl", at: day(34))
        #expect(ledger.events[before...].map { "\($0.account) \($0.kind)" } == ["ben revoked", "carl granted"])
    }

    @Test(arguments: [true, false])
    func `of tokens that move with a transfer, the events of the new owner have those of the purchases`(
        usesTokens: Bool
    ) throws {
        let tokens = [1, 2].map { AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a0\($0)")! }
        let ledger = MemoryLedger(usesTokens: usesTokens)
        for token in tokens { ledger.register(token, for: "anna", at: day(0)) }
        for (id, token) in zip(["1", "2"], tokens) {
            try ledger.redeem(
                evidence(id, "coins", type: .consumable) { $0.appAccountToken = token.description }, for: "anna",
                at: day(1))
        }
        let before = ledger.events.count
        ledger.transfer(from: "anna", to: "ben", moving: [tokens[0]], at: day(2))
        let events = ledger.events[before...].sorted { ($0.account, $0.transactionID) < ($1.account, $1.transactionID) }
        #expect(events.map(\.account) == ["anna", "anna", "ben", "ben"])
        #expect(events.map(\.accountToken) == [nil, nil, usesTokens ? tokens[0] : nil, nil])
    }
}
