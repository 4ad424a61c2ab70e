import AppStoreReceiptTesting
import TestSupport
import Testing

@_spi(Ledger) @testable import AppStoreReceipt

/// What several transactions of one period, or several signatures of one transaction, decide together.
@Suite struct PeriodTests {
    /// Two transactions of one period, which share its web order line item. The second is restored.
    private func copies(_ first: Transaction, _ second: Transaction) -> [Transaction] {
        var (first, second) = (first, second)
        (first.item, second.item) = ("91", "91")
        return [first, second]
    }

    private func expect(
        _ transactions: [Transaction], _ expected: [Double: [String: String]],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for source in [EvidenceSource.transactions, .stored] {
            for (asked, codes) in expected {
                let entitlements = try source.entitlements(of: transactions, at: day(asked))
                #expect(entitlements.codes == codes, "on day \(asked)", sourceLocation: sourceLocation)
                expectAgreement(in: entitlements, sourceLocation: sourceLocation)
            }
        }
    }

    // MARK: What gives access

    @Test func `only an active period and what is owned give access, and only a consumable can be granted besides`() {
        let accesses: [(Entitlements.Access, givesAccess: Bool, isGrantable: Bool)] = [
            (.active(until: day(1)), true, true), (.owned, true, true),
            (.consumable(quantity: 1), false, true), (.consumable(quantity: 0), false, false),
            (.consumable(quantity: -1), false, false), (.notYet(from: day(1)), false, false),
            (.expired(at: day(1)), false, false), (.revoked(at: nil), false, false),
            (.upgraded(at: nil), false, false), (.lengthUnknown, false, false), (.undetermined, false, false),
        ]
        for (access, givesAccess, isGrantable) in accesses {
            #expect(access.givesAccess == givesAccess && access.isGrantable == isGrantable, "\(access)")
        }
    }

    @Test func `a non-renewing subscription of unknown length gives no access`() throws {
        let season = Transaction(id: "1", product: "season", type: .nonRenewingSubscription, start: 0)
        let entitlements = try EvidenceSource.transactions.entitlements(of: [season], at: day(1))
        #expect(!entitlements.isActive("season") && entitlements.activeProductIDs.isEmpty)
    }

    @Test func `a negative allowance for clocks counts as zero`() throws {
        let purchases = try [Transaction.period("1", 0..<30), .nonConsumable("2", 0), .consumable("3", 0)]
            .map { try $0.purchase() }
        func codes(_ date: Instant, _ allowance: Duration) -> [String: String] {
            Entitlements(trustingStored: purchases, at: date, clockAllowance: allowance).codes
        }
        let early = day(0).advanced(by: .milliseconds(-1))
        for allowance in [Duration.seconds(-60), .milliseconds(-1), .zero] {
            #expect(codes(day(0), allowance) == ["1": "active", "2": "owned", "3": "consumable"])
            #expect(codes(early, allowance) == ["1": "not-yet", "2": "not-yet", "3": "not-yet"])
        }
    }

    @Test(
        arguments: [
            (100, nil, nil, 100, .expired), (100, nil, 99, 99, .upgraded), (100, nil, 100, 100, .expired),
            (100, nil, 130, 100, .expired), (200, 100, nil, 100, .revoked), (200, 100, 160, 100, .upgraded),
            (200, 100, 161, 100, .revoked), (200, 200, nil, 200, .expired),
        ] as [(Int64, Int64?, Int64?, Int64, Period.Reason)])
    func `the earliest end counts, and a cancellation up to a minute before a replacement is an upgrade`(
        expires: Int64, revoked: Int64?, replaced: Int64?, end: Int64, reason: Period.Reason
    ) throws {
        func date(_ seconds: Int64) -> Instant { day(0).advanced(by: .seconds(seconds)) }
        var period = Period(try Transaction.period("1", 0..<30).purchase(), 0)
        (period.expires, period.revoked, period.replaced) = (date(expires), revoked.map(date), replaced.map(date))
        #expect(period.end?.date == date(end) && period.end?.reason == reason)
    }

