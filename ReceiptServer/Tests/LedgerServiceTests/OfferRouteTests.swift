import AppStoreReceipt
import AppStoreReceiptTesting
import AppStoreSigning
import Foundation
@testable import HTTPService
@testable import LedgerService
import LedgerTestSupport
@testable import PurchaseLedger
import Testing
import TrialSupport

// The route of the article SigningOffers, word for word; the last test here compares them.

/// What the app sends.
struct OfferRequest: Decodable {
    /// A UUID that the app makes once for each purchase.
    let request_id: UUID
    let product_id: String
    let offer_id: String
    /// Any transaction of the subscription.
    let transaction_id: String
}

/// What the ledger answers.
struct OwnedItems: Decodable {
    struct Item: Decodable {
        let transaction_id, original_transaction_id, access: String
        let product_type, ownership_type, app_transaction_id, bundle_id, environment: String?
    }

    let items: [Item]
}

enum OfferRefusal: String, Error {
    case noSuchOffer, notYours, notInProduction, notASubscription, notBought, notEligible, alreadySigned, tooMany
}

/// Your database.
protocol OfferStore {
    /// Records a signature in one transaction. Throws `alreadySigned` if the account has a request with this id, and
    /// `tooMany` if a key has `limit` signatures of the last year.
    func record(_ requestID: UUID, of account: String, keys: [String], limit: Int) throws
}

struct OfferRoute<Store: OfferStore> {
    let signer: AppStoreSigner
    let store: Store
    /// The offers that you make, with the products that they are for.
    let offers: [String: Set<String>]
    /// How many offers a customer gets in a year.
    let limit: Int

    /// Returns the JWS for the app.
    ///
    /// - Parameters:
    ///   - account: The signed-in user.
    ///   - owned: What the ledger says of this account, in production.
    func sign(_ request: OfferRequest, for account: String, _ owned: OwnedItems) throws -> String {
        // Swift compares strings by canonical equivalence: what is signed is the list's own bytes.
        guard let (offer, products) = offers.first(where: { $0.key.utf8.elementsEqual(request.offer_id.utf8) }),
            let product = products.first(where: { $0.utf8.elementsEqual(request.product_id.utf8) })
        else { throw OfferRefusal.noSuchOffer }
        let named = request.transaction_id.utf8
        guard let item = owned.items.first(where: { $0.transaction_id.utf8.elementsEqual(named) }),
            item.bundle_id == signer.bundleID
        else { throw OfferRefusal.notYours }
        guard item.environment == "production" else { throw OfferRefusal.notInProduction }
        guard item.product_type == "Auto-Renewable Subscription" else { throw OfferRefusal.notASubscription }
        guard item.ownership_type == "PURCHASED" else { throw OfferRefusal.notBought }
        // A refund of any period counts: each has an item of its own.
        let periods = owned.items.filter { $0.original_transaction_id == item.original_transaction_id }
        guard ["active", "expired"].contains(item.access), periods.allSatisfy({ $0.access != "revoked" }) else {
            throw OfferRefusal.notEligible
        }
        var keys = ["account " + account, "subscription " + item.original_transaction_id]
        if let customer = item.app_transaction_id { keys.append("customer " + customer) }
        try store.record(request.request_id, of: account, keys: keys, limit: limit)
        return try signer.signPromotionalOffer(
            productID: product, offerID: offer, transactionID: item.transaction_id)
    }
}

// MARK: - Tests

/// A database in memory.
private final class MemoryStore: OfferStore {
    private let state = Guarded<(requests: Set<String>, signatures: [String: Int])>((requests: [], signatures: [:]))

    func record(_ requestID: UUID, of account: String, keys: [String], limit: Int) throws {
        try state.withLock { state in
            guard !state.requests.contains("\(account) \(requestID)") else { throw OfferRefusal.alreadySigned }
            guard keys.allSatisfy({ state.signatures[$0, default: 0] < limit }) else { throw OfferRefusal.tooMany }
            state.requests.insert("\(account) \(requestID)")
            for key in keys { state.signatures[key, default: 0] += 1 }
        }
    }
}

@Suite struct OfferRouteTests {
    private static let product = "com.example.app.pro"
    private static let token = "token-of-the-backend-1234"

    private let evidence: MintedEvidence
    private let table: RouteTable
    private let route: OfferRoute<MemoryStore>
    private let key: InAppPurchaseKey

