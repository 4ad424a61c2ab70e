import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

// The code of the article GrantingPurchases, word for word; the last test here compares them.

struct PurchaseEndpoint {
    let verifier: AppStoreVerifier
    var ledger = Ledger()

    enum Refusal: Error { case notAPurchase }

    /// Grants the products that the evidence proves to an account, and returns those that are new.
    ///
    /// - Parameter evidence: A transaction's `jwsRepresentation`, or a receipt in base64.
    mutating func redeem(_ evidence: String, account: String, at now: Instant = .now) throws -> [String] {
        let evidence = try verifier.verify(evidence)
        switch evidence {
        case .receipt, .transaction, .transactionReceipt: break
        case .renewalInfo, .appTransaction, .notification, .realtimeRequest: throw Refusal.notAPurchase
        }
        var granted: [String] = []
        for purchase in evidence.purchases where purchase.grants(at: now) {
            // If the app named the account when it bought, the purchase belongs to that account.
            if let owner = purchase.appAccountToken, owner != account { continue }
            if ledger.insert(purchase.transactionID, product: purchase.productID, account: account) {
                granted.append(purchase.productID)
            }
        }
        return granted
    }
}

/// The state of each transaction. In a database, use a table whose key is the transaction id.
struct Ledger {
    private(set) var entries: [String: Entry] = [:]

    struct Entry {
        /// The product and the account; `nil` for a transaction that Apple refunded before any client submitted it.
        var grant: Grant?
        var isRevoked = false
    }

    struct Grant {
        let product: String
        let account: String
    }

    /// Records a grant. Returns `false` if the transaction was granted before or is revoked.
    mutating func insert(_ transaction: String, product: String, account: String) -> Bool {
        var entry = entries[transaction, default: Entry()]
        guard entry.grant == nil, !entry.isRevoked else { return false }
        entry.grant = Grant(product: product, account: account)
        entries[transaction] = entry
        return true
    }

    /// Revokes a transaction, even if no client has submitted it yet: evidence signed before the refund can arrive later.
    mutating func revoke(_ transaction: String) { entries[transaction, default: Entry()].isRevoked = true }

    /// Reverses a revocation. A grant is valid again, and a transaction that was not granted can be.
    mutating func restore(_ transaction: String) { entries[transaction]?.isRevoked = false }
}

extension PurchaseEndpoint {
    /// Revokes what Apple has refunded or revoked, and restores it if Apple reverses the refund.
    ///
    /// - Parameter signedPayload: The member of that name in the body of a server notification.
    mutating func receive(signedPayload: String) throws {
        let notification = try verifier.verifyNotification(signedPayload)
        guard let transaction = notification.transactionInfo, let id = transaction.transactionID else { return }
        if transaction.isRevoked {
            ledger.revoke(id)
        } else if notification.type == .refundReversed {
            ledger.restore(id)
        }
    }
}

@Suite struct GrantingPurchasesTests {
    private var endpoint: PurchaseEndpoint

    init() throws {
        endpoint = PurchaseEndpoint(
            verifier: try AppStoreVerifier(
                bundleID: Minted.bundleID, environments: [.production],
                trust: .roots([Minted.authority.trustAnchor, Minted.ellipticAuthority.trustAnchor])))
    }

    private func jws(_ transactionID: String, _ members: (String, JSONValue)...) throws -> String {
        var builder = JWSBuilder.transaction(
            bundleID: Minted.bundleID, productID: "pro", transactionID: transactionID)
        for (name, value) in members { builder.payload[name] = value }
        return try builder.signed(by: Minted.ellipticAuthority)
    }

    private func notification(_ type: String, _ transaction: String) throws -> String {
        try JWSBuilder.notification(type, bundleID: Minted.bundleID, transaction: transaction)
            .signed(by: Minted.ellipticAuthority)
    }

    private func refund(_ transactionID: String) throws -> String {
        try notification("REFUND", jws(transactionID, ("revocationDate", 1_749_988_800_000)))
    }

    private func receipt(_ purchases: ReceiptBuilder.Purchase...) throws -> String {
        let receipt = ReceiptBuilder(bundleID: Minted.bundleID, purchases: purchases)
        return Data(try receipt.signed(by: Minted.authority)).base64EncodedString()
    }

