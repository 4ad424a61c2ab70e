import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

// The code of the article VerifyInAWebBackend, word for word; the last test here compares them. Below it are types of
// the same shape as those of Vapor 4 and Hummingbird 2: as much of them as the article uses.

/// Verifies what clients and Apple post, and keeps production and the sandbox apart.
actor Shop {
    private let verifier: BothEnvironmentsVerifier
    private var ledgers: [AppStoreEnvironment: Ledger]

    init(
        bundleID: String, catalog: ProductCatalog, trust: AppStoreTrust = .apple
    ) throws(VerificationError) {
        verifier = try AppStoreVerifier.both(bundleID: bundleID, trust: trust)
        ledgers = [.production: Ledger(catalog: catalog), .sandbox: Ledger(catalog: catalog)]
    }

    /// Redeems what a client sent, and returns the transactions that the app may finish.
    ///
    /// It verifies outside of the actor, so that a large receipt delays no other request.
    nonisolated func redeem(
        _ body: String, account: String
    ) async throws(VerificationError) -> [String] {
        switch try verifier.verify(body) {
        case .production(let evidence): await redeem(evidence, for: account, in: .production)
        case .sandbox(let evidence): await redeem(evidence, for: account, in: .sandbox)
        }
    }

    /// Records what Apple posted, and decides again for the accounts that it is about.
    nonisolated func follow(_ body: String) async throws(VerificationError) {
        switch try verifier.verifyNotification(body) {
        case .production(let notification):
            await record(.notification(notification), in: .production)
        case .sandbox(let notification):
            await record(.notification(notification), in: .sandbox)
        case .unnamed: break  // It has no transactions: answer Apple with 200.
        }
    }

    /// What an account has in an environment. Give the app what it has in its own.
    func entitlements(
        of account: String, in environment: AppStoreEnvironment, at now: Instant = .now
    ) -> Entitlements? {
        ledgers[environment]?.entitlements(of: account, at: now)
    }

    private func redeem(
        _ evidence: VerifiedEvidence, for account: String, in environment: AppStoreEnvironment
    ) -> [String] {
        guard var ledger = ledgers[environment] else { return [] }
        ledger.record(evidence)
        let finished = evidence.purchases.map(\.purchase).filter { purchase in
            ledger.redeem(purchase, for: account, at: .now).mayFinish
        }
        ledgers[environment] = ledger
        return finished.map(\.transactionID)
    }

    private func record(_ evidence: VerifiedEvidence, in environment: AppStoreEnvironment) {
        guard var ledger = ledgers[environment] else { return }
        for account in ledger.record(evidence) { _ = ledger.update(account, at: .now) }
        ledgers[environment] = ledger
    }
}

struct Redeemed: Content { let finish: [String] }

func routes(_ app: Application, _ shop: Shop) {
    app.on(.POST, "receipts", body: .collect(maxSize: "1mb")) { request async throws -> Redeemed in
        let account = try request.auth.require(Account.self)
        let body = request.body.string ?? ""
        do throws(VerificationError) {
            return Redeemed(finish: try await shop.redeem(body, account: account.id))
        } catch {
            throw Abort(.init(statusCode: error.category.httpStatus), reason: error.code.rawValue)
        }
    }
    app.on(.POST, "notifications", body: .collect(maxSize: "1mb")) {
        request async throws -> HTTPResponseStatus in
        do throws(VerificationError) {
            try await shop.follow(request.body.string ?? "")
            return .ok
        } catch {
            throw Abort(.init(statusCode: error.category.httpStatus), reason: error.code.rawValue)
        }
    }
}

struct ReceiptResponse: ResponseEncodable { let finish: [String] }

