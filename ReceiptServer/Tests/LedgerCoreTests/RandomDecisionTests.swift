import AppStoreReceipt
import AppStoreReceiptTesting
import LedgerCore
import LedgerModels
import Sampling
import SeededRandom
import Testing

/// Random histories in memory, each in hundreds of orders. With a database, only a few fit into the same time.
@Suite struct RandomDecisionTests {
    @Test func `decisions are those of a simple model, in any order of what arrives`() throws {
        var generator = SeededGenerator()
        for customer in 1...Sampling.count("decision-histories") {
            let history = PurchaseHistory.random(customer: customer, using: &generator)
            var evidence = try history.verifiedNotifications(through: day(300)).map(VerifiedEvidence.notification)
            for date in stride(from: 0.0, through: 120, by: 15) {
                evidence.append(try history.randomEvidence(before: date + 1, using: &generator))
            }
            for _ in 0..<Sampling.count("decision-orders") { compare(evidence, using: &generator) }
        }
    }

    private func compare(_ evidence: [VerifiedEvidence], using generator: inout SeededGenerator) {
        let ledger = MemoryLedger()
        var model = LedgerModel()
        var date = 0.0
        for evidence in evidence.shuffled(using: &generator).prefix(Int.random(in: 4...16, using: &generator)) {
            date += Double.random(in: 0...15, using: &generator)
            let now = day(date)
            if Bool.random(using: &generator), !model.hasPeriodAboutToBegin(at: now) {
                ledger.settleDue(at: now)
                model.settleDue(at: now)
            }
            if case .notification = evidence {
                ledger.record(evidence, at: now)
                model.record(evidence, at: now)
            } else {
                let account = Int.random(in: 0..<10, using: &generator) == 0 ? "ben" : "anna"
                let outcomes = ledger.redeem(evidence, for: account, at: now)
                #expect(outcomes == model.redeem(evidence, for: account, at: now))
            }
            #expect(ledger.state == model.state)
            #expect(ledger.stateByEvents == model.state)
        }
    }
}
