import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@_spi(Ledger) @testable import AppStoreReceipt

/// One line of the table: transactions, and what each is at some days.
struct AccessCase: CustomTestStringConvertible, Sendable {
    let name: String
    let transactions: [Transaction]
    /// The expected access of each transaction, by day.
    let expected: [Double: [String: String]]
    var testDescription: String { name }

    static let all: [AccessCase] = {
        let second = 1 / 86_400.0
        let simple = [Transaction.period("1", 0..<30)]
        let renewed = [Transaction.period("1", 0..<30), .period("2", 30..<60)]
        return [
            .init(
                name: "a period", transactions: simple,
                expected: [
                    -1: ["1": "not-yet"], 0: ["1": "active"], 29.999: ["1": "active"], 30: ["1": "expired"],
                    27_000: ["1": "expired"],
                ]),
            .init(
                name: "a clock that is up to five minutes slow", transactions: simple,
                expected: [-second: ["1": "active"], -300 * second: ["1": "active"], -301 * second: ["1": "not-yet"]]),
            .init(
                name: "renewed", transactions: renewed,
                expected: [29: ["1": "active", "2": "not-yet"], 30: ["1": "expired", "2": "active"]]),
            .init(
                name: "resubscribed after a gap", transactions: [.period("1", 0..<30), .period("2", 40..<70)],
                expected: [35: ["1": "expired", "2": "not-yet"], 40: ["1": "expired", "2": "active"]]),
            .init(
                name: "upgraded",
                transactions: [.period("1", 0..<30, isUpgraded: true), .period("2", 10..<375, "yearly")],
                expected: [
                    9: ["1": "active", "2": "not-yet"], 10: ["1": "upgraded", "2": "active"],
                    40: ["1": "upgraded", "2": "active"], 400: ["1": "upgraded", "2": "expired"],
                ]),
            .init(
                name: "upgraded, and nothing marks the old period",
                transactions: [.period("1", 0..<30), .period("2", 10..<20, "premium")],
                expected: [
                    9: ["1": "active", "2": "not-yet"], 10: ["1": "upgraded", "2": "active"],
                    25: ["1": "upgraded", "2": "expired"],
                ]),
            .init(
                name: "upgraded, with the cancellation date that Apple writes",
                transactions: [.period("1", 0..<30, revoked: 10), .period("2", 10..<40, "premium")],
                expected: [
                    5: ["1": "active", "2": "not-yet"], 10: ["1": "upgraded", "2": "active"],
                    50: ["1": "upgraded", "2": "expired"],
                ]),
            .init(
                name: "upgraded, with a cancellation date a second earlier or later",
                transactions: [
                    .period("1", 0..<30, revoked: 10 - second), .period("2", 10..<40, "premium", revoked: 20 + second),
                    .period("3", 20..<50, "ultra"),
                ],
                expected: [
                    10 - second: ["1": "upgraded", "2": "active", "3": "not-yet"],
                    20: ["1": "upgraded", "2": "upgraded", "3": "active"],
                ]),
            .init(
                name: "a crossgrade to the same product, with a cancellation date",
                transactions: [.period("1", 0..<30, revoked: 10), .period("2", 10..<40)],
                expected: [9: ["1": "active", "2": "not-yet"], 10: ["1": "upgraded", "2": "active"]]),
            .init(
                name: "a renewal that begins a little early ends nothing",
                transactions: [.period("1", 0..<30), .period("2", 29.9..<60)],
                expected: [29.95: ["1": "active", "2": "active"], 30: ["1": "expired", "2": "active"]]),
            .init(
                name: "an upgrade after an early renewal ends both",
                transactions: [.period("1", 0..<30), .period("2", 29..<59), .period("3", 29.5..<60, "premium")],
                expected: [
                    29.2: ["1": "active", "2": "active", "3": "not-yet"],
                    29.5: ["1": "upgraded", "2": "upgraded", "3": "active"],
                ]),
            .init(
                name: "a downgrade begins at the renewal",
                transactions: [.period("1", 0..<30, "premium"), .period("2", 30..<60)],
                expected: [29: ["1": "active", "2": "not-yet"], 30: ["1": "expired", "2": "active"]]),
            .init(
                name: "upgraded and refunded afterwards",
                transactions: [.period("1", 0..<30, revoked: 20), .period("2", 10..<40, "premium")],
                expected: [15: ["1": "upgraded", "2": "active"], 25: ["1": "upgraded", "2": "active"]]),
            .init(
                name: "an upgrade that is refunded does not bring the old period back",
                transactions: [.period("1", 0..<30), .period("2", 10..<40, "premium", revoked: 12)],
                expected: [11: ["1": "upgraded", "2": "active"], 13: ["1": "upgraded", "2": "revoked"]]),
            .init(
                name: "an upgrade that was refunded before it began replaces nothing",
                transactions: [.period("1", 0..<30), .period("2", 10..<40, "premium", revoked: 9)],
                expected: [8: ["1": "active", "2": "not-yet"], 11: ["1": "active", "2": "revoked"]]),
            .init(
                name: "refunded", transactions: [.period("1", 0..<30), .period("2", 30..<60, revoked: 40)],
                expected: [
                    35: ["1": "expired", "2": "active"], 40: ["1": "expired", "2": "revoked"],
                    70: ["1": "expired", "2": "revoked"],
                ]),
            .init(
                name: "refunded, and another product bought later",
                transactions: [.period("1", 0..<30, revoked: 5), .period("2", 10..<40, "premium")],
                expected: [7: ["1": "revoked", "2": "not-yet"], 12: ["1": "revoked", "2": "active"]]),
            .init(
                name: "refunded a minute and a second before another product begins",
                transactions: [.period("1", 0..<30, revoked: 10 - 61 * second), .period("2", 10..<40, "premium")],
                expected: [9: ["1": "active", "2": "not-yet"], 10: ["1": "revoked", "2": "active"]]),
            .init(
                name: "refunded at its end", transactions: [.period("1", 0..<30, revoked: 30)],
                expected: [29.9: ["1": "active"], 30: ["1": "expired"]]),
            .init(
                name: "refunded after its end", transactions: [.period("1", 0..<30, revoked: 45)],
                expected: [40: ["1": "expired"], 50: ["1": "expired"]]),
            .init(
                name: "a renewal refunded before it began",
                transactions: [.period("1", 0..<30), .period("2", 30..<60, revoked: 29)],
                expected: [
                    28: ["1": "active", "2": "not-yet"], 29.5: ["1": "active", "2": "revoked"],
                    31: ["1": "expired", "2": "revoked"],
                ]),
            .init(
                name: "the allowance for clocks never holds against a refund",
                transactions: [.period("1", 0..<30, revoked: -200 * second)],
                expected: [-250 * second: ["1": "active"], -200 * second: ["1": "revoked"]]),
            .init(
                name: "a non-consumable", transactions: [.nonConsumable("1", 0)],
                expected: [-1: ["1": "not-yet"], 0: ["1": "owned"], 27_000: ["1": "owned"]]),
            .init(
                name: "a refunded non-consumable", transactions: [.nonConsumable("1", 0, revoked: 3)],
                expected: [2: ["1": "owned"], 3: ["1": "revoked"]]),
            .init(
                name: "a consumable", transactions: [.consumable("1", 0, quantity: 2)],
                expected: [-1: ["1": "not-yet"], 0: ["1": "consumable"], 27_000: ["1": "consumable"]]),
            .init(
                name: "a refunded consumable", transactions: [.consumable("1", 0, revoked: 3)],
                expected: [2: ["1": "consumable"], 3: ["1": "revoked"]]),
            .init(
                name: "a consumable with an end",
                transactions: [Transaction(id: "1", product: "coins", type: .consumable, start: 0, end: 30)],
                expected: [29: ["1": "consumable"], 31: ["1": "consumable"]]),
            .init(
                name: "a non-renewing subscription",
                transactions: [Transaction(id: "1", product: "season", type: .nonRenewingSubscription, start: 0)],
                expected: [-1: ["1": "not-yet"], 0: ["1": "length-unknown"], 27_000: ["1": "length-unknown"]]),
            .init(
                name: "a subscription without an end",
                transactions: [Transaction(id: "1", type: .autoRenewableSubscription, start: 0)],
                expected: [-1: ["1": "not-yet"], 0: ["1": "undetermined"], 27_000: ["1": "undetermined"]]),
            .init(
                name: "an old record without a type", transactions: [Transaction(id: "1", type: nil, start: 0)],
                expected: [0: ["1": "undetermined"]]),
            .init(
                name: "an old record without a type, but with an end",
                transactions: [Transaction(id: "1", type: nil, start: 0, end: 30)],
                expected: [0: ["1": "active"], 30: ["1": "expired"]]),
        ]
    }()
}

