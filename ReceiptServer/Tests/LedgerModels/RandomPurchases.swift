package import AppStoreReceipt
package import AppStoreReceiptTesting
package import SeededRandom

extension PurchaseHistory {
    /// Returns up to three purchases of a customer, whose number is in all their ids.
    package static func random(customer: Int, using generator: inout SeededGenerator) -> PurchaseHistory {
        var history = PurchaseHistory(bundleID: Minted.bundleID, customer: customer)
        for _ in 0..<Int.random(in: 1...3, using: &generator) {
            let start = Double.random(in: 0...20, using: &generator)
            switch Int.random(in: 0..<4, using: &generator) {
            case 0:
                let coins = history.buyConsumable(
                    "coins", quantity: Int.random(in: 1...5, using: &generator), at: day(start))
                history.change(coins, from: start, using: &generator)
            case 1:
                let pro = history.buyNonConsumable("pro", at: day(start))
                if Bool.random(using: &generator) { history.restore(pro, at: day(start + 3)) }
                history.change(pro, from: start, using: &generator)
            default:
                let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(start))
                if Bool.random(using: &generator) { history.restore(subscription.firstPeriod, at: day(start + 2)) }
                history.change(subscription.firstPeriod, from: start, using: &generator)
                switch Int.random(in: 0..<6, using: &generator) {
                case 4, 5:
                    // Many periods, some of them refunded or replaced.
                    for number in 1...Int.random(in: 2...8, using: &generator) {
                        let renewal = history.renew(subscription)
                        let begin = start + 30 * Double(number)
                        if Int.random(in: 0..<4, using: &generator) == 0 {
                            history.change(renewal, from: begin, using: &generator)
                        }
                        if Int.random(in: 0..<6, using: &generator) == 0 {
                            history.restore(renewal, at: day(begin + 2))
                        }
                        if Int.random(in: 0..<8, using: &generator) == 0 {
                            history.upgrade(subscription, to: "gold \(number)", for: .days(30), at: day(begin + 8))
                            break
                        }
                    }
                case 0: history.upgrade(subscription, to: "gold", for: .days(30), at: day(start + 8))
                case 1: history.failToRenew(subscription, gracePeriod: .seconds(6 * 86_400))
                case 2:
                    let renewal = history.renew(subscription, at: day(start + 29.5))
                    history.change(renewal, from: start + 31, using: &generator)
                default: history.turnOffRenewal(of: subscription, at: day(start + 4))
                }
            }
        }
        return history
    }

    /// Returns a receipt or a transaction as Apple signed it on some day before a date.
    package func randomEvidence(
        before date: Double, using generator: inout SeededGenerator
    ) throws -> VerifiedEvidence {
        let signed = day(Double.random(in: 0...max(1, date), using: &generator))
        if Int.random(in: 0..<3, using: &generator) == 0 {
            return try Minted.evidence(receipt(signedAt: signed))
        }
        for transaction in transactions.shuffled(using: &generator) {
            if let builder = self.transaction(transaction, signedAt: signed) { return try Minted.evidence(builder) }
        }
        return try Minted.evidence(receipt(signedAt: signed))
    }

    /// Refunds a transaction, or not, and takes the refund back, or not.
    private mutating func change(
        _ transaction: Transaction, from start: Double, using generator: inout SeededGenerator
    ) {
        guard Bool.random(using: &generator) else { return }
        let percentage: Int64 = Bool.random(using: &generator) ? 100_000 : 40_000
        refund(transaction, at: day(start + 5), percentage: percentage)
        if Bool.random(using: &generator) { reverseRefund(of: transaction, at: day(start + 7)) }
    }
}
