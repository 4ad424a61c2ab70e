import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@_spi(Ledger) @testable import AppStoreReceipt

/// `subscriptions` in the JSON of entitlements: what Apple signed last about the renewal.
@Suite struct SubscriptionStateTests {
    struct State: CustomTestStringConvertible, Sendable {
        let testDescription: String
        /// What the renewal information has besides, or in place of, an active subscription's.
        var members: [String: JSONValue] = [:]
        var asked = 10.0
        /// What its JSON has in place of that of an active subscription.
        let expected: [String: String]
    }

    private static func milliseconds(_ days: Double) -> JSONValue { .integer(day(days).millisecondsSince1970) }

    /// The JSON of each member of an active subscription that will renew.
    private static let active = [
        "original_transaction_id": #""1""#, "environment": #""production""#, "bundle_id": #""com.example.app""#,
        "product_id": #""basic""#, "subscription_group_id": #""group""#,
        "gives_access": "true", "until": #""2025-01-31T00:00:00Z""#, "will_renew": "true", "renews_as": #""basic""#,
        "renewal_date": #""2025-01-31T00:00:00Z""#, "renews_as_seats": "null", "in_grace_period": "false",
        "grace_period_expires_date": "null", "in_billing_retry": "null", "price_increase": #""none""#,
        "renewal_price": "1990", "renewal_currency": #""USD""#, "expiration_intent": "null",
        "renewal_offer": "null", "as_of": #""2025-01-06T00:00:00Z""#,
    ]

    /// The state of a subscription without usable renewal information.
    private static let unknown = [
        "original_transaction_id", "environment", "bundle_id", "product_id", "subscription_group_id", "gives_access",
        "until",
    ].reduce(into: active.mapValues { _ in "null" }) { $0[$1] = active[$1] }