/// What Apple signs after a prorated refund of half of a quantity of four on day 3.
struct LaterRevocation: CustomTestStringConvertible, Sendable {
    let name: String
    var isReceipt = false
    var isNotification = false
    var day: Double? = 3
    var type: String?
    var percentage: Int64?
    let expected: Entitlements.Access
    var testDescription: String { name }

    static let all: [LaterRevocation] = [
        .init(name: "a transaction without a type or percentage", expected: .revoked(at: TestSupport.day(3))),
        .init(name: "a notification of it", isNotification: true, expected: .revoked(at: TestSupport.day(3))),
        .init(
            name: "a transaction of another date without them", day: 5, expected: .revoked(at: TestSupport.day(5))),
        .init(name: "a full refund", day: 5, type: "REFUND_FULL", expected: .revoked(at: TestSupport.day(5))),
        .init(
            name: "a full refund with a part", day: 5, type: "REFUND_FULL", percentage: 25_000,
            expected: .revoked(at: TestSupport.day(5))),
        .init(
            name: "a part below zero", type: "REFUND_PRORATED", percentage: -25_000,
            expected: .revoked(at: TestSupport.day(3))),
        .init(name: "the end of sharing", type: "FAMILY_REVOKE", expected: .revoked(at: TestSupport.day(3))),
        .init(
            name: "another part", day: 5, type: "REFUND_PRORATED", percentage: 75_000,
            expected: .consumable(quantity: 1)),
        .init(name: "a part without a type", percentage: 25_000, expected: .consumable(quantity: 3)),
        .init(name: "a reversal", day: nil, expected: .consumable(quantity: 4)),
        .init(name: "a receipt with the same date", isReceipt: true, expected: .consumable(quantity: 2)),
        .init(
            name: "a receipt with another date", isReceipt: true, day: 5, expected: .revoked(at: TestSupport.day(5))),
        .init(name: "a receipt without a cancellation", isReceipt: true, day: nil, expected: .consumable(quantity: 4)),
    ]
}

