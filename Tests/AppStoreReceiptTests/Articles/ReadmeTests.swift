import AppStoreReceipt
import AppStoreReceiptTesting
import SpanASN1
import TestSupport
import Testing

// The code of README.md, word for word; the last test here compares them.

/// Stores what a client sent, and updates what the account has. Your server has authenticated the account.
func redeem(_ body: [UInt8], account: String, _ verifier: AppStoreVerifier, _ store: some PurchaseStore) throws {
    let evidence = try verifier.verify(body)  // a receipt, a transaction's jwsRepresentation, or JSON with one
    let renewals = evidence.renewals.map { StoredRenewal($0) }
    try store.add(evidence.purchases.map { StoredPurchase($0) }, renewals, firstOwner: account)
    try decide(for: account, store)
}

/// Decides what an account has now. Call it again at the date that it keeps: a renewal begins, or a refund takes effect.
func decide(for account: String, _ store: some PurchaseStore) throws {
    let known = try store.everything(of: account)
    let now = Entitlements(stored: known.purchases, renewals: known.renewals, at: .now)
    for item in now.items {
        print(item.transactionID, item.productID, item.access.code)
        guard let key = item.purchaseKey else { continue }
        try store.set(item.access, of: key, formerly: item.formerPurchaseKeys, for: account)  // sets, and never adds
    }
    try store.decideAgain(for: account, at: now.nextChange)
}

/// Your database. `add` keeps each original transaction for the account that brought it first, and throws for others.
protocol PurchaseStore {
    func add(_ purchases: [StoredPurchase], _ renewals: [StoredRenewal], firstOwner account: String) throws
    func everything(of account: String) throws -> (purchases: [StoredPurchase], renewals: [StoredRenewal])
    func set(_ access: Entitlements.Access, of key: String, formerly: [String], for account: String) throws
    func decideAgain(for account: String, at date: Instant?) throws
}

/// A store in memory.
private final class MemoryStore: PurchaseStore {
    struct BelongsToAnother: Error {}

    private var purchases: [(account: String, purchase: StoredPurchase)] = []
    private var renewals: [StoredRenewal] = []
    /// What each account was granted, by purchase key.
    private(set) var grants: [String: (account: String, access: Entitlements.Access)] = [:]
    private(set) var nextChange: Instant?

    func add(_ purchases: [StoredPurchase], _ renewals: [StoredRenewal], firstOwner account: String) throws {
        for purchase in purchases {
            let isForeign = self.purchases.contains {
                $0.purchase.originalTransactionID == purchase.originalTransactionID && $0.account != account
            }
            guard !isForeign else { throw BelongsToAnother() }
            self.purchases.append((account, purchase))
        }
        self.renewals += renewals
    }

    func everything(of account: String) -> (purchases: [StoredPurchase], renewals: [StoredRenewal]) {
        (purchases.filter { $0.account == account }.map(\.purchase), renewals)
    }

    func set(_ access: Entitlements.Access, of key: String, formerly: [String], for account: String) throws {
        for former in formerly where grants[former]?.account == account { grants[former] = nil }
        guard grants[key]?.account ?? account == account else { throw BelongsToAnother() }
        grants[key] = (account, access)
    }

    func decideAgain(for account: String, at date: Instant?) { nextChange = date }

    /// What the README's function prints of each purchase.
    var lines: [String] {
        Entitlements(stored: purchases.map(\.purchase), renewals: [], at: .now).items.map {
            "\($0.transactionID) \($0.productID) \($0.access.code)"
        }
    }
}

@Suite struct ReadmeTests {
    private static let now = Instant.now
    private let store = MemoryStore()

    private func transaction(_ id: String, _ productID: String, _ members: (String, JSONValue)...) throws -> [UInt8] {
        var builder = JWSBuilder.transaction(bundleID: Minted.bundleID, productID: productID, transactionID: id)
        for (name, value) in members { builder.payload[name] = value }
        return Array(try builder.signed(by: Minted.ellipticAuthority).utf8)
    }

    @Test func `the README's function decides from everything it knows, and prints what the README says`() throws {
        let verifier = try Minted.verifier()
        let coins = try transaction("1001", "coins100", ("type", "Consumable"))
        let month = try transaction(
            "1002", "pro.month", ("type", "Auto-Renewable Subscription"),
            ("expiresDate", .integer((Self.now + .seconds(86_400)).millisecondsSince1970)))
        let refund = try transaction(
            "1003", "level", ("type", "Non-Consumable"),
            ("revocationDate", .integer((Self.now - .seconds(60)).millisecondsSince1970)))
        for body in [coins, month, refund] { try redeem(body, account: "anna", verifier, store) }
        let readme = try Project.text("README.md")
        #expect(readme.contains("```\n" + store.lines.joined(separator: "\n") + "\n```"), "\(store.lines)")
        #expect(throws: MemoryStore.BelongsToAnother.self) { try redeem(coins, account: "ben", verifier, store) }
        #expect(store.grants.values.map { $0.access.code }.sorted() == ["active", "consumable", "revoked"])
        // A restored copy is no other grant.
        let copy = try transaction("1004", "level", ("type", "Non-Consumable"), ("originalTransactionId", "1003"))
        try redeem(copy, account: "anna", verifier, store)
        #expect(store.grants.count == 3 && store.nextChange == nil)
        let begin = Self.now + .seconds(72_000)
        let renewal = try transaction(
            "1005", "pro.month", ("originalTransactionId", "1002"), ("type", "Auto-Renewable Subscription"),
            ("purchaseDate", .integer(begin.millisecondsSince1970)),
            ("expiresDate", .integer((begin + .seconds(86_400)).millisecondsSince1970)))
        try redeem(renewal, account: "anna", verifier, store)
        #expect(store.nextChange == begin)
    }

    @Test func `the README shows this code`() throws {
        let source = try Project.text("Tests/AppStoreReceiptTests/Articles/ReadmeTests.swift")
        let block = try Project.text("README.md").components(separatedBy: "```swift\n")[1]
        let code = block.components(separatedBy: "```\n")[0].components(separatedBy: "\n\n")
        #expect(code.count == 5)
        for part in code.dropFirst(2) { #expect(source.contains(part), "\(part)") }
    }
}
