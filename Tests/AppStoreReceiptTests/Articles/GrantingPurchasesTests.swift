import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

// The code of the article GrantingPurchases, word for word; the last test here compares them.

/// Redeems what clients send, and follows Apple's notifications.
struct PurchaseEndpoint {
    let verifier: AppStoreVerifier
    var ledger: Ledger

    /// Redeems all purchases in the evidence for an account, and returns the outcome of each transaction.
    ///
    /// - Parameters:
    ///   - body: What the client sends: a receipt, a transaction's `jwsRepresentation`, or a JSON object that contains one.
    ///   - account: The account that your backend has authenticated. Never take it from the body.
    mutating func redeem(
        _ body: String, account: String, at now: Instant = .now
    ) throws(VerificationError) -> [String: Outcome] {
        let evidence = try verifier.verify(body)
        ledger.record(evidence)
        var outcomes: [String: Outcome] = [:]
        for purchase in evidence.purchases.map(\.purchase) {
            outcomes[purchase.transactionID] = ledger.redeem(purchase, for: account, at: now)
        }
        return outcomes
    }

    /// Records what a server notification says: refunds, reversals, renewals and grace periods.
    ///
    /// - Parameter body: What Apple's server posts, `{"signedPayload":"…"}`.
    /// - Returns: The accounts for which to decide again.
    mutating func receive(_ body: String) throws(VerificationError) -> Set<String> {
        ledger.record(.notification(try verifier.verifyNotification(body)))
    }
}

/// What the client is told about a transaction.
enum Outcome: Equatable {
    /// What the transaction gives now. It replaces what the transaction gave before: set the quantity, and do not add it.
    case granted(Entitlements.Access), alreadyYours(Entitlements.Access)
    case belongsToAnother, notYours, tooEarly, expired, revoked, notGrantable

    /// Whether the app may finish the transaction. StoreKit delivers an unfinished transaction again.
    var mayFinish: Bool { ![.notYours, .tooEarly, .notGrantable].contains(self) }
}

/// Who owns which purchases.
struct Ledger {
    /// The products that you sell, with their types: old evidence does not say them.
    let catalog: [String: StatedProductType]
    /// The account that owns an original transaction.
    private var owners: [String: String] = [:]
    /// Everything that was ever signed about the purchases of an original transaction, without copies.
    private var purchases: [String: Set<Purchase>] = [:]
    private var renewals: [String: Set<SubscriptionRenewal>] = [:]
    /// The transactions that were granted, with what each gave when it was last decided.
    private var granted: [String: Entitlements.Access] = [:]

    init(catalog: [String: StatedProductType]) { self.catalog = catalog }

    /// Grants a recorded purchase once, to the account that brought its original transaction first.
    mutating func redeem(_ purchase: Purchase, for account: String, at now: Instant) -> Outcome {
        let original = purchase.originalTransactionID
        guard catalog.keys.contains(purchase.productID) else { return .notGrantable }
        guard isPurchase(purchase, for: account) else { return .notYours }
        guard owners[original, default: account] == account else { return .belongsToAnother }
        owners[original] = account
        let items = entitlements([original], at: now).items
        guard let item = items.first(where: { $0.transactionID == purchase.transactionID }) else {
            return .notGrantable
        }
        switch item.access {
        case .active, .owned, .consumable: break
        case .notYet: return .tooEarly
        case .expired, .upgraded: return .expired
        case .revoked: return .revoked
        case .lengthUnknown, .undetermined: return .notGrantable
        }
        let known = grantedID(of: item, among: items)
        granted[known ?? item.transactionID] = item.access
        return known == nil ? .granted(item.access) : .alreadyYours(item.access)
    }

    /// The transaction under which a purchase was granted: a restored copy is the purchase that it restores, whichever came first.
    private func grantedID(of item: Entitlements.Item, among items: [Entitlements.Item]) -> String? {
        items.first { $0.firstTransactionID == item.firstTransactionID && granted[$0.transactionID] != nil }?
            .transactionID
    }

    /// Decides again for an account.
    ///
    /// - Returns: What has changed, by transaction id: what the transaction gives now. Take it back if it is not grantable.
    mutating func update(_ account: String, at now: Instant) -> [String: Entitlements.Access] {
        var changes: [String: Entitlements.Access] = [:]
        let items = entitlements(of: account, at: now).items
        for item in items {
            let known = grantedID(of: item, among: items)
            let mayGrant = catalog.keys.contains(item.productID) && isPurchase(item.purchase, for: account)
            guard known != nil || (item.access.isGrantable && mayGrant) else { continue }
            let id = known ?? item.transactionID
            if granted.updateValue(item.access, forKey: id) != item.access { changes[id] = item.access }
        }
        return changes
    }

