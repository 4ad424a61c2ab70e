import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import Testing

/// Changes that time alone makes.
@Suite struct DueTests {
    /// Records the last notification, which can be dated up to six days after its arrival.
    private func recordLast(_ history: PurchaseHistory, _ ledger: PurchaseLedger, at date: Instant) throws {
        let signed = date + .seconds(6 * 86_400)
        try ledger.record(#require(history.verifiedNotifications(through: signed).last), at: date)
    }

    @Test(arguments: [100_000, 50_000] as [Int64], Place.available)
    func `a refund dated after the server's clock is applied when its date comes`(
        percentage: Int64, _ place: Place
    ) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", quantity: 4, at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(1))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
            let refunded = day(2)
            let arrival = refunded - .seconds(3)
            history.refund(coins, at: refunded, percentage: percentage)
            try recordLast(history, ledger, at: arrival)
            #expect(try ledger.events().map(\.quantity) == [4])
            #expect(try ledger.settleDue(at: arrival) == 0)
            #expect(try ledger.settleDue(at: refunded) == 1)
            let last = try #require(ledger.events().last)
            #expect(last.cause == .revocation && last.transactionID == coins.transactionID)
            #expect(last.kind == (percentage == 100_000 ? .revoked : .adjusted))
            #expect(last.quantity == (percentage == 100_000 ? 0 : 2) && last.previousQuantity == 4)
            #expect(try ledger.settleDue(at: day(1000)) == 0)
            #expect(try ledger.events().count == 2)
        }
    }

    @Test(arguments: Place.available)
    func `what nobody owns is not settled until somebody does`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", quantity: 4, at: day(0))
            history.refund(coins, at: day(2))
            try recordLast(history, ledger, at: day(2) - .seconds(3))
            #expect(try ledger.settleDue(at: day(3)) == 0)
            let evidence = try history.evidence(coins, signedAt: day(1))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(3)) == [.revoked])
        }
    }

    @Test(arguments: Place.available)
    func `a refund that was dated in the future and reversed before takes nothing back`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let pro = history.buyNonConsumable("pro", at: day(0))
            let evidence = try history.evidence(pro, signedAt: day(1))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
            history.refund(pro, at: day(5))
            try recordLast(history, ledger, at: day(2))
            // Events have the announced end, and then none.
            #expect(try ledger.events().map(\.until) == [nil, day(5)])
            history.reverseRefund(of: pro, at: day(6))
            try recordLast(history, ledger, at: day(3))
            try ledger.settleDue(at: day(7))
            #expect(try ledger.events().map(\.kind) == [.granted, .changed, .changed])
            #expect(try ledger.events().map(\.until) == [nil, day(5), nil])
        }
    }

    @Test(arguments: Place.available)
    func `a refund whose date Apple moves nearer is applied at the nearer date`(_ place: Place) throws {
        try place.withLedger { ledger in
            for (signed, refunded) in [(1, nil), (2, 6), (3, 5)] as [(Double, Double?)] {
                var builder = JWSBuilder.transaction(
                    bundleID: Minted.bundleID, productID: "pro", transactionID: "1", signedDate: day(signed))
                builder.purchaseDate = day(0)
                builder.revocationDate = refunded.map(day)
                _ = try ledger.redeem(Minted.evidence(builder), for: "anna", at: day(signed))
            }
            #expect(try ledger.events().map(\.until) == [nil, day(6), day(5)])
            #expect(try ledger.settleDue(at: day(5)) == 1)
            #expect(try ledger.events().last?.kind == .revoked)
        }
    }

    @Test(arguments: Place.available)
    func `a transaction that cannot be settled keeps no other waiting`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", at: day(0))
            let other = history.buyConsumable("coins", at: day(0))
            for transaction in [coins, other] {
                let evidence = try history.evidence(transaction, signedAt: day(1))
                #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
                history.refund(transaction, at: transaction == coins ? day(2) : day(3))
                try recordLast(history, ledger, at: day(1))
            }
            _ = try ledger.store.write { (connection) throws(LedgerError) in
                try connection.run(
                    """
                    UPDATE evidence SET purchase = 'damaged'
                    WHERE identifier_id = (SELECT id FROM identifiers WHERE transaction_id = $1)
                    """,
                    [.text(coins.transactionID)])
            }
            let error = #expect(throws: LedgerError.self) { try ledger.settleDue(at: day(4)) }
            #expect(error?.code == .storeFailed)
            #expect(try ledger.events().last?.transactionID == other.transactionID)
        }
    }

    /// Subscriptions whose period ends before it is refunded.
    private static let ended: [@Sendable (inout PurchaseHistory) -> PurchaseHistory.Transaction] = [
        { $0.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0)).firstPeriod },
        {
            let subscription = $0.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            $0.upgrade(subscription, to: "gold", for: .days(60), at: day(10))
            return subscription.firstPeriod
        },
    ]

    @Test(arguments: [0, 1], Place.available)
    func `a refund after the end of a period takes it back, and its reversal gives it back`(
        index: Int, _ place: Place
    ) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let period = Self.ended[index](&history)
            let evidence = try history.evidence(period, signedAt: day(1))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
            func quantity() throws -> Int64? { try LedgerState(ledger).grants[period.transactionID]?.quantity }
            for notification in try history.verifiedNotifications(through: day(40)) {
                try ledger.record(notification, at: day(40))
            }
            #expect(try quantity() == 1)
            history.refund(period, at: day(41))
            try recordLast(history, ledger, at: day(42))
            #expect(try quantity() == nil)
            let event = try #require(ledger.events().last)
            #expect(event.kind == .revoked && event.transactionID == period.transactionID && event.quantity == 0)
            // The earliest ending determines the reason.
            let access = try ledger.entitlements(of: "anna", at: day(42)).codes[period.transactionID]
            #expect(access == (index == 0 ? "expired at \(day(30))" : "upgraded at \(day(10))"))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(42)) == [.revoked])
            history.reverseRefund(of: period, at: day(43))
            try recordLast(history, ledger, at: day(44))
            #expect(try quantity() == 1 && ledger.events().last?.kind == .restored)
        }
    }

    @Test(arguments: Place.available)
    func `in a receipt, the cancellation of a period that was upgraded takes nothing back`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let first = try Minted.evidence(history.receipt(signedAt: day(1)))
            #expect(try ledger.outcomes(first, for: "anna", at: day(1)) == [.granted])
            history.upgrade(subscription, to: "gold", for: .days(60), at: day(10))
            let second = try Minted.evidence(history.receipt(signedAt: day(11)))
            #expect(second.purchases.contains { $0.purchase.revocation.details?.date != nil })
            // Receipts have no order: the first is granted before, and the upgrade now.
            #expect(try Set(ledger.outcomes(second, for: "anna", at: day(11))) == [.alreadyYours, .granted])
        }
    }

    @Test(arguments: Place.available)
    func `another end of access is notified, with the same quantity`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let evidence = try history.evidence(subscription.firstPeriod, signedAt: day(1))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
            history.failToRenew(subscription, gracePeriod: .seconds(6 * 86_400))
            for notification in try history.verifiedNotifications(through: day(31)) {
                for _ in 0..<2 { try ledger.record(notification, at: day(31)) }
            }
            let events = try ledger.events()
            #expect(events.map(\.kind) == [.granted, .changed])
            #expect(events.map(\.until) == [day(30), day(36)])
            #expect(events.map(\.quantity) == [1, 1] && events[1].previousQuantity == 1)
            // The answer says the same, and writes dates alike.
            let outcome = try #require(ledger.redeem(evidence, for: "anna", at: day(31)).outcomes.first)
            #expect(outcome.until == day(36))
            let rows = try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT event FROM outbox ORDER BY sequence")
            }
            #expect(try rows[1].text(0).contains(#""until":"\#(day(36))""#))
            #expect(try rows[1].text(0).contains(#""at":"\#(day(31))""#))
            // A transfer reports the end, too.
            try ledger.transfer(from: "anna", to: "ben", reason: "support", at: day(32))
            let last = try #require(ledger.events().last)
            #expect(last.account == "ben" && last.until == day(36))
            #expect(last.originalTransactionID == subscription.firstPeriod.transactionID)
        }
    }

    @Test(arguments: Place.available)
    func `renewal information that comes alone is notified, too`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let evidence = try history.evidence(subscription.firstPeriod, signedAt: day(1))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
            history.failToRenew(subscription, gracePeriod: .seconds(6 * 86_400))
            let renewal = try Minted.evidence(#require(history.renewalInfo(of: subscription, signedAt: day(31))))
            #expect(renewal.purchases.isEmpty)
            for _ in 0..<2 { #expect(try ledger.outcomes(renewal, for: "anna", at: day(31)).isEmpty) }
            #expect(try ledger.events().map(\.kind) == [.granted, .changed])
            #expect(try ledger.events().last?.until == day(36))
        }
    }
}
