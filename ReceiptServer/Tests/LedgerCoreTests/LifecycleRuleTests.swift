import AppStoreReceipt
import AppStoreReceiptTesting
@testable import LedgerCore
import LedgerModels
import Testing

/// Lifecycle events that would be false, stale or repeated. Those about notifications need a ledger that stores them:
/// the suite of this name in `PurchaseLedgerTests` has them.
@Suite struct LifecycleRuleTests {
    @Test func `what ended before the account was granted anything is not notified, in any order`() throws {
        let period = try Minted.period("1", of: "1", from: 0, signed: 1)
        let off = try Minted.renewal(signed: 35, ends: 30) {
            ($0.autoRenewStatus, $0.expirationIntent) = (.off, .cancelled)
        }
        var seen: [[String]] = []
        for order in [[period, off], [off, period]] {
            let ledger = MemoryLedger(notifiesLifecycles: true)
            for (index, piece) in order.enumerated() {
                ledger.redeem(piece, for: "anna", at: day(40 + Double(index)))
            }
            seen.append(ledger.events.map(\.kind.rawValue))
        }
        #expect(seen[0] == seen[1])
        #expect(!seen[0].contains("expired") && !seen[1].contains("expired"), "\(seen)")
    }

    @Test func `what Apple gave up on has not recovered, also if it was refunded`() throws {
        for isRefunded in [false, true] {
            let ledger = MemoryLedger(notifiesLifecycles: true)
            try ledger.redeem(Minted.period("1", of: "1", from: 0), for: "anna", at: day(0))
            try ledger.redeem(
                Minted.renewal(signed: 30, ends: 30) { $0.isInBillingRetryPeriod = true }, for: "anna", at: day(30))
            if isRefunded {
                try ledger.redeem(
                    Minted.period("1", of: "1", from: 0, signed: 40) {
                        ($0.revocationDate, $0.revocationReason) = (day(40), .other)
                    }, for: "anna", at: day(40))
            }
            try ledger.redeem(
                Minted.renewal(signed: 90, ends: 30) {
                    ($0.isInBillingRetryPeriod, $0.autoRenewStatus, $0.expirationIntent) =
                        (false, .off, .billingError)
                }, for: "anna", at: day(90))
            let kinds = ledger.events.map(\.kind.rawValue)
            #expect(!kinds.contains("recovered"), "refunded \(isRefunded): \(kinds)")
        }
    }

    @Test func `renewal information from before the newest period says nothing of it`() throws {
        let ledger = MemoryLedger(notifiesLifecycles: true)
        try ledger.redeem(
            Minted.renewal(signed: 31, ends: 30) { ($0.autoRenewStatus, $0.expirationIntent) = (.off, .cancelled) },
            for: "zoe", at: day(31))
        try ledger.redeem(Minted.period("2", of: "1", from: 40), for: "anna", at: day(40))
        #expect(ledger.events.map(\.kind.rawValue) == ["granted"])
    }

    @Test func `a subscription can end twice, also if the period between is not known`() throws {
        let ledger = MemoryLedger(notifiesLifecycles: true)
        try ledger.redeem(Minted.period("1", of: "1", from: 0), for: "anna", at: day(0))
        try ledger.redeem(
            Minted.renewal(signed: 31, ends: 30) { ($0.autoRenewStatus, $0.expirationIntent) = (.off, .cancelled) },
            for: "anna", at: day(31))
        try ledger.redeem(Minted.renewal(signed: 45, ends: 70), for: "anna", at: day(45))
        try ledger.redeem(
            Minted.renewal(signed: 71, ends: 70) { ($0.autoRenewStatus, $0.expirationIntent) = (.off, .cancelled) },
            for: "anna", at: day(71))
        let kinds = ledger.events.map(\.kind.rawValue)
        #expect(kinds == ["granted", "cancelled", "expired", "uncancelled", "cancelled", "expired"], "\(kinds)")
    }

    @Test func `a period ends, also if the renewal was refunded before it began`() throws {
        let ledger = MemoryLedger(notifiesLifecycles: true)
        try ledger.redeem(Minted.period("1", of: "1", from: 0), for: "anna", at: day(0))
        try ledger.redeem(Minted.period("2", of: "1", from: 30, signed: 29.5), for: "anna", at: day(29.5))
        try ledger.redeem(
            Minted.period("2", of: "1", from: 30, signed: 29.8) {
                ($0.revocationDate, $0.revocationReason) = (day(29.8), .other)
            }, for: "anna", at: day(29.8))
        for signed in [31.0, 61] {
            try ledger.redeem(
                Minted.renewal(signed: signed, ends: 30) {
                    ($0.autoRenewStatus, $0.expirationIntent) = (.off, .cancelled)
                }, for: "anna", at: day(signed))
        }
        let kinds = ledger.events.map(\.kind.rawValue)
        #expect(kinds.contains("expired"), "\(kinds)")
    }

