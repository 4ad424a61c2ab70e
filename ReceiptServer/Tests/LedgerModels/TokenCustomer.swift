package import AppStoreReceipt
import AppStoreReceiptTesting
package import SeededRandom

/// What Apple signed about a customer who buys with tokens of two accounts, with a token that nobody has, and without
/// one.
package struct TokenCustomer {
    package let number: Int
    package let evidence: [(signed: Instant, evidence: VerifiedEvidence)]
    package let notifications: [(signed: Instant, notification: VerifiedNotification)]
    package let transactionIDs: Set<String>
    package let originals: Set<String>
    package let accounts: [String]
    package let tokens: [AppAccountToken]

    package init(_ number: Int, using generator: inout SeededGenerator) throws {
        self.number = number
        accounts = ["anna-\(number)", "ben-\(number)"]
        let texts = (0..<3).map { "00000000-0000-4000-8000-\(100_000_000_000 + number * 10 + $0)" }
        tokens = texts.prefix(2).map { AppAccountToken($0)! }
        var history = PurchaseHistory(bundleID: Minted.bundleID, customer: number)
        for _ in 0..<Int.random(in: 2...4, using: &generator) {
            let start = Double.random(in: 0...20, using: &generator)
            func chooseToken() -> String? {
                [texts[0], texts[0], texts[0], texts[1], texts[2], nil, "no UUID"].randomElement(using: &generator)
                    ?? nil
            }
            history.appAccountToken = chooseToken()
            switch Int.random(in: 0..<5, using: &generator) {
            case 0, 1:
                let coins = history.buyConsumable("coins", quantity: 3, at: day(start))
                if Bool.random(using: &generator) { history.refund(coins, at: day(start + 4)) }
            case 2:
                let isShared = Int.random(in: 0..<3, using: &generator) == 0
                let pro = history.buyNonConsumable(
                    "pro", at: day(start), ownershipType: isShared ? .familyShared : .purchased)
                if Bool.random(using: &generator) { history.restore(pro, at: day(start + 3)) }
            default:
                let subscription = history.subscribe(to: "monthly", in: "group", for: .days(9), at: day(start))
                history.appAccountToken = chooseToken()
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: history.upgrade(subscription, to: "gold", for: .days(9), at: day(start + 4))
                case 1:
                    for _ in 0..<Int.random(in: 1...5, using: &generator) {
                        history.renew(subscription)
                        history.appAccountToken = chooseToken()
                    }
                case 2: history.renew(subscription, at: day(start + 8.5))
                default: history.restore(subscription.firstPeriod, at: day(start + 2))
                }
            }
        }
        transactionIDs = Set(history.transactions.map(\.transactionID))
        originals = Set(history.transactions.map(\.originalTransactionID))
        var evidence: [(Instant, VerifiedEvidence)] = []
        for transaction in history.transactions {
            for delay in [0.1, 6] {
                let signed = transaction.purchaseDate + .seconds(Int64(delay * 86_400))
                guard let builder = history.transaction(transaction, signedAt: signed) else { continue }
                evidence.append((signed, try Minted.evidence(builder)))
            }
        }
        for date in [12.0, 28] {
            evidence.append((day(date), try Minted.evidence(history.receipt(signedAt: day(date)))))
        }
        self.evidence = evidence
        let all = history.notifications(through: day(60))
        notifications = try zip(all, history.verifiedNotifications(through: day(60))).map { ($0.signedDate, $1) }
    }
}
