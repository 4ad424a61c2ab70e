@_spi(Surfaces) import AppStoreReceipt
import HTTPService
import PurchaseLedger
import StrictText

/// The routes of the support desk: the records of a transaction or an account, and support's changes to a grant.
struct SupportRoutes: Sendable {
    let ledger: PurchaseLedger
    /// The apps and environments of the server.
    let accepted: VerificationPolicy
    let clock: @Sendable () -> Instant

    func transaction(_ request: Request) throws -> Response {
        guard let environment = AppStoreEnvironment(rawValue: request.parameters[0]) else {
            throw RequestFault.environment
        }
        let name = TransactionName(
            environment: environment, bundleID: request.parameters[1], transactionID: request.parameters[2])
        guard let story = try ledger.story(of: name, at: clock()) else {
            throw RequestFault(LedgerFault.notFound, "transaction")
        }
        var writer = JSONWriter()
        writer.story(story)
        return Response(body: writer.bytes)
    }

    func history(_ request: Request) throws -> Response {
        let limit = try Self.limit(request, PurchaseLedger.maximumHistoryCount)
        let history = try ledger.history(
            of: request.parameters[0], after: request.queryItem("after"), limit: limit)
        guard let history else { throw RequestFault(LedgerFault.notFound, "account") }
        var writer = JSONWriter()
        writer.history(history)
        return Response(body: writer.bytes)
    }

    func tokens(_ request: Request) throws -> Response {
        let limit = try Self.limit(request, PurchaseLedger.maximumTokenListCount)
        let tokens = try ledger.tokens(of: request.parameters[0], after: request.queryItem("after"), limit: limit)
        guard let tokens else { throw RequestFault(LedgerFault.notFound, "account") }
        var writer = JSONWriter()
        writer.tokens(tokens)
        return Response(body: writer.bytes)
    }

    /// Returns the requested number of elements in a page of a list.
    private static func limit(_ request: Request, _ maximum: Int) throws(RequestFault) -> Int {
        guard let text = request.queryItem("limit") else { return 100 }
        guard let number = Int(text), 1...maximum ~= number else { throw .invalid("'limit' must be 1 to \(maximum)") }
        return number
    }

    func adjust(_ request: Request) throws -> Response {
        let asked = try AdjustRequest(request.body.span)
        let environment = try accepted.environment(asked.environment)
        let bundleID = try accepted.bundleID(asked.bundleID)
        let change: Adjustment.Change
        if let transactionID = asked.transactionID {
            let name = TransactionName(environment: environment, bundleID: bundleID, transactionID: transactionID)
            change = asked.quantity.map { .quantity(name, $0) } ?? .asSigned(name)
        } else {
            change = .product(
                environment: environment, bundleID: bundleID, productID: asked.productID ?? "",
                quantity: asked.quantity ?? 0)
        }
        let answer = try ledger.adjust(
            Adjustment(change, reason: asked.reason, idempotencyKey: asked.idempotencyKey), of: request.parameters[0],
            at: clock())
        var writer = JSONWriter()
        writer.beginObject()
        writer.members(answer.name)
        writer.member("product_id", answer.productID)
        writer.member("previous_quantity", answer.previousQuantity)
        writer.member("quantity", answer.quantity)
        writer.member("sequence", answer.sequence)
        writer.member("repeated", answer.isRepeated)
        writer.endObject()
        return Response(body: writer.bytes)
    }
}