@Suite struct EntitlementsTests {
    @Test(arguments: AccessCase.all, EvidenceSource.allCases)
    func `all evidence and all queries agree about every transaction`(test: AccessCase, source: EvidenceSource) throws {
        for (asked, expected) in test.expected {
            let entitlements = try source.entitlements(of: test.transactions, at: day(asked))
            #expect(entitlements.codes == expected, "on day \(asked)")
            expectAgreement(in: entitlements)
        }
    }

    // MARK: Consumables

    @Test(arguments: [
        (1, 50_000, 1), (3, 33_333, 2), (3, 33_334, 2), (10, 50_000, 5), (4, 25_000, 3), (1, 100_000, 0),
        (1, 75_000, 0),
        (2, 0, 2),
    ])
    func `a prorated refund takes its part of a consumable from its date`(
        quantity: Int, percentage: Int64, left: Int
    ) throws {
        let purchase = try Transaction.consumable("1", 0, quantity: quantity, revoked: 5, percentage: percentage)
            .purchase()
        func access(_ asked: Double) -> Entitlements.Access {
            Entitlements(trustingStored: [purchase], at: day(asked)).items[0].access
        }
        #expect(access(4) == .consumable(quantity: quantity))
        #expect(access(5) == (left == 0 ? .revoked(at: day(5)) : .consumable(quantity: left)))
    }

    @Test(arguments: [(1, true), (0, false), (-1, false), (Int.min, false), (Int.max, true)])
    func `a stored consumable without a quantity of at least one cannot be granted`(quantity: Int, can: Bool) throws {
        var purchase = try Transaction.consumable("1", 0).purchase()
        purchase.quantity = quantity
        let item = Entitlements(trustingStored: [purchase], at: day(1)).items[0]
        #expect(item.access.isGrantable == can && item.quantity == max(0, quantity))
        #expect(item.purchasedQuantity == quantity && item.reason == (can ? nil : .quantityInvalid))
    }

    @Test func `the quantity of a consumable is kept`() throws {
        for source in EvidenceSource.allCases {
            let items = try source.entitlements(of: [.consumable("1", 0, quantity: 2)], at: day(1)).items
            #expect(items.map(\.access) == [.consumable(quantity: 2)] && items.map(\.quantity) == [2])
        }
    }

    // MARK: What is left out

