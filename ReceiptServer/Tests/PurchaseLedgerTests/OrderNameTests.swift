import AppStoreReceipt
import AppStoreReceiptTesting
import LedgerTestSupport
@testable import PurchaseLedger
import Testing

/// The order that a purchase closes and events name, the token in events, and the shop's order ids.
@Suite struct OrderNameTests {
    private static let stored = AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a07")!

    private static let policy = {
        var policy = LedgerPolicy()
        policy.orders = OrderPolicy()
        return policy
    }()

    private func order(
        _ ledger: PurchaseLedger, _ shopOrderID: String?, _ product: String = "coins", for account: String = "anna",
        of bundleID: String = Minted.bundleID, in environment: AppStoreEnvironment = .production, key: String? = nil,
        at date: Instant = day(9)
    ) throws(LedgerError) -> Order {
        try ledger.placeOrder(
            for: account, productID: product, bundleID: bundleID, in: environment, idempotencyKey: key,
            shopOrderID: shopOrderID,
            at: date)
    }

    private func code(_ body: () throws(LedgerError) -> Order) -> LedgerError.Code? {
        do throws(LedgerError) {
            _ = try body()
            return nil
        } catch {
            return error.code
        }
    }

    // MARK: The order

    /// The orders of an account, and the purchase of coins on day 10.
    struct Purchase: Sendable, CustomTestStringConvertible {
        enum Token: Sendable { case annas, bens, stored, none, noUUID }

        struct Ordered: Sendable {
            var account = "anna"
            var product = "coins"
            var bundleID = Minted.bundleID
            var environment = AppStoreEnvironment.production
            var day = 9.0
        }

        let testDescription: String
        let orders: [Ordered]
        let token: Token
        /// The order that events name, and the one that is closed.
        let named, closed: Int?

        init(_ name: String, _ orders: [Ordered], _ token: Token, named: Int? = nil, closed: Int? = nil) {
            (testDescription, self.orders, self.token) = (name, orders, token)
            (self.named, self.closed) = (named, named ?? closed)
        }

        static let all = [
            Self("one, with its token", [.init()], .annas, named: 0),
            Self("one, without a token", [.init()], .none, named: 0),
            Self("one, with a text that is no token", [.init()], .noUUID, named: 0),
            Self("one, with another token of the account", [.init()], .stored, closed: 0),
            Self("two, with their token", [.init(day: 9), .init(day: 8)], .annas, closed: 1),
            Self("two, without a token", [.init(day: 9), .init(day: 8)], .none, closed: 1),
            Self("two of two tokens", [.init(day: 8), .init(account: "ben", day: 9)], .bens, named: 1),
            Self(
                "two of two tokens, without a token", [.init(account: "ben", day: 9), .init(day: 8)], .none, closed: 1),
            Self(
                "three, of which two have the token", [.init(account: "ben", day: 8), .init(), .init()], .bens, named: 0
            ),
            Self("an abandoned one, and another", [.init(day: 2), .init()], .none, named: 1),
            Self("an abandoned one", [.init(day: 2)], .annas),
            Self("one of another product", [.init(product: "gems")], .annas),
            Self("one of another app, and another", [.init(bundleID: "com.example.other"), .init()], .none, named: 1),
            Self("one of the sandbox", [.init(environment: .sandbox)], .annas),
            Self("none", [], .annas),
        ]
    }

