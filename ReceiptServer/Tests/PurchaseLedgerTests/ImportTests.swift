import AppStoreReceipt
import AppStoreReceiptTesting
import LedgerTestSupport
@testable import PurchaseLedger
import Testing

@Suite struct ImportTests {
    private static let token = AppAccountToken("6f1c0e9a-4b7d-4c1e-9a55-0d6f3e2b1a01")!

    private func withLedger(_ place: Place, _ body: (PurchaseLedger) throws -> Void) throws {
        var policy = LedgerPolicy()
        policy.orders = OrderPolicy()
        try place.withLedger(policy, body)
    }

    private func spent(
        _ account: String, _ transaction: PurchaseHistory.Transaction, original: String? = nil,
        product: String? = nil, quantity: Int? = nil, at date: Instant = day(0)
    ) throws -> ImportedLine {
        .spent(
            try #require(
                SpentTransaction(
                    account: account, environment: .production, bundleID: Minted.bundleID,
                    transactionID: transaction.transactionID, originalTransactionID: original,
                    productID: product ?? transaction.productID, quantity: quantity ?? transaction.quantity,
                    date: date)))
    }

    /// Imports lines, and returns their outcomes and notes, each up to its first colon. A trial before must have the
    /// same results.
    private func words(_ ledger: PurchaseLedger, _ lines: [ImportedLine]) throws -> [String] {
        let tried = try ledger.tried(lines, at: day(1))
        let results = try ledger.imported(lines, at: day(1))
        #expect(tried == results)
        return results.map(\.word)
    }

    @Test func `nobody was granted nothing, or less`() throws {
        for quantity in [Int.min, -1, 0, 1] {
            let transaction = SpentTransaction(
                account: "anna", environment: .production, bundleID: Minted.bundleID, transactionID: "1",
                originalTransactionID: nil, productID: "coins", quantity: quantity, date: day(0))
            #expect((transaction != nil) == (quantity == 1))
        }
    }

    @Test(arguments: Place.available)
    func `what was spent before is spent, and evidence is added to it`(_ place: Place) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
            let pro = history.buyNonConsumable("pro", at: day(0))
            let copy = history.restore(pro, at: day(2))
            let lines = [
                try spent("anna", coins), try spent("anna", coins), try spent("ben", coins), try spent("anna", pro),
                .token(account: "anna", Self.token), .token(account: "ben", Self.token),
            ]
            #expect(
                try words(ledger, lines) == [
                    "added", "known", "belongs-to-another", "added", "added", "token-taken",
                ])
            #expect(
                try words(ledger, lines) == [
                    "known", "known", "belongs-to-another", "known", "known", "token-taken",
                ])
            #expect(try ledger.events().isEmpty && ledger.purchasesWithoutOrder().isEmpty)
            for transaction in [coins, copy] {
                let evidence = try history.evidence(transaction, signedAt: day(3))
                #expect(try ledger.outcomes(evidence, for: "ben", at: day(3)) == [.belongsToAnother])
                #expect(try ledger.outcomes(evidence, for: "anna", at: day(3)) == [.alreadyYours])
            }
            history.refund(coins, at: day(4))
            for notification in try history.verifiedNotifications(through: day(4)) {
                try ledger.record(notification, at: day(4))
            }
            #expect(try ledger.events().filter { $0.kind == .revoked }.map(\.transactionID) == [coins.transactionID])
        }
    }

    @Test(arguments: Place.available)
    func `a refund that is known is notified when its transaction is imported`(_ place: Place) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
            history.refund(coins, at: day(1))
            for notification in try history.verifiedNotifications(through: day(1)) {
                try ledger.record(notification, at: day(1))
            }
            #expect(try words(ledger, [spent("anna", coins)]) == ["added"])
            #expect(try ledger.events().map(\.kind) == [.revoked])
            #expect(try LedgerState(ledger).grants.isEmpty)
        }
    }

    @Test(arguments: Place.available, [false, true])
    func `a large subscription is whole while it has a transaction without evidence`(
        _ place: Place, isImportedFirst: Bool
    ) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "weekly", in: "group", for: .days(7), at: day(0))
            let periods = [subscription.firstPeriod] + (1..<30).map { _ in history.renew(subscription) }
            let (first, refunded, last) = (periods[0], periods[5], periods[29])
            history.refund(refunded, at: day(40))
            let line = [
                try spent("anna", refunded, original: first.transactionID),
                try spent("anna", last, original: first.transactionID),
            ]
            if isImportedFirst { #expect(try words(ledger, line) == ["added", "added"]) }
            for period in periods.dropLast() where isImportedFirst ? period != refunded : true {
                _ = try ledger.outcomes(history.evidence(period, signedAt: day(200)), for: "anna", at: day(200))
            }
            // The evidence of the first has another date.
            if !isImportedFirst { #expect(try words(ledger, line) == ["added, note date", "added"]) }
            // A renewal that was granted without evidence is not granted again.
            let evidence = try history.evidence(last, signedAt: day(204))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(204)) == [.alreadyYours])
            let refund = try history.evidence(refunded, signedAt: day(204))
            _ = try ledger.outcomes(refund, for: "anna", at: day(204))
            let revoked = try ledger.events().filter { $0.kind == .revoked }
            #expect(revoked.map(\.transactionID) == [refunded.transactionID])
        }
    }

    @Test(arguments: Place.available)
    func `an imported token claims what waits, which is notified; imported evidence is not`(_ place: Place) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID, appAccountToken: Self.token.description)
            history.buyConsumable("coins", quantity: 3, at: day(0))
            for notification in try history.verifiedNotifications(through: day(0)) {
                try ledger.record(notification, at: day(0))
            }
            history.appAccountToken = nil
            let pro = history.buyNonConsumable("pro", at: day(0))
            let stored = try history.evidence(pro, signedAt: day(0))
            let lines: [ImportedLine] = [
                .token(account: "anna", Self.token), .evidence(account: "ben", stored),
                .evidence(account: "anna", stored),
            ]
            #expect(try words(ledger, lines) == ["added", "added", "belongs-to-another"])
            #expect(try ledger.events().map(\.cause) == [.token])
            #expect(try LedgerState(ledger).grants.values.map(\.account).sorted() == ["anna", "ben"])
            #expect(try ledger.purchasesWithoutOrder().count == 1)
        }
    }

    @Test(arguments: Place.available)
    func `a purchase of an earlier line, or with another's token, is not the account's that a line names`(
        _ place: Place
    ) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let pro = history.buyNonConsumable("pro", at: day(0))
            let copy = history.restore(pro, at: day(1))
            let lines = [try spent("anna", pro), try spent("ben", copy, original: pro.transactionID)]
            #expect(try words(ledger, lines) == ["added", "belongs-to-another"])
            #expect(try words(ledger, [.token(account: "anna", Self.token)]) == ["added"])
            history.appAccountToken = Self.token.description
            let coins = history.buyConsumable("coins", at: day(1))
            let stored = try history.evidence(coins, signedAt: day(1))
            #expect(try words(ledger, [.evidence(account: "ben", stored)]) == ["belongs-to-another"])
            // The token decides.
            #expect(try LedgerState(ledger).grants.values.map(\.account) == ["anna", "anna"])
        }
    }
}

