import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
@testable import PurchaseLedger
import Sampling
import Testing

/// The cost of hundreds of thousands of pending events for others: nothing reads them all.
@Suite(.serialized) struct OutboxBacklogTests {
    private static let now = day(100)

    /// Inserts `count` events of one account, as many accounts with an event that is due later, as many with one that
    /// is due, and as many delivered events.
    private func fill(_ ledger: PurchaseLedger, _ count: Int) throws {
        let (now, old) = (Self.now.millisecondsSince1970, day(99).millisecondsSince1970)
        try write("INSERT INTO accounts (account, last_sequence, due_at) VALUES ('old', \(count), \(old))", to: ledger)
        // A statement must end within the time for a request, on a busy machine, too.
        for first in stride(from: 1, through: count, by: 2000) {
            let last = min(first + 1999, count)
            let numbers = "WITH RECURSIVE n(i) AS (SELECT \(first) UNION ALL SELECT i + 1 FROM n WHERE i < \(last))"
            for (name, account, sequence, state) in [
                ("old", "'old'", "i", "pending"), ("later", "'later ' || i", "1", "pending"),
                ("due", "'due ' || i", "1", "pending"), ("done", "'done'", "i", "delivered"),
            ] {
                let insertion = """
                    \(numbers) INSERT INTO outbox (id, account, sequence, event, made_at, state, attempts)
                    SELECT '\(name) ' || i, \(account), \(sequence), '{}', \(old) + i, '\(state)', 0 FROM n
                    """
                try write(insertion, to: ledger)
            }
            for (name, due) in [("later", now + 1_800_000), ("due", old)] {
                let insertion = """
                    \(numbers) INSERT INTO accounts (account, last_sequence, due_at)
                    SELECT '\(name) ' || i, 1, \(due) + i FROM n
                    """
                try write(insertion, to: ledger)
            }
        }
        // Without names, it would read the tables of all tests that run beside this one.
        for table in ["outbox", "accounts"] { try write("ANALYZE \(table)", to: ledger) }
    }

    private func write(_ statement: String, to ledger: PurchaseLedger) throws {
        try ledger.store.write { (connection) throws(LedgerError) in _ = try connection.run(statement) }
    }

    private func redeem(
        _ ledger: PurchaseLedger, _ history: inout PurchaseHistory, for account: String, at date: Instant
    ) throws {
        let transaction = history.buyConsumable("coins", at: day(0))
        _ = try ledger.redeem(history.evidence(transaction, signedAt: day(1)), for: account, at: date)
    }

