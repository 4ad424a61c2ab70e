import AppStoreReceipt
import AppStoreReceiptTesting
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import SeededRandom
import Testing

/// A ledger with `--orders`, and the rules R1 to R15 without a database.
@Suite struct OrdersRandomTests {
    /// 200 histories on each database, 10,000 in the long run. Two servers do one operation after the other.
    @Test(arguments: Place.available)
    func `a ledger with tokens does as R1 to R15 say`(_ place: Place) throws {
        var generator = SeededGenerator()
        let worlds = Sampling.count("order-histories") / 20
        var customers: [TokenCustomer] = []
        for number in 0..<worlds {
            // Signatures take most of the time.
            if number % 10 == 0 { customers = try (1...20).map { try TokenCustomer($0, using: &generator) } }
            var world = try World(place, customers, generator)
            try world.run()
            generator = world.generator
        }
    }

    private struct World {
        let restorable: RestorableLedger
        let conflicts = Guarded<[String]>([])
        let policy: LedgerPolicy
        let customers: [TokenCustomer]
        var generator: SeededGenerator
        var models: [OrdersModel]
        var backup: [OrdersModel]?
        var backend: Backend? = Backend()
        var seen: Set<String> = []

        init(_ place: Place, _ customers: [TokenCustomer], _ generator: SeededGenerator) throws {
            var generator = generator
            var policy = LedgerPolicy()
            policy.orders = OrderPolicy()
            if Bool.random(using: &generator) { policy.orders?.requiresTokenSince = day(8) }
            if Bool.random(using: &generator) { policy.productIDs = ["coins", "pro", "monthly"] }
            if Bool.random(using: &generator) { policy.wholeLineageLimit = 1 }
            let conflicts = conflicts
            restorable = try RestorableLedger(place, servers: 2, policy, at: day(0)) { conflict in
                conflicts.withLock { $0.append(conflict.transactionID) }
            }
            (self.policy, self.customers, self.generator) = (policy, customers, generator)
            models = customers.map { _ in OrdersModel(policy.rules) }
            // Some accounts order with the token with which they buy, as most apps do.
            let ledger = try restorable.ledger
            for index in customers.indices where index % 3 > 0 {
                let (token, account) = (customers[index].tokens[0], customers[index].accounts[0])
                #expect(models[index].token(token, for: account, at: day(0)) == true)
                try ledger.store.write { (connection) throws(LedgerError) in
                    try connection.write(
                        "INSERT INTO account_tokens VALUES ($1, $2, 'made', $3, NULL)",
                        [.text(token.description), .text(account), SQLValue(day(0))])
                }
            }
        }

        mutating func run() throws {
            var date = 0.0
            for _ in 0..<customers.count * 14 {
                date += Double.random(in: 0...0.25, using: &generator)
                try step(Int.random(in: customers.indices, using: &generator), date)
            }
            for index in customers.indices { try compare(index, date) }
            if var backend {
                for event in try restorable.ledger.events() {
                    backend.receive(try StoredJSON.decode(event.json) as Backend.Event)
                }
                #expect(try restorable.ledger.grantedBalances() == backend.grants)
            }
        }

