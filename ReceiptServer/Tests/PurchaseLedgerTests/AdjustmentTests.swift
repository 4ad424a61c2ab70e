import AppStoreReceipt
import AppStoreReceiptTesting
@testable import PurchaseLedger
import Testing

/// Adjustments that support makes.
@Suite struct AdjustmentTests {
    private static func name(_ transaction: PurchaseHistory.Transaction) -> TransactionName {
        TransactionName(environment: .production, bundleID: Minted.bundleID, transactionID: transaction.transactionID)
    }

    private static func set(
        _ quantity: Int64, _ transaction: PurchaseHistory.Transaction, key: String? = nil
    ) -> Adjustment {
        Adjustment(.quantity(name(transaction), quantity), reason: "ticket 7", idempotencyKey: key)
    }

    private static func gift(_ quantity: Int64 = 5, key: String? = "ticket 7", _ product: String = "gift") -> Adjustment
    {
        Adjustment(
            .product(environment: .production, bundleID: Minted.bundleID, productID: product, quantity: quantity),
            reason: "ticket 7", idempotencyKey: key)
    }

    @Test(
        arguments: [
            // set, signed then, signed now, the quantity
            (7, 3, 3, 7), (7, 3, 0, 0), (7, 3, 1, 5), (1, 3, 1, 0), (1, 3, 3, 1), (0, 3, 3, 0), (0, 1, 3, 0),
            (4, 1, 3, 6),
        ] as [(Int64, Int64, Int64, Int64)])
    func `a refund after an adjustment takes back its part, or all`(
        set: Int64, then: Int64, now: Int64, quantity: Int64
    ) {
        #expect(AdjustedQuantity(quantity: set, signedThen: then).quantity(signed: now) == quantity)
    }

