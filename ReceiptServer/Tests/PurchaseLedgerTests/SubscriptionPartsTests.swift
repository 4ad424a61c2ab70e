@_spi(Ledger) import AppStoreReceipt
import AppStoreReceiptTesting
@testable import LedgerCore
@testable import PurchaseLedger
import Sampling
import StrictText
import Testing

/// Large subscriptions. The ledger loads only the parts that decide.
@Suite struct SubscriptionPartsTests {
    /// A subscription with this many weekly periods. The last runs on the day after.
    private static func history(
        _ count: Int, _ token: String? = nil
    ) -> (PurchaseHistory, [PurchaseHistory.Transaction]) {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        history.appAccountToken = token
        let subscription = history.subscribe(to: "weekly", in: "group", for: .days(7), at: day(0))
        let renewals = (1..<count).map { _ in history.renew(subscription) }
        return (history, [subscription.firstPeriod] + renewals)
    }

    /// Counts the rows that are read and the statements that are run.
    private final class Counter: SQLConnection {
        let connection: any SQLConnection
        private(set) var rowCount = 0
        private(set) var statementCount = 0

        init(_ connection: any SQLConnection) { self.connection = connection }

        var dialect: SQLDialect { connection.dialect }

        func run(_ statements: [SQLStatement]) throws(LedgerError) -> [[SQLRow]] {
            let rows = try connection.run(statements)
            rowCount += rows.map(\.count).reduce(0, +)
            statementCount += statements.count
            return rows
        }

        func write(_ statement: String, _ parameters: [SQLValue]) throws(LedgerError) {
            statementCount += 1
            try connection.write(statement, parameters)
        }
    }

    @Test(.enabled(if: Sampling.runsSlowTests), arguments: Place.available, [false, true])
    func `a repeat and a renewal cost the same in a subscription of 30 and of 400 periods`(
        _ place: Place, usesTokens: Bool
    ) throws {
        var policy = LedgerPolicy()
        if usesTokens { policy.orders = OrderPolicy() }
        var costs: [[[Int]]] = []
        for count in [30, 400] {
            try place.withLedger(policy) { ledger in
                let token = usesTokens ? try ledger.token(for: "anna").token.description : nil
                let (history, periods) = Self.history(count + 1, token)
                let end = Double(7 * count)
                for period in periods.dropLast() {
                    let evidence = try history.evidence(period, signedAt: day(end - 1))
                    _ = try ledger.redeem(evidence, for: "anna", at: day(end - 1))
                }
                func cost(_ period: Int, _ date: Double) throws -> [Int] {
                    let evidence = try history.evidence(periods[period], signedAt: day(date))
                    let request = RedemptionRequest(
                        submission: Submission(evidence),
                        claim: Claim(account: "anna", token: nil), answered: nil,
                        policy: ledger.policy, now: day(date))
                    return try ledger.store.write { (connection) throws(LedgerError) in
                        let counter = Counter(connection)
                        _ = try RedemptionRequest.answer([request], counter)
                        return [counter.rowCount, counter.statementCount]
                    }
                }
                costs.append([
                    try cost(count - 1, end - 1), try cost(count - 1, end - 1), try cost(count / 2, end - 1),
                    try cost(count, end + 1), try cost(count, end + 1),
                ])
            }
        }
        #expect(costs[0] == costs[1])
        #expect(costs[1].allSatisfy { $0[0] < 20 })
    }

    @Test(arguments: Place.available)
    func `a ledger divides a large subscription when it is next asked, and no other lineage`(_ place: Place) throws {
        try place.withLedger { ledger in
            let (history, periods) = Self.history(40)
            let receipt = try Minted.evidence(history.receipt(signedAt: day(270), of: periods))
            _ = try ledger.redeem(receipt, for: "anna", at: day(270))
            #expect(try Self.dividedCount(ledger) == 0)
            _ = try ledger.redeem(receipt, for: "anna", at: day(270))
            #expect(try Self.dividedCount(ledger) == 1)
            var other = PurchaseHistory(bundleID: Minted.bundleID, customer: 2)
            let pro = other.buyNonConsumable("pro", at: day(0))
            let copies = (0..<40).map { _ in other.restore(pro, at: day(1)) }
            let restored = try Minted.evidence(other.receipt(signedAt: day(2), of: copies))
            for _ in 0..<2 { _ = try ledger.redeem(restored, for: "ben", at: day(2)) }
            #expect(try Self.dividedCount(ledger) == 1)
        }
    }