        private mutating func step(_ index: Int, _ date: Double) throws {
            let (customer, now) = (customers[index], day(date))
            let ledger = try #require(restorable.servers.randomElement(using: &generator))
            let account = customer.accounts[Int.random(in: 0..<4, using: &generator) == 0 ? 1 : 0]
            let other = customer.accounts[0] == account ? customer.accounts[1] : customer.accounts[0]
            switch Int.random(in: 0..<40, using: &generator) {
            case 0..<12:
                let arrived = customer.notifications.filter { $0.signed <= now }
                guard let notification = arrived.randomElement(using: &generator)?.notification else { return }
                if try isNew(notification, ledger) {
                    models[index].record(.notification(notification), at: now)
                }
                try ledger.record(notification, at: now)
            case 12..<26:
                let arrived = customer.evidence.filter { $0.signed <= now }
                guard let evidence = arrived.randomElement(using: &generator)?.evidence else { return }
                let token = [nil, nil, customer.tokens[0], customer.tokens[1]].randomElement(using: &generator) ?? nil
                let answer = try ledger.redeem(evidence, for: account, accountToken: token, at: now)
                backend?.receive(answer, for: account)
                let expected = models[index].redeem(evidence, for: account, token, at: now)
                #expect(answer.outcomes.map { "\($0.outcome.rawValue) \($0.mayFinish)" } == expected)
            case 26..<31:
                let number = Int.random(in: 0...1, using: &generator)
                let holder = Int.random(in: 0..<8, using: &generator) == 0 ? other : customer.accounts[number]
                let expected = models[index].token(customer.tokens[number], for: holder, at: now)
                do throws(LedgerError) {
                    let isNew = try ledger.token(for: holder, storing: customer.tokens[number], at: now).isNew
                    #expect(isNew == expected)
                } catch {
                    #expect(error.code == .tokenTaken && expected == nil)
                }
            case 31..<35:
                let product = ["coins", "pro", "monthly"].randomElement(using: &generator) ?? ""
                let number = Int.random(in: 0..<16, using: &generator)
                let shopOrderID = number < 8 ? "order \(number) of customer \(customer.number)" : nil
                let known = shopOrderID.flatMap { id in models[index].orders.first { $0.shopOrderID == id } }
                let order: Order
                do throws(LedgerError) {
                    order = try ledger.placeOrder(
                        for: account, productID: product, bundleID: Minted.bundleID, in: .production,
                        shopOrderID: shopOrderID,
                        at: now)
                } catch {
                    #expect(error.code == .shopOrderTaken)
                    #expect(known.map { $0.account != account || $0.productID != product } == true)
                    return
                }
                #expect(known.map { $0.id == order.id && $0.account == account && $0.productID == product } ?? true)
                if known != nil { return }
                models[index].add(
                    .init(
                        id: order.id, account: account, productID: product, createdAt: now, token: order.token,
                        shopOrderID: shopOrderID))
                if models[index].tokens[order.token] == nil {
                    #expect(models[index].token(order.token, for: account, at: now) == true)
                }
                #expect(models[index].tokens[order.token]?.account == account)
            case 35..<37:
                let original =
                    Bool.random(using: &generator) ? customer.originals.randomElement(using: &generator) : nil
                let movesTokens = original == nil && Bool.random(using: &generator)
                let hasTokens = models[index].tokens.values.contains { $0.account == account }
                let expected = models[index].transfer(from: account, to: other, original, movesTokens: movesTokens)
                do throws(LedgerError) {
                    let count = try ledger.transfer(
                        from: account, to: other, transactionID: original, in: original.map { _ in .production },
                        movesTokens: movesTokens, reason: "test", at: now)
                    #expect(count == expected)
                } catch {
                    #expect(error.code == .notFound && expected == 0 && !(movesTokens && hasTokens))
                }
            case 37:
                do throws(LedgerError) {
                    let name = try ledger.deleteAccount(account)
                    models[index].forget(account, as: name)
                    backend?.forget(account)
                } catch {
                    #expect(error.code == .notFound)
                }
            case 38:
                while try ledger.settleDue(at: now) > 0 {}
                for index in models.indices { models[index].settleDue(at: now) }
            default: try restoreOrBackUp(now)
            }
            try compare(index, date)
        }

        /// A repeated notification changes nothing.
        private func isNew(_ notification: VerifiedNotification, _ ledger: PurchaseLedger) throws -> Bool {
            let uuid = notification.notification.payload.notificationUUID ?? ""
            return try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT 1 FROM notifications WHERE uuid = $1", [.text(uuid)]).isEmpty
            }
        }

