import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreServerAPI
import AppStoreServerTesting
import LedgerTestSupport
@testable import PurchaseLedger
import Reconciliation
import Testing

/// Answers that don't come from Apple, or are faulty.
@Suite struct HostileAnswerTests {
    /// A purchase with a refund that the ledger does not know.
    private func refunded(_ shop: Shop) throws -> PurchaseHistory.Transaction {
        try shop.reconciler.begin()
        let coins = try shop.unnotified()
        try shop.run(for: .hours(2))
        #expect(try shop.inquiries.allSatisfy { $0.hasPrefix("history") } && shop.quantity(coins) == "1")
        let date = shop.store.now
        shop.store.change(customer: 1) { $0.refund(coins, at: date) }
        shop.store.deliverNotifications()
        return coins
    }

    private static func page(_ members: String) -> HTTPTransport.Answer {
        HTTPTransport.Answer(status: 200, body: Array(#"{"notificationHistory":[],\#(members)}"#.utf8))
    }

    enum Pages: String, CaseIterable, Sendable {
        case withNewTokens, withoutToken, withTheSameToken, withATokenOfAMegabyte, withNUL, withANullToken

        func answer(_ number: Int) -> HTTPTransport.Answer {
            switch self {
            case .withNewTokens: page(#""hasMore":true,"paginationToken":"\#(number)""#)
            case .withoutToken: page(#""hasMore":true"#)
            case .withTheSameToken: page(#""hasMore":true,"paginationToken":"again""#)
            case .withATokenOfAMegabyte:
                page(#""hasMore":true,"paginationToken":"\#(number)\#(String(repeating: "a", count: 1 << 20))""#)
            case .withNUL: page(#""hasMore":true,"paginationToken":"\#(number)\u0000""#)
            case .withANullToken: page(#""hasMore":true,"paginationToken":null"#)
            }
        }
    }

    @Test(arguments: Place.available, Pages.allCases)
    func `pages without an end keep to the budget, hold up nothing else, and end with the fault`(
        _ place: Place, _ pages: Pages
    ) throws {
        let shop = try Shop(place, requestsPerHour: 200)
        let coins = try refunded(shop)
        let asked = Guarded((total: 0, byHour: [Int64: Int]()))
        shop.stranger.withLock { [store = shop.store] body in
            body = { request in
                guard request.url.contains("notifications/history") else { return nil }
                let number = asked.withLock { asked in
                    asked.total += 1
                    asked.byHour[store.now.secondsSince1970 / 3600, default: 0] += 1
                    return asked.total
                }
                return pages.answer(number)
            }
        }
        let date = shop.store.now
        let gems = shop.store.change(customer: 2) { $0.buyConsumable("gems", at: date) }
        #expect(try shop.redeem(gems, customer: 2) == [.granted])
        shop.tick(for: .hours(3))
        #expect(try shop.rows("SELECT 1 FROM confirmations WHERE transaction_id = '\(gems.transactionID)'").count == 1)
        #expect(asked.withLock { $0.byHour.values.max() ?? 0 } <= 200)
        #expect(try shop.quantity(coins) == "1")
        #expect(try #require(shop.checkpoint().completeUntil) <= date)
        shop.stranger.withLock { $0 = { _ in nil } }
        shop.tick(for: .hours(2))
        #expect(try shop.quantity(coins) == "0" && shop.checkpoint().gap == nil)
    }

    /// A notification as a page has it.
    private static func item(_ shop: Shop, _ number: Int = 1) throws -> String {
        let transaction = JWSBuilder.transaction(
            bundleID: shop.store.options.bundleID, productID: "coins", transactionID: "1")
        var notification = JWSBuilder.notification(
            .refund, bundleID: shop.store.options.bundleID,
            transaction: try transaction.signed(by: shop.store.authority))
        notification.payload["notificationUUID"] = .string("00000000-0000-4000-8000-\(100_000_000_000 + number)")
        return #"{"signedPayload":"\#(try notification.signed(by: shop.store.authority))","sendAttempts":[]}"#
    }

    @Test(
        arguments: [
            (false, .withTheSameToken, 1000, 16), (false, .withoutToken, 1000, 16), (false, .withNewTokens, 30, 30),
            (true, .withNewTokens, 1000, 16),
        ] as [(Bool, Pages, Int, Int)])
    func `pages that repeat are begun anew three times, and none is asked for beyond the limit of the hour`(
        hasItem: Bool, pages: Pages, limit: Int, maximum: Int
    ) throws {
        let shop = try Shop(.sqlite, requestsPerHour: limit)
        try shop.reconciler.begin()
        let items = hasItem ? "[\(try Self.item(shop))]" : "[]"
        let count = Guarded(0)
        shop.stranger.withLock { body in
            body = { _ in
                let number = count.increment()
                let answer = pages.answer(number)
                let text = String(decoding: answer.body, as: UTF8.self)
                return HTTPTransport.Answer(
                    status: 200, body: Array(text.replacing("[]", with: items).utf8))
            }
        }
        shop.tick(for: .seconds(600))
        let asked = count.withLock(\.self)
        #expect(2...maximum ~= asked, "\(asked)")
    }

    /// Answers with pages of undelivered notifications, each with its own token; `nil` for the end.
    private func answer(
        _ shop: Shop, _ page: @escaping @Sendable (Int) -> (items: String, token: String?)
    ) -> Guarded<[Int64: Int]> {
        let byHour = Guarded<[Int64: Int]>([:])
        let number = Guarded(0)
        shop.stranger.withLock { [store = shop.store] body in
            body = { request in
                guard request.url.contains("notifications/history") else { return nil }
                byHour.withLock { $0[store.now.secondsSince1970 / 3600, default: 0] += 1 }
                let (items, token) = page(number.increment())
                let place = token.map { #","paginationToken":"\#($0)""# } ?? ""
                let text = #"{"notificationHistory":[\#(items)],"hasMore":\#(token != nil)\#(place)}"#
                return HTTPTransport.Answer(status: 200, body: Array(text.utf8))
            }
        }
        return byHour
    }

    private static func items(_ shop: Shop, _ count: Int) throws -> [String] {
        try (0..<count).map { try item(shop, $0) }
    }

    enum Barren: CaseIterable { case empty, refused, aCycle }

    @Test(arguments: Place.available, Barren.allCases)
    func `pages that bring nothing new take a tenth of the hour's budget`(_ place: Place, _ kind: Barren) throws {
        let shop = try Shop(place, requestsPerHour: 200)
        let items = try Self.items(shop, 7)
        try shop.reconciler.begin()
        let byHour = answer(shop) { number in
            switch kind {
            case .empty: ("", "\(number)")
            case .refused: (#"{"signedPayload":"a.b.\#(number)","sendAttempts":[]}"#, "\(number)")
            case .aCycle: (items[number % 7], "\(number)")
            }
        }
        shop.tick(for: .hours(9))
        // A window restarted after hours is read again.
        let new = kind == .aCycle ? 2 * 7 : 0
        // Each of the two inquiries learns from a page of its own that there are no more.
        #expect(byHour.withLock { $0.values.max() ?? 0 } <= 20 + 1 + new, "\(byHour.withLock(\.self))")
        #expect(byHour.withLock(\.count) >= 8)
    }

    @Test(arguments: Place.available)
    func `pages that bring something new have no end but their own, and go on in the next hour`(_ place: Place) throws {
        let shop = try Shop(place, requestsPerHour: 40)
        let items = try Self.items(shop, 90)
        try shop.reconciler.begin()
        let byHour = answer(shop) { number in
            // For both inquiries, most pages have something new.
            number < 90 ? (number % 12 == 0 ? "" : items[number], "\(number)") : ("", nil)
        }
        shop.tick(for: .hours(4))
        #expect(byHour.withLock { $0.values.max() ?? 0 } <= 40)
        #expect(try shop.rows("SELECT 1 FROM notifications").count == 82)
        #expect(try shop.checkpoint().completeUntil != nil)
    }

    @Test func `a dry run ends with a tenth of the hour's budget of pages that bring nothing new, and is not complete`()
        throws
    {
        let shop = try Shop(.sqlite, requestsPerHour: 200)
        let items = try Self.items(shop, 3)
        let byHour = answer(shop) { (items[$0 % 3], "\($0)") }
        let result = try shop.reconciler.reconcile(since: Shop.start - .days(6), dryRun: true)
        #expect(!result.isComplete && byHour.withLock { $0.values.reduce(0, +) } <= 20 + 3)
        let missing = shop.found.compactMap { finding in
            if case .missing(_, let type, _, _) = finding { type } else { nil }
        }
        #expect(missing == ["REFUND", "REFUND", "REFUND"])
    }

    @Test(arguments: ["{}", #"{"status":"ok"}"#])
    func `an object with no member of a page is none, and the page is asked for again`(_ body: String) throws {
        let shop = try Shop(.sqlite)
        let coins = try refunded(shop)
        shop.stranger.withLock { stranger in
            stranger = { request in
                guard request.url.contains("notifications/history") else { return nil }
                return HTTPTransport.Answer(status: 200, body: Array(body.utf8))
            }
        }
        let before = try shop.checkpoint().completeUntil
        shop.tick(for: .hours(3))
        #expect(try shop.checkpoint().completeUntil == before && shop.quantity(coins) == "1")
        shop.stranger.withLock { $0 = { _ in nil } }
        shop.tick(for: .hours(6))
        #expect(try shop.quantity(coins) == "0" && shop.checkpoint().gap == nil)
    }

    @Test func `a notification without its payload leaves a doubt, for which is asked again`() throws {
        let shop = try Shop(.sqlite)
        try shop.reconciler.begin()
        let body = Array(#"{"notificationHistory":[{"sendAttempts":[]}],"hasMore":false}"#.utf8)
        shop.stranger.withLock { $0 = { _ in HTTPTransport.Answer(status: 200, body: body) } }
        while case .asked = shop.reconciler.runOnce() {}
        #expect(try shop.checkpoint().doubts == 1)
    }

    @Test(arguments: [Pages.withoutToken, .withTheSameToken])
    func `a dry run that could not read all pages says so by its status`(_ pages: Pages) throws {
        let shop = try Shop(.sqlite)
        shop.stranger.withLock { $0 = { _ in pages.answer(1) } }
        let result = try shop.reconciler.reconcile(dryRun: true)
        #expect(!result.isComplete && result.status == 1)
    }

    @Test(arguments: [
        (200, ""), (200, "<html>Welcome to the hotel's network</html>"), (200, "{}"), (200, "[]"), (200, "null"),
        (200, #"{"signedTransactionInfo":7}"#), (200, #"{"signedTransactionInfo":""}"#),
        (200, #"{"signedTransactionInfo":"a.b.c"}"#), (204, ""), (302, ""), (404, ""), (404, "<html>"),
        (451, "{}"), (500, "{}"), (599, String(repeating: "[", count: 1 << 20)),
        (200, String(repeating: "[", count: 1 << 20)), (404, #"{"errorCode":-9223372036854775808}"#),
        (404, #"{"errorCode":4040010.5}"#), (429, "{}"),
    ])
    func `what says nothing confirms nothing, takes nothing back, and is asked for again`(
        status: Int, body: String
    ) throws {
        let shop = try Shop(.sqlite)
        let coins = try shop.unnotified()
        shop.stranger.withLock { $0 = { _ in HTTPTransport.Answer(status: status, body: Array(body.utf8)) } }
        shop.tick(for: .hours(3))
        #expect(try shop.rows("SELECT 1 FROM confirmations").isEmpty)
        #expect(try shop.quantity(coins) == "1")
        shop.stranger.withLock { $0 = { _ in nil } }
        shop.tick(for: .hours(25))
        let confirmed = try shop.rows("SELECT 1 FROM confirmations WHERE confirmed_at IS NOT NULL").count
        // After a final error, or a fault of ours, an operator must ask again.
        let failed = try shop.ledger.failedInquiries()
        #expect(confirmed + failed.count == 1 && (failed.isEmpty || body.contains("errorCode")))
        #expect(try shop.reconciler.reconcile().status == 0)
        #expect(try shop.rows("SELECT 1 FROM confirmations WHERE confirmed_at IS NOT NULL").count == 1)
    }

    @Test(arguments: [
        "99999999999999999999", "9223372036854775807", "-1", "", "0", "1e9", "Fri, 31 Dec 9999 23:59:59 GMT",
    ])
    func `whatever Retry-After says, an endpoint is asked again within a day, and not at once`(header: String) throws {
        let shop = try Shop(.sqlite)
        try shop.unnotified()
        let count = Guarded(0)
        shop.stranger.withLock { body in
            body = { _ in
                let number = count.increment()
                return number > 1 ? nil : HTTPTransport.Answer(status: 429, body: [], retryAfter: header, date: nil)
            }
        }
        shop.tick(for: .seconds(900))
        #expect(count.withLock(\.self) >= 1)
        shop.tick(for: .hours(24.1))
        #expect(try shop.rows("SELECT 1 FROM confirmations WHERE confirmed_at IS NOT NULL").count == 1)
    }

    @Test(
        arguments: [
            "purchaseDate", "originalPurchaseDate", "expiresDate", "revocationDate", "signedDate",
        ], [Int64.min, -62_135_596_800_001, -1, 0, 253_402_300_800_000, .max])
    func `dates beyond all calendars are recorded or refused, and harm nobody`(_ member: String, _ date: Int64) throws {
        let shop = try Shop(.sqlite)
        let coins = try shop.unnotified()
        let subscription = shop.store.change(customer: 1) {
            $0.subscribe(to: "monthly", in: "group", for: .days(30), at: Shop.start)
        }
        #expect(try shop.redeem(subscription.firstPeriod) == [.granted])
        let history = try #require(shop.store.histories[1])
        var answers: [String: String] = [:]
        for transaction in [coins, subscription.firstPeriod] {
            var builder = try #require(history.transaction(transaction, signedAt: shop.store.now))
            builder.payload[member] = .integer(date)
            answers[transaction.transactionID] = try builder.signed(by: shop.store.authority)
        }
        shop.stranger.withLock { body in
            body = { [answers] request in
                let id = answers.keys.first { request.url.hasSuffix("/" + $0) }
                guard let id, let jws = answers[id] else { return nil }
                let json =
                    request.url.contains("/subscriptions/")
                    ? #"{"data":[{"lastTransactions":[{"status":1,"originalTransactionId":"\#(id)","signedTransactionInfo":"\#(jws)"}]}]}"#
                    : #"{"signedTransactionInfo":"\#(jws)"}"#
                return HTTPTransport.Answer(status: 200, body: Array(json.utf8))
            }
        }
        shop.tick(for: .hours(2))
        _ = try shop.reconciler.reconcile(account: "anna")
        shop.stranger.withLock { $0 = { _ in nil } }
        // Other purchases go on.
        let now = shop.store.now
        let gems = shop.store.change(customer: 1) { $0.buyConsumable("gems", at: now) }
        #expect(try shop.redeem(gems) == [.granted])
        shop.tick(for: .hours(2))
        let confirmed = try shop.rows("SELECT 1 FROM confirmations WHERE transaction_id = '\(gems.transactionID)'")
        #expect(confirmed.count == 1)
    }

    // MARK: Clocks and leases

    @Test(arguments: Place.available, [Duration.days(10), .hours(20)])
    func `what a clock that was ahead has put off is asked for when it is right again`(
        _ place: Place, _ error: Duration
    ) throws {
        let shop = try Shop(place)
        try shop.reconciler.begin()
        shop.tick(for: .hours(1))
        // Apple refuses tokens of the future.
        shop.clockError.withLock { $0 = error }
        shop.store.inject(.unauthorized, count: 1000)
        shop.tick(for: .hours(3))
        #expect(shop.reconciler.stopped.keys.contains(shop.app))
        shop.clockError.withLock { $0 = .zero }
        shop.store.endFaults()
        let coins = try shop.unnotified()
        let date = shop.store.now
        shop.store.change(customer: 1) { $0.refund(coins, at: date) }
        shop.store.deliverNotifications()
        shop.tick(for: .hours(1))
        #expect(try shop.quantity(coins) == "0")
        #expect(try #require(shop.checkpoint().completeUntil) > date)
        #expect(shop.reconciler.stopped.isEmpty)
    }

    @Test(arguments: Place.available)
    func `who waited for an answer for longer than the lease changes nothing that another server did since`(
        _ place: Place
    ) throws {
        let shop = try Shop(place)
        let coins = try shop.unnotified()
        let other = try shop.another()
        let isFirst = Guarded(true)
        shop.onRequest.withLock { [store = shop.store] body in
            body = { _ in
                let wasFirst = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                guard wasFirst else { return }
                // Meanwhile the other one asks, and Apple does not know the transaction.
                store.setClock(store.now + .seconds(61))
                store.inject(.notFound, into: .transactionInfo)
                while case .asked = other.runOnce() {}
            }
        }
        try shop.run(for: .seconds(725))
        let due = try shop.rows("SELECT attempts, state FROM questions WHERE kind = 'transaction'")
        // The slow one still has an answer, and a confirmed transaction needs no inquiry.
        #expect(due.isEmpty || due == [["0", "pending"]])
        try shop.run(for: .hours(1))
        #expect(try shop.inquiries.isEmpty && shop.quantity(coins) == "1")
        #expect(try shop.rows("SELECT 1 FROM confirmations WHERE confirmed_at IS NOT NULL").count == 1)
    }

    // MARK: Refunds

    @Test(arguments: Place.available)
    func `with the sweep, a refund is found without any notification, for 90 days, each page once`(_ place: Place)
        throws
    {
        let shop = try Shop(place, sweepsRefunds: true)
        try shop.unnotified()
        let others = shop.store.change(customer: 1) { history in
            (0..<45).map { history.buyConsumable("coins \($0)", at: Shop.start) }
        }
        let gems = shop.store.change(customer: 2) { $0.buyConsumable("gems", at: Shop.start) }
        #expect(try shop.redeem(gems, customer: 2) == [.granted])
        try shop.run(for: .days(1))
        #expect(shop.requests(.refundHistory) == 0)
        let date = shop.store.now
        shop.store.change(customer: 1) { history in for other in others { history.refund(other, at: date) } }
        shop.store.change(customer: 2) { $0.refund(gems, at: date) }
        try shop.run(for: .days(8))
        #expect(try shop.quantity(gems) == "0" && shop.causes.last == "revoked reconciliation")
        // Three pages of one customer, and one of the other, who has nothing refundable left.
        #expect(shop.requests(.refundHistory) == 3 + 1)
        #expect(try shop.rows("SELECT 1 FROM evidence").count == 48)
        try shop.run(for: .days(120))
        // Then what is new, each week: for 90 days.
        #expect(11...12 ~= shop.requests(.refundHistory) - 4)
        #expect(try !shop.inquiries.contains { $0.hasPrefix("refunds") })
    }

    @Test func `refunds without an end are left after 50 pages, until next week`() throws {
        let shop = try Shop(.sqlite, sweepsRefunds: true)
        try shop.unnotified()
        let count = Guarded(0)
        shop.stranger.withLock { body in
            body = { request in
                guard request.url.contains("/refund/") else { return nil }
                let number = count.increment()
                let json = #"{"hasMore":true,"revision":"\#(number)","signedTransactions":[]}"#
                return HTTPTransport.Answer(status: 200, body: Array(json.utf8))
            }
        }
        try shop.run(for: .days(8.5))
        #expect(count.withLock(\.self) == 51)
    }
}
