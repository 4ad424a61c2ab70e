import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Reconciliation
import Sampling
import Testing

/// Notifications that did not arrive.
@Suite struct HistoryTests {
    /// 45 purchases of an account, which are refunded while nobody takes notifications: three pages.
    private func outage(_ shop: Shop, count: Int = 45) throws -> [PurchaseHistory.Transaction] {
        try shop.reconciler.begin()
        let purchases = shop.store.change(customer: 1) { history in
            (0..<count).map { history.buyNonConsumable("product \($0)", at: Shop.start) }
        }
        shop.store.deliverNotifications()
        for purchase in purchases { #expect(try shop.redeem(purchase) == [.granted]) }
        try shop.run(for: .hours(2))
        shop.isUp.withLock { $0 = false }
        let date = shop.store.now
        shop.store.change(customer: 1) { history in
            for (index, purchase) in purchases.enumerated() {
                history.refund(purchase, at: date + .seconds(Int64(index)))
            }
        }
        shop.store.setClock(date + .seconds(60))
        shop.store.deliverNotifications()
        return purchases
    }

    private func left(_ shop: Shop) throws -> Int {
        try shop.rows("SELECT 1 FROM grants WHERE quantity > 0").count
    }

    @Test(arguments: Place.available)
    func `a refund whose notification nobody took is taken back within 15 minutes`(_ place: Place) throws {
        let shop = try Shop(place)
        _ = try outage(shop)
        #expect(try left(shop) == 45)
        try shop.run(for: .seconds(900))
        #expect(try left(shop) == 0)
        #expect(try shop.causes.filter { $0 == "revoked reconciliation" }.count == 45)
        let checkpoint = try shop.checkpoint()
        #expect(try #require(checkpoint.completeUntil) >= shop.store.now - .seconds(900))
        #expect(checkpoint.gap == nil)
    }

    @Test(arguments: Place.available, 1...3)
    func `a server that is killed between a page and its checkpoint loses nothing, and moves no checkpoint`(
        _ place: Place, _ page: Int
    ) throws {
        let shop = try Shop(place)
        _ = try outage(shop)
        let before = try shop.checkpoint().completeUntil
        // The server stops before this page: only what it has committed is left.
        let pages = Guarded(0)
        let (isThere, goOn, ended) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        shop.store.setClock(shop.store.now + .seconds(900))
        let lost = try Shop.reconciler(
            Shop.ledger(shop.location, shop.store), shop.store, shop.requestsPerHour,
            Guarded { request in
                guard request.body != nil else { return }
                let number = pages.increment()
                if number == page {
                    isThere.signal()
                    goOn.wait()
                }
            })
        Thread.detachNewThread {
            while case .asked = lost.runOnce() {}
            ended.signal()
        }
        isThere.wait()
        #expect(try shop.checkpoint().completeUntil == before)
        #expect(try left(shop) == 45 - 20 * (page - 1))
        // Another one goes on after the lease, from the page at which the first was.
        while case .asked = shop.reconciler.runOnce() {}
        #expect(try left(shop) == 45 - 20 * (page - 1))
        let asked = shop.requests(.notificationHistory)
        try shop.run(for: .seconds(61))
        #expect(try left(shop) == 0)
        #expect(shop.requests(.notificationHistory) == asked + 4 - page)
        let after = try #require(try shop.checkpoint().completeUntil)
        #expect(after > (before ?? .distantPast))
        // The first one was only slow, and now changes nothing.
        goOn.signal()
        ended.wait()
        #expect(try shop.checkpoint().completeUntil == after && left(shop) == 0)
        #expect(try shop.causes.filter { $0 == "revoked reconciliation" }.count == 45)
    }

    @Test(arguments: Place.available)
    func `a refused item is counted, stops no window, and is asked for again with the next one`(_ place: Place) throws {
        let shop = try Shop(place)
        _ = try outage(shop)
        shop.store.inject(.changedSignature, into: .notificationHistory)
        try shop.run(for: .seconds(900))
        #expect(try left(shop) == 20)
        #expect(shop.reconciler.counts.refused.values.reduce(0, +) == 20)
        #expect(try #require(shop.checkpoint().completeUntil) >= shop.store.now - .seconds(900))
        try shop.run(for: .seconds(900))
        // The windows overlap.
        #expect(try left(shop) == 0)
    }

    @Test(arguments: Sampling.share(FakeFault.allCases.filter { $0 != .pageLost }, of: "catch-up-faults"))
    func `whatever is wrong with a catch-up, it is complete when the fault has ended`(_ fault: FakeFault) throws {
        let shop = try Shop(.sqlite)
        _ = try outage(shop, count: 21)
        shop.store.inject(fault, into: .notificationHistory, count: 12)
        try shop.run(for: .hours(13))
        #expect(try left(shop) == 0)
        #expect(try shop.checkpoint().gap == nil)
        #expect(shop.requests(.notificationHistory) < 150)
    }

    @Test(arguments: Place.available)
    func `notifications that something else took are found by the daily look at all of them`(_ place: Place) throws {
        let shop = try Shop(place)
        try shop.reconciler.begin()
        let coins = shop.store.change(customer: 1) { $0.buyConsumable("coins", at: Shop.start) }
        shop.store.deliverNotifications()
        #expect(try shop.redeem(coins) == [.granted])
        try shop.run(for: .hours(1))
        // A proxy answers for the server.
        shop.isSwallowing.withLock { $0 = true }
        let date = shop.store.now
        shop.store.change(customer: 1) { $0.refund(coins, at: date) }
        try shop.run(for: .hours(20))
        #expect(try shop.quantity(coins) == "1")
        try shop.run(for: .hours(6))
        #expect(try shop.quantity(coins) == "0")
        #expect(shop.reconciler.counts.swallowed == [shop.app: 1])
    }

    @Test(arguments: Place.available)
    func `after an outage, everything since the checkpoint is asked for at once`(_ place: Place) throws {
        let shop = try Shop(place)
        try shop.reconciler.begin()
        let coins = shop.store.change(customer: 1) { $0.buyConsumable("coins", at: Shop.start) }
        #expect(try shop.redeem(coins) == [.granted])
        try shop.run(for: .hours(1))
        shop.isSwallowing.withLock { $0 = true }
        let date = shop.store.now + .days(1)
        shop.store.change(customer: 1) { $0.refund(coins, at: date) }
        shop.store.setClock(shop.store.now + .days(40))
        shop.store.deliverNotifications()
        let restarted = try shop.another()
        try restarted.begin()
        while case .asked = restarted.runOnce() {}
        #expect(try shop.quantity(coins) == "0")
        #expect(try shop.checkpoint().gap == nil)
    }

    @Test(arguments: Place.available)
    func `a period that ended unnotified is recorded, not granted, and reported once; one that still runs is granted`(
        _ place: Place
    ) throws {
        let shop = try Shop(place)
        try shop.reconciler.begin()
        let subscription = shop.store.change(customer: 1) {
            $0.subscribe(to: "weekly", in: "group", for: .days(7), at: Shop.start)
        }
        #expect(try shop.redeem(subscription.firstPeriod) == [.granted])
        try shop.run(for: .hours(1))
        // Nobody is there for two weeks.
        shop.isUp.withLock { $0 = false }
        let renewals = shop.store.change(customer: 1) { history in
            [history.renew(subscription), history.renew(subscription)]
        }
        shop.store.setClock(Shop.start + .days(15))
        shop.store.deliverNotifications()
        let restarted = try shop.another()
        try restarted.begin()
        while case .asked = restarted.runOnce() {}
        #expect(try shop.quantity(renewals[0]) == nil && shop.quantity(renewals[1]) == "1")
        _ = try restarted.reconcile(since: Shop.start)
        let ended = shop.found.compactMap { finding in
            if case .endedUnnotified(_, let id) = finding { id } else { nil }
        }
        #expect(ended == [renewals[0].transactionID])
        // It stays until it was listed, even if its receiver is gone.
        let kept = try shop.ledger.endedPeriods(limit: 10)
        #expect(kept.map(\.name.transactionID) == ended && kept.map(\.account) == ["anna"])
        try shop.ledger.noteListed(kept, at: shop.store.now)
        #expect(try shop.ledger.endedPeriods(limit: 10).isEmpty)
        _ = try restarted.reconcile(since: Shop.start)
        #expect(try shop.ledger.endedPeriods(limit: 10).isEmpty)
    }

    @Test(arguments: Place.available)
    func `every purchase that nobody owns is listed, however many there are`(_ place: Place) throws {
        let shop = try Shop(place)
        for number in 0..<2 {
            _ = shop.store.change(customer: number + 1) { $0.buyConsumable("gems", at: Shop.start) }
        }
        shop.store.deliverNotifications()
        let few = try shop.unowned()
        try #require(few.count == 2)
        try shop.ledger.store.write { (connection) throws(LedgerError) in
            let numbers = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2500)"
            try connection.run("\(numbers) INSERT INTO families (id, account) SELECT 1000 + n, NULL FROM numbers")
            try connection.run(
                """
                \(numbers) INSERT INTO identifiers
                SELECT 1000 + n, environment, bundle_id, 'more ' || CAST(n AS TEXT), 1000 + n
                FROM identifiers, numbers WHERE transaction_id = '\(few[0])'
                """)
            try connection.run(
                """
                \(numbers) INSERT INTO evidence (identifier_id, variant, signed_date, purchase)
                SELECT 1000 + n, variant, signed_date, purchase
                FROM evidence JOIN identifiers ON id = identifier_id, numbers WHERE transaction_id = '\(few[0])'
                """)
        }
        let all = try shop.unowned()
        #expect(all.count == 2502 && Set(all).count == 2502)
    }