    @Test func `a period that is refunded when it begins never began`() throws {
        var period = Period(try Transaction.period("1", 0..<30).purchase(), 0)
        for (revoked, neverBegan) in [(period.start, true), (period.start.advanced(by: .milliseconds(1)), false)] {
            period.revoked = revoked
            #expect(period.neverBegan == neverBegan)
        }
    }

    // MARK: Refunds

    @Test(arguments: [
        Transaction.nonConsumable("1", 0), .period("1", 0..<30),
        Transaction(id: "1", product: "season", type: .nonRenewingSubscription, start: 0),
        Transaction(id: "1", product: "old", type: nil, start: 0),
    ])
    func `a prorated refund of what is no consumable takes all of it`(bought: Transaction) throws {
        var refunded = bought
        (refunded.revoked, refunded.percentage, refunded.quantity) = (5, 50_000, 4)
        for source in [EvidenceSource.transactions, .stored] {
            let items = try source.entitlements(of: [refunded], at: day(6)).items
            #expect(items.map(\.access) == [.revoked(at: day(5))] && items.allSatisfy { !$0.access.isGrantable })
        }
    }

    @Test func `one refund takes back one product of a web order line item`() throws {
        var other = Transaction.period("2", 0..<30, "premium")
        other.original = "2"
        try expect(
            copies(.period("1", 0..<30, revoked: 5), other),
            [4: ["1": "active", "2": "active"], 6: ["1": "revoked", "2": "active"]])
    }

    @Test func `one refund takes back one product of an original transaction`() throws {
        var other = Transaction.nonConsumable("2", 0)
        (other.product, other.original) = ("gold", "1")
        try expect(
            [.nonConsumable("1", 0, revoked: 5), other],
            [4: ["1": "owned", "2": "owned"], 6: ["1": "revoked", "2": "owned"]])
    }

    @Test(arguments: [(20.0, 5.0), (5, 20)])
    func `of the revocations of one period's transactions, the earliest counts`(first: Double, second: Double) throws {
        let transactions = copies(.period("1", 0..<30, revoked: first), .period("7", 1..<30, revoked: second))
        try expect(
            transactions, [4: ["1": "active", "7": "active"], 5: ["1": "revoked", "7": "revoked"]])
        let items = try EvidenceSource.stored.entitlements(of: transactions, at: day(25)).items
        #expect(items.map(\.access) == [.revoked(at: day(5)), .revoked(at: day(5))])
    }

    @Test(
        arguments: [
            (nil, 50_000, .consumable(quantity: 2)), (50_000, nil, .consumable(quantity: 2)),
            (50_000, 75_000, .consumable(quantity: 1)), (75_000, 50_000, .consumable(quantity: 1)),
            (50_000, 100_000, .revoked(at: day(5))), (100_000, 50_000, .revoked(at: day(5))),
        ] as [(Int64?, Int64?, Entitlements.Access)])
    func `consumables that share a web order line item are refunded together, by the larger part`(
        first: Int64?, second: Int64?, expected: Entitlements.Access
    ) throws {
        let transactions = copies(
            .consumable("1", 0, quantity: 4, revoked: first.map { _ in 5 }, percentage: first),
            .consumable("7", 1, quantity: 4, revoked: second.map { _ in 5 }, percentage: second))
        for source in [EvidenceSource.transactions, .stored] {
            let before = try source.entitlements(of: transactions, at: day(4)).items
            #expect(before.map(\.access) == [.consumable(quantity: 4), .consumable(quantity: 4)])
            #expect(try source.entitlements(of: transactions, at: day(6)).items.map(\.access) == [expected, expected])
        }
    }

    // MARK: What an owner has

