import AppStoreReceipt
import AppStoreReceiptTesting
import LedgerCore
import LedgerModels
import Sampling
import SeededRandom
import Testing

/// Random histories in memory, each in hundreds of orders. With a database, only a few fit into the same time.
@Suite struct RandomDecisionTests {
    /// Two parts, which run in parallel.
    @Test(arguments: 1...2)
    func `decisions are those of a simple model, in any order of what arrives`(part: Int) throws {
        var generator = SeededGenerator("decisions, part \(part)")
        for customer in stride(from: part, through: Sampling.count("decision-histories"), by: 2) {
            // Each history has a ledger of its own, so numbers of customers may repeat.
            let history = PurchaseHistory.random(customer: (customer - 1) % 499 + 1, using: &generator)
            var evidence = try history.verifiedNotifications(through: day(300)).map(VerifiedEvidence.notification)
            for date in stride(from: 0.0, through: 120, by: 15) {
                evidence.append(try history.randomEvidence(before: date + 1, using: &generator))
            }
            for _ in 0..<Sampling.count("decision-orders") { compare(evidence, using: &generator) }
            if Sampling.extent == .long { print("decisions: \(customer) customers") }
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