    @Test func `of two lineages of an account that turn out to be one, nothing is notified again`() throws {
        let ledger = MemoryLedger(notifiesLifecycles: true)
        try ledger.redeem(Minted.period("1", of: "1", from: 0), for: "anna", at: day(1))
        try ledger.redeem(Minted.period("2", of: "2", from: 30), for: "anna", at: day(31))
        try ledger.redeem(
            Minted.renewal(of: "2", signed: 32, ends: 60) { $0.autoRenewStatus = .off }, for: "anna", at: day(32))
        #expect(ledger.events.map(\.kind.rawValue) == ["granted", "granted", "cancelled"])
        try ledger.redeem(
            Minted.period("2", of: "2", from: 30, signed: 33) { $0.payload["previousOriginalTransactionId"] = "1" },
            for: "anna", at: day(33))
        let kinds = ledger.events.map(\.kind.rawValue)
        #expect(kinds.count { $0 == "cancelled" } == 1, "\(kinds)")
    }

    @Test func `renewal information from before an upgrade says nothing of it, in any order`() throws {
        let year = try Minted.period("1", of: "1", from: 0) { $0.expiresDate = day(365) }
        let off = try Minted.renewal(signed: 5, ends: 365) { $0.autoRenewStatus = .off }
        let rise = try Minted.renewal(signed: 5, ends: 365) { $0.priceIncreaseStatus = .pending }
        let upgrade = try Minted.period("2", of: "1", from: 10) { $0.productID = "pro" }
        let expected = [
            ([year, off, upgrade], ["cancelled", "uncancelled", "product-change"]), ([year, upgrade, off], []),
            ([year, rise, upgrade], ["price-increase", "product-change"]), ([year, upgrade, rise], []),
        ]
        for (order, kinds) in expected {
            let ledger = MemoryLedger(notifiesLifecycles: true)
            for piece in order { ledger.redeem(piece, for: "anna", at: day(11)) }
            #expect(ledger.events.filter { $0.lifecycle != nil }.map(\.kind.rawValue) == kinds)
        }
    }

    @Test func `a renewal extends nothing, and Apple's extension of a period does`() throws {
        let ledger = MemoryLedger(notifiesLifecycles: true)
        try ledger.redeem(Minted.period("1", of: "1", from: 0), for: "anna", at: day(0))
        try ledger.redeem(Minted.period("2", of: "1", from: 30), for: "anna", at: day(30))
        #expect(ledger.events.map(\.kind.rawValue) == ["granted", "granted"])
        try ledger.redeem(
            Minted.period("2", of: "1", from: 30, signed: 31) { $0.expiresDate = day(65) }, for: "anna", at: day(31))
        #expect(ledger.events.last?.kind == .renewalExtended)
    }

    @Test func `what another customer pays for has no lifecycle`() throws {
        let ledger = MemoryLedger(notifiesLifecycles: true)
        for signed in [0.0, 1] {
            try ledger.redeem(
                Minted.period("1", of: "1", from: 0, signed: signed) {
                    ($0.ownershipType, $0.expiresDate) = (.familyShared, day(30 + signed))
                }, for: "anna", at: day(signed))
        }
        #expect(ledger.events.map(\.kind.rawValue) == ["granted", "changed"])
    }

    @Test func `what was cancelled ends with its period, and what was refunded does not end`() throws {
        for isRefunded in [false, true] {
            let ledger = MemoryLedger(notifiesLifecycles: true)
            try ledger.redeem(Minted.period("1", of: "1", from: 0), for: "anna", at: day(0))
            if isRefunded {
                try ledger.redeem(
                    Minted.period("1", of: "1", from: 0, signed: 4) {
                        ($0.revocationDate, $0.revocationReason) = (day(4), .other)
                    }, for: "anna", at: day(4))
            }
            for signed in [5.0, 31] {
                let kinds = ledger.events.map(\.kind.rawValue)
                #expect(!kinds.contains("expired"), "refunded \(isRefunded): \(kinds)")
                try ledger.redeem(
                    Minted.renewal(signed: signed, ends: 30) {
                        ($0.autoRenewStatus, $0.expirationIntent) = (.off, .cancelled)
                    }, for: "anna", at: day(signed))
            }
            let kinds = ledger.events.map(\.kind.rawValue)
            #expect(kinds.contains("expired") == !isRefunded, "refunded \(isRefunded): \(kinds)")
        }
    }

