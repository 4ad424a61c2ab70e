import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import SeededRandom
import Testing

/// Requests that share a transaction.
@Suite(.serialized) struct GroupTests {
    /// Runs all of `work` at the same time: with one writer, none begins before all wait or need no writer.
    private func together(_ ledger: PurchaseLedger, _ work: [@Sendable () -> Void]) throws {
        let gate = DispatchSemaphore(value: 0)
        let isOpen = DispatchSemaphore(value: 0)
        let first = Thread {
            // It has the writer, if there is one, until the others wait for it.
            try? ledger.store.write { (_) throws(LedgerError) in
                gate.signal()
                isOpen.wait()
            }
        }
        first.start()
        gate.wait()
        let threads = work.map { body in Thread { body() } }
        threads.forEach { $0.start() }
        if let store = ledger.store as? SQLiteStore {
            while threads.count(where: \.isFinished) + store.waitingCount < work.count { usleep(500) }
        } else {
            usleep(UInt32(20_000 + 500 * work.count))
        }
        isOpen.signal()
        while !(threads + [first]).allSatisfy(\.isFinished) { usleep(500) }
    }

    /// A request and its answer, alone and in a group.
    private struct Request: Sendable {
        let evidence: VerifiedEvidence
        let account: String
        var key: String?

        func answer(_ ledger: PurchaseLedger) -> String {
            do throws(LedgerError) {
                let answer = try ledger.redeem(evidence, for: account, idempotencyKey: key, at: day(1))
                return answer.outcomes.map { "\($0.transactionID) \($0.outcome) \($0.quantity)" }.joined(
                    separator: ", ")
            } catch {
                // Each fails for its own reason only.
                return error.code == .storeUnavailable ? "\(error)" : error.code.rawValue
            }
        }
    }

    /// Makes the database refuse these accounts' events: the statement, or the whole transaction.
    private func refuseEvents(_ ledger: PurchaseLedger, _ place: Place) throws {
        let statements =
            switch place {
            case .sqlite:
                ["ABORT", "FAIL", "ROLLBACK"].map {
                    """
                    CREATE TRIGGER refuse_\($0) BEFORE INSERT ON outbox WHEN NEW.account LIKE 'refused \($0)%'
                    BEGIN SELECT RAISE(\($0), 'refused'); END
                    """
                }
            case .postgreSQL: ["ALTER TABLE outbox ADD CHECK (account NOT LIKE 'refused%')"]
            }
        try ledger.store.write { (connection) throws(LedgerError) in
            for statement in statements { try connection.run(statement) }
        }
    }