    /// Which transactions remain if the purchase of one is left out, and the subscription's product and end.
    @Test(
        arguments: [
            ("9", ["1": "upgraded", "2": "active", "3": "active", "4": "owned", "5": "owned"], "premium", 40),
            ("1", ["2": "active", "3": "active", "4": "owned", "5": "owned"], "premium", 40),
            ("2", ["1": "upgraded", "4": "owned", "5": "owned"], "basic", 10),
            ("3", ["1": "upgraded", "4": "owned", "5": "owned"], "basic", 10),
            ("5", ["1": "upgraded", "2": "active", "3": "active"], "premium", 40),
        ] as [(String, [String: String], String, Double)])
    func `what is left out takes its restored copies with it, and stays the end of what it replaced`(
        id: String, codes: [String: String], product: String, end: Double
    ) throws {
        var restored = Transaction.period("3", 10..<40, "premium")
        restored.item = "92"
        var copy = Transaction.nonConsumable("5", 20)
        copy.original = "4"
        let purchases = try [
            .period("1", 0..<30), .period("2", 10..<40, "premium"), restored, .nonConsumable("4", 0), copy,
        ].map { try $0.purchase() }
        let entitlements = Entitlements(
            trustingStored: purchases, renewals: [], at: day(25), clockAllowance: .zero, productTypes: [:]
        ) { items in items.contains { $0.transactionID == id } }
        #expect(entitlements.codes == codes)
        let subscription = try #require(entitlements.subscriptions.first)
        #expect(subscription.productID == product && subscription.expiresDate == day(end))
        #expect(subscription.isActive == (product == "premium"))
        let none = Entitlements(
            trustingStored: purchases, renewals: [], at: day(25), clockAllowance: .zero, productTypes: [:],
            leavingOut: { _ in true })
        #expect(none.items.isEmpty && none.subscriptions.isEmpty)
    }

    // MARK: Lengths

    @Test func `a non-renewing subscription has the end that the app gives it`() throws {
        let season = Transaction(id: "1", product: "season", type: .nonRenewingSubscription, start: 0)
        for source in EvidenceSource.allCases {
            for (asked, code) in [(0.0, "active"), (89, "active"), (90, "expired")] {
                let entitlements = try source.entitlements(
                    of: [season], at: day(asked), productTypes: ["season": .nonRenewing(days: 90)])
                #expect(entitlements.codes == ["1": code])
                #expect(entitlements.items[0].accessEndDate == day(90))
                #expect(entitlements.subscriptions.isEmpty)
                expectAgreement(in: entitlements)
            }
        }
    }

    @Test(arguments: ["ProductionVPP", "ProductionVPPSandbox"])
    func `a volume purchase ends with its receipt, unless other evidence proves it`(type: String) throws {
        var builder = ReceiptBuilder(
            bundleID: Minted.bundleID,
            purchases: [Transaction.nonConsumable("1", 0).record, Transaction.period("2", 0..<30).record])
        builder.receiptType = type
        builder.expirationDate = day(10)
        let receipt = try Minted.verified(builder)
        #expect(receipt.entitlements(at: day(9)).codes == ["1": "owned", "2": "active"])
        #expect(receipt.entitlements(at: day(10)).codes == ["1": "expired", "2": "expired"])
        guard type == "ProductionVPP" else { return }
        let other = try Minted.verifier().verifyTransaction(
            Minted.jws(Transaction.nonConsumable("1", 0).jws(signed: 3)))
        let both = Entitlements([.transaction(other), .receipt(receipt)], at: day(10))
        #expect(both.codes == ["1": "owned", "2": "expired"])
    }

    @Test func `an item has the app transaction that was signed, or null`() throws {
        var bought = Transaction.nonConsumable("1", 0)
        bought.appTransaction = "704289572311736190"
        let transaction = VerifiedEvidence.transaction(
            try Minted.verifier().verifyTransaction(Minted.jws(bought.jws(signed: 1))))
        let receipt = VerifiedEvidence.receipt(
            try Minted.verified(ReceiptBuilder(bundleID: Minted.bundleID, purchases: [bought.record])))
        #expect(Entitlements([receipt], at: day(1)).json.contains(#""app_transaction_id":null,"#))
        for evidence in [[transaction], [transaction, receipt], [receipt, transaction]] {
            let json = Entitlements(evidence, at: day(1)).json
            #expect(json.contains(#""app_transaction_id":"704289572311736190","#), "\(json)")
        }
    }