    @Test func `an account's first state reports an end only if it was granted a period, and silence changes nothing`()
        throws
    {
        let period = try Minted.period("1", of: "1", from: 0).purchases[0].purchase
        func state(_ renewals: [VerifiedEvidence], at date: Double) throws -> LifecycleState {
            let entitlements = Entitlements(
                trustingStored: [period], renewals: renewals.flatMap { $0.renewals.map(\.renewal) }, at: day(date))
            return LifecycleState(try #require(entitlements.subscriptions.first))
        }
        let off = try Minted.renewal(signed: 5, ends: 30) { $0.autoRenewStatus = .off }
        let over = try Minted.renewal(signed: 31, ends: 30) {
            ($0.autoRenewStatus, $0.expirationIntent) = (.off, .cancelled)
        }
        #expect(try state([over], at: 31).following(nil, isGranted: true).kinds == [.cancelled, .expired])
        #expect(try state([over], at: 31).following(nil, isGranted: false).kinds == [.cancelled])
        var notified = try state([off], at: 5).following(nil, isGranted: true).notified
        for renewals in [[], [off]] {
            let following = try state(renewals, at: 6).following(notified, isGranted: true)
            #expect(following.kinds.isEmpty)
            notified = following.notified
        }
    }

    @Test func `the newest period is no cancelled renewal, whichever of its transactions is known from before`() throws
    {
        func seats(_ id: String, signed: Double, isUpgraded: Bool) throws -> VerifiedEvidence {
            try Minted.period(id, of: "1", from: 30, signed: signed) { builder in
                builder.payload["isUpgraded"] = isUpgraded ? true : nil
                builder.payload["quantity"] = 3
                builder.payload["additionalTransactionReason"] = "SEAT_ADDITION"
                builder.payload["multiSeatInfo"] = ["invitationManagement": "APPLE"]
            }
        }
        for (stale, marked) in [("3", "4"), ("4", "3")] {
            let ledger = MemoryLedger(notifiesLifecycles: true)
            try ledger.redeem(
                Minted.period("1", of: "1", from: 0, signed: 29.6) { $0.payload["isUpgraded"] = true }, for: "anna",
                at: day(29.6))
            try ledger.redeem(
                Minted.period("2", of: "1", from: 29.5) { $0.productID = "gold" }, for: "anna", at: day(29.6))
            try ledger.redeem(seats(stale, signed: 29.2, isUpgraded: false), for: "anna", at: day(29.6))
            try ledger.redeem(seats(marked, signed: 45, isUpgraded: true), for: "anna", at: day(45))
            try ledger.redeem(
                Minted.renewal(product: "gold", signed: 59.6, ends: 59.5) {
                    ($0.autoRenewStatus, $0.expirationIntent) = (.off, .cancelled)
                }, for: "anna", at: day(59.6))
            let ended = try #require(ledger.events.last { $0.lifecycle != nil })
            #expect(ended.kind == .expired && ended.productID == "gold")
        }
    }

    @Test func `an event has the date of what it reports, and what Apple signed of it`() throws {
        let ledger = MemoryLedger(notifiesLifecycles: true)
        try ledger.redeem(Minted.period("1", of: "1", from: 0), for: "anna", at: day(0))
        try ledger.record(Minted.renewal(signed: 5, ends: 30) { $0.autoRenewProductID = "gold" }, at: day(6))
        try ledger.record(Minted.period("1", of: "1", from: 0, signed: 7) { $0.expiresDate = day(33) }, at: day(8))
        try ledger.record(
            Minted.renewal(signed: 40, ends: 33) { ($0.autoRenewStatus, $0.expirationIntent) = (.off, .cancelled) },
            at: day(41))
        let events = ledger.events.filter { $0.lifecycle != nil }
        #expect(events.map(\.kind) == [.productChange, .renewalExtended, .cancelled, .productChange, .expired])
        #expect(events.map { $0.lifecycle?.happenedAt } == [day(5), day(7), day(40), day(40), day(33)])
        #expect(events.map { $0.lifecycle?.renewsAs } == ["gold", "gold", "basic", "basic", "basic"])
        #expect(events.map { $0.lifecycle?.expirationReason != nil } == [false, false, true, true, true])
    }

    // MARK: Requests for refunds

    /// The notifications of a consumable's request for a refund and what became of it, in the order of their dates.
    private static func requested(
        _ change: (inout PurchaseHistory, PurchaseHistory.Transaction) -> Void = { _, _ in }
    ) throws -> (evidence: VerifiedEvidence, notifications: [VerifiedNotification]) {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", quantity: 4, at: day(0))
        history.requestRefund(of: coins, at: day(1))
        change(&history, coins)
        let evidence = try history.evidence(coins, signedAt: day(0))
        return (evidence, try history.verifiedNotifications(through: day(5)).filter { $0.type != .oneTimeCharge })
    }

    private static func ledger(_ sold: VerifiedEvidence?) -> MemoryLedger {
        let ledger = MemoryLedger(notifiesLifecycles: true)
        if let sold { ledger.redeem(sold, for: "anna", at: day(0)) }
        return ledger
    }

    @Test func `a request for a refund has its id, its reason and twelve hours, and changes no quantity`() throws {
        let (coins, sent) = try Self.requested { $0.declineRefund(of: $1, at: day(2)) }
        let ledger = Self.ledger(coins)
        for notification in sent { ledger.record(.notification(notification), at: day(3)) }
        let events = ledger.events.dropFirst()
        #expect(events.map(\.kind) == [.refundRequested, .refundDeclined])
        #expect(events.map(\.quantity) == [4, 4] && events.map(\.previousQuantity) == [4, 4])
        #expect(events.map { $0.lifecycle?.requestID } == sent.map(\.notificationUUID))
        #expect(events.map { $0.lifecycle?.reason } == [.unintendedPurchase, nil])
        #expect(events.map { $0.lifecycle?.deadline } == [day(1.5), nil])
        #expect(events.map(\.account) == ["anna", "anna"] && events.map(\.cause) == [.notification, .notification])
        let id = coins.purchases[0].purchase.transactionID
        #expect(events.map(\.transactionID) == [id, id] && events.map { $0.lifecycle?.grantedAs } == [id, id])
    }

    @Test func `without the switch, for what is not for sale, or with a newer one, no request is notified`() throws {
        let (coins, sent) = try Self.requested()
        let ledgers = [
            MemoryLedger(), MemoryLedger(forSale: ["gems"], notifiesLifecycles: true),
            MemoryLedger(forSale: ["coins"], notifiesLifecycles: true), Self.ledger(nil),
        ]
        for (number, ledger) in ledgers.enumerated() {
            ledger.redeem(coins, for: "anna", at: day(0))
            ledger.record(.notification(sent[0]), isNewest: number != 3, at: day(2))
            let isNotified = ledger.events.contains { $0.kind == .refundRequested }
            #expect(isNotified == (number == 2), "\(number)")
        }
        // Nobody owns it.
        let unowned = Self.ledger(nil)
        unowned.record(.notification(sent[0]), at: day(2))
        #expect(unowned.events.isEmpty && unowned.effects.unownedEvents.map(\.kind) == [.refundRequested])
        #expect(unowned.effects.unownedEvents.map(\.account) == [""])
    }

    @Test func `a request is old once a refund is known that came after it, and not one that came before`() throws {
        // A part, everything, or a part before the request.
        let refunds: [(date: Double, share: Int64, isNotified: Bool)] = [
            (2, 50_000, false), (2, 100_000, false), (0.5, 50_000, true),
        ]
        for refund in refunds {
            let (coins, sent) = try Self.requested { history, coins in
                history.refund(coins, at: day(refund.date), percentage: refund.share)
            }
            let ledger = Self.ledger(coins)
            let isRequest = { (notification: VerifiedNotification) in notification.type == .consumptionRequest }
            for notification in sent.filter({ !isRequest($0) }) + sent.filter(isRequest) {
                ledger.record(.notification(notification), at: day(4))
            }
            #expect(ledger.events.contains { $0.kind == .refundRequested } == refund.isNotified, "\(refund)")
        }
        // The refund of a part came at the same time.
        let (coins, sent) = try Self.requested { $0.refund($1, at: day(1), percentage: 50_000) }
        let ledger = Self.ledger(coins)
        for notification in sent.reversed() { ledger.record(.notification(notification), at: day(4)) }
        #expect(ledger.events.contains { $0.kind == .refundRequested })
    }
}
