import AppStoreReceipt
import AppStoreReceiptTesting
@testable import LedgerCore
@testable import PurchaseLedger
import Testing

/// The statements of a decision.
@Suite struct LineageWriterTests {
    @Test func `claims are numbered in their order`() throws {
        var lineages = Lineages()
        for id: Int64 in [9, 5] {
            lineages.structure.created.append(id)
            lineages.byID[id] = Lineage(id: id)
            lineages.claim(id, for: "ben", restingOn: .lasting, at: day(1))
        }
        let writer = try LineageWriter(from: Lineages(), to: lineages, .sqlite, at: day(1))
        let inserted = writer.statements.filter { $0.text.hasPrefix("INSERT INTO families") }.compactMap {
            if case .integer(let id) = $0.parameters[0] { id } else { nil }
        }
        #expect(inserted == [9, 5])
    }

    @Test func `what repeats a submission writes nothing`() throws {
        var builder = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "coins", transactionID: "1", signedDate: day(0))
        builder.productType = .consumable
        let submission = Submission(try Minted.evidence(builder))
        let rules = LedgerPolicy().rules
        func redeem(_ stored: Lineages, at now: Instant) -> LedgerDecision {
            let gathering = Gathering([submission], submission.keys, stored.identifiers, members: [])
            var lineages = stored
            lineages.gather(gathering)
            let numbers = gathering.numbers(of: submission, in: lineages)
            var decision = LedgerDecision(submission, about: numbers, in: lineages, rules, .redeem, at: now)
            _ = decision.redeem(Claim(account: "anna", token: nil))
            return decision
        }
        var stored = redeem(Lineages(), at: day(1)).lineages
        stored.structure = StructuralChanges()
        let again = redeem(stored, at: day(2))
        #expect(again.effects.events.isEmpty)
        #expect(try LineageWriter(from: stored, to: again.lineages, .sqlite, at: day(2)).statements.isEmpty)
    }
}
