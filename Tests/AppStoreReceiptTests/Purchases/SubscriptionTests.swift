import AppStoreReceiptTesting
import SpanASN1
import TestSupport
import Testing

@testable import AppStoreReceipt

/// One line of the table: periods, a date, and what the subscription is then.
struct SubscriptionCase: CustomTestStringConvertible, Sendable {
    let name: String
    let periods: [ReceiptBuilder.Purchase]
    let asked: Double
    /// `nil`: there is no subscription at that date.
    let expected: Expected?
    var receiptExpires: Double?

    struct Expected: Sendable {
        var state: Subscription.State
        var transactionID: String?
        var expiry: Double
        var offer = Subscription.Offer.none
        var cancelled: Double?
    }

    var testDescription: String { name }

    static func period(
        _ id: String, _ days: Range<Double>, _ productID: String = "basic", trial: Bool = false, intro: Bool = false,
        promotion: String? = nil, cancelled: Double? = nil
    ) -> ReceiptBuilder.Purchase {
        var period = ReceiptBuilder.Purchase.autoRenewable(
            productID, transactionID: id, originalTransactionID: "1", purchaseDate: day(days.lowerBound),
            expiresDate: day(days.upperBound), isTrialPeriod: trial)
        period.isInIntroOfferPeriod = intro
        period.promotionalOfferID = promotion
        return cancelled.map { period.revoked(at: day($0)) } ?? period
    }

