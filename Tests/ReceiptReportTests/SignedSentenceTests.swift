@_spi(Surfaces) import AppStoreReceipt
import AppStoreReceiptTesting
import TestSupport
import Testing

@_spi(Surfaces) @testable import ReceiptReport

/// What Apple signed of a price and of a renewal, in words.
@Suite struct SignedSentenceTests {
    struct Words: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let english: String
        let chinese: String
    }

    struct Price: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let words: Words
        private(set) var purchase = Purchase(
            productID: "pro", productType: .autoRenewableSubscription, transactionID: "1", purchaseDate: day(0),
            expiresDate: day(30), signedDate: day(0))

        init(_ description: String, _ english: String, _ chinese: String, _ change: (inout Purchase) -> Void = { _ in })
        {
            testDescription = description
            words = Words(testDescription: description, english: english, chinese: chinese)
            (purchase.price, purchase.currency, purchase.storefront) = (4990, "USD", "USA")
            change(&purchase)
        }
    }

    @Test(arguments: [
        Price(
            "one seat", "Price: 4.99 USD. App Store: USA.", "价格：4.99 USD。 App Store 国家或地区：USA。"),
        Price("nothing", "", "") { ($0.price, $0.currency, $0.storefront) = (nil, nil, nil) },
        Price("no price", "App Store: USA.", "App Store 国家或地区：USA。") { $0.price = nil },
        Price("no currency, no storefront", "Price: 4.99.", "价格：4.99。") {
            ($0.currency, $0.storefront) = (nil, nil)
        },
        Price("a free trial", "Price: 0 USD. App Store: USA.", "价格：0 USD。 App Store 国家或地区：USA。") {
            $0.price = 0
        },
        Price(
            "eight seats",
            "Price of a seat, on average: 4.99 USD. App Store: USA. All 8 seats: 39.92 USD, which Apple does not mean for reconciling revenue.",
            "每个席位的平均价格：4.99 USD。 App Store 国家或地区：USA。 全部 8 个席位：39.92 USD（Apple 说明不可用于收入对账）。"
        ) { $0.quantity = 8 },
        Price(
            "a member's eight seats", "Price that the buyer was charged: 4.99 USD. App Store: USA.",
            "购买者支付的价格：4.99 USD。 App Store 国家或地区：USA。"
        ) { ($0.quantity, $0.ownershipType) = (8, .assigned) },
        Price(
            "a currency of a million letters", "Price: 4.99 \(String(repeating: "U", count: 96)).",
            "价格：4.99 \(String(repeating: "U", count: 96))。"
        ) { ($0.currency, $0.storefront) = (String(repeating: "U", count: 1_000_000), nil) },
        Price(
            "too much", "Price of a seat, on average: 9223372036854775.807 USD. App Store: USA.",
            "每个席位的平均价格：9223372036854775.807 USD。 App Store 国家或地区：USA。"
        ) { ($0.quantity, $0.price) = (8, .max) },
        Price("three consumables", "Price: 4.99 USD. App Store: USA.", "价格：4.99 USD。 App Store 国家或地区：USA。") {
            ($0.quantity, $0.productType, $0.expiresDate) = (3, .consumable, nil)
        },
        Price("hidden characters", "Price: 4.99 \\u{202E}.", "价格：4.99 \\u{202E}。") {
            ($0.currency, $0.storefront) = ("\u{202E}", nil)
        },
    ])
    func `a price is told with its currency, its storefront and, of several seats, the sum`(price: Price) {
        let sentences = price.purchase.priceSentences
        #expect(sentences.map { $0.text(in: .english) }.joined(separator: " ") == price.words.english)
        #expect(sentences.map { $0.text(in: .simplifiedChinese) }.joined(separator: " ") == price.words.chinese)
    }

    struct State: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let asked: Double
        let words: Words
        private(set) var renewal = SubscriptionRenewal(originalTransactionID: "1", signedDate: day(5))

        init(
            _ description: String, at asked: Double = 10, _ english: String, _ chinese: String,
            _ change: (inout SubscriptionRenewal) -> Void
        ) {
            (testDescription, self.asked) = (description, asked)
            words = Words(
                testDescription: description,
                english: "As Apple signed it on 2025-01-06T00:00:00Z, and it can have changed since: " + english,
                chinese: "Apple 于 2025-01-06T00:00:00Z 签署，此后可能有变： " + chinese)
            (renewal.environment, renewal.bundleID) = (.production, Minted.bundleID)
            change(&renewal)
        }
    }

    private static let states = [
        State("nothing", "Whether it will renew is not known.", "无法确定是否会续订。") { _ in },
        State("it renews", "Renewal is on.", "自动续订已开启。") { ($0.autoRenewStatus, $0.nextProductID) = (.on, "pro") },
        State(
            "it renews, with all that is known",
            "Renewal is on. Date of the next charge: 2025-01-31T00:00:00Z. The next period is of gold. Price of the next period: 9.99 EUR. Offer for the next period: promotional offer summer.",
            "自动续订已开启。 下次扣款日期：2025-01-31T00:00:00Z。 下个周期的产品 ID：gold。 下个周期的价格：9.99 EUR。 下个周期的优惠：促销优惠 summer。"
        ) {
            ($0.autoRenewStatus, $0.renewalDate, $0.nextProductID) = (.on, day(30), "gold")
            ($0.renewalPrice, $0.currency) = (9990, "EUR")
            $0.offer = PurchaseOffer(type: .promotional, id: "summer")
        },
        State(
            "seats, and an offer without an id",
            "Renewal is on. Seats of the next period: 9. Price of a seat in the next period, on average: 9.99 EUR. Offer for the next period: win-back offer.",
            "自动续订已开启。 下个周期的席位数：9。 下个周期每个席位的平均价格：9.99 EUR。 下个周期的优惠：赢回优惠。"
        ) {
            ($0.autoRenewStatus, $0.renewalQuantity) = (.on, 9)
            ($0.renewalPrice, $0.currency) = (9990, "EUR")
            $0.offer = PurchaseOffer(type: .winBack)
        },
        State(
            "renewal is off", "Renewal is off.", "自动续订已关闭。"
        ) { ($0.autoRenewStatus, $0.renewalPrice, $0.nextProductID) = (.off, 9990, "gold") },
        State(
            "a price increase without an answer",
            "Renewal is on. The customer has not agreed to a price increase yet.", "自动续订已开启。 用户尚未同意涨价。"
        ) { ($0.autoRenewStatus, $0.priceIncreaseStatus) = (.on, .pending) },
        State(
            "a price increase",
            "Renewal is on. The customer agreed to a price increase, or was notified where no consent is required.",
            "自动续订已开启。 用户已同意涨价，或已收到通知（无需同意时）。"
        ) { ($0.autoRenewStatus, $0.priceIncreaseStatus) = (.on, .accepted) },
        State(
            "a grace period", at: 32,
            "Renewal is on. Apple is retrying the charge. Access continues in the billing grace period, until 2025-02-06T00:00:00Z.",
            "自动续订已开启。 Apple 正在重试扣款。 在扣款宽限期内可继续使用，至 2025-02-06T00:00:00Z。"
        ) { ($0.autoRenewStatus, $0.isInBillingRetryPeriod, $0.gracePeriodExpiresDate) = (.on, true, day(36)) },
        State(
            "billing retry after a grace period", at: 40,
            "Renewal is on. Apple is retrying the charge. Billing grace period: until 2025-02-06T00:00:00Z.",
            "自动续订已开启。 Apple 正在重试扣款。 扣款宽限期：至 2025-02-06T00:00:00Z。"
        ) { ($0.autoRenewStatus, $0.isInBillingRetryPeriod, $0.gracePeriodExpiresDate) = (.on, true, day(36)) },
        expired(.cancelled, "It expired because the customer turned renewal off.", "因用户关闭自动续订而过期。"),
        expired(.billingError, "It expired because Apple could not charge the customer.", "因扣款失败而过期。"),
        expired(
            .priceIncreaseNotAccepted,
            "It expired because the customer did not agree to a price increase, or to the price after an offer.",
            "因用户未同意涨价或优惠后的价格而过期。"),
        expired(.productUnavailable, "It expired because the product was not available.", "因商品不可用而过期。"),
        expired(.other, "It expired for another reason.", "因其他原因过期。"),
    ]

    private static func expired(_ intent: ExpirationIntent, _ english: String, _ chinese: String) -> State {
        State(
            "expired by \(intent.rawValue)", at: 40,
            "Renewal is off. \(english)", "自动续订已关闭。 \(chinese)"
        ) { ($0.autoRenewStatus, $0.expirationIntent) = (.off, intent) }
    }

    private func subscription(_ renewals: [SubscriptionRenewal], _ owner: OwnershipType, at asked: Double) throws
        -> Subscription
    {
        let period = Purchase(
            productID: "pro", productType: .autoRenewableSubscription, transactionID: "1", bundleID: Minted.bundleID,
            environment: .production, purchaseDate: day(0), expiresDate: day(30), signedDate: day(0),
            ownershipType: owner)
        return try #require(
            Entitlements(trustingStored: [period], renewals: renewals, at: day(asked)).subscriptions.first)
    }

    @Test(arguments: states)
    func `a renewal is told as Apple signed it, with the date of that`(state: State) throws {
        let sentences = try subscription([state.renewal], .purchased, at: state.asked).renewalSentences()
        #expect(sentences.map { $0.text(in: .english) }.joined(separator: " ") == state.words.english)
        #expect(sentences.map { $0.text(in: .simplifiedChinese) }.joined(separator: " ") == state.words.chinese)
    }

    @Test func `of members, and of what nothing is known, nothing is told`() throws {
        #expect(try subscription([], .purchased, at: 10).renewalSentences().isEmpty)
        for owner in [OwnershipType.familyShared, .assigned] {
            let renewal = try #require(Self.states.last).renewal
            #expect(try subscription([renewal], owner, at: 10).renewalSentences().isEmpty)
        }
    }

    @Test(arguments: Language.allCases)
    func `a report tells both`(language: Language) throws {
        var transaction = Minted.transaction
        (transaction.productType, transaction.quantity, transaction.price) = (.autoRenewableSubscription, 8, 4990)
        (transaction.purchaseDate, transaction.expiresDate) = (day(0), day(30))
        transaction.originalTransactionID = "1000"
        let renewal = JWSBuilder.renewalInfo(productID: "pro", originalTransactionID: "1000", signedDate: day(5))
        let evidence = try [transaction, renewal].map { Array(try Minted.jws($0).utf8) }
        let verifier = try Minted.verifier()
        let decision = verifier.decision(on: evidence, at: day(10))
        var report = Report(decision, on: evidence, by: verifier, for: .user(of: .command))
        report.language = language
        let words = String(decoding: report.html, as: UTF8.self).replacing(/<[^>]*>/, with: "")
        let subscription = try #require(decision.entitlements.subscriptions.first)
        let purchase = try #require(decision.entitlements.items.first).purchase
        let told = purchase.priceSentences + subscription.renewalSentences { .text($0.text) }
        #expect(told.count > 6)
        for sentence in told { #expect(words.contains(sentence.text(in: language)), "\(sentence)") }
    }
}
