import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
@testable import LedgerCore
@testable import PurchaseLedger
import Testing

/// A year in the life of one subscription.
enum SubscriptionYear {
    static let end = day(365)

    static func history(customer: Int = 1) -> PurchaseHistory {
        var history = PurchaseHistory(bundleID: Minted.bundleID, customer: customer)
        let subscription = history.subscribe(
            to: "basic", in: "group", for: .days(30), at: day(0), price: 4990, offer: .freeTrial)
        history.renew(subscription)
        history.raisePrice(of: subscription, to: 5990, at: day(40))
        history.turnOffRenewal(of: subscription, at: day(45))
        history.turnOnRenewal(of: subscription, at: day(47))
        history.acceptPriceIncrease(of: subscription, at: day(50))
        history.renew(subscription)
        history.failToRenew(subscription, gracePeriod: .seconds(16 * 86_400))
        history.renew(subscription, at: day(100))
        let pro = history.upgrade(subscription, to: "pro", for: .days(30), at: day(105), price: 9990)
        history.requestRefund(of: pro, at: day(107))
        history.declineRefund(of: pro, at: day(108))
        let last = history.renew(subscription)
        history.extend(subscription, by: .seconds(10 * 86_400), at: day(150))
        history.requestRefund(of: last, at: day(155), reason: .unsatisfiedWithPurchase)
        history.refund(last, at: day(156))
        history.turnOffRenewal(of: subscription, at: day(157))
        history.resubscribe(subscription, to: "basic", for: .days(30), at: day(200), price: 5990)
        history.failToRenew(subscription)
        history.resubscribe(subscription, at: day(320))
        history.turnOffRenewal(of: subscription, at: day(330))
        return history
    }
}

/// An event as a backend reads it.
struct PostedEvent {
    let members: [String: Any]

    init(_ json: String) throws {
        members = try #require(JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    }

    func text(_ name: String) -> String? { members[name] as? String }
    func number(_ name: String) -> Int64? { members[name] as? Int64 }
    var kind: String { text("kind") ?? "" }
    var isLifecycle: Bool { members["happened_at"] != nil }
}

extension PurchaseLedger {
    /// The events of an account in the order of their numbers.
    func posted(_ account: String) throws -> [PostedEvent] {
        let rows = try store.read { (connection) throws(LedgerError) in
            try connection.run("SELECT event FROM outbox WHERE account = $1 ORDER BY sequence", [.text(account)])
        }
        return try rows.map { try PostedEvent($0.text(0)) }
    }

    /// Contradictions between an account's lifecycle events and its subscription, and repeated events.
    func contradictions(of account: String, at date: Instant) throws -> [String] {
        let events = try posted(account)
        var faults: [String] = []
        func check(_ isRight: Bool, _ text: @autoclosure () -> String) { if !isRight { faults.append(text()) } }
        for pair in [["cancelled", "uncancelled"], ["billing-issue", "recovered"]] {
            let kinds = events.map(\.kind).filter(pair.contains)
            let alternating = kinds.indices.map { pair[$0 % 2] }
            check(kinds == alternating, "\(kinds)")
        }
        func last(_ kinds: String...) -> PostedEvent? { events.last { kinds.contains($0.kind) } }
        for subscription in try entitlements(of: account, at: date).subscriptions {
            let isCancelled = last("cancelled", "uncancelled")?.kind == "cancelled"
            // What was signed before the newest period was bought says nothing of it.
            let isCurrent = subscription.renewal?.covers(subscription.newestPeriod.purchase) ?? false
            let isOff = isCurrent && subscription.willRenew == false
            check(isCancelled == isOff, "will renew \(subscription.willRenew as Bool?)")
            guard let renewal = subscription.renewal, isCurrent else { continue }
            let hasExpired = renewal.expirationIntent != nil && renewal.isInBillingRetryPeriod != true
            let isTrying = renewal.isInBillingRetryPeriod == true
            let hasIssue = last("billing-issue", "recovered")?.kind == "billing-issue"
            if !hasExpired { check(hasIssue == isTrying, "in billing retry: \(isTrying)") }
            // What begins later than that is not over.
            let end = subscription.periods.last?.purchase.expiresDate ?? .distantPast
            let isGranted = events.contains { $0.kind == "granted" }
            if hasExpired, isGranted, end <= renewal.signedDate, subscription.periods.last?.quantity ?? 0 > 0 {
                check(last("expired") != nil, "did not expire")
            }
            if let change = last("product-change") {
                check(change.text("renews_as") == renewal.nextProductID, "renews as \(renewal.nextProductID ?? "-")")
            }
            if let increase = subscription.priceIncrease, increase != .none {
                check(last("price-increase")?.text("price_increase") == increase.rawValue, "price \(increase)")
            }
        }
        return faults
    }
}
