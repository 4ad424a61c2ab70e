import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import Testing

/// The app dies at each step between the payment and the end of the transaction, and Apple's notification arrives at
/// each moment, or never.
@Suite struct LostAppTests {
    /// The steps after the payment, in order, if the app lives.
    fileprivate enum Step: CaseIterable {
        /// StoreKit gives the app the transaction.
        case delivered
        /// The backend's request reaches the ledger.
        case redeemed
        /// The answer reaches the backend, and the app.
        case answered
        /// The app finishes the transaction: StoreKit does not deliver it again.
        case finished
    }

    /// The signed-in user who starts the app after it has died.
    private enum Return: CaseIterable { case nobody, buyer, another }

    @Test(arguments: Place.available)
    func `whatever is lost, the account has its coins exactly once`(_ place: Place) throws {
        var policy = LedgerPolicy()
        policy.orders = OrderPolicy()
        try place.withLedger(policy) { ledger in
            var customer = 0
            for lastStep in [nil] + Step.allCases.map(Optional.init) {
                // Before each step, after the app has died, after it has come back, twice, or never.
                for notifiedBefore in Array(0...Step.allCases.count + 1).map({ [$0] }) + [
                    [0, Step.allCases.count + 1], [],
                ] {
                    for back in Return.allCases {
                        customer += 1
                        try run(ledger, customer, diesAfter: lastStep, notifiedBefore: notifiedBefore, back)
                    }
                }
            }
        }
    }

    private func run(
        _ ledger: PurchaseLedger, _ customer: Int, diesAfter lastStep: Step?, notifiedBefore: [Int], _ back: Return
    ) throws {
        let (anna, ben) = ("anna-\(customer)", "ben-\(customer)")
        // The token is asked for before the purchase.
        let token = try ledger.token(for: anna, at: day(0)).token
        var history = PurchaseHistory(
            bundleID: Minted.bundleID, customer: customer, appAccountToken: token.description)
        let coins = history.buyConsumable("coins", quantity: 3, at: day(1))
        let evidence = try history.evidence(coins, signedAt: day(1))
        let notifications = try history.verifiedNotifications(through: day(1))
        #expect(notifications.count == 1)
        var backend = Backend()
        var isFinished = false
        func notify(_ moment: Int) throws {
            for _ in notifiedBefore where notifiedBefore.contains(moment) {
                for notification in notifications { try ledger.record(notification, at: day(2)) }
            }
        }
        var answer: Redemption?
        for (number, step) in Step.allCases.enumerated() {
            try notify(number)
            guard let lastStep, step <= lastStep else { continue }
            switch step {
            case .delivered: break
            case .redeemed: answer = try ledger.redeem(evidence, for: anna, accountToken: token, at: day(2))
            case .answered:
                let answer = try #require(answer)
                backend.receive(answer, for: anna)
                #expect(answer.outcomes.allSatisfy { $0.mayFinish })
            case .finished: isFinished = true
            }
        }
        try notify(Step.allCases.count)
        if !isFinished, back != .nobody {
            let account = back == .buyer ? anna : ben
            let answer = try ledger.redeem(evidence, for: account, at: day(3))
            backend.receive(answer, for: account)
            // StoreKit doesn't deliver it to either of them forever.
            #expect(answer.outcomes.allSatisfy { $0.mayFinish })
        }
        try notify(Step.allCases.count + 1)
        // The webhook delivers at least once.
        let events = try ledger.events().filter { [anna, ben].contains($0.account) }
        for event in events + events {
            backend.receive(try StoredJSON.decode(event.json) as Backend.Event)
        }
        let isLost = notifiedBefore.isEmpty && back == .nobody && !(lastStep.map { $0 >= .redeemed } ?? false)
        let has = backend.grants.map { "\($0.key.account) \($0.value.quantity)" }
        // Granted, unless neither the app nor Apple sent it.
        #expect(has == (isLost ? [] : ["\(anna) 3"]), "\(String(describing: lastStep)) \(notifiedBefore) \(back)")
        #expect(events.count == (isLost ? 0 : 1))
    }
}

extension LostAppTests.Step: Comparable {}