    @Test(arguments: Place.available)
    func `a member of a group that fails leaves the others as if it had run alone`(_ place: Place) throws {
        var generator = SeededGenerator()
        for _ in 0..<Sampling.count("failing-groups") {
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let (group, alone) = (try place.makeLocation(), try place.makeLocation())
            let ledgers = [try PurchaseLedger(group.text), try PurchaseLedger(alone.text)]
            for ledger in ledgers { try refuseEvents(ledger, place) }
            var requests: [Request] = []
            for number in 0..<Int.random(in: 2...40, using: &generator) {
                let coins = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
                    history.buyConsumable("coins", quantity: number % 5 + 1, at: day(0))
                }
                let receipt = try Minted.evidence(history.receipt(signedAt: day(1), of: coins))
                var request = Request(evidence: receipt, account: "account \(number)")
                switch Int.random(in: 0..<6, using: &generator) {
                case 0:
                    let kind = ["ABORT", "FAIL", "ROLLBACK"].randomElement(using: &generator) ?? ""
                    request = Request(evidence: receipt, account: "refused \(kind) \(number)")
                case 1:
                    // The key belongs to another request.
                    let coins = history.buyConsumable("coins", at: day(0))
                    let other = try history.evidence(coins, signedAt: day(1))
                    request.key = "k"
                    for ledger in ledgers {
                        _ = try ledger.redeem(other, for: request.account, idempotencyKey: "k", at: day(1))
                    }
                case 2:
                    let other = try history.evidence(coins[0], signedAt: day(1))
                    for ledger in ledgers { _ = try ledger.redeem(other, for: "another", at: day(1)) }
                case 3: request.key = "k"
                default: break
                }
                requests.append(request)
            }
            let expected = requests.shuffled(using: &generator).map { ($0.account, $0.answer(ledgers[1])) }
            let answers = Guarded<[String: String]>([:])
            try together(
                ledgers[0],
                requests.map { request in
                    {
                        let answer = request.answer(ledgers[0])
                        answers.withLock { $0[request.account] = answer }
                    }
                })
            #expect(answers.withLock { $0 } == Dictionary(uniqueKeysWithValues: expected))
            #expect(try LedgerState(ledgers[0]) == LedgerState(ledgers[1]))
            #expect(try ledgers[0].stateByEvents() == LedgerState(ledgers[1]))
            withExtendedLifetime((group, alone)) {}
        }
    }

    @Test(arguments: Place.available, ["ABORT", "FAIL"])
    func `of a member of a group that fails, nothing is recorded with the others`(
        _ place: Place, _ kind: String
    ) throws {
        try place.withLedger { ledger in
            try refuseEvents(ledger, place)
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let requests = try ["anna", "refused \(kind)", "ben"].map { account in
                let coins = history.buyConsumable("coins", at: day(0))
                return Request(evidence: try history.evidence(coins, signedAt: day(1)), account: account)
            }
            try together(ledger, requests.map { request in { _ = request.answer(ledger) } })
            #expect(try LedgerState(ledger).grants.values.map(\.account).sorted() == ["anna", "ben"])
        }
    }

    @Test(arguments: Place.available)
    func `two requests about one purchase are no group`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let bought = history.buyConsumable("coins", at: day(0))
            let coins = try history.evidence(bought, signedAt: day(1))
            let requests = ["anna", "ben"].map { account in
                RedemptionRequest(
                    submission: Submission(coins), claim: Claim(account: account, token: nil),
                    answered: nil, policy: LedgerPolicy(), now: day(1))
            }
            let error = #expect(throws: LedgerError.self) {
                try ledger.store.write { (connection) throws(LedgerError) in
                    try RedemptionRequest.answer(requests, connection).count
                }
            }
            #expect(error?.isConflict == true)
            #expect(try LedgerState(ledger).grants.isEmpty)
        }
    }

    @Test(.enabled(if: PostgreSQLServer.binaries != nil))
    func `a commit whose answer is lost is recorded for all of its group, and each has its answer`() throws {
        let location = try Place.postgreSQL.makeLocation()
        let proxy = try LossyProxy(before: location.text)
        let ledger = try PurchaseLedger(proxy.uri)
        for round in 0..<Sampling.count("lost-commits") {
            var history = PurchaseHistory(bundleID: Minted.bundleID, customer: round + 1)
            let requests = try (0..<20).map { number in
                let coins = history.buyConsumable("coins", at: day(0))
                return Request(evidence: try history.evidence(coins, signedAt: day(1)), account: "account \(number)")
            }
            proxy.loseCommits(1)
            let answers = Guarded<[String: String]>([:])
            try together(
                ledger,
                requests.map { request in
                    {
                        let answer = request.answer(ledger)
                        answers.withLock { $0[request.account] = answer }
                    }
                })
            #expect(proxy.loseNothing() == 1)
            for request in requests {
                let id = try #require(request.evidence.purchases.first?.transactionID)
                #expect(answers.withLock { $0[request.account] } == "\(id) granted 1")
                #expect(request.answer(ledger) == "\(id) alreadyYours 1")
            }
            #expect(try ledger.events().count == 20 * (round + 1))
        }
        withExtendedLifetime(location) {}
    }

    @Test(.enabled(if: PostgreSQLServer.binaries != nil))
    func `a group whose commit was not done is done one by one`() throws {
        let location = try Place.postgreSQL.makeLocation()
        let ledger = try PurchaseLedger(location.text)
        try CommitMarksTests.endCommits(1, granting: 2, in: ledger)
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let requests = try (0..<20).map { number in
            let coins = history.buyConsumable("coins", at: day(0))
            return Request(evidence: try history.evidence(coins, signedAt: day(1)), account: "account \(number)")
        }
        let answers = Guarded<[String]>([])
        try together(
            ledger,
            requests.map { request in
                {
                    let answer = request.answer(ledger)
                    answers.withLock { $0.append(answer) }
                }
            })
        #expect(answers.withLock { $0.count { $0.hasSuffix(" granted 1") } } == 20)
        #expect(try ledger.events().count == 20)
        // A group did grant two.
        #expect(
            try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT is_called::int FROM ends")[0].integer(0)
            } == 1)
        withExtendedLifetime(location) {}
    }

    @Test(.enabled(if: PostgreSQLServer.binaries != nil))
    func `two groups with the same idempotency keys do not wait for each other`() throws {
        let location = try Place.postgreSQL.makeLocation()
        let ledgers = try (0..<2).map { _ in try PurchaseLedger(location.text) }
        // Inserting a row takes long, so that the groups overlap.
        try ledgers[0].store.write { (connection) throws(LedgerError) in
            try connection.run(
                """
                CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql
                AS $$ BEGIN PERFORM pg_sleep(0.05); RETURN NEW; END $$
                """)
            try connection.run("CREATE TRIGGER wait BEFORE INSERT ON answers FOR EACH ROW EXECUTE FUNCTION wait()")
        }
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let groups = try (0..<2).map { group in
            try (0..<6).map { number in
                let transaction = history.buyConsumable("coins", at: day(0))
                let coins = try history.evidence(transaction, signedAt: day(1))
                let account = "account \(group == 0 ? number : 5 - number)"
                // What is granted already locks no account.
                _ = try ledgers[0].redeem(coins, for: account, at: day(1))
                return RedemptionRequest(
                    submission: Submission(coins), claim: Claim(account: account, token: nil),
                    answered: try AnsweredRequest("key", account, nil, coins.purchases.map(\.purchase)),
                    policy: LedgerPolicy(), now: day(1))
            }
        }
        let errors = Guarded<[String]>([])
        let threads = zip(groups, ledgers).map { group, ledger in
            Thread {
                do throws(LedgerError) {
                    _ = try ledger.store.write { (connection) throws(LedgerError) in
                        try RedemptionRequest.answer(group, connection).count
                    }
                } catch {
                    errors.withLock { $0.append("\(error)") }
                }
            }
        }
        threads.forEach { $0.start() }
        while !threads.allSatisfy(\.isFinished) { usleep(1000) }
        #expect(errors.withLock { $0 } == [])
        let deadlocks = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        // The servers report what they counted after a second.
        sleep(2)
        let rows = try ledgers[0].store.read { (connection) throws(LedgerError) in try connection.run(deadlocks) }
        #expect(try rows.first?.integer(0) == 0)
        withExtendedLifetime(location) {}
    }
}
