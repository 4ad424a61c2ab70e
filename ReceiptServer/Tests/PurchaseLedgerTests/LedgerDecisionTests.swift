import AppStoreReceipt
import AppStoreReceiptTesting
@testable import LedgerCore
@testable import PurchaseLedger
import StrictText
import Testing

/// Decisions without a database: lineages are values.
@Suite struct LedgerDecisionTests {
    /// Decides about a submission, in a new ledger or after other lineages.
    private func decide(
        _ submissions: [Submission], in stored: Lineages = Lineages(), at now: Instant = day(1),
        _ body: (inout LedgerDecision) throws(LedgerError) -> Void
    ) throws(LedgerError) -> LedgerDecision {
        let keys = submissions.reduce(into: Set<TransactionKey>()) { $0.formUnion($1.keys) }
        let members = Set(stored.byID.values.filter(\.isOfMember).map(\.id))
        let gathering = Gathering(submissions, keys, stored.identifiers, members: members)
        var lineages = stored
        lineages.gather(gathering)
        var decision = LedgerDecision(
            submissions[0], about: gathering.numbers(of: submissions[0], in: lineages), in: lineages,
            LedgerPolicy().rules, .redeem, at: now)
        try body(&decision)
        return decision
    }

    private func submission(_ count: Int, from first: Int = 1) throws -> Submission {
        let builders = (first..<first + count).map { number in
            var builder = JWSBuilder.transaction(
                bundleID: Minted.bundleID, productID: "coins", transactionID: "\(number)", signedDate: day(0))
            builder.productType = .consumable
            return builder
        }
        return Submission(try builders.flatMap { try Minted.evidence($0).purchases.map { SubmittedPurchase($0) } })
    }

    private func redeem(_ submission: Submission, for account: String, in stored: Lineages = Lineages()) throws
        -> LedgerDecision
    {
        try decide([submission], in: stored) { (decision) throws(LedgerError) in
            _ = decision.redeem(Claim(account: account, token: nil))
        }
    }

    @Test func `the first account that submits a purchase owns it, and a second one gets nothing`() throws {
        let coins = try submission(1)
        let first = try redeem(coins, for: "anna")
        #expect(first.effects.events.map(\.account) == ["anna"])
        let second = try redeem(coins, for: "ben", in: first.lineages)
        #expect(second.effects.events.isEmpty && second.effects.disputed.count == 1)
        #expect(second.lineages.byID.values.map { $0.owner?.account } == ["anna"])
    }

    @Test func `what repeats a submission changes nothing`() throws {
        let coins = try submission(3)
        let first = try redeem(coins, for: "anna")
        var stored = first.lineages
        stored.structure = StructuralChanges()
        for id in stored.byID.keys {
            for key in stored.byID[id]?.grants.keys.map({ $0 }) ?? [] { stored.byID[id]?.grants[key]?.changedAt = nil }
        }
        let again = try redeem(coins, for: "anna", in: stored)
        let writer = try LineageWriter(from: stored, to: again.lineages, .sqlite, at: day(1))
        #expect(again.effects.events.isEmpty && writer.statements.isEmpty)
    }

    @Test func `one request disputes twenty transactions at most, and another one its own`() throws {
        let many = try submission(30)
        let stored = try redeem(many, for: "anna").lineages
        var effects = try redeem(many, for: "ben", in: stored).effects
        #expect(effects.disputed.count == 20)
        effects += try redeem(submission(1), for: "carl", in: stored).effects
        #expect(effects.disputed.count == 21)
    }

    @Test func `what was granted meanwhile is not replaced by a grant without evidence`() throws {
        let coins = try submission(1)
        let stored = try redeem(coins, for: "anna").lineages
        let key = try #require(coins.keys.first)
        let imported = Grant(transaction: key, account: "anna", productID: "coins", quantity: 7)
        let decision = try decide([Submission(spent: [PurchaseKeys(granted: key)])], in: stored) {
            (decision) throws(LedgerError) in
            let isGranted = decision.grantWithoutEvidence(imported, in: .stated, at: day(0))
            #expect(!isGranted)
        }
        #expect(decision.grant(of: key)?.quantity == 1)
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

    @Test func `claims are numbered in their order`() throws {
        let first = try redeem(submission(1, from: 9), for: "anna")
        var lineages = first.lineages
        let ids = try #require(lineages.byID.keys.first)
        lineages.structure.created.append(5)
        lineages.byID[5] = Lineage(id: 5)
        lineages.claim(5, for: "ben", restingOn: .lasting, at: day(1))
        let writer = try LineageWriter(from: Lineages(), to: lineages, .sqlite, at: day(1))
        let inserted = writer.statements.filter { $0.text.hasPrefix("INSERT INTO families") }.compactMap {
            if case .integer(let id) = $0.parameters[0] { id } else { nil }
        }
        #expect(inserted == [ids, 5])
    }
}