    @Test(arguments: Place.available)
    func `a subscription adjusted when its seats were its quantity has one, and none after a refund`(
        _ place: Place
    ) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let monthly = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0)).firstPeriod
            #expect(
                try ledger.outcomes(history.evidence(monthly, signedAt: day(1)), for: "anna", at: day(1)) == [.granted])
            // As 0.3.0 stored 8 seats that an operator set to 1.
            try ledger.store.write { (connection) throws(LedgerError) in
                _ = try connection.run("UPDATE grants SET quantity = 1, adjusted_quantity = 1, adjusted_from = 8")
            }
            _ = try ledger.redeem(history.evidence(monthly, signedAt: day(2)), for: "anna", at: day(2))
            #expect(try LedgerState(ledger).grants[monthly.transactionID] == .init(account: "anna", quantity: 1))
            history.refund(monthly, at: day(4))
            for notification in try history.verifiedNotifications(through: day(5)) {
                try ledger.record(notification, at: day(5))
            }
            #expect(try LedgerState(ledger).grants[monthly.transactionID] == nil)
        }
    }

    @Test(arguments: Place.available)
    func `an adjusted grant stays through evidence, a refund, its reversal, a transfer and the way back`(
        _ place: Place
    ) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
            let evidence = try history.evidence(coins, signedAt: day(1))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
            let answer = try ledger.adjust(Self.set(7, coins), of: "anna", at: day(2))
            #expect(answer.previousQuantity == 3 && answer.quantity == 7 && !answer.isRepeated)
            // The same purchase, signed anew.
            let redemption = try ledger.redeem(history.evidence(coins, signedAt: day(3)), for: "anna", at: day(3))
            #expect(redemption.outcomes.map(\.quantity) == [7] && redemption.outcomes[0].outcome == .alreadyYours)
            #expect(redemption.sequence == answer.sequence)
            history.refund(coins, at: day(4))
            history.reverseRefund(of: coins, at: day(5))
            for notification in try history.verifiedNotifications(through: day(6)) {
                try ledger.record(notification, at: day(6))
            }
            #expect(try LedgerState(ledger).grants[coins.transactionID] == .init(account: "anna", quantity: 7))
            try ledger.transfer(from: "anna", to: "ben", reason: "support", at: day(7))
            #expect(try ledger.outcomes(evidence, for: "ben", at: day(7)) == [.alreadyYours])
            #expect(try LedgerState(ledger).grants[coins.transactionID] == .init(account: "ben", quantity: 7))
            let back = try ledger.adjust(
                Adjustment(.asSigned(Self.name(coins)), reason: "ticket 8"), of: "ben", at: day(8))
            #expect(back.previousQuantity == 7 && back.quantity == 3)
            #expect(try ledger.outcomes(evidence, for: "ben", at: day(9)) == [.alreadyYours])
            #expect(try LedgerState(ledger) == ledger.stateByEvents())
            let events = try ledger.events().filter { $0.account == "anna" }
            #expect(events.map(\.kind) == [.granted, .adjusted, .revoked, .restored, .revoked])
            #expect(events.map(\.quantity) == [3, 7, 0, 7, 0] && events[1].cause == .support)
            let acts = try #require(try ledger.story(of: Self.name(coins), at: day(9))).acts
            #expect(acts.map(\.reason) == ["ticket 8", "ticket 7"] && acts.map(\.quantity) == [3, 7])
        }
    }

    @Test(arguments: Place.available)
    func `what support took back stays so, and is not among the entitlements, until the way back`(
        _ place: Place
    ) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let pro = history.buyNonConsumable("pro", at: day(0))
            let evidence = try history.evidence(pro, signedAt: day(1))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(1)) == [.granted])
            #expect(try ledger.adjust(Self.set(0, pro), of: "anna", at: day(2)).quantity == 0)
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(3)) == [.revoked])
            #expect(try ledger.entitlements(of: "anna", at: day(3)).items.isEmpty)
            history.refund(pro, at: day(4))
            history.reverseRefund(of: pro, at: day(5))
            for notification in try history.verifiedNotifications(through: day(6)) {
                try ledger.record(notification, at: day(6))
            }
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(6)) == [.revoked])
            try ledger.adjust(Adjustment(.asSigned(Self.name(pro)), reason: "a mistake"), of: "anna", at: day(7))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(8)) == [.alreadyYours])
            #expect(try ledger.entitlements(of: "anna", at: day(8)).activeProductIDs == ["pro"])
            #expect(try ledger.events().map(\.kind) == [.granted, .revoked, .restored])
        }
    }

    @Test(arguments: Place.available)
    func `no restored copy gives back what support took back, and what it replaced stays ended`(
        _ place: Place
    ) throws {
        try place.withLedger { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let pro = history.buyNonConsumable("pro", at: day(0))
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            let monthly = history.latestPeriod(of: subscription)
            let before = try history.evidence(monthly, signedAt: day(1))
            #expect(try ledger.outcomes(before, for: "anna", at: day(1)) == [.granted])
            let yearly = history.upgrade(subscription, to: "yearly", for: .days(360), at: day(2))
            for transaction in [pro, yearly] {
                let evidence = try history.evidence(transaction, signedAt: day(3))
                #expect(try ledger.outcomes(evidence, for: "anna", at: day(3)) == [.granted])
                try ledger.adjust(Self.set(0, transaction), of: "anna", at: day(4))
            }
            let copy = history.restore(pro, at: day(5))
            let restored = try history.evidence(copy, signedAt: day(5))
            #expect(try ledger.outcomes(restored, for: "anna", at: day(5)) == [.revoked])
            let entitlements = try ledger.entitlements(of: "anna", at: day(6))
            #expect(entitlements.items.map { "\($0.productID) \($0.access.code)" } == ["monthly upgraded"])
            #expect(entitlements.subscriptions.map(\.isActive) == [false])
            for transaction in [pro, yearly] {
                try ledger.adjust(
                    Adjustment(.asSigned(Self.name(transaction)), reason: "a mistake"), of: "anna", at: day(7))
            }
            #expect(try ledger.entitlements(of: "anna", at: day(8)).activeProductIDs == ["pro", "yearly"])
        }
    }

    @Test(arguments: Place.available)
    func `what is no longer for sale is not among the entitlements, and what it replaced stays ended`(
        _ place: Place
    ) throws {
        let location = try place.makeLocation()
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
        let monthly = history.latestPeriod(of: subscription)
        let before = try history.evidence(monthly, signedAt: day(1))
        let yearly = history.upgrade(subscription, to: "yearly", for: .days(360), at: day(2))
        let after = try history.evidence(yearly, signedAt: day(3))
        let ledger = try PurchaseLedger(location.text)
        #expect(try ledger.outcomes(before, for: "anna", at: day(1)) == [.granted])
        #expect(try ledger.outcomes(after, for: "anna", at: day(3)) == [.granted])
        var policy = LedgerPolicy()
        policy.productIDs = ["monthly"]
        let items = try PurchaseLedger(location.text, policy: policy).entitlements(of: "anna", at: day(6)).items
        #expect(items.map { "\($0.productID) \($0.access.code)" } == ["monthly upgraded"])
        withExtendedLifetime(location) {}
    }

    @Test(arguments: Place.available)
    func `a period of a divided subscription is adjusted, and its neighbours are not`(_ place: Place) throws {
        var policy = LedgerPolicy()
        policy.wholeLineageLimit = 2
        try place.withLedger(policy) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let subscription = history.subscribe(to: "monthly", in: "group", for: .days(30), at: day(0))
            for _ in 0..<5 { _ = history.renew(subscription) }
            let receipt = try Minted.evidence(history.receipt(signedAt: day(170)))
            _ = try ledger.redeem(receipt, for: "anna", at: day(170))
            let last = history.latestPeriod(of: subscription)
            let evidence = try history.evidence(last, signedAt: day(170))
            let before = try ledger.redeem(evidence, for: "anna", at: day(170)).outcomes.map(\.outcome)
            #expect(before == [.alreadyYours])
            let state = try LedgerState(ledger).grants
            try ledger.adjust(Self.set(0, last), of: "anna", at: day(171))
            #expect(try ledger.outcomes(evidence, for: "anna", at: day(172)) == [.revoked])
            #expect(try ledger.outcomes(receipt, for: "anna", at: day(172)).filter { $0 == .revoked }.count == 1)
            var expected = state
            expected[last.transactionID] = nil
            #expect(try LedgerState(ledger).grants == expected)
        }
    }

    @Test(arguments: Place.available)
    func `a product that support grants is granted once, notified, transferred, and taken back`(_ place: Place) throws {
        try place.withLedger { ledger in
            let first = try ledger.adjust(Self.gift(), of: "anna", at: day(1))
            #expect(first.name.transactionID.hasPrefix("support-") && first.quantity == 5 && !first.isRepeated)
            let again = try ledger.adjust(Self.gift(), of: "anna", at: day(2))
            #expect(again.isRepeated && again.name == first.name && again.sequence == first.sequence)
            let other = try ledger.adjust(Self.gift(), of: "ben", at: day(2))
            #expect(other.name != first.name)
            let event = try #require(try ledger.events().first { $0.account == "anna" })
            #expect(event.kind == .granted && event.cause == .support && event.quantity == 5)
            #expect(event.transactionID == first.name.transactionID && event.productID == "gift")
            #expect(
                try ledger.transfer(
                    from: "anna", to: "carl", transactionID: first.name.transactionID, reason: "support", at: day(3))
                    == 1)
            let taken = try ledger.adjust(
                Adjustment(.quantity(first.name, 0), reason: "twice"), of: "carl", at: day(4))
            #expect(taken.previousQuantity == 5 && taken.quantity == 0)
            let given = try ledger.adjust(
                Adjustment(.asSigned(first.name), reason: "not twice"), of: "carl", at: day(5))
            #expect(given.quantity == 5)
            #expect(try LedgerState(ledger) == ledger.stateByEvents())
            let story = try #require(try ledger.story(of: first.name, at: day(6)))
            #expect(story.owner == "carl" && story.acts.count == 3 && story.transfers.count == 1)
            #expect(Set(story.events.map(\.account)) == ["anna", "carl"])
            _ = try ledger.deleteAccount("carl")
            #expect(try ledger.story(of: first.name, at: day(7))?.owner?.hasPrefix("forgotten-") == true)
            // A request from before an account was deleted grants it nothing, even if it has its grants back.
            let name = try ledger.deleteAccount("ben")
            for isBack in [false, true] {
                if isBack { try ledger.transfer(from: name, to: "ben", reason: "support", at: day(8)) }
                let error = #expect(throws: LedgerError.self) { try ledger.adjust(Self.gift(), of: "ben", at: day(9)) }
                #expect(error?.code == .idempotencyKeyReused)
            }
        }
    }

    @Test(arguments: Place.available)
    func `no evidence and no import has an id of support's`(_ place: Place) throws {
        try place.withLedger { ledger in
            let gift = try ledger.adjust(Self.gift(), of: "anna", at: day(1))
            for (id, original) in [(gift.name.transactionID, nil), ("1000", gift.name.transactionID)] {
                var builder = JWSBuilder.transaction(
                    bundleID: Minted.bundleID, productID: "gift", transactionID: id)
                if let original { builder.originalTransactionID = original }
                builder.productType = .consumable
                builder.revocationDate = day(0)
                #expect(try ledger.outcomes(Minted.evidence(builder), for: "ben", at: day(2)) == [.undetermined])
            }
            // An import accepts it if this ledger made it.
            for (id, account, outcome) in [
                (gift.name.transactionID, "anna", ImportedLine.Outcome.known),
                (gift.name.transactionID, "ben", .conflict("belongs-to-another")),
                ("support-1", "anna", .fault("'transaction_id' is none that this ledger has made")),
            ] {
                let spent = try #require(
                    SpentTransaction(
                        account: account, environment: .production, bundleID: Minted.bundleID, transactionID: id,
                        originalTransactionID: nil, productID: "gift", quantity: 5, date: day(0)))
                #expect(try ledger.imported([.spent(spent)], at: day(2))[0].outcome == outcome)
            }
            #expect(try LedgerState(ledger).grants[gift.name.transactionID] == .init(account: "anna", quantity: 5))
        }
    }

    @Test func `the forms of transaction ids are those that Apple has used`() {
        for id in ["1", "340000000000001", "2000000123456789", "704289572311513293", "9999999999999999999"] {
            for environment in AppStoreEnvironment.allCases {
                #expect(TransactionIDForm.isApples(id, in: environment), "\(id)")
            }
        }
        for environment in AppStoreEnvironment.allCases {
            let isOfXcode = [.xcode, .localTesting].contains(environment)
            #expect(TransactionIDForm.isApples("0", in: environment) == isOfXcode)
            for id in ["", "00", "01", "12345678901234567890", "3.4E+14", " 1", "1 ", "-1", "１", "NULL", "1,000"] {
                #expect(!TransactionIDForm.isApples(id, in: environment), "\(id)")
            }
        }
    }

    @Test(arguments: Place.available)
    func `what 0.3.0 imported under an id that is none can be set to 0, transferred and found`(_ place: Place) throws {
        try place.withLedger { ledger in
            let id = "3.4E+14"
            try ledger.store.write { (connection) throws(LedgerError) in
                try connection.write("INSERT INTO families (id, account, claimed_at) VALUES (1, 'anna', 0)", [])
                try connection.write(
                    "INSERT INTO identifiers VALUES (7, 'production', '\(Minted.bundleID)', '\(id)', 1)", [])
                try connection.write(
                    """
                    INSERT INTO grants (identifier_id, product_id, account, quantity, granted_quantity, granted_at,
                        changed_at)
                    VALUES (7, 'coins', 'anna', 3, 3, 0, 0)
                    """, [])
            }
            func name(_ id: String) -> TransactionName {
                TransactionName(environment: .production, bundleID: Minted.bundleID, transactionID: id)
            }
            #expect(try ledger.find(id).count == 1)
            #expect(
                try ledger.transfer(
                    from: "anna", to: "ben", transactionID: id, in: .production, reason: "wrong", at: day(1)) == 1)
            #expect(
                try ledger.adjust(Adjustment(.quantity(name(id), 0), reason: "wrong id"), of: "ben", at: day(1))
                    .quantity == 0)
            for other in ["3.4E+15", "NULL", "GPA.1"] {
                for act in [
                    {
                        _ = try ledger.adjust(Adjustment(.quantity(name(other), 0), reason: "x"), of: "ben", at: day(1))
                    },
                    {
                        _ = try ledger.transfer(
                            from: "ben", to: "anna", transactionID: other, in: .production, reason: "x")
                    },
                ] as [() throws -> Void] {
                    let error = #expect(throws: LedgerError.self) { try act() }
                    #expect(error?.code == .invalidText)
                }
            }
            let error = #expect(throws: LedgerError.self) {
                try ledger.adjust(Adjustment(.quantity(name("340000000000001"), 0), reason: "x"), of: "ben", at: day(1))
            }
            #expect(error?.code == .notFound)
        }
    }

    @Test(arguments: Place.available)
    func `an adjustment that cannot be is refused, and changes nothing`(_ place: Place) throws {
        var policy = LedgerPolicy()
        policy.productIDs = ["coins", "pro", "gift"]
        try place.withLedger(policy) { ledger in
            var history = PurchaseHistory(bundleID: Minted.bundleID)
            let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
            let refunded = history.buyConsumable("coins", at: day(0))
            let pro = history.buyNonConsumable("pro", at: day(0))
            for transaction in [coins, refunded, pro] {
                let evidence = try history.evidence(transaction, signedAt: day(1))
                _ = try ledger.redeem(evidence, for: "anna", at: day(1))
            }
            history.refund(refunded, at: day(2))
            for notification in try history.verifiedNotifications(through: day(2)) {
                try ledger.record(notification, at: day(2))
            }
            let wrong = TransactionName(environment: .sandbox, bundleID: Minted.bundleID, transactionID: "1")
            let unsold = Adjustment.Change.product(
                environment: .production, bundleID: Minted.bundleID, productID: "unsold", quantity: 1)
            try ledger.adjust(Self.set(4, coins, key: "k"), of: "anna", at: day(3))
            try ledger.adjust(Self.gift(key: "g"), of: "anna", at: day(3))
            let before = try (LedgerState(ledger), ledger.events().count)
            let cases: [(Adjustment, String, LedgerError.Code)] = [
                (Self.set(1, coins), "ben", .notFound), (Self.set(1, coins), "", .invalidText),
                (Adjustment(.quantity(wrong, 1), reason: "r"), "anna", .notFound),
                (Self.set(-1, coins), "anna", .invalidText),
                (Self.set(.max, coins), "anna", .invalidText),
                (Self.set(2, pro), "anna", .invalidText), (Self.set(1, refunded), "anna", .notAdjustable),
                (Self.set(5, coins, key: "k"), "anna", .idempotencyKeyReused),
                (Self.gift(key: "k"), "anna", .idempotencyKeyReused), (Self.gift(key: nil), "anna", .invalidText),
                (Self.gift(6, key: "g"), "anna", .idempotencyKeyReused),
                (Self.gift(key: "g", "pro"), "anna", .idempotencyKeyReused),
                (Self.gift(0), "anna", .invalidText),
                (Adjustment(unsold, reason: "r", idempotencyKey: "u"), "anna", .invalidText),
                (Adjustment(.quantity(Self.name(coins), 1), reason: ""), "anna", .invalidText),
            ]
            for (adjustment, account, code) in cases {
                let error = #expect(throws: LedgerError.self) { try ledger.adjust(adjustment, of: account, at: day(4)) }
                #expect(error?.code == code, "\(adjustment)")
            }
            #expect(try LedgerState(ledger) == before.0 && ledger.events().count == before.1)
            #expect(try ledger.adjust(Self.set(4, coins, key: "k"), of: "anna", at: day(5)).isRepeated)
        }
    }

    @Test(arguments: Place.available)
    func `a back-up has adjustments, and those that it lost are repeated`(_ place: Place) throws {
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        let coins = history.buyConsumable("coins", quantity: 3, at: day(0))
        let evidence = try history.evidence(coins, signedAt: day(1))
        let restorable = try RestorableLedger(place, at: day(1))
        _ = try restorable.ledger.redeem(evidence, for: "anna", at: day(1))
        try restorable.ledger.adjust(Self.set(7, coins), of: "anna", at: day(2))
        try restorable.backUp()
        let gift = try restorable.ledger.adjust(Self.gift(), of: "anna", at: day(3))
        try restorable.restore(at: day(4))
        let redemption = try restorable.ledger.redeem(evidence, for: "anna", at: day(5))
        #expect(redemption.outcomes.map(\.quantity) == [7] && redemption.sequence > gift.sequence)
        let again = try restorable.ledger.adjust(Self.gift(), of: "anna", at: day(5))
        #expect(again.name == gift.name && again.sequence > gift.sequence && !again.isRepeated)
    }
}
