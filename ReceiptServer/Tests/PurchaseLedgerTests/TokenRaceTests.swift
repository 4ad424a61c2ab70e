import AppStoreReceipt
import AppStoreReceiptTesting
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import SeededRandom
import Testing

/// Two servers over one database: what arrives at both at the same moment.
@Suite(.serialized) struct TokenRaceTests {
    private static let count = Sampling.count("token-races")

    private struct Race {
        let ledgers: [PurchaseLedger]
        let location: Place.Location
        private let server: PostgreSQLServer?
        private let failures = Guarded<[String]>([])

        /// - Parameter isAlone: Whether PostgreSQL is a server of its own, whose deadlocks are not counted with
        ///   others'.
        init(_ place: Place, isAlone: Bool = false) throws {
            var policy = LedgerPolicy()
            policy.orders = OrderPolicy()
            let isOwn = place == .postgreSQL && isAlone
            server = isOwn ? try PostgreSQLServer() : nil
            if let server {
                location = Place.Location(text: try server.makeDatabase(), folder: nil)
                _ = try PurchaseLedger(creating: location.text, policy: policy)
            } else {
                location = try place.makeLocation()
            }
            let location = location
            ledgers = try (0..<2).map { _ in try PurchaseLedger(location.text, policy: policy) }
        }

        /// Runs all at the same time.
        func run(_ work: [() throws -> Void]) {
            let work = UncheckedWork(work: work)
            let failures = failures
            inThreads(work.work.count) { index in
                do { try work.work[index]() } catch { failures.withLock { $0.append("\(error)") } }
            }
        }