    // MARK: Merging

    @Test func `what a source cannot say is absent, and where both speak the later signature counts`() throws {
        var early = Transaction.period("1", 0..<30)
        early.offer = PurchaseOffer(type: .introductory, discountType: .freeTrial)
        var builder = early.jws(signed: 1)
        builder.payload["appAccountToken"] = "9c3e0a4f-1c5d-4b0e-8a57-3d0b8d1b6f00"
        let transaction = VerifiedEvidence.transaction(try Minted.verifier().verifyTransaction(Minted.jws(builder)))
        var later = early
        later.end = 37
        var receiptBuilder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: [later.record])
        receiptBuilder.creationDate = day(2)
        let receipt = VerifiedEvidence.receipt(try Minted.verified(receiptBuilder))
        for evidence in [[transaction, receipt], [receipt, transaction], [receipt, transaction, receipt]] {
            let items = Entitlements(evidence, at: day(33)).items
            #expect(items.count == 1)
            let item = try #require(items.first)
            #expect(item.access == .active(until: day(37)) && item.purchase.expiresDate == day(37))
            #expect(item.purchase.subscriptionGroupID == "group" && item.purchase.ownershipType == .purchased)
            #expect(item.purchase.appAccountToken == AppAccountToken("9C3E0A4F-1C5D-4B0E-8A57-3D0B8D1B6F00"))
            #expect(
                item.purchase.isUpgraded == false && item.purchase.isRevoked == false
                    && item.purchase.signedDate == day(2))
            #expect(item.purchase.offer == PurchaseOffer(type: .introductory, discountType: .freeTrial))
            #expect(item.purchase.offer?.isFreeTrial == true && item.purchase.offer?.isIntroductory == true)
            #expect(item.verification == evidence.first { $0 == receipt }?.purchases[0].verification)
        }
    }

    @Test func `a refund and its reversal count by their dates of signature, in every order`() throws {
        let bought = try Transaction.nonConsumable("1", 0).purchase(signed: 1)
        let refunded = try Transaction.nonConsumable("1", 0, revoked: 3).purchase(signed: 3)
        let reversed = try Transaction.nonConsumable("1", 0).purchase(signed: 5)
        for (purchases, code) in [([bought, refunded], "revoked"), ([bought, refunded, reversed], "owned")] {
            for order in permutations(purchases) {
                #expect(Entitlements(trustingStored: order, at: day(6)).codes == ["1": code])
            }
        }
    }

    /// Half of four was refunded on day 3, which Apple signed on day 3. Each row has what is signed on day 6, and what
    /// is left then.
    @Test(arguments: LaterRevocation.all)
    func `the facts of a revocation count together, as they were signed last`(later: LaterRevocation) throws {
        var half = Transaction.consumable("1", 0, quantity: 4, revoked: 3, percentage: 50_000)
        let bought = VerifiedEvidence.transaction(
            try Minted.verifier().verifyTransaction(
                Minted.jws(Transaction.consumable("1", 0, quantity: 4).jws(signed: 1))))
        let prorated = VerifiedEvidence.transaction(
            try Minted.verifier().verifyTransaction(Minted.jws(half.jws(signed: 3))))
        half.revoked = later.day
        let evidence: VerifiedEvidence
        if later.isReceipt {
            var builder = ReceiptBuilder(bundleID: Minted.bundleID, purchases: [half.record])
            builder.creationDate = day(6)
            evidence = .receipt(try Minted.verified(builder))
        } else {
            var builder = half.jws(signed: 6)
            builder.payload["revocationType"] = later.type.map { .string($0) }
            builder.payload["revocationPercentage"] = later.percentage.map { .integer($0) }
            let signed = try Minted.jws(builder)
            evidence =
                later.isNotification
                ? try Minted.verifier().verify(
                    Minted.jws(.notification(.refund, bundleID: Minted.bundleID, transaction: signed)))
                : .transaction(try Minted.verifier().verifyTransaction(signed))
        }
        for order in permutations([bought, prorated, evidence]) {
            #expect(Entitlements(order, at: day(7)).items.map(\.access) == [later.expected], "\(later)")
        }
    }

    @Test func `of revocations that were signed together, the one of the larger part counts`() throws {
        func purchase(_ percentage: Int64?) throws -> Purchase {
            try Transaction.consumable("1", 0, quantity: 4, revoked: 3, percentage: percentage).purchase(signed: 3)
        }
        for (parts, expected) in [
            ([25_000, 75_000], .consumable(quantity: 1)), ([25_000, 9_000], .consumable(quantity: 3)),
            ([50_000, nil], .revoked(at: day(3))), ([50_000, 100_000], .revoked(at: day(3))),
        ] as [([Int64?], Entitlements.Access)] {
            for order in permutations(try parts.map(purchase)) {
                #expect(Entitlements(trustingStored: order, at: day(4)).items.map(\.access) == [expected])
            }
        }
    }

    @Test func `of what was signed together, the upgrade counts`() throws {
        let purchases = try [
            Transaction.period("1", 0..<30, isUpgraded: true), .period("1", 0..<40, isUpgraded: false),
        ].map { try $0.purchase(signed: 3) }
        for order in permutations(purchases) {
            #expect(Entitlements(trustingStored: order, at: day(6)).codes == ["1": "upgraded"])
        }
    }

    @Test func `of what was signed together, the revocation counts`() throws {
        let bought = try Transaction.nonConsumable("1", 0).purchase(signed: 3)
        let refunded = try Transaction.nonConsumable("1", 0, revoked: 3).purchase(signed: 3)
        for order in permutations([bought, refunded]) {
            #expect(Entitlements(trustingStored: order, at: day(6)).codes == ["1": "revoked"])
        }
    }

    @Test func `a restored transaction is the period of its web order line item, and is refunded with it`() throws {
        let period = Transaction.period("1", 0..<30, revoked: 12)
        var restored = Transaction.period("7", 5..<30)
        (restored.original, restored.item) = ("1", period.item)
        for source in EvidenceSource.allCases {
            for (asked, codes) in [(1.0, "active"), (11, "active"), (12, "revoked")] {
                let entitlements = try source.entitlements(of: [period, restored], at: day(asked))
                #expect(entitlements.codes == ["1": codes, "7": codes])
                #expect(entitlements.items.map(\.firstTransactionID) == ["1", "1"])
                #expect(entitlements.subscriptions.map(\.periods.count) == [1])
                expectAgreement(in: entitlements)
            }
        }
    }

    @Test func `a restored non-consumable is refunded with its original`() throws {
        var restored = Transaction.nonConsumable("2", 5)
        restored.original = "1"
        for source in EvidenceSource.allCases {
            let transactions = [Transaction.nonConsumable("1", 0, revoked: 12), restored]
            let owned = try source.entitlements(of: transactions, at: day(11))
            #expect(owned.codes == ["1": "owned", "2": "owned"])
            #expect(owned.items.map(\.firstTransactionID) == ["1", "1"])
            #expect(try source.entitlements(of: transactions, at: day(12)).codes == ["1": "revoked", "2": "revoked"])
        }
    }

    @Test func `a revocation without a date counts always`() throws {
        for member in ["revocationReason", "revocationType"] {
            var builder = Transaction.period("1", 0..<30).jws(signed: 5)
            builder.payload[member] = member == "revocationType" ? "FAMILY_REVOKE" : 0
            let purchase = try #require(Minted.verifier().verifyTransaction(Minted.jws(builder)).purchase)
            for asked in [-10.0, 1, 40] {
                let item = Entitlements([purchase], at: day(asked)).items[0]
                #expect(item.access == .revoked(at: nil) && item.accessEndDate == nil)
            }
        }
    }

    @Test func `a period that was upgraded to one that is not at hand gives no access`() throws {
        let purchase = try Transaction.period("1", 0..<30, isUpgraded: true).purchase()
        let item = Entitlements(trustingStored: [purchase], at: day(1)).items[0]
        #expect(item.access == .upgraded(at: nil))
        let cancelled = try Transaction.period("1", 0..<30, revoked: 10, isUpgraded: true).purchase()
        #expect(Entitlements(trustingStored: [cancelled], at: day(1)).codes == ["1": "active"])
        #expect(Entitlements(trustingStored: [cancelled], at: day(10)).codes == ["1": "upgraded"])
    }

    @Test func `apps and environments never meet`() throws {
        let purchase = try Transaction.period("1", 0..<30).purchase()
        var refunded = try Transaction.period("1", 0..<30, revoked: 1).purchase()
        refunded.environment = .sandbox
        var other = refunded
        (other.environment, other.bundleID) = (.production, "com.example.other")
        let entitlements = Entitlements(trustingStored: [purchase, refunded, other], at: day(2))
        #expect(entitlements.items.count == 3 && entitlements.subscriptions.count == 3)
        #expect(entitlements.items.map { "\($0.access.code)" }.sorted() == ["active", "revoked", "revoked"])
    }

    @Test func `a migrated subscription is one, whatever order its transactions have`() throws {
        var old = try Transaction.period("1", 0..<30).purchase()
        old.originalTransactionID = "old"
        var new = try Transaction.period("2", 10..<40, "premium").purchase()
        (new.originalTransactionID, new.previousOriginalTransactionID) = ("new", "old")
        for order in permutations([old, new]) {
            let entitlements = Entitlements(trustingStored: order, at: day(12))
            #expect(entitlements.codes == ["1": "upgraded", "2": "active"])
            #expect(entitlements.subscriptions.map(\.originalTransactionID) == ["new"])
            #expect(entitlements.subscription(originalTransactionID: "old") == entitlements.subscriptions[0])
            #expect(entitlements.subscription(originalTransactionID: "other") == nil)
        }
    }

    @Test func `original ids that name each other end`() throws {
        let purchases = try (0..<6).map { index in
            var purchase = try Transaction.period("\(index)", Double(index)..<30).purchase()
            (purchase.originalTransactionID, purchase.previousOriginalTransactionID) = (
                "\(index % 3)", "\((index + 1) % 3)"
            )
            return purchase
        }
        #expect(Entitlements(trustingStored: purchases, at: day(12)).subscriptions.count == 1)
    }

    // MARK: Bytes

    /// `é` as one scalar and as two: canonically equivalent, and not the same identifier.
    @Test func `two spellings of one character are two identifiers`() throws {
        let (one, other) = ("caf\u{E9}", "cafe\u{301}")
        let receipt = try Minted.verified(
            .nonConsumable(one, transactionID: "1", purchaseDate: day(0)),
            .nonConsumable(other, transactionID: "2", purchaseDate: day(0)),
            .autoRenewable("p", transactionID: one, purchaseDate: day(0), expiresDate: day(30)),
            .autoRenewable("p", transactionID: other, purchaseDate: day(1), expiresDate: day(30)))
        let entitlements = receipt.entitlements(at: day(1))
        for (product, id) in [(one, "1"), (other, "2")] {
            #expect(entitlements.items(of: product).map(\.transactionID) == [id])
        }
        #expect(entitlements.ownedNonConsumables.count == 2 && entitlements.subscriptions.count == 2)
        #expect(entitlements.activeProductIDs.count == 3 && receipt.originalTransactionIDs.count == 4)
        #expect(entitlements.items(of: "cafe").isEmpty && !entitlements.isActive("cafe"))
    }

    // MARK: Queries

    @Test func `only non-consumables are owned, each product once, by its latest purchase`() throws {
        let receipt = try Minted.verified(
            Transaction.nonConsumable("1", 0).record, Transaction.nonConsumable("9", 4).record,
            Transaction.consumable("2", 0).record, Transaction.period("7", 0..<30).record)
        #expect(receipt.entitlements(at: day(5)).ownedNonConsumables.map(\.transactionID) == ["9"])
        #expect(receipt.entitlements(at: day(1)).ownedNonConsumables.map(\.transactionID) == ["1"])
        #expect(!receipt.entitlements(at: day(5)).isActive("coins"))
        #expect(receipt.entitlements(at: day(5)).isActive(anyOf: ["coins", "pro"]))
        #expect(!receipt.entitlements(at: day(5)).isActive(anyOf: []))
    }

    @Test func `an introductory offer is used, or not seen`() throws {
        var trial = Transaction.period("1", 0..<7, revoked: 2)
        trial.offer = PurchaseOffer(type: .introductory, discountType: .freeTrial)
        var promoted = Transaction.period("3", 40..<70, "news")
        promoted.offer = PurchaseOffer(type: .promotional, id: "spring")
        for source in EvidenceSource.allCases {
            let entitlements = try source.entitlements(
                of: [trial, .period("2", 10..<40, "news"), promoted], at: day(50))
            let used = try #require(entitlements.items.first { $0.transactionID == "1" })
            #expect(entitlements.introductoryOffer(of: ["basic", "premium"]) == .used(used))
            #expect(entitlements.introductoryOffer(of: ["news"]) == .notSeen)
            #expect(entitlements.introductoryOffer(of: []) == .notSeen)
            if source != .receipt, source != .mixed {
                #expect(entitlements.introductoryOffer(inGroup: "group") == .used(used))
            }
            #expect(try source.entitlements(of: [trial], at: day(-1)).introductoryOffer(of: ["basic"]) == .notSeen)
        }
    }

    @Test func `a record that lacks something grants nothing, and the others stay what they are`() throws {
        var incomplete = Transaction.nonConsumable("9", 0).record
        incomplete.quantity = nil
        let receipt = try Minted.verified(incomplete, Transaction.nonConsumable("1", 0).record)
        #expect(receipt.entitlements(at: day(1)).codes == ["1": "owned"])
    }

    @Test func `entitlements are JSON with one item for each transaction`() throws {
        let entitlements = try EvidenceSource.receipt.entitlements(
            of: [.period("1", 0..<30), .consumable("2", 1, quantity: 3)], at: day(2))
        let json = try #require(try JSONSerialization.jsonObject(with: Data(entitlements.json.utf8)) as? [String: Any])
        #expect(json["schema"] as? Int == 1 && json["at"] as? String == "2025-01-03T00:00:00Z")
        let items = try #require(json["items"] as? [[String: Any]])
        #expect(items.count == 2)
        #expect(items[0]["access"] as? String == "active" && items[0]["until"] as? String == "2025-01-31T00:00:00Z")
        #expect(items[0]["original_transaction_id"] as? String == "1" && items[0]["product_id"] as? String == "basic")
        #expect(items[1]["access"] as? String == "consumable" && items[1]["until"] is NSNull)
        let decisions = items.map { [$0["gives_access"] as? Bool, $0["grantable"] as? Bool] }
        #expect(decisions == [[true, true], [false, true]])
        #expect(items[1]["quantity"] as? Int == 3 && items[1]["transaction_id"] as? String == "2")
    }
}

