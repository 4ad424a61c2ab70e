import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Sampling
import SeededRandom
import Testing

/// Requests that look at a snapshot together, and those that look at none.
@Suite struct SharedSnapshotTests {
    @Test(arguments: Place.available)
    func `requests that share a snapshot are answered as if each came alone`(_ place: Place) throws {
        var generator = SeededGenerator("\(place)")
        let seats = try SeatHistories()
        var counts = (known: 0, unknown: 0)
        for _ in 0..<Sampling.count("shared-snapshots") {
            var policy = LedgerPolicy()
            if Bool.random(using: &generator) { policy.orders = OrderPolicy() }
            policy.lifecycleEvents = Int.random(in: 0..<3, using: &generator) == 0
            policy.wholeLineageLimit = Bool.random(using: &generator) ? 1 : 24
            if Bool.random(using: &generator) {
                policy.inquiries = InquiryPolicy(apps: [AskedApp(.production, Minted.bundleID)])
            }
            let tokens = try TokenCustomer(4, using: &generator)
            let evidence = try Self.evidence(seats, tokens, &generator)
            try place.withLedger(policy) { ledger in
                func randomRequest(at date: Double) throws -> RedemptionRequest {
                    let submission = Submission(evidence.randomElement(using: &generator)!)
                    let account = ["anna", "ben"].randomElement(using: &generator)!
                    let token = [tokens.tokens[0], nil, nil].randomElement(using: &generator) ?? nil
                    let key = ["first", "second", nil, nil, nil].randomElement(using: &generator) ?? nil
                    return RedemptionRequest(
                        submission: submission, claim: Claim(account: account, token: token),
                        answered: try key.map {
                            try AnsweredRequest($0, account, token, submission.purchases.map(\.signed.purchase))
                        }, policy: ledger.policy, now: day(date))
                }
                for date in 20..<60 {
                    let request = try randomRequest(at: Double(date))
                    _ = try ledger.store.write { (connection) throws(LedgerError) in
                        try RedemptionRequest.answer([request], connection)
                    }
                }
                for count in [2, 5, 16] {
                    let requests = try (0..<count).map { try randomRequest(at: 60 + Double($0) / 86_400) }
                    let (shared, alone) = try ledger.store.read { (connection) throws(LedgerError) in
                        (
                            try RedemptionRequest.look(requests, connection),
                            try requests.map { (request) throws(LedgerError) in
                                try RedemptionRequest.look([request], connection)[0]
                            }
                        )
                    }
                    for (shared, alone) in zip(shared, alone) {
                        #expect(String(describing: shared) == String(describing: alone))
                        if alone == nil { counts.unknown += 1 } else { counts.known += 1 }
                    }
                }
            }
        }
        #expect(counts.known > 0 && counts.unknown > 0)
    }

    /// What Apple signed about some customers, with tokens or without, and about a buyer of seats and members.
    private static func evidence(
        _ seats: SeatHistories, _ tokens: TokenCustomer, _ generator: inout SeededGenerator
    ) throws -> [VerifiedEvidence] {
        var evidence: [VerifiedEvidence] = []
        for customer in 1...3 {
            let history = PurchaseHistory.random(customer: customer, using: &generator)
            for _ in 0..<6 { evidence.append(try history.randomEvidence(before: 60, using: &generator)) }
            evidence += try history.verifiedNotifications(through: day(60)).prefix(4).map(VerifiedEvidence.notification)
        }
        evidence += tokens.evidence.prefix(8).map(\.evidence)
        for case .submitted(let submitted, _) in try seats.random(using: &generator).steps {
            evidence.append(submitted)
        }
        return evidence
    }

