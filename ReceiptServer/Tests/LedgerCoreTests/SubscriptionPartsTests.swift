@_spi(Ledger) import AppStoreReceipt
@testable import LedgerCore
import LedgerModels
import Sampling
import SeededRandom
import StrictText
import Testing

extension SubscriptionPart {
    fileprivate var transactions: [TransactionKey] { periods.flatMap(\.transactions) }
}

/// The parts of large subscriptions.
@Suite struct SubscriptionPartsTests {
    @Test func `the parts of a subscription decide what the whole decides`() throws {
        var generator = SeededGenerator()
        var dividedCount = 0
        for _ in 0..<Sampling.count("subscription-parts") {
            let purchases = randomPurchases(using: &generator)
            var variants: [TransactionKey: [Lineage.Variant]] = [:]
            for (number, purchase) in purchases.enumerated() {
                let key = try #require(PurchaseKeys(purchase)?.transaction)
                variants[key, default: []].append(Lineage.Variant(number: Int64(number), purchase: purchase))
            }
            let divided = try #require(SubscriptionParts(variants))
            #expect(divided.parts.flatMap(\.transactions).count == variants.count)
            for (part, next) in zip(divided.parts, divided.parts.dropFirst()) {
                #expect(part.span.upperBound <= next.span.lowerBound)
            }
            if divided.parts.count > 1 { dividedCount += 1 }
            let now = day(Double(Int.random(in: -1...13, using: &generator)))
            // Leave out the purchases' keys: the ledger grants nothing by them, and they depend on other items.
            func items(_ purchases: [Purchase]) -> [String: String] {
                let items = Entitlements(trustingStored: purchases, at: now).items
                return Dictionary(
                    uniqueKeysWithValues: items.map {
                        let decided = (
                            $0.purchase, $0.access, $0.reason, $0.accessEndDate, $0.quantity, $0.seats, $0.periodSeats,
                            $0.nextChange, $0.firstTransactionID
                        )
                        return ($0.transactionID, "\(decided)")
                    })
            }
            let parts = divided.parts.map { part in
                items(part.transactions.flatMap { variants[$0, default: []].map(\.purchase) })
            }
            let whole = items(purchases)
            let together = parts.reduce(into: [:]) { $0.merge($1) { $1 } }
            guard together == whole else {
                Issue.record("\(generator): \(purchases)")
                return
            }
        }
        #expect(dividedCount > 1000)
    }

    @Test func `a transaction that contradicts itself, or that Apple moved, is in no part`() {
        var period = Purchase(
            productID: "monthly", transactionID: "2", originalTransactionID: "1", purchaseDate: day(0),
            signedDate: day(0))
        (period.productType, period.expiresDate, period.webOrderLineItemID) = (.autoRenewableSubscription, day(30), "9")
        func item(_ change: (inout Purchase) -> Void) -> String? {
            var other = period
            change(&other)
            return SubscriptionPeriod([period, other]).map { $0.lineItem?.string ?? "none" }
        }
        #expect(item { _ in } == "9" && SubscriptionPeriod([]) == nil)
        #expect(item { $0.expiresDate = nil } == nil && item { $0.productType = .nonRenewingSubscription } == nil)
        #expect(
            item { $0.previousOriginalTransactionID = "1" } == nil && item { $0.originalTransactionID = "3" } == nil)
        #expect(item { $0.webOrderLineItemID = "8" } == nil && item { $0.webOrderLineItemID = "\u{0}" } == nil)
        period.webOrderLineItemID = "\u{0}"
        #expect(SubscriptionPeriod([period]) == nil)
        period.webOrderLineItemID = "9"
        // These name none.
        for name in [nil, "", "0"] as [String?] { #expect(item { $0.webOrderLineItemID = name } == "9") }
        let later = SubscriptionPeriod(
            [period, period].enumerated().map { index, purchase in
                var purchase = purchase
                purchase.purchaseDate = day(Double(index - 1))
                purchase.expiresDate = day(Double(30 - index))
                return purchase
            })
        #expect(later?.span == day(-1).millisecondsSince1970..<day(30).millisecondsSince1970)
    }