    /// If the app named an account when it bought, the purchase is for that account only.
    private func isPurchase(_ purchase: Purchase, for account: String) -> Bool {
        purchase.appAccountToken.map { $0 == AppAccountToken(account) } ?? true
    }

    /// Records purchases, also those that no client has brought yet: evidence signed before a refund can arrive after it.
    ///
    /// - Returns: The owners of the purchases.
    @discardableResult
    mutating func record(_ evidence: VerifiedEvidence) -> Set<String> {
        var originals: Set<String> = []
        for purchase in evidence.purchases.map(\.purchase) {
            purchases[purchase.originalTransactionID, default: []].insert(purchase)
            originals.insert(purchase.originalTransactionID)
        }
        for renewal in evidence.renewals.map({ SubscriptionRenewal($0) }) {
            renewals[renewal.originalTransactionID, default: []].insert(renewal)
            originals.insert(renewal.originalTransactionID)
        }
        return Set(originals.compactMap { owners[$0] })
    }

    /// Returns what an account is entitled to at a date.
    func entitlements(of account: String, at date: Instant) -> Entitlements {
        entitlements(owners.filter { $0.value == account }.map(\.key), at: date)
    }

    private func entitlements(_ originals: [String], at date: Instant) -> Entitlements {
        Entitlements(
            trustingStored: originals.flatMap { purchases[$0, default: []] },
            renewals: originals.flatMap { renewals[$0, default: []] }, at: date,
            productTypes: catalog)
    }
}

extension PurchaseEndpoint {
    /// Follows a notification: records it, and decides again for the accounts that it is about.
    ///
    /// - Parameter body: What Apple's server posts, `{"signedPayload":"…"}`.
    /// - Returns: What has changed, by account and transaction id.
    mutating func follow(
        _ body: String, at now: Instant = .now
    ) throws(VerificationError) -> [String: [String: Entitlements.Access]] {
        var changes: [String: [String: Entitlements.Access]] = [:]
        for account in try receive(body) { changes[account] = ledger.update(account, at: now) }
        return changes
    }
}

@Suite struct GrantingPurchasesTests {
    private var endpoint: PurchaseEndpoint
    private static let signed = JWSBuilder.defaultDate

    init() throws {
        let catalog: [String: StatedProductType] = [
            "pro": .nonConsumable, "coins": .consumable, "month": .nonRenewing(days: 30),
        ]
        endpoint = PurchaseEndpoint(verifier: try Minted.verifier(), ledger: Ledger(catalog: catalog))
    }

