import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import SeededRandom
import Synchronization
import Testing

@Suite(.serialized) struct ConcurrencyTests {
    /// 100 transactions that 50 accounts redeem at the same time, over two ledgers on one database.
    @Test(.enabled(if: Sampling.runsSlowTests), arguments: Place.available)
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
        inThreads(16) { thread in
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
            "ledger: \(place.rawValue): \(Int(Double(count) / seconds)) redemptions a second over two ledgers")
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

    @Test(.enabled(if: Sampling.runsSlowTests), arguments: Place.available)
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
        inThreads(16) { _ in
            while case let number = next.wrappingAdd(1, ordering: .relaxed).oldValue, number < count {
                let outcomes = try? ledger.outcomes(evidence[number], for: "account \(number % 500)", at: day(1))
                if outcomes == [.granted] { granted.withLock { $0 += 1 } }
            }
        }
        let seconds = Double((ContinuousClock.now - start) / .milliseconds(1)) / 1000
        print("ledger: \(place.rawValue): \(Int(Double(count) / seconds)) grants a second, each durable")
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

    /// Each account submits another transaction of the purchase, so that no unique key stops the second.
    @Test(arguments: Place.available)
    func `restored transactions that many accounts submit at the same time have one owner`(_ place: Place) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let purchases = (0..<20).map { number in
            let original = history.buyNonConsumable("pro\(number)", at: day(0))
            return (0..<8).map { _ in history.restore(original, at: day(1)) }
        }
        let evidence = try purchases.map { try $0.map { try history.evidence($0, signedAt: day(2)) } }
        let location = try place.makeLocation()
        let ledgers = try (0..<2).map { _ in try PurchaseLedger(location.text) }
        // Apple has notified of the purchases before: the lineages are there, and have no owner.
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
            inThreads(16) { _ in
                let answer = try? ledger.outcomes(receipt, for: "anna", key: "k", at: day(1))
                answers.withLock { $0.append(answer ?? []) }
            }
            #expect(answers.withLock { $0 } == Array(repeating: Array(repeating: .granted, count: 20), count: 16))
            #expect(try ledger.events().count == 20)
        }
    }

    /// An account is forgotten while its purchases are granted and taken back: afterwards, its name is nowhere.
    @Test(arguments: Place.available)
    func `an account that is forgotten while Apple notifies of its purchases leaves no name`(_ place: Place) throws {
        let location = try place.makeLocation()
        let ledgers = try (0..<2).map { _ in try PurchaseLedger(location.text) }
        var generator = SeededGenerator()
        for round in 0..<Sampling.count("ownership-races") {
            var history = PurchaseHistory(bundleID: Minted.bundleID, customer: round + 1)
            let (anna, ben) = ("anna \(round)", "ben \(round)")
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let restored = history.restore(subscription.firstPeriod, at: day(1))
            let renewal = history.renew(subscription)
            history.refund(renewal, at: day(31))
            let evidence = try history.evidence(subscription.firstPeriod, signedAt: day(1))
            // Half of the accounts have had no event: their purchases were recorded by an operator.
            if round % 2 == 0 {
                #expect(try ledgers[0].outcomes(evidence, for: anna, at: day(1)) == [.granted])
            } else {
                _ = try ledgers[0].store.write { (connection) throws(LedgerError) in
                    try connection.run(
                        "INSERT INTO families (id, account, claimed_at) VALUES ($1, $2, 0)",
                        [.integer(Int64(1_000_000 + round)), .text(anna)])
                    return try connection.run(
                        """
                        INSERT INTO identifiers (environment, bundle_id, transaction_id, family_id)
                        VALUES ('production', $1, $2, $3)
                        """,
                        [
                            .text(Minted.bundleID), .text(subscription.firstPeriod.transactionID),
                            .integer(Int64(1_000_000 + round)),
                        ])
                }
            }
            // A grant to another account can be in the lineage, too.
            _ = try ledgers[0].store.write { (connection) throws(LedgerError) in
                try connection.run(
                    "UPDATE grants SET account = $1 WHERE account = $2 AND $3 = 0",
                    [.text(ben), .text(anna), .integer(Int64(round % 4))])
            }
            let notifications = try history.verifiedNotifications(through: day(40))
            let copy = try history.evidence(restored, signedAt: day(2))
            let pause = UInt32.random(in: 0..<6000, using: &generator)
            let failures = Guarded<[String]>([])
            func thread(_ body: @escaping @Sendable () throws -> Void) -> Thread {
                let thread = Thread {
                    do {
                        try body()
                    } catch {
                        guard (error as? LedgerError)?.code != .notFound else { return }
                        failures.withLock { $0.append("\(error)") }
                    }
                }
                thread.start()
                return thread
            }
            let threads = [
                thread { for notification in notifications { try ledgers[0].record(notification, at: day(40)) } },
                // Another account submits a copy: that locks the lineage, too.
                thread { _ = try ledgers[1].redeem(copy, for: "carl", at: day(40)) },
                thread {
                    usleep(pause)
                    _ = try ledgers[1].deleteAccount(anna)
                },
                thread {
                    usleep(pause)
                    _ = try ledgers[0].deleteAccount(ben)
                },
            ]
            while threads.contains(where: { !$0.isFinished }) { usleep(1000) }
            #expect(failures.withLock { $0 } == [])
            for name in [anna, ben] {
                #expect(try tables(with: name, ledgers[0]) == [], "round \(round), \(pause) µs")
            }
        }
        withExtendedLifetime(location) {}
    }

    /// A refund has read who has the purchase, and is about to notify the account, when the account is forgotten.
    @Test(arguments: Place.available, ["anna", "ben"])
    func `an account that is forgotten between a decision and its event leaves no name`(
        _ place: Place, _ forgotten: String
    ) throws {
        let location = try place.makeLocation()
        let ledgers = try (0..<2).map { _ in try PurchaseLedger(location.text) }
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let pro = history.buyNonConsumable("pro", at: day(0))
        let evidence = try history.evidence(pro, signedAt: day(1))
        #expect(try ledgers[0].outcomes(evidence, for: "anna", at: day(1)) == [.granted])
        // A grant to another account can be in the lineage, too.
        _ = try ledgers[0].store.write { (connection) throws(LedgerError) in
            try connection.run("UPDATE grants SET account = $1", [.text(forgotten)])
        }
        try ledgers[0].transfer(from: "anna", to: "carl", reason: "support", at: day(1))
        try ledgers[0].transfer(from: "carl", to: "anna", reason: "support", at: day(1))
        history.refund(pro, at: day(2))
        let refunded = try history.evidence(pro, signedAt: day(3)).purchases.map { SubmittedPurchase($0) }
        let thread = Thread { _ = try? ledgers[1].deleteAccount(forgotten) }
        try ledgers[0].store.write { (connection) throws(LedgerError) in
            _ = try connection.settle(Submission(refunded), ledgers[0].policy, .notification, at: day(3)) {
                (decision) throws(LedgerError) in
                thread.start()
                // Give the other time to end, or to reach its lock.
                usleep(500_000)
                decision.settle()
            }
        }
        while !thread.isFinished { usleep(1000) }
        #expect(try tables(with: forgotten, ledgers[0]) == [])
        #expect(try LedgerState(ledgers[0]).grants.isEmpty)
        withExtendedLifetime(location) {}
    }

    /// If an account returns during its deletion, all that it submitted is left, or nothing.
    @Test(arguments: Place.available)
    func `a purchase that races with its account's deletion has its owner in all tables or in none`(
        _ place: Place
    ) throws {
        let location = try place.makeLocation()
        let ledgers = try (0..<2).map { _ in try PurchaseLedger(location.text) }
        var generator = SeededGenerator()
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        for round in 0..<Sampling.count("grant-races") {
            let account = "anna \(round)"
            let coins = (0..<2).map { _ in history.buyConsumable("coins", at: day(0)) }
            let evidence = try coins.map { try history.evidence($0, signedAt: day(0)) }
            #expect(try ledgers[0].outcomes(evidence[0], for: account, at: day(1)) == [.granted])
            let pause = UInt32.random(in: 0..<3000, using: &generator)
            let threads = [
                Thread { _ = try? ledgers[0].redeem(evidence[1], for: account, idempotencyKey: "k", at: day(1)) },
                Thread {
                    usleep(pause)
                    _ = try? ledgers[1].deleteAccount(account)
                },
            ]
            threads.forEach { $0.start() }
            while threads.contains(where: { !$0.isFinished }) { usleep(1000) }
            let found = try tables(with: account, ledgers[0])
            #expect(
                found == [] || found == ["families", "grants", "answers", "outbox", "accounts"],
                "round \(round), \(pause) µs")
        }
        withExtendedLifetime(location) {}
    }

    /// The tables that have the name of an account.
    private func tables(with account: String, _ ledger: PurchaseLedger) throws -> [String] {
        let columns = [
            ("families", "account"), ("grants", "account"), ("transfers", "from_account"), ("transfers", "to_account"),
            ("answers", "account"), ("outbox", "account"), ("accounts", "account"),
        ]
        return try ledger.store.read { (connection) throws(LedgerError) in
            var found: [String] = []
            for (table, column) in columns {
                let statement = "SELECT 1 FROM \(table) WHERE \(column) = $1"
                if try !connection.run(statement, [.text(account)]).isEmpty { found.append(table) }
            }
            return found
        }
    }

    /// The second ledger's transactions lock the same lineages in another order of the evidence.
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
        inThreads(64) { number in
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

    /// 100 requests a round.
    @Test(.enabled(if: PostgreSQLServer.binaries != nil))
    func `receipts with many purchases in any order, over two servers, do not deadlock`() throws {
        let location = try Place.postgreSQL.makeLocation()
        let ledgers = try (0..<2).map { _ in try PurchaseLedger(location.text) }
        func deadlocks() throws -> Int64? {
            // The servers report what they counted after a second.
            sleep(2)
            return try ledgers[0].store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
            }.first?.integer(0)
        }
        let before = try deadlocks()
        var generator = SeededGenerator()
        let failures = Guarded<[String]>([])
        for round in 0..<Sampling.count("deadlock-rounds") {
            var history = PurchaseHistory(bundleID: Minted.bundleID, customer: round + 1)
            let coins = (0..<60).map { _ in history.buyConsumable("coins", at: day(0)) }
            let subscriptions = (0..<10).map { number in
                let subscription = history.subscribe(
                    to: "monthly", in: "group \(number)", for: .days(30), at: day(0))
                return [subscription.firstPeriod, history.renew(subscription)]
            }
            let transactions = coins + subscriptions.joined()
            let receipts = try (0..<20).map { _ in
                let count = Int.random(in: 1...40, using: &generator)
                return try Minted.evidence(
                    history.receipt(
                        signedAt: day(31), of: Array(transactions.shuffled(using: &generator).prefix(count))))
            }
            let next = Atomic(0)
            let order = (0..<100).map { _ in Int.random(in: 0..<20, using: &generator) }
            let threads = (0..<16).map { _ in
                Thread {
                    while case let number = next.wrappingAdd(1, ordering: .relaxed).oldValue, number < order.count {
                        var tries = 0
                        while true {
                            do {
                                _ = try ledgers[number % 2].redeem(
                                    receipts[order[number]], for: "account \(number % 7)", at: day(31))
                                break
                            } catch {
                                // On a busy machine a caller may wait in vain for a connection: it sends the request
                                // again.
                                tries += 1
                                guard tries < 20, (error as? LedgerError)?.code == .storeUnavailable else {
                                    failures.withLock { $0.append("\(error)") }
                                    break
                                }
                            }
                        }
                    }
                }
            }
            threads.forEach { $0.start() }
            while threads.contains(where: { !$0.isFinished }) { usleep(1000) }
        }
        #expect(failures.withLock { $0.prefix(3) } == [])
        #expect(try deadlocks() == before)
        #expect(try ledgers[0].stateByEvents() == LedgerState(ledgers[1]))
        withExtendedLifetime(location) {}
    }
}
