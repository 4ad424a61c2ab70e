import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Synchronization
import Testing

@Suite(.serialized) struct ConcurrencyTests {
    /// 100 transactions that 50 accounts redeem at the same time, over two ledgers on one database.
    @Test(arguments: Place.available)
    func `10,000 concurrent redemptions of 100 transactions by 50 accounts give 100 grants`(_ place: Place) throws {
        let count = 10_000
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let transactions = (0..<100).map { _ in history.buyConsumable("coins", at: day(0)) }
        let evidence = try transactions.map { try history.evidence($0, signedAt: day(1)) }
        let location = try place.makeLocation(onDisk: true)
        let ledgers = try (0..<2).map { _ in try PurchaseLedger(location.text) }
        let granted = Guarded<[String: String]>([:])
        let outcomes = Guarded<[Outcome: Int]>([:])
        let failures = Guarded<[String]>([])
        let start = ContinuousClock.now
        let next = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 16) { thread in
            while true {
                let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
                guard number < count else { return }
                // Each account meets each transaction.
                let (transaction, account) = (number / 2 % 100, "account \(number / 200 % 50)")
                do {
                    let answer = try ledgers[number % 2].redeem(evidence[transaction], for: account, at: day(1))
                    for item in answer.outcomes {
                        outcomes.withLock { $0[item.outcome, default: 0] += 1 }
                        guard item.outcome == .granted else { continue }
                        let other = granted.withLock { $0.updateValue(account, forKey: item.transactionID) }
                        if other != nil { failures.withLock { $0.append("\(item.transactionID) was granted twice") } }
                    }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        let seconds = Double((ContinuousClock.now - start) / .milliseconds(1)) / 1000
        print(
            "ledger: \(place.rawValue): \(Int(Double(count) / seconds)) redemptions a second, 16 threads, two ledgers")
        #expect(failures.withLock { $0.prefix(3) } == [])
        #expect(granted.withLock(\.count) == 100)
        #expect(outcomes.withLock { $0[.granted] } == 100)
        #expect(outcomes.withLock { $0.values.reduce(0, +) } == count)
        // The tables say the same as the answers, and the outbox has one event for each.
        let state = try LedgerState(ledgers[0])
        #expect(state.grants.mapValues(\.account) == granted.withLock { $0 })
        let events = try ledgers[1].events()
        #expect(events.count == 100 && events.allSatisfy { $0.kind == .granted })
        for (_, events) in Dictionary(grouping: events, by: \.account) {
            #expect(Set(events.map(\.sequence)).count == events.count)
        }
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `many purchases of many accounts are granted at the same time`(_ place: Place) throws {
        let count = 2000
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let transactions = (0..<count).map { _ in history.buyConsumable("coins", at: day(0)) }
        let builders = history.transactions(signedAt: day(1))
        let evidence = try builders.map { try Minted.evidence($0) }
        let location = try place.makeLocation(onDisk: true)
        let ledger = try PurchaseLedger(location.text)
        let granted = Guarded(0)
        let next = Atomic(0)
        let start = ContinuousClock.now
        DispatchQueue.concurrentPerform(iterations: 16) { _ in
            while case let number = next.wrappingAdd(1, ordering: .relaxed).oldValue, number < count {
                let outcomes = try? ledger.outcomes(evidence[number], for: "account \(number % 500)", at: day(1))
                if outcomes == [.granted] { granted.withLock { $0 += 1 } }
            }
        }
        let seconds = Double((ContinuousClock.now - start) / .milliseconds(1)) / 1000
        print("ledger: \(place.rawValue): \(Int(Double(count) / seconds)) grants a second, each durable, 16 threads")
        #expect(granted.withLock { $0 } == transactions.count)
        #expect(try ledger.events().count == count)
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `a receipt with many purchases is redeemed as a whole`(_ place: Place) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        for _ in 0..<1000 { history.buyConsumable("coins", at: day(0)) }
        let receipt = try Minted.evidence(history.receipt(signedAt: day(1)))
        try place.withLedger { ledger in
            for outcome in [Outcome.granted, .alreadyYours] {
                let start = ContinuousClock.now
                let outcomes = try ledger.outcomes(receipt, for: "anna", at: day(1))
                let time = (ContinuousClock.now - start) / .milliseconds(1)
                print(
                    "ledger: \(place.rawValue): 1,000 purchases of one receipt: \(outcome.rawValue) in \(Int(time)) ms")
                #expect(outcomes == Array(repeating: outcome, count: 1000))
            }
        }
    }

    /// Each account brings another transaction of the purchase, so that no key of a table stops the second.
    @Test(arguments: Place.available)
    func `restored transactions that many accounts bring at the same time have one owner`(_ place: Place) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let purchases = (0..<20).map { number in
            let original = history.buyNonConsumable("pro\(number)", at: day(0))
            return (0..<8).map { _ in history.restore(original, at: day(1)) }
        }
        let evidence = try purchases.map { try $0.map { try history.evidence($0, signedAt: day(2)) } }
        let location = try place.makeLocation()
        let ledgers = try (0..<2).map { _ in try PurchaseLedger(location.text) }
        // Apple has told of the purchases before: the families are there, and have no owner.
        let notifications = try history.verifiedNotifications(through: day(0))
        #expect(notifications.count == purchases.count)
        for notification in notifications { try ledgers[0].record(notification, at: day(2)) }
        let outcomes = Guarded<[Outcome: Int]>([:])
        for transactions in evidence {
            let threads = transactions.enumerated().map { number, transaction in
                Thread {
                    let outcome = try? ledgers[number % 2].outcomes(transaction, for: "account \(number)", at: day(2))
                    outcomes.withLock { $0[outcome?.first ?? .undetermined, default: 0] += 1 }
                }
            }
            threads.forEach { $0.start() }
            while threads.contains(where: { !$0.isFinished }) { usleep(1000) }
        }
        #expect(outcomes.withLock { $0 } == [.granted: 20, .belongsToAnother: 140])
        #expect(try LedgerState(ledgers[0]).grants.count == 20)
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `one request that is sent by many at the same time is answered once`(_ place: Place) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let transactions = (0..<20).map { _ in history.buyConsumable("coins", at: day(0)) }
        let receipt = try Minted.evidence(history.receipt(signedAt: day(1), of: transactions))
        try place.withLedger { ledger throws in
            let answers = Guarded<[[Outcome]]>([])
            DispatchQueue.concurrentPerform(iterations: 16) { _ in
                let answer = try? ledger.outcomes(receipt, for: "anna", key: "k", at: day(1))
                answers.withLock { $0.append(answer ?? []) }
            }
            #expect(answers.withLock { $0 } == Array(repeating: Array(repeating: .granted, count: 20), count: 16))
            #expect(try ledger.events().count == 20)
        }
    }

    /// The second ledger's transactions lock the same families in another order of the evidence.
    @Test(arguments: Place.available)
    func `receipts with the same purchases in other orders do not wait for each other for ever`(
        _ place: Place
    ) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let transactions = (0..<30).map { _ in history.buyConsumable("coins", at: day(0)) }
        var generator = SeededGenerator()
        let receipts = try (0..<16).map { _ in
            try Minted.evidence(
                history.receipt(
                    signedAt: day(1), of: Array(transactions.shuffled(using: &generator).prefix(15))))
        }
        let location = try place.makeLocation()
        let ledgers = try (0..<2).map { _ in try PurchaseLedger(location.text) }
        let failures = Guarded<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 64) { number in
            do {
                _ = try ledgers[number % 2].redeem(receipts[number % 16], for: "account \(number % 5)", at: day(1))
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        #expect(failures.withLock { $0 } == [])
        #expect(try ledgers[0].stateByEvents() == LedgerState(ledgers[1]))
        withExtendedLifetime(location) {}
    }
}
