import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import Sampling
import SeededRandom
import Testing

/// Something that reaches a ledger.
enum Delivery {
    case redeem(VerifiedEvidence)
    case notification(VerifiedNotification)

    func deliver(to ledger: PurchaseLedger, at date: Instant) throws {
        switch self {
        case .redeem(let evidence): _ = try ledger.redeem(evidence, for: "anna", at: date)
        case .notification(let notification): try ledger.record(notification, at: date)
        }
    }
}

/// The purchases of a customer, all of which are submitted once, and what Apple says about them.
struct OrderCase: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let now: Double
    let history: @Sendable () -> (PurchaseHistory, submitted: PurchaseHistory.Transaction)

    static let all: [OrderCase] = [
        OrderCase(testDescription: "a consumable, refunded and reversed", now: 20) {
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let transaction = history.buyConsumable("coins", quantity: 4, at: day(0))
            history.requestRefund(of: transaction, at: day(4))
            history.refund(transaction, at: day(5))
            history.reverseRefund(of: transaction, at: day(10))
            history.refund(transaction, at: day(12), percentage: 50_000)
            return (history, transaction)
        },
        OrderCase(testDescription: "a subscription, refunded, reversed, renewed, and in a grace period", now: 62) {
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            history.refund(subscription.firstPeriod, at: day(10))
            history.reverseRefund(of: subscription.firstPeriod, at: day(12))
            history.renew(subscription)
            history.failToRenew(subscription, gracePeriod: .seconds(6 * 86_400))
            return (history, subscription.firstPeriod)
        },
        OrderCase(testDescription: "a subscription, upgraded, refunded and expired", now: 80) {
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let upgrade = history.upgrade(subscription, to: "gold", for: .days(60), at: day(10))
            history.refund(upgrade, at: day(20), percentage: 50_000)
            history.turnOffRenewal(of: subscription, at: day(25))
            return (history, subscription.firstPeriod)
        },
        OrderCase(testDescription: "a shared purchase, no longer shared", now: 20) {
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let transaction = history.buyNonConsumable("pro", at: day(0), ownershipType: .familyShared)
            history.endFamilySharing(of: transaction, at: day(5))
            return (history, transaction)
        },
    ]
}

@Suite struct NotificationTests {
    /// All orders of some things.
    private func orders(_ count: Int) -> [[Int]] {
        guard count > 0 else { return [[]] }
        return orders(count - 1).flatMap { order in
            (0...order.count).map { place in
                var order = order
                order.insert(count - 1, at: place)
                return order
            }
        }
    }

    @Test(arguments: OrderCase.all, Place.available)
    func `every order ends in the same state`(_ row: OrderCase, _ place: Place) throws {
        let (history, submitted) = row.history()
        var deliveries = try history.verifiedNotifications(through: day(row.now)).map(Delivery.notification)
        deliveries.append(.redeem(try history.evidence(submitted, signedAt: submitted.purchaseDate)))
        var orders = orders(deliveries.count)
        var generator = SeededGenerator()
        let count = Sampling.count("notification-orders" + (place == .sqlite ? "" : "-postgresql"))
        if count < orders.count { orders = [orders[0]] + orders.shuffled(using: &generator).prefix(count) }
        var expected: (state: LedgerState, codes: [[String: String]])?
        for order in orders {
            try place.withLedger { ledger in
                for index in order { try deliveries[index].deliver(to: ledger, at: day(row.now)) }
                // Apple sends a notification again until it is answered.
                for index in order.reversed() { try deliveries[index].deliver(to: ledger, at: day(row.now)) }
                let state = try LedgerState(ledger)
                let codes = try [1.0, 11, 31, 62, 67, 90].map { try ledger.entitlements(of: "anna", at: day($0)).codes }
                let first = expected ?? (state, codes)
                expected = first
                #expect(state == first.state && codes == first.codes, "\(order)")
                #expect(try ledger.stateByEvents() == state, "\(order)")
            }
        }
    }