    @Test(arguments: Purchase.all, Place.available)
    func `the only open order of the token is named, or the only one of a purchase without a token`(
        _ purchase: Purchase, _ place: Place
    ) throws {
        try place.withLedger(Self.policy) { ledger in
            let annas = try ledger.token(for: "anna").token
            let bens = try ledger.token(for: "ben").token
            _ = try ledger.token(for: "anna", storing: Self.stored)
            var orders: [Order] = []
            for (number, each) in purchase.orders.enumerated() {
                orders.append(
                    try order(
                        ledger, "shop's \(number)", each.product, for: each.account, of: each.bundleID,
                        in: each.environment, at: day(each.day)))
            }
            try ledger.transfer(from: "ben", to: "anna", movesTokens: true, reason: "merged", at: day(9.9))
            let token: String? =
                switch purchase.token {
                case .annas: annas.description
                case .bens: bens.description
                case .stored: Self.stored.description
                case .noUUID: "anna's"
                case .none: nil
                }
            var history = PurchaseHistory(bundleID: Minted.bundleID, appAccountToken: token)
            let coins = history.buyConsumable("coins", at: day(10))
            #expect(
                try ledger.outcomes(history.evidence(coins, signedAt: day(10)), for: "anna", at: day(10)) == [.granted])
            for (number, order) in orders.enumerated() {
                let found = try ledger.order(withID: order.id, at: day(10))
                #expect(found.transactionID == (purchase.closed == number ? coins.transactionID : nil), "\(number)")
            }
            #expect(try ledger.purchasesWithoutOrder().count == (purchase.closed == nil ? 1 : 0))
            // The refund names it, too.
            history.refund(coins, at: day(11))
            try ledger.record(#require(history.verifiedNotifications(through: day(12)).last), at: day(12))
            let events = try ledger.events()
            #expect(events.map(\.kind) == [.granted, .revoked])
            for event in events {
                #expect(event.orderID == purchase.named.map { orders[$0].id })
                #expect(event.shopOrderID == purchase.named.map { "shop's \($0)" })
            }
            let name = TransactionName(
                environment: .production, bundleID: Minted.bundleID, transactionID: coins.transactionID)
            let story = try ledger.story(of: name)
            #expect(story?.orderID == events[0].orderID && story?.shopOrderID == events[0].shopOrderID)
        }
    }

    @Test(arguments: Place.available)
    func `of two purchases in one receipt, each closes its order, and neither is named`(_ place: Place) throws {
        try place.withLedger(Self.policy) { ledger in
            let orders = [try order(ledger, "a", at: day(8)), try order(ledger, "b", at: day(9))]
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = (0..<2).map { _ in history.buyNonConsumable("coins", at: day(9.5)) }
            let receipt = try Minted.evidence(history.receipt(signedAt: day(10), of: coins))
            #expect(try ledger.outcomes(receipt, for: "anna", at: day(10)).first == .granted)
            let states = try orders.map { try ledger.order(withID: $0.id, at: day(10)).state }
            #expect(states.first == .granted)
            // With two open orders, neither is certain. When one is closed, the other is.
            #expect(try ledger.events().map(\.shopOrderID).first == .some(nil))
        }
    }

    // MARK: The token

