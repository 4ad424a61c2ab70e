import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

// The code of the article VerifyInAWebBackend, word for word; the last test here compares them. Below it are types of the same shape as
// those of Vapor 4 and Hummingbird 2: as much of them as the article uses.

/// The endpoint of Granting purchases, which serves one request at a time.
actor Shop {
    private var endpoint: PurchaseEndpoint

    init(_ endpoint: PurchaseEndpoint) { self.endpoint = endpoint }

    /// Redeems what a client sent, and returns the transactions that the app may finish.
    func redeem(_ evidence: String, account: String) throws(VerificationError) -> [String] {
        try endpoint.redeem(evidence, account: account).filter(\.value.mayFinish).map(\.key)
    }
}

struct Redeemed: Content { let finish: [String] }

func routes(_ app: Application, _ shop: Shop) {
    app.on(.POST, "receipts", body: .collect(maxSize: "1mb")) { request async throws -> Redeemed in
        let account = try request.auth.require(Account.self)
        do throws(VerificationError) {
            return Redeemed(finish: try await shop.redeem(request.body.string ?? "", account: account.id))
        } catch {
            throw Abort(HTTPResponseStatus(statusCode: error.category.httpStatus), reason: error.code.rawValue)
        }
    }
}

struct ReceiptResponse: ResponseEncodable { let finish: [String] }

func addRoutes(to router: Router<AppRequestContext>, _ shop: Shop) {
    router.post("receipts") { request, context -> ReceiptResponse in
        let account = try context.requireIdentity()
        let body = try await request.body.collect(upTo: 1 << 20)
        do throws(VerificationError) {
            return ReceiptResponse(finish: try await shop.redeem(String(buffer: body), account: account.id))
        } catch {
            throw HTTPError(HTTPResponse.Status(code: error.category.httpStatus), message: error.code.rawValue)
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
        var body: Body { .init(string: String(decoding: incoming.body, as: UTF8.self)) }
    }
    struct Authentication {
        let account: Account
        func require(_ type: Account.Type) throws -> Account { account }
    }
    struct Body { let string: String? }

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
        let ledger = Ledger(catalog: ["pro": .nonConsumable, "coins": .consumable])
        return Shop(PurchaseEndpoint(verifier: try Minted.verifier(), ledger: ledger))
    }

    private func receipt(_ purchases: ReceiptBuilder.Purchase...) throws -> String {
        let builder = ReceiptBuilder(bundleID: "com.example.app", purchases: purchases)
        return Data(try builder.signed(by: Minted.authority)).base64EncodedString()
    }

    /// The transactions that the app may finish, or the status and the text of an error.
    private enum Answer: Equatable {
        case finish(Set<String>)
        case error(Int, String)
    }

    /// Requests to both endpoints, which must end alike.
    private func post(_ texts: [String]) async throws -> [Answer] {
        let (app, router) = (Application(), Router<AppRequestContext>())
        routes(app, try shop())
        addRoutes(to: router, try shop())
        let vapor = try #require(app.handlers["receipts"])
        let hummingbird = try #require(router.handlers["receipts"])
        let account = Account(id: "account")
        var answers: [Answer] = []
        for text in texts {
            let body = Data(text.utf8)
            var answer: Answer
            do {
                let response = try await vapor(.init(incoming: Incoming(body: body, account: account)))
                answer = .finish(Set(try #require(response as? Redeemed).finish))
            } catch let abort as Abort {
                answer = .error(abort.status.code, abort.reason)
            }
            answers.append(answer)
            do {
                let response = try await hummingbird(
                    .init(body: RequestBody(bytes: body)), AppRequestContext(account: account))
                answer = .finish(Set(try #require(response as? ReceiptResponse).finish))
            } catch let error as HTTPError {
                answer = .error(error.status.code, error.message)
            }
            #expect(answer == answers.last)
        }
        return answers
    }

    @Test func `an endpoint says which transactions the app may finish`() async throws {
        let first = try receipt(.nonConsumable("pro", transactionID: "1"))
        let second = try receipt(
            .consumable("coins", transactionID: "2"), .nonConsumable("not for sale", transactionID: "3"))
        let object = #"{"receipt-data":"\#(first)"}"#
        #expect(try await post([first, object, second]) == [.finish(["1"]), .finish(["1"]), .finish(["2"])])
    }

    @Test func `an endpoint answers an error with the status that it deserves`() async throws {
        let builder = ReceiptBuilder(bundleID: "com.example.app")
        let forged = Data(try builder.signed(by: TestCertificateAuthority())).base64EncodedString()
        #expect(
            try await post(["MIIC", forged, "", #"{"receiptData":"\#(forged)"}"#]) == [
                .error(400, "truncated"), .error(403, "untrusted-chain"), .error(400, "empty-input"),
                .error(400, "evidence-in-member"),
            ])
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
