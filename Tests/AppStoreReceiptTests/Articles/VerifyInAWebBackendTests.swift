import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

// The code of the article VerifyInAWebBackend, word for word; the last test here compares them. Below it are types of the same shape as
// those of Vapor 4 and Hummingbird 2: as much of them as the article uses.

struct Shop: Sendable {
    let verifier: AppStoreVerifier
    let grants: GrantStore

    /// Grants the products that a receipt proves to an account, and returns those that are new.
    func redeem(
        _ receiptData: String, account: String, at now: Instant = .now
    ) async throws(VerificationError) -> [String] {
        let receipt = try verifier.verifyReceipt(receiptData)
        var granted: [String] = []
        for item in receipt.entitlements(at: now).items where item.access.isGrantable {
            if await grants.insert(item.purchase, account: account) {
                granted.append(item.productID)
            }
        }
        return granted
    }
}

/// In a database, use two tables: one whose key is the original transaction id, and one whose key is the transaction id.
/// Environment and bundle id are part of both keys, unless the verifier accepts only one of each.
actor GrantStore {
    private var owners: [String: String] = [:]
    private var granted: Set<String> = []

    /// Records a grant. Returns `false` if another account owns the original transaction, or if the transaction was granted before.
    func insert(_ purchase: Purchase, account: String) -> Bool {
        guard owners[purchase.originalTransactionID, default: account] == account else { return false }
        owners[purchase.originalTransactionID] = account
        return granted.insert(purchase.transactionID).inserted
    }
}

struct Redemption: Content { let receiptData: String }
struct Unlocked: Content { let products: [String] }

func routes(_ app: Application, _ shop: Shop) {
    app.on(.POST, "receipts", body: .collect(maxSize: "1mb")) { request async throws -> Unlocked in
        let account = try request.auth.require(Account.self)
        let body = try request.content.decode(Redemption.self)
        do throws(VerificationError) {
            return Unlocked(products: try await shop.redeem(body.receiptData, account: account.id))
        } catch {
            throw Abort(HTTPResponseStatus(statusCode: error.category.httpStatus), reason: error.code)
        }
    }
}

struct ReceiptRequest: Decodable { let receiptData: String }
struct ReceiptResponse: ResponseEncodable { let products: [String] }

func addRoutes(to router: Router<AppRequestContext>, _ shop: Shop) {
    router.post("receipts") { request, context -> ReceiptResponse in
        let account = try context.requireIdentity()
        let body = try await request.decode(as: ReceiptRequest.self, context: context)
        do throws(VerificationError) {
            return ReceiptResponse(products: try await shop.redeem(body.receiptData, account: account.id))
        } catch {
            throw HTTPError(HTTPResponse.Status(code: error.category.httpStatus), message: error.code)
        }
    }
}

extension AppStoreVerifier {
    /// Verifies a receipt on a queue, for receipts of more than 1 MB.
    func verifyReceipt(_ text: String, on queue: DispatchQueue) async throws(VerificationError) -> VerifiedReceipt {
        let result = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(
                    returning: Result { () throws(VerificationError) in try self.verifyReceipt(text) })
            }
        }
        return try result.get()
    }
}

// MARK: - Of both

struct Account: Codable, Sendable { let id: String }

/// A request with a body in JSON, by an account that is known.
private struct Incoming: Sendable {
    let body: Data
    let account: Account
}

// MARK: - As in Vapor

protocol Content: Codable, Sendable {}

enum HTTPMethod: Sendable { case POST }

struct HTTPBodyStreamStrategy: Sendable {
    let maximumSize: String
    static func collect(maxSize: String) -> HTTPBodyStreamStrategy { .init(maximumSize: maxSize) }
}

struct HTTPResponseStatus: Equatable, Sendable {
    let code: Int
    init(statusCode: Int) { code = statusCode }
}

struct Abort: Error {
    let status: HTTPResponseStatus
    let reason: String
    init(_ status: HTTPResponseStatus, reason: String) {
        self.status = status
        self.reason = reason
    }
}

final class Application {
    struct Request: Sendable {
        fileprivate let incoming: Incoming
        var auth: Authentication { .init(account: incoming.account) }
        var content: ContentContainer { .init(body: incoming.body) }
    }
    struct Authentication {
        let account: Account
        func require(_ type: Account.Type) throws -> Account { account }
    }
    struct ContentContainer {
        let body: Data
        func decode<T: Decodable>(_ type: T.Type) throws -> T { try JSONDecoder().decode(type, from: body) }
    }

    private(set) var handlers: [String: @Sendable (Request) async throws -> any Content] = [:]

    func on<Response: Content>(
        _ method: HTTPMethod, _ path: String, body: HTTPBodyStreamStrategy,
        use handler: @escaping @Sendable (Request) async throws -> Response
    ) {
        handlers[path] = { try await handler($0) }
    }
}

// MARK: - As in Hummingbird