/// Contradictions of lines.
extension ImportTests {
    /// What the ledger knows before a line of anna's about a purchase of three coins.
    enum Known: String, CaseIterable {
        /// A line was imported before; Apple's evidence was redeemed by anna; it was notified, and nobody owns it.
        case imported, redeemed, unowned
    }

    /// A line with another value, and its column.
    struct Difference: CustomTestStringConvertible {
        let column: String
        var product: String?
        var quantity = 3
        var original: String?
        var date = day(0)
        var testDescription: String { column }
    }

    static let differences = [
        Difference(column: "product_id", product: "gems"), Difference(column: "quantity", quantity: 2),
        Difference(column: "original_transaction_id", original: "340000000000999"),
        Difference(column: "date", date: day(0.5)),
    ]

    @Test(arguments: Place.available, differences)
    func `a line that contradicts what is known changes nothing, unless nobody owns it`(
        _ place: Place, _ difference: Difference
    ) throws {
        for known in Known.allCases {
            try withLedger(place) { ledger in
                var history = PurchaseHistory(bundleID: Minted.bundleID)
                let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
                switch known {
                case .imported:
                    _ = try words(ledger, [spent("anna", coins, original: coins.transactionID)])
                case .redeemed:
                    _ = try ledger.redeem(history.evidence(coins, signedAt: day(0)), for: "anna", at: day(0))
                case .unowned:
                    for notification in try history.verifiedNotifications(through: day(0)) {
                        try ledger.record(notification, at: day(0))
                    }
                }
                let before = try ledger.dump()
                let line = try spent(
                    "anna", coins, original: difference.original, product: difference.product,
                    quantity: difference.quantity, at: difference.date)
                let isNote = difference.column == "date"
                let word = try words(ledger, [line])[0]
                let note = "note \(difference.column)"
                if known == .unowned {
                    #expect(word == "added, \(note)")
                    #expect(try LedgerState(ledger).grants[coins.transactionID]?.account == "anna")
                    // The line agrees with its own record.
                    #expect(try words(ledger, [line])[0] == "known")
                } else {
                    #expect(word == (isNote ? "known, \(note)" : difference.column), "\(known)")
                    #expect(try ledger.dump() == before, "\(known)")
                }
            }
        }
    }