    #if PostgreSQL
    @Test(.enabled(if: Place.available.contains(.postgreSQL)))
    func `a request that can't be answered fails none of those that share its snapshot`() throws {
        let location = try Place.postgreSQL.makeLocation()
        let store = try PostgreSQLStore(uri: location.text, connections: 1)
        let ledger = try PurchaseLedger(store, LedgerPolicy())
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let transactions = (0..<12).map { _ in history.buyConsumable("coins", at: day(0)) }
        let coins = try transactions.map { try history.evidence($0, signedAt: day(1)) }
        for evidence in coins { _ = try ledger.outcomes(evidence, for: "anna", at: day(1)) }
        try ledger.store.write { (connection) throws(LedgerError) in
            try connection.write(
                """
                UPDATE evidence SET purchase = '{'
                WHERE identifier_id = (SELECT id FROM identifiers WHERE transaction_id = $1)
                """,
                [.text(transactions[5].transactionID)])
        }
        let answers = Guarded<[Int: Result<[Outcome], any Error>]>([:])
        // While the only connection is in use, all but the first request wait for it together.
        let (isInUse, isFree) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let user = Thread {
            try? store.read { (_) throws(LedgerError) in
                isInUse.signal()
                isFree.wait()
            }
        }
        user.start()
        isInUse.wait()
        inThreads(coins.count + 1) { number in
            if number > 0 { usleep(100_000) }
            guard number < coins.count else {
                usleep(300_000)
                isFree.signal()
                return
            }
            let answer = Result { try ledger.outcomes(coins[number], for: "anna", at: day(2)) }
            answers.withLock { $0[number] = answer }
        }
        for (number, answer) in answers.withLock({ $0 }) {
            if number == 5 {
                #expect(throws: LedgerError.self) { try answer.get() }
            } else {
                #expect(try answer.get() == [.alreadyYours])
            }
        }
        withExtendedLifetime(location) {}
    }
    #endif

    @Test func `a purchase is new if it is recent and no request had it before`() throws {
        let recent = RecentPurchases()
        // Purchases of the last ten minutes, by their ages in seconds, and whether one of them is new.
        let submissions: [(customer: Int, ages: [Double], isNew: Bool)] = [
            (1, [601, 600], false), (1, [601, 600, 599], true), (1, [601, 600, 599], false), (1, [1, 1, 1], true),
            (1, [1, 1, 1], false), (2, [-60], true), (2, [-60], false), (3, [], false),
        ]
        for (customer, ages, isNew) in submissions {
            #expect(recent.insert(try Self.submission(customer, ages), at: day(10)) == isNew, "\(customer) \(ages)")
        }
    }

    @Test func `old purchases are forgotten, and the newer half is kept`() throws {
        let recent = RecentPurchases(capacity: 4)
        for (customer, isNew) in [
            (1, true), (2, true), (1, false), (3, true), (1, false), (4, true), (3, false), (1, true),
        ] {
            #expect(recent.insert(try Self.submission(customer, [1]), at: day(10)) == isNew, "\(customer)")
        }
    }

    private static func submission(_ customer: Int, _ ages: [Double]) throws -> Submission {
        var history = PurchaseHistory(bundleID: Minted.bundleID, customer: customer)
        let transactions = ages.map { history.buyConsumable("coins", at: day(10) - .seconds($0)) }
        return Submission(try Minted.evidence(history.receipt(signedAt: day(10.5), of: transactions)))
    }

    /// A store that counts the requests that look at a snapshot.
    private struct CountingStore: ForwardingStore {
        let store: any LedgerStore
        let lookCount = Guarded(0)

        func look(_ request: RedemptionRequest) throws(LedgerError) -> RedemptionRequest.Look? {
            lookCount.withLock { $0 += 1 }
            return try store.look(request)
        }
    }

    @Test(arguments: Place.available)
    func `a new purchase is written without a look, and a repeat needs nothing else`(_ place: Place) throws {
        let location = try place.makeLocation()
        let store = CountingStore(store: try LedgerLocation(location.text).open())
        let ledger = try PurchaseLedger(store, LedgerPolicy())
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", at: day(1))
        let evidence = try history.evidence(coins, signedAt: day(1))
        for (seconds, outcome, lookCount) in [
            (5.0, Outcome.granted, 0), (6, .alreadyYours, 1), (900, .alreadyYours, 2),
        ] {
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1) + .seconds(seconds)) == [outcome])
            #expect(store.lookCount.withLock { $0 } == lookCount)
        }
        withExtendedLifetime(location) {}
    }
}
