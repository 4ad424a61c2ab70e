import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import Testing
import TrialSupport

/// The table of attempts, and the evidence that is kept.
@Suite struct AttemptTests {
    private static let text = Array("MIIT evidence that a client sent, sent, sent, sent, sent, sent, sent".utf8)

    /// Attempt `number`, by default at day `number`.
    private static func attempt(
        _ number: Int, of account: String = "anna", _ evidence: [UInt8]? = nil, code: String = "forged-receipt",
        _ outcomes: [TransactionOutcome] = [], order: Int64? = nil, at date: Instant? = nil
    ) throws -> Attempt {
        let digits = String(number)
        return try #require(
            Attempt(
                String(repeating: "0", count: 28 - digits.count) + digits, of: account,
                evidence ?? Array("evidence \(number)".utf8), code: code, outcomes, order: order,
                at: date ?? day(Double(number))))
    }

    private func count(_ table: String, _ ledger: PurchaseLedger) throws -> Int64 {
        try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT COUNT(*) FROM \(table)")[0].integer(0)
        }
    }

    /// SQLite has one writer at a time.
    @Test(arguments: Place.available.filter { $0 != .sqlite })
    func `evidence goes with the last attempt that sent it, also if the last two go at once`(_ place: Place) throws {
        try place.withLedger { ledger in
            try ledger.record([Self.attempt(1, of: "anna", Self.text), Self.attempt(2, of: "ben", Self.text)])
            #expect(try count("kept_evidence", ledger) == 1)
            let deletion = Thread { _ = try? ledger.deleteAccount("ben") }
            try ledger.store.write { (connection) throws(LedgerError) in
                _ = try connection.eraseAttempts(of: "anna", number: 1, at: .now)
                // The statements above wait for an answer here.
                _ = try connection.run("SELECT 1")
                deletion.start()
                Thread.sleep(forTimeInterval: 1)
            }
            while !deletion.isFinished { Thread.sleep(forTimeInterval: 0.01) }
            #expect(try count("attempts", ledger) == 0 && count("kept_evidence", ledger) == 0)
        }
    }

    @Test func `the digest is that of the text without white space at its ends`() throws {
        let digest = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
        for text in ["foo", " foo\r\n", "\t\nfoo"] { #expect(EvidenceDigest.text(of: Array(text.utf8)) == digest) }
        for text in ["", " \n"] {
            #expect(EvidenceDigest.text(of: Array(text.utf8))?.hasPrefix("e3b0c44298fc1c14") == true)
        }
    }

    @Test(arguments: Place.available)
    func `an attempt has the digest of what was sent and of the evidence in it, and is found by both`(
        _ place: Place
    ) throws {
        try place.withLedger { ledger in
            // By its form: nothing is verified here.
            let jws = "eyJhbGciOiJFUzI1NiJ9.e30.AAAA"
            let sent = Array(#"{"user":17,"jwsRepresentation":"\#(jws)"}"#.utf8)
            func attempt(_ number: Int, _ evidence: [UInt8], isWrapped: Bool) throws -> Attempt {
                try #require(
                    Attempt(
                        "request \(number)", of: "anna", evidence, isWrapped: isWrapped, code: "ok",
                        at: day(Double(number))))
            }
            let wrapped = try attempt(1, sent, isWrapped: true)
            let alone = try attempt(2, Array(jws.utf8), isWrapped: false)
            #expect(wrapped.digest != wrapped.evidenceDigest && alone.digest == alone.evidenceDigest)
            #expect(wrapped.evidenceDigest == alone.digest && wrapped.isRepetition(of: alone))
            try ledger.record([wrapped, alone])
            let found = try ledger.attempts(withDigest: alone.digest)
            #expect(found.map(\.requestID) == ["request 2", "request 1"])
            #expect(found.map(\.evidenceDigest) == [alone.digest, alone.digest])
            #expect(found.map(\.digest) == [alone.digest, wrapped.digest])
            #expect(try ledger.attempts(withDigest: wrapped.digest).map(\.requestID) == ["request 1"])
        }
    }

    @Test(arguments: Place.available)
    func `an attempt is found by its request, digest, account and transaction`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(1))
            _ = try ledger.redeem(evidence, for: "anna", at: day(1))
            let log = AttemptLog(ledger, keeping: .seconds(86_400), withEvidence: true)
            let outcomes = try ledger.redeem(evidence, for: "ben", at: day(2)).outcomes
            let attempt = try Self.attempt(1, of: "ben", Self.text, code: "ok", outcomes)
            log.add(attempt)
            log.add(try? Self.attempt(2, of: "ben"))
            try log.write()
            let name = TransactionName(
                environment: .production, bundleID: Minted.bundleID, transactionID: coins.transactionID)
            let attempts = try #require(try ledger.story(of: name, at: day(3))).attempts
            #expect(attempts.map(\.account) == ["ben"] && attempts[0].outcomes.map(\.outcome) == ["belongs-to-another"])
            #expect(attempts[0].outcomes[0].name == name && attempts[0].isEvidenceKept && attempts[0].at == day(1))
            for word in [attempt.requestID, attempt.digest] {
                let found = try ledger.find(word)
                guard case .attempt(let fact)? = found.first, found.count == 1 else {
                    Issue.record("\(found)")
                    continue
                }
                #expect(fact.requestID == attempt.requestID)
            }
            let entries = try #require(try ledger.history(of: "ben")).entries
            #expect(
                entries.map { entry in
                    if case .attempt(let fact) = entry.fact { fact.code } else { "" }
                } == ["forged-receipt", "ok"])
            #expect(try ledger.keptEvidence(attempt.digest) == Self.text)
            #expect(try ledger.keptEvidence("none") == nil)
        }
    }

    @Test(arguments: Place.available)
    func `the same evidence is kept once, compressed, while an attempt is about it`(_ place: Place) throws {
        try place.withLedger { ledger in
            let text = Array(String(repeating: "MIIT", count: 50_000).utf8)
            for (number, account) in ["anna", "ben", "anna"].enumerated() {
                try ledger.record([Self.attempt(number, of: account, text)])
            }
            #expect(try count("kept_evidence", ledger) == 1 && count("attempts", ledger) == 3)
            let size = try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT stored_bytes FROM kept_evidence")[0].integer(0)
            }
            #expect(size < 2000)
            _ = try ledger.deleteAccount("anna")
            // Ben sent it, too.
            #expect(try count("kept_evidence", ledger) == 1 && count("attempts", ledger) == 1)
            try ledger.removeAttempts(before: day(10))
            #expect(try count("kept_evidence", ledger) == 0 && count("attempts", ledger) == 0)
        }
    }

    @Test(arguments: Place.available)
    func `of many attempts, those with a digest are found by it, also before the database has statistics`(
        _ place: Place
    ) throws {
        try place.withLedger { ledger in
            let plan = try ledger.store.write { (connection) throws(LedgerError) in
                let numbers =
                    place == .sqlite
                    ? "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i FROM n)"
                    : "(SELECT generate_series(1, 20000) AS i)"
                try connection.run(
                    """
                    INSERT INTO attempts SELECT 'request ' || i, 'account ' || i, i, 1, 'digest ' || i, 'ok', '[]', 0, NULL
                    FROM \(numbers) AS numbers
                    """)
                let explain = place == .sqlite ? "EXPLAIN QUERY PLAN " : "EXPLAIN "
                let text = AttemptQuery.facts(
                    AttemptQuery.withDigest.replacing("$1", with: "'digest 1'"), limit: 1)
                return try connection.run(explain + text).map { (row) throws(LedgerError) in
                    try row.text(place == .sqlite ? 3 : 0)
                }
            }
            #expect(plan.contains { $0.contains("attempts_with_digest") }, "\(plan)")
            #expect(try ledger.attempts(withDigest: "digest 1").map(\.requestID) == ["request 1"])
        }
    }

    @Test(arguments: Place.available)
    func `the deletion of an account erases what it sent, also what waits`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", at: day(0))
            let outcomes = try ledger.redeem(
                history.evidence(coins, signedAt: day(1)), for: "ben", at: day(1)
            ).outcomes
            let log = AttemptLog(ledger, keeping: .seconds(86_400), withEvidence: true)
            log.add(try? Self.attempt(1, Self.text, code: "ok", outcomes))
            try log.write()
            log.add(try? Self.attempt(2))
            log.add(try? Self.attempt(3, of: "ben"))
            #expect(try count("attempted_transactions", ledger) == 1)
            // An account known only from its attempts is known.
            _ = try ledger.deleteAccount("anna")
            try log.write()
            #expect(try count("attempts", ledger) == 1 && count("attempted_transactions", ledger) == 0)
            #expect(try ledger.history(of: "anna") == nil)
            #expect(try count("kept_evidence", ledger) == 1)
            let error = #expect(throws: LedgerError.self) { try ledger.deleteAccount("anna") }
            #expect(error?.code == .notFound)
        }
    }

    @Test(arguments: Place.available, [true, false])
    func `what a server has when another deletes the account is never recorded; what the account sends later is`(
        _ place: Place, isKnown: Bool
    ) throws {
        let location = try place.makeLocation()
        let (here, there) = (try PurchaseLedger(location.text), try PurchaseLedger(location.text))
        if isKnown { try here.record([Self.attempt(1)]) }
        let log = AttemptLog(there, keeping: .seconds(86_400), withEvidence: true)
        log.add(try? Self.attempt(2, at: .now + .seconds(600)))
        log.add(try? Self.attempt(3, of: "ben"))
        do throws(LedgerError) {
            _ = try here.deleteAccount("anna")
            #expect(isKnown)
        } catch {
            #expect(!isKnown && error.code == .notFound)
        }
        try log.stop()
        #expect(try count("attempts", here) == 1 && count("kept_evidence", here) == 1)
        // A customer who returns.
        let floor = try there.sequenceFloor()
        try there.record([
            Self.attempt(4, order: floor, at: .now - .seconds(60)),
            Self.attempt(5, order: floor - 1, at: .now + .seconds(60)),
        ])
        #expect(try here.history(of: "anna")?.entries.count == 1)
        // The account that returned is deleted again.
        _ = try here.deleteAccount("anna", at: .now + .seconds(120))
        try there.record([Self.attempt(6, order: floor, at: .now + .seconds(600))])
        #expect(try here.history(of: "anna") == nil)
        // A day later, nothing is known of the deletion.
        try here.removeDeletions(at: .now + .seconds(86_000))
        #expect(try count("deletions", here) == 1)
        try here.removeDeletions(at: .now + .seconds(87_000))
        #expect(try count("deletions", here) == 0)
        withExtendedLifetime(location) {}
    }

    /// The seconds by which the clock of the server that sends is ahead of that of the server that deletes.
    @Test(arguments: Place.available, [-5, 0, 4] as [Int64])
    func `the database orders what was sent and a deletion, whatever the clocks of two servers say`(
        _ place: Place, _ seconds: Int64
    ) throws {
        let location = try place.makeLocation()
        var ahead = LedgerPolicy()
        ahead.surroundings.date = { .now + .seconds(seconds) }
        let (here, there) = (try PurchaseLedger(location.text), try PurchaseLedger(location.text, policy: ahead))
        let log = AttemptLog(there, keeping: .seconds(86_400), withEvidence: true)
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        func send(_ number: Int) throws {
            let coins = history.buyConsumable("coins", at: day(0))
            let date = ahead.surroundings.date()
            let answer = try there.redeem(history.evidence(coins, signedAt: day(1)), for: "anna", at: date)
            log.add(try? Self.attempt(number, code: "ok", answer.outcomes, order: answer.sequence, at: date))
            // One that was refused before the database was asked.
            log.add(try? Self.attempt(100 + number, at: date))
        }
        for round in 0..<4 {
            try send(2 * round + 1)
            _ = try here.deleteAccount("anna")
            try log.write()
            #expect(try count("attempts", here) == 0 && count("kept_evidence", here) == 0)
            // A customer who returns at once.
            try send(2 * round + 2)
            try log.write()
            #expect(try count("attempts", here) == 2)
        }
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `what an account sent while its deletion waited, and what counted before that, is not recorded`(
        _ place: Place
    ) throws {
        try place.withLedger { ledger in
            let deletion = Instant.now
            usleep(2000)
            // Sent after the deletion, but granted first.
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let sent = Instant.now
            let bought = history.buyConsumable("coins", at: sent)
            let coins = try history.evidence(bought, signedAt: sent)
            let outcomes = try ledger.redeem(coins, for: "anna", at: sent).outcomes
            let log = AttemptLog(ledger, keeping: .seconds(86_400), withEvidence: true)
            log.add(try? Self.attempt(1, code: "ok", outcomes, at: sent))
            _ = try ledger.deleteAccount("anna", at: deletion)
            try log.write()
            #expect(try ledger.history(of: "anna") == nil)
        }
    }

    @Test(arguments: Place.available)
    func `each account keeps its last attempts, and no more evidence than its bound`(_ place: Place) throws {
        try place.withLedger { ledger in
            let bound = PurchaseLedger.maximumAttemptCount
            try ledger.record([Self.attempt(0, of: "ben")])
            for begin in stride(from: 1, through: 3 * bound, by: bound / 2) {
                try ledger.record((begin..<begin + bound / 2).map { try Self.attempt($0) })
                try ledger.boundAttempts(of: ["anna", "ben"])
                #expect(try count("attempts", ledger) <= Int64(bound) + 1)
            }
            let entries = try #require(try ledger.history(of: "anna", limit: 500)).entries
            #expect(entries.count == bound && entries.first?.at == day(Double(3 * bound)))
            #expect(try ledger.history(of: "ben")?.entries.count == 1)
            // Random bytes can't be compressed.
            var generator = SystemRandomNumberGenerator()
            var bytes = (0..<3 << 17).flatMap { _ in
                let number: UInt64 = generator.next()
                return (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
            }
            for number in 1000..<1005 {
                bytes[0] = UInt8(number - 1000)
                try ledger.record([Self.attempt(number, of: "ben", bytes)])
            }
            #expect(try count("kept_evidence", ledger) == 2 + Int64(bound))
            // What is sent again counts once.
            for number in 1005..<1007 { try ledger.record([Self.attempt(number, of: "ben", bytes)]) }
            #expect(try count("kept_evidence", ledger) == 2 + Int64(bound))
        }
    }

    @Test(arguments: Place.available)
    func `two servers that record one by one keep an account's last attempts, and an interval more each at most`(
        _ place: Place
    ) throws {
        let location = try place.makeLocation()
        let (here, there) = (try PurchaseLedger(location.text), try PurchaseLedger(location.text))
        let logs = [here, there].map { AttemptLog($0, keeping: .seconds(86_400), withEvidence: false) }
        let bound = PurchaseLedger.maximumAttemptCount
        for number in 1...3 * bound {
            let log = logs[number % 3 == 0 ? 1 : 0]
            log.add(try? Self.attempt(number))
            try log.write()
            let kept = Int(try count("attempts", here))
            #expect(kept >= min(number, bound) && kept <= bound + 2 * AttemptLog.boundingInterval)
        }
        // After a restart, nothing is known of the account.
        let log = AttemptLog(here, keeping: .seconds(86_400), withEvidence: false)
        log.add(try? Self.attempt(3 * bound + 1))
        try log.write()
        #expect(Int(try count("attempts", here)) == bound)
        withExtendedLifetime(location) {}
    }

    @Test(.enabled(if: Sampling.runsSlowTests), arguments: Place.available)
    func `nobody removes another's evidence by sending it, too, and two accounts do not keep more than twice as much`(
        _ place: Place
    ) throws {
        try place.withLedger { ledger in
            var generator = SystemRandomNumberGenerator()
            // Returns 3 MiB that can't be compressed. An account can keep two of these.
            func random() -> [UInt8] {
                (0..<3 << 17).flatMap { _ in
                    let number: UInt64 = generator.next()
                    return (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
                }
            }
            let of = (anna: random(), mallory: (0..<5).map { _ in random() })
            try ledger.record([Self.attempt(1, of: "anna", of.anna)])
            try ledger.record([Self.attempt(2, of: "mallory", of.anna)])
            for (number, evidence) in of.mallory.enumerated() {
                try ledger.record([Self.attempt(3 + number, of: "mallory", evidence)])
            }
            #expect(try ledger.keptEvidence(#require(EvidenceDigest.text(of: of.anna))) == of.anna)
            #expect(try count("kept_evidence", ledger) == 3)
            // What mallory sent first stays mallory's, whoever sends it again.
            for (number, evidence) in of.mallory.enumerated() {
                try ledger.record([Self.attempt(10 + number, of: "eve", evidence)])
            }
            #expect(try count("kept_evidence", ledger) == 3)
            // Deleting an account keeps the evidence of others that sent it, too.
            _ = try ledger.deleteAccount("anna")
            #expect(try ledger.keptEvidence(#require(EvidenceDigest.text(of: of.anna))) == of.anna)
            _ = try ledger.deleteAccount("mallory")
            #expect(try ledger.keptEvidence(#require(EvidenceDigest.text(of: of.anna))) == nil)
        }
    }

    @Test(arguments: Place.available)
    func `attempts are removed when they are too old, and none are recorded without a time`(_ place: Place) throws {
        try place.withLedger { ledger in
            try ledger.record((1...50).map { try Self.attempt($0, of: "account \($0 % 7)") })
            try ledger.removeAttempts(before: day(31))
            #expect(try count("attempts", ledger) == 20)
            let log = AttemptLog(ledger, keeping: .zero, withEvidence: true)
            log.add(try? Self.attempt(51))
            try log.stop()
            #expect(try count("attempts", ledger) == 20)
        }
    }

    @Test func `what is repeated within a batch is one attempt, and an account's last are taken`() throws {
        let same = try (0..<3).map { try Self.attempt($0, Self.text) } + [Self.attempt(3, of: "ben", Self.text)]
        let bounded = AttemptLog.bounded(same)
        #expect(bounded.map(\.account) == ["anna", "ben"] && bounded.map(\.times) == [3, 1])
        #expect(bounded[0].requestID == same[2].requestID)
        // An attempt with a different answer is another attempt.
        let different = try [
            Self.attempt(0, Self.text), Self.attempt(1, Self.text, code: "wrong-app"),
            Self.attempt(2, Self.text, code: "wrong-app", Self.outcomes(1)),
            Self.attempt(3, Self.text, code: "wrong-app", Self.outcomes(1, for: "ben")),
        ]
        #expect(AttemptLog.bounded(different).map(\.times) == [1, 1, 1, 1])
        // There was no room for the evidence when it was sent again.
        var again = try Self.attempt(1, Self.text)
        again.evidence = nil
        let kept = try AttemptLog.bounded([Self.attempt(0, Self.text), again])
        #expect(kept.count == 1 && kept[0].requestID == again.requestID && kept[0].evidence == Self.text)
        let many = try (0..<1000).map { try Self.attempt($0) }
        #expect(AttemptLog.bounded(many).map(\.requestID) == many.suffix(100).map(\.requestID))
    }

    @Test func `the evidence of one account leaves room for that of others`() throws {
        try Place.sqlite.withLedger { ledger in
            let log = AttemptLog(ledger, keeping: .seconds(86_400), withEvidence: true)
            for round in 0..<2 {
                for number in 0..<33 {
                    let evidence = [UInt8](repeating: UInt8(100 + number), count: 1 << 20)
                    log.add(try? Self.attempt(100 * round + number, of: "mallory", evidence))
                }
                let evidence = Array("evidence of anna \(round)".utf8)
                log.add(try? Self.attempt(100 * round + 99, of: "anna", evidence))
                try log.write()
                #expect(try ledger.keptEvidence(#require(EvidenceDigest.text(of: evidence))) == evidence)
            }
            #expect(try count("attempts", ledger) == 68)
        }
    }

    @Test func `more than can wait is counted, and the end records what waits`() throws {
        let location = try Place.sqlite.makeLocation()
        let store = UnreliableStore(store: try LedgerLocation(location.text).open())
        let ledger = try PurchaseLedger(store, LedgerPolicy())
        let log = AttemptLog(ledger, keeping: .seconds(86_400 * 100_000), withEvidence: false)
        for number in 0..<AttemptLog.maximumCount + 5 { log.add(try? Self.attempt(number, of: "\(number % 300)")) }
        #expect(log.lost == 5)
        // While the database is away, too.
        let add = { @Sendable in for number in 0..<3 { log.add(try? Self.attempt(number + 100_000, of: "late")) } }
        store.meanwhile.withLock { $0 = add }
        #expect(throws: LedgerError.self) { try log.write() }
        #expect(log.lost == 8)
        store.meanwhile.withLock { $0 = nil }
        try log.stop()
        #expect(try count("attempts", ledger) == Int64(AttemptLog.maximumCount))
        #expect(try count("kept_evidence", ledger) == 0)
        withExtendedLifetime(location) {}
    }

    @Test
    func `what is recorded is neither lost nor recorded again if the look for old attempts fails, which is made again`()
        throws
    {
        let location = try Place.sqlite.makeLocation()
        let store = UnreliableStore(store: try LedgerLocation(location.text).open(), failsReadingOnly: true)
        let ledger = try PurchaseLedger(store, LedgerPolicy())
        let log = AttemptLog(ledger, keeping: .seconds(86_400), withEvidence: false)
        func write(_ numbers: ClosedRange<Int>) throws {
            for number in numbers { log.add(try? Self.attempt(number)) }
            try log.write()
        }
        let bound = PurchaseLedger.maximumAttemptCount
        try write(1...bound)
        store.meanwhile.withLock { $0 = {} }
        for round in 1...3 {
            let first = bound + 1 + (round - 1) * AttemptLog.boundingInterval
            #expect(throws: LedgerError.self) { try write(first...first + AttemptLog.boundingInterval) }
        }
        store.meanwhile.withLock { $0 = nil }
        #expect(try count("attempts", ledger) == Int64(bound + 3 * AttemptLog.boundingInterval + 1) && log.lost == 0)
        try write(1000...1000)
        #expect(try count("attempts", ledger) == Int64(bound))
        withExtendedLifetime(location) {}
    }

    @Test func `what the database refuses is counted as lost, and does not keep what is sent later`() throws {
        let location = try Place.sqlite.makeLocation()
        let store = UnreliableStore(store: try LedgerLocation(location.text).open(), code: .storeFailed)
        let ledger = try PurchaseLedger(store, LedgerPolicy())
        let log = AttemptLog(ledger, keeping: .seconds(86_400), withEvidence: true)
        log.add(try? Self.attempt(1))
        store.meanwhile.withLock { $0 = {} }
        #expect(throws: LedgerError.self) { try log.write() }
        store.meanwhile.withLock { $0 = nil }
        log.add(try? Self.attempt(2))
        try log.write()
        #expect(try count("attempts", ledger) == 1 && log.lost == 1)
        withExtendedLifetime(location) {}
    }

    @Test func `a server that runs removes what is too old`() throws {
        try Place.sqlite.withLedger { ledger in
            try ledger.record([Self.attempt(1), Self.attempt(2, of: "ben", at: .now)])
            let log = AttemptLog(ledger, keeping: .seconds(86_400), withEvidence: true)
            let thread = Thread { log.run { error in Issue.record(error) } }
            thread.start()
            try wait { try count("attempts", ledger) < 2 }
            try log.stop()
            while !thread.isFinished { usleep(1000) }
            #expect(try ledger.history(of: "anna") == nil && ledger.history(of: "ben")?.entries.count == 1)
        }
    }

    /// The outcomes of a receipt with this many transactions.
    private static func outcomes(_ count: Int, for account: String = "anna") throws -> [TransactionOutcome] {
        var outcomes: [TransactionOutcome] = []
        try Place.sqlite.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = (0..<count).map { _ in history.buyConsumable("coins", at: day(0)) }
            let receipt = try Minted.evidence(history.receipt(signedAt: day(1), of: coins))
            _ = try ledger.redeem(receipt, for: "anna", at: day(1))
            outcomes = try ledger.redeem(receipt, for: account, at: day(1)).outcomes
        }
        return outcomes
    }

    @Test func `an attempt names a few transactions, counts all, and is of an account that the tables can hold`()
        throws
    {
        let attempt = try Self.attempt(1, Self.text, Self.outcomes(Attempt.maximumOutcomeCount + 3))
        #expect(attempt.outcomes.count == Attempt.maximumOutcomeCount)
        #expect(attempt.transactionCount == Attempt.maximumOutcomeCount + 3)
        for account in ["", "a\u{0}b", String(repeating: "a", count: 256)] {
            #expect(Attempt("1", of: account, Self.text, code: "ok", at: day(1)) == nil)
        }
    }

    @Test func `evidence that was damaged on the disk is none`() throws {
        let count = Int64(Self.text.count)
        let stored = try #require(EvidenceCompression.compress(Self.text))
        #expect(EvidenceCompression.decompress(stored, byteCount: count) == Self.text)
        for index in stored.indices {
            var damaged = stored
            damaged[index] ^= 1
            #expect(EvidenceCompression.decompress(damaged, byteCount: count) == nil, "\(index)")
            #expect(EvidenceCompression.decompress(Array(stored[..<index]), byteCount: count) == nil, "\(index)")
        }
        for count in [count - 1, count + 1, 0, -1, .max] {
            #expect(EvidenceCompression.decompress(stored, byteCount: count) == nil, "\(count)")
        }
    }

    @Test func `a batch, for which redemptions wait, has little evidence, and an account no more than the tables keep`()
        throws
    {
        func attempts(_ sizes: [Int], of account: String = "anna") throws -> [Attempt] {
            try sizes.enumerated().map { number, size in
                try Self.attempt(
                    number, of: account,
                    [UInt8(number % 256), UInt8(number / 256)] + Array(repeating: 0, count: size - 2))
            }
        }
        let (bound, all) = (AttemptLog.batchByteCount, AttemptLog.batchRowCount)
        for (sizes, count) in [
            ([2], 1), ([2, bound - 2], 2), ([2, bound - 1, 2], 1), ([3 * bound, 2], 1),
            (Array(repeating: 2, count: all + 1), all),
        ] { #expect(try AttemptLog.batch(attempts(sizes)[...]).count == count) }
        let mebibyte = 1 << 20
        let bounded = try AttemptLog.bounded(
            attempts([mebibyte, 4 * mebibyte, 4 * mebibyte]) + attempts([2], of: "ben"))
        #expect(bounded.map { $0.evidence?.count } == [nil, 4 * mebibyte, 4 * mebibyte, 2])
    }

    /// A database that can be away.
    private struct UnreliableStore: LedgerStore {
        let store: any LedgerStore
        /// Called while somebody waits for the unavailable database.
        let meanwhile = Guarded<(@Sendable () -> Void)?>(nil)
        var code = LedgerError.Code.storeUnavailable
        /// Whether only reading fails.
        var failsReadingOnly = false

        private func check(isReading: Bool = false) throws(LedgerError) {
            guard isReading || !failsReadingOnly, let meanwhile = meanwhile.withLock(\.self) else { return }
            meanwhile()
            throw LedgerError(code, "away")
        }

        func write<Result>(
            _ share: WorkShare, _ body: @escaping (any SQLConnection) throws(LedgerError) -> Result
        ) throws(LedgerError) -> Result {
            try check()
            return try store.write(share, body)
        }

        func redeem(
            _ request: RedemptionRequest, then: @escaping @Sendable (Result<Redemption?, LedgerError>) -> Void
        ) {
            do throws(LedgerError) { try check() } catch { return then(.failure(error)) }
            store.redeem(request, then: then)
        }

        func read<Result>(
            _ body: (any SQLConnection) throws(LedgerError) -> Result
        ) throws(LedgerError) -> Result {
            try check(isReading: true)
            return try store.read(body)
        }

        func migrate<Result>(
            _ body: @escaping (any SQLConnection) throws(LedgerError) -> Result
        ) throws(LedgerError) -> Result {
            try check()
            return try store.migrate(body)
        }

        func completeFile() throws(LedgerError) { try store.completeFile() }
    }

    @Test(.enabled(if: Sampling.runsSlowTests))
    func `while the database is away, no more evidence waits than there is room for, and no attempt is lost`() throws {
        let location = try Place.sqlite.makeLocation()
        let store = UnreliableStore(store: try LedgerLocation(location.text).open())
        let ledger = try PurchaseLedger(store, LedgerPolicy())
        let log = AttemptLog(ledger, keeping: .seconds(86_400), withEvidence: true)
        let size = EvidenceCompression.maximumByteCount
        let room = AttemptLog.maximumByteCount / size
        let added = Guarded(0)
        let add = { @Sendable in
            for _ in 0..<room {
                let number = added.increment()
                log.add(try? Self.attempt(number, of: "\(number)", Array(repeating: UInt8(number), count: size)))
            }
        }
        store.meanwhile.withLock { $0 = add }
        add()
        for _ in 0..<4 { #expect(throws: LedgerError.self) { try log.write() } }
        store.meanwhile.withLock { $0 = nil }
        try log.write()
        #expect(try count("kept_evidence", ledger) == Int64(room))
        #expect(try count("attempts", ledger) == 5 * Int64(room) && log.lost == 0)
        // There is room again.
        add()
        try log.write()
        #expect(try count("kept_evidence", ledger) == 2 * Int64(room))
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `a history of more than a hundred facts begins with the newest, and has them all`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            for (count, date) in [(101, 1), (1, 2)] as [(Int, Double)] {
                let coins = (0..<count).map { _ in history.buyConsumable("coins", at: day(0)) }
                let receipt = try Minted.evidence(history.receipt(signedAt: day(date), of: coins))
                _ = try ledger.redeem(receipt, for: "anna", at: day(date))
            }
            // The last grant, and its event.
            let newest = try #require(try ledger.history(of: "anna", limit: 2))
            #expect(newest.entries.map(\.at) == [day(2), day(2)])
            // Remove the delivered events; the grants remain.
            try ledger.store.write { (connection) throws(LedgerError) in
                _ = try connection.run("DELETE FROM outbox")
            }
            let part = try #require(try ledger.history(of: "anna", limit: 100))
            let rest = try #require(try ledger.history(of: "anna", after: part.next, limit: 100))
            #expect(part.entries.count == 100 && rest.entries.count == 2 && rest.next == nil)
        }
    }

    @Test(arguments: Place.available)
    func `a history is read in parts, each fact once`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            // Many facts of one moment.
            let coins = (0..<7).map { _ in history.buyConsumable("coins", at: day(0)) }
            let receipt = try Minted.evidence(history.receipt(signedAt: day(1), of: coins))
            _ = try ledger.redeem(receipt, for: "anna", at: day(1))
            try ledger.record((1...4).map { try Self.attempt($0, at: day(1)) })
            try ledger.transfer(
                from: "anna", to: "ben", transactionID: coins[0].transactionID, reason: "support", at: day(1))
            for quantity in [2, 3] {
                let name = TransactionName(
                    environment: .production, bundleID: Minted.bundleID, transactionID: coins[1].transactionID)
                try ledger.adjust(
                    Adjustment(.quantity(name, Int64(quantity)), reason: "support"), of: "anna", at: day(1))
            }
            func text(_ entries: [AccountHistory.Entry]) -> [String] { entries.map { "\($0)" } }
            let whole = try #require(try ledger.history(of: "anna", limit: 500))
            // 6 grants, 7 + 1 + 2 events, 4 attempts, a transfer and 2 acts.
            #expect(whole.entries.count == 23 && whole.next == nil)
            for limit in [1, 2, 5, 22, 23] {
                var cursor: String?
                var found: [String] = []
                repeat {
                    let part = try #require(try ledger.history(of: "anna", after: cursor, limit: limit))
                    #expect(part.entries.count <= limit)
                    found += text(part.entries)
                    cursor = part.next
                } while cursor != nil
                #expect(found == text(whole.entries), "\(limit)")
            }
            // Statements stay prepared: other page sizes must not add any.
            if case .postgreSQL = place {
                let statements = try ledger.store.read { (connection) throws(LedgerError) in
                    try connection.run(
                        "SELECT 1 FROM pg_prepared_statements WHERE statement LIKE 'SELECT id, from_account%'")
                }
                #expect(statements.count == 2)
            }
            for cursor in ["", "x", "1-2", "1-9-00", "1-0-0", "1-0-zz", "1-3-x", "1-0-ff", "1-0-00"] {
                let error = #expect(throws: LedgerError.self) { try ledger.history(of: "anna", after: cursor) }
                #expect(error?.code == .invalidText, "\(cursor)")
            }
        }
    }
}
