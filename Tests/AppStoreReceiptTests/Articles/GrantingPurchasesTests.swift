import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

// The code of the article GrantingPurchases, word for word; the last test here compares them.

/// Redeems what clients send, and follows Apple's notifications.
struct PurchaseEndpoint {
    let verifier: AppStoreVerifier
    var ledger = Ledger()

    /// Redeems all purchases in the evidence for an account, and returns the outcome of each transaction.
    ///
    /// - Parameters:
    ///   - body: What the client sends: a receipt, or a transaction's `jwsRepresentation`.
    ///   - account: The account that your backend has authenticated. Never take it from the body.
    mutating func redeem(
        _ body: String, account: String, at now: Instant = .now
    ) throws(VerificationError) -> [String: Outcome] {
        let evidence = try verifier.verify(body)
        var outcomes: [String: Outcome] = [:]
        for purchase in evidence.purchases.map(\.purchase) {
            outcomes[purchase.transactionID] = ledger.redeem(purchase, for: account, at: now)
        }
        return outcomes
    }

    /// Records what a server notification says: refunds, reversals, renewals and grace periods.
    ///
    /// - Parameter signedPayload: The member of that name in the body of the notification.
    mutating func receive(signedPayload: String) throws(VerificationError) {
        let notification = VerifiedEvidence.notification(try verifier.verifyNotification(signedPayload))
        for purchase in notification.purchases { ledger.record(purchase.purchase) }
        for renewal in notification.renewals { ledger.record(SubscriptionRenewal(renewal)) }
    }
}

/// What the client is told about a transaction.
enum Outcome: String {
    case granted, alreadyYours, belongsToAnother, tooEarly, expired, revoked, notGrantable

    /// Whether the app may finish the transaction. StoreKit delivers an unfinished transaction again.
    var mayFinish: Bool { self != .tooEarly && self != .notGrantable }
}

/// Who owns which purchases. In a database, use tables whose keys are the original transaction id, and the transaction id.
struct Ledger {
    private var owners: [String: String] = [:]
    private var purchases: [String: [Purchase]] = [:]
    private var renewals: [String: [SubscriptionRenewal]] = [:]
    private var granted: Set<String> = []

    /// Grants a transaction once, to the account that brought the original transaction first.
    mutating func redeem(_ purchase: Purchase, for account: String, at now: Instant) -> Outcome {
        let original = purchase.originalTransactionID
        // If the app named the account when it bought, the purchase belongs to that account.
        if let token = purchase.appAccountToken, token != AppAccountToken(account) { return .belongsToAnother }
        record(purchase)
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
        guard owners[original, default: account] == account else { return .belongsToAnother }
        owners[original] = account
        return granted.insert(purchase.transactionID).inserted ? .granted : .alreadyYours
    }

    /// Records a purchase, also one that no client has brought yet: evidence signed before a refund can arrive after it.
    mutating func record(_ purchase: Purchase) {
        purchases[purchase.originalTransactionID, default: []].append(purchase)
    }

    mutating func record(_ renewal: SubscriptionRenewal) {
        renewals[renewal.originalTransactionID, default: []].append(renewal)
    }

    /// Returns what an account is entitled to at a date.
    func entitlements(of account: String, at date: Instant) -> Entitlements {
        entitlements(owners.filter { $0.value == account }.map(\.key), at: date)
    }

    private func entitlements(_ originals: [String], at date: Instant) -> Entitlements {
        Entitlements(
            trustingStored: originals.flatMap { purchases[$0, default: []] },
            renewals: originals.flatMap { renewals[$0, default: []] }, at: date)
    }
}

@Suite struct GrantingPurchasesTests {
    private var endpoint: PurchaseEndpoint
    private static let signed = JWSBuilder.defaultDate

    init() throws { endpoint = PurchaseEndpoint(verifier: try Minted.verifier()) }

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
        try JWSBuilder.notification(type.rawValue, bundleID: Minted.bundleID, transaction: transaction)
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
        #expect(try endpoint.redeem(jws, account: "a") == ["1000": .granted])
        #expect(try endpoint.redeem(jws, account: "a") == ["1000": .alreadyYours])
        #expect(try endpoint.redeem(receipt, account: "a") == ["1000": .alreadyYours, "1": .granted])
        #expect(try endpoint.redeem(receipt, account: "b") == ["1000": .belongsToAnother, "1": .belongsToAnother])
        #expect(endpoint.ledger.entitlements(of: "a", at: .now).activeProductIDs == ["pro"])
        #expect(endpoint.ledger.entitlements(of: "b", at: .now).items.isEmpty)
    }

    @Test mutating func `a restored or renewed transaction does not unlock for a second account`() throws {
        #expect(try endpoint.redeem(jws("1"), account: "a") == ["1": .granted])
        #expect(try endpoint.redeem(jws("2", ("originalTransactionId", "1")), account: "b") == ["2": .belongsToAnother])
        #expect(try endpoint.redeem(jws("2", ("originalTransactionId", "1")), account: "a") == ["2": .granted])
    }

    @Test mutating func `a token that the app wrote in uppercase is the one that Apple writes in lowercase`() throws {
        let token = "9c3e0a4f-1c5d-4b0e-8a57-3d0b8d1b6f00"
        let jws = try jws("1", ("appAccountToken", .string(token)))
        #expect(try endpoint.redeem(jws, account: "a") == ["1": .belongsToAnother])
        #expect(try endpoint.redeem(jws, account: token.uppercased()) == ["1": .granted])
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
        #expect(try endpoint.redeem(old, account: "a") == ["1000": .granted])
        try endpoint.receive(signedPayload: refund)
        #expect(try endpoint.redeem(old, account: "a") == ["1000": .revoked])
        #expect(endpoint.ledger.entitlements(of: "a", at: .now).activeProductIDs == [])
        try endpoint.receive(signedPayload: self.refund("7", signed: Self.signed + .seconds(60)))
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
        for notification in notifications { try endpoint.receive(signedPayload: notification) }
        #expect(endpoint.ledger.entitlements(of: "a", at: .now).activeProductIDs == ["pro"])
        #expect(try endpoint.redeem(jws("1000"), account: "a") == ["1000": .alreadyYours])
        #expect(try endpoint.redeem(jws("1000"), account: "b") == ["1000": .belongsToAnother])
    }

    @Test mutating func `what is forged is refused, as a forgery`() throws {
        let forged = try Minted.transaction.signed(by: Minted.ellipticStranger)
        let error = #expect(throws: VerificationError.self) { try endpoint.redeem(forged, account: "a") }
        #expect(error?.category == .forgery && error?.category.httpStatus == 403)
    }

    @Test func `the article on granting purchases shows this code`() throws {
        let article = try Article("GrantingPurchases")
        #expect(article.code.count == 3)
        // The first is one line of the README's.
        #expect(try article.codeMissing(in: #filePath) == ["let entitlements = Entitlements([evidence], at: .now)"])
    }
}
