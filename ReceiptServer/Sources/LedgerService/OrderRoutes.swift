@_spi(Surfaces) import AppStoreReceipt
import HTTPService
import PurchaseLedger
import StrictText
import Synchronization

/// The routes of account tokens and orders, with `--orders`.
struct OrderRoutes: Sendable {
    let ledger: PurchaseLedger
    /// The apps and environments of the server.
    let accepted: VerificationPolicy
    let clock: @Sendable () -> Instant

    func token(_ request: Request) throws -> Response {
        let asked = try TokenRequest(request.body.span)
        let (token, isNew) = try ledger.token(for: request.parameters[0], storing: asked.token, at: clock())
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("token", token.description)
        writer.name("created")
        writer.bool(isNew)
        writer.endObject()
        return Response(body: writer.bytes)
    }

    func make(_ asked: OrderRequest) throws -> Response {
        let environment = try accepted.environment(asked.environment ?? accepted.onlyEnvironment ?? .production)
        let order = try ledger.placeOrder(
            for: asked.account, productID: asked.productID, bundleID: accepted.bundleID(asked.bundleID),
            in: environment, idempotencyKey: asked.idempotencyKey, shopOrderID: asked.shopOrderID, at: clock())
        return response(order, withTransaction: false)
    }

    func order(_ request: Request) throws -> Response {
        response(try ledger.order(withID: request.parameters[0], at: clock()), withTransaction: true)
    }

    private func response(_ order: Order, withTransaction: Bool) -> Response {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("order_id", order.id)
        writer.member("token", order.token.description)
        writer.member("state", order.state.rawValue)
        writer.member("environment", order.environment.rawValue)
        writer.member("bundle_id", order.bundleID)
        writer.member("product_id", order.productID)
        writer.member("created_at", "\(order.createdAt)")
        writer.member("shop_order_id", order.shopOrderID)
        if withTransaction {
            writer.name("transaction_id")
            if let transactionID = order.transactionID { writer.string(transactionID) } else { writer.null() }
        }
        writer.endObject()
        return Response(body: writer.bytes)
    }

    func purchasesWithoutOrder(_ request: Request) throws -> Response {
        guard request.queryItem("without")?.hasSameBytes(as: "order") == true else {
            throw RequestFault.invalid("the query must be 'without=order'")
        }
        let found = try ledger.purchasesWithoutOrder(after: request.queryItem("after"))
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("next", found.next)
        writer.name("purchases")
        writer.beginArray()
        for purchase in found.purchases {
            writer.beginObject()
            writer.member("account", purchase.account)
            writer.member("environment", purchase.environment.rawValue)
            writer.member("bundle_id", purchase.bundleID)
            writer.member("transaction_id", purchase.transactionID)
            writer.member("product_id", purchase.productID)
            writer.member("quantity", purchase.quantity)
            writer.member("granted_at", "\(purchase.grantedAt)")
            writer.endObject()
        }
        writer.endArray()
        writer.endObject()
        return Response(body: writer.bytes)
    }
}

/// Logs transactions with the token of an account other than the owner.
final class TokenConflicts: Sendable {
    private let count = Atomic<UInt64>(0)
    private let log: ServiceLog

    init(_ log: ServiceLog) { self.log = log }

    @Sendable func add(_ conflict: TokenConflict) {
        count.add(1, ordering: .relaxed)
        log.write(.warning, "token-conflict", [("transaction_id", .text(conflict.transactionID))])
    }

    var metric: MetricFamily {
        MetricFamily(
            .counter, "receipt_server_token_conflicts_total",
            "Purchases with the account token of another account than the one that owns them.",
            value: count.load(ordering: .relaxed))
    }
}
