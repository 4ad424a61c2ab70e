@_spi(Ledger) import AppStoreReceipt
import AppStoreReceiptTesting
@testable import LedgerCore
import LedgerModels
import StrictText
import Testing

/// Decisions about purchases without tokens.
@Suite struct LedgerDecisionTests {
    private func submission(_ count: Int, from first: Int = 1) throws -> Submission {
        let builders = (first..<first + count).map { number in
            var builder = JWSBuilder.transaction(
                bundleID: Minted.bundleID, productID: "coins", transactionID: "\(number)", signedDate: day(0))
            builder.productType = .consumable
            return builder
        }
        return Submission(try builders.flatMap { try Minted.evidence($0).purchases.map { SubmittedPurchase($0) } })
    }

    private func key(_ id: String) -> TransactionKey {
        TransactionKey(environment: .production, bundleID: Minted.bundleID, transactionID: id)
    }

    private func submission(_ builders: JWSBuilder...) throws -> Submission {
        Submission(try builders.flatMap { try Minted.evidence($0).purchases.map { SubmittedPurchase($0) } })
    }

    // MARK: Owners and outcomes

    @Test func `the first account that submits a purchase owns it, and a second one gets nothing`() throws {
        let ledger = MemoryLedger()
        let coins = try submission(1)
        #expect(ledger.redeem(coins, for: "anna", at: day(1)) == [.granted])
        #expect(ledger.redeem(coins, for: "ben", at: day(1)) == [.belongsToAnother])
        #expect(ledger.events.map(\.account) == ["anna"])
        #expect(ledger.effects.disputed.count == 1)
        #expect(ledger.lineages.byID.values.map { $0.owner?.account } == ["anna"])
    }

    @Test func `a purchase is answered once, however often a request has it`() throws {
        let ledger = MemoryLedger()
        let coins = try submission(1).purchases.map(\.signed)
        #expect(ledger.redeem(Submission(coins + coins), for: "anna", at: day(1)) == [.granted])
        #expect(ledger.redeem(Submission(coins + coins), for: "anna", at: day(1)) == [.alreadyYours])
        #expect(ledger.events.count == 1)
    }

    @Test func `one request disputes twenty transactions at most, and another one its own`() throws {
        let ledger = MemoryLedger()
        let many = try submission(30)
        _ = ledger.redeem(many, for: "anna", at: day(1))
        _ = ledger.redeem(many, for: "ben", at: day(1))
        #expect(ledger.effects.disputed.count == 20)
        _ = try ledger.redeem(submission(1), for: "carl", at: day(1))
        #expect(ledger.effects.disputed.count == 21)
    }

    @Test func `what is not for sale is neither granted nor claimed`() throws {
        let ledger = MemoryLedger(forSale: ["pro"])
        let coins = try submission(1)
        #expect(ledger.redeem(coins, for: "anna", at: day(1)) == [.notForSale])
        #expect(ledger.grants.isEmpty && ledger.lineages.byID.values.allSatisfy { $0.owner == nil })
    }

    @Test func `a refund revokes once, and is answered as revoked`() throws {
        let ledger = MemoryLedger()
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
        #expect(try ledger.redeem(history.evidence(coins, signedAt: day(1)), for: "anna", at: day(1)) == [.granted])
        history.refund(coins, at: day(2))
        let refunded = try history.evidence(coins, signedAt: day(3))
        for date in [3.0, 4] { #expect(ledger.redeem(refunded, for: "anna", at: day(date)) == [.revoked]) }
        // Another account does not learn that it was refunded.
        #expect(ledger.redeem(refunded, for: "ben", at: day(5)) == [.belongsToAnother])
        #expect(ledger.events.map(\.kind) == [.granted, .revoked])
        #expect(ledger.events.map(\.quantity) == [3, 0])
    }

    @Test func `what ended before it was submitted has an owner, and is reported if the owner had it before`() throws {
        let ledger = MemoryLedger()
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        let first = try history.evidence(subscription.firstPeriod, signedAt: day(1))
        #expect(ledger.redeem(first, for: "anna", at: day(40)) == [.expired])
        #expect(ledger.redeem(first, for: "ben", at: day(41)) == [.belongsToAnother])
        #expect(ledger.effects.endedUnnotified.isEmpty)
        let second = history.renew(subscription, at: day(50))
        #expect(try ledger.redeem(history.evidence(second, signedAt: day(51)), for: "anna", at: day(90)) == [.expired])
        // Other evidence does not report it again.
        #expect(ledger.redeem(first, for: "anna", at: day(91)) == [.expired])
        #expect(ledger.effects.endedUnnotified.map(\.transactionID.string) == [second.transactionID])
        #expect(ledger.grants.isEmpty)
    }

    @Test func `time settles what an account owns, and nothing else`() throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        let renewal = history.renew(subscription, at: day(29))
        let early = try history.evidence(renewal, signedAt: day(29))
        let ledger = MemoryLedger()
        ledger.record(early, at: day(29))
        #expect(ledger.effects.dueDates.isEmpty)
        #expect(ledger.redeem(early, for: "anna", at: day(29)) == [.tooEarly])
        #expect(ledger.effects.dueDates.count == 1)
        ledger.settleDue(at: day(31))
        #expect(ledger.events.map(\.cause) == [.beginning])
        let granted = ledger.effects.granted.map { [$0.key.transactionID.string, $0.original.transactionID.string] }
        #expect(granted == [[renewal.transactionID, subscription.firstPeriod.transactionID]])
        #expect(ledger.effects.periodEnds.count == 1)
    }

