import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
@testable import Reconciliation
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
        try importPurchases(ledger, &history)
        try support(ledger, coins.transactionID)
        try askApple(ledger, coins, history)
        _ = try ledger.transfer(from: "anna", to: "ben", movesTokens: true, reason: "support", at: day(211))
        _ = try ledger.deleteAccount("ben", at: day(212))
    }

    /// A line of each kind.
    private func importPurchases(_ ledger: PurchaseLedger, _ history: inout PurchaseHistory) throws {
        let stored = history.buyConsumable("coins", at: day(0))
        let spent = SpentTransaction(
            account: "anna", environment: .production, bundleID: Minted.bundleID, transactionID: "7",
            originalTransactionID: nil, productID: "coins", quantity: 3, date: day(0))
        let lines: [ImportedLine] = [
            .token(account: "anna", .random()), .spent(try #require(spent)),
            .evidence(account: "anna", try history.evidence(stored, signedAt: day(1))),
        ]
        for line in lines { #expect(try ledger.imported([line], at: day(210))[0].outcome == .added) }
    }

    private func support(_ ledger: PurchaseLedger, _ id: String) throws {
        let gift = Adjustment.Change.product(
            environment: .production, bundleID: Minted.bundleID, productID: "gift", quantity: 1)
        _ = try ledger.adjust(Adjustment(gift, reason: "lost", idempotencyKey: "k"), of: "anna", at: day(210))
        func name(_ id: String) -> TransactionName {
            TransactionName(environment: .production, bundleID: Minted.bundleID, transactionID: id)
        }
        _ = try ledger.adjust(Adjustment(.quantity(name("7"), 1), reason: "lost"), of: "anna", at: day(210))
        let sent = Attempt("request 1", of: "anna", [1], isWrapped: false, code: "forged-receipt", at: day(210))
        try ledger.record([try #require(sent)])
        _ = try ledger.history(of: "anna")
        _ = try ledger.story(of: name(id), at: day(210))
        _ = try ledger.find(id)
    }

    /// Inquiries, and answers to them.
    private func askApple(
        _ ledger: PurchaseLedger, _ coins: PurchaseHistory.Transaction, _ history: PurchaseHistory
    ) throws {
        let app = Self.app
        _ = try ledger.beginHistory(of: app, at: day(210))
        _ = try ledger.planHistory(of: app, since: nil, at: day(210))
        let kinds = Set(Inquiry.Kind.allCases)
        let taken = try ledger.takeInquiries(about: app, of: kinds, limit: 9, requestsPerHour: 100, at: day(210))
        for inquiry in taken.inquiries where inquiry.kind == .history {
            let window = try ledger.historyWindow(of: inquiry, at: day(210)).window
            _ = try ledger.advance(inquiry, to: window.cursor(), requestsPerHour: 100, at: day(210))
        }
        for inquiry in taken.inquiries { try ledger.finish(inquiry, .failed("no-answer"), at: day(210)) }
        _ = try ledger.takeRequest(about: app, priority: 0, requestsPerHour: 100, at: day(210))
        _ = try ledger.nextInquiryDate(about: app, at: day(210))
        _ = try ledger.openInquiryCount(about: app, at: day(210))
        _ = try ledger.isRelated(["0"], to: coins.transactionID, in: app)
        _ = try ledger.isRefundable(coins.transactionID, in: app, at: day(210))
        _ = try ledger.subscriptionStep(of: "1", in: app, isAnswered: true, at: day(210))
        _ = try ledger.subjects(of: "anna", in: app, at: day(210))
        for notification in try history.verifiedNotifications(through: day(210)).suffix(2) {
            _ = try ledger.record(fromHistory: notification, of: app, at: day(210))
        }
    }

    private static let app = AskedApp(.production, Minted.bundleID)

    @Test(arguments: Place.available, [false, true])
    func `no statement of a request reads a whole table`(_ place: Place, notifiesLifecycles: Bool) throws {
        var policy = LedgerPolicy()
        policy.orders = OrderPolicy()
        policy.lifecycleEvents = notifiesLifecycles
        policy.inquiries = InquiryPolicy(apps: [Self.app])
        try place.withLedger(policy) { ledger in
            try answerRequests(ledger)
            let plans = try ledger.store.write(Self.plans) + ledger.store.read(Self.plans)
            #expect(plans.count > 160)
            for (statement, steps) in plans {
                // Any row.
                if statement.wholeMatch(of: /SELECT 1 FROM [a-z_]+ LIMIT 1/) != nil { continue }
                // What SQLite makes of a part of the statement has rows of that part alone, and is scanned once.
                var parts = steps.compactMap { $0.wholeMatch(of: /(?:CO-ROUTINE|MATERIALIZE) (.+)/)?.output.1 }
                if steps.contains("RECURSIVE STEP") { parts += parts }
                // An index that SQLite makes for one statement is of a whole table.
                #expect(!steps.contains { $0.contains("AUTOMATIC") }, "\(steps): \(statement)")
                for (index, step) in steps.enumerated()
                where !step.contains("VIRTUAL TABLE") && !step.contains("outbox_urgent") {
                    guard let table = Self.wholeTable(step, steps[(index + 1)...]),
                        !Self.shortTables.contains(String(table))
                    else { continue }
                    if let part = parts.firstIndex(of: table) {
                        parts.remove(at: part)
                    } else {
                        Issue.record("\(step): \(statement)")
                    }
                }
            }
        }
    }

    /// The table that a step of a plan reads as a whole, or all of an index.
    private static func wholeTable(_ step: String, _ next: ArraySlice<String>) -> Substring? {
        if let scan = step.firstMatch(of: /(?:Seq Scan on|^SCAN) ([a-z_]+)/) { return scan.output.1 }
        // PostgreSQL says what it looks for in an index, before the next step.
        let details = next.prefix { !$0.contains("->") }
        guard let scan = step.firstMatch(of: /Index (?:Only )?Scan(?: Backward)?(?: using [a-z_0-9]+)? on ([a-z_]+)/),
            !details.contains(where: { $0.contains("Index Cond") })
        else { return nil }
        return scan.output.1
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
