import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Reconciliation
import Testing

/// When something is asked, how often, and by whom.
@Suite struct QueueTests {
    @Test(arguments: Place.available)
    func `a purchase without a notification is asked about once, and one with a notification is not`(
        _ place: Place
    ) throws {
        let shop = try Shop(place)
        let (unnotified, notified, early) = shop.store.change(customer: 1) { history in
            (0..<3).map { history.buyConsumable("coins \($0)", at: Shop.start) }
        }.triple
        // Nobody takes the notifications until the first and the last purchase are granted.
        shop.isUp.withLock { $0 = false }
        #expect(try shop.redeem(unnotified) == [.granted] && shop.redeem(notified) == [.granted])
        #expect(try shop.inquiries.filter { $0.hasPrefix("transaction") }.count == 2)
        let notifications = try #require(shop.store.histories[1]).notifications(through: Shop.start)
        for notification in notifications where notification.transaction != unnotified {
            try shop.ledger.record(shop.verified(notification), at: shop.store.now)
        }
        #expect(try shop.redeem(early) == [.granted])
        #expect(
            try shop.inquiries.filter { $0.hasPrefix("transaction") } == ["transaction \(unnotified.transactionID) 3"])
        try shop.run(for: .seconds(479))
        #expect(shop.requests(.transactionInfo) == 0)
        try shop.run(for: .seconds(241))
        #expect(shop.requests(.transactionInfo) == 1)
        try shop.run(for: .days(3))
        #expect(shop.requests(.transactionInfo) == 1)
        let confirmed = try shop.rows("SELECT transaction_id FROM confirmations WHERE confirmed_at IS NOT NULL")
        #expect(confirmed.contains([unnotified.transactionID]))
    }

    @Test(arguments: [InquiryPolicy.Confirm.unnotified, .all, .none])
    func `a purchase is confirmed as the policy says`(_ confirm: InquiryPolicy.Confirm) throws {
        let shop = try Shop(.sqlite, confirm: confirm)
        try shop.reconciler.begin()
        let coins = shop.store.change(customer: 1) { $0.buyConsumable("coins", at: Shop.start) }
        shop.store.deliverNotifications()
        #expect(try shop.redeem(coins) == [.granted])
        let expected: [InquiryPolicy.Confirm: [String]] = [
            .unnotified: [], .none: [], .all: ["transaction \(coins.transactionID) 5"],
        ]
        #expect(try shop.inquiries.filter { $0.hasPrefix("transaction") } == expected[confirm])
    }

    @Test(arguments: [
        ("unheard", InquiryPolicy.Confirm.unnotified), ("all", .all), ("none", .some(.none)), ("sample=0", .unnotified),
        ("sample=100", .all), ("sample=7", .sample(percent: 7)), ("sample=101", nil), ("sample=", nil),
        ("sample=-1", nil), ("sample=0007", nil), ("sample", nil), ("All", nil), ("", nil),
    ])
    func `the option names what is confirmed`(_ text: String, _ confirm: InquiryPolicy.Confirm?) {
        #expect(InquiryPolicy.Confirm(text) == confirm)
    }

    @Test(arguments: [false, true])
    func `of purchases with a notification, a share is confirmed, whether it arrived before or after`(
        _ isNotifiedFirst: Bool
    ) throws {
        let shop = try Shop(.sqlite, confirm: .sample(percent: 50))
        let purchases = shop.store.change(customer: 1) { history in
            (0..<100).map { history.buyConsumable("coins \($0)", at: Shop.start) }
        }
        if isNotifiedFirst { shop.store.deliverNotifications() }
        for purchase in purchases { #expect(try shop.redeem(purchase) == [.granted]) }
        shop.store.deliverNotifications()
        let asked = try shop.inquiries.filter { $0.hasPrefix("transaction") }
        #expect(asked.allSatisfy { $0.hasSuffix(" 5") })
        // It fails by chance once in 10^9 runs.
        #expect(20...80 ~= asked.count, "\(asked.count) of 100")
    }

    @Test(arguments: Place.available)
    func `what is disputed is asked about once a day`(_ place: Place) throws {
        let shop = try Shop(place)
        let coins = shop.store.change(customer: 1) { $0.buyConsumable("coins", at: Shop.start) }
        shop.store.deliverNotifications()
        try shop.reconciler.begin()
        #expect(try shop.redeem(coins) == [.granted])
        for _ in 0..<5 {
            #expect(try shop.redeem(coins, for: "ben") == [.belongsToAnother])
            try shop.run(for: .hours(4))
        }
        #expect(shop.requests(.transactionInfo) == 1)
        try shop.run(for: .hours(5))
        #expect(try shop.redeem(coins, for: "ben") == [.belongsToAnother])
        try shop.run(for: .hours(1))
        #expect(shop.requests(.transactionInfo) == 2)
    }

    @Test(arguments: Place.available)
    func `two servers ask each inquiry once, and never more than the budget of both`(_ place: Place) throws {
        let shop = try Shop(place, requestsPerHour: 40)
        let asked = Guarded<[String]>([])
        shop.onRequest.withLock { body in
            body = { request in asked.withLock { $0.append(request.url) } }
        }
        let purchases = shop.store.change(customer: 1) { history in
            (0..<60).map { history.buyNonConsumable("product \($0)", at: Shop.start) }
        }
        for purchase in purchases { #expect(try shop.redeem(purchase) == [.granted]) }
        shop.store.setClock(Shop.start + .seconds(900))
        let servers = try [shop.reconciler, shop.another(), shop.another()]
        for hour in 1...3 {
            let threads = servers.map { server in
                JoinedThread {
                    for _ in 0..<50 { if case .idle = server.runOnce() { return } }
                }
            }
            for thread in threads { thread.join() }
            // Half of the budget is for what is not urgent.
            #expect(asked.withLock(\.count) == min(20 * hour, 60))
            shop.store.setClock(shop.store.now + .seconds(3600))
        }
        #expect(Set(asked.withLock(\.self)).count == 60)
        #expect(try shop.inquiries.isEmpty)
        let spent = try shop.rows("SELECT spent, spent_low FROM budgets ORDER BY hour")
        #expect(spent.allSatisfy { $0 == ["20", "20"] })
    }

    @Test(arguments: Place.available)
    func `an inquiry of a server that has crashed is asked by another after its lease`(_ place: Place) throws {
        let shop = try Shop(place)
        try shop.unnotified()
        shop.store.setClock(Shop.start + .seconds(900))
        func take(_ now: Instant) throws -> [Inquiry] {
            try shop.ledger.takeInquiries(
                about: shop.app, of: [.transaction], limit: 4, requestsPerHour: 100, at: now
            ).inquiries
        }
        let lost = try #require(try take(shop.store.now).first)
        #expect(try take(shop.store.now + .seconds(59)).isEmpty)
        let taken = try #require(try take(shop.store.now + .seconds(60)).first)
        // The slow process no longer changes anything.
        try shop.ledger.finish(lost, .ended, at: shop.store.now + .seconds(61))
        #expect(try shop.inquiries.count == 1)
        try shop.ledger.finish(taken, .ended, at: shop.store.now + .seconds(62))
        #expect(try shop.inquiries.isEmpty)
    }

    @Test(arguments: Place.available, [1, 3, 10])
    func `the limit of an hour is kept, whatever it is, and what was not asked is given back`(
        _ place: Place, limit: Int
    ) throws {
        let shop = try Shop(place)
        for _ in 0..<9 { try shop.unnotified() }
        let now = Shop.start + .seconds(900)
        func take() throws -> [Inquiry] {
            try shop.ledger.takeInquiries(
                about: shop.app, of: [.transaction], limit: 4, requestsPerHour: limit, at: now
            ).inquiries
        }
        var taken: [Inquiry] = []
        while case let inquiries = try take(), !inquiries.isEmpty { taken += inquiries }
        // Half of the budget is for what is not urgent.
        #expect(taken.count == limit / 2)
        _ = try shop.ledger.cleanInquiries(about: shop.app, at: now)
        #expect(try take().isEmpty)
        guard let first = taken.first else { return }
        try shop.ledger.finish(
            first, .again(at: first.dueAt, attempts: 0, failure: nil), isUnspent: true, at: now)
        #expect(try take().count == 1 && take().isEmpty)
    }

    @Test func `an app about which there is much to ask does not hold up another one`() throws {
        let shops = try [Shop(.sqlite), Shop(.sqlite, .sandbox)]
        var policy = LedgerPolicy()
        policy.inquiries = InquiryPolicy(apps: Set(shops.map(\.app)))
        let ledger = try PurchaseLedger(shops[0].location.text, policy: policy)
        for shop in shops {
            shop.isUp.withLock { $0 = false }
            for _ in 0..<12 {
                let coins = shop.store.change(customer: 1) { $0.buyConsumable("coins", at: Shop.start) }
                _ = try ledger.redeem(shop.evidence(coins), for: "anna", at: Shop.start)
            }
            shop.store.setClock(Shop.start + .seconds(900))
        }
        var options = Reconciler.Options()
        let store = shops[0].store
        options.clock = { store.now }
        let reconciler = Reconciler(ledger, shops.flatMap(\.reconciler.apps), options)
        for _ in 0..<2 { _ = reconciler.runOnce() }
        #expect(shops.allSatisfy { $0.requests(.transactionInfo) > 0 })
    }

    @Test func `while Apple is away, it is asked once a minute, whatever is to be asked`() throws {
        let shop = try Shop(.sqlite)
        for _ in 0..<30 { try shop.unnotified() }
        shop.store.setClock(Shop.start + .seconds(900))
        shop.store.inject(.internalError, into: .transactionInfo, count: 10_000)
        try shop.run(for: .seconds(1200))
        #expect(10...40 ~= shop.requests(.transactionInfo), "\(shop.requests(.transactionInfo))")
        shop.store.endFaults()
        try shop.run(for: .hours(24))
        #expect(try shop.inquiries.isEmpty)
    }

    @Test func `while Apple is away, an id that is none is no answer of Apple's`() throws {
        let shop = try Shop(.sqlite)
        for _ in 0..<40 { try shop.unnotified() }
        shop.store.setClock(Shop.start + .seconds(900))
        shop.store.inject(.internalError, into: .transactionInfo, count: 10_000)
        for _ in 0..<10 {
            _ = shop.reconciler.runOnce()
            #expect(throws: Reconciler.RecoveryError.self) {
                try shop.reconciler.recover(.transaction("../1"), of: shop.app)
            }
        }
        #expect(shop.requests(.transactionInfo) == 10)
    }

    @Test func `when Apple asks to wait, nothing of the kind is asked before the time is over`() throws {
        let shop = try Shop(.sqlite)
        for _ in 0..<12 { try shop.unnotified() }
        shop.store.setClock(Shop.start + .seconds(900))
        shop.store.inject(.rateLimitWithoutHeader, into: .transactionInfo, count: 1)
        try shop.run(for: .seconds(59))
        #expect(shop.requests(.transactionInfo) == 1)
        try shop.run(for: .seconds(600))
        #expect(try shop.requests(.transactionInfo) == 13 && shop.inquiries.isEmpty)
    }

    @Test func `attempts are put off longer each time, and an inquiry is given up after 20`() throws {
        let shop = try Shop(.sqlite)
        let coins = try shop.unnotified()
        shop.store.inject(.internalError, into: .transactionInfo, count: 1000)
        try shop.run(for: .days(30))
        #expect(shop.requests(.transactionInfo) == 20)
        #expect(try shop.ledger.failedInquiries().map(\.subject) == [coins.transactionID])
        #expect(try shop.quantity(coins) == "1")
        shop.store.endFaults()
        #expect(try shop.reconciler.reconcile().status == 0)
        #expect(try shop.ledger.failedInquiries().isEmpty && shop.requests(.transactionInfo) == 21)
    }

    @Test func `an inquiry whose answers are refused is given up after 20`() throws {
        let shop = try Shop(.sqlite)
        let coins = try shop.unnotified()
        shop.store.inject(.changedSignature, into: .transactionInfo, count: 1000)
        try shop.run(for: .days(60))
        #expect(shop.requests(.transactionInfo) == 20)
        #expect(try shop.ledger.failedInquiries().map(\.subject) == [coins.transactionID])
    }

    @Test func `another server does not ask what Apple has put off`() throws {
        let shop = try Shop(.sqlite)
        try shop.unnotified()
        shop.store.setClock(Shop.start + .seconds(900))
        shop.store.inject(.rateLimitWithoutHeader, into: .transactionInfo, count: 1)
        while case .asked = shop.reconciler.runOnce() {}
        let other = try shop.another()
        while case .asked = other.runOnce() {}
        #expect(shop.requests(.transactionInfo) == 1)
        try shop.run(other, until: shop.store.now + .seconds(60))
        #expect(shop.requests(.transactionInfo) == 2)
    }

    @Test func `an answer about a subscription that is refused is counted`() throws {
        let shop = try Shop(.sqlite)
        let period = shop.store.change(customer: 1) { history in
            history.subscribe(to: "monthly", in: "group", for: .days(30), at: Shop.start).firstPeriod
        }
        #expect(try shop.redeem(period) == [.granted])
        shop.store.inject(.changedSignature, into: .subscriptionStatuses, count: 1000)
        try shop.run(for: .days(30))
        #expect(try shop.rows("SELECT attempts FROM questions WHERE kind = 'statuses'") == [["1"]])
    }

    @Test(arguments: [FakeFault.rateLimit, .rateLimitSeconds, .rateLimitPast, .rateLimitWithoutHeader])
    func `an endpoint that Apple limits is left alone, and its inquiries are not used up`(_ fault: FakeFault) throws {
        let shop = try Shop(.sqlite)
        try shop.unnotified()
        shop.store.inject(fault, into: .transactionInfo, count: 30)
        try shop.run(for: .hours(2))
        #expect(shop.requests(.transactionInfo) == 31)
        #expect(try shop.inquiries.isEmpty)
    }

    @Test func `after three answers 401 an app is asked about once an hour, until a key is right`() throws {
        let shop = try Shop(.sqlite)
        try shop.reconciler.begin()
        shop.store.inject(.unauthorized, count: 1000)
        let count = Guarded(0)
        shop.onRequest.withLock { $0 = { _ in count.withLock { $0 += 1 } } }
        try shop.run(for: .hours(10))
        #expect(3...16 ~= count.withLock(\.self))
        #expect(shop.reconciler.stopped.keys.contains(shop.app))
        #expect(shop.findings.withLock { $0.count { if case .stopped = $0 { true } else { false } } } == 1)
        // The first one is reported at once.
        #expect(shop.findings.withLock { $0.count { if case .misconfigured = $0 { true } else { false } } } == 1)
        shop.store.endFaults()
        shop.reconciler.replace(shop.reconciler.apps)
        try shop.run(for: .hours(1))
        #expect(shop.reconciler.stopped.isEmpty)
        #expect(try #require(shop.checkpoint().completeUntil) > shop.store.now - .hours(1))
    }

    @Test func `answers 401 to what was asked at the same time are one`() throws {
        let shop = try Shop(.sqlite)
        for customer in 1...20 {
            shop.isUp.withLock { $0 = false }
            let coins = shop.store.change(customer: customer) { $0.buyConsumable("coins", at: Shop.start) }
            #expect(try shop.redeem(coins, for: "anna \(customer)", customer: customer) == [.granted])
        }
        shop.store.setClock(Shop.start + .hours(1))
        let asked = Guarded(0)
        let four = DispatchSemaphore(value: 0)
        shop.stranger.withLock { body in
            body = { _ in
                if asked.increment() == 4 { for _ in 0..<4 { four.signal() } }
                _ = four.wait(timeout: .now() + 60)
                return HTTPTransport.Answer(status: 401, body: [])
            }
        }
        let threads = (0..<4).map { _ in JoinedThread { _ = shop.reconciler.runOnce() } }
        for thread in threads { thread.join() }
        #expect(asked.withLock(\.self) == 4 && shop.reconciler.stopped.isEmpty)
        // The next one is asked alone, five minutes later.
        #expect(shop.reconciler.runOnce() == .idle(until: shop.store.now + .seconds(300)))
    }

    @Test func `with another key, an app is not stopped any more`() throws {
        let shop = try Shop(.sqlite)
        try shop.reconciler.begin()
        shop.store.inject(.unauthorized, count: 1000)
        try shop.run(for: .hours(1))
        #expect(shop.reconciler.stopped.keys.contains(shop.app))
        shop.reconciler.replace(shop.reconciler.apps)
        #expect(shop.reconciler.stopped.isEmpty)
    }

    @Test func `a key that is refused after it was replaced stops no inquiry`() throws {
        let shop = try Shop(.sqlite)
        try shop.reconciler.begin()
        let apps = try shop.another().apps
        let requests = Guarded(0)
        shop.stranger.withLock { body in
            body = { [reconciler = shop.reconciler] _ in
                guard requests.increment() == 1 else { return nil }
                reconciler.replace(apps)
                return HTTPTransport.Answer(status: 401, body: [])
            }
        }
        for _ in 0..<2 { _ = shop.reconciler.runOnce() }
        #expect(requests.withLock(\.self) > 1)
    }

    @Test(arguments: [(30, false), (3600, true), (-3600, true)] as [(Int64, Bool)])
    func `where a token is refused, a clock that is more than a minute wrong is reported`(
        _ seconds: Int64, _ isReported: Bool
    ) throws {
        let shop = try Shop(.sqlite)
        shop.clockError.withLock { $0 = .seconds(seconds) }
        shop.stranger.withLock { [store = shop.store] body in
            body = { _ in HTTPTransport.Answer(status: 401, body: [], retryAfter: nil, date: store.now) }
        }
        _ = try? shop.reconciler.recover(.transaction("999000000000001"), of: shop.app)
        #expect(shop.found.contains { if case .clockSkew = $0 { true } else { false } } == isReported)
    }

    @Test func `an inquiry whose time would be over before its answer is left to another server`() throws {
        let shop = try Shop(.sqlite)
        for _ in 0..<4 { try shop.unnotified() }
        shop.store.setClock(Shop.start + .seconds(900))
        let count = Guarded(0)
        shop.onRequest.withLock { [store = shop.store] body in
            body = { _ in
                count.withLock { $0 += 1 }
                store.setClock(store.now + .seconds(40))
            }
        }
        // It took all four.
        #expect(shop.reconciler.runOnce() == .asked(4))
        #expect(count.withLock(\.self) == 1)
        #expect(try shop.rows("SELECT spent FROM budgets") == [["1"]])
    }

    // MARK: Subscriptions

    @Test func `statuses of another subscription, and another's renewal information, are not recorded`() throws {
        for isOther in [false, true] {
            let shop = try Shop(.sqlite)
            shop.isUp.withLock { $0 = false }
            func subscribe(_ customer: Int) throws -> (id: String, transaction: String, renewal: String) {
                let subscription = shop.store.change(customer: customer) {
                    $0.subscribe(to: "monthly", in: "group", for: .days(30), at: Shop.start)
                }
                let history = try #require(shop.store.histories[customer])
                let transaction = try #require(history.transaction(subscription.firstPeriod, signedAt: Shop.start))
                let renewal = try #require(history.renewalInfo(of: subscription, signedAt: Shop.start))
                return try (
                    subscription.originalTransactionID, transaction.signed(by: shop.store.authority),
                    renewal.signed(by: shop.store.authority)
                )
            }
            let (own, other) = try (subscribe(1), subscribe(2))
            let verifier = try shop.store.verifier()
            let evidence = try verifier.verify(own.transaction)
            _ = try shop.ledger.redeem(evidence, for: "anna", at: shop.store.now)
            let (transaction, renewal) = (isOther ? other.transaction : own.transaction, other.renewal)
            let answer = """
                {"data":[{"lastTransactions":[{"status":1,"originalTransactionId":"\(own.id)",\
                "signedTransactionInfo":"\(transaction)","signedRenewalInfo":"\(renewal)"}]}]}
                """
            shop.stranger.withLock {
                $0 = { _ in HTTPTransport.Answer(status: 200, body: Array(answer.utf8)) }
            }
            _ = try shop.reconciler.reconcile(account: "anna")
            #expect(shop.reconciler.counts.requests.values.reduce(0, +) > 0)
            #expect(try shop.rows("SELECT 1 FROM renewals").isEmpty)
            #expect(try shop.rows("SELECT DISTINCT identifier_id FROM evidence").count == 1)
            #expect(shop.reconciler.counts.refused.isEmpty == !isOther)
        }
    }

    @Test func `a subscription that the ledger had before it asked Apple is asked about`() throws {
        let shop = try Shop(.sqlite)
        let subscription = shop.store.change(customer: 1) {
            $0.subscribe(to: "monthly", in: "group", for: .days(30), at: Shop.start)
        }
        let before = try PurchaseLedger(shop.location.text)
        _ = try before.redeem(shop.evidence(subscription.firstPeriod), for: "anna", at: shop.store.now)
        #expect(try shop.inquiries.isEmpty)
        try shop.reconciler.begin()
        #expect(try shop.inquiries.contains("statuses \(subscription.originalTransactionID) 2"))
    }

    @Test(arguments: 1...5)
    func `what Apple says of a subscription, and the ledger does not, is reported`(_ status: Int) throws {
        let shop = try Shop(.sqlite)
        let subscription = shop.store.change(customer: 1) {
            $0.subscribe(to: "monthly", in: "group", for: .days(30), at: Shop.start)
        }
        #expect(try shop.redeem(subscription.firstPeriod) == [.granted])
        let history = try #require(shop.store.histories[1])
        let builder = try #require(history.transaction(subscription.firstPeriod, signedAt: Shop.start))
        let transaction = try builder.signed(by: shop.store.authority)
        let answer = """
            {"data":[{"lastTransactions":[{"status":\(status),\
            "originalTransactionId":"\(subscription.originalTransactionID)",\
            "signedTransactionInfo":"\(transaction)"}]}]}
            """
        shop.stranger.withLock { $0 = { _ in HTTPTransport.Answer(status: 200, body: Array(answer.utf8)) } }
        _ = try shop.reconciler.reconcile(account: "anna")
        let isReported = shop.found.contains { if case .statusMismatch = $0 { true } else { false } }
        // It is active; in a grace period, it would be.
        #expect(isReported == ![1, 4].contains(status))
    }

    @Test(arguments: Place.available)
    func `a renewal without a notification is asked about when the period ends`(_ place: Place) throws {
        let shop = try Shop(place)
        let subscription = shop.store.change(customer: 1) {
            $0.subscribe(to: "monthly", in: "group", for: .days(30), at: Shop.start)
        }
        shop.store.deliverNotifications()
        #expect(try shop.redeem(subscription.firstPeriod) == [.granted])
        let id = subscription.originalTransactionID
        #expect(try shop.inquiries == ["statuses \(id) 2"])
        // Apple says SUCCESS: something in front of the server takes it.
        let renewal = shop.store.change(customer: 1) { $0.renew(subscription) }
        try shop.run(until: Shop.start + .days(30) - .hours(1.1))
        #expect(shop.requests(.subscriptionStatuses) == 0)
        shop.isUp.withLock { $0 = false }
        try shop.run(until: Shop.start + .days(30) + .seconds(301))
        #expect(shop.requests(.subscriptionStatuses) == 2)
        #expect(try shop.quantity(renewal) == "1")
        #expect(try shop.causes == ["granted redeem", "granted reconciliation"])
        #expect(try shop.inquiries == ["statuses \(id) 2"])
    }

    @Test
    func `a subscription that ends is asked about until it is known not to renew, in billing retry daily for 60 days`()
        throws
    {
        func count(_ change: (inout PurchaseHistory, PurchaseHistory.Subscription) -> Void) throws -> Int {
            let shop = try Shop(.sqlite)
            let subscription = shop.store.change(customer: 1) {
                $0.subscribe(to: "monthly", in: "group", for: .days(30), at: Shop.start)
            }
            shop.store.deliverNotifications()
            #expect(try shop.redeem(subscription.firstPeriod) == [.granted])
            shop.isUp.withLock { $0 = false }
            shop.store.change(customer: 1) { history in change(&history, subscription) }
            try shop.run(for: .days(120))
            #expect(try shop.inquiries.isEmpty)
            return shop.requests(.subscriptionStatuses)
        }
        #expect(try count { $0.turnOffRenewal(of: $1, at: Shop.start + .days(10)) } == 1)
        let retries = try count { $0.failToRenew($1) }
        #expect(60...64 ~= retries)
    }
}

extension [PurchaseHistory.Transaction] {
    fileprivate var triple: (PurchaseHistory.Transaction, PurchaseHistory.Transaction, PurchaseHistory.Transaction) {
        (self[0], self[1], self[2])
    }
}