    @Test func `a claim rests on all that its account submitted`() throws {
        let ledger = MemoryLedger()
        for (id, begin) in [("1", 0.0), ("2", 30)] {
            let period = SeatTransaction(id: id, days: begin..<begin + 30, signed: begin + 1)
            try ledger.redeem(period.receipt, for: "anna", at: day(begin + 1))
        }
        let basis = try #require(ledger.lineages[key("1")]?.owner?.basis)
        #expect(basis == ClaimBasis(isLasting: false, [UTF8Bytes("1"), UTF8Bytes("2")]))
    }

    @Test func `a purchase and its restored copy are one, and each keeps its own values`() throws {
        var (bought, restored) = (try pro("1", of: "1", at: 0), try pro("2", of: "1", at: 3))
        (bought.price, restored.price) = (100, 200)
        let ledger = MemoryLedger()
        let both = try submission(bought, restored)
        #expect(ledger.redeem(both, for: "anna", at: day(4)) == [.granted, .alreadyYours])
        let decision = LedgerDecision(
            Submission(), about: [1], in: ledger.lineages, ledger.rules, .support, at: day(4))
        #expect(decision.groups.map(\.items.count) == [2])
        #expect(["1", "2"].map { decision.item(of: key($0))?.purchase.price } == [100, 200])
        // The first can have been imported without evidence.
        let imported = MemoryLedger()
        #expect(
            imported.grant(Grant(transaction: key("1"), account: "anna", productID: "pro", quantity: 1), at: day(0)))
        #expect(imported.redeem(try submission(restored), for: "anna", at: day(4)) == [.alreadyYours])
        #expect(imported.grants.map(\.transaction) == [key("1")])
    }

    private func pro(_ id: String, of original: String, at date: Double) throws -> JWSBuilder {
        var builder = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "pro", transactionID: id, signedDate: day(date))
        (builder.productType, builder.originalTransactionID) = (.nonConsumable, original)
        return builder
    }

    @Test func `what an account lost with a split is notified once, by the decision about the lineage`() throws {
        var lineages = Lineages()
        for (number, quantity) in [(1, 1), (1, 0), (2, 1)] as [(Int64, Int64)] {
            let lost = Grant(
                transaction: key("\(number)\(quantity)"), account: "anna", productID: "team", quantity: quantity)
            lineages.structure.lost.append((number, lost))
        }
        let decision = LedgerDecision(
            Submission(), about: [1], in: lineages, MemoryLedger().rules, .notification, at: day(1))
        #expect(decision.effects.events.map(\.transactionID) == ["11"])
        #expect(decision.effects.events.map(\.kind) == [.revoked])
    }

    @Test func `the type that the policy states stays with what is granted now, and with what was imported`() throws {
        var coins = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "coins", transactionID: "1", signedDate: day(0))
        (coins.payload["type"], coins.quantity) = (nil, 1)
        for isImported in [false, true] {
            let ledger = MemoryLedger(productTypes: ["coins": .consumable])
            let spent = Grant(transaction: key("1"), account: "anna", productID: "coins", quantity: 1)
            #expect(!isImported || ledger.grant(spent, at: day(0)))
            #expect(ledger.redeem(try submission(coins), for: "anna", at: day(1)) != [.undetermined])
            let variants = try #require(ledger.lineages[key("1")]?.evidence[key("1")])
            #expect(variants.map(\.purchase.statedType) == [.consumable])
        }
    }

    // MARK: Imports

    @Test(arguments: [(.consumable, []), (.nonRenewingSubscription, ["p"])] as [(ProductType, [String])])
    func `a line with evidence grants without an event, and a subscription of unknown length is reported`(
        _ type: ProductType, _ unknownLengths: [String]
    ) throws {
        var builder = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "p", transactionID: "1", signedDate: day(0))
        builder.productType = type
        let ledger = MemoryLedger()
        _ = ledger.importLine(try submission(builder), for: "anna", at: day(1))
        #expect(ledger.state.grants == ["1": .init(account: "anna", quantity: 1)] && ledger.events.isEmpty)
        #expect(ledger.effects.notices.unknownLengths == unknownLengths)
    }

    @Test func `a line grants as bought only its own transactions, of its account's, and what is for sale`() throws {
        var refunded = period("1", of: "1", from: 0)
        (refunded.revocationDate, refunded.revocationReason) = (day(2), .other)
        let related = MemoryLedger()
        related.record(try submission(refunded), at: day(3))
        let owned = MemoryLedger()
        #expect(owned.redeem(try submission(period("1", of: "1", from: 0)), for: "anna", at: day(1)) == [.granted])
        let line = try submission(period("2", of: "1", from: 30))
        for ledger in [related, owned] { _ = ledger.importLine(line, for: "ben", at: day(31)) }
        #expect(related.balances == ["ben 2": 1] && related.events.isEmpty)
        #expect(owned.balances == ["anna 1": 1, "anna 2": 1] && owned.balances == owned.balancesByEvents)
        let withdrawn = MemoryLedger(forSale: ["gold"])
        let both = try submission(refunded, period("2", of: "1", "gold", from: 30))
        _ = withdrawn.importLine(both, for: "anna", at: day(31))
        #expect(withdrawn.balances == ["anna 2": 1] && withdrawn.grants.count == 1)
    }

    @Test func `a line about a purchase that another account claimed meanwhile is decided again`() throws {
        let ledger = MemoryLedger()
        let coins = try submission(1)
        #expect(ledger.redeem(coins, for: "anna", at: day(1)) == [.granted])
        var decision = LedgerDecision(
            Submission(spent: coins.purchaseKeys), about: [1], in: ledger.lineages, ledger.rules, .redeem, import: 1,
            at: day(2))
        let line = SpentTransaction(
            account: "ben", environment: .production, bundleID: Minted.bundleID, transactionID: "1",
            originalTransactionID: nil, productID: "coins", quantity: 1, date: day(0))
        let isGranted = decision.grant(try #require(line))
        #expect(!isGranted && decision.grant(of: key("1"))?.account == "anna")
    }

    // MARK: What needs no evidence

    @Test func `a grant without evidence changes no claim, and another account gets nothing of a lineage`() throws {
        let ledger = MemoryLedger()
        #expect(ledger.redeem(try submission(period("2", of: "1", from: 0)), for: "anna", at: day(1)) == [.granted])
        let owner = ledger.lineages[key("1")]?.owner
        for (account, isGranted) in [("ben", false), ("anna", true)] {
            let grant = Grant(transaction: key("1"), account: account, productID: "monthly", quantity: 1)
            #expect(ledger.grant(grant, at: day(0)) == isGranted)
        }
        #expect(ledger.lineages[key("1")]?.owner == owner && owner?.claimedAt == day(1))
        #expect(ledger.balances == ["anna 1": 1, "anna 2": 1])
    }

    @Test func `what was granted meanwhile is not replaced by a grant without evidence`() throws {
        let ledger = MemoryLedger()
        let coins = try submission(1)
        _ = ledger.redeem(coins, for: "anna", at: day(1))
        let key = try #require(coins.keys.first)
        let imported = Grant(transaction: key, account: "anna", productID: "coins", quantity: 7)
        #expect(!ledger.grant(imported, at: day(0)))
        #expect(ledger.grants.map(\.quantity) == [1])
    }

    @Test func `what is granted without evidence has an owner from then on`() throws {
        let ledger = MemoryLedger()
        let coins = try submission(1)
        let key = try #require(coins.keys.first)
        let imported = Grant(transaction: key, account: "anna", productID: "coins", quantity: 7)
        #expect(ledger.grant(imported, at: day(0)))
        #expect(ledger.lineages[key]?.owner?.account == "anna")
        #expect(ledger.redeem(coins, for: "ben", at: day(1)) == [.belongsToAnother])
    }

    @Test func `what support sets stays when evidence comes again, and ends with a refund`() throws {
        let ledger = MemoryLedger()
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", quantity: 5, at: day(0))
        let evidence = try history.evidence(coins, signedAt: day(1))
        _ = ledger.redeem(evidence, for: "anna", at: day(1))
        let key = try #require(ledger.grants.first?.transaction)
        for quantity: Int64 in [2, 0, 6] {
            try ledger.adjust(key, to: quantity, at: day(2))
            _ = ledger.redeem(evidence, for: "anna", at: day(3))
            #expect(ledger.grants.map(\.quantity) == [quantity])
        }
        history.refund(coins, at: day(4))
        _ = try ledger.redeem(history.evidence(coins, signedAt: day(5)), for: "anna", at: day(5))
        #expect(ledger.grants.map(\.quantity) == [0])
        let error = #expect(throws: LedgerError.self) { try ledger.adjust(key, to: 1, at: day(6)) }
        #expect(error?.code == .notAdjustable)
        #expect(ledger.events.map(\.kind) == [.granted, .adjusted, .revoked, .restored, .revoked])
    }

    @Test func `an account has a non-consumable once`() throws {
        let ledger = MemoryLedger()
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let pro = history.buyNonConsumable("pro", at: day(0))
        _ = try ledger.redeem(history.evidence(pro, signedAt: day(1)), for: "anna", at: day(1))
        let key = try #require(ledger.grants.first?.transaction)
        let error = #expect(throws: LedgerError.self) { try ledger.adjust(key, to: 5, at: day(2)) }
        #expect(error?.code == .invalidText)
    }

    @Test func `a transfer gives what the account has, and says nothing of what was refunded`() throws {
        let ledger = MemoryLedger()
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let (kept, refunded) = (history.buyConsumable("coins", at: day(0)), history.buyConsumable("gems", at: day(0)))
        _ = try ledger.redeem(history.evidence(kept, signedAt: day(1)), for: "anna", at: day(1))
        _ = try ledger.redeem(history.evidence(refunded, signedAt: day(1)), for: "anna", at: day(1))
        _ = try ledger.redeem(submission(1, from: 77), for: "carl", at: day(1))
        history.refund(refunded, at: day(2))
        _ = try ledger.redeem(history.evidence(refunded, signedAt: day(3)), for: "anna", at: day(3))
        let before = ledger.events.count
        ledger.transfer(from: "anna", to: "ben", at: day(4))
        let events = ledger.events[before...].map { "\($0.account) \($0.kind.rawValue) \($0.productID)" }
        #expect(events.sorted() == ["anna revoked coins", "ben granted coins", "ben revoked gems"])
        #expect(Set(ledger.lineages.byID.values.map { $0.owner?.account }) == ["ben", "carl"])
        #expect(ledger.state == ledger.stateByEvents)
    }

    @Test func `what was revoked is notified once, whatever else Apple signs of it`() throws {
        let ledger = MemoryLedger()
        var builder = period("1", of: "1", from: 0, signed: 1)
        #expect(try ledger.redeem(Minted.evidence(builder), for: "anna", at: day(1)) == [.granted])
        builder.revocationReason = .other
        for revoked in [5.0, 7] {
            (builder.revocationDate, builder.signedDate) = (day(revoked), day(revoked))
            try ledger.record(Minted.evidence(builder), at: day(revoked))
        }
        #expect(ledger.events.map(\.kind) == [.granted, .revoked])
    }

    // MARK: Evidence

    @Test func `newer renewal information of another app with the same id displaces none that is submitted`() {
        func renewal(of bundleID: String, signed date: Double) -> SubscriptionRenewal {
            var renewal = SubscriptionRenewal(originalTransactionID: "0", signedDate: day(date))
            (renewal.environment, renewal.bundleID) = (.xcode, bundleID)
            renewal.gracePeriodExpiresDate = day(16)
            return renewal
        }
        var period = Purchase(
            productID: "pro", transactionID: "0", originalTransactionID: "0", purchaseDate: day(0), signedDate: day(8))
        (period.environment, period.bundleID) = (.xcode, "b")
        (period.productType, period.expiresDate) = (.autoRenewableSubscription, day(7))
        let ledger = MemoryLedger()
        ledger.record(Submission([], [renewal(of: "a", signed: 9)]), at: day(9))
        let submission = Submission([SubmittedPurchase(period)], [renewal(of: "b", signed: 8)])
        #expect(ledger.redeem(submission, for: "ben", at: day(10)) == [.granted])
    }

    @Test func `new evidence never takes the number of what it displaces`() throws {
        let key = try #require(submission(1).keys.first)
        var lineage = Lineage(id: 1)
        // The last variant within the limit was signed first.
        for number in 1...Lineage.maximumVariantCount + 1 {
            var purchase = try #require(submission(1).purchases.first?.signed.purchase)
            purchase.quantity = number
            purchase.signedDate = day(number == Lineage.maximumVariantCount ? 0 : Double(number))
            lineage.record(SubmittedPurchase(purchase, signer: "\(number)"), key)
        }
        let last = try #require(lineage.evidence[key]?.last)
        #expect(lineage.evidence[key]?.count == Lineage.maximumVariantCount)
        #expect(last.number == Int64(Lineage.maximumVariantCount) + 1 && last.signer == "\(last.number)")
    }
}