protocol ResponseEncodable: Encodable, Sendable {}

enum HTTPResponse {
    struct Status: Equatable, Sendable { let code: Int }
}

struct HTTPError: Error {
    let status: HTTPResponse.Status
    let message: String
    init(_ status: HTTPResponse.Status, message: String) {
        self.status = status
        self.message = message
    }
}

struct AppRequestContext: Sendable {
    fileprivate let account: Account
    func requireIdentity() throws -> Account { account }
}

final class Router<Context: Sendable> {
    struct Request: Sendable {
        let body: Data
        func decode<T: Decodable>(as type: T.Type, context: Context) async throws -> T {
            try JSONDecoder().decode(type, from: body)
        }
    }

    private(set) var handlers: [String: @Sendable (Request, Context) async throws -> any ResponseEncodable] = [:]

    func post<Response: ResponseEncodable>(
        _ path: String, use handler: @escaping @Sendable (Request, Context) async throws -> Response
    ) {
        handlers[path] = { try await handler($0, $1) }
    }
}

// MARK: -

struct VerifyInAWebBackendTests {
    private func shop() throws -> Shop {
        Shop(
            verifier: try AppStoreVerifier(
                bundleID: "com.example.app", environments: [.production], trust: Minted.trust),
            grants: GrantStore())
    }

    private func receipt(_ purchases: ReceiptBuilder.Purchase...) throws -> String {
        let builder = ReceiptBuilder(bundleID: "com.example.app", purchases: purchases)
        return Data(try builder.signed(by: Minted.authority)).base64EncodedString()
    }

    /// What an endpoint gives, or the status and the text of its error.
    private enum Outcome: Equatable {
        case products([String])
        case error(Int, String)
    }

    /// Requests to both endpoints, which must end alike.
    private func post(_ texts: [String], by accounts: [String] = []) async throws -> [Outcome] {
        let (app, router) = (Application(), Router<AppRequestContext>())
        routes(app, try shop())
        addRoutes(to: router, try shop())
        let vapor = try #require(app.handlers["receipts"])
        let hummingbird = try #require(router.handlers["receipts"])
        var outcomes: [Outcome] = []
        for (index, text) in texts.enumerated() {
            let body = try JSONEncoder().encode(["receiptData": text])
            let account = Account(id: accounts.isEmpty ? "account" : accounts[index])
            var outcome: Outcome
            do {
                let response = try await vapor(.init(incoming: Incoming(body: body, account: account)))
                outcome = .products(try #require(response as? Unlocked).products)
            } catch let abort as Abort {
                outcome = .error(abort.status.code, abort.reason)
            }
            outcomes.append(outcome)
            do {
                let response = try await hummingbird(.init(body: body), AppRequestContext(account: account))
                outcome = .products(try #require(response as? ReceiptResponse).products)
            } catch let error as HTTPError {
                outcome = .error(error.status.code, error.message)
            }
            #expect(outcome == outcomes.last)
        }
        return outcomes
    }

    @Test func `an endpoint grants each transaction once`() async throws {
        let first = try receipt(.nonConsumable("pro", transactionID: "1"))
        let second = try receipt(
            .nonConsumable("pro", transactionID: "1"), .consumable("coins", transactionID: "2"))
        #expect(try await post([first, first, second]) == [.products(["pro"]), .products([]), .products(["coins"])])
    }

    @Test func `the account that brings an original transaction first owns what restores or renews it`() async throws {
        var restored = ReceiptBuilder.Purchase.nonConsumable("pro", transactionID: "2")
        restored.originalTransactionID = "1"
        let (first, second) = try (receipt(.nonConsumable("pro", transactionID: "1")), receipt(restored))
        let outcomes = try await post([first, second, second], by: ["a", "b", "a"])
        #expect(outcomes == [.products(["pro"]), .products([]), .products(["pro"])])
    }

    @Test func `an endpoint answers an error with the status that it deserves`() async throws {
        let builder = ReceiptBuilder(bundleID: "com.example.app")
        let forged = Data(try builder.signed(by: TestCertificateAuthority())).base64EncodedString()
        #expect(
            try await post(["MIIC", forged]) == [.error(400, "truncated"), .error(403, "untrusted-chain")])
    }

    @Test func `a verifier computes on a queue as anywhere`() async throws {
        let verifier = try shop().verifier
        let queue = DispatchQueue(label: "receipts")
        let text = try receipt(.nonConsumable("pro", transactionID: "1"))
        let verified = try await verifier.verifyReceipt(text, on: queue)
        #expect(try verified == verifier.verifyReceipt(text))
        await #expect(throws: VerificationError.self) { try await verifier.verifyReceipt("MIIC", on: queue) }
    }

    @Test func `the article on web backends shows this code`() throws {
        let article = try Article("VerifyInAWebBackend")
        #expect(article.code.count == 4)
        #expect(try article.codeMissing(in: #filePath) == [])
    }
}