    static let all: [SubscriptionCase] = {
        let simple = [period("1", 0..<30)]
        let renewed = [period("1", 0..<30), period("2", 30..<60)]
        let lapsed = [period("1", 0..<30), period("2", 40..<70)]
        let upgraded = [period("1", 0..<30, cancelled: 10), period("2", 10..<40, "premium")]
        // Upgraded as receipts have it: nothing marks the old period.
        let overlapping = [period("1", 0..<30), period("2", 10..<20, "premium")]
        let refundedAhead = [period("1", 0..<30), period("2", 30..<60, cancelled: 29)]
        let refunded = [period("1", 0..<30), period("2", 30..<60, cancelled: 40)]
        return [
            .init(name: "before the first period", periods: simple, asked: -0.001, expected: nil),
            .init(
                name: "at its first moment", periods: simple, asked: 0,
                expected: .init(state: .active, transactionID: "1", expiry: 30)),
            .init(
                name: "just before its end", periods: simple, asked: 29.999,
                expected: .init(state: .active, transactionID: "1", expiry: 30)),
            .init(
                name: "at its end", periods: simple, asked: 30,
                expected: .init(state: .expired, transactionID: "1", expiry: 30)),
            .init(
                name: "renewed: in the first period", periods: renewed, asked: 29,
                expected: .init(state: .active, transactionID: "1", expiry: 60)),
            .init(
                name: "renewed: in the second", periods: renewed, asked: 30,
                expected: .init(state: .active, transactionID: "2", expiry: 60)),
            .init(
                name: "renewed, in the other order in the receipt", periods: renewed.reversed(), asked: 29,
                expected: .init(state: .active, transactionID: "1", expiry: 60)),
            .init(
                name: "lapsed: in the gap", periods: lapsed, asked: 35,
                expected: .init(state: .expired, transactionID: "1", expiry: 30)),
            .init(
                name: "lapsed: before the gap", periods: lapsed, asked: 20,
                expected: .init(state: .active, transactionID: "1", expiry: 30)),
            .init(
                name: "lapsed: resubscribed", periods: lapsed, asked: 50,
                expected: .init(state: .active, transactionID: "2", expiry: 70)),
            .init(
                name: "upgraded: before the upgrade", periods: upgraded, asked: 5,
                expected: .init(state: .active, transactionID: "1", expiry: 40, cancelled: 10)),
            .init(
                name: "upgraded: at the upgrade", periods: upgraded, asked: 10,
                expected: .init(state: .active, transactionID: "2", expiry: 40)),
            .init(
                name: "upgraded: in the old period's days", periods: upgraded, asked: 25,
                expected: .init(state: .active, transactionID: "2", expiry: 40)),
            .init(
                name: "upgraded: after all", periods: upgraded, asked: 50,
                expected: .init(state: .expired, transactionID: "2", expiry: 40)),
            .init(
                name: "upgraded, but the new period is not in the receipt", periods: [upgraded[0]], asked: 20,
                expected: .init(state: .cancelled, transactionID: "1", expiry: 10, cancelled: 10)),
            .init(
                name: "overlapping: before the upgrade", periods: overlapping, asked: 9,
                expected: .init(state: .active, transactionID: "1", expiry: 20)),
            .init(
                name: "overlapping: the one that began last decides", periods: overlapping, asked: 15,
                expected: .init(state: .active, transactionID: "2", expiry: 20)),
            .init(
                name: "overlapping: the upgrade has ended the longer one", periods: overlapping, asked: 25,
                expected: .init(state: .expired, transactionID: "2", expiry: 20)),
            .init(
                name: "overlapping, in the other order in the receipt", periods: overlapping.reversed(), asked: 15,
                expected: .init(state: .active, transactionID: "2", expiry: 20)),
            .init(
                name: "a renewal refunded before it began: until then", periods: refundedAhead, asked: 29.5,
                expected: .init(state: .active, transactionID: "1", expiry: 30)),
            .init(
                name: "a renewal refunded before it began: afterwards", periods: refundedAhead, asked: 31,
                expected: .init(state: .cancelled, transactionID: "2", expiry: 30, cancelled: 29)),
            .init(
                name: "two that begin together: the one that ends last",
                periods: [period("1", 0..<30), period("2", 0..<365, "yearly")], asked: 5,
                expected: .init(state: .active, transactionID: "2", expiry: 365)),
            .init(
                name: "refunded: before the refund it is active and shows the date", periods: refunded, asked: 35,
                expected: .init(state: .active, transactionID: "2", expiry: 40, cancelled: 40)),
            .init(
                name: "refunded: from the very moment", periods: refunded, asked: 40,
                expected: .init(state: .cancelled, transactionID: "2", expiry: 40, cancelled: 40)),
            .init(
                name: "refunded: in the period before", periods: refunded, asked: 10,
                expected: .init(state: .active, transactionID: "1", expiry: 40)),
            .init(
                name: "refunded after it had ended, before the refund", periods: [period("1", 0..<30, cancelled: 45)],
                asked: 40, expected: .init(state: .expired, transactionID: "1", expiry: 30, cancelled: 45)),
            .init(
                name: "refunded after it had ended, after the refund", periods: [period("1", 0..<30, cancelled: 45)],
                asked: 50, expected: .init(state: .cancelled, transactionID: "1", expiry: 30, cancelled: 45)),
            .init(
                name: "the first of two refunded, the second runs",
                periods: [period("1", 0..<30, cancelled: 20), period("2", 30..<60)], asked: 35,
                expected: .init(state: .active, transactionID: "2", expiry: 60)),
            .init(
                name: "cancelled before it began", periods: [period("1", 0..<30, cancelled: -1)], asked: 5,
                expected: .init(state: .cancelled, transactionID: "1", expiry: 0, cancelled: -1)),
            .init(
                name: "a free trial", periods: [period("1", 0..<7, trial: true), period("2", 7..<37)], asked: 3,
                expected: .init(state: .active, transactionID: "1", expiry: 37, offer: .freeTrial)),
            .init(
                name: "after the free trial", periods: [period("1", 0..<7, trial: true), period("2", 7..<37)], asked: 9,
                expected: .init(state: .active, transactionID: "2", expiry: 37)),
            .init(
                name: "an introductory price", periods: [period("1", 0..<30, intro: true)], asked: 3,
                expected: .init(state: .active, transactionID: "1", expiry: 30, offer: .introductory)),
            .init(
                name: "marked as both: a trial", periods: [period("1", 0..<30, trial: true, intro: true)], asked: 3,
                expected: .init(state: .active, transactionID: "1", expiry: 30, offer: .freeTrial)),
            .init(
                name: "a promotional offer", periods: [period("1", 0..<30, promotion: "summer")], asked: 3,
                expected: .init(state: .active, transactionID: "1", expiry: 30, offer: .promotional)),
            .init(
                name: "without 1705: its own id", periods: [withoutOriginalID("1")], asked: 3,
                expected: .init(state: .active, transactionID: "1", expiry: 30)),
            .init(
                name: "without any id: a subscription of its own", periods: [withoutIDs()], asked: 3,
                expected: .init(state: .active, transactionID: nil, expiry: 30)),
            .init(
                name: "downgraded at renewal: in the first period",
                periods: [period("1", 0..<30, "premium"), period("2", 30..<60)], asked: 29,
                expected: .init(state: .active, transactionID: "1", expiry: 60)),
            .init(
                name: "downgraded at renewal: in the second",
                periods: [period("1", 0..<30, "premium"), period("2", 30..<60)], asked: 30,
                expected: .init(state: .active, transactionID: "2", expiry: 60)),
            .init(
                name: "Xcode's: the receipt expires in the year 4001", periods: simple, asked: 10,
                expected: .init(state: .active, transactionID: "1", expiry: 30), receiptExpires: 721_700),
            .init(
                name: "an expiry in the year 4001", periods: [period("1", 0..<721_700)], asked: 400_000,
                expected: .init(state: .active, transactionID: "1", expiry: 721_700)),
            .init(
                name: "VPP: the receipt has not expired", periods: simple, asked: 10,
                expected: .init(state: .active, transactionID: "1", expiry: 20), receiptExpires: 20),
            .init(
                name: "VPP: the receipt has expired", periods: simple, asked: 20,
                expected: .init(state: .expired, transactionID: "1", expiry: 20), receiptExpires: 20),
        ]
    }()

    private static func withoutIDs() -> ReceiptBuilder.Purchase {
        var purchase = period("1", 0..<30)
        (purchase.transactionID, purchase.originalTransactionID) = (nil, nil)
        return purchase
    }

