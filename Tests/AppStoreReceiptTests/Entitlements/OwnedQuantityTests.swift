import AppStoreReceiptTesting
import TestSupport
import Testing

@_spi(Ledger) @testable import AppStoreReceipt

/// What an owner has of a purchase, and when that changes next: the ledger asks for both.
@Suite struct OwnedQuantityTests {
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let transactions: [Transaction]
        /// By the day: the quantity of the first transaction, and the day of the next change.
        let expected: [Double: (quantity: Int?, next: Double?)]

        static let all: [Row] = [
            Row(
                testDescription: "a consumable",
                transactions: [.consumable("1", 5, quantity: 3)], expected: [4: (nil, 5), 5: (3, nil), 90: (3, nil)]),
            Row(
                testDescription: "a consumable, refunded", transactions: [.consumable("1", 0, quantity: 3, revoked: 5)],
                expected: [0: (3, 5), 4.9999: (3, 5), 5: (0, nil)]),
            Row(
                testDescription: "a consumable of which a part is refunded",
                transactions: [.consumable("1", 0, quantity: 4, revoked: 5, percentage: 25_000)],
                expected: [0: (4, 5), 5: (3, nil)]),
            Row(
                testDescription: "a non-consumable", transactions: [.nonConsumable("1", 0, revoked: 5)],
                expected: [0: (1, 5), 5: (0, nil)]),
            Row(
                testDescription: "a period that ends", transactions: [.period("1", 5..<30)],
                expected: [4: (nil, 5), 5: (1, nil), 30: (1, nil)]),
            Row(
                testDescription: "a period that is refunded after its end",
                transactions: [.period("1", 0..<30, revoked: 40)],
                expected: [0: (1, 40), 31: (1, 40), 40: (0, nil)]),
            Row(
                testDescription: "a renewal that is refunded before it begins",
                transactions: [.period("1", 10..<40, revoked: 5)], expected: [4: (nil, 5), 5: (0, 10), 10: (0, nil)]),
            Row(
                testDescription: "a period that is cancelled at the moment of its upgrade",
                transactions: [.period("1", 0..<30, revoked: 10), .period("2", 10..<70, "gold")],
                expected: [0: (1, nil), 11: (1, nil), 31: (1, nil)]),
            Row(
                testDescription: "a period that is refunded after its upgrade",
                transactions: [.period("1", 0..<30, revoked: 12, isUpgraded: true), .period("2", 10..<70, "gold")],
                expected: [0: (1, 12), 11: (1, 12), 12: (0, nil)]),
            Row(
                testDescription: "a period that was upgraded, without the upgrade",
                transactions: [.period("1", 0..<30, revoked: 10, isUpgraded: true)],
                expected: [0: (1, nil), 11: (1, nil)]),
        ]
    }

    @Test(arguments: Row.all)
    func `a refund takes a purchase back, and its end does not`(_ row: Row) throws {
        for (asked, expected) in row.expected {
            let entitlements = try EvidenceSource.transactions.entitlements(of: row.transactions, at: day(asked))
            let item = try #require(entitlements.items.first { $0.transactionID == "1" })
            #expect(item.ownedQuantity == expected.quantity, "on day \(asked)")
            #expect(item.nextChange == expected.next.map(day), "on day \(asked)")
        }
    }

    @Test func `the JSON has the quantity that is left after the refund of a part`() throws {
        let coins = Transaction.consumable("1", 0, quantity: 4, revoked: 5, percentage: 25_000)
        let entitlements = try EvidenceSource.transactions.entitlements(of: [coins], at: day(9))
        #expect(entitlements.json.contains(#""quantity":3,"#))
    }
}