    private func decided(
        _ purchases: [Purchase], forSale: [String]? = nil, at now: Instant
    ) throws -> Division? {
        var lineage = Lineage(id: 1)
        lineage.owner = Lineage.Ownership(account: "anna", claimedAt: day(0), order: .number(1), basis: .lasting)
        lineage.storedTransactionCount = purchases.count
        var lineages = Lineages()
        lineages.byID[1] = lineage
        for purchase in purchases { lineages.identifiers[try #require(PurchaseKeys(purchase)?.transaction)] = 1 }
        let rules = LedgerRules(
            forSale: forSale.map { Set($0.map(UTF8Bytes.init)) }, clockAllowance: .seconds(300), productTypes: [:],
            usesTokens: false, requiresTokenSince: nil, notifiesLifecycles: false, wholeLineageLimit: 0)
        let submission = Submission(purchases.map { SubmittedPurchase($0) })
        var decision = LedgerDecision(submission, about: [1], in: lineages, rules, .redeem, at: now)
        decision.settle()
        return decision.lineages.byID[1]?.division
    }

    private func period(_ days: Range<Double>, _ id: String = "1", of original: String = "1") -> Purchase {
        Purchase(
            productID: "monthly", productType: .autoRenewableSubscription, transactionID: id,
            originalTransactionID: original, bundleID: Minted.bundleID, environment: .production,
            purchaseDate: day(days.lowerBound), expiresDate: day(days.upperBound), signedDate: day(0))
    }

    @Test func `a part is loaded when time changes what the account has of it, and always if a setting can`() throws {
        func change(
            _ days: Range<Double>, refunded: Double? = nil, forSale: [String]? = nil
        ) throws -> Instant? {
            var period = period(days, "1")
            if let refunded { period.revocation = .revoked(.init(date: day(refunded))) }
            let periods = try #require(try decided([period], forSale: forSale, at: day(10))?.periods)
            return periods.values.first?.changesAt.map(Instant.init(millisecondsSince1970:))
        }
        #expect(try change(0..<30) == nil && change(0..<5) == nil)
        #expect(try change(0..<30, refunded: 20) == day(20))
        // How far a clock can be behind, and what is for sale, are settings.
        #expect(try change(20..<50) == .distantPast && change(0..<30, forSale: []) == .distantPast)
    }

    @Test func `a lineage whose transactions name two original transactions is not divided`() throws {
        let periods = ["1", "2"].map { period(0..<30, "3\($0)", of: $0) }
        #expect(try decided(periods, at: day(10)) == nil)
        #expect(try decided([periods[0], period(30..<60, "33")], at: day(10))?.original.string == "1")
    }

    /// On few dates, so that all coincidences occur.
    private func randomPurchases(using generator: inout SeededGenerator) -> [Purchase] {
        func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }
        func date() -> Instant { day(Double(number(0...12))) }
        var lineItems: [Int: String] = [:]
        return (0..<number(1...9)).map { _ in
            let id = number(1...7)
            var purchase = Purchase(
                productID: ["monthly", "yearly", "gold"][number(0...2)], transactionID: "\(id)",
                originalTransactionID: "1", purchaseDate: date(), signedDate: date())
            purchase.productType = .autoRenewableSubscription
            purchase.bundleID = Minted.bundleID
            purchase.environment = .production
            purchase.expiresDate =
                number(0...9) == 0 ? date() : purchase.purchaseDate + .seconds(86_400 * number(0...4))
            if number(0...2) == 0 {
                lineItems[id] = lineItems[id] ?? "\(number(0...4))"
                purchase.webOrderLineItemID = lineItems[id]
            }
            purchase.isUpgraded = [nil, false, true][number(0...2)]
            if number(0...3) == 0 {
                let moment = number(0...1) == 0 ? purchase.purchaseDate : date()
                let revoked = number(0...4) == 0 ? nil : moment + .seconds(number(-1...1) * 30)
                purchase.revocation = .revoked(.init(date: revoked))
            }
            if number(0...9) == 0 { purchase.evidenceExpirationDate = date() }
            if number(0...2) == 0 { purchase.additionalTransactionReason = .seatAddition }
            if number(0...1) == 0 { (purchase.quantity, purchase.multiSeatInfo) = (number(1...3), PurchaseSeatInfo()) }
            return purchase
        }
    }
}