    @Test(arguments: Place.available)
    func `events carry the token of a transaction that is the event's own account's, and no other`(
        _ place: Place
    ) throws {
        try place.withLedger(Self.policy) { ledger in
            // Anna submits what was bought with a token that nobody has yet.
            var history = PurchaseHistory(bundleID: Minted.bundleID, appAccountToken: Self.stored.description)
            let coins = history.buyConsumable("coins", at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(1))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
            // It is Ben's.
            #expect(try ledger.token(for: "ben", storing: Self.stored, at: day(2)).isNew)
            try ledger.transfer(from: "anna", to: "ben", transactionID: coins.transactionID, reason: "his", at: day(3))
            // Another account of the same person takes over all, with the token.
            try ledger.transfer(from: "ben", to: "carl", movesTokens: true, reason: "merged", at: day(4))
            func posted(_ account: String) throws -> [String] {
                try ledger.events().filter { $0.account == account }.map {
                    "\($0.kind) \($0.accountToken.map { $0 == Self.stored ? "own" : "another" } ?? "none")"
                }
            }
            #expect(try posted("anna") == ["granted none", "conflict none", "revoked none"])
            #expect(try posted("ben") == ["granted own", "revoked own"])
            #expect(try posted("carl") == ["granted own"])
            // A deleted account's token would identify it.
            let name = try ledger.deleteAccount("carl")
            history.refund(coins, at: day(5))
            try ledger.record(#require(history.verifiedNotifications(through: day(6)).last), at: day(6))
            #expect(try posted(name) == ["revoked none"])
        }
    }

    @Test(arguments: Place.available)
    func `without orders, events name neither an order nor a token`(_ place: Place) throws {
        try place.withLedger { ledger in
            let token = try ledger.token(for: "anna").token
            _ = try order(ledger, "a")
            var history = PurchaseHistory(bundleID: Minted.bundleID, appAccountToken: token.description)
            let coins = history.buyConsumable("coins", at: day(9))
            _ = try ledger.redeem(
                history.evidence(coins, signedAt: day(9)), for: "anna", accountToken: token, at: day(9))
            let event = try #require(ledger.events().first)
            #expect(event.accountToken == nil && event.orderID == nil)
        }
    }

    // MARK: The shop's id

    @Test(arguments: Place.available)
    func `a shop's id is that of one order, whoever repeats it`(_ place: Place) throws {
        try place.withLedger(Self.policy) { ledger in
            let longest = String(repeating: "订", count: 85)
            for id in ["1", longest, "e\u{301}", "\u{e9}", " "] {
                let first = try order(ledger, id)
                #expect(first.shopOrderID == id && first.state == .open)
                let again = try order(ledger, id, at: day(10))
                #expect(again.id == first.id && again.createdAt == first.createdAt && again.shopOrderID == id)
            }
            let rows: [(product: String, account: String, bundleID: String, AppStoreEnvironment)] = [
                ("gems", "anna", Minted.bundleID, .production), ("coins", "ben", Minted.bundleID, .production),
                ("coins", "anna", "com.example.other", .production), ("coins", "anna", Minted.bundleID, .sandbox),
            ]
            for row in rows {
                #expect(
                    code { () throws(LedgerError) in
                        try order(ledger, "1", row.product, for: row.account, of: row.bundleID, in: row.3)
                    } == .shopOrderTaken)
            }
            // Nothing was made, not even a token.
            #expect(try ledger.tokens(of: "ben") == nil)
            for id in ["", longest + "!", "a\0"] {
                #expect(code { () throws(LedgerError) in try order(ledger, id) } == .invalidText)
            }
            #expect(try order(ledger, nil).id != order(ledger, nil).id)
        }
    }

    @Test(arguments: Place.available)
    func `a key and a shop's id are of one order, or refused`(_ place: Place) throws {
        try place.withLedger(Self.policy) { ledger in
            let first = try order(ledger, "1", key: "k")
            #expect(try order(ledger, "1", key: "k").id == first.id && order(ledger, "1").id == first.id)
            #expect(try order(ledger, "1", key: "another").id == first.id)
            for id in ["2", nil] {
                #expect(code { () throws(LedgerError) in try order(ledger, id, key: "k") } == .idempotencyKeyReused)
            }
            #expect(code { () throws(LedgerError) in try order(ledger, "1", for: "ben", key: "k") } == .shopOrderTaken)
        }
    }