        private mutating func restoreOrBackUp(_ now: Instant) throws {
            guard Int.random(in: 0..<3, using: &generator) == 0 else { return }
            if let backup {
                try restorable.restore(at: now)
                models = backup
                self.backup = nil
                conflicts.withLock { $0 = models.flatMap(\.conflicts) }
                // Its events about lost changes are no longer in the outbox.
                backend = nil
            } else {
                try restorable.backUp()
                backup = models
            }
        }

        /// The events since the last step.
        private mutating func unseenEvents(_ ledger: PurchaseLedger) throws -> [LedgerEvent] {
            let rows = try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT id, event FROM outbox ORDER BY account, sequence")
            }
            return try rows.filter { seen.insert(try $0.text(0)).inserted }.map { try StoredJSON.decode($0.text(1)) }
        }

        private mutating func compare(_ index: Int, _ date: Double) throws {
            let (customer, model, ledger) = (customers[index], models[index], try restorable.ledger)
            func rows(_ statement: String) throws -> [[String]] {
                let rows = try ledger.store.read { (connection) throws(LedgerError) in try connection.run(statement) }
                return try rows.map { row in
                    try row.values.indices.map { column in
                        if case .integer(let number) = row.values[column] { return "\(number)" }
                        return try row.optionalText(column) ?? "nobody"
                    }
                }
            }
            func isMine(_ transaction: String) -> Bool { customer.transactionIDs.contains(transaction) }
            var grants: [String: LedgerState.Row] = [:]
            for row in try rows(
                "SELECT transaction_id, account, quantity FROM grants JOIN identifiers ON id = identifier_id")
            where isMine(row[0]) {
                grants[row[0]] = .init(account: row[1], quantity: Int64(row[2]) ?? -1)
            }
            #expect(grants == model.grants, "seed \(generator.seed), customer \(customer.number)")
            var owners: [String: String] = [:]
            for row in try rows(
                """
                SELECT transaction_id, account FROM identifiers JOIN families ON family_id = families.id
                WHERE account IS NOT NULL
                """
            ) where customer.originals.contains(row[0]) { owners[row[0]] = row[1] }
            #expect(owners == model.owners, "seed \(generator.seed), customer \(customer.number)")
            let reported = conflicts.withLock { $0.filter(isMine) }
            #expect(
                reported.sorted() == model.conflicts.sorted(), "seed \(generator.seed), customer \(customer.number)")
            let unordered = Set(
                try rows("SELECT transaction_id FROM unordered_purchases JOIN identifiers ON id = identifier_id").map {
                    $0[0]
                }.filter(isMine))
            #expect(unordered == model.unordered, "seed \(generator.seed), customer \(customer.number)")
            for event in try unseenEvents(ledger) {
                guard
                    let model = models.indices.first(where: {
                        customers[$0].transactionIDs.contains(event.transactionID)
                    })
                    .map({ models[$0] })
                else { continue }
                if event.kind == .conflict {
                    #expect(event.accountToken == nil)
                    continue
                }
                let order = model.order(event.transactionID, event.account)
                #expect(event.orderID == order?.id && event.shopOrderID == order?.shopOrderID)
                guard event.cause != .transfer else { continue }
                let token = model.accountToken(event.transactionID, event.account, at: day(date))
                #expect(event.accountToken == token, "seed \(generator.seed), customer \(customer.number)")
            }
            for order in model.orders {
                let found = try ledger.order(withID: order.id, at: day(date))
                #expect(found.account == order.account && found.transactionID == order.transactionID)
                #expect(found.shopOrderID == order.shopOrderID && found.token == order.token)
                let isLate = order.createdAt + .seconds(72 * 3600) <= day(date)
                let state: Order.State =
                    order.transactionID.map { model.grants[$0]?.quantity ?? 0 > 0 ? .granted : .refunded }
                    ?? (isLate ? .abandoned : .open)
                #expect(found.state == state)
            }
        }
    }
}
