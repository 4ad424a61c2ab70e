import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import Testing

// The code of the article GrantingPurchases, word for word; the last test here compares them.

struct PurchaseEndpoint {
    let verifier: EvidenceVerifier
    var ledger = Ledger()

    enum Refusal: Error { case notAPurchase }

    /// Unlocks for an account what the evidence proves, and says which products are new.
    ///
    /// - Parameter evidence: `jwsRepresentation` of a transaction, or a receipt in base64: whatever the client has.
    mutating func redeem(_ evidence: String, account: String, at now: Timestamp = .now) throws -> [String] {
        switch try verifier.verify(anyEvidence: evidence) {
        case .transaction(let transaction): return grant([transaction], to: account, at: now)
        case .receipt(let receipt): return grant(receipt.purchases, to: account, at: now)
        case .renewalInfo, .appTransaction, .notification, .realtimeRequest: throw Refusal.notAPurchase
        }
    }

    /// Grants each transaction once, to the account that brings it first.
    private mutating func grant(
        _ purchases: some Sequence<some PurchaseEvidence>, to account: String, at now: Timestamp
    ) -> [String] {
        var unlocked: [String] = []
        for purchase in purchases where purchase.grants(at: now) {
            // Where the app names the account when it buys, the purchase is that account's and nobody else's.
            if let owner = purchase.appAccountToken, owner != account { continue }
            guard let product = purchase.productID, let transaction = purchase.transactionID,
                ledger.insert(transaction, product: product, account: account)
            else { continue }
            unlocked.append(product)
        }
        return unlocked
    }
}

/// Which transactions were granted: in a database, a table whose key is the transaction's id.
struct Ledger {
    private(set) var grants: [String: Grant] = [:]

    struct Grant {
        let product: String
        let account: String
        var isRevoked = false
    }

    /// `false` when the transaction was granted before, to whomever.
    mutating func insert(_ transaction: String, product: String, account: String) -> Bool {
        guard grants[transaction] == nil else { return false }
        grants[transaction] = Grant(product: product, account: account)
        return true
    }

    /// The entry stays: evidence that was signed before the refund may be sent again.
    mutating func revoke(_ transaction: String) { grants[transaction]?.isRevoked = true }
}

extension PurchaseEndpoint {
    /// Takes back what Apple has refunded or revoked.
    ///
    /// - Parameter signedPayload: from the body of a server notification.
    mutating func receive(signedPayload: String) throws {
        let notification = try verifier.signedData.verifyNotification(signedPayload)
        guard let transaction = notification.transactionInfo, transaction.isRevoked, let id = transaction.transactionID
        else { return }
        ledger.revoke(id)
    }
}

@Suite struct GrantingPurchasesTests {
    private var endpoint: PurchaseEndpoint

    init() throws {
        endpoint = PurchaseEndpoint(
            verifier: EvidenceVerifier(
                receipts: try MintedReceipts.verifier(), signedData: try MintedSignedData.verifier()))
    }

    private func jws(_ transactionID: String, _ members: (String, JSONValue)...) throws -> String {
        var builder = JWSBuilder.transaction(
            bundleID: MintedSignedData.bundleID, productID: "pro", transactionID: transactionID)
        for (name, value) in members { builder.payload[name] = value }
        return try builder.signed(by: MintedSignedData.authority)
    }

    private func receipt(_ purchases: ReceiptBuilder.Purchase...) throws -> String {
        let receipt = ReceiptBuilder(bundleID: MintedSignedData.bundleID, purchases: purchases)
        return Data(try receipt.signed(by: MintedReceipts.authority)).base64EncodedString()
    }

    @Test mutating func `a transaction is granted once, whether it comes as a JWS or in a receipt`() throws {
        let (jws, receipt) = try (
            jws("1000"), receipt(.nonConsumable("pro", transactionID: "1000"), .consumable("coins", transactionID: "1"))
        )
        #expect(try endpoint.redeem(jws, account: "a") == ["pro"])
        #expect(try endpoint.redeem(jws, account: "a") == [])
        #expect(try endpoint.redeem(receipt, account: "a") == ["coins"])
        #expect(try endpoint.redeem(receipt, account: "b") == [])
        #expect(endpoint.ledger.grants.mapValues(\.account) == ["1000": "a", "1": "a"])
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
        let notification = try JWSBuilder.notification(
            "REFUND", bundleID: MintedSignedData.bundleID,
            transaction: jws("1000", ("revocationDate", 1_749_988_800_000))
        ).signed(by: MintedSignedData.authority)
        try endpoint.receive(signedPayload: notification)
        #expect(endpoint.ledger.grants["1000"]?.isRevoked == true)
        #expect(try endpoint.redeem(old, account: "a") == [])
        #expect(throws: PurchaseEndpoint.Refusal.self) { try endpoint.redeem(notification, account: "a") }
    }

    @Test mutating func `what is forged is refused, as a forgery`() throws {
        let forged = try MintedSignedData.transaction.signed(by: MintedSignedData.otherAuthority)
        let error = #expect(throws: EvidenceError.self) { try endpoint.redeem(forged, account: "a") }
        #expect(error?.category == .forgery && error?.category.httpStatus == 403)
        #expect(endpoint.ledger.grants.isEmpty)
    }

    @Test func `the article on granting purchases shows this code`() throws {
        let article = try Article("GrantingPurchases")
        #expect(article.code.count == 3)
        #expect(try article.codeMissing(in: #filePath) == [])
    }
}