    private static func dividedCount(_ ledger: PurchaseLedger) throws -> Int {
        try ledger.store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT 1 FROM families WHERE subscription IS NOT NULL")
        }.count
    }

    /// Changes of evidence that concern the whole of a divided subscription.
    static let contradictions: [(name: String, change: @Sendable (inout Purchase) -> Void, isDivided: Bool)] = [
        ("another original transaction", { $0.originalTransactionID = "77" }, false),
        ("a migration", { $0.previousOriginalTransactionID = "77" }, false),
        ("another type of product", { $0.productType = .nonConsumable }, false),
        ("no end", { $0.expiresDate = nil }, false),
        ("another web order line item", { $0.webOrderLineItemID = "78" }, false),
        ("dates of another period", { $0.purchaseDate = day(1) }, true),
        ("a period that ends years later", { $0.expiresDate = day(4000) }, true),
        ("dates within another period", { ($0.purchaseDate, $0.expiresDate) = (day(1), day(3)) }, true),
        (
            "a copy with dates within another period",
            { ($0.transactionID, $0.purchaseDate, $0.expiresDate) = ("99", day(1), day(3)) }, true
        ),
    ]

    @Test(arguments: Place.available, contradictions.indices)
    func `what contradicts the division of a subscription is decided by the whole`(
        _ place: Place, _ number: Int
    ) throws {
        let contradiction = Self.contradictions[number]
        let (history, periods) = Self.history(40)
        let receipt = try Minted.evidence(history.receipt(signedAt: day(270), of: periods))
        var changed = try #require(history.evidence(periods[20], signedAt: day(275)).purchases.first?.purchase)
        contradiction.change(&changed)
        var results: [[String]] = []
        for limit in [24, Int.max] {
            var policy = LedgerPolicy()
            policy.wholeLineageLimit = limit
            try place.withLedger(policy) { ledger in
                for _ in 0..<2 { _ = try ledger.redeem(receipt, for: "anna", at: day(270)) }
                let request = RedemptionRequest(
                    submission: Submission([SubmittedPurchase(changed)]),
                    claim: Claim(account: "anna", token: nil), answered: nil, policy: policy,
                    now: day(276))
                let answers = try ledger.store.write { (connection) throws(LedgerError) in
                    try RedemptionRequest.answer([request], connection)
                }
                let answer = try #require(answers[0])
                let outcomes = answer.outcomes.map { "\($0.outcome) \($0.quantity) \(String(describing: $0.until))" }
                let codes = try ledger.entitlements(of: "anna", at: day(276)).codes.map { "\($0) \($1)" }
                let events = try ledger.events().map { "\($0.kind) \($0.transactionID) \($0.quantity)" }
                results.append(outcomes + codes.sorted() + events)
                let isDivided = limit == 24 && contradiction.isDivided
                #expect(try Self.dividedCount(ledger) == (isDivided ? 1 : 0), "\(contradiction.name)")
                try ledger.expectKeptDecisions(receipt, at: day(276))
            }
        }
        #expect(results[0] == results[1], "\(contradiction.name)")
    }

    /// With it, a subscription of three periods is large.
    private static var smallLimit: LedgerPolicy {
        var policy = LedgerPolicy()
        policy.wholeLineageLimit = 2
        return policy
    }

    @Test(arguments: Place.available)
    func `a renewal that is for sale again is granted with any other part of a large subscription`(
        _ place: Place
    ) throws {
        let location = try place.makeLocation()
        let (history, periods) = Self.history(4)
        func outcomes(_ period: Int, _ date: Double, isForSale: Bool = true) throws -> [Outcome] {
            var policy = Self.smallLimit
            if !isForSale { policy.productIDs = [] }
            let ledger = try PurchaseLedger(location.text, policy: policy)
            let evidence = try history.evidence(periods[period], signedAt: day(date))
            return try ledger.outcomes(evidence, for: "anna", at: day(date))
        }
        for period in 0..<3 { #expect(try outcomes(period, Double(7 * period + 1)) == [.granted]) }
        #expect(try outcomes(2, 16) == [.alreadyYours])
        let ledger = try PurchaseLedger(location.text)
        #expect(try Self.dividedCount(ledger) == 1)
        #expect(try outcomes(3, 22, isForSale: false) == [.notForSale])
        #expect(try LedgerState(ledger).grants.count == 3)
        #expect(try outcomes(0, 23) == [.alreadyYours])
        #expect(try LedgerState(ledger).grants[periods[3].transactionID]?.quantity == 1)
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `a grace period extends the last period of a large subscription, and no other`(_ place: Place) throws {
        try place.withLedger(Self.smallLimit) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "weekly", in: "group", for: .days(7), at: day(0))
            let periods = [subscription.firstPeriod] + (1..<4).map { _ in history.renew(subscription) }
            let receipt = try Minted.evidence(history.receipt(signedAt: day(22), of: periods))
            for _ in 0..<2 { _ = try ledger.redeem(receipt, for: "anna", at: day(22)) }
            #expect(try Self.dividedCount(ledger) == 1)
            history.failToRenew(subscription, gracePeriod: .seconds(6 * 86_400))
            let renewal = try Minted.evidence(#require(history.renewalInfo(of: subscription, signedAt: day(29))))
            #expect(try ledger.outcomes(renewal, for: "anna", at: day(29)).isEmpty)
            #expect(try ledger.events().map(\.until) == [day(28), day(34)])
            let first = try history.evidence(periods[0], signedAt: day(29))
            #expect(try ledger.outcomes(first, for: "anna", at: day(29)) == [.expired])
        }
    }

    @Test(arguments: Place.available)
    func `renewal information alone changes nothing of a large subscription, and reads none of it`(
        _ place: Place
    ) throws {
        try place.withLedger(Self.smallLimit) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "weekly", in: "group", for: .days(7), at: day(0))
            let periods = [subscription.firstPeriod] + (1..<4).map { _ in history.renew(subscription) }
            let receipt = try Minted.evidence(history.receipt(signedAt: day(40), of: periods))
            for _ in 0..<2 { _ = try ledger.redeem(receipt, for: "anna", at: day(40)) }
            #expect(try Self.dividedCount(ledger) == 1)
            history.turnOffRenewal(of: subscription, at: day(27))
            let renewal = try Minted.evidence(#require(history.renewalInfo(of: subscription, signedAt: day(41))))
            #expect(try ledger.outcomes(renewal, for: "anna", at: day(41)).isEmpty)
            #expect(try Self.dividedCount(ledger) == 1)
            for includingConsumables in [true, false] {
                let entitlements = try ledger.entitlements(
                    of: "anna", at: day(41), includingConsumables: includingConsumables)
                #expect(entitlements.items.count == 4)
            }
        }
    }

    @Test(arguments: Place.available)
    func `a subscription that is divided anew has none of its old parts`(_ place: Place) throws {
        try place.withLedger(Self.smallLimit) { ledger in
            let (history, periods) = Self.history(4)
            let receipt = try Minted.evidence(history.receipt(signedAt: day(22), of: Array(periods.dropFirst())))
            for _ in 0..<2 { _ = try ledger.redeem(receipt, for: "anna", at: day(22)) }
            #expect(try Self.dividedCount(ledger) == 1)
            // It is whole while it has a transaction without evidence.
            let spent = try #require(
                SpentTransaction(
                    account: "anna", environment: .production, bundleID: Minted.bundleID,
                    transactionID: periods[0].transactionID, originalTransactionID: nil, productID: "weekly",
                    quantity: 1, date: day(0)))
            _ = try ledger.imported([.spent(spent)], at: day(22))
            #expect(try Self.dividedCount(ledger) == 0)
            // Its evidence ends in the next period, which has begun.
            var builder = try #require(history.transaction(periods[0], signedAt: day(23)))
            (builder.purchaseDate, builder.expiresDate) = (day(3), day(12))
            let evidence = try Minted.evidence(builder)
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(23)) == [.alreadyYours])
            #expect(try Self.dividedCount(ledger) == 1)
            try ledger.expectKeptDecisions(evidence, at: day(23))
        }
    }

    @Test(arguments: Place.available)
    func `a transaction that is a member's leaves the parts of the subscription`(_ place: Place) throws {
        try place.withLedger(Self.smallLimit) { ledger in
            let (history, periods) = Self.history(4)
            let receipt = try Minted.evidence(history.receipt(signedAt: day(22), of: periods))
            for _ in 0..<2 { _ = try ledger.redeem(receipt, for: "anna", at: day(22)) }
            #expect(try Self.dividedCount(ledger) == 1)
            var builder = try #require(history.transaction(periods[1], signedAt: day(23)))
            builder.ownershipType = .assigned
            let evidence = try Minted.evidence(builder)
            _ = try ledger.redeem(evidence, for: "ben", at: day(23))
            _ = try ledger.redeem(receipt, for: "anna", at: day(23))
            #expect(try Self.dividedCount(ledger) == 1)
            try ledger.expectKeptDecisions(receipt, at: day(23))
        }
    }

    static let lastDate: Int64 = 1 << 52

    @Test(
        arguments: [
            (-lastDate, 0, true), (0, lastDate, true), (-lastDate - 1, 0, false), (lastDate + 1, lastDate, false),
            (0, lastDate + 1, false),
        ] as [(Int64, Int64, Bool)])
    func `a subscription is divided where computing with its dates cannot fail`(
        _ begin: Int64, _ end: Int64, _ isDivided: Bool
    ) {
        var purchase = Purchase(
            productID: "weekly", transactionID: "1", originalTransactionID: "1",
            purchaseDate: Instant(millisecondsSince1970: begin), signedDate: day(0))
        purchase.productType = .autoRenewableSubscription
        purchase.expiresDate = Instant(millisecondsSince1970: end)
        #expect((SubscriptionPeriod([purchase]) != nil) == isDivided)
    }
}