func addRoutes(to router: Router<AppRequestContext>, _ shop: Shop) {
    router.post("receipts") { request, context -> ReceiptResponse in
        let account = try context.requireIdentity()
        let body = String(buffer: try await request.body.collect(upTo: 1 << 20))
        do throws(VerificationError) {
            return ReceiptResponse(finish: try await shop.redeem(body, account: account.id))
        } catch {
            throw HTTPError(.init(code: error.category.httpStatus), message: error.code.rawValue)
        }
    }
    router.post("notifications") { request, _ -> HTTPResponse.Status in
        let body = String(buffer: try await request.body.collect(upTo: 1 << 20))
        do throws(VerificationError) {
            try await shop.follow(body)
            return .ok
        } catch {
            throw HTTPError(.init(code: error.category.httpStatus), message: error.code.rawValue)
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

/// A request by an account that is known.
private struct Incoming: Sendable {
    let body: Data
    let account: Account
}

// MARK: - As in Vapor

protocol AsyncResponseEncodable: Sendable {}
protocol Content: Codable, AsyncResponseEncodable {}

enum HTTPMethod: Sendable { case POST }

struct HTTPBodyStreamStrategy: Sendable {
    let maximumSize: String
    static func collect(maxSize: String) -> HTTPBodyStreamStrategy { .init(maximumSize: maxSize) }
}

struct HTTPResponseStatus: Equatable, AsyncResponseEncodable {
    static let ok = HTTPResponseStatus(statusCode: 200)
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
        var body: Body { .init(string: String(decoding: incoming.body, as: UTF8.self)) }
    }
    struct Authentication {
        let account: Account
        func require(_ type: Account.Type) throws -> Account { account }
    }
    struct Body { let string: String? }

    private(set) var handlers: [String: @Sendable (Request) async throws -> any AsyncResponseEncodable] = [:]

    func on<Response: AsyncResponseEncodable>(
        _ method: HTTPMethod, _ path: String, body: HTTPBodyStreamStrategy,
        use handler: @escaping @Sendable (Request) async throws -> Response
    ) {
        handlers[path] = { try await handler($0) }
    }
}

// MARK: - As in Hummingbird

protocol ResponseGenerator: Sendable {}
protocol ResponseEncodable: Encodable, ResponseGenerator {}

enum HTTPResponse {
    struct Status: Equatable, ResponseGenerator {
        static let ok = Status(code: 200)
        let code: Int
    }
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

struct ByteBuffer { fileprivate let bytes: Data }

extension String {
    init(buffer: ByteBuffer) { self.init(decoding: buffer.bytes, as: UTF8.self) }
}

struct RequestBody: Sendable {
    fileprivate let bytes: Data
    func collect(upTo maximum: Int) async throws -> ByteBuffer { ByteBuffer(bytes: bytes) }
}

final class Router<Context: Sendable> {
    struct Request: Sendable { let body: RequestBody }

    private(set) var handlers: [String: @Sendable (Request, Context) async throws -> any ResponseGenerator] = [:]

    func post<Response: ResponseGenerator>(
        _ path: String, use handler: @escaping @Sendable (Request, Context) async throws -> Response
    ) {
        handlers[path] = { try await handler($0, $1) }
    }
}

// MARK: -

struct VerifyInAWebBackendTests {
    /// The same shop behind both frameworks.
    private struct Backend {
        let shops: [Shop]
        private let app = Application()
        private let router = Router<AppRequestContext>()

        init() throws {
            shops = try (0..<2).map { _ in
                try Shop(
                    bundleID: Minted.bundleID, catalog: ["pro": .nonConsumable, "coins": .consumable],
                    trust: Minted.trust)
            }
            routes(app, shops[0])
            addRoutes(to: router, shops[1])
        }

        /// The transactions that the app may finish, or a status and its text.
        enum Answer: Equatable {
            case finish(Set<String>)
            case status(Int, String = "")
        }

        /// Posts to both, which must answer alike.
        func post(_ text: String, to path: String = "receipts") async throws -> Answer {
            let (vapor, hummingbird) = (try #require(app.handlers[path]), try #require(router.handlers[path]))
            let body = Data(text.utf8)
            let account = Account(id: "account")
            let first: Answer
            do {
                let response = try await vapor(.init(incoming: Incoming(body: body, account: account)))
                if let status = response as? HTTPResponseStatus {
                    first = .status(status.code)
                } else {
                    first = .finish(Set(try #require(response as? Redeemed).finish))
                }
            } catch let abort as Abort {
                first = .status(abort.status.code, abort.reason)
            }
            let second: Answer
            do {
                let response = try await hummingbird(
                    .init(body: RequestBody(bytes: body)), AppRequestContext(account: account))
                if let status = response as? HTTPResponse.Status {
                    second = .status(status.code)
                } else {
                    second = .finish(Set(try #require(response as? ReceiptResponse).finish))
                }
            } catch let error as HTTPError {
                second = .status(error.status.code, error.message)
            }
            #expect(first == second)
            return first
        }

        /// What the account has in an environment, which both must say.
        func products(in environment: AppStoreEnvironment) async throws -> [String] {
            var products: [[String]] = []
            for shop in shops {
                let entitlements = try #require(await shop.entitlements(of: "account", in: environment))
                products.append(entitlements.items.filter(\.access.isGrantable).map(\.productID).sorted())
            }
            #expect(products[0] == products[1])
            return products[0]
        }
    }

    private func receipt(
        _ purchases: ReceiptBuilder.Purchase..., environment: ReceiptBuilder.ReceiptType = .production
    ) throws -> String {
        let builder = ReceiptBuilder(
            bundleID: "com.example.app", environment: environment, purchases: purchases)
        return Data(try builder.signed(by: Minted.authority)).base64EncodedString()
    }

    @Test func `an endpoint says which transactions the app may finish`() async throws {
        let backend = try Backend()
        let first = try receipt(.nonConsumable("pro", transactionID: "1"))
        let second = try receipt(
            .consumable("coins", transactionID: "2"), .nonConsumable("not for sale", transactionID: "3"))
        #expect(try await backend.post(first) == .finish(["1"]))
        #expect(try await backend.post(#"{"receipt-data":"\#(first)"}"#) == .finish(["1"]))
        #expect(try await backend.post(second) == .finish(["2"]))
        #expect(try await backend.products(in: .production) == ["coins", "pro"])
    }

    @Test func `what is bought in the sandbox is granted there alone`() async throws {
        let backend = try Backend()
        let free = try receipt(.nonConsumable("pro", transactionID: "1"), environment: .sandbox)
        #expect(try await backend.post(free) == .finish(["1"]))
        #expect(try await backend.products(in: .production) == [])
        #expect(try await backend.products(in: .sandbox) == ["pro"])
    }

    @Test func `a notification of a refund takes back what was granted`() async throws {
        let backend = try Backend()
        for environment in [AppStoreEnvironment.production, .sandbox] {
            var transaction = JWSBuilder.transaction(
                bundleID: Minted.bundleID, productID: "pro", transactionID: "1", environment: environment)
            #expect(try await backend.post(transaction.signed(by: Minted.ellipticAuthority)) == .finish(["1"]))
            #expect(try await backend.products(in: environment) == ["pro"])
            transaction.revocationDate = JWSBuilder.defaultDate
            transaction.signedDate = JWSBuilder.defaultDate + .seconds(1)
            let notification = try JWSBuilder.notification(
                .refund, bundleID: Minted.bundleID, environment: environment,
                transaction: transaction.signed(by: Minted.ellipticAuthority))
            let body = try #"{"signedPayload":"\#(notification.signed(by: Minted.ellipticAuthority))"}"#
            #expect(try await backend.post(body, to: "notifications") == .status(200))
            #expect(try await backend.products(in: environment) == [])
        }
    }

    @Test func `an endpoint answers an error with the status that it deserves`() async throws {
        let backend = try Backend()
        let builder = ReceiptBuilder(bundleID: "com.example.app")
        let forged = Data(try builder.signed(by: TestCertificateAuthority())).base64EncodedString()
        for (text, answer) in [
            ("MIIC", .status(400, "truncated")), (forged, .status(403, "untrusted-chain")),
            ("", .status(400, "empty-input")),
            (#"{"receiptData":"\#(forged)"}"#, .status(400, "evidence-in-member")),
        ] as [(String, Backend.Answer)] {
            #expect(try await backend.post(text) == answer)
        }
        let stranger = try JWSBuilder.notification(.refund, bundleID: Minted.bundleID)
            .signed(by: Minted.ellipticStranger)
        #expect(try await backend.post(stranger, to: "notifications") == .status(403, "untrusted-chain"))
        let unnamed = try JWSBuilder.notification(
            .unclaimSeats, about: "unclaimInfo", .object([.init("unclaimSeatIds", ["1"])])
        ).signed(by: Minted.ellipticAuthority)
        #expect(try await backend.post(unnamed, to: "notifications") == .status(200))
        let other = try JWSBuilder.notification(.refund, bundleID: "com.example.other")
            .signed(by: Minted.ellipticAuthority)
        #expect(try await backend.post(other, to: "notifications") == .status(400, "bundle-id-mismatch"))
    }

    @Test func `a verifier computes on a queue as anywhere`() async throws {
        let verifier = try Minted.verifier()
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
