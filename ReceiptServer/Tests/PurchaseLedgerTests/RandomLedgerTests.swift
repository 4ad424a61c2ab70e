import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import Sampling
import SeededRandom
import Testing

@Suite struct RandomLedgerTests {
    /// In the long run, 10,000 histories on each database.
    @Test(arguments: Place.available)
    func `a ledger does as a simple model does`(_ place: Place) throws {
        var generator = SeededGenerator("\(place)")
        let count = Sampling.count("ledger-histories" + (place == .sqlite ? "" : "-postgresql"))
        // 25 customers have one ledger, so that their histories also meet what is in the tables.
        for first in stride(from: 0, to: count, by: 25) {
            var policy = LedgerPolicy()
            // Most subscriptions are divided as soon as they have two periods.
            policy.wholeLineageLimit = Int.random(in: 0..<4, using: &generator) == 0 ? 24 : 1
            try place.withLedger(policy) { ledger in
                for customer in 1...min(25, count - first) {
                    try compare(ledger, customer: customer, using: &generator)
                }
            }
            if Sampling.extent == .long, (first + 25) % 1000 == 0 { print("ledger: \(place): \(first + 25) histories") }
        }
    }

    private func compare(
        _ ledger: PurchaseLedger, customer: Int, using generator: inout SeededGenerator
    ) throws {
        let history = PurchaseHistory.random(customer: customer, using: &generator)
        var notifications = try history.verifiedNotifications(through: day(300))
        let accounts = ["anna", "ben"].map { "\($0)-\(customer)" }
        var model = LedgerModel()
        var date = 0.0
        for _ in 0..<Int.random(in: 4...16, using: &generator) {
            // Time goes on, but what arrives was signed at any time.
            date += Double.random(in: 0...15, using: &generator)
            let now = day(date)
            if Bool.random(using: &generator), !model.hasPeriodAboutToBegin(at: now) {
                while try ledger.settleDue(at: now) > 0 {}
                model.settleDue(at: now)
            }
            let evidence: VerifiedEvidence
            if Bool.random(using: &generator), let notification = notifications.randomElement(using: &generator) {
                try ledger.record(notification, at: now)
                evidence = .notification(notification)
                model.record(evidence, at: now)
                notifications.removeAll { $0 == notification }
            } else {
                evidence = try history.randomEvidence(before: date, using: &generator)
                let account = accounts[Int.random(in: 0..<10, using: &generator) == 0 ? 1 : 0]
                let outcomes = try ledger.outcomes(evidence, for: account, at: now)
                #expect(outcomes == model.redeem(evidence, for: account, at: now))
            }
            try ledger.expectKeptDecisions(evidence, at: now)
            let state = try LedgerState(ledger).of(customer)
            #expect(state == model.state)
            #expect(try ledger.stateByEvents().of(customer) == state)
            for account in accounts {
                for asked in [date, date + 20] {
                    let entitlements = try ledger.entitlements(of: account, at: day(asked))
                    #expect(entitlements.codes == model.entitlements(of: account, at: day(asked)).codes)
                    let lasting = try ledger.entitlements(of: account, at: day(asked), includingConsumables: false)
                    let others = entitlements.items.filter { $0.purchase.productType != .consumable }
                    #expect(lasting.items.map(\.transactionID) == others.map(\.transactionID))
                }
            }
        }
    }
}

extension LedgerState {
    /// The part of one customer, whose number is in all ids.
    fileprivate func of(_ customer: Int) -> LedgerState {
        var part = LedgerState()
        part.grants = grants.filter { Int64($0.key).map { Int($0 / 1_000_000 % 1000) == customer } ?? false }
        return part
    }
}