    private static func withoutOriginalID(_ id: String) -> ReceiptBuilder.Purchase {
        var purchase = period(id, 0..<30)
        purchase.originalTransactionID = nil
        purchase.originalPurchaseDate = nil
        return purchase
    }

    var receipt: VerifiedReceipt {
        get throws {
            var builder = ReceiptBuilder(bundleID: "com.example.app", purchases: periods)
            builder.attributeOrder = .asGiven
            builder.expirationDate = receiptExpires.map(day)
            if receiptExpires != nil { builder.receiptType = "ProductionVPP" }
            return try Minted.verified(builder)
        }
    }
}

struct SubscriptionTests {
    @Test(arguments: SubscriptionCase.all)
    func `a subscription at a date`(_ test: SubscriptionCase) throws {
        let receipt = try test.receipt
        let subscriptions = receipt.subscriptions(at: day(test.asked))
        guard let expected = test.expected else {
            #expect(subscriptions.isEmpty)
            return
        }
        #expect(subscriptions.count == 1)
        let subscription = try #require(subscriptions.first)
        #expect(subscription.originalTransactionID == expected.transactionID.map { _ in "1" })
        #expect(subscription.state == expected.state)
        #expect(subscription.currentPeriod.transactionID == expected.transactionID)
        #expect(subscription.expiry == day(expected.expiry))
        #expect(subscription.offer == expected.offer)
        #expect(subscription.revocationDate == expected.cancelled.map(day))
        #expect(subscription.renewal == .unknown)
        #expect(subscription.periods.count == test.periods.count)
    }

    @Test func `the table of all cases is as the queries answer it`() throws {
        func row(_ test: SubscriptionCase, _ answer: String) -> String {
            let periods = test.periods.map { period in
                let days = [period.purchaseDate, period.expiresDate, period.revocationDate].map { date in
                    date.map { "\(Double($0.millisecondsSince1970 - day(0).millisecondsSince1970) / 86_400_000)" } ?? ""
                }
                let cancelled = days[2].isEmpty ? "" : ", cancelled \(days[2])"
                return "\(period.productID ?? "") \(days[0])–\(days[1])\(cancelled)"
            }
            return "| \(test.name) | \(periods.joined(separator: "; ")) | \(test.asked) | \(answer) |"
        }
        func answer(_ state: Subscription.State?, _ id: String?, _ expiry: Instant?) -> String {
            guard let state, let expiry else { return "none | |" }
            let days = Double(expiry.millisecondsSince1970 - day(0).millisecondsSince1970) / 86_400_000
            return "\(state) | \(id ?? "without id") | \(days)"
        }
        var rows = ["| case | periods, in days | asked | state | current period | access until |"]
        for test in SubscriptionCase.all {
            let subscription = try test.receipt.subscriptions(at: day(test.asked)).first
            let current = subscription?.currentPeriod.transactionID
            rows.append(row(test, answer(subscription?.state, current, subscription?.expiry)))
            let expected = test.expected
            #expect(
                rows.last == row(test, answer(expected?.state, expected?.transactionID, (expected?.expiry).map(day))))
        }
        print(rows.joined(separator: "\n"))
    }

    @Test(arguments: SubscriptionCase.all)
    func `isActive says the same as the subscription's state`(_ test: SubscriptionCase) throws {
        let receipt = try test.receipt
        #expect(
            receipt.isActive(productIDs: ["basic", "premium", "yearly"], at: day(test.asked))
                == (test.expected?.state == .active))
    }

    @Test func `a product that was upgraded from is not active`() throws {
        let receipt = try Minted.verified(
            SubscriptionCase.period("1", 0..<30), SubscriptionCase.period("2", 10..<40, "premium"))
        for (asked, basic, premium) in [(5.0, true, false), (10, false, true), (35, false, true), (41, false, false)] {
            #expect(receipt.isActive(productIDs: ["basic"], at: day(asked)) == basic)
            #expect(receipt.isActive(productIDs: ["premium"], at: day(asked)) == premium)
            #expect(receipt.isActive(productIDs: ["basic"], at: day(asked), gracePeriod: .seconds(86_400 * 9)) == basic)
        }
    }

    @Test func `subscriptions of different original transactions are apart, in the receipt's order`() throws {
        var other = SubscriptionCase.period("9", 5..<35, "news")
        other.originalTransactionID = "9"
        var builder = ReceiptBuilder(
            bundleID: "com.example.app",
            purchases: [
                SubscriptionCase.period("2", 30..<60), other, SubscriptionCase.period("1", 0..<30),
                .consumable("coins", transactionID: "7"),
            ])
        builder.attributeOrder = .asGiven
        let receipt = try Minted.verified(builder)
        #expect(receipt.subscriptions(at: day(10)).map(\.originalTransactionID) == ["1", "9"])
        #expect(receipt.subscriptions(at: day(10)).map(\.periods.count) == [2, 1])
        #expect(receipt.subscriptions(at: day(3)).map(\.originalTransactionID) == ["1"])
    }
}
