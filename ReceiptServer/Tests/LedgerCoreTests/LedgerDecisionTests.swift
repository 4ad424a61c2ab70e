import AppStoreReceipt
import AppStoreReceiptTesting
@testable import LedgerCore
import LedgerModels
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
        #expect(ledger.effects.periodEnds.count == 1)
    }

    // MARK: What needs no evidence

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