    @Test(arguments: Place.available)
    func `what is granted is taken back and given again, and the outbox says so`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let transaction = history.buyConsumable("coins", quantity: 4, at: day(0))
            history.refund(transaction, at: day(5), percentage: 25_000)
            history.refund(transaction, at: day(6))
            history.reverseRefund(of: transaction, at: day(7))
            let evidence = try history.evidence(transaction, signedAt: day(1))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
            for notification in try history.verifiedNotifications(through: day(8)) {
                try ledger.record(notification, at: day(8))
            }
            let events = try ledger.events()
            #expect(events.map(\.kind) == [.granted, .adjusted, .revoked, .restored])
            #expect(events.map(\.quantity) == [4, 3, 0, 4])
            #expect(events.map(\.previousQuantity) == [0, 4, 3, 0])
            #expect(zip(events, events.dropFirst()).allSatisfy { $0.sequence < $1.sequence })
            #expect(events.map(\.cause) == [.redeem, .notification, .notification, .notification])
            #expect(Set(events.map(\.id)).count == 4)
        }
    }

    @Test(arguments: Place.available)
    func `a notification about a purchase that nobody has submitted is kept`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let transaction = history.buyNonConsumable("pro", at: day(0))
            history.refund(transaction, at: day(5))
            for notification in try history.verifiedNotifications(through: day(6)) {
                try ledger.record(notification, at: day(6))
            }
            #expect(try ledger.events().isEmpty)
            // A receipt that was signed before the refund arrives after it.
            let old = try history.evidence(transaction, signedAt: day(1))
            #expect(try ledger.outcomes(old, for: "anna", at: day(7)) == [.revoked])
            history.reverseRefund(of: transaction, at: day(8))
            try ledger.record(#require(history.verifiedNotifications(through: day(8)).last), at: day(8))
            #expect(try ledger.events().map(\.kind) == [.granted])
            #expect(try ledger.outcomes(old, for: "anna", at: day(9)) == [.alreadyYours])
        }
    }

    @Test(arguments: Place.available)
    func `a renewal is granted to the owner of the subscription, without a client`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let renewal = history.renew(subscription)
            let first = try history.evidence(subscription.firstPeriod, signedAt: day(1))
            #expect(try ledger.outcomes(first, for: "anna", at: day(1)) == [.granted])
            try ledger.record(#require(history.verifiedNotifications(through: day(30)).last), at: day(30))
            #expect(try ledger.events().map(\.transactionID) == history.transactions.map(\.transactionID))
            #expect(try ledger.entitlements(of: "anna", at: day(45)).activeProductIDs == ["monthly"])
            let second = try history.evidence(renewal, signedAt: day(31))
            #expect(try ledger.outcomes(second, for: "anna", at: day(31)) == [.alreadyYours])
        }
    }

    @Test(arguments: Place.available)
    func `a renewal that Apple charged early is granted when it begins`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            history.renew(subscription, at: day(29.5))
            let first = try history.evidence(subscription.firstPeriod, signedAt: day(1))
            #expect(try ledger.outcomes(first, for: "anna", at: day(1)) == [.granted])
            try ledger.record(#require(history.verifiedNotifications(through: day(29.5)).last), at: day(29.5))
            for (date, count, events) in [(29.6, 0, 1), (30, 1, 2), (31, 0, 2)] {
                #expect(try ledger.settleDue(at: day(date)) == count)
                #expect(try ledger.events().count == events)
            }
        }
    }

    @Test(arguments: Place.available)
    func `a notification that another server has recorded meanwhile is not new`(_ place: Place) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            history.buyConsumable("coins", at: day(0))
            let notification = try #require(history.verifiedNotifications(through: day(0)).first)
            let isNew = try ledger.store.write { (connection) throws(LedgerError) in
                try (0..<2).map { (_) throws(LedgerError) in
                    try connection.isNew(notification, nil, at: day(0))
                }
            }
            #expect(isNew == [true, false])
        }
    }

    @Test(arguments: Place.available)
    func `a type that Apple adds is stored`(_ place: Place) throws {
        try place.withLedger { ledger in
            var builder = JWSBuilder.notification(
                NotificationType(rawValue: "SOMETHING_NEW"), bundleID: Minted.bundleID, environment: .sandbox)
            builder.payload["data"]?["news"] = "what nobody knows yet"
            let notification = try Minted.notification(builder)
            for _ in 0..<2 { try ledger.record(notification, at: day(0)) }
            let rows = try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT type, payload FROM notifications")
            }
            #expect(rows.count == 1)
            #expect(try rows.first?.text(0) == "SOMETHING_NEW")
            #expect(try rows.first?.text(1).contains("what nobody knows yet") == true)
        }
    }

    @Test func `the same purchase signed anew each day adds no row`() throws {
        try Place.sqlite.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let transaction = history.buyNonConsumable("pro", at: day(0))
            for date in 0..<50 {
                let evidence = try history.evidence(transaction, signedAt: day(Double(date * 7 % 50)))
                _ = try ledger.redeem(evidence, for: "anna", at: day(50))
                let receipt = try Minted.evidence(history.receipt(signedAt: day(Double(date * 11 % 50))))
                _ = try ledger.redeem(receipt, for: "anna", at: day(50))
            }
            let rows = try ledger.store.read { (connection) throws(LedgerError) in
                try connection.run("SELECT variant, signed_date FROM evidence")
            }
            // A receipt cannot say what a transaction says: there is a row for each.
            #expect(try rows.map { try $0.date(1) } == [day(49), day(49)])
        }
    }
}
