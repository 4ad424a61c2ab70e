import AppStoreReceipt
import AppStoreReceiptTesting
import Dispatch
import LedgerTestSupport
@testable import PurchaseLedger
import Testing

/// The smallest examples of R1 to R15, by their numbers in `ORDERS.md`.
@Suite struct OrderRuleTests {
    private static let annas = AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a01")!
    private static let bens = AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a02")!

    private func policy(requiringTokenSince date: Instant? = nil) -> LedgerPolicy {
        var policy = LedgerPolicy()
        policy.orders = OrderPolicy()
        policy.orders?.requiresTokenSince = date
        return policy
    }

    private func history(_ token: AppAccountToken?) -> PurchaseHistory {
        PurchaseHistory(bundleID: Minted.bundleID, appAccountToken: token?.description)
    }

    /// The accounts of grants with a quantity.
    private func owners(_ ledger: PurchaseLedger) throws -> [String] {
        try LedgerState(ledger).grants.values.map(\.account).sorted()
    }

    private func notify(_ ledger: PurchaseLedger, _ history: PurchaseHistory, at date: Instant) throws {
        for notification in try history.verifiedNotifications(through: date) {
            try ledger.record(notification, at: date)
        }
    }

    @Test(arguments: Place.available)
    func `every purchase without an order is listed, in parts`(_ place: Place) throws {
        try place.withLedger(policy()) { ledger in
            var history = history(nil)
            let coins = (0..<5).map { _ in history.buyConsumable("coins", at: day(0)) }
            // Two at each date.
            for (index, coin) in coins.enumerated() {
                let date = day(Double(index / 2) + 1)
                #expect(
                    try ledger.outcomes(history.evidence(coin, signedAt: day(1)), for: "anna", at: date) == [.granted])
            }
            var (found, cursor, parts): ([String], String?, Int) = ([], nil, 0)
            repeat {
                let part = try ledger.purchasesWithoutOrder(after: cursor, limit: 2)
                found += part.purchases.map(\.transactionID)
                (cursor, parts) = (part.next, parts + 1)
            } while cursor != nil && parts < 10
            #expect(found == [4, 3, 2, 1, 0].map { coins[$0].transactionID } && parts == 3)
            #expect(try ledger.purchasesWithoutOrder().map(\.transactionID) == found)
            for cursor in ["", "1", "1-0", "1-3-1", "1-0-zz", "-0-"] {
                let error = #expect(throws: LedgerError.self) { try ledger.purchasesWithoutOrder(after: cursor) }
                #expect(error?.code == .invalidText, "\(cursor)")
            }
        }
    }

    @Test(arguments: Place.available)
    func `an account has 100 open orders at most, and 1,000 with keys`(_ place: Place) throws {
        try place.withLedger(policy()) { ledger in
            func order(_ key: String? = nil, of account: String = "anna", at date: Instant = day(1)) throws(LedgerError)
                -> Order
            {
                try ledger.placeOrder(
                    for: account, productID: "coins", bundleID: Minted.bundleID, in: .production, idempotencyKey: key,
                    at: date)
            }
            func code(_ body: () throws(LedgerError) -> Order) -> LedgerError.Code? {
                do throws(LedgerError) {
                    _ = try body()
                    return nil
                } catch {
                    return error.code
                }
            }
            for _ in 0..<100 { _ = try order() }
            #expect(code { () throws(LedgerError) in try order() } == .tooManyOrders)
            for number in 0..<900 { _ = try order("\(number)") }
            #expect(code { () throws(LedgerError) in try order("one more") } == .tooManyOrders)
            // The same attempt to buy is the same order; others have their own; what is abandoned is not open.
            #expect(try order("5").id == order("5").id)
            #expect(code { () throws(LedgerError) in try order(of: "ben") } == nil)
            #expect(code { () throws(LedgerError) in try order(at: day(30)) } == nil)
        }
    }

    @Test(arguments: Place.available)
    func `at the same moment, an account has no more open orders, either`(_ place: Place) throws {
        let location = try place.makeLocation()
        let ledger = try PurchaseLedger(location.text, policy: policy())
        let (made, refused) = (Guarded(0), Guarded(0))
        inThreads(8) { _ in
            for _ in 0..<20 {
                do throws(LedgerError) {
                    _ = try ledger.placeOrder(
                        for: "anna", productID: "coins", bundleID: Minted.bundleID, in: .production)
                    made.withLock { $0 += 1 }
                } catch {
                    #expect(error.code == .tooManyOrders)
                    refused.withLock { $0 += 1 }
                }
            }
        }
        #expect(made.withLock(\.self) == 100 && refused.withLock(\.self) == 60)
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `an account has one token, until it is deleted`(_ place: Place) throws {
        try place.withLedger(policy()) { ledger in
            let first = try ledger.token(for: "anna")
            #expect(first.isNew && AppAccountToken(uuid: first.token.description) != nil)
            // Support finds it before it buys.
            #expect(try ledger.history(of: "anna")?.entries.isEmpty == true && ledger.history(of: "ben") == nil)
            let second = try ledger.token(for: "anna")
            #expect(!second.isNew && second.token == first.token)
            #expect(try ledger.token(for: "anna", storing: Self.annas).isNew)
            #expect(try !ledger.token(for: "anna", storing: Self.annas).isNew)
            #expect(try ledger.token(for: "anna").token == first.token)
            for account in ["ben", "anna"] {
                if account == "anna" { _ = try ledger.deleteAccount("anna") }
                let error = #expect(throws: LedgerError.self) { try ledger.token(for: account, storing: Self.annas) }
                #expect(error?.code == .tokenTaken)
            }
            #expect(try ledger.token(for: "anna").token != first.token)
        }
    }

    @Test(arguments: Place.available)
    func `a shared purchase belongs to the account that submits it, whatever token it has`(_ place: Place) throws {
        try place.withLedger(policy()) { ledger in
            _ = try ledger.token(for: "anna", storing: Self.annas)
            var history = history(Self.annas)
            let pro = history.buyNonConsumable("pro", at: day(0), ownershipType: .familyShared)
            try notify(ledger, history, at: day(1))
            #expect(try owners(ledger) == [])
            // Apple signs none with a token, and neither does a history.
            var shared = try #require(history.transaction(pro, signedAt: day(1)))
            shared.appAccountToken = Self.annas.description
            #expect(try ledger.outcomes(Minted.evidence(shared), for: "ben", at: day(1)) == [.granted])
            #expect(try owners(ledger) == ["ben"])
        }
    }

    @Test(arguments: Place.available)
    func `the nil UUID, which apps send when they have none, is no token`(_ place: Place) throws {
        try place.withLedger(policy()) { ledger in
            let error = #expect(throws: LedgerError.self) {
                try ledger.token(for: "anna", storing: AppAccountToken("00000000-0000-0000-0000-000000000000")!)
            }
            #expect(error?.code == .invalidText)
        }
    }

    @Test(arguments: Place.available)
    func `an idempotency key of an order belongs to a product, an app and an environment`(_ place: Place) throws {
        try place.withLedger(policy()) { ledger in
            func order(
                _ product: String, _ bundleID: String, _ environment: AppStoreEnvironment
            ) throws(LedgerError) -> String {
                try ledger.placeOrder(
                    for: "anna", productID: product, bundleID: bundleID, in: environment, idempotencyKey: "k",
                    at: day(0)
                ).id
            }
            let first = try order("pro", Minted.bundleID, .production)
            #expect(try order("pro", Minted.bundleID, .production) == first)
            for (product, bundleID, environment) in [
                ("coins", Minted.bundleID, .production), ("pro", "com.example.other", .production),
                ("pro", Minted.bundleID, .sandbox),
            ] as [(String, String, AppStoreEnvironment)] {
                let error = #expect(throws: LedgerError.self) { try order(product, bundleID, environment) }
                #expect(error?.code == .idempotencyKeyReused)
            }
        }
    }

    @Test(arguments: Place.available)
    func `an order is forgotten 30 days after it was abandoned, and no other`(_ place: Place) throws {
        let location = try place.makeLocation()
        let ledger = try PurchaseLedger(location.text, policy: policy())
        // The order time is 3 days.
        let orders = try [("open", 2), ("granted", 40), ("29 days", 32), ("31 days", 34)].map { account, age in
            try ledger.placeOrder(
                for: account, productID: "coins", bundleID: Minted.bundleID, in: .production,
                at: day(Double(100 - age)))
        }
        var history = history(nil)
        let coins = history.buyConsumable("coins", at: day(60))
        let evidence = try history.evidence(coins, signedAt: day(60))
        #expect(try ledger.outcomes(evidence, for: "granted", at: day(61)) == [.granted])
        // A process without orders does not know when they end: after a year at the latest.
        try PurchaseLedger(location.text).removeHistory(before: day(100))
        try ledger.removeHistory(before: day(100) - EventDelivery.retention)
        let states = orders.map { order in
            do throws(LedgerError) {
                return try ledger.order(withID: order.id, at: day(100)).state.rawValue
            } catch {
                return error.code.rawValue
            }
        }
        #expect(states == ["open", "granted", "abandoned", "not-found"])
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `many abandoned orders are found by an index, and removed in parts`(_ place: Place) throws {
        try place.withLedger(policy()) { ledger in
            let plan = try ledger.store.write { (connection) throws(LedgerError) in
                let numbers =
                    place == .sqlite
                    ? "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n)"
                    : "(SELECT generate_series(1, 5000) AS i)"
                // Every second one was granted.
                try connection.run(
                    """
                    INSERT INTO orders (id, account, environment, bundle_id, product_id, token, idempotency_key,
                        created_at, transaction_id)
                    SELECT 'order ' || i, 'account ' || i, 'production', 'com.example.app', 'coins',
                        'token', NULL, i, CASE WHEN i % 2 = 0 THEN 'transaction ' || i END
                    FROM \(numbers) AS numbers
                    """)
                let explain = place == .sqlite ? "EXPLAIN QUERY PLAN " : "EXPLAIN "
                let text = OrderQuery.old.replacing("$1", with: "\(day(1).millisecondsSince1970)")
                return try connection.run(explain + text).map { (row) throws(LedgerError) in
                    try row.text(place == .sqlite ? 3 : 0)
                }
            }
            #expect(plan.contains { $0.contains("orders_open") }, "\(plan)")
            try ledger.removeHistory(before: day(100))
            let left = try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT transaction_id FROM orders")
            }
            #expect(left.count == 2500)
            #expect(try left.allSatisfy { try $0.optionalText(0) != nil })
        }
    }

    @Test(arguments: Place.available)
    func `R13: an account can have 10,000 tokens, and all of them are renamed when it is deleted`(
        _ place: Place
    ) throws {
        try place.withLedger(policy()) { ledger in
            let tokens = (0..<10_000).map { _ in AppAccountToken.random() }
            try ledger.store.write { (connection) throws(LedgerError) in
                for token in tokens.dropLast() {
                    try connection.write(
                        "INSERT INTO account_tokens VALUES ($1, $2, 'stored', 0, NULL)",
                        [.text(token.description), .text("anna")])
                }
            }
            #expect(try ledger.imported([.token(account: "anna", tokens[9999])], at: day(1))[0].outcome == .added)
            let error = #expect(throws: LedgerError.self) { try ledger.token(for: "anna", storing: .random()) }
            #expect(error?.code == .tooManyTokens)
            let results = try ledger.imported(
                [.token(account: "anna", .random()), .token(account: "anna", tokens[0])], at: day(1))
            #expect(results.map(\.word) == ["too-many-tokens", "known"])
            // PostgreSQL has room for 64 locks of each connection, and 256 are taken, however many tokens there are.
            #expect(
                TokenLocks.statements(writing: Set(tokens), .postgreSQL).flatMap(\.parameters).allSatisfy {
                    if case .array(let locks) = $0 { locks.count <= 256 } else { false }
                })
            let name = try ledger.deleteAccount("anna")
            #expect(
                try ledger.store.read { (connection) throws(LedgerError) in try connection.tokenCount(of: name) }
                    == 10_000)
            #expect(throws: LedgerError.self) { try ledger.token(for: "ben", storing: tokens[5]) }
        }
    }

    @Test(arguments: Place.available)
    func `the tokens of an account are listed newest first, in parts`(_ place: Place) throws {
        try place.withLedger(policy()) { ledger in
            // Two of each moment, and others' tokens between them.
            let tokens = (0..<10_000).map { _ in AppAccountToken.random() }
            try ledger.store.write { (connection) throws(LedgerError) in
                for (number, token) in tokens.enumerated() {
                    try connection.write(
                        "INSERT INTO account_tokens VALUES ($1, $2, 'stored', $3, NULL)",
                        [.text(token.description), .text("anna"), .integer(Int64(number / 2))])
                    try connection.write(
                        "INSERT INTO account_tokens VALUES ($1, $2, 'stored', $3, NULL)",
                        [.text(AppAccountToken.random().description), .text("ben"), .integer(Int64(number))])
                }
            }
            let made = try ledger.token(for: "anna", at: day(0)).token
            let expected =
                [made]
                + stride(from: 9998, through: 0, by: -2).flatMap { number in
                    tokens[number...number + 1].sorted {
                        $1.description.utf8.lexicographicallyPrecedes($0.description.utf8)
                    }
                }
            func list(_ account: String, _ limit: Int) throws -> [AccountTokenList.Entry] {
                var found: [AccountTokenList.Entry] = []
                var next: String?
                repeat {
                    let part = try #require(try ledger.tokens(of: account, after: next, limit: limit))
                    #expect(part.count == 10_001 && part.entries.count <= limit)
                    found += part.entries
                    next = part.next
                } while next != nil
                return found
            }
            for limit in [499, 500] {
                let found = try list("anna", limit)
                #expect(found.map(\.token) == expected)
                #expect(found.map(\.kind) == [.made] + Array(repeating: .stored, count: 10_000))
                #expect(found.allSatisfy { $0.retiredAt == nil })
            }
            #expect(try ledger.tokens(of: "anna", limit: 1)?.entries.map(\.madeAt) == [day(0)])
            let name = try ledger.deleteAccount("anna", at: day(1))
            let retired = try list(name, 500)
            #expect(retired.map(\.token) == expected && retired.allSatisfy { $0.retiredAt == day(1) })
            #expect(try ledger.tokens(of: "anna") == nil && ledger.tokens(of: "nobody") == nil)
            for cursor in ["", "1", "1-", "x-\(made)", "1-\(made)x", "-\(made)"] {
                let error = #expect(throws: LedgerError.self) { try ledger.tokens(of: name, after: cursor) }
                #expect(error?.code == .invalidText, "\(cursor)")
            }
        }
    }

    @Test(arguments: Place.available)
    func `R1, R8: a notification alone grants to the account of the token`(_ place: Place) throws {
        try place.withLedger(policy()) { ledger in
            var history = history(try ledger.token(for: "anna").token)
            history.buyConsumable("coins", quantity: 3, at: day(0))
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            try notify(ledger, history, at: day(1))
            // ONE_TIME_CHARGE of the consumable, SUBSCRIBED of the subscription.
            let events = try ledger.events()
            #expect(events.count == 2 && events.allSatisfy { $0.account == "anna" && $0.cause == .notification })
            let evidence = try history.evidence(subscription.firstPeriod, signedAt: day(1))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.alreadyYours])
        }
    }

    @Test(arguments: Place.available)
    func `R2, R10: whoever submits another's purchase may finish it, and the owner has it`(_ place: Place) throws {
        for token in [nil, Self.annas, Self.bens] {
            try place.withLedger(policy()) { ledger in
                try _ = ledger.token(for: "anna", storing: Self.annas)
                var history = history(Self.annas)
                let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
                let evidence = try history.evidence(coins, signedAt: day(0))
                let answer = try ledger.redeem(evidence, for: "ben", accountToken: token, at: day(1))
                #expect(answer.outcomes.map(\.outcome) == [.belongsToAnother])
                #expect(answer.outcomes.allSatisfy { $0.mayFinish && $0.grantedAs == nil })
                #expect(try owners(ledger) == ["anna"])
                #expect(try ledger.events().map(\.account) == ["anna"])
            }
        }
    }

    @Test(arguments: Place.available)
    func `R3, R15: what waits is claimed when its token is stored, in the order of purchase`(_ place: Place) throws {
        try place.withLedger(policy()) { ledger in
            var history = history(Self.annas)
            let later = history.buyNonConsumable("pro", at: day(3))
            let earlier = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(1)).firstPeriod
            try notify(ledger, history, at: day(4))
            #expect(try ledger.events().isEmpty)
            #expect(try ledger.token(for: "anna", storing: Self.annas, at: day(5)).isNew)
            let events = try ledger.events()
            #expect(events.map(\.transactionID) == [earlier, later].map(\.transactionID))
            #expect(events.allSatisfy { $0.account == "anna" && $0.cause == .token && $0.kind == .granted })
            let waiting = try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT * FROM waiting_tokens")
            }
            #expect(waiting.isEmpty)
        }
    }

    @Test(arguments: Place.available)
    func `R4: where a token is required, a purchase that is submitted without one is token-missing`(
        _ place: Place
    ) throws {
        let since = day(10)
        func outcome(_ change: (inout PurchaseHistory) -> PurchaseHistory.Transaction) throws -> Outcome? {
            var outcome: Outcome?
            try place.withLedger(policy(requiringTokenSince: since)) { ledger in
                var history = history(nil)
                let transaction = change(&history)
                let evidence = try history.evidence(transaction, signedAt: day(21))
                outcome = try ledger.outcomes(evidence, for: "anna", at: day(21)).first
                if outcome == .tokenMissing || outcome == .notYours {
                    #expect(try owners(ledger).isEmpty)
                    // Receipts never have a token.
                    let receipt = try Minted.evidence(history.receipt(signedAt: day(21), of: [transaction]))
                    let second = try ledger.outcomes(receipt, for: "anna", at: day(21)).first
                    #expect(second == (outcome == .tokenMissing ? .granted : .notYours))
                }
            }
            return outcome
        }
        #expect(try outcome { $0.buyConsumable("coins", at: day(20)) } == .tokenMissing)
        #expect(try outcome { $0.buyConsumable("coins", at: day(9)) } == .granted)
        #expect(try outcome { $0.buyNonConsumable("pro", at: day(20), ownershipType: .familyShared) } == .granted)
        #expect(
            try outcome {
                let code = SubscriptionOffer(type: .offerCode, discountType: .payUpFront)
                return $0.subscribe(
                    to: "monthly", in: "group", for: .days(30), at: day(20), offer: code
                ).firstPeriod
            } == .granted)
        // Bought before, restored afterwards.
        #expect(
            try outcome { history in
                let pro = history.buyNonConsumable("pro", at: day(1))
                return history.restore(pro, at: day(20))
            } == .granted)
        // A token that nobody has.
        #expect(
            try outcome {
                $0.appAccountToken = Self.bens.description
                return $0.buyConsumable("coins", at: day(20))
            } == .notYours)
        // A renewal of an owned lineage.
        try place.withLedger(policy(requiringTokenSince: since)) { ledger in
            var history = history(nil)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(9), at: day(5))
            let first = try history.evidence(subscription.firstPeriod, signedAt: day(5))
            #expect(try ledger.outcomes(first, for: "anna", at: day(6)) == [.granted])
            let second = history.renew(subscription, at: day(14))
            let renewal = try history.evidence(second, signedAt: day(14))
            #expect(try ledger.outcomes(renewal, for: "anna", at: day(14)) == [.granted])
        }
    }

    @Test(arguments: Place.available)
    func `R5, R11: an owner stays, and is notified once of a token of another account`(_ place: Place) throws {
        let reported = Guarded<[String]>([])
        let location = try place.makeLocation()
        let ledger = try PurchaseLedger(location.text, policy: policy()) { conflict in
            reported.withLock { $0.append(conflict.transactionID) }
        }
        _ = try ledger.token(for: "anna", storing: Self.annas)
        _ = try ledger.token(for: "ben", storing: Self.bens)
        var history = history(Self.annas)
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        try notify(ledger, history, at: day(1))
        history.appAccountToken = Self.bens.description
        let second = history.renew(subscription, at: day(30))
        try notify(ledger, history, at: day(31))
        history.renew(subscription, at: day(60))
        try notify(ledger, history, at: day(61))
        #expect(try owners(ledger) == ["anna", "anna", "anna"])
        let events = try ledger.events()
        #expect(events.map(\.kind) == [.granted, .granted, .conflict, .granted])
        let conflict = events[2]
        #expect(conflict.account == "anna" && conflict.transactionID == second.transactionID)
        #expect(conflict.originalTransactionID == subscription.firstPeriod.transactionID)
        #expect(conflict.quantity == 1 && conflict.previousQuantity == 1)
        #expect(reported.withLock { $0 } == [second.transactionID])
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `R5: the owner of a large subscription is notified of a token of an old period that becomes another's`(
        _ place: Place
    ) throws {
        var policy = policy()
        policy.wholeLineageLimit = 2
        try place.withLedger(policy) { ledger in
            _ = try ledger.token(for: "anna", storing: Self.annas)
            var history = history(Self.annas)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            var periods = [subscription.firstPeriod]
            try notify(ledger, history, at: day(1))
            for month in 1...4 {
                history.appAccountToken = (month == 2 ? Self.bens : Self.annas).description
                periods.append(history.renew(subscription, at: day(Double(30 * month))))
                try notify(ledger, history, at: day(Double(30 * month + 1)))
            }
            let divided = try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT 1 FROM families WHERE subscription IS NOT NULL")
            }
            #expect(divided.count == 1)
            _ = try ledger.token(for: "ben", storing: Self.bens, at: day(122))
            let conflicts = try ledger.events().filter { $0.kind == .conflict }
            #expect(conflicts.map(\.transactionID) == [periods[2].transactionID])
        }
    }

    @Test(arguments: Place.available)
    func `R5: tokens of a subscription that was divided before there were orders are reported`(_ place: Place) throws {
        let location = try place.makeLocation()
        var policy = LedgerPolicy()
        policy.wholeLineageLimit = 2
        let before = try PurchaseLedger(location.text, policy: policy)
        _ = try before.token(for: "ben", storing: Self.bens)
        var history = history(Self.bens)
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        history.appAccountToken = nil
        let periods = [subscription.firstPeriod] + (1...4).map { history.renew(subscription, at: day(Double(30 * $0))) }
        for (month, period) in periods.enumerated() {
            let date = day(Double(30 * month + 1))
            _ = try before.redeem(history.evidence(period, signedAt: date), for: "anna", at: date)
        }
        policy.orders = OrderPolicy()
        let after = try PurchaseLedger(location.text, policy: policy)
        for date in [day(122), day(123)] {
            _ = try after.redeem(history.evidence(periods[4], signedAt: day(121)), for: "anna", at: date)
        }
        let conflicts = try after.events().filter { $0.kind == .conflict }
        #expect(conflicts.map(\.transactionID) == [periods[0].transactionID])
        withExtendedLifetime(location) {}
    }

    /// What makes the token of an old period another account's than the owner's.
    enum Change: CaseIterable { case owner, accountIsBack, products, evidenceWithoutOrders }

    @Test(arguments: Place.available, Change.allCases)
    func `R5: a token of an old period of a large subscription is reported when it becomes another's`(
        _ place: Place, _ change: Change
    ) throws {
        let location = try place.makeLocation()
        var policy = policy()
        policy.wholeLineageLimit = 2
        if change == .products { policy.productIDs = ["monthly"] }
        var ledger = try PurchaseLedger(location.text, policy: policy)
        _ = try ledger.token(for: "ben", storing: Self.bens)
        let forgotten = change == .accountIsBack ? try ledger.deleteAccount("ben") : ""
        let owner = change == .owner ? "ben" : "carl"
        var history = history(nil)
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        let periods = [subscription.firstPeriod] + (1...5).map { history.renew(subscription, at: day(Double(30 * $0))) }
        for (month, period) in periods.dropLast().enumerated() {
            let date = day(Double(30 * month + 1))
            var builder = try #require(history.transaction(period, signedAt: date))
            if month == 1, change != .evidenceWithoutOrders { builder.appAccountToken = Self.bens.description }
            if month == 1, change == .products { builder.productID = "gold" }
            _ = try ledger.redeem(Minted.evidence(builder), for: owner, at: date)
        }
        func conflicts() throws -> [String] {
            try ledger.events().filter { $0.kind == .conflict }.map(\.transactionID)
        }
        #expect(try conflicts().isEmpty)
        switch change {
        case .owner: _ = try ledger.transfer(from: "ben", to: "carl", reason: "support", at: day(122))
        case .accountIsBack:
            _ = try ledger.transfer(from: forgotten, to: "dora", movesTokens: true, reason: "support", at: day(122))
        case .products:
            policy.productIDs = nil
            ledger = try PurchaseLedger(location.text, policy: policy)
        case .evidenceWithoutOrders:
            policy.orders = nil
            ledger = try PurchaseLedger(location.text, policy: policy)
            var builder = try #require(history.transaction(periods[1], signedAt: day(122)))
            builder.appAccountToken = Self.bens.description
            _ = try ledger.redeem(Minted.evidence(builder), for: owner, at: day(122))
            policy.orders = OrderPolicy()
            ledger = try PurchaseLedger(location.text, policy: policy)
        }
        _ = try ledger.redeem(history.evidence(periods[5], signedAt: day(151)), for: "carl", at: day(151))
        #expect(try conflicts() == [periods[1].transactionID])
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `R1: of several tokens of a subscription, that of its earliest period counts`(_ place: Place) throws {
        let location = try place.makeLocation()
        // Without orders, nobody owns it by a token.
        let before = try PurchaseLedger(location.text)
        _ = try before.token(for: "anna", storing: Self.annas)
        _ = try before.token(for: "ben", storing: Self.bens)
        var history = history(Self.annas)
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        try notify(before, history, at: day(1))
        history.appAccountToken = Self.bens.description
        history.renew(subscription, at: day(30))
        let after = try PurchaseLedger(location.text, policy: policy())
        try notify(after, history, at: day(31))
        #expect(try owners(after) == ["anna"])
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `R12: with its tokens, what is under way follows an account`(_ place: Place) throws {
        for movesTokens in [false, true] {
            try place.withLedger(policy()) { ledger in
                var history = history(try ledger.token(for: "anna").token)
                history.buyConsumable("coins", quantity: 3, at: day(0))
                try notify(ledger, history, at: day(1))
                try ledger.transfer(from: "anna", to: "ben", movesTokens: movesTokens, reason: "merged", at: day(2))
                history.buyConsumable("coins", quantity: 3, at: day(3))
                try notify(ledger, history, at: day(4))
                #expect(try owners(ledger) == (movesTokens ? ["ben", "ben"] : ["anna", "ben"]))
            }
        }
    }

    @Test(arguments: Place.available)
    func `R12: tokens move with all purchases, not with some`(_ place: Place) throws {
        try place.withLedger(policy()) { ledger in
            var history = history(try ledger.token(for: "anna").token)
            let coins = history.buyConsumable("coins", at: day(0))
            try notify(ledger, history, at: day(1))
            let parts: [(id: String?, environment: AppStoreEnvironment?, bundleID: String?)] = [
                (coins.transactionID, nil, nil), (nil, .production, nil), (nil, nil, Minted.bundleID),
            ]
            for part in parts {
                let error = #expect(throws: LedgerError.self) {
                    try ledger.transfer(
                        from: "anna", to: "ben", transactionID: part.id, in: part.environment, of: part.bundleID,
                        movesTokens: true, reason: "merged", at: day(2))
                }
                #expect(error?.code == .invalidText)
            }
            #expect(try owners(ledger) == ["anna"])
        }
    }

    @Test(arguments: Place.available)
    func `R13: what is bought with a token of a deleted account is nobody else's`(_ place: Place) throws {
        try place.withLedger(policy()) { ledger in
            let token = try ledger.token(for: "anna").token
            var history = history(token)
            let name = try ledger.deleteAccount("anna")
            for account in [name, "anna"] {
                let error = #expect(throws: LedgerError.self) { try ledger.token(for: account, storing: token) }
                #expect(error?.code == .tokenTaken)
            }
            let coins = history.buyConsumable("coins", at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(0))
            let outcomes = try ledger.outcomes(evidence, for: "anna", token: token.description, at: day(1))
            #expect(outcomes == [.belongsToAnother])
            #expect(try owners(ledger) == [name])
            try ledger.transfer(from: name, to: "anna", movesTokens: true, reason: "returned", at: day(2))
            #expect(try owners(ledger) == ["anna"] && !ledger.token(for: "anna", storing: token).isNew)
        }
    }

    @Test(arguments: Place.available)
    func `R13: an owner is not notified of a token of a deleted account`(_ place: Place) throws {
        try place.withLedger(policy()) { ledger in
            _ = try ledger.token(for: "anna", storing: Self.annas)
            _ = try ledger.token(for: "ben", storing: Self.bens)
            _ = try ledger.deleteAccount("ben")
            var history = history(Self.annas)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            try notify(ledger, history, at: day(1))
            history.appAccountToken = Self.bens.description
            history.renew(subscription, at: day(30))
            try notify(ledger, history, at: day(31))
            #expect(try ledger.events().map(\.kind) == [.granted, .granted])
        }
    }

    @Test(arguments: Place.available)
    func `R14: what is not for sale is not claimed, and a token counts in both environments`(_ place: Place) throws {
        var policy = policy()
        policy.productIDs = ["pro"]
        try place.withLedger(policy) { ledger in
            _ = try ledger.token(for: "anna", storing: Self.annas)
            for environment in [AppStoreEnvironment.production, .sandbox] {
                var history = PurchaseHistory(
                    bundleID: Minted.bundleID, environment: environment, appAccountToken: Self.annas.description)
                let coins = history.buyConsumable("coins", at: day(0))
                history.buyNonConsumable("pro", at: day(0))
                let evidence = try history.evidence(coins, signedAt: day(0))
                #expect(try ledger.outcomes(evidence, for: "ben", at: day(1)) == [.notForSale])
                try notify(ledger, history, at: day(1))
            }
            #expect(try ledger.events().map(\.productID) == ["pro", "pro"])
            #expect(try ledger.events().map(\.environment).count == 2)
        }
    }

    @Test(arguments: Place.available)
    func `without orders, tokens and notifications do what they did`(_ place: Place) throws {
        try place.withLedger { ledger in
            _ = try ledger.token(for: "anna", storing: Self.annas)
            var history = history(Self.annas)
            let coins = history.buyConsumable("coins", at: day(0))
            try notify(ledger, history, at: day(1))
            #expect(try owners(ledger).isEmpty)
            let evidence = try history.evidence(coins, signedAt: day(0))
            #expect(try ledger.outcomes(evidence, for: "ben", token: Self.bens.description, at: day(1)) == [.notYours])
            #expect(try ledger.outcomes(evidence, for: "ben", at: day(1)) == [.granted])
        }
    }
}