    @Test(arguments: Place.available, [AppStoreEnvironment.production, .sandbox])
    func `what is older than Apple keeps is a named gap`(_ place: Place, _ environment: AppStoreEnvironment) throws {
        let shop = try Shop(place, environment)
        try shop.reconciler.begin()
        // The second look at everything is over, too.
        try shop.run(for: .hours(25))
        #expect(try shop.checkpoint().doubtfulFrom == nil)
        let seen = try #require(try shop.checkpoint().sweptUntil)
        let kept = environment == .production ? 179.0 : 29
        shop.store.setClock(shop.store.now + .days(200))
        try shop.reconciler.begin()
        while case .asked = shop.reconciler.runOnce() {}
        let checkpoint = try shop.checkpoint()
        let gap = try #require(checkpoint.gap)
        // Apple may have sent late what it had signed before the request.
        #expect(gap.from == seen - .days(1) && gap.until == shop.store.now - .days(kept))
        #expect(checkpoint.completeUntil == shop.store.now && checkpoint.sweptUntil == shop.store.now)
        #expect(shop.found.contains { if case .gap = $0 { true } else { false } })
    }

    @Test func `a dry run says what is missing, and changes nothing`() throws {
        let shop = try Shop(.sqlite)
        _ = try outage(shop)
        let before = try shop.rows("SELECT * FROM history_checkpoints") + shop.rows("SELECT * FROM questions")
        let result = try shop.another().reconcile(dryRun: true)
        #expect(result.status == 0 && result.events == ["revoked": 45])
        #expect(result.counts.recovered.map { "\($0.key.name) \($0.value)" } == ["REFUND 45"])
        #expect(
            result.counts.seen.map { "\($0.key.name) \($0.value)" }.sorted() == ["ONE_TIME_CHARGE 45", "REFUND 45"])
        #expect(try left(shop) == 45)
        let after = try shop.rows("SELECT * FROM history_checkpoints") + shop.rows("SELECT * FROM questions")
        #expect(before == after)
    }

    @Test(arguments: Place.available)
    func `an operator's run asks for everything since a date, and lists what nobody owns`(_ place: Place) throws {
        let shop = try Shop(place)
        // Apple has delivered the refunds, to a ledger whose back-up was restored since.
        shop.isSwallowing.withLock { $0 = true }
        _ = try outage(shop, count: 25)
        #expect(try left(shop) == 25)
        let date = shop.store.now
        let gems = shop.store.change(customer: 2) { $0.buyConsumable("gems", at: date) }
        shop.store.deliverNotifications()
        let result = try shop.another().reconcile(since: Shop.start)
        #expect(result.status == 0 && result.isComplete && result.leftOver == 0)
        #expect(try left(shop) == 0)
        #expect(try shop.unowned() == [gems.transactionID])
        #expect(result.gaps.isEmpty)
    }

    enum Run: CaseIterable, Sendable { case since, account, keptEvidence }

    @Test(arguments: Place.available, Run.allCases)
    func `an operator's run fills in the prices that an earlier version did not store`(
        _ place: Place, _ run: Run
    ) throws {
        let shop = try Shop(place)
        try shop.reconciler.begin()
        let bought = shop.store.change(customer: 1) { history in
            [
                history.buyConsumable("coins", at: Shop.start, price: 4990),
                history.subscribe(to: "pro", in: "group", for: .month, at: Shop.start, price: 4990).firstPeriod,
            ]
        }
        // The notifications are recorded, and have nothing more to say.
        shop.store.deliverNotifications()
        for purchase in bought { #expect(try shop.redeem(purchase) == [.granted]) }
        func prices() throws -> [Int64?] {
            try shop.ledger.entitlements(of: "anna", at: shop.store.now).items.map(\.purchase.price)
        }
        #expect(try prices() == [4990, 4990])
        try shop.ledger.store.write { (connection) throws(LedgerError) in
            for row in try connection.run("SELECT identifier_id, purchase FROM evidence") {
                var purchase: Purchase = try StoredJSON.decode(row.text(1))
                (purchase.price, purchase.currency, purchase.storefront) = (nil, nil, nil)
                try connection.run(
                    """
                    UPDATE evidence SET purchase = $1, price = NULL, currency = NULL, storefront = NULL
                    WHERE identifier_id = $2
                    """,
                    [.text(StoredJSON.encode(purchase)), .integer(row.integer(0))])
            }
        }
        let events = try shop.rows("SELECT * FROM outbox ORDER BY account, sequence")
        #expect(try prices() == [nil, nil])
        switch run {
        case .since: #expect(try shop.reconciler.reconcile(since: Shop.start).status == 0)
        case .account: #expect(try shop.reconciler.reconcile(account: "anna").status == 0)
        case .keptEvidence:
            let history = try #require(shop.store.histories[1])
            for (number, purchase) in bought.enumerated() {
                let builder = try #require(history.transaction(purchase, signedAt: shop.store.now))
                let sent = try Array(builder.signed(by: shop.store.authority).utf8)
                try shop.ledger.record(
                    [#require(Attempt("request-\(number)", of: "anna", sent, code: "ok", at: shop.store.now))])
            }
            // Apple says nothing.
            shop.stranger.withLock { $0 = { _ in HTTPTransport.Answer(status: 500, body: []) } }
            _ = try shop.reconciler.reconcile()
        }
        #expect(try prices() == [4990, 4990])
        #expect(try shop.rows("SELECT * FROM outbox ORDER BY account, sequence") == events)
    }

    @Test func `a run that could not ask for everything is not complete`() throws {
        let shop = try Shop(.sqlite)
        shop.stranger.withLock { body in
            body = { request in
                // Apple answers about failures.
                let isAboutFailures = String(decoding: request.body ?? [], as: UTF8.self).contains("onlyFailures")
                return isAboutFailures ? nil : HTTPTransport.Answer(status: 500, body: [])
            }
        }
        let result = try shop.reconciler.reconcile()
        #expect(!result.isComplete && result.status == 1)
        let checkpoint = try shop.checkpoint()
        #expect(checkpoint.completeUntil != nil && checkpoint.sweptUntil == nil)
    }

    @Test func `a run names what Apple has no more`() throws {
        let shop = try Shop(.sqlite)
        try shop.reconciler.begin()
        try shop.run(for: .hours(1))
        shop.store.setClock(shop.store.now + .days(200))
        #expect(try shop.reconciler.reconcile().gaps.map { $0.app } == [shop.app])
    }

    @Test(arguments: [false, true])
    func `a run for one account that Apple does not answer has something left`(
        _ isAnswered: Bool
    ) throws {
        let shop = try Shop(.sqlite)
        try shop.unnotified()
        shop.isUp.withLock { $0 = true }
        shop.store.change(customer: 2) { _ = $0.buyConsumable("gems", at: Shop.start) }
        shop.store.deliverNotifications()
        #expect(try shop.unowned().count == 1)
        if !isAnswered { shop.store.inject(.unavailable, count: 10_000) }
        let result = try shop.reconciler.reconcile(account: "anna")
        #expect(result.leftOver == (isAnswered ? 0 : 1) && result.status == (isAnswered ? 0 : 1))
        let left = shop.found.count { if case .leftOver = $0 { true } else { false } }
        #expect(left == result.leftOver)
    }

    @Test(arguments: Place.available)
    func `a dry run counts what the run says, with several notifications of one purchase`(_ place: Place) throws {
        let shop = try Shop(place)
        let subscription = shop.store.change(customer: 1) {
            $0.subscribe(to: "weekly", in: "group", for: .days(7), at: Shop.start)
        }
        #expect(try shop.redeem(subscription.firstPeriod) == [.granted])
        try shop.reconciler.begin()
        shop.isUp.withLock { $0 = false }
        shop.store.change(customer: 1) { history in
            let renewal = history.renew(subscription)
            history.refund(renewal, at: Shop.start + .days(8))
            history.reverseRefund(of: renewal, at: Shop.start + .days(9))
        }
        shop.store.setClock(Shop.start + .days(10))
        shop.store.deliverNotifications()
        let before = try shop.rows("SELECT event FROM outbox").count
        let dry = try shop.another().reconcile(since: Shop.start, dryRun: true)
        #expect(try shop.rows("SELECT event FROM outbox").count == before)
        let eventCount = dry.events.values.reduce(0, +)
        let counts = dry.counts
        let run = try shop.another().reconcile(since: Shop.start)
        #expect(try shop.rows("SELECT event FROM outbox").count - before == eventCount, "\(dry.events)")
        #expect(eventCount > 1 && counts.recovered.values.reduce(0, +) == run.counts.recovered.values.reduce(0, +))
    }

    @Test func `a dry run that Apple does not answer is not complete`() throws {
        let shop = try Shop(.sqlite)
        shop.store.inject(.unavailable, count: 10_000)
        let result = try shop.reconciler.reconcile(dryRun: true)
        #expect(!result.isComplete && result.status == 1)
    }

    @Test func `a run that cannot ask says so by its status`() throws {
        for (fault, status) in [(FakeFault.unauthorized, Int32(2)), (.unavailable, 1), (.rateLimitWithoutHeader, 1)] {
            let shop = try Shop(.sqlite)
            shop.store.inject(fault, count: 10_000)
            let result = try shop.reconciler.reconcile()
            #expect(result.status == status, "\(fault)")
        }
    }
}
