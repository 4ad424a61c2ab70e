import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Reconciliation
import Testing

/// Whether Apple knows what is signed.
@Suite struct ConfirmationTests {
    /// A transaction that Apple's key signed and Apple does not know.
    private func forge(_ shop: Shop, _ id: String = "999000000000001") throws -> VerifiedEvidence {
        var history = PurchaseHistory(
            bundleID: shop.store.options.bundleID,
            environment: shop.store.environment == .production ? .production : .sandbox, customer: 499)
        let coins = history.buyConsumable("coins", at: shop.store.now - .hours(1))
        var builder = try #require(history.transaction(coins, signedAt: shop.store.now))
        builder.payload["transactionId"] = .string(id)
        builder.payload["originalTransactionId"] = .string(id)
        return try shop.store.verifier().verify(builder.signed(by: shop.store.authority))
    }

    @Test(arguments: Place.available)
    func `an id that Apple does not know is asked about six times in 103 hours, and then reported with its signer`(
        _ place: Place
    ) throws {
        let shop = try Shop(place)
        // Apple knows another transaction: key, app and host are right.
        try shop.unnotified()
        let forged = try forge(shop)
        let id = try #require(forged.transactionIDs.first)
        #expect(try shop.ledger.redeem(forged, for: "eve", at: shop.store.now).outcomes.map(\.outcome) == [.granted])
        let dates = Guarded<[Instant]>([])
        shop.onRequest.withLock { [store = shop.store] body in
            body = { request in
                if request.url.hasSuffix(id) { dates.withLock { $0.append(store.now) } }
            }
        }
        try shop.run(for: .hours(103))
        #expect(shop.found.isEmpty)
        try shop.run(for: .hours(1))
        let times = dates.withLock(\.self)
        let waits = zip(times.dropFirst(), times).map { $0 - $1 }
        #expect(waits == [.seconds(300), .hours(1), .hours(6), .hours(24), .hours(72)])
        let unknown = try #require(shop.ledger.unknownTransactions().first)
        #expect(unknown.transactionID == id && unknown.account == "eve")
        let signer = try #require(forged.purchases.first).verification.signer
        #expect(unknown.signer == "\(signer)")
        #expect(try shop.ledger.unknownCounts().map(\.count) == [1])
        #expect(shop.findings.withLock { $0.count { if case .unknown = $0 { true } else { false } } } == 1)
        // Nothing is revoked, and nothing more is asked.
        #expect(
            try shop.rows(
                "SELECT quantity FROM grants JOIN identifiers ON id = identifier_id WHERE transaction_id = '\(id)'")
                == [["1"]])
        try shop.run(for: .days(30))
        #expect(dates.withLock(\.count) == 6)
    }

    @Test func `while Apple knows no id at all, no id is called unknown`() throws {
        let shop = try Shop(.sqlite)
        let forged = try forge(shop)
        _ = try shop.ledger.redeem(forged, for: "eve", at: shop.store.now)
        try shop.run(for: .days(60))
        #expect(try shop.ledger.unknownTransactions().isEmpty)
        #expect(try shop.ledger.failedInquiries().count == 1)
        #expect(shop.requests(.transactionInfo) < 30)
    }

    @Test(arguments: ["{}", #"{"signedTransactionInfo":null}"#, #"{"signedTransactionInfo":"a.b.c"}"#])
    func `an answer that says nothing is no sign that Apple knows any id`(_ answer: String) throws {
        let shop = try Shop(.sqlite)
        let known = try shop.unnotified()
        try shop.run(for: .hours(1))
        #expect(try shop.rows("SELECT 1 FROM confirmations WHERE confirmed_at IS NOT NULL").count == 1)
        let forged = try forge(shop)
        _ = try shop.ledger.redeem(forged, for: "eve", at: shop.store.now)
        shop.stranger.withLock { body in
            body = { request in
                request.url.hasSuffix(known.transactionID)
                    ? HTTPTransport.Answer(status: 200, body: Array(answer.utf8)) : nil
            }
        }
        try shop.run(for: .days(8))
        #expect(try shop.ledger.unknownTransactions().isEmpty)
        shop.stranger.withLock { $0 = { _ in nil } }
        try shop.run(for: .days(2))
        #expect(try shop.ledger.unknownTransactions().map(\.transactionID) == forged.transactionIDs)
    }

    @Test func `in the sandbox, unknown ids end in silence`() throws {
        let shop = try Shop(.sqlite, .sandbox)
        try shop.unnotified()
        _ = try shop.ledger.redeem(try forge(shop), for: "eve", at: shop.store.now)
        try shop.run(for: .days(10))
        #expect(try shop.ledger.unknownTransactions().isEmpty && shop.inquiries.isEmpty)
        #expect(shop.found.isEmpty)
    }

    @Test(arguments: Place.available)
    func `an id that Apple knows late is confirmed`(_ place: Place) throws {
        let shop = try Shop(place)
        let coins = try shop.unnotified()
        shop.store.inject(.notFound, into: .transactionInfo, count: 4)
        try shop.run(for: .days(3))
        #expect(shop.requests(.transactionInfo) == 5)
        #expect(
            try shop.rows("SELECT answers, unknown_since FROM confirmations WHERE confirmed_at IS NOT NULL")
                == [["0", "NULL"]])
        // Known ids can vanish: that says nothing.
        shop.store.inject(.notFound, into: .transactionInfo, count: 1000)
        #expect(try shop.redeem(coins, for: "ben") == [.belongsToAnother])
        try shop.run(for: .days(10))
        #expect(try shop.ledger.unknownTransactions().isEmpty && shop.inquiries.isEmpty)
    }

    @Test(arguments: [
        FakeFault.changedSignature, .otherApp, .otherEnvironment, .untrustedRoot, .future, .otherTransaction,
    ])
    func `an answer that is not genuine, or about something else, confirms nothing and is asked for again`(
        _ fault: FakeFault
    ) throws {
        let shop = try Shop(.sqlite)
        try shop.unnotified()
        shop.store.inject(fault, into: .transactionInfo)
        try shop.run(for: .hours(12))
        #expect(shop.requests(.transactionInfo) == 1)
        #expect(shop.reconciler.counts.refused.values.reduce(0, +) == 1)
        #expect(try shop.rows("SELECT 1 FROM confirmations").isEmpty)
        #expect(try shop.rows("SELECT 1 FROM evidence").count == 1)
        try shop.run(for: .hours(24))
        #expect(shop.requests(.transactionInfo) == 2)
        #expect(try shop.rows("SELECT 1 FROM confirmations WHERE confirmed_at IS NOT NULL").count == 1)
    }

    @Test(arguments: Place.available)
    func `a refund in Apple's answer is taken back`(_ place: Place) throws {
        let shop = try Shop(place)
        let coins = try shop.unnotified()
        shop.isUp.withLock { $0 = false }
        shop.store.change(customer: 1) { $0.refund(coins, at: Shop.start + .seconds(60)) }
        try shop.run(for: .seconds(720))
        #expect(try shop.quantity(coins) == "0")
        #expect(try shop.causes == ["granted redeem", "revoked reconciliation"])
    }

    // MARK: Recovery

    @Test(arguments: Place.available)
    func `a purchase is recovered by the order id, for an account or for nobody`(_ place: Place) throws {
        let shop = try Shop(place)
        shop.isUp.withLock { $0 = false }
        let coins = shop.store.change(customer: 1) { $0.buyConsumable("coins", at: Shop.start) }
        let order = FakeAppStore.orderID(of: coins.transactionID)
        let recorded = try shop.reconciler.recover(.order(order), of: shop.app)
        #expect(recorded.transactionIDs == [coins.transactionID] && recorded.outcomes.isEmpty)
        #expect(try shop.quantity(coins) == nil)
        let redeemed = try shop.reconciler.recover(.order(order), of: shop.app, for: "anna")
        #expect(redeemed.outcomes.map(\.outcome) == [.granted] && redeemed.sequence != nil)
        #expect(try shop.quantity(coins) == "1")
        #expect(try shop.inquiries.isEmpty)
        let other = try shop.reconciler.recover(.transaction(coins.transactionID), of: shop.app, for: "ben")
        #expect(other.outcomes.map(\.outcome) == [.belongsToAnother])
        for what in [Reconciler.Recovery.order("MXNOTHING"), .transaction("999000000000001")] {
            let error = #expect(throws: Reconciler.RecoveryError.self) {
                try shop.reconciler.recover(what, of: shop.app)
            }
            guard case .notFound = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
    }

    private func recoveryError(_ shop: Shop, _ what: Reconciler.Recovery, for account: String = "anna") -> String {
        let error = #expect(throws: Reconciler.RecoveryError.self) {
            try shop.reconciler.recover(what, of: shop.app, for: account)
        }
        return error.map { "\($0)" } ?? ""
    }

    @Test func `an order that Apple does not know is not found, whatever else the answer has`() throws {
        let shop = try Shop(.sqlite)
        let body = Array(#"{"status":1,"signedTransactions":["a.b.c"]}"#.utf8)
        shop.stranger.withLock { $0 = { _ in HTTPTransport.Answer(status: 200, body: body) } }
        #expect(recoveryError(shop, .order("MXNOTHING")) == "notFound")
    }

    @Test func `the answer about another transaction recovers nothing`() throws {
        let shop = try Shop(.sqlite)
        let coins = try shop.unnotified()
        shop.store.inject(.otherTransaction, into: .transactionInfo)
        #expect(recoveryError(shop, .transaction(coins.transactionID)).hasPrefix("refused"))
        #expect(try shop.rows("SELECT 1 FROM evidence").count == 1)
    }

    @Test func `a recovery takes its requests from the limit of the hour`() throws {
        let shop = try Shop(.sqlite, requestsPerHour: 1)
        let coins = try shop.unnotified()
        let id = Reconciler.Recovery.transaction(coins.transactionID)
        #expect(try shop.reconciler.recover(id, of: shop.app).transactionIDs == [coins.transactionID])
        #expect(recoveryError(shop, id) == "budgetSpent")
    }

    /// The number of empty pages that a recovery of a subscription requests before it gives up, if each announces a
    /// next one.
    private func pagesAsked(
        each time: Duration = .zero, _ revision: @escaping @Sendable (Int) -> String
    ) throws -> Int {
        let shop = try Shop(.sqlite)
        let period = shop.store.change(customer: 1) { history in
            history.subscribe(to: "monthly", in: "group", for: .days(30), at: Shop.start).firstPeriod
        }
        let pages = Guarded(0)
        shop.stranger.withLock { body in
            body = { [store = shop.store] request in
                guard request.url.contains("/history/") else { return nil }
                store.setClock(store.now + time)
                let revision = revision(pages.increment())
                let text = #"{"signedTransactions":[],"hasMore":true,"revision":"\#(revision)"}"#
                return HTTPTransport.Answer(status: 200, body: Array(text.utf8))
            }
        }
        #expect(recoveryError(shop, .transaction(period.transactionID)) == "unavailable")
        #expect(try shop.rows("SELECT 1 FROM evidence").isEmpty)
        return pages.withLock(\.self)
    }

    @Test func `a recovery asks for pages without anything new for a tenth of the hour's budget, and for a minute`()
        throws
    {
        #expect(try pagesAsked { "\($0)" } == AppleApp.defaultRequestsPerHour / 10)
        // However many places there are.
        #expect(try pagesAsked { "\($0 % 2)" } == AppleApp.defaultRequestsPerHour / 10)
        #expect(try pagesAsked(each: .seconds(20)) { "\($0)" } == 3)
        #expect(try pagesAsked { _ in "again" } == 2)
    }

    @Test(arguments: [String(repeating: "a", count: 4097), #"\u0000"#])
    func `a place between pages that no URL has ends a recovery`(_ revision: String) throws {
        #expect(try pagesAsked { _ in revision } == 1)
    }

    @Test func `the token of a renewal decides whose a recovered subscription is, not who submits its first period`()
        throws
    {
        let shop = try Shop(.sqlite, orders: true)
        shop.isUp.withLock { $0 = false }
        let token = try shop.ledger.token(for: "anna", at: Shop.start).token
        let (subscription, renewal) = shop.store.change(customer: 1) { history in
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: Shop.start - .days(40))
            history.appAccountToken = token.description
            return (subscription, history.renew(subscription))
        }
        let id = Reconciler.Recovery.transaction(subscription.originalTransactionID)
        // Without the renewal, carl would be the owner.
        let faults = [
            (FakeFault.internalError, "unavailable"), (.rateLimit, "unavailable"), (.unauthorized, "error"),
            (.notFound, "unavailable"), (.changedSignature, "refused"),
        ]
        for (fault, expected) in faults {
            shop.store.inject(fault, into: .transactionHistory)
            #expect(recoveryError(shop, id, for: "carl").hasPrefix(expected), "\(fault)")
            #expect(try shop.rows("SELECT 1 FROM evidence").isEmpty)
            try shop.run(for: .hours(2))
        }
        // A history without the requested one is incomplete, too.
        for text in ["{\"hasMore\":false}", "{\"signedTransactions\":[]}"] {
            shop.stranger.withLock { body in
                body = { request in
                    request.url.contains("/history/")
                        ? HTTPTransport.Answer(status: 200, body: Array(text.utf8)) : nil
                }
            }
            #expect(recoveryError(shop, id, for: "carl") == "unavailable")
        }
        shop.stranger.withLock { $0 = { _ in nil } }
        let result = try shop.reconciler.recover(id, of: shop.app, for: "carl")
        #expect(result.outcomes.map(\.outcome) == [.belongsToAnother])
        #expect(
            try shop.rows("SELECT account, transaction_id FROM grants JOIN identifiers ON id = identifier_id") == [
                ["anna", renewal.transactionID]
            ])
    }

    @Test func `the token of another product of a subscription decides, too`() throws {
        let shop = try Shop(.sqlite, orders: true)
        shop.isUp.withLock { $0 = false }
        let token = try shop.ledger.token(for: "anna", at: Shop.start).token
        let (monthly, yearly) = shop.store.change(customer: 1) { history in
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: Shop.start - .days(40))
            history.appAccountToken = token.description
            let yearly = history.upgrade(subscription, to: "yearly", for: .days(365), at: Shop.start - .days(15))
            return (subscription.firstPeriod, yearly)
        }
        let id = Reconciler.Recovery.transaction(monthly.transactionID)
        #expect(
            try shop.reconciler.recover(id, of: shop.app, for: "carl").outcomes.map(\.outcome) == [.belongsToAnother])
        #expect(
            try shop.rows("SELECT account, transaction_id FROM grants JOIN identifiers ON id = identifier_id") == [
                ["anna", yearly.transactionID]
            ])
    }

    @Test func `of an order of several subscriptions, the tokens of each one's group decide`() throws {
        let shop = try Shop(.sqlite, orders: true)
        shop.isUp.withLock { $0 = false }
        let token = try shop.ledger.token(for: "anna", at: Shop.start).token
        let periods = shop.store.change(customer: 1) { history in
            let periods = ["news", "music", "films"].map { product in
                history.subscribe(to: product, in: product + " group", for: .days(30), at: Shop.start - .days(40))
            }
            history.appAccountToken = token.description
            for period in periods[1...] { _ = history.renew(period) }
            return periods.map(\.firstPeriod.transactionID)
        }
        // The order has the first two.
        let answer = shop.store.inProcess()
        let histories = Guarded<[String]>([])
        shop.stranger.withLock { body in
            body = { request in
                if request.url.contains("/history/") { histories.withLock { $0.append(request.url) } }
                guard let lookup = request.url.range(of: "/lookup/MX2") else { return nil }
                let signed = periods.prefix(2).compactMap { id -> String? in
                    var request = request
                    request.url.replaceSubrange(lookup, with: "/transactions/" + id)
                    guard let answer = try? answer(request) else { return nil }
                    return String(decoding: answer.body, as: UTF8.self).components(separatedBy: "\"").first {
                        $0.utf8.count(where: { $0 == UInt8(ascii: ".") }) == 2
                    }
                }
                let text = "{\"status\":0,\"signedTransactions\":[\"" + signed.joined(separator: "\",\"") + "\"]}"
                return HTTPTransport.Answer(status: 200, body: Array(text.utf8))
            }
        }
        let result = try shop.reconciler.recover(.order("MX2"), of: shop.app, for: "carl")
        #expect(result.outcomes.map(\.outcome) == [.expired, .belongsToAnother])
        // The third one's group isn't requested.
        #expect(result.transactionIDs.count == 3 && !result.transactionIDs.contains(periods[2]))
        #expect(histories.withLock(\.count) == 1)
    }

    @Test(arguments: [false, true])
    func `what was not asked about is recorded, and becomes nobody's`(orders: Bool) throws {
        let shop = try Shop(.sqlite, orders: orders)
        shop.isUp.withLock { $0 = false }
        let (first, second) = shop.store.change(customer: 1) { history in
            let first = history.subscribe(to: "monthly", in: "group", for: .days(30), at: Shop.start - .days(100))
            return (first, history.subscribe(to: "monthly", in: "group", for: .days(30), at: Shop.start - .days(10)))
        }
        let id = Reconciler.Recovery.transaction(first.originalTransactionID)
        let result = try shop.reconciler.recover(id, of: shop.app, for: "anna")
        #expect(result.outcomes.map(\.outcome) == [.expired])
        #expect(result.transactionIDs == [first.originalTransactionID, second.originalTransactionID])
        #expect(try shop.rows("SELECT 1 FROM grants").isEmpty)
        #expect(try shop.redeem(second.firstPeriod, for: "ben") == [.granted])
    }

    @Test func `what a recovery granted is answered, though the end of its inquiries cannot be recorded`() throws {
        let shop = try Shop(.sqlite)
        shop.isUp.withLock { $0 = false }
        let coins = shop.store.change(customer: 1) { $0.buyConsumable("coins", at: Shop.start) }
        try shop.ledger.store.write { (connection) throws(LedgerError) in
            try connection.write(
                "CREATE TRIGGER full BEFORE INSERT ON confirmations BEGIN SELECT RAISE(ABORT, 'no'); END", [])
        }
        let result = try shop.reconciler.recover(.transaction(coins.transactionID), of: shop.app, for: "anna")
        #expect(result.outcomes.map(\.outcome) == [.granted] && result.sequence != nil)
        #expect(shop.found.contains { if case .ledger = $0 { true } else { false } })
    }

    @Test func `what was bought with the account's own token is granted by its recovery`() throws {
        let shop = try Shop(.sqlite, orders: true)
        shop.isUp.withLock { $0 = false }
        let token = try shop.ledger.token(for: "anna", at: Shop.start).token
        let coins = shop.store.change(customer: 1) { history in
            history.appAccountToken = token.description
            return history.buyConsumable("coins", at: Shop.start)
        }
        let order = Reconciler.Recovery.order(FakeAppStore.orderID(of: coins.transactionID))
        let outcomes = try shop.reconciler.recover(order, of: shop.app, for: "anna").outcomes
        #expect(outcomes.map(\.outcome) == [.granted] && outcomes.map(\.transactionID) == [coins.transactionID])
    }

    @Test func `a recovered subscription has its renewals`() throws {
        let shop = try Shop(.sqlite)
        shop.isUp.withLock { $0 = false }
        let (subscription, renewal) = shop.store.change(customer: 1) { history in
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: Shop.start - .days(40))
            return (subscription, history.renew(subscription))
        }
        let id = subscription.originalTransactionID
        let result = try shop.reconciler.recover(.transaction(id), of: shop.app, for: "anna")
        #expect(result.outcomes.map(\.outcome) == [.expired])
        #expect(try shop.quantity(renewal) == "1")
    }
}