        func finish(_ place: Place) throws {
            #expect(failures.withLock { $0.prefix(3) } == [])
            guard case .postgreSQL = place, server == nil else { return }
            let deadlocks = try ledgers[0].store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
            }
            #expect(try deadlocks.first?.integer(0) == 0)
        }
    }

    private struct UncheckedWork: @unchecked Sendable { let work: [() throws -> Void] }

    @Test(arguments: Place.available)
    func `R1 races a redemption of another account, and the token decides`(_ place: Place) throws {
        let race = try Race(place)
        let token = try race.ledgers[0].token(for: "anna").token
        var history = PurchaseHistory(bundleID: Minted.bundleID, appAccountToken: token.description)
        let coins = (0..<Self.count).map { _ in history.buyConsumable("coins", quantity: 3, at: day(0)) }
        let notifications = try history.verifiedNotifications(through: day(0))
        #expect(notifications.count == Self.count)
        for (number, transaction) in coins.enumerated() {
            let evidence = try history.evidence(transaction, signedAt: day(0))
            let ledgers = race.ledgers.shuffled()
            let outcomes = Guarded<[Outcome]>([])
            race.run([
                { try ledgers[0].record(notifications[number], at: day(1)) },
                {
                    let found = try ledgers[1].outcomes(evidence, for: "ben", at: day(1))
                    outcomes.withLock { $0 = found }
                },
            ])
            #expect(outcomes.withLock { $0 } == [.belongsToAnother])
        }
        let accounts = try LedgerState(race.ledgers[0]).grants.values.map(\.account)
        #expect(accounts == Array(repeating: "anna", count: Self.count))
        #expect(try race.ledgers[0].events().count == Self.count)
        try race.finish(place)
    }

    @Test(arguments: Place.available)
    func `a token that is stored while its purchase arrives claims it, whichever is first`(_ place: Place) throws {
        let race = try Race(place)
        for number in 1...Self.count {
            let token = AppAccountToken.random()
            var history = PurchaseHistory(
                bundleID: Minted.bundleID, customer: (number - 1) % 499 + 1, appAccountToken: token.description)
            // Customers come again in the long run, with other transactions.
            for _ in 0..<(number - 1) / 499 { history.buyConsumable("coins", at: day(0)) }
            let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
            let notification = try #require(history.verifiedNotifications(through: day(0)).last)
            let ledgers = race.ledgers.shuffled()
            race.run([
                { try ledgers[0].record(notification, at: day(1)) },
                { _ = try ledgers[1].token(for: "anna", storing: token, at: day(1)) },
            ])
            #expect(try LedgerState(ledgers[0]).grants[coins.transactionID]?.account == "anna")
        }
        try race.finish(place)
    }

    @Test(arguments: Place.available)
    func `an import takes turns with servers that have the same accounts, tokens and purchases`(
        _ place: Place
    ) throws {
        // A purchase that nobody knows has no row to lock, so a batch can meet a server in a deadlock: then it is
        // written again, a few times.
        let race = try Race(place, isAlone: true)
        let ledgers = race.ledgers
        let count = Self.count
        var (lines, tokens): ([ImportedLine], [AppAccountToken]) = ([], [])
        var requests: [() throws -> Void] = []
        for number in 1...count {
            let (account, token) = ("user \(number % 50)", AppAccountToken.random())
            tokens.append(token)
            var history = PurchaseHistory(
                bundleID: Minted.bundleID, customer: (number - 1) % 499 + 1, appAccountToken: token.description)
            for _ in 0..<(number - 1) / 499 * 3 { history.buyConsumable("coins", at: day(0)) }
            let coins = (0..<3).map { _ in history.buyConsumable("coins", quantity: 3, at: day(0)) }
            let evidence = try coins.map { try history.evidence($0, signedAt: day(0)) }
            let notifications = try history.verifiedNotifications(through: day(0)).suffix(3)
            lines.append(.token(account: account, token))
            lines.append(.evidence(account: account, evidence[0]))
            lines.append(
                .spent(
                    try #require(
                        SpentTransaction(
                            account: account, environment: .production, bundleID: Minted.bundleID,
                            transactionID: coins[1].transactionID, originalTransactionID: nil, productID: "coins",
                            quantity: 3, date: day(0)))))
            for notification in notifications { requests.append { try ledgers[1].record(notification, at: day(1)) } }
            for each in evidence { requests.append { _ = try ledgers[0].redeem(each, for: account, at: day(1)) } }
            requests.append { _ = try ledgers[0].token(for: account, storing: token, at: day(1)) }
        }
        var generator = SeededGenerator()
        lines.shuffle(using: &generator)
        requests.shuffle(using: &generator)
        let (longest, batch) = (Guarded<Duration>(.zero), Guarded<Duration>(.zero))
        func timed(_ longest: Guarded<Duration>, _ body: () throws -> Void) rethrows {
            let start = ContinuousClock.now
            try body()
            let time = ContinuousClock.now - start
            longest.withLock { $0 = max($0, time) }
        }
        let parts = (0..<6).map { part in requests.enumerated().filter { $0.offset % 6 == part }.map(\.element) }
        race.run(
            parts.map { part in { for request in part { try timed(longest, request) } } } + [
                {
                    var run = try ledgers[0].beginImport(of: "file", digest: "", by: "tests", at: day(1))
                    for start in stride(from: 0, to: lines.count, by: ledgers[0].importBatchSize) {
                        let end = min(start + ledgers[0].importBatchSize, lines.count)
                        try timed(batch) {
                            // The command says so, too: run it again, and it goes on.
                            while true {
                                do throws(LedgerError) {
                                    _ = try ledgers[0].importLines(Array(lines[start..<end]), of: &run, at: day(1))
                                    return
                                } catch {
                                    guard error.code == .storeUnavailable else { throw error }
                                }
                            }
                        }
                    }
                }
            ])
        print("\(place): a batch took up to \(batch.withLock(\.self)), a request \(longest.withLock(\.self))")
        let rows = try LedgerState(ledgers[0]).grants
        #expect(rows.count == 3 * count && rows.values.allSatisfy { $0.account.hasPrefix("user ") && $0.quantity == 3 })
        #expect(try ledgers[0].stateByEvents().grants.allSatisfy { rows[$0.key] == $0.value })
        try race.finish(place)
    }

    @Test(arguments: Place.available)
    func `an account that is deleted while its purchases arrive leaves its name nowhere`(_ place: Place) throws {
        let race = try Race(place)
        for number in 1...Self.count {
            let account = "anna-\(number)"
            let token = try race.ledgers[0].token(for: account).token
            var history = PurchaseHistory(
                bundleID: Minted.bundleID, customer: (number - 1) % 499 + 1, appAccountToken: token.description)
            for _ in 0..<(number - 1) / 499 * 2 { history.buyConsumable("coins", at: day(0)) }
            let coins = (0..<2).map { _ in history.buyConsumable("coins", quantity: 3, at: day(0)) }
            let evidence = try history.evidence(coins[0], signedAt: day(0))
            let notification = try #require(history.verifiedNotifications(through: day(0)).last)
            let ledgers = race.ledgers.shuffled()
            race.run([
                { try ledgers[0].record(notification, at: day(1)) },
                { _ = try ledgers[1].redeem(evidence, for: "ben", at: day(1)) },
                { _ = try ledgers[1].deleteAccount(account) },
            ])
            let rows = try ledgers[0].store.read { (connection) throws(LedgerError) in
                var rows: [SQLRow] = []
                for table in ["families", "grants", "outbox", "accounts", "account_tokens"] {
                    rows += try connection.run("SELECT 1 FROM \(table) WHERE account = $1", [.text(account)])
                }
                return rows
            }
            #expect(rows.isEmpty, "\(number)")
        }
        try race.finish(place)
    }

    @Test(arguments: Place.available)
    func `an account that is deleted while Apple is asked about its purchases leaves its name nowhere`(
        _ place: Place
    ) throws {
        let race = try Race(place)
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        for number in 1...Self.count {
            let account = "anna-\(number)"
            let names = try (0..<3).map { _ in
                let coins = history.buyConsumable("coins", at: day(0))
                _ = try race.ledgers[0].redeem(history.evidence(coins, signedAt: day(0)), for: account, at: day(1))
                return TransactionName(
                    environment: .production, bundleID: Minted.bundleID, transactionID: coins.transactionID)
            }
            let ledgers = race.ledgers.shuffled()
            race.run([
                { try ledgers[0].recordAsking(about: names, reason: "ticket", answer: "nothing", at: day(1)) },
                {
                    try ledgers[1].recordAsking(
                        about: names.reversed(), reason: "ticket", answer: "nothing", at: day(1))
                },
                { _ = try ledgers[1].deleteAccount(account) },
            ])
            let acts = try ledgers[0].store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT account FROM acts").map { (row) throws(LedgerError) in try row.text(0) }
            }
            #expect(!acts.contains(account) && acts.count == 6 * number)
        }
        try race.finish(place)
    }

    @Test(arguments: Place.available)
    func `what an account sent does not stay if it is deleted while that is recorded`(_ place: Place) throws {
        let race = try Race(place)
        for number in 1...Self.count {
            let account = "anna-\(number)"
            let floor = try race.ledgers[0].sequenceFloor()
            let attempts = try (0..<2).map { index in
                try #require(
                    Attempt(
                        "\(number)-\(index)", of: account, Array("none".utf8), code: "not-evidence", order: floor,
                        at: day(1)))
            }
            let ledgers = race.ledgers.shuffled()
            race.run([
                { try ledgers[0].record([attempts[0]]) },
                { try ledgers[1].record([attempts[1]]) },
                {
                    do throws(LedgerError) {
                        _ = try ledgers[1].deleteAccount(account)
                    } catch {
                        guard error.code == .notFound else { throw error }
                    }
                },
            ])
            let rows = try ledgers[0].store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT digest FROM attempts UNION ALL SELECT digest FROM kept_evidence")
            }
            #expect(rows.isEmpty)
        }
        try race.finish(place)
    }

    @Test(arguments: Place.available)
    func `an account that is deleted while its event is sent again leaves its name nowhere`(_ place: Place) throws {
        let race = try Race(place)
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        for number in 1...Self.count {
            let account = "anna-\(number)"
            let coins = history.buyConsumable("coins", at: day(0))
            _ = try race.ledgers[0].redeem(history.evidence(coins, signedAt: day(0)), for: account, at: day(1))
            let event = try #require(race.ledgers[0].events().first { $0.account.hasSameBytes(as: account) })
            let ledgers = race.ledgers.shuffled()
            let sending = {
                do throws(LedgerError) {
                    try ledgers[0].sendAgain(eventID: event.id, reason: "ticket", at: day(1))
                } catch {
                    // The account is deleted already.
                    guard error.code == .notFound else { throw error }
                }
            }
            race.run([sending, { _ = try ledgers[1].deleteAccount(account) }, sending])
            let acts = try ledgers[0].store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT account FROM acts").map { (row) throws(LedgerError) in try row.text(0) }
            }
            #expect(!acts.contains(account))
        }
        try race.finish(place)
    }

    @Test(arguments: Place.available)
    func `the same grant of support, sent several times at once, is granted once and answered each time`(
        _ place: Place
    ) throws {
        let race = try Race(place)
        for number in 1...Self.count {
            let gift = Adjustment(
                .product(environment: .production, bundleID: Minted.bundleID, productID: "gift", quantity: 5),
                reason: "ticket", idempotencyKey: "ticket \(number)")
            let answers = Guarded<[Adjustment.Answer]>([])
            race.run(
                (0..<6).map { index in
                    {
                        let answer = try race.ledgers[index % 2].adjust(gift, of: "anna", at: day(1))
                        answers.withLock { $0.append(answer) }
                    }
                })
            let all = answers.withLock { $0 }
            #expect(Set(all.map(\.name.transactionID)).count == 1 && all.count { !$0.isRepeated } == 1, "\(number)")
        }
        #expect(try race.ledgers[0].events().count == Self.count)
        try race.finish(place)
    }
}