    init() throws {
        evidence = try MintedEvidence()
        let folder = FileManager.default.temporaryDirectory.appending(path: "offers-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let tokens = folder.appending(path: "tokens").path
        try "\(Self.token) redeem,read,transfer\n".write(toFile: tokens, atomically: true, encoding: .utf8)
        let ledger = try PurchaseLedger(creating: folder.appending(path: "ledger.db").path)
        let verifier = try AppStoreVerifier(
            bundleID: MintedEvidence.bundleID, environments: [.production, .sandbox], trust: evidence.trust)
        let log = ServiceLog(detail: .none) { _ in }
        let attempts = AttemptLog(ledger, keeping: .seconds(86_400), withEvidence: false)
        let apple = try AskApple(asking: folder, ledger, verifier, log)
        let routes = LedgerRoutes(ledger, verifier, try AccessTokens(file: tokens), log, attempts, apple)
        table = RouteTable(routes.routes)
        key = try InAppPurchaseKey(p8: SigningKey(generating: .p256).pem())
        let signer = try AppStoreSigner(
            keyID: "2X9R4HXF34", issuerID: "57246542-96fe-1a63-e053-0824d011072a", bundleID: MintedEvidence.bundleID,
            key: key)
        route = OfferRoute(signer: signer, store: MemoryStore(), offers: ["winback": [Self.product]], limit: 3)
    }

    private func send(_ method: String, _ path: String, _ body: String = "", query: [String: String] = [:]) -> Response
    {
        let fields =
            [Request.Field(.header, "Authorization", "Bearer \(Self.token)")]
            + query.map { Request.Field(.query, $0, $1) }
        return table.answer(Request(method: method, path: path, fields: fields, body: Array(body.utf8)))
    }

    private func redeem(_ evidence: String, _ account: String) throws {
        let response = send("POST", "/v1/redeem", #"{"account":"\#(account)","evidence":"\#(evidence)"}"#)
        try #require(response.status == 200)
    }

    /// Redeems a subscription that runs.
    private func subscribe(
        _ account: String, _ id: String, environment: AppStoreEnvironment = .production,
        _ change: (inout JWSBuilder) -> Void = { _ in }
    ) throws {
        var builder = JWSBuilder.transaction(
            bundleID: MintedEvidence.bundleID, productID: Self.product, transactionID: id, environment: environment,
            signedDate: .now - .seconds(60))
        builder.productType = .autoRenewableSubscription
        builder.expiresDate = .now + .seconds(86_400)
        builder.webOrderLineItemID = "9" + id
        builder.subscriptionGroupID = "1"
        builder.appTransactionID = "700" + id
        change(&builder)
        try redeem(try builder.signed(by: evidence.ellipticAuthority), account)
    }

    private func owned(by account: String, in environment: String = "production") throws -> OwnedItems {
        let response = send("GET", "/v1/accounts/\(account)/entitlements", query: ["environment": environment])
        return try JSONDecoder().decode(OwnedItems.self, from: Data(response.body))
    }

    private func sign(
        _ account: String, _ transaction: String, request: UUID = UUID(), product: String = product,
        offer: String = "winback", environment: String = "production"
    ) throws -> String {
        let request = OfferRequest(
            request_id: request, product_id: product, offer_id: offer, transaction_id: transaction)
        return try route.sign(request, for: account, owned(by: account, in: environment))
    }

    @Test func `who bought the subscription gets the offer for themselves`() throws {
        try subscribe("anna", "10")
        let parts = try sign("anna", "10").split(separator: ".").map(String.init)
        let base64 = parts[1].replacing("-", with: "+").replacing("_", with: "/")
        let padded = base64 + String(repeating: "=", count: (4 - base64.count % 4) % 4)
        let claims = try JSONSerialization.jsonObject(with: #require(Data(base64Encoded: padded))) as? [String: Any]
        #expect(claims?["transactionId"] as? String == "10" && claims?["offerIdentifier"] as? String == "winback")
        #expect(claims?["productId"] as? String == Self.product && claims?["aud"] as? String == "promotional-offer")
        // One that ended can be won back.
        try subscribe("hugo", "20") {
            $0.purchaseDate = .now - .seconds(86_400 * 40)
            $0.expiresDate = .now - .seconds(86_400 * 10)
        }
        _ = try sign("hugo", "20")
    }

    @Test func `each attack is refused`() throws {
        try subscribe("anna", "10")
        try subscribe("anna", "11", environment: .sandbox)
        try subscribe("ben", "14")
        try subscribe("carl", "12") { $0.ownershipType = .familyShared }
        try subscribe("dora", "13") { $0.ownershipType = .assigned }
        try subscribe("erik", "16") { $0.revocationDate = .now - .seconds(30) }
        // The first period is whole, and the second refunded.
        try subscribe("finn", "17") {
            $0.purchaseDate = .now - .seconds(86_400 * 40)
            $0.expiresDate = .now - .seconds(86_400 * 10)
        }
        try subscribe("finn", "18") {
            $0.originalTransactionID = "17"
            $0.purchaseDate = .now - .seconds(86_400 * 10)
            $0.revocationDate = .now - .seconds(30)
        }
        try subscribe("anna", "15") {
            $0.productType = .consumable
            $0.expiresDate = nil
        }
        let attacks: [(refusal: OfferRefusal, account: String, transaction: String, environment: String)] = [
            (.notYours, "anna", "14", "production"), (.notYours, "ben", "10", "production"),
            (.notYours, "nobody", "10", "production"), (.notYours, "anna", "", "production"),
            // A sandbox subscriber, and a backend that asks the ledger for the sandbox by mistake.
            (.notYours, "anna", "11", "production"), (.notInProduction, "anna", "11", "sandbox"),
            (.notBought, "carl", "12", "production"), (.notBought, "dora", "13", "production"),
            (.notEligible, "erik", "16", "production"), (.notEligible, "finn", "17", "production"),
            (.notASubscription, "anna", "15", "production"),
        ]
        for attack in attacks {
            #expect(throws: attack.refusal, "\(attack)") {
                try sign(attack.account, attack.transaction, environment: attack.environment)
            }
        }
        #expect(throws: OfferRefusal.noSuchOffer) { try sign("anna", "10", offer: "forever") }
        #expect(throws: OfferRefusal.noSuchOffer) { try sign("anna", "10", product: "com.example.app.other") }
        // None of these counts.
        _ = try sign("anna", "10")
    }

    @Test func `a receipt does not say whose a purchase is, and gets no offer`() throws {
        let expiry = Instant.now + .seconds(86_400)
        let bought = ReceiptBuilder.Purchase.autoRenewable(
            Self.product, transactionID: "30", purchaseDate: .now - .seconds(60), expiresDate: expiry)
        let receipt = try ReceiptBuilder(bundleID: MintedEvidence.bundleID, purchases: [bought])
            .signed(by: evidence.authority)
        try redeem(Data(receipt).base64EncodedString(), "fred")
        #expect(throws: OfferRefusal.notBought) { try sign("fred", "30") }
    }

    @Test func `one request gives one signature`() throws {
        try subscribe("anna", "10")
        let request = UUID()
        _ = try sign("anna", "10", request: request)
        for _ in 0..<5 {
            #expect(throws: OfferRefusal.alreadySigned) { try sign("anna", "10", request: request) }
        }
        _ = try sign("anna", "10")
    }

    @Test func `the hundredth offer is refused, for the account, the customer and the subscription`() throws {
        func signed(_ account: String, _ transaction: String) throws -> Int {
            let owned = try owned(by: account)
            return (0..<100).count { _ in
                let request = OfferRequest(
                    request_id: UUID(), product_id: Self.product, offer_id: "winback", transaction_id: transaction)
                return (try? route.sign(request, for: account, owned)) != nil
            }
        }
        try subscribe("anna", "10") { $0.appTransactionID = "7001" }
        try subscribe("anna", "17") { $0.appTransactionID = "7002" }
        #expect(try signed("anna", "10") == 3)
        // Another subscription of the account.
        #expect(try signed("anna", "17") == 0)
        // Another account of the same customer.
        try subscribe("anna2", "18") { $0.appTransactionID = "7001" }
        #expect(try signed("anna2", "18") == 0)
        // The subscription in another account.
        try subscribe("gina", "19") { $0.appTransactionID = nil }
        #expect(try signed("gina", "19") == 3)
        #expect(send("POST", "/v1/accounts/gina/transfer", #"{"to":"ida","reason":"test"}"#).status == 200)
        #expect(try signed("ida", "19") == 0)
        #expect(throws: OfferRefusal.tooMany) { try sign("ida", "19") }
    }

    @Test func `the route of the article is the one of these tests`() throws {
        let article = try String(
            contentsOf: URL(filePath: #filePath).appending(
                path: "../../../../Sources/AppStoreSigning/AppStoreSigning.docc/SigningOffers.md"
            ).standardized, encoding: .utf8)
        let blocks = article.components(separatedBy: "```swift\n").dropFirst()
            .map { $0.components(separatedBy: "```\n")[0] }
        #expect(blocks.count == 2)
        let source = try String(contentsOfFile: #filePath, encoding: .utf8)
        // Without the imports, which stand above.
        let route = try #require(blocks.first?.components(separatedBy: "\n\n").dropFirst().joined(separator: "\n\n"))
        #expect(source.contains(route))
        let page = try String(
            contentsOf: URL(filePath: #filePath).appending(path: "../../../examples/offers.php").standardized,
            encoding: .utf8)
        let php = try #require(article.components(separatedBy: "```php\n").last?.components(separatedBy: "```\n")[0])
        #expect(php.contains("CREATE TABLE") && page.contains(php))
    }
}
