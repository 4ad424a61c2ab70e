@_spi(Surfaces) import AppStoreReceipt
import Foundation
import HTTPService
@testable import LedgerService
import Testing

/// `--entitlement`.
@Suite struct EntitlementNamesTests {
    private static let now = Instant(millisecondsSince1970: 1_750_000_000_000)
    private static let day = Duration.seconds(86_400)

    /// A purchase as a test describes it. Days count from now.
    struct Bought: Sendable {
        var id: String
        var product: String
        var type = ProductType.autoRenewableSubscription
        var days = -1.0..<29.0
        var app: String? = "com.example.app"
        var environment: AppStoreEnvironment? = .production
        var isRevoked = false

        var purchase: Purchase {
            func date(_ days: Double) -> Instant { now + .seconds(days * 86_400) }
            return Purchase(
                productID: product, productType: type, transactionID: id, bundleID: app, environment: environment,
                purchaseDate: date(days.lowerBound),
                expiresDate: type == .autoRenewableSubscription ? date(days.upperBound) : nil, signedDate: now,
                revocation: isRevoked ? .revoked(.init()) : .notRevoked)
        }
    }

    struct Case: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let bought: [Bought]
        /// The JSON of `premium` and of `news` in `com.example.app`.
        let expected: (premium: String, news: String)

        init(_ name: String, _ bought: [Bought], premium: String = none, news: String = none) {
            (testDescription, self.bought, expected) = (name, bought, (premium, news))
        }
    }

    private static let none = #"{"active":false,"until":null}"#
    private static let endless = #"{"active":true,"until":null}"#
    private static func until(_ days: Int) -> String {
        #"{"active":true,"until":"\#(now + .seconds(days * 86_400))"}"#
    }

    static let cases = [
        Case("nothing", []),
        Case("one of several products", [Bought(id: "1", product: "pro.year")], premium: until(29)),
        Case(
            "the latest end of two",
            [Bought(id: "1", product: "pro.year"), Bought(id: "2", product: "pro.month", days: -1..<9)],
            premium: until(29)),
        Case(
            "a period that is paid and follows",
            [
                Bought(id: "1", product: "pro.month", days: -29..<1),
                Bought(id: "2", product: "pro.month", days: 1..<31),
            ], premium: until(31)),
        Case(
            "a period that follows after a gap",
            [
                Bought(id: "1", product: "pro.month", days: -29..<1),
                Bought(id: "2", product: "pro.month", days: 2..<32),
            ], premium: until(1)),
        Case(
            "a period of another product that follows",
            [
                Bought(id: "1", product: "pro.month", days: -29..<1), Bought(id: "2", product: "basic", days: 1..<31),
            ], premium: until(1)),
        Case("a period that begins later", [Bought(id: "1", product: "pro.year", days: 1..<31)]),
        Case("a period that has ended", [Bought(id: "1", product: "pro.year", days: -31 ..< -1)]),
        Case("a refund", [Bought(id: "1", product: "pro.year", isRevoked: true)]),
        Case(
            "without an end beside one with an end",
            [Bought(id: "1", product: "pro.life", type: .nonConsumable), Bought(id: "2", product: "pro.year")],
            premium: endless),
        Case(
            "what is bought for ever before the end",
            [
                Bought(id: "1", product: "pro.month"),
                Bought(id: "2", product: "pro.life", type: .nonConsumable, days: 3..<4),
            ], premium: endless),
        Case(
            "what gives no access begins before the end",
            [
                Bought(id: "1", product: "pro.month"),
                Bought(id: "2", product: "pro.year", type: .consumable, days: 3..<4, isRevoked: true),
                Bought(id: "3", product: "both", type: .nonRenewingSubscription, days: 3..<4, isRevoked: true),
                Bought(id: "4", product: "both", type: ProductType(rawValue: "Another"), days: 3..<4),
            ], premium: until(29)),
        Case("a consumable gives no access", [Bought(id: "1", product: "pro.year", type: .consumable)]),
        Case("two names of one product", [Bought(id: "1", product: "both")], premium: until(29), news: until(29)),
        Case("another product", [Bought(id: "1", product: "basic")]),
        Case("a product is compared byte for byte", [Bought(id: "1", product: "PRO.YEAR")]),
        Case("the sandbox", [Bought(id: "1", product: "pro.year", environment: .sandbox)]),
        Case("no environment", [Bought(id: "1", product: "pro.year", environment: nil)]),
        Case("another app", [Bought(id: "1", product: "pro.year", app: "com.example.other")]),
        Case("no app", [Bought(id: "1", product: "pro.year", app: nil)]),
    ]

    private func json(
        _ names: EntitlementNames, _ bought: [Bought], in environment: AppStoreEnvironment = .production
    ) -> String {
        let entitlements = Entitlements(
            stored: bought.map { StoredPurchase(trusting: $0.purchase) }, renewals: [], at: Self.now)
        let json = entitlements.jsonUTF8 {
            names.write(entitlements, in: environment, apps: ["com.example.app"], to: &$0)
        }
        return String(decoding: json, as: UTF8.self)
    }

    private static let values = ["premium=pro.month,pro.year,pro.life,both", "news=daily,both"]

    @Test(arguments: cases)
    func `a name is active if one of its products gives access`(_ test: Case) throws {
        let json = try json(EntitlementNames(Self.values), test.bought)
        let own = #""com.example.app":{"premium":\#(test.expected.premium),"news":\#(test.expected.news)}"#
        let ofOther = #","com.example.other":{"premium":\#(Self.until(29)),"news":\#(Self.none)}"#
        let hasOther = test.bought.contains { $0.app == "com.example.other" }
        #expect(json.hasSuffix(#","names":{"production":{\#(own)\#(hasOther ? ofOther : "")}}}"#), "\(json)")
    }

    @Test func `the sandbox has names of its own`() throws {
        let names = try EntitlementNames(Self.values)
        let json = json(names, [Bought(id: "1", product: "pro.year", environment: .sandbox)], in: .sandbox)
        #expect(json.contains(#""names":{"sandbox":{"com.example.app":{"premium":\#(Self.until(29)),"#))
        #expect(!json.contains(#""names":{"production""#))
    }

    @Test func `without names there is no member`() throws {
        let bought = [Bought(id: "1", product: "pro.year")]
        for names in [EntitlementNames(), try EntitlementNames([])] {
            #expect(!json(names, bought).contains(#""names""#))
        }
    }

    @Test(arguments: [
        "premium", "premium=", "=pro", "premium=pro,", "premium=,pro", "premium=a,,b", "premium=a, b", "pre mium=a",
        "premium =a", "=", ",", "premium=a\u{7F}", "premium=a\n",
        "premium=a;b=c",
    ])
    func `a value of another form is refused`(value: String) {
        let message =
            "--entitlement must be a name and its products, such as premium=pro.month,pro.year, and is '\(value)'"
        #expect(throws: ConfigurationError(message)) { try EntitlementNames([value]) }
    }

    @Test func `a name is given once, byte for byte`() throws {
        #expect(throws: ConfigurationError("--entitlement names 'a' twice")) { try EntitlementNames(["a=b", "a=c"]) }
        _ = try EntitlementNames(["e\u{301}=a", "\u{E9}=b", "A=a", "a=a,a", "b=c=d"])
    }
}