    /// One line of the table: transactions, and by day what the owner has of each, and when that can change next.
    struct OwnedCase: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let transactions: [Transaction]
        let expected: [Double: [String: Owned]]
    }

    struct Owned: Equatable, Sendable {
        let quantity: Int?
        let nextChange: Instant?

        init(_ quantity: Int?, _ next: Double? = nil) { (self.quantity, nextChange) = (quantity, next.map(day)) }
    }

    private static let minute = 1 / 1440.0

    static let owned: [OwnedCase] = [
        .init(
            testDescription: "a consumable", transactions: [.consumable("1", 0, quantity: 3)],
            expected: [-1: ["1": Owned(nil, 0)], 0: ["1": Owned(3)], 9_000: ["1": Owned(3)]]),
        .init(
            testDescription: "a consumable that is refunded in the future",
            transactions: [.consumable("1", 0, quantity: 3, revoked: 5)],
            expected: [-1: ["1": Owned(nil, 0)], 4: ["1": Owned(3, 5)], 5: ["1": Owned(0)]]),
        .init(
            testDescription: "a part of a consumable that is refunded in the future",
            transactions: [.consumable("1", 0, quantity: 4, revoked: 5, percentage: 50_000)],
            expected: [4: ["1": Owned(4, 5)], 5: ["1": Owned(2)]]),
        .init(
            testDescription: "a consumable refunded before it was bought",
            transactions: [.consumable("1", 0, quantity: 4, revoked: -1, percentage: 50_000)],
            expected: [-0.5: ["1": Owned(nil, 0)], 0: ["1": Owned(2)]]),
        .init(
            testDescription: "no quantity", transactions: [.consumable("1", 0, quantity: 0)],
            expected: [1: ["1": Owned(nil)]]),
        .init(
            testDescription: "a non-consumable that is refunded in the future",
            transactions: [.nonConsumable("1", 0, revoked: 3)],
            expected: [2: ["1": Owned(1, 3)], 3: ["1": Owned(0)]]),
        .init(
            testDescription: "a non-renewing subscription of unknown length",
            transactions: [
                Transaction(id: "1", product: "season", type: .nonRenewingSubscription, start: 0, revoked: 400)
            ], expected: [2: ["1": Owned(1, 400)], 400: ["1": Owned(0)]]),
        .init(
            testDescription: "a period, which has an end and is not taken back by it",
            transactions: [.period("1", 0..<30), .period("2", 30..<60)],
            expected: [
                10: ["1": Owned(1), "2": Owned(nil, 30)], 40: ["1": Owned(1), "2": Owned(1)],
                99: ["1": Owned(1), "2": Owned(1)],
            ]),
        .init(
            testDescription: "a period refunded after its end", transactions: [.period("1", 0..<30, revoked: 45)],
            expected: [10: ["1": Owned(1, 45)], 40: ["1": Owned(1, 45)], 45: ["1": Owned(0)]]),
        .init(
            testDescription: "a renewal refunded before it begins",
            transactions: [.period("1", 0..<30), .period("2", 30..<60, revoked: 29)],
            expected: [
                28: ["1": Owned(1), "2": Owned(nil, 29)], 29: ["1": Owned(1), "2": Owned(0, 30)],
                31: ["1": Owned(1), "2": Owned(0)],
            ]),
        .init(
            testDescription: "an upgrade, whose cancellation date is no refund",
            transactions: [.period("1", 0..<30, revoked: 10), .period("2", 10..<40, "premium")],
            expected: [5: ["1": Owned(1), "2": Owned(nil, 10)], 12: ["1": Owned(1), "2": Owned(1)]]),
        .init(
            testDescription: "an upgrade, whose cancellation date is a minute later",
            transactions: [.period("1", 0..<30, revoked: 10 + minute), .period("2", 10..<40, "premium")],
            expected: [12: ["1": Owned(1), "2": Owned(1)]]),
        .init(
            testDescription: "upgraded, and refunded more than a minute later",
            transactions: [.period("1", 0..<30, revoked: 10 + 1.1 * minute), .period("2", 10..<40, "premium")],
            expected: [
                10: ["1": Owned(1, 10 + 1.1 * minute), "2": Owned(1)], 12: ["1": Owned(0), "2": Owned(1)],
            ]),
        .init(
            testDescription: "refunded within a minute of its end, where another product follows",
            transactions: [.period("1", 0..<30, revoked: 30 + 0.5 * minute), .period("2", 30..<60, "premium")],
            expected: [
                30: ["1": Owned(1, 30 + 0.5 * minute), "2": Owned(1)], 31: ["1": Owned(0), "2": Owned(1)],
            ]),
        .init(
            testDescription: "upgraded, and refunded later",
            transactions: [.period("1", 0..<30, revoked: 20), .period("2", 10..<40, "premium")],
            expected: [12: ["1": Owned(1, 20), "2": Owned(1)], 20: ["1": Owned(0), "2": Owned(1)]]),
        .init(
            testDescription: "upgraded, and both refunded after their ends",
            transactions: [.period("1", 0..<30, revoked: 50), .period("2", 10..<40, "premium", revoked: 51)],
            expected: [
                45: ["1": Owned(1, 50), "2": Owned(1, 51)], 50: ["1": Owned(0), "2": Owned(1, 51)],
                51: ["1": Owned(0), "2": Owned(0)],
            ]),
        .init(
            testDescription: "upgraded to a period that is not at hand",
            transactions: [.period("1", 0..<30, isUpgraded: true)], expected: [5: ["1": Owned(1)]]),
    ]

    @Test(arguments: owned)
    func `what an owner has is taken back by a refund alone, and is known until the next date that changes it`(
        test: OwnedCase
    ) throws {
        for source in [EvidenceSource.transactions, .stored] {
            for (asked, expected) in test.expected {
                let items = try source.entitlements(of: test.transactions, at: day(asked)).items
                for item in items {
                    #expect(
                        Owned(item) == expected[item.transactionID], "transaction \(item.transactionID), day \(asked)")
                }
                #expect(items.count == expected.count)
            }
        }
    }

    @Test func `a restored copy is owned and taken back with its original, whichever was refunded`() throws {
        let originals: [(Transaction, Double)] = [
            (.nonConsumable("1", 0), 5), (.period("1", 0..<30), 5), (.period("1", 0..<30), 45),
        ]
        for (original, refund) in originals {
            for isOriginalRefunded in [true, false] {
                var transactions = copies(original, original)
                (transactions[1].id, transactions[1].original, transactions[1].start) = ("7", "1", 1)
                transactions[isOriginalRefunded ? 0 : 1].revoked = refund
                for source in [EvidenceSource.transactions, .stored] {
                    let before = try source.entitlements(of: transactions, at: day(2)).items
                    #expect(before.map(Owned.init) == [Owned(1, refund), Owned(1, refund)])
                    let after = try source.entitlements(of: transactions, at: day(refund)).items
                    #expect(after.map(Owned.init) == [Owned(0), Owned(0)])
                }
            }
        }
    }

    // MARK: Upgrades

    @Test(arguments: [true, false])
    func `a period was upgraded if one of its transactions was`(isFirst: Bool) throws {
        try expect(
            copies(
                .period("1", 0..<30, isUpgraded: isFirst), .period("7", 1..<30, isUpgraded: !isFirst)),
            [2: ["1": "upgraded", "7": "upgraded"]])
    }

    @Test func `a transaction that was upgraded when it was signed again gives no access`() throws {
        let bought = try Transaction.period("1", 0..<30).purchase(signed: 1)
        let upgraded = try Transaction.period("1", 0..<30, isUpgraded: true).purchase(signed: 5)
        for order in permutations([bought, upgraded]) {
            #expect(Entitlements(trustingStored: order, at: day(6)).items.map(\.access) == [.upgraded(at: nil)])
        }
    }

    @Test func `an upgrade within one product counts from its date, also without a cancellation date`() throws {
        try expect(
            [.period("1", 0..<30, isUpgraded: true), .period("2", 10..<375)],
            [9: ["1": "active", "2": "not-yet"], 10: ["1": "upgraded", "2": "active"]])
        let item = try EvidenceSource.stored.entitlements(
            of: [.period("1", 0..<30, isUpgraded: true), .period("2", 10..<375)], at: day(5)
        ).items[0]
        #expect(item.access == .active(until: day(10)) && item.accessEndDate == day(10))
    }

    @Test func `of two periods that replace one, the first counts`() throws {
        try expect(
            [.period("1", 0..<30, isUpgraded: true), .period("2", 5..<35), .period("3", 10..<40, "premium")],
            [
                4: ["1": "active", "2": "not-yet", "3": "not-yet"],
                6: ["1": "upgraded", "2": "active", "3": "not-yet"],
                11: ["1": "upgraded", "2": "upgraded", "3": "active"],
            ])
    }

    /// The renewal is marked as upgraded and begins on day 30. Between its purchase and its start, another product
    /// replaced it, or did not.
    @Test(
        arguments: [
            ([.period("1", 0..<30), .period("2", 29..<59, "premium")], 29.0),
            // What never began has replaced nothing.
            (
                [
                    .period("1", 0..<30), .period("2", 29..<59, "premium"),
                    .period("4", 29.5..<60, "ultra", revoked: 29.2),
                ], 29
            ),
            // The renewal was of another product than the renewed period.
            ([.period("1", 0..<30, "gold"), .period("2", 29.5..<59.5, "premium")], 29.5),
            // No upgrade: the same product, from the start of the renewed period, from that of the renewal, ended by
            // then.
            ([.period("1", 0..<30), .period("2", 29..<59)], nil),
            ([.period("1", 0..<30), .period("2", 0..<40, "premium")], nil),
            ([.period("1", 0..<30), .period("2", 30..<59, "premium")], nil),
            ([.period("1", 0..<30), .period("2", 29..<29.5, "premium")], nil),
        ] as [([Transaction], Double?)])
    func `a renewal is replaced before it begins by an upgrade of the renewed period`(
        transactions: [Transaction], replaced: Double?
    ) throws {
        for source in [EvidenceSource.transactions, .stored] {
            let items = try source.entitlements(
                of: transactions + [.period("3", 30..<60, isUpgraded: true)], at: day(31)
            ).items
            #expect(items.first { $0.transactionID == "3" }?.access == .upgraded(at: replaced.map(day)))
        }
    }

    // MARK: Ends

    @Test(
        arguments: [(10, 20, 20), (20, 10, 20), (10, nil, 30), (nil, 10, 30)] as [(Double?, Double?, Double)])
    func `of the ends of a period's evidence, the last counts`(ends: (Double?, Double?, Double)) throws {
        // Of one transaction, and of two.
        for id in ["1", "7"] {
            var purchases = try copies(.period("1", 0..<30), .period(id, 0..<30)).map { try $0.purchase() }
            purchases[0].evidenceExpirationDate = ends.0.map(day)
            purchases[1].evidenceExpirationDate = ends.1.map(day)
            for order in permutations(purchases) {
                let accesses = Entitlements(trustingStored: order, at: day(5)).items.map(\.access)
                #expect(accesses.allSatisfy { $0 == .active(until: day(ends.2)) } && !accesses.isEmpty)
            }
        }
    }

    @Test(arguments: [(1.0, 2.0, 40.0, 30.0), (1, 2, 30, 40), (2, 1, 40, 30), (2, 1, 30, 40)])
    func `of two ends of one period, the one that was signed later counts`(
        firstSigned: Double, secondSigned: Double, firstEnd: Double, secondEnd: Double
    ) throws {
        var first = try Transaction.period("1", 0..<firstEnd).purchase(signed: firstSigned)
        var second = try Transaction.period("7", 1..<secondEnd).purchase(signed: secondSigned)
        (first.webOrderLineItemID, second.webOrderLineItemID) = ("91", "91")
        let end = firstSigned > secondSigned ? firstEnd : secondEnd
        for order in permutations([first, second]) {
            let items = Entitlements(trustingStored: order, at: day(3)).items
            #expect(items.map(\.access) == [.active(until: day(end)), .active(until: day(end))])
        }
    }
}

extension PeriodTests.Owned {
    fileprivate init(_ item: Entitlements.Item) { (quantity, nextChange) = (item.ownedQuantity, item.nextChange) }
}