    @Test(arguments: Place.available)
    func `a shop's id goes with its account, and with what is open of it`(_ place: Place) throws {
        try place.withLedger(Self.policy) { ledger in
            let first = try order(ledger, "1")
            try ledger.transfer(from: "anna", to: "ben", movesTokens: true, reason: "merged", at: day(9.5))
            #expect(try order(ledger, "1", for: "ben").id == first.id)
            #expect(code { () throws(LedgerError) in try order(ledger, "1") } == .shopOrderTaken)
            func found(_ word: String) throws -> [String] {
                try ledger.find(word).map { finding in
                    if case .order(let id, let account, let transaction) = finding {
                        "\(id == first.id) \(account) \(transaction?.transactionID ?? "-")"
                    } else {
                        "\(finding)"
                    }
                }
            }
            #expect(try found("1") == ["true ben -"] && found(first.id) == ["true ben -"] && found("2").isEmpty)
            _ = try ledger.deleteAccount("ben")
            #expect(try found("1").isEmpty)
            let rows = try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT event FROM outbox UNION ALL SELECT shop_order_id FROM orders")
            }
            #expect(rows.isEmpty)
            #expect(try order(ledger, "1", for: "carl").id != first.id)
        }
    }

    @Test(arguments: Place.available)
    func `an order that may not be the purchase's does not lead support to it`(_ place: Place) throws {
        try place.withLedger(Self.policy) { ledger in
            let orders = [try order(ledger, "abandoned", at: day(8)), try order(ledger, "paid", at: day(9))]
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", at: day(9.5))
            _ = try ledger.redeem(history.evidence(coins, signedAt: day(10)), for: "anna", at: day(10))
            #expect(try ledger.order(withID: orders[0].id, at: day(10)).state == .granted)
            for word in ["abandoned", orders[0].id] {
                guard case .order(_, "anna", nil)? = try ledger.find(word).first else {
                    Issue.record("\(word)")
                    continue
                }
            }
            let more = history.buyConsumable("coins", at: day(9.6))
            _ = try ledger.redeem(history.evidence(more, signedAt: day(10)), for: "anna", at: day(10))
            guard case .order(_, "anna", let name?)? = try ledger.find("paid").first else {
                Issue.record("paid")
                return
            }
            #expect(name.transactionID == more.transactionID)
        }
    }

    @Test(arguments: Place.available, [false, true])
    func `of requests at the same moment with one shop's id, one makes the order`(
        _ place: Place, _ isOneAccount: Bool
    ) throws {
        let location = try place.makeLocation()
        let ledgers = try (0..<2).map { _ in try PurchaseLedger(location.text, policy: Self.policy) }
        for round in 0..<10 {
            let (ids, refused) = (Guarded<[String]>([]), Guarded(0))
            inThreads(8) { number in
                do throws(LedgerError) {
                    let account = isOneAccount ? "anna" : "account \(number)"
                    let made = try order(ledgers[number % 2], "order \(round)", for: account)
                    ids.withLock { $0.append(made.id) }
                } catch {
                    #expect(error.code == .shopOrderTaken)
                    refused.withLock { $0 += 1 }
                }
            }
            #expect(Set(ids.withLock(\.self)).count == 1)
            #expect(ids.withLock(\.count) == (isOneAccount ? 8 : 1))
            #expect(refused.withLock(\.self) == (isOneAccount ? 0 : 7))
        }
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `what a shop's id names is limited as what has a key`(_ place: Place) throws {
        try place.withLedger(Self.policy) { ledger in
            for number in 0..<1000 { _ = try order(ledger, "\(number)") }
            #expect(code { () throws(LedgerError) in try order(ledger, "one more") } == .tooManyOrders)
            #expect(try order(ledger, "7").shopOrderID == "7")
        }
    }

    // MARK: Older ledgers

    @Test(arguments: Place.available)
    func `an order that an older version closed is not named, and its events have every member`(_ place: Place) throws {
        let location = try place.makeEmptyLocation()
        let store = try LedgerLocation(location.text).open(.creating)
        try MigrationTests.makeLedger(ofVersion: 5, in: store)
        try store.migrate { (connection) throws(LedgerError) in
            for (id, transaction) in [("closed", "1"), ("open", nil)] as [(String, String?)] {
                try connection.run(
                    "INSERT INTO orders VALUES ($1, 'anna', 'production', $2, 'coins', 'token', NULL, $3, $4)",
                    [.text(id), .text(Minted.bundleID), SQLValue(day(9)), SQLValue(transaction)])
            }
        }
        let ledger = try PurchaseLedger(location.text, policy: Self.policy)
        let events = try ledger.events()
        #expect(
            events.count == 2 && events.allSatisfy { $0.orderID == nil && $0.accountToken == nil && $0.seats == nil })
        #expect(events.allSatisfy { $0.purchaseDate == nil && $0.length == nil && $0.account == "anna" })
        guard case .order(_, "anna", nil)? = try ledger.find("closed").first else {
            Issue.record("closed")
            return
        }
        var history = PurchaseHistory(bundleID: Minted.bundleID, customer: 7)
        let coins = history.buyConsumable("coins", at: day(10))
        _ = try ledger.redeem(history.evidence(coins, signedAt: day(10)), for: "anna", at: day(10))
        #expect(try ledger.events().last?.orderID == "open")
        withExtendedLifetime(location) {}
    }
}