    private func jws(
        _ transactionID: String, signed: Instant = Self.signed, _ members: (String, JSONValue)...
    ) throws -> String {
        var builder = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "pro", transactionID: transactionID)
        builder.payload["signedDate"] = .integer(signed.millisecondsSince1970)
        for (name, value) in members { builder.payload[name] = value }
        return try builder.signed(by: Minted.ellipticAuthority)
    }

    private func notification(_ type: NotificationType, _ transaction: String) throws -> String {
        try JWSBuilder.notification(type, bundleID: Minted.bundleID, transaction: transaction)
            .signed(by: Minted.ellipticAuthority)
    }

    private func refund(_ transactionID: String, signed: Instant = Self.signed) throws -> String {
        try notification(.refund, jws(transactionID, signed: signed, ("revocationDate", 1_749_988_800_000)))
    }

    private func receipt(_ purchases: ReceiptBuilder.Purchase...) throws -> String {
        let receipt = ReceiptBuilder(bundleID: Minted.bundleID, purchases: purchases)
        return Data(try receipt.signed(by: Minted.authority)).base64EncodedString()
    }

    @Test mutating func `a transaction is granted once, whether it comes as a JWS or in a receipt`() throws {
        let (jws, receipt) = try (
            jws("1000"), receipt(.nonConsumable("pro", transactionID: "1000"), .consumable("coins", transactionID: "1"))
        )
        #expect(try endpoint.redeem(jws, account: "a") == ["1000": .granted(.owned)])
        #expect(try endpoint.redeem(jws, account: "a") == ["1000": .alreadyYours(.owned)])
        #expect(
            try endpoint.redeem(receipt, account: "a") == [
                "1000": .alreadyYours(.owned), "1": .granted(.consumable(quantity: 1)),
            ])
        #expect(try endpoint.redeem(receipt, account: "b") == ["1000": .belongsToAnother, "1": .belongsToAnother])
        #expect(endpoint.ledger.entitlements(of: "a", at: .now).activeProductIDs == ["pro"])
        #expect(endpoint.ledger.entitlements(of: "b", at: .now).items.isEmpty)
    }

    @Test mutating func `a restored or renewed transaction does not unlock for a second account`() throws {
        #expect(try endpoint.redeem(jws("1"), account: "a") == ["1": .granted(.owned)])
        #expect(try endpoint.redeem(jws("2", ("originalTransactionId", "1")), account: "b") == ["2": .belongsToAnother])
        let copy = try jws("2", ("originalTransactionId", "1"))
        #expect(try endpoint.redeem(copy, account: "a") == ["2": .alreadyYours(.owned)])
        // A refund of the purchase is one of its copy.
        #expect(try endpoint.follow(refund("1", signed: Self.signed + .seconds(60)))["a"]?.keys.sorted() == ["1"])
        #expect(try endpoint.redeem(copy, account: "a") == ["2": .revoked])
    }

    @Test mutating func `of a purchase and its restored copy, the one that comes first is granted`() throws {
        #expect(try endpoint.redeem(jws("2", ("originalTransactionId", "1")), account: "a") == ["2": .granted(.owned)])
        #expect(try endpoint.redeem(jws("1"), account: "a") == ["1": .alreadyYours(.owned)])
    }

    @Test mutating func `a token that the app wrote in uppercase is the one that Apple writes in lowercase`() throws {
        let token = "9c3e0a4f-1c5d-4b0e-8a57-3d0b8d1b6f00"
        let jws = try jws("1", ("appAccountToken", .string(token)))
        #expect(try endpoint.redeem(jws, account: "a") == ["1": .notYours])
        #expect(!Outcome.notYours.mayFinish && Outcome.belongsToAnother.mayFinish)
        #expect(try endpoint.redeem(jws, account: token.uppercased()) == ["1": .granted(.owned)])
    }

    @Test mutating func `a product that is not sold is not granted, and a non-renewing subscription ends`() throws {
        #expect(try endpoint.redeem(jws("1", ("productId", "other")), account: "a") == ["1": .notGrantable])
        let month = try jws("2", ("productId", "month"), ("type", "Non-Renewing Subscription"))
        let bought = Self.signed - .seconds(1)
        #expect(
            try endpoint.redeem(month, account: "a", at: bought + .seconds(86_400)) == [
                "2": .granted(.active(until: bought + .seconds(30 * 86_400)))
            ])
        #expect(try endpoint.redeem(month, account: "a", at: bought + .seconds(31 * 86_400)) == ["2": .expired])
    }

    @Test mutating func `a lapsed subscription has an owner, whose renewal a notification brings`() throws {
        func period(_ id: String, _ start: Int64, _ end: Int64) throws -> String {
            try jws(
                id, ("originalTransactionId", "1"), ("type", "Auto-Renewable Subscription"),
                ("purchaseDate", .integer(start)), ("expiresDate", .integer(end)))
        }
        let now = Instant(millisecondsSince1970: 1_750_000_000_000)
        let lapsed = try period("1", 1_700_000_000_000, 1_710_000_000_000)
        #expect(try endpoint.redeem(lapsed, account: "a", at: now) == ["1": .expired])
        let renewed = try notification(.didRenew, period("2", 1_749_000_000_000, 1_751_000_000_000))
        #expect(try endpoint.receive(renewed) == ["a"])
        #expect(endpoint.ledger.entitlements(of: "a", at: now).activeProductIDs == ["pro"])
    }

    @Test mutating func `what was refunded or begins later is not granted, and the client is told`() throws {
        let refunded = try jws("2", ("revocationDate", 1_749_988_800_000))
        #expect(try endpoint.redeem(refunded, account: "a") == ["2": .revoked])
        #expect(try endpoint.redeem(jws("3", ("purchaseDate", 4_000_000_000_000)), account: "a") == ["3": .tooEarly])
        #expect(!Outcome.tooEarly.mayFinish && Outcome.revoked.mayFinish)
    }

    @Test mutating func `a refund holds against older evidence, whichever comes first`() throws {
        let old = try jws("1000")
        let refund = try refund("1000", signed: Self.signed + .seconds(60))
        #expect(try endpoint.redeem(old, account: "a") == ["1000": .granted(.owned)])
        #expect(try endpoint.receive(refund) == ["a"])
        #expect(try endpoint.redeem(old, account: "a") == ["1000": .revoked])
        #expect(endpoint.ledger.entitlements(of: "a", at: .now).activeProductIDs == [])
        _ = try endpoint.receive(self.refund("7", signed: Self.signed + .seconds(60)))
        #expect(try endpoint.redeem(jws("7"), account: "a") == ["7": .revoked])
        #expect(
            try endpoint.redeem(receipt(.nonConsumable("pro", transactionID: "7")), account: "a") == ["7": .revoked])
    }

    @Test(arguments: [false, true])
    mutating func `a reversed refund restores the purchase to its owner, in either order`(isReversedFirst: Bool) throws
    {
        _ = try endpoint.redeem(jws("1000"), account: "a")
        var notifications = [
            try refund("1000", signed: Self.signed + .seconds(60)),
            try notification(.refundReversed, jws("1000", signed: Self.signed + .seconds(120))),
        ]
        if isReversedFirst { notifications.reverse() }
        for notification in notifications { _ = try endpoint.receive(notification) }
        #expect(endpoint.ledger.entitlements(of: "a", at: .now).activeProductIDs == ["pro"])
        #expect(try endpoint.redeem(jws("1000"), account: "a") == ["1000": .alreadyYours(.owned)])
        #expect(try endpoint.redeem(jws("1000"), account: "b") == ["1000": .belongsToAnother])
    }

    @Test mutating func `what a notification changes is set, taken back or granted`() throws {
        func coins(_ id: String, _ seconds: Int64, _ members: (String, JSONValue)...) throws -> String {
            var builder = JWSBuilder.transaction(
                bundleID: Minted.bundleID, productID: "coins", transactionID: id,
                signedDate: Self.signed + .seconds(seconds))
            builder.payload["type"] = "Consumable"
            builder.payload["quantity"] = 4
            builder.payload["purchaseDate"] = 1_749_988_799_000
            for (name, value) in members { builder.payload[name] = value }
            return try builder.signed(by: Minted.ellipticAuthority)
        }
        #expect(try endpoint.redeem(coins("1", 0), account: "a") == ["1": .granted(.consumable(quantity: 4))])
        let prorated: [(String, JSONValue)] = [
            ("revocationDate", 1_749_988_860_000), ("revocationType", "REFUND_PRORATED"),
            ("revocationPercentage", 50_000),
        ]
        let half = try notification(.refund, coins("1", 60, prorated[0], prorated[1], prorated[2]))
        let body = #"{"signedPayload":"\#(half)"}"#
        #expect(try endpoint.follow(body) == ["a": ["1": .consumable(quantity: 2)]])
        #expect(try endpoint.follow(body) == ["a": [:]])
        let whole = try notification(
            .refund, coins("1", 120, ("revocationDate", 1_749_988_920_000), ("revocationType", "REFUND_FULL")))
        let revoked = try endpoint.follow(whole)["a"]?["1"]
        #expect(revoked?.isGrantable == false)
        let reversed = try notification(.refundReversed, coins("1", 180))
        #expect(try endpoint.follow(reversed) == ["a": ["1": .consumable(quantity: 4)]])
        // A renewal is a new transaction of the owner; a product that is not sold is no change.
        let next = try notification(.didRenew, jws("2", ("originalTransactionId", "1")))
        #expect(try endpoint.follow(next) == ["a": ["2": .owned]])
        let unsold = try notification(.didRenew, jws("3", ("originalTransactionId", "1"), ("productId", "other")))
        #expect(try endpoint.follow(unsold) == ["a": [:]])
    }

    @Test mutating func `what is forged is refused, as a forgery`() throws {
        let forged = try Minted.transaction.signed(by: Minted.ellipticStranger)
        let error = #expect(throws: VerificationError.self) { try endpoint.redeem(forged, account: "a") }
        #expect(error?.category == .forgery && error?.category.httpStatus == 403)
    }

    @Test func `the article on granting purchases shows this code`() throws {
        let article = try Article("GrantingPurchases")
        #expect(article.code.count == 3)
        #expect(try article.codeMissing(in: #filePath) == [])
    }
}
