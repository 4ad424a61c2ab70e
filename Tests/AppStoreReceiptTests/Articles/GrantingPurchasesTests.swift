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
    ///   - body: What the client sends: a receipt, a transaction's `jwsRepresentation`, or a JSON object that contains
    ///     one.
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

/// The answer to the client about a transaction.
enum Outcome: Equatable {
    /// What the transaction gives now. It replaces what the transaction gave before: set the quantity, and do not add
    /// it.
    case granted(Entitlements.Access), alreadyYours(Entitlements.Access)
    case belongsToAnother, notYours, tooEarly, expired, revoked, notGrantable

    /// Whether the app may finish the transaction. StoreKit delivers an unfinished transaction again.
    var mayFinish: Bool { ![.notYours, .tooEarly, .notGrantable].contains(self) }
}

/// The owners of the purchases.
struct Ledger {
    /// The products that you sell, with their types: old evidence does not say them.
    let catalog: ProductCatalog
    /// The account that owns a line of purchases, and the transaction by which it does.
    private var owners: [String: (account: String, transactionID: String)] = [:]
    /// The transactions of its lines that each account submitted.
    private var submitted: [String: Set<String>] = [:]
    /// The line of each transaction.
    private var lines: [String: String] = [:]
    /// Everything that was ever signed about the purchases of a line, without copies.
    private var purchases: [String: Set<StoredPurchase>] = [:]
    private var renewals: [String: Set<StoredRenewal>] = [:]
    /// The account that was granted a purchase, and what it gave when it was last decided, by the purchase's key.
    private var granted: [String: (account: String, access: Entitlements.Access)] = [:]
    /// The key under which each transaction was granted.
    private var keys: [String: String] = [:]

    init(catalog: ProductCatalog) { self.catalog = catalog }

    /// Grants a recorded purchase once, to the account that brought one of its line first.
    mutating func redeem(_ purchase: Purchase, for account: String, at now: Instant) -> Outcome {
        let line = line(of: purchase)
        guard catalog[purchase.productID] != nil else { return .notGrantable }
        guard isPurchase(purchase, for: account) else { return .notYours }
        guard owners[line]?.account ?? account == account else { return .belongsToAnother }
        if owners[line] == nil { owners[line] = (account, purchase.transactionID) }
        submitted[account, default: []].insert(purchase.transactionID)
        let items = entitlements(of: account, at: now).items
        guard let item = items.first(where: { $0.transactionID == purchase.transactionID }),
            let current = item.purchaseKey
        else { return .notGrantable }
        switch item.access {
        case .active, .owned, .consumable: break
        case .notYet: return .tooEarly
        case .expired, .upgraded: return .expired
        case .revoked: return .revoked
        default: return .notGrantable  // What is not known, also to this version.
        }
        let key = take(items.filter { $0.purchaseKey == current }, as: current, for: account)
        guard granted[key]?.account ?? account == account else { return .belongsToAnother }
        keys[item.transactionID] = key
        let known = granted.updateValue((account, item.access), forKey: key)
        return known == nil ? .granted(item.access) : .alreadyYours(item.access)
    }

    /// Replaces the former keys of an account's grant by the current key. A grant of another account under a former key
    /// is another purchase.
    ///
    /// - Parameter siblings: All transactions of the purchase. Together, they have all keys that it had.
    /// - Returns: The key of the grant. It stays a former one while another account has the current key, because a
    ///   member's receipt looked like the buyer's.
    private mutating func take(_ siblings: [Entitlements.Item], as key: String, for account: String) -> String {
        let former = siblings.flatMap { $0.formerPurchaseKeys + [keys[$0.transactionID]].compactMap(\.self) }
        for former in former where former != key && granted[former]?.account == account {
            guard granted[key]?.account ?? account == account else { return former }
            let grant = granted.removeValue(forKey: former)
            granted[key] = granted[key] ?? grant
        }
        return key
    }

    /// Decides again for an account. Call it when a notification arrives, and at the returned date.
    ///
    /// - Returns: What has changed, by the key of the grant: what the purchase gives now. Take it back if it is not
    ///   grantable. And when to decide again, since Apple does not notify of it.
    mutating func update(
        _ account: String, at now: Instant
    ) -> (changes: [String: Entitlements.Access], nextChange: Instant?) {
        var changes: [String: Entitlements.Access] = [:]
        let entitlements = entitlements(of: account, at: now)
        let items = entitlements.items
        let siblings = Dictionary(grouping: items, by: \.purchaseKey)
        var taken: [String: String] = [:]
        for current in items.compactMap(\.purchaseKey) where taken[current] == nil {
            taken[current] = take(siblings[current] ?? [], as: current, for: account)
        }
        for item in items {
            guard let key = item.purchaseKey.flatMap({ taken[$0] }) else { continue }
            let isKnown = granted[key]?.account == account
            guard isKnown || (granted[key] == nil && mayGrant(item, to: account)) else { continue }
            keys[item.transactionID] = key
            let known = granted.updateValue((account, item.access), forKey: key)
            if known?.access != item.access { changes[key] = item.access }
        }
        return (changes, entitlements.nextChange)
    }

    /// Whether an update may grant a transaction. If only another account submitted it, in a receipt, it can be a
    /// member's.
    private func mayGrant(_ item: Entitlements.Item, to account: String) -> Bool {
        let isSubmitted = submitted[account]?.contains(item.transactionID) ?? false
        return catalog[item.productID] != nil && item.access.isGrantable && isPurchase(item.purchase, for: account)
            && (isSubmitted || item.purchase.ownershipType != nil)
    }

