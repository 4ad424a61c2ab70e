import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import Testing

/// How the databases plan the statements of requests.
@Suite struct StatementTests {
    /// Requests that must not take longer with more customers.
    private func answerRequests(_ ledger: PurchaseLedger) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        history.appAccountToken = try ledger.token(for: "anna", at: day(0)).token.description
        let order = try ledger.placeOrder(
            for: "anna", productID: "coins", bundleID: Minted.bundleID, in: .production, idempotencyKey: "k",
            shopOrderID: "7", at: day(0))
        let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
        let subscription = history.subscribe(to: "weekly", in: "group", for: .days(7), at: day(0))
        let periods = [subscription.firstPeriod] + (1..<30).map { _ in history.renew(subscription) }
        history.refund(coins, at: day(209))
        _ = try ledger.redeem(history.evidence(coins, signedAt: day(1)), for: "anna", idempotencyKey: "k", at: day(1))
        for _ in 0..<2 {
            let receipt = try Minted.evidence(history.receipt(signedAt: day(208), of: periods))
            _ = try ledger.redeem(receipt, for: "anna", at: day(208))
        }
        for period in [periods[3], periods[29]] {
            _ = try ledger.redeem(history.evidence(period, signedAt: day(209)), for: "anna", at: day(209))
        }
        for notification in try history.verifiedNotifications(through: day(210)) {
            _ = try ledger.record(notification, at: day(210))
        }
        _ = try ledger.order(withID: order.id, at: day(210))
        for includingConsumables in [true, false] {
            _ = try ledger.entitlements(of: "anna", at: day(210), includingConsumables: includingConsumables)
        }
        _ = try ledger.owner(of: coins.transactionID, bundleID: Minted.bundleID)
        _ = try ledger.token(for: "ben", storing: .random(), at: day(210))
        _ = try ledger.settleDue(at: day(210))
        let events = try ledger.takeEvents(limit: 8, lease: .zero, at: day(210))
        try ledger.record(events.map { ($0, nil) }, maximumAttempts: 80, at: day(210))
        _ = try ledger.transfer(from: "anna", to: "ben", movesTokens: true, reason: "support", at: day(211))
        _ = try ledger.deleteAccount("ben", at: day(212))
    }

    @Test(arguments: Place.available, [false, true])
    func `no statement of a request reads a whole table`(_ place: Place, notifiesLifecycles: Bool) throws {
        var policy = LedgerPolicy()
        policy.orders = OrderPolicy()
        policy.lifecycleEvents = notifiesLifecycles
        try place.withLedger(policy) { ledger in
            try answerRequests(ledger)
            let plans = try ledger.store.write(Self.plans) + ledger.store.read(Self.plans)
            #expect(plans.count > 60)
            for (statement, steps) in plans {
                // What SQLite makes of a part of the statement has rows of that part alone.
                let parts = steps.compactMap { $0.wholeMatch(of: /(?:CO-ROUTINE|MATERIALIZE) (.+)/)?.output.1 }
                // An index that SQLite makes for one statement is of a whole table.
                #expect(!steps.contains { $0.contains("AUTOMATIC") }, "\(steps): \(statement)")
                for step in steps where !step.contains("VIRTUAL TABLE") && !step.contains("INDEX outbox_urgent") {
                    guard let table = step.firstMatch(of: /(?:Seq Scan on|^SCAN) ([a-z_]+)/)?.output.1,
                        !parts.contains(table), !Self.shortTables.contains(String(table))
                    else { continue }
                    Issue.record("\(step): \(statement)")
                }
            }
        }
    }

    /// Tables of one row, of tables, and of what is removed after a week.
    private static let shortTables: Set = [
        "sequence_floor", "ledger_identity", "ledger_schema", "sqlite_schema", "commit_marks",
    ]

    /// The beginnings of statements that have a plan.
    private static let words: Set<Substring> = ["WITH", "SELECT", "INSERT", "UPDATE", "DELETE"]

    /// The plans of the statements that a connection has prepared.
    private static func plans(
        _ connection: any SQLConnection
    ) throws(LedgerError) -> [(statement: String, steps: [String])] {
        var plans: [(statement: String, steps: [String])] = []
        for (text, name) in statements(of: connection) {
            guard let word = text.split(separator: " ").first, Self.words.contains(word) else { continue }
            var explained = text
            if let name {
                let types = "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = $1"
                let count = try connection.run(types, [.text(name)])[0].integer(0)
                let values = (0..<count).map { _ in "NULL" }.joined(separator: ", ")
                explained = "EXECUTE \(name)\(count == 0 ? "" : "(\(values))")"
            }
            let explain = name == nil ? "EXPLAIN QUERY PLAN " : "EXPLAIN "
            let values = name == nil ? Set(text.matches(of: /\$[0-9]+/).map(\.output)).map { _ in SQLValue.null } : []
            let rows = try connection.run(explain + explained, values)
            plans.append(
                (text, try rows.map { (row) throws(LedgerError) in try row.text(name == nil ? 3 : 0) }))
        }
        return plans
    }

    /// The statements that a connection has prepared, with their names in PostgreSQL.
    private static func statements(of connection: any SQLConnection) -> [(text: String, name: String?)] {
        if let connection = connection as? SQLiteConnection { return connection.preparedStatements.map { ($0, nil) } }
        return (connection as? PostgreSQLConnection)?.statements.map { ($0, $1) } ?? []
    }
}