    @Test mutating func `a transaction is granted once, whether it comes as a JWS or in a receipt`() throws {
        let (jws, receipt) = try (
            jws("1000"), receipt(.nonConsumable("pro", transactionID: "1000"), .consumable("coins", transactionID: "1"))
        )
        #expect(try endpoint.redeem(jws, account: "a") == ["pro"])
        #expect(try endpoint.redeem(jws, account: "a") == [])
        #expect(try endpoint.redeem(receipt, account: "a") == ["coins"])
        #expect(try endpoint.redeem(receipt, account: "b") == [])
        #expect(endpoint.ledger.entries.mapValues(\.grant?.account) == ["1000": "a", "1": "a"])
    }

    @Test mutating func `what is another account's, refunded or to come is not granted`() throws {
        let token = "00000000-0000-4000-8000-000000000001"
        #expect(try endpoint.redeem(jws("1", ("appAccountToken", .string(token))), account: "a") == [])
        #expect(try endpoint.redeem(jws("1", ("appAccountToken", .string(token))), account: token) == ["pro"])
        #expect(try endpoint.redeem(jws("2", ("revocationDate", 1_749_988_800_000)), account: "a") == [])
        #expect(try endpoint.redeem(jws("3", ("purchaseDate", 4_000_000_000_000)), account: "a") == [])
    }

    @Test mutating func `a refund that a notification tells of stays, whatever is sent again`() throws {
        let old = try jws("1000")
        _ = try endpoint.redeem(old, account: "a")
        try endpoint.receive(signedPayload: refund("1000"))
        #expect(endpoint.ledger.entries["1000"]?.isRevoked == true)
        #expect(try endpoint.redeem(old, account: "a") == [])
        #expect(throws: PurchaseEndpoint.Refusal.self) { try endpoint.redeem(refund("1000"), account: "a") }
    }

    @Test mutating func `a refund that comes before the evidence holds against it, in either form`() throws {
        try endpoint.receive(signedPayload: refund("1000"))
        #expect(try endpoint.redeem(jws("1000"), account: "a") == [])
        #expect(try endpoint.redeem(receipt(.nonConsumable("pro", transactionID: "1000")), account: "a") == [])
        #expect(try endpoint.redeem(jws("1001"), account: "a") == ["pro"])
        #expect(endpoint.ledger.entries["1000"]?.grant == nil)
    }

    @Test mutating func `a refund that was reversed leaves the grant to whom it was made`() throws {
        _ = try endpoint.redeem(jws("1000"), account: "a")
        try endpoint.receive(signedPayload: refund("1000"))
        try endpoint.receive(signedPayload: notification("REFUND_REVERSED", jws("1000")))
        #expect(endpoint.ledger.entries["1000"]?.isRevoked == false)
        #expect(endpoint.ledger.entries["1000"]?.grant?.account == "a")
        #expect(try endpoint.redeem(jws("1000"), account: "b") == [])
    }

    @Test mutating func `what was refunded and reversed before anybody brought it can be granted, once`() throws {
        try endpoint.receive(signedPayload: refund("1000"))
        try endpoint.receive(signedPayload: notification("REFUND_REVERSED", jws("1000")))
        #expect(try endpoint.redeem(jws("1000"), account: "a") == ["pro"])
        #expect(try endpoint.redeem(jws("1000"), account: "a") == [])
    }

    @Test mutating func `no other notification undoes a refund`() throws {
        try endpoint.receive(signedPayload: refund("1000"))
        for type in ["REFUND_DECLINED", "ONE_TIME_CHARGE", "DID_RENEW"] {
            try endpoint.receive(signedPayload: notification(type, jws("1000")))
        }
        let stillRevoked = try jws("1000", ("revocationDate", 1_749_988_800_000))
        try endpoint.receive(signedPayload: notification("REFUND_REVERSED", stillRevoked))
        #expect(try endpoint.redeem(jws("1000"), account: "a") == [])
    }

    @Test mutating func `what is forged is refused, as a forgery`() throws {
        let forged = try Minted.transaction.signed(by: Minted.ellipticStranger)
        let error = #expect(throws: VerificationError.self) { try endpoint.redeem(forged, account: "a") }
        #expect(error?.category == .forgery && error?.category.httpStatus == 403)
        #expect(endpoint.ledger.entries.isEmpty)
    }

    @Test func `the article on granting purchases shows this code`() throws {
        let article = try Article("GrantingPurchases")
        #expect(article.code.count == 3)
        #expect(try article.codeMissing(in: #filePath) == [])
    }
}