extension PurchaseLedger {
    /// Expects that the stored divisions agree with all evidence, and that deciding again by all evidence changes
    /// nothing.
    ///
    /// - Parameter evidence: What was submitted last.
    func expectKeptDecisions(_ evidence: VerifiedEvidence, at now: Instant) throws {
        var whole = policy
        whole.wholeLineageLimit = .max
        let wholePolicy = whole
        do throws(LedgerError) {
            try store.write { [wholePolicy] (connection) throws(LedgerError) in
                for row in try connection.run("SELECT id FROM families WHERE subscription IS NOT NULL") {
                    let lineage = try row.integer(0)
                    let evidence = try connection.lineages([lineage]).first?.evidence ?? [:]
                    let computed = SubscriptionParts(evidence)?.parts ?? []
                    let kept = try Division.Period.byTransaction(
                        connection.run([Division.Period.query(lineage, parts: nil, connection.dialect)])[0])
                    #expect(kept.count == evidence.count)
                    for part in computed {
                        for period in part.periods {
                            for row in period.transactions.map({ kept[$0] }) {
                                #expect(row?.part == part.span.lowerBound && row?.lineItem == period.lineItem)
                                #expect(row?.end == period.span.upperBound)
                            }
                        }
                    }
                }
                try connection.run("DELETE FROM periods")
                try connection.run("UPDATE families SET subscription = NULL")
                let query =
                    """
                    SELECT transaction_id, account, quantity, until
                    FROM grants JOIN identifiers ON id = identifier_id ORDER BY transaction_id
                    """
                let before = try connection.run(query).map { "\($0.values)" }
                let settled = try connection.settle(Submission(evidence), wholePolicy, .redeem, at: now) {
                    (decision) throws(LedgerError) in decision.settle()
                }
                #expect(settled.effects.events.isEmpty)
                #expect(try connection.run(query).map { "\($0.values)" } == before)
                throw LedgerError(.notFound, "rolled back")
            }
        } catch {
            guard error.code == .notFound else { throw error }
        }
    }
}