    /// If the app named an account when it bought, the purchase is for that account only.
    private func isPurchase(_ purchase: Purchase, for account: String) -> Bool {
        purchase.appAccountToken.map { $0 == AppAccountToken(account) } ?? true
    }

    /// What a purchase has in common with its renewals and restored copies: the original transaction, which members of
    /// a family or group can have in common with the buyer. A receipt does not say who is a member.
    private func line(of purchase: Purchase) -> String {
        switch purchase.ownershipType {
        case .familyShared?, .assigned?:
            "\(purchase.originalTransactionID) of \(purchase.appTransactionID ?? purchase.transactionID)"
        case nil: lines[purchase.transactionID] ?? purchase.originalTransactionID
        default: purchase.originalTransactionID
        }
    }

    /// Records purchases, also those that no client has brought yet: evidence signed before a refund can arrive after
    /// it.
    ///
    /// - Returns: The owners of the purchases.
    @discardableResult
    mutating func record(_ evidence: VerifiedEvidence) -> Set<String> {
        var originals: Set<String> = []
        for purchase in evidence.purchases.map({ StoredPurchase($0) }) {
            let line = line(of: purchase.purchase)
            let old = lines.updateValue(line, forKey: purchase.transactionID)
            if let old, old != line { move(purchase.transactionID, from: old, to: line) }
            purchases[line, default: []].insert(purchase)
            originals.insert(purchase.originalTransactionID)
        }
        for renewal in evidence.renewals.map({ StoredRenewal($0) }) {
            renewals[renewal.originalTransactionID, default: []].insert(renewal)
            originals.insert(renewal.originalTransactionID)
        }
        let lines = purchases.filter { $0.value.contains { originals.contains($0.originalTransactionID) } }.keys
        return Set(lines.compactMap { owners[$0]?.account })
    }

    /// Moves a transaction, which turns out to be a member's, with the claim that was made by it.
    private mutating func move(_ transactionID: String, from old: String, to line: String) {
        let moved = purchases[old, default: []].filter { $0.transactionID == transactionID }
        purchases[old]?.subtract(moved)
        purchases[line, default: []].formUnion(moved)
        guard let claim = owners[old], claim.transactionID == transactionID else { return }
        owners[old] = nil
        owners[line] = owners[line] ?? claim
    }

    /// Returns what an account is entitled to at a date.
    func entitlements(of account: String, at date: Instant) -> Entitlements {
        let known = owners.filter { $0.value.account == account }.flatMap { purchases[$0.key, default: []] }
        return Entitlements(
            stored: known,
            renewals: Set(known.map(\.originalTransactionID)).flatMap { renewals[$0, default: []] }, at: date,
            productTypes: catalog)
    }
}

extension PurchaseEndpoint {
    /// Follows a notification: records it, and decides again for the accounts that it is about.
    ///
    /// - Parameter body: What Apple's server posts, `{"signedPayload":"…"}`.
    /// - Returns: What has changed, by account and the key of the grant, and when to decide again for the account.
    mutating func follow(
        _ body: String, at now: Instant = .now
    ) throws(VerificationError) -> [String: (changes: [String: Entitlements.Access], nextChange: Instant?)] {
        var decided: [String: (changes: [String: Entitlements.Access], nextChange: Instant?)] = [:]
        for account in try receive(body) { decided[account] = ledger.update(account, at: now) }
        return decided
    }
}

@Suite struct GrantingPurchasesTests {
    private var endpoint: PurchaseEndpoint
    private static let signed = JWSBuilder.defaultDate

    init() throws {
        let catalog: ProductCatalog = [
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

    /// The changes that each account is notified of.
    private mutating func changes(_ body: String) throws -> [String: [Entitlements.Access]] {
        try endpoint.follow(body).mapValues { Array($0.changes.values) }
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
        #expect(
            try changes(refund("1", signed: Self.signed + .seconds(60))) == [
                "a": [.revoked(at: Instant(millisecondsSince1970: 1_749_988_800_000))]
            ])
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
        #expect(try changes(body) == ["a": [.consumable(quantity: 2)]])
        #expect(try changes(body) == ["a": []])
        let whole = try notification(
            .refund, coins("1", 120, ("revocationDate", 1_749_988_920_000), ("revocationType", "REFUND_FULL")))
        #expect(try changes(whole)["a"]?.map(\.isGrantable) == [false])
        let reversed = try notification(.refundReversed, coins("1", 180))
        #expect(try changes(reversed) == ["a": [.consumable(quantity: 4)]])
        // A renewal is a new transaction of the owner; a product that is not sold is no change.
        let next = try notification(.didRenew, jws("2", ("originalTransactionId", "1")))
        #expect(try changes(next) == ["a": [.owned]])
        let unsold = try notification(.didRenew, jws("3", ("originalTransactionId", "1"), ("productId", "other")))
        #expect(try changes(unsold) == ["a": []])
    }

    @Test mutating func `a renewal that begins later is granted when it begins`() throws {
        let (now, later) = (Self.signed, Self.signed + .seconds(72_000))
        let renewal = try jws(
            "2", ("originalTransactionId", "1"), ("type", "Auto-Renewable Subscription"),
            ("purchaseDate", .integer(later.millisecondsSince1970)),
            ("expiresDate", .integer((later + .seconds(86_400)).millisecondsSince1970)))
        #expect(try endpoint.redeem(renewal, account: "a", at: now) == ["2": .tooEarly])
        let decided = try endpoint.follow(notification(.didRenew, renewal), at: now)["a"]
        #expect(decided?.changes.isEmpty == true && decided?.nextChange == later)
        let begun = endpoint.ledger.update("a", at: later)
        #expect(Array(begun.changes.values) == [.active(until: later + .seconds(86_400))] && begun.nextChange == nil)
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