    @Test(arguments: Place.available)
    func `a line says whose purchase it is by the lines before it alone`(_ place: Place) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID, appAccountToken: Self.token.description)
        let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
        let evidence = try history.evidence(coins, signedAt: day(0))
        let token = ImportedLine.token(account: "anna", Self.token)
        for (lines, expected) in [
            ([token, .evidence(account: "ben", evidence)], ["added", "belongs-to-another"]),
            ([.evidence(account: "ben", evidence), token], ["added", "added"]),
            ([try spent("ben", coins), .evidence(account: "carl", evidence)], ["added", "belongs-to-another"]),
            ([.evidence(account: "carl", evidence), try spent("ben", coins)], ["added", "belongs-to-another"]),
        ] {
            try withLedger(place) { ledger in
                let found = try words(ledger, lines)
                #expect(found == expected)
            }
        }
    }

    @Test(arguments: Place.available, [false, true])
    func `what an account has by a line besides its own transactions is notified, and a known refund`(
        _ place: Place, isEvidence: Bool
    ) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(1), at: day(0))
            let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
            let parts = history.buyConsumable("coins", quantity: 10, at: day(0))
            let lines = try [subscription.firstPeriod, coins, parts].map { transaction in
                isEvidence
                    ? .evidence(account: "anna", try history.evidence(transaction, signedAt: day(0)))
                    : try spent("anna", transaction)
            }
            let renewal = history.renew(subscription)
            history.refund(coins, at: day(0.5))
            history.refund(parts, at: day(0.5), percentage: 50_000)
            for notification in try history.verifiedNotifications(through: day(1)) {
                try ledger.record(notification, at: day(1))
            }
            let tried = try ledger.tried(lines, at: day(1.5))
            #expect(try ledger.imported(lines, at: day(1.5)) == tried)
            func notified(_ kind: LedgerEvent.Kind) throws -> [String] {
                try ledger.events().filter { $0.kind == kind }.map {
                    "\($0.transactionID) \($0.previousQuantity) \($0.quantity)"
                }
            }
            #expect(try notified(.granted) == ["\(renewal.transactionID) 0 1"])
            #expect(try notified(.revoked) == ["\(coins.transactionID) 3 0"])
            #expect(try notified(.adjusted) == ["\(parts.transactionID) 10 5"])
            let count = try ledger.events().count
            #expect(try ledger.imported(lines, at: day(1.5)).allSatisfy { $0.outcome == .known })
            #expect(try ledger.events().count == count)
        }
    }

    @Test(arguments: Place.available)
    func `each grant knows its import`(_ place: Place) throws {
        try withLedger(place) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(1), at: day(0))
            let coins = history.buyConsumable("coins", at: day(0))
            let own = history.buyConsumable("coins", at: day(0))
            history.renew(subscription)
            for notification in try history.verifiedNotifications(through: day(1)) {
                try ledger.record(notification, at: day(1))
            }
            let period = try history.evidence(subscription.firstPeriod, signedAt: day(0))
            _ = try ledger.imported([spent("anna", coins)], at: day(1))
            _ = try ledger.imported([.evidence(account: "anna", period)], at: day(1.5))
            _ = try ledger.redeem(history.evidence(own, signedAt: day(0)), for: "anna", at: day(1))
            let runs = try ledger.importRuns()
            #expect(runs.map(\.by) == ["tests", "tests"] && runs.allSatisfy { $0.state == .complete })
            let numbers = try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT import_id FROM grants ORDER BY import_id").map {
                    (row) throws(LedgerError) in try row.optionalInteger(0)
                }
            }
            // The renewal is of the second: the period has ended.
            #expect(numbers.compactMap(\.self) == [runs[1].id, runs[0].id] && numbers.count == 3)
        }
    }

    @Test(arguments: Place.available)
    func `two imports do not run at once, and what was taken over goes on once`(_ place: Place) throws {
        try withLedger(place) { ledger in
            var lock: ImportLock? = try ledger.lockImports()
            let error = #expect(throws: LedgerError.self) { try ledger.lockImports() }
            #expect(error?.code == .importRunning)
            withExtendedLifetime(lock) {}
            lock = nil
            lock = try ledger.lockImports()
            var first = try ledger.beginImport(of: "file", digest: "1", by: "anna")
            var second = try ledger.continueImport(first, digest: "2")
            let lines = [ImportedLine.token(account: "anna", Self.token)]
            #expect(throws: LedgerError.self) { try ledger.importLines(lines, of: &first) }
            #expect(try ledger.importLines(lines, of: &second)[0].outcome == .added)
        }
    }
}

