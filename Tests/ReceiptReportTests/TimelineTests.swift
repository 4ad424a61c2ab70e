@_spi(Surfaces) import AppStoreReceipt
import AppStoreReceiptTesting
import TestSupport
import Testing

@_spi(Surfaces) @testable import ReceiptReport

/// What the page tells of histories whose course is known.
@Suite struct TimelineTests {
    private struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// The month of 2025, on whose first day the page is made.
        let month: Int
        /// What the page says, as words or as markup.
        let says: [String]
        var saysNot: [String] = []
        /// Whether the receipt is there besides. It cancels what was replaced, as if it had been refunded.
        var hasReceipt = false
        let record: @Sendable (inout PurchaseHistory, (Int) -> Instant) -> Void
    }

    private static let rows = [
        Row(
            testDescription: "a trial, then paid periods", month: 3,
            says: [
                "bought · free trial", "renewed", "ends, unless it is renewed", "Renewal is on.",
                #"rect class="offer""#,
            ],
            saysNot: ["expired", "gap without access", "refunded or revoked"]
        ) { history, first in
            let pro = history.subscribe(to: "pro", in: "group", for: .month, at: first(1), offer: .freeTrial)
            history.renew(pro)
            history.renew(pro)
        },
        Row(
            testDescription: "a card that failed", month: 4,
            says: [
                "expired", "It expired because Apple could not charge the customer.", #"badge unknown">Expired"#,
            ], saysNot: ["ends, unless it is renewed", "turned renewal off", #"rect class="offer""#]
        ) { history, first in
            let pro = history.subscribe(to: "pro", in: "group", for: .month, at: first(1))
            history.failToRenew(pro)
        },
        Row(
            testDescription: "a customer who cancelled", month: 4,
            says: ["expired", "It expired because the customer turned renewal off."], saysNot: ["could not charge"]
        ) { history, first in
            let pro = history.subscribe(to: "pro", in: "group", for: .month, at: first(1))
            history.turnOffRenewal(of: pro, at: first(1) + .seconds(86_400))
        },
        Row(
            testDescription: "a customer who came back", month: 6,
            says: ["gap without access until 2025-05-10", "renewed"], saysNot: ["refunded or revoked"]
        ) { history, first in
            let pro = history.subscribe(to: "pro", in: "group", for: .month, at: first(1))
            history.turnOffRenewal(of: pro, at: first(1) + .seconds(86_400))
            history.resubscribe(pro, at: first(5) + .seconds(9 * 86_400))
        },
        Row(
            testDescription: "an upgrade within a period", month: 2,
            says: ["replaced by max", #"rect class="replaced""#],
            saysNot: ["refunded or revoked", "gap without access"],
            hasReceipt: true
        ) { history, first in
            let pro = history.subscribe(to: "pro", in: "group", for: .month, at: first(1))
            history.upgrade(pro, to: "max", for: .year, at: first(1) + .seconds(10 * 86_400))
        },
        Row(
            testDescription: "a period that was refunded", month: 2,
            says: [#"path class="crossed""#, #"rect class="refunded""#, "The whole price was refunded."],
            saysNot: ["replaced by", "Family Sharing of it ended"]
        ) { history, first in
            let pro = history.subscribe(to: "pro", in: "group", for: .month, at: first(1))
            history.refund(history.latestPeriod(of: pro), at: first(1) + .seconds(10 * 86_400))
        },
        Row(
            testDescription: "Family Sharing that ended", month: 3,
            says: ["Family Sharing of it ended"], saysNot: ["Apple refunded or revoked it"]
        ) { history, first in
            let shared = history.buyNonConsumable("levels", at: first(1), ownershipType: .familyShared)
            history.endFamilySharing(of: shared, at: first(2))
        },
        Row(
            testDescription: "coins of which half were refunded", month: 3,
            says: ["A part was refunded: 4 of 8 remain", "50 % of the price was refunded."]
        ) { history, first in
            let coins = history.buyConsumable("coins", quantity: 8, at: first(1))
            history.refund(coins, at: first(2), percentage: 50_000)
        },
    ]

    @Test(arguments: rows)
    private func `a page tells what happened, and nothing else`(row: Row) throws {
        func first(_ month: Int) -> Instant {
            Instant(year: 2025, month: month, day: 1) ?? .distantPast
        }
        var history = PurchaseHistory(bundleID: Minted.bundleID)
        row.record(&history, first)
        let date = first(row.month)
        let authority = try Minted.ellipticAuthority
        let signed =
            history.transactions(signedAt: date)
            + history.subscriptions.compactMap { history.renewalInfo(of: $0, signedAt: date) }
        var evidence = try signed.map { Array(try $0.signed(by: authority).utf8) }
        if row.hasReceipt { evidence.append(try history.receipt(signedAt: date).signed(by: Minted.authority)) }
        let verifier = try Minted.verifier()
        let report = Report(
            verifier.decision(on: evidence, at: date), on: evidence, by: verifier, for: .user(of: .command))
        let page = String(decoding: report.html, as: UTF8.self)
        let body = try page[#require(page.firstRange(of: "<body")).lowerBound...]
        let words = body.replacing(/<[^>]*>/, with: "")
        for text in row.says { #expect(words.contains(text) || body.contains(text), "\(text)") }
        for text in row.saysNot { #expect(!words.contains(text) && !body.contains(text), "\(text)") }
    }

    @Test func `of more purchases than the table has rows, the latest are shown`() throws {
        let date = try #require(Instant(year: 2025, month: 7, day: 1))
        let count = Report.maximumRowCount + 1
        let purchases = (0..<count).map { number in
            var purchase = ReceiptBuilder.Purchase.consumable("coins", transactionID: String(100_000 + number))
            purchase.purchaseDate = date - .seconds(Int64(86_400 - number))
            return purchase
        }
        let evidence = try [
            ReceiptBuilder(bundleID: Minted.bundleID, purchases: purchases).signed(by: Minted.authority)
        ]
        let verifier = try Minted.verifier()
        let report = Report(
            verifier.decision(on: evidence, at: date), on: evidence, by: verifier, for: .user(of: .command))
        let page = String(decoding: report.html, as: UTF8.self)
        let rows = try page[#require(page.firstRange(of: "<tbody")).lowerBound...]
        let table = try rows[..<#require(rows.firstRange(of: "</tbody")).lowerBound]
        #expect(table.contains(String(100_000 + count - 1)) && !table.contains(String(100_000)))
    }
}