    @Test(arguments: Place.available)
    func `a backlog holds up neither new events nor redemptions, and no statement reads it all`(_ place: Place) throws {
        let count = Sampling.count("backlog-events")
        try place.withLedger { ledger in
            try fill(ledger, count)
            let dialect = try ledger.store.read { (connection) throws(LedgerError) in connection.dialect }
            let (accounts, urgent) = (LeasedQueue.accounts, LeasedQueue.urgentEvents)
            let statements = [
                accounts.due("account", limit: 16, at: day(98), lock: dialect.skippingRowLock),
                accounts.due("account", isNewestFirst: true, limit: 16, at: day(98), lock: dialect.skippingRowLock),
                accounts.due(after: day(98), limit: 16, lock: dialect.skippingRowLock),
                urgent.due("id", limit: 16, at: day(98), lock: dialect.skippingRowLock),
                urgent.due(after: day(98), limit: 16, lock: dialect.skippingRowLock),
                SQLStatement(OutboxQuery.first, [.text("old")]), SQLStatement(OutboxQuery.old, [SQLValue(day(98))]),
                SQLStatement(OutboxQuery.oldest("pending", limit: 1)),
                SQLStatement(OutboxQuery.oldest("pending", limit: 100)),
                SQLStatement(OutboxQuery.oldest("dead", limit: 100)),
            ]
            for statement in statements {
                // EXPLAIN needs values instead of parameters.
                var text = statement.text
                for (index, value) in statement.parameters.enumerated() {
                    let literal =
                        switch value {
                        case .integer(let integer): "\(integer)"
                        case .text(let text): "'\(text)'"
                        default: "NULL"
                        }
                    text = text.replacingOccurrences(of: "$\(index + 1)", with: literal)
                }
                let explain = (place == .sqlite ? "EXPLAIN QUERY PLAN " : "EXPLAIN ") + text
                let rows = try ledger.store.write { (connection) throws(LedgerError) in try connection.run(explain) }
                let plan = try rows.map { try $0.text(place == .sqlite ? 3 : 0) }.joined(separator: "\n")
                #expect(plan.contains("ndex") || plan.contains("INDEX"), "\(text): \(plan)")
                #expect(!plan.contains("Seq Scan") && !plan.contains("TEMP B-TREE"), "\(text): \(plan)")
                // A scan of an index is one of the events in one state, as far as the limit. SQLite 3.46 takes what it
                // reads from the index alone.
                let usesIndex = plan.contains(/USING (COVERING )?INDEX outbox_/)
                #expect(!plan.contains("SCAN") || usesIndex, "\(text): \(plan)")
            }
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            var fastest = Duration.seconds(60)
            for round in 0..<10 {
                let start = ContinuousClock.now
                try redeem(ledger, &history, for: "new \(round)", at: Self.now)
                // With either half first.
                let events = try ledger.takeEvents(
                    limit: 4, lease: .seconds(60), isNewestFirst: round % 2 == 0, at: Self.now)
                #expect(events.map(\.account).contains("new \(round)"))
                #expect(events.count == 4 && Set(events.map(\.account)).count == 4)
                // The oldest one is not forgotten for the new ones.
                if round == 0 { #expect(events.map(\.account).contains("old")) }
                try ledger.record(events.map { ($0, nil) }, maximumAttempts: 5, at: Self.now)
                fastest = min(fastest, ContinuousClock.now - start)
            }
            let counts = try ledger.outboxCounts()
            print("ledger: \(place): a redemption and a look beside \(3 * count) events that wait: \(fastest) at best")
            // It was at least half a second when each look read the backlog. Slower rounds wait for other work.
            #expect(fastest < .milliseconds(300))
            #expect(counts.pending == PurchaseLedger.maximumCount && counts.dead == 0)
            #expect(try #require(counts.oldestPending) <= day(99) + .seconds(count))
        }
    }

    @Test(arguments: Place.available)
    func `an account's events go on one after the other, also when its backlog was marked by hand`(
        _ place: Place
    ) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            for account in ["anna", "anna", "ben"] { try redeem(ledger, &history, for: account, at: Self.now) }
            let ids = try ledger.events().map(\.id)
            for expected in [[ids[0], ids[2]], [ids[1]], []] {
                let events = try ledger.takeEvents(limit: 8, lease: .seconds(60), at: Self.now)
                #expect(events.map(\.id).sorted() == expected.sorted())
                try ledger.record(events.map { ($0, nil) }, maximumAttempts: 5, at: Self.now)
            }
            try redeem(ledger, &history, for: "anna", at: Self.now)
            try ledger.store.write { (connection) throws(LedgerError) in
                _ = try connection.run("UPDATE outbox SET state = 'delivered' WHERE state = 'pending'")
            }
            #expect(try ledger.takeEvents(limit: 8, lease: .seconds(60), at: Self.now).isEmpty)
            try redeem(ledger, &history, for: "anna", at: Self.now)
            #expect(try ledger.takeEvents(limit: 8, lease: .seconds(60), at: Self.now).count == 1)
        }
    }

    @Test(arguments: Place.available)
    func `events that wait in tables of version 1 are delivered`(_ place: Place) throws {
        let location = try place.makeEmptyLocation()
        let store = try LedgerLocation(location.text).open(.creating)
        try store.migrate { (connection) throws(LedgerError) in
            for statement in Schema.versions(connection.dialect)[0] + [
                "CREATE TABLE ledger_schema (version BIGINT NOT NULL)", "INSERT INTO ledger_schema VALUES (1)",
                "INSERT INTO accounts VALUES ('anna', 3), ('ben', 1)",
                """
                INSERT INTO outbox VALUES ('1', 'anna', 1, '{}', 1, 'delivered', 1, 1, 0, NULL),
                    ('2', 'anna', 2, '{}', 2, 'pending', 1, 2, 0, 'status 500'),
                    ('3', 'anna', 3, '{}', 3, 'pending', 0, 3, 0, NULL), ('4', 'ben', 1, '{}', 4, 'dead', 80, 4, 0, '')
                """,
            ] { _ = try connection.run(statement) }
        }
        let ledger = try PurchaseLedger(location.text)
        let events = try ledger.takeEvents(limit: 8, lease: .seconds(60), at: Self.now)
        #expect(events.map(\.id) == ["2"] && events.map(\.attempts) == [1])
        try ledger.record(events.map { ($0, nil) }, maximumAttempts: 5, at: Self.now)
        #expect(try ledger.takeEvents(limit: 8, lease: .seconds(60), at: Self.now).map(\.id) == ["3"])
        #expect(try ledger.outboxCounts() == (1, Instant(millisecondsSince1970: 3), 1))
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `events made, taken or tried while the clock was ahead do not hold up later ones`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let ahead = Self.now + .seconds(86_400)
            for account in ["made", "taken", "tried"] {
                try redeem(ledger, &history, for: account, at: account == "made" ? ahead : Self.now)
            }
            let taken = try ledger.takeEvents(limit: 8, lease: .seconds(60), at: ahead)
            #expect(taken.count == 3)
            let tried = taken.filter { $0.account == "tried" }
            try ledger.record(tried.map { ($0, "status 500") }, maximumAttempts: 5, at: ahead)
            for account in ["made", "taken", "tried"] { try redeem(ledger, &history, for: account, at: Self.now) }
            for _ in 0..<2 {
                let events = try ledger.takeEvents(limit: 8, lease: .seconds(60), at: Self.now)
                #expect(events.map(\.account).sorted() == ["made", "taken", "tried"])
                try ledger.record(events.map { ($0, nil) }, maximumAttempts: 5, at: Self.now)
            }
            // The maximum delay applies.
            try redeem(ledger, &history, for: "failing", at: Self.now)
            let failing = try ledger.takeEvents(limit: 8, lease: .seconds(60), at: Self.now)
            try ledger.store.write { (connection) throws(LedgerError) in
                _ = try connection.run("UPDATE outbox SET attempts = 20 WHERE state = 'pending'")
            }
            let last = failing.map { OutgoingEvent(id: $0.id, account: $0.account, event: $0.event, attempts: 20) }
            try ledger.record(last.map { ($0, "status 500") }, maximumAttempts: 80, at: Self.now)
            #expect(try ledger.takeEvents(limit: 8, lease: .seconds(60), at: Self.now + .seconds(3599)).isEmpty)
            #expect(try ledger.takeEvents(limit: 8, lease: .seconds(60), at: Self.now + .seconds(3600)).count == 1)
        }
    }
}
