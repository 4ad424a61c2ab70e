import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
@testable import PurchaseLedger
import Reconciliation
import Testing
import TrialSupport

/// Servers of one PostgreSQL database, whose clocks differ.
@Suite(.enabled(if: Place.available.contains(.postgreSQL))) struct DatabaseClockTests {
    private static let app = AskedApp(.production, Minted.bundleID)
    private let location: Place.Location
    private let uptime = Guarded(Duration.zero)
    private let isSlow = Guarded(false)
    private var ledgers: [PurchaseLedger] = []
    private var history = PurchaseHistory(bundleID: Minted.bundleID)

    init() throws {
        location = try Place.postgreSQL.makeLocation()
        ledgers = try [7200, -7200].map { [location, uptime, isSlow] (error: Int) in
            var policy = LedgerPolicy()
            policy.inquiries = InquiryPolicy(apps: [Self.app])
            policy.surroundings.date = { .now + .seconds(error) }
            policy.surroundings.uptime = {
                if isSlow.withLock(\.self) { uptime.withLock { $0 += .seconds(2) } }
                return .now + uptime.withLock(\.self)
            }
            return try PurchaseLedger(location.text, policy: policy)
        }
    }

    private mutating func redeem(for account: String, in ledger: PurchaseLedger) throws {
        let coins = history.buyConsumable("coins", at: day(0))
        let evidence = try history.evidence(coins, signedAt: day(1))
        _ = try ledger.redeem(evidence, for: account, at: ledger.policy.surroundings.date())
    }

    private func take(_ ledger: PurchaseLedger) throws -> [OutgoingEvent] {
        try ledger.takeEvents(
            limit: 8, lease: PurchaseLedger.eventLease, at: ledger.policy.surroundings.sharedDate)
    }

    @Test mutating func `each event is delivered at once, and once`() throws {
        for number in 0..<20 { try redeem(for: "account \(number)", in: ledgers[number % 2]) }
        let delivered = Guarded<[String: Int]>([:])
        let deliveries = ledgers.map { ledger in
            EventDelivery(
                ledger, maximumAttempts: 5,
                { event in
                    delivered.withLock { $0[event.id, default: 0] += 1 }
                    // Meanwhile, the other server looks for events.
                    usleep(700_000)
                }, lease: .seconds(10))
        }
        let threads = deliveries.map { delivery in Thread { delivery.run { error in Issue.record(error) } } }
        threads.forEach { $0.start() }
        try wait { try ledgers[0].outboxCounts().pending == 0 }
        deliveries.forEach { $0.stop() }
        while threads.contains(where: { !$0.isFinished }) { usleep(10_000) }
        #expect(delivered.withLock { $0.count == 20 && $0.values.allSatisfy { $0 == 1 } })
    }

    @Test mutating func `an event that is sent again on one server is not taken while another delivers it`() throws {
        for (taker, sender) in [(0, 1), (1, 0)] {
            try redeem(for: "account \(taker)", in: ledgers[taker])
            let id = try #require(take(ledgers[taker]).first).id
            try ledgers[sender].sendAgain(eventID: id, at: ledgers[sender].policy.surroundings.date())
            #expect(try take(ledgers[sender]).isEmpty && take(ledgers[taker]).isEmpty)
        }
    }

    @Test func `inquiries are taken by the database's clock`() {
        for ledger in ledgers {
            let options = Reconciler.Options(ledger.policy.surroundings)
            #expect(.seconds(-5)...(.seconds(5)) ~= Instant.now.duration(to: options.queueClock() ?? .distantPast))
        }
    }

    @Test func `an answer confirms what no other server asks now, in the hour of the database's clock`() throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        for ledger in ledgers {
            let surroundings = ledger.policy.surroundings
            let coins = history.buyConsumable("coins", at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(1))
            guard case .transaction(let transaction) = evidence else { throw CancellationError() }
            _ = try ledger.redeem(evidence, for: "anna", at: surroundings.date())
            for (lease, isKept) in [(Duration.seconds(60), true), (.seconds(-1), false)] {
                let leasedUntil = surroundings.sharedDate + lease
                try ledger.store.write { (connection) throws(LedgerError) in
                    try connection.run(
                        "UPDATE questions SET leased_until = $1 WHERE subject = $2",
                        [SQLValue(leasedUntil), .text(coins.transactionID)])
                    try connection.run("DELETE FROM budgets")
                }
                try ledger.record(answered: [transaction], about: Self.app, at: surroundings.date())
                let (isThere, hasAnswer) = try ledger.store.read { (connection) throws(LedgerError) in
                    (
                        try !connection.run(
                            "SELECT 1 FROM questions WHERE subject = $1", [.text(coins.transactionID)]
                        ).isEmpty,
                        try connection.hasAnswer(about: Self.app, at: surroundings.sharedDate)
                    )
                }
                #expect(isThere == isKept && hasAnswer)
            }
        }
    }

    @Test func `a ledger that is opened as it is has the database's clock`() throws {
        var policy = LedgerPolicy()
        policy.surroundings.date = { day(0) }
        let ledger = try PurchaseLedger(location.text, policy: policy, asItIs: true)
        #expect(.seconds(-5)...(.seconds(5)) ~= Instant.now.duration(to: ledger.policy.surroundings.sharedDate))
    }

    @Test func `a reading that took long does not replace the last one`() throws {
        let surroundings = ledgers[0].policy.surroundings
        let before = surroundings.sharedDate
        uptime.withLock { $0 = .seconds(20) }
        // Each time that the clock looks at it, two seconds have passed.
        isSlow.withLock { $0 = true }
        try ledgers[0].refreshClock()
        isSlow.withLock { $0 = false }
        #expect(.seconds(20)...(.seconds(30)) ~= before.duration(to: surroundings.sharedDate))
    }

    @Test func `between two readings, the time since the first counts`() throws {
        let surroundings = ledgers[0].policy.surroundings
        func error() -> Duration { Instant.now.duration(to: surroundings.sharedDate) }
        #expect(.seconds(-5)...(.seconds(5)) ~= error())
        uptime.withLock { $0 = .seconds(9) }
        try ledgers[0].refreshClock()
        #expect(.seconds(7)...(.seconds(10)) ~= error())
        uptime.withLock { $0 = .seconds(11) }
        try ledgers[0].refreshClock()
        #expect(.seconds(-1)...(.seconds(1)) ~= error())
    }
}