    static let states = [
        State(testDescription: "it renews", expected: [:]),
        State(
            testDescription: "renewal is turned off", members: ["autoRenewStatus": 0], expected: ["will_renew": "false"]
        ),
        State(
            testDescription: "a status that is not known", members: ["autoRenewStatus": 7],
            expected: ["will_renew": "null"]),
        State(
            testDescription: "another product", members: ["autoRenewProductId": "gold"],
            expected: ["renews_as": #""gold""#]),
        State(testDescription: "seats", members: ["renewalQuantity": 9], expected: ["renews_as_seats": "9"]),
        State(
            testDescription: "a price increase without an answer", members: ["priceIncreaseStatus": 0],
            expected: ["price_increase": #""pending""#]),
        State(
            testDescription: "a price increase with an answer, or without need of one",
            members: ["priceIncreaseStatus": 1], expected: ["price_increase": #""agreed-or-notified""#]),
        State(
            testDescription: "a price increase that is not known", members: ["priceIncreaseStatus": 2],
            expected: ["price_increase": "null"]),
        State(
            testDescription: "another price", members: ["renewalPrice": 0, "currency": "JPY"],
            expected: ["renewal_price": "0", "renewal_currency": #""JPY""#]),
        State(
            testDescription: "an offer", members: ["offerType": 2, "offerIdentifier": "summer"],
            expected: ["renewal_offer": #"{"id":"summer","type":2}"#]),
        State(
            testDescription: "an offer without an id", members: ["offerType": 1],
            expected: ["renewal_offer": #"{"id":null,"type":1}"#]),
        State(
            testDescription: "a grace period",
            members: ["isInBillingRetryPeriod": true, "gracePeriodExpiresDate": milliseconds(36)], asked: 33,
            expected: [
                "until": #""2025-02-06T00:00:00Z""#, "in_grace_period": "true", "in_billing_retry": "true",
                "grace_period_expires_date": #""2025-02-06T00:00:00Z""#,
            ]),
        State(
            testDescription: "billing retry after a grace period",
            members: ["isInBillingRetryPeriod": true, "gracePeriodExpiresDate": milliseconds(36)], asked: 40,
            expected: [
                "until": #""2025-02-06T00:00:00Z""#, "gives_access": "false", "in_billing_retry": "true",
                "grace_period_expires_date": #""2025-02-06T00:00:00Z""#,
            ]),
        expired(1, "cancelled"), expired(2, "billing-error"), expired(3, "price-increase-declined"),
        expired(4, "product-unavailable"), expired(5, "other"), expired(6, nil),
    ]

    private static func expired(_ intent: Int64, _ word: String?) -> State {
        State(
            testDescription: "it expired by \(intent)",
            members: ["expirationIntent": .integer(intent), "autoRenewStatus": 0], asked: 31,
            expected: [
                "gives_access": "false", "will_renew": "false",
                "expiration_intent": word.map { #""\#($0)""# } ?? "null",
            ])
    }

    // MARK: Evidence

    private static let period = Transaction.period("1", 0..<30)

    private func renewalInfo(signed: Double = 5, _ members: [String: JSONValue] = [:]) throws -> String {
        var builder = JWSBuilder.renewalInfo(
            productID: "basic", originalTransactionID: "1", signedDate: day(signed))
        builder.payload["renewalDate"] = Self.milliseconds(30)
        for (name, value) in members { builder.payload[name] = value }
        return try Minted.jws(builder)
    }

    private func notification(_ renewalInfo: String, signed: Double = 5) throws -> String {
        try Minted.jws(
            .notification(
                .didChangeRenewalStatus, bundleID: Minted.bundleID,
                transaction: Minted.jws(Self.period.jws(signed: signed)), renewalInfo: renewalInfo,
                signedDate: day(signed)))
    }

    /// The JSON of each member of each subscription.
    private func subscriptions(_ json: String) throws -> [[String: String]] {
        let object = try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
        return try #require(object["subscriptions"] as? [[String: Any]]).map { subscription in
            try subscription.mapValues { value in
                let text = try JSONSerialization.data(withJSONObject: value, options: [.fragmentsAllowed, .sortedKeys])
                return String(decoding: text, as: UTF8.self)
            }
        }
    }

    // MARK: Tests

    @Test(arguments: states)
    func `each state has its members, by renewal information alone or in a notification`(_ state: State) throws {
        let verifier = try Minted.verifier()
        let renewalInfo = try renewalInfo(state.members)
        let transaction = try Minted.jws(Self.period.jws(signed: 5))
        let expected = Self.active.merging(state.expected) { $1 }
        for pieces in try [[transaction, renewalInfo], [renewalInfo, transaction], [notification(renewalInfo)]] {
            let decision = verifier.decision(on: pieces, in: .production, at: day(state.asked))
            #expect(decision.refusals.isEmpty)
            #expect(try subscriptions(decision.json) == [expected])
            #expect(try subscriptions(decision.entitlements.json) == [expected])
        }
    }

    @Test func `the members stand in one order`() throws {
        let pieces = try [Minted.jws(Self.period.jws(signed: 5)), renewalInfo()]
        let json = try Minted.verifier().decision(on: pieces, in: .production, at: day(10)).json
        #expect(
            json.contains(
                """
                ],"subscriptions":[{"original_transaction_id":"1","environment":"production",\
                "bundle_id":"com.example.app","product_id":"basic","subscription_group_id":"group","gives_access":true,"until":"2025-01-31T00:00:00Z","will_renew":true,"renews_as":"basic",\
                "renewal_date":"2025-01-31T00:00:00Z","renews_as_seats":null,"in_grace_period":false,\
                "grace_period_expires_date":null,"in_billing_retry":null,"price_increase":"none","renewal_price":1990,\
                "renewal_currency":"USD","expiration_intent":null,"renewal_offer":null,\
                "as_of":"2025-01-06T00:00:00Z"}],"accepted":[
                """))
    }

    @Test func `of several, the one that Apple signed last counts, in whatever order they come`() throws {
        let pieces = try [
            Minted.jws(Self.period.jws(signed: 5)), renewalInfo(signed: 5),
            renewalInfo(signed: 8, ["autoRenewStatus": 0, "autoRenewProductId": "gold"]),
            notification(renewalInfo(signed: 7, ["renewalPrice": 7]), signed: 9),
        ]
        let verifier = try Minted.verifier()
        let expected = Self.active.merging([
            "will_renew": "false", "renews_as": #""gold""#, "as_of": #""2025-01-09T00:00:00Z""#,
        ]) { $1 }
        for order in permutations(pieces) {
            let decision = verifier.decision(on: order, in: .production, at: day(10))
            #expect(try subscriptions(decision.json) == [expected])
        }
    }

    @Test func `of several that were signed at one time, one counts, in whatever order they come`() throws {
        let pieces = try [
            Minted.jws(Self.period.jws(signed: 5)), renewalInfo(["autoRenewStatus": 0]), renewalInfo(),
            renewalInfo(["renewalPrice": 7]),
        ]
        let verifier = try Minted.verifier()
        let answers = Set(
            permutations(pieces).map { verifier.decision(on: $0, in: .production, at: day(10)).entitlements.json })
        #expect(answers.count == 1)
    }

    @Test func `what an earlier version stored of the same information counts for less`() throws {
        let renewal = try Minted.verifier().verifyRenewalInfo(renewalInfo(["offerType": 2])).renewal
        var older = renewal
        (older.renewalPrice, older.currency, older.offer) = (nil, nil, nil)
        #expect(older.isSuperseded(by: renewal) && !renewal.isSuperseded(by: older))
        for order in permutations([renewal, older]) {
            let decided = Entitlements(trustingStored: [try Self.period.purchase()], renewals: order, at: day(10))
            #expect(decided.subscriptions.map(\.renewal) == [renewal])
        }
    }

    @Test func `nothing is known without renewal information`() throws {
        let decided = Entitlements(trustingStored: [try Self.period.purchase()], renewals: [], at: day(10))
        #expect(try subscriptions(decided.json) == [Self.unknown])
    }

    @Test(arguments: [OwnershipType.familyShared, .assigned, OwnershipType(rawValue: "FRIEND")])
    func `nothing is known of the renewal for whom somebody else bought it`(_ ownership: OwnershipType) throws {
        var purchase = try Self.period.purchase()
        purchase.ownershipType = ownership
        let renewal = try Minted.verifier().verifyRenewalInfo(renewalInfo())
        let decided = Entitlements(trustingStored: [purchase], renewals: [renewal.renewal], at: day(10))
        // What this version does not know is no subscription.
        let isKnown = OwnershipType.known.contains(ownership)
        #expect(try subscriptions(decided.json) == (isKnown ? [Self.unknown] : []))
        #expect(
            decided.subscriptions.allSatisfy { $0.renewal == nil && $0.willRenew == nil && $0.priceIncrease == nil })
    }

    @Test func `environments never mix`() throws {
        for environment in [AppStoreEnvironment.production, .sandbox, .xcode, .localTesting] {
            for other in [AppStoreEnvironment.production, .sandbox, .xcode, .localTesting, nil] {
                var purchase = try Self.period.purchase()
                purchase.environment = environment
                var renewal = SubscriptionRenewal(originalTransactionID: "1", signedDate: day(5))
                (renewal.environment, renewal.autoRenewStatus) = (other, .off)
                let decided = Entitlements(trustingStored: [purchase], renewals: [renewal], at: day(10))
                let willRenew = try subscriptions(decided.json)[0]["will_renew"]
                #expect(willRenew == (environment == other ? "false" : "null"))
            }
        }
    }

    @Test func `apps never mix`() throws {
        // Of each row: the apps of the purchases, that of the renewal information, and which of them it is about.
        for (apps, app, about) in [
            (["a"], nil, [true]), (["a"], "a", [true]), (["a"], "b", [false]), (["a"], "A", [false]),
            (["a", "b"], nil, [false, false]), (["a", "b"], "b", [false, true]),
            (["e\u{301}"], "\u{E9}", [false]),
        ] as [([String], String?, [Bool])] {
            let purchases = try apps.map { app in
                var purchase = try Self.period.purchase()
                purchase.bundleID = app
                return purchase
            }
            var renewal = SubscriptionRenewal(originalTransactionID: "1", signedDate: day(5))
            (renewal.environment, renewal.bundleID) = (.production, app)
            (renewal.autoRenewStatus, renewal.gracePeriodExpiresDate) = (.on, day(36))
            for order in permutations(purchases) {
                let decided = Entitlements(trustingStored: order, renewals: [renewal], at: day(33))
                for (app, isAbout) in zip(apps, about) {
                    let subscription = try #require(
                        decided.subscriptions.first { $0.currentPeriod.bundleID?.hasSameBytes(as: app) == true })
                    #expect((subscription.willRenew, subscription.isActive) == (isAbout ? true : nil, isAbout))
                }
            }
        }
    }

    @Test func `a notification says the app of its renewal information`() throws {
        let evidence = try Minted.verifier().verify(notification(renewalInfo()))
        #expect(evidence.renewals.map(\.renewal.bundleID) == [Minted.bundleID])
        #expect(try Minted.verifier().verifyRenewalInfo(renewalInfo()).renewal.bundleID == nil)
    }

    @Test func `stored renewal information decides the same`() throws {
        let renewal = try Minted.verifier().verifyRenewalInfo(
            renewalInfo(["offerType": 4, "offerIdentifier": "back", "renewalQuantity": 3, "offerPeriod": "P1M"]))
        let stored = StoredRenewal(renewal)
        #expect(try StoredRenewal(trusting: stored.json) == stored)
        let coded = try JSONDecoder().decode(SubscriptionRenewal.self, from: JSONEncoder().encode(renewal.renewal))
        #expect(coded == renewal.renewal && coded.hashValue == renewal.renewal.hashValue)
        #expect(coded.offer == PurchaseOffer(type: .winBack, id: "back", period: "P1M") && coded.renewalQuantity == 3)
    }

    /// Periods of one subscription from and to days.
    private func subscriptions(
        _ periods: [(Range<Double>, OwnershipType?)], _ renewals: [SubscriptionRenewal], at date: Instant
    ) -> [Subscription] {
        let purchases = periods.enumerated().map { index, period in
            StoredPurchase(
                trusting: Purchase(
                    productID: "basic", productType: .autoRenewableSubscription, transactionID: "\(index + 1)",
                    originalTransactionID: "1", bundleID: Minted.bundleID, environment: .production,
                    purchaseDate: day(period.0.lowerBound), expiresDate: day(period.0.upperBound), signedDate: day(0),
                    ownershipType: period.1))
        }
        return Entitlements(
            stored: purchases, renewals: renewals.map(StoredRenewal.init(trusting:)), at: date
        ).subscriptions
    }

    @Test func `a period within another one does not end access`() {
        for periods in [[0.0..<365, 60..<90], [0..<365, 60..<90, 70..<80]] {
            let found = subscriptions(periods.map { ($0, .purchased) }, [], at: day(75))
            #expect(found.map(\.expiresDate) == [day(365)], "\(periods)")
        }
    }

    @Test func `a family member's subscription has no renewal, whichever period says whose it is`() {
        var renewal = SubscriptionRenewal(originalTransactionID: "1", signedDate: day(31))
        (renewal.environment, renewal.autoRenewStatus) = (.production, .on)
        let periods = [(0.0..<30, .familyShared), (30.0..<60, nil)] as [(Range<Double>, OwnershipType?)]
        let found = subscriptions(periods, [renewal], at: day(40))
        #expect(found.map(\.periods.count) == [2] && found.allSatisfy { $0.renewal == nil && $0.willRenew == nil })
    }
}
