import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import Testing
import TrialSupport

/// The ledger as a part of a Swift backend: events in a closure, and calls in tasks.
@Suite(.serialized) struct InProcessTests {
    private struct Refusal: Error, CustomStringConvertible {
        var description = "the shop's database is locked"
    }

    /// Buys one consumable for each account, in their order.
    private func redeem(_ ledger: PurchaseLedger, _ accounts: [String]) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        for account in accounts {
            let transaction = history.buyConsumable("coins", at: day(0))
            _ = try ledger.redeem(history.evidence(transaction, signedAt: day(1)), for: account, at: day(1))
        }
    }

    /// Runs deliveries until a condition holds, and returns the failures.
    @discardableResult private func run(
        _ deliveries: EventDelivery..., until isDone: () throws -> Bool
    ) throws -> [LedgerError] {
        let failures = Guarded([LedgerError]())
        let threads = deliveries.map { delivery in
            Thread { delivery.run { error in failures.withLock { $0.append(error) } } }
        }
        for thread in threads { thread.start() }
        try wait(until: isDone)
        for delivery in deliveries { delivery.stop() }
        while threads.contains(where: { !$0.isFinished }) { usleep(10_000) }
        return failures.withLock { $0 }
    }

    // MARK: Events

    @Test(arguments: Place.available)
    func `each event reaches the closure once it returns, those of an account in their order`(_ place: Place) throws {
        try place.withLedger { ledger in
            try redeem(ledger, (0..<30).map { "account \($0 % 3)" })
            let received = Guarded([LedgerEvent]())
            let delivery = EventDelivery(ledger) { event in received.withLock { $0.append(event) } }
            #expect(try run(delivery) { try ledger.outboxCounts().pending == 0 } == [])
            let events = received.withLock { $0 }
            // The closure gets what the webhook would get.
            #expect(events.map(\.json).sorted() == (try ledger.events().map(\.json).sorted()))
            for (_, events) in Dictionary(grouping: events, by: \.account) {
                #expect(events.map(\.sequence) == events.map(\.sequence).sorted() && events.count == 10)
            }
        }
    }

    @Test(.enabled(if: Sampling.runsSlowTests), arguments: Place.available)
    func `an event at which the closure throws is delivered again, and holds up its account alone`(_ place: Place)
        throws
    {
        try place.withLedger { ledger in
            try redeem(ledger, ["anna", "anna", "ben"])
            let events = try ledger.events()
            let first = events[0].id
            let received = Guarded([String]())
            let delivery = EventDelivery(ledger) { event in
                let count = received.withLock { ids in
                    ids.append(event.id)
                    return ids.count { $0 == first }
                }
                if event.id == first, count < 3 { throw Refusal() }
            }
            let failures = try run(delivery) { try ledger.outboxCounts().pending == 0 }
            let ids = received.withLock { $0 }
            #expect(ids.filter { $0 == first }.count == 3 && ids.count == 5)
            #expect(ids.firstIndex(of: events[2].id) ?? 9 < 3)
            #expect(ids.last == events[1].id)
            let words = "delivery-failed: event \(first): the shop's database is locked"
            #expect(failures.map(\.description) == [words, words])
        }
    }

    @Test(arguments: Place.available)
    func `what the closure refuses in the end is a dead letter, whatever its error says`(_ place: Place) throws {
        try place.withLedger { ledger in
            try redeem(ledger, ["anna", "anna"])
            let first = try ledger.events()[0].id
            // Databases refuse NUL.
            let error = Refusal(description: "a\u{0}b" + String(repeating: "é", count: 5000))
            let delivery = EventDelivery(ledger, maximumAttempts: 2) { if $0.id == first { throw error } }
            let failures = try run(delivery) { try ledger.outboxCounts() == (0, nil, 1) }
            #expect(failures.map(\.code) == [.deliveryFailed, .deadLetter])
            let letters = try ledger.deadLetters()
            #expect(letters.map(\.id) == [first])
            #expect(letters.map(\.failure) == ["ab" + String(repeating: "é", count: 997)])
        }
    }

    @Test(.enabled(if: Sampling.runsSlowTests), arguments: Place.available)
    func `while a closure runs, nobody else is given its account's events, however long it takes`(
        _ place: Place
    ) throws {
        let location = try place.makeLocation()
        let ledgers = try (0..<2).map { _ in try PurchaseLedger(location.text) }
        try redeem(ledgers[0], ["anna", "anna", "ben"])
        let running = Guarded((accounts: Set<String>(), received: [String](), isRepeated: false))
        let deliveries = ledgers.map { ledger in
            EventDelivery(
                ledger, maximumAttempts: 80,
                { event in
                    running.withLock {
                        if !$0.accounts.insert(event.account).inserted { $0.isRepeated = true }
                        $0.received.append(event.id)
                    }
                    // Three leases.
                    if event.account == "anna" { usleep(6_000_000) }
                    running.withLock { _ = $0.accounts.remove(event.account) }
                }, lease: .seconds(2))
        }
        try run(deliveries[0], deliveries[1]) { try ledgers[0].outboxCounts().pending == 0 }
        let (_, received, isRepeated) = running.withLock { $0 }
        #expect(!isRepeated && received.count == 3 && Set(received).count == 3)
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `record returns the events that it caused`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
            _ = try ledger.redeem(history.evidence(coins, signedAt: day(1)), for: "anna", at: day(1))
            history.refund(coins, at: day(2))
            let stranger = history.buyConsumable("coins", at: day(3))
            history.refund(stranger, at: day(4))
            let refunds = try history.verifiedNotifications(through: day(5)).filter {
                $0.notification.payload.type == .refund
            }
            #expect(refunds.count == 2)
            let caused = try ledger.record(refunds[0], at: day(5))
            #expect(
                caused.map(\.kind) == [.revoked] && caused.map(\.account) == ["anna"]
                    && caused[0].previousQuantity == 3)
            #expect(try caused.map(\.json) == [ledger.events().last?.json])
            // The same again, and a purchase that is nobody's.
            for refund in refunds { #expect(try ledger.record(refund, at: day(5)).isEmpty) }
        }
    }

    // MARK: Owners

    @Test(arguments: Place.available)
    func `any transaction of a purchase leads to its owner`(_ place: Place) throws {
        try place.withLedger { ledger in
            func owner(_ id: String, _ environment: AppStoreEnvironment = .production, _ app: String = Minted.bundleID)
                throws -> String?
            {
                try ledger.owner(of: id, in: environment, bundleID: app)
            }
            var pro = JWSBuilder.transaction(
                bundleID: Minted.bundleID, productID: "pro", transactionID: "1", signedDate: day(0))
            pro.productType = .nonConsumable
            _ = try ledger.redeem(Minted.evidence(pro), for: "anna", at: day(1))
            #expect(try owner("1") == "anna")
            // A restored copy has an id of its own, and the purchase is granted under the first.
            var copy = pro
            (copy.transactionID, copy.originalTransactionID) = ("2", "1")
            #expect(try owner("2") == nil)
            _ = try ledger.redeem(Minted.evidence(copy), for: "ben", at: day(1))
            #expect(try owner("2") == "anna")
            // A renewal that only a notification named, and the original of what was redeemed.
            _ = try ledger.redeem(Minted.evidence(period("11", of: "10", from: 0)), for: "carl", at: day(1))
            let renewal = try period("12", of: "10", from: 30).signed(by: Minted.authority.get())
            try ledger.record(
                Minted.notification(
                    .notification(.didRenew, bundleID: Minted.bundleID, transaction: renewal, signedDate: day(30))),
                at: day(30))
            for id in ["10", "11", "12"] { #expect(try owner(id) == "carl") }
            // No owner, another environment or app, and invalid ids.
            let nobodys = try Minted.notification(
                .notification(
                    .subscribed, bundleID: Minted.bundleID,
                    transaction: period("20", of: "20", from: 0).signed(by: Minted.authority.get()),
                    signedDate: day(0)))
            try ledger.record(nobodys, at: day(30))
            for id in ["20", "99", "", "1\u{0}", String(repeating: "1", count: 300)] { #expect(try owner(id) == nil) }
            #expect(try owner("1", .sandbox) == nil && owner("1", .production, "com.example.other") == nil)
            try ledger.transfer(from: "anna", to: "ben", reason: "support", at: day(31))
            #expect(try owner("1") == "ben" && owner("2") == "ben")
            #expect(try ledger.deleteAccount("ben") == owner("2"))
        }
    }

    @Test(arguments: Place.available)
    func `of two lineages that turned out to be one, each account owns what it was granted`(_ place: Place) throws {
        try place.withLedger { ledger in
            _ = try ledger.redeem(Minted.evidence(period("2", of: "2", from: 0)), for: "ben", at: day(1))
            _ = try ledger.redeem(Minted.evidence(period("1", of: "1", from: 0)), for: "anna", at: day(2))
            // A restored copy of anna's period.
            var copy = period("4", of: "1", from: 0)
            copy.webOrderLineItemID = "91"
            _ = try ledger.redeem(Minted.evidence(copy), for: "anna", at: day(2))
            var joined = period("3", of: "2", from: 30)
            joined.payload["previousOriginalTransactionId"] = "1"
            _ = try ledger.redeem(Minted.evidence(joined), for: "ben", at: day(31))
            let owners = try ["1", "2", "3", "4"].map { try ledger.owner(of: $0, bundleID: Minted.bundleID) }
            #expect(owners == ["anna", "ben", "ben", "anna"])
        }
    }

    @Test(.enabled(if: Sampling.runsSlowTests))
    func `a delivery that stops keeps its event until its closure returns`() throws {
        let location = try Place.sqlite.makeLocation()
        let ledgers = try (0..<2).map { _ in try PurchaseLedger(location.text) }
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        for _ in 0..<2 {
            let coins = history.buyConsumable("coins", at: day(0))
            _ = try ledgers[0].redeem(history.evidence(coins, signedAt: day(1)), for: "anna", at: day(1))
        }
        let order = try ledgers[0].events().map(\.id)
        let steps = Guarded([String]())
        func delivery(_ number: Int) -> EventDelivery {
            EventDelivery(
                ledgers[number], maximumAttempts: 80,
                { event in
                    let name = "\(number) event \(order.firstIndex(of: event.id) ?? 9)"
                    steps.withLock { $0.append("begin " + name) }
                    if number == 0 { usleep(5_000_000) }
                    steps.withLock { $0.append("end " + name) }
                }, lease: .seconds(2))
        }
        let (old, new) = (delivery(0), delivery(1))
        let oldThread = Thread { old.run { _ in } }
        oldThread.start()
        while steps.withLock({ $0.isEmpty }) { usleep(5_000) }
        old.stop()
        let newThread = Thread { new.run { _ in } }
        newThread.start()
        try wait { try ledgers[0].outboxCounts().pending == 0 && oldThread.isFinished }
        new.stop()
        while !newThread.isFinished { usleep(10_000) }
        let seen = steps.withLock { $0 }
        #expect(
            seen == ["begin 0 event 0", "end 0 event 0", "begin 1 event 1", "end 1 event 1"], "\(seen)")
        withExtendedLifetime(location) {}
    }

    // MARK: Tasks

    // In processes of their own: the other tests block Swift's threads.

    @Test func `an asynchronous closure has the same guarantees`() async {
        await #expect(processExitsWith: .success) {
            let location = try Place.sqlite.makeLocation()
            let ledger = try await PurchaseLedger(location.text)
            try InProcessTests().redeem(ledger, (0..<30).map { "account \($0 % 3)" })
            let events = try ledger.events()
            let first = events[0].id
            let received = Guarded([LedgerEvent]())
            let delivery = EventDelivery(ledger, maximumAttempts: 2) { event in
                await Task.yield()
                if event.id == first { throw Refusal() }
                received.withLock { $0.append(event) }
            }
            let failures = Guarded([LedgerError.Code]())
            let task = Task { await delivery.run { error in failures.withLock { $0.append(error.code) } } }
            while try await ledger.outboxCounts() != (0, nil, 1) { try await Task.sleep(for: .milliseconds(20)) }
            task.cancel()
            await task.value
            #expect(failures.withLock { $0 } == [.deliveryFailed, .deadLetter])
            #expect(try await ledger.deadLetters().map(\.failure) == ["the shop's database is locked"])
            let delivered = received.withLock { $0 }
            #expect(delivered.map(\.json).sorted() == events.dropFirst().map(\.json).sorted())
            for (_, events) in Dictionary(grouping: delivered, by: \.account) {
                #expect(events.map(\.sequence) == events.map(\.sequence).sorted())
            }
            withExtendedLifetime(location) {}
        }
    }

    @Test func `delivery in a task ends with the task or stop, after what it is at`() async {
        await #expect(processExitsWith: .success) {
            for isCancelled in [true, false] {
                let location = try Place.sqlite.makeLocation()
                let ledger = try await PurchaseLedger(location.text)
                try InProcessTests().redeem(ledger, ["anna"])
                let steps = Guarded([String]())
                let delivery = EventDelivery(ledger) { event in
                    steps.withLock { $0.append("begin") }
                    try await Task.sleep(for: .milliseconds(500))
                    steps.withLock { $0.append("end") }
                }
                let task = Task {
                    await delivery.run { error in Issue.record(error) }
                    steps.withLock { $0.append("stopped") }
                }
                while steps.withLock({ $0.isEmpty }) { try await Task.sleep(for: .milliseconds(5)) }
                if isCancelled { task.cancel() } else { delivery.stop() }
                await task.value
                #expect(steps.withLock { $0 } == ["begin", "end", "stopped"])
                #expect(try await ledger.outboxCounts().pending == 0)
                withExtendedLifetime(location) {}
            }
        }
    }

    @Test(.enabled(if: Sampling.runsSlowTests))
    func `calls that wait in tasks leave Swift's threads free`() async {
        await #expect(processExitsWith: .success) {
            let location = try Place.sqlite.makeLocation()
            let ledger = try await PurchaseLedger(location.text)
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(1))
            // All calls wait for this transaction.
            let isLocked = Guarded(false)
            Thread {
                try? ledger.store.write { (connection) throws(LedgerError) in
                    isLocked.withLock { $0 = true }
                    sleep(2)
                }
            }.start()
            while !isLocked.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(5)) }
            let ticks = Guarded(0)
            let heart = Task {
                while !Task.isCancelled {
                    _ = ticks.increment()
                    try await Task.sleep(for: .milliseconds(5))
                }
            }
            let outcomes = try await withThrowingTaskGroup(of: Outcome.self) { group in
                // More than Swift's pool has threads.
                for _ in 0..<40 {
                    group.addTask { try await ledger.redeem(evidence, for: "anna", at: day(1)).outcomes[0].outcome }
                }
                return try await group.reduce(into: [Outcome]()) { $0.append($1) }
            }
            heart.cancel()
            #expect(outcomes.count { $0 == .granted } == 1 && outcomes.count { $0 == .alreadyYours } == 39)
            #expect(ticks.withLock { $0 } > 50)
            withExtendedLifetime(location) {}
        }
    }

    @Test(arguments: Place.available)
    func `a ledger is made, filled and asked in tasks`(_ place: Place) async throws {
        let location = try place.makeEmptyLocation()
        await #expect(throws: LedgerError.self) { try await PurchaseLedger(location.text) }
        let ledger = try await PurchaseLedger(creating: location.text)
        await #expect(throws: LedgerError.self) { try await PurchaseLedger(creating: location.text) }
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", at: day(0))
        _ = try await ledger.redeem(history.evidence(coins, signedAt: day(1)), for: "anna", at: day(1))
        history.refund(coins, at: day(2))
        for notification in try history.verifiedNotifications(through: day(5)) {
            try await ledger.record(notification, at: day(5))
        }
        #expect(try await ledger.entitlements(of: "anna", at: day(5)).items.map(\.access.code) == ["revoked"])
        #expect(try await ledger.owner(of: coins.transactionID, bundleID: Minted.bundleID) == "anna")
        #expect(try await ledger.transfer(from: "anna", to: "ben", reason: "support", at: day(5)) == 1)
        #expect(try await ledger.settleDue(at: day(5)) == 0)
        let lock = try await ledger.lockImports()
        try await lock.hold()
        var run = try await ledger.beginImport(of: "file", digest: "", by: "tests", at: day(5))
        #expect(try await ledger.unfinishedImports().map(\.path) == ["file"])
        let line = ImportedLine.spent(
            try #require(
                SpentTransaction(
                    account: "dora", environment: .production, bundleID: Minted.bundleID, transactionID: "77",
                    originalTransactionID: nil, productID: "coins", quantity: 1, date: day(0))))
        #expect(try await ledger.importLines([line], of: &run, at: day(5)).map(\.outcome) == [.added])
        try await ledger.endImport(run, at: day(5))
        #expect(try await ledger.importRuns().count == 1)
        let event = try #require(try await ledger.deadLetters().first?.id ?? ledger.events().first?.id)
        try await ledger.sendAgain(eventID: event, at: day(5))
        try await ledger.removeHistory(before: day(1))
        #expect(try await ledger.purchasesWithoutOrder().isEmpty)
        try await ledger.completeFile()
        withExtendedLifetime((location, lock)) {}
    }
}