// MARK: - Agreement

/// All queries say the same as the items.
func expectAgreement(in entitlements: Entitlements, sourceLocation: SourceLocation = #_sourceLocation) {
    let granting = entitlements.items.filter(\.access.givesAccess)
    let products = Set(entitlements.items.map(\.productID))
    #expect(Set(entitlements.activeProductIDs) == Set(granting.map(\.productID)), sourceLocation: sourceLocation)
    for product in products {
        let gives = granting.contains { $0.productID == product }
        #expect(entitlements.isActive(product) == gives, sourceLocation: sourceLocation)
        #expect(entitlements.isActive(anyOf: [product]) == gives, sourceLocation: sourceLocation)
        #expect(
            entitlements.items(of: product).contains { $0.access.givesAccess } == gives, sourceLocation: sourceLocation)
    }
    #expect(
        Set(entitlements.ownedNonConsumables.map(\.productID))
            == Set(granting.filter { $0.access == .owned }.map(\.productID)),
        sourceLocation: sourceLocation)
    for subscription in entitlements.subscriptions {
        let periods = subscription.periods.filter(\.access.givesAccess)
        #expect(subscription.isActive == !periods.isEmpty, sourceLocation: sourceLocation)
        #expect(subscription.currentPeriod.access == subscription.access, sourceLocation: sourceLocation)
        if let last = periods.last { #expect(subscription.currentPeriod == last, sourceLocation: sourceLocation) }
        #expect((subscription.expiresDate > entitlements.date) == subscription.isActive, sourceLocation: sourceLocation)
    }
    for item in entitlements.items {
        switch item.access {
        case .active(let until):
            #expect(until > entitlements.date && item.accessEndDate == until, sourceLocation: sourceLocation)
        case .expired(let date):
            #expect(date <= entitlements.date && item.accessEndDate == date, sourceLocation: sourceLocation)
        case .revoked(let date), .upgraded(let date):
            #expect(
                date ?? .distantPast <= entitlements.date && item.accessEndDate == date, sourceLocation: sourceLocation)
        case .notYet(let start): #expect(start > entitlements.date, sourceLocation: sourceLocation)
        case .owned, .consumable, .lengthUnknown, .undetermined: break
        }
    }
}

func permutations<Element>(_ elements: [Element]) -> [[Element]] {
    guard elements.count > 1 else { return [elements] }
    return elements.indices.flatMap { index in
        var rest = elements
        let first = rest.remove(at: index)
        return permutations(rest).map { [first] + $0 }
    }
}