extension ImportTests {
    @Test func `a lock that the database lost is taken again, unless another import has it`() throws {
        guard PostgreSQLServer.binaries != nil else { return }
        try Place.postgreSQL.withLedger { ledger in
            let lock = try ledger.lockImports()
            try lock.hold()
            func end() throws {
                // The lock has the number of the table, minus 2³¹, as an unsigned number.
                let ended = try ledger.store.write { (connection) throws(LedgerError) in
                    try connection.run(
                        """
                        SELECT pg_terminate_backend(pid, 10000)::text FROM pg_locks WHERE classid = 1310579654
                            AND objid::bigint = ('imports'::regclass::oid::bigint + 2147483648) % 4294967296
                        """)
                }
                #expect(ended.count == 1)
            }
            try end()
            var other: ImportLock? = try ledger.lockImports()
            let error = #expect(throws: LedgerError.self) { try lock.hold() }
            #expect(error?.code == .importRunning)
            withExtendedLifetime(other) {}
            other = nil
            try lock.hold()
            #expect(throws: LedgerError.self) { try ledger.lockImports() }
            try end()
            try lock.hold()
            #expect(throws: LedgerError.self) { try ledger.lockImports() }
        }
    }
}

extension ImportedLine.Outcome: Equatable {
    static func == (left: Self, right: Self) -> Bool { "\(left)" == "\(right)" }
}

extension ImportedLine.Result: Equatable {
    static func == (left: Self, right: Self) -> Bool {
        left.outcome == right.outcome && left.notes == right.notes
    }

    /// The outcome, and what the notes are about.
    var word: String {
        func code(_ text: String) -> String { String(text.prefix { $0 != ":" }) }
        let word =
            switch outcome {
            case .added: "added"
            case .known: "known"
            case .conflict(let text): code(text)
            case .fault: "fault"
            }
        return ([word] + notes.map { "note \(code($0))" }).joined(separator: ", ")
    }
}

extension PurchaseLedger {
    /// Returns the results of a trial import.
    func tried(_ lines: [ImportedLine], at date: Instant) throws -> [ImportedLine.Result] {
        let folder = try TemporaryFolder()
        defer { withExtendedLifetime(folder) {} }
        let trial = try PurchaseLedger(creating: folder.path + "/trial.db", policy: policy)
        try trial.prepareTrial()
        var copied = TrialCopies()
        try copy(about: lines, to: trial, without: &copied)
        return try trial.imported(lines, at: date)
    }

    /// The ledger's contents, except the numbers of lineages, imports and events.
    func dump() throws -> [String] {
        let statements = [
            """
            SELECT 'grant', environment, transaction_id, product_id, account, quantity, granted_quantity, granted_at,
                until, voided_at, adjusted_quantity, seats, original_transaction_id
            FROM grants JOIN identifiers ON id = identifier_id
            """,
            """
            SELECT 'evidence', transaction_id, variant, signed_date, purchase
            FROM evidence JOIN identifiers ON id = identifier_id
            """,
            "SELECT 'renewal', original_transaction_id, renewal FROM renewals",
            "SELECT 'token', token, account, kind FROM account_tokens",
            "SELECT 'order', account, product_id, transaction_id FROM orders",
            "SELECT 'unordered', transaction_id FROM unordered_purchases JOIN identifiers ON id = identifier_id",
            """
            SELECT 'member', one.transaction_id, families.account, families.claimed_at,
                (SELECT MIN(other.transaction_id) FROM identifiers AS other WHERE other.family_id = one.family_id)
            FROM identifiers AS one JOIN families ON families.id = one.family_id
            """,
            """
            SELECT 'waiting', token, told_at, (SELECT MIN(transaction_id) FROM identifiers
                WHERE identifiers.family_id = waiting_tokens.family_id) FROM waiting_tokens
            """,
            "SELECT 'sequence', account, sequence FROM outbox",
        ]
        var lines: [String] = []
        for statement in statements {
            let rows = try store.read { (connection) throws(LedgerError) in try connection.run(statement) }
            lines += rows.map { row in
                row.values.map { value in
                    switch value {
                    case .text(let text): text
                    case .integer(let number): "\(number)"
                    default: "-"
                    }
                }.joined(separator: " ")
            }.sorted()
        }
        return try lines
            + events().map {
                "event \($0.account) \($0.kind) \($0.cause) \($0.transactionID) \($0.previousQuantity) \($0.quantity) \(String(describing: $0.until))"
            }
    }
}
