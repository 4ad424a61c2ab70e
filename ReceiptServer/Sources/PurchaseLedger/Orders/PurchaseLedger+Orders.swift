@_spi(Ledger) public import AppStoreReceipt
import StrictText

/// A purchase that a backend announced for an account, and its result. Orders are only records: they grant and refuse
/// nothing.
public struct Order: Sendable {
    /// The state of an order.
    @nonexhaustive
    public enum State: String, Sendable, CaseIterable {
        /// There is no purchase for it yet.
        case open
        /// A purchase was granted.
        case granted
        /// The purchase was granted and later revoked.
        case refunded
        /// There was no purchase for it in time.
        case abandoned
    }

    /// The order's identifier.
    public let id: String
    /// The buying account.
    public let account: String
    /// The environment of the purchase.
    public let environment: AppStoreEnvironment
    /// The app's bundle id.
    public let bundleID: String
    /// The product's identifier.
    public let productID: String
    /// The account's token, which the app sets for the purchase.
    public let token: AppAccountToken
    /// The date of the order.
    public let createdAt: Instant
    /// The state of the order.
    public let state: State
    /// The transaction of the purchase, or `nil` if there is none.
    public let transactionID: String?
    /// The shop's own id for the order, or `nil` if there is none.
    public let shopOrderID: String?
}

/// A new purchase without an order. It was granted anyway.
public struct UnorderedPurchase: Sendable {
    /// The account that has it.
    public let account: String
    /// The environment of the purchase.
    public let environment: AppStoreEnvironment
    /// The app's bundle id.
    public let bundleID: String
    /// The transaction's identifier.
    public let transactionID: String
    /// The product's identifier.
    public let productID: String
    /// The quantity that the account has now.
    public let quantity: Int
    /// The date it was granted.
    public let grantedAt: Instant
}

/// The queries for orders.
enum OrderQuery {
    /// Orders without a purchase from before `$1`, up to 1000 of them.
    static let old = """
        SELECT id FROM orders WHERE transaction_id IS NULL AND created_at < $1 ORDER BY account, created_at LIMIT 1000
        """
}

extension PurchaseLedger {
    /// The maximum number of an account's open orders for a request without an idempotency key, and for one with a key.
    package static let maximumOrderCounts = (withoutKey: 100, withKey: 1000)

    /// Records that an account is about to buy a product, and returns the order, which contains the account's token.
    ///
    /// The next new purchase of the account, app, environment and product closes one of the open orders. If only one
    /// order has the purchase's token, or if the purchase has no token and there is only one order, that order is
    /// closed, and events name it. Otherwise, the oldest is closed, and events name none.
    ///
    /// - Parameters:
    ///   - account: The buying account.
    ///   - productID: The product's identifier.
    ///   - bundleID: The app's bundle id.
    ///   - environment: The environment of the purchase.
    ///   - idempotencyKey: A text of 1 to 255 bytes that is the same if the request is repeated, so that the answer is
    ///     the same order, or `nil` for none.
    ///   - shopOrderID: The shop's own id for the order, 1 to 255 bytes, which events contain, or `nil` for none. For
    ///     the same account, product, app and environment, the same id returns the same order.
    ///   - now: The date of the order.
    /// - Throws: `idempotency-key-reused` if the key belongs to a different order of the account, `shop-order-taken` if
    ///   `shopOrderID` belongs to a different order, and `too-many-orders` if the account has 100 open orders, or 1,000
    ///   with a key or `shopOrderID`.
    @available(*, noasync)
    public func placeOrder(
        for account: String, productID: String, bundleID: String, in environment: AppStoreEnvironment,
        idempotencyKey: String? = nil, shopOrderID: String? = nil, at now: Instant = .now
    ) throws(LedgerError) -> Order {
        for (text, name) in [(account, "account"), (productID, "product_id"), (bundleID, "bundle_id")]
            as [(String, StaticString)]
        { try LedgerText.check(text, name) }
        if let idempotencyKey { try LedgerText.check(idempotencyKey, "idempotency_key") }
        if let shopOrderID { try LedgerText.check(shopOrderID, "shop_order_id") }
        let orderTime = policy.orderTime
        let (id, random) = (policy.surroundings.makeID(), AppAccountToken.random(policy.surroundings))
        return try store.write { [policy] (connection) throws(LedgerError) -> Order in
            try connection.lockAccount(account, .shared)
            var token = random
            if let known = try connection.token(of: account, nil) {
                token = known
            } else {
                // Nothing can wait for a token that was just created.
                _ = try connection.register(
                    TokenRegistration(token: token, account: account, isMade: true), policy, at: now)
            }
            // Serialize the orders of an account, so that it never exceeds its limit.
            try connection.run(
                "SELECT 1 FROM account_tokens WHERE token = $1" + connection.dialect.rowLock, [.text(token.description)]
            )
            let rows = try connection.run(
                """
                INSERT INTO orders (id, account, environment, bundle_id, product_id, token, idempotency_key, created_at,
                    shop_order_id)
                VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING RETURNING id
                """,
                [
                    .text(id), .text(account), .text(environment.rawValue), .text(bundleID), .text(productID),
                    .text(token.description), SQLValue(idempotencyKey), SQLValue(now), SQLValue(shopOrderID),
                ])
            guard rows.isEmpty else {
                let limits = Self.maximumOrderCounts
                let limit = idempotencyKey == nil && shopOrderID == nil ? limits.withoutKey : limits.withKey
                let open = try connection.run(
                    """
                    SELECT COUNT(*) FROM (SELECT 1 FROM orders WHERE account = $1 AND transaction_id IS NULL
                        AND created_at > $2 LIMIT \(limit + 1)) AS open
                    """, [.text(account), SQLValue(now - orderTime)])
                guard try open[0].integer(0) <= limit else {
                    throw LedgerError(.tooManyOrders, "\(limit) are open")
                }
                return Order(
                    id: id, account: account, environment: environment, bundleID: bundleID, productID: productID,
                    token: token, createdAt: now, state: .open, transactionID: nil, shopOrderID: shopOrderID)
            }
            func isSame(_ known: Order) -> Bool {
                known.productID.hasSameBytes(as: productID) && known.bundleID.hasSameBytes(as: bundleID)
                    && known.environment == environment
            }
            if let idempotencyKey,
                let known = try connection.orders(
                    "orders.account = $1 AND orders.idempotency_key = $2", [.text(account), .text(idempotencyKey)],
                    orderTime, at: now
                ).first
            {
                guard isSame(known), known.shopOrderID.map(UTF8Bytes.init) == shopOrderID.map(UTF8Bytes.init) else {
                    throw LedgerError(.idempotencyKeyReused, "")
                }
                return known
            }
            let known = try connection.orders(
                "orders.shop_order_id = $1", [SQLValue(shopOrderID)], orderTime, at: now
            ).first
            // The order was abandoned long ago, and just removed.
            guard let known else { throw .conflict }
            // Don't reveal what another account ordered.
            guard known.account.hasSameBytes(as: account), isSame(known) else {
                throw LedgerError(.shopOrderTaken, "")
            }
            return known
        }
    }

    /// Returns an order.
    ///
    /// - Throws: `not-found` if there is none, its account was deleted, or it was abandoned long ago.
    @available(*, noasync)
    public func order(withID id: String, at now: Instant = .now) throws(LedgerError) -> Order {
        try LedgerText.check(id, "order id")
        let orderTime = policy.orderTime
        let found = try store.read { (connection) throws(LedgerError) in
            try connection.orders("orders.id = $1", [.text(id)], orderTime, at: now).first
        }
        guard let found else { throw LedgerError(.notFound, "order") }
        return found
    }

    /// Returns the new purchases without an order, latest first, up to 1000 of them.
    @available(*, noasync)
    public func purchasesWithoutOrder() throws(LedgerError) -> [UnorderedPurchase] {
        try purchasesWithoutOrder(after: nil).purchases
    }

    /// Returns a page of the new purchases without an order, latest first, and the cursor of the next page, or `nil`
    /// after the last.
    ///
    /// - Throws: `invalid-text` for an invalid cursor.
    package func purchasesWithoutOrder(
        after cursor: String?, limit: Int = 1000
    ) throws(LedgerError) -> (purchases: [UnorderedPurchase], next: String?) {
        var place: HistoryPlace?
        if let cursor {
            place = HistoryPlace(cursor)
            guard case .text = place?.key else { throw LedgerError(.invalidText, "after: not a 'next' of this list") }
        }
        let key = "environment || ' ' || bundle_id || ' ' || transaction_id"
        let (condition, parameters): (String, [SQLValue]) =
            if let place, case .text(let name) = place.key {
                (
                    "WHERE granted_at <= $2 AND (granted_at, \(key)) < ($2, $3)",
                    [SQLValue(place.date), .text(name.string)]
                )
            } else {
                ("", [])
            }
        let rows = try store.read { (connection) throws(LedgerError) in
            try connection.run(
                """
                SELECT grants.account, unordered.environment, unordered.bundle_id, unordered.transaction_id,
                    grants.product_id, grants.quantity, unordered.granted_at, unordered.name
                FROM (SELECT identifiers.*, granted_at, \(key) AS name FROM unordered_purchases
                    JOIN identifiers ON identifiers.id = identifier_id \(condition)
                    ORDER BY granted_at DESC, \(key) DESC LIMIT $1) AS unordered
                LEFT JOIN grants ON grants.identifier_id = unordered.id
                ORDER BY unordered.granted_at DESC, unordered.name DESC
                """, [.integer(Int64(limit) + 1)] + parameters)
        }
        let part = rows.prefix(limit)
        var next: String?
        if rows.count > limit, let last = part.last {
            next = HistoryPlace(try last.date("granted_at"), .grant, try last.text("name")).text
        }
        var purchases: [UnorderedPurchase] = []
        for row in part {
            guard let account = try row.optionalText("account") else { continue }
            purchases.append(
                UnorderedPurchase(
                    account: account, environment: try row.environment, bundleID: try row.text("bundle_id"),
                    transactionID: try row.text("transaction_id"), productID: try row.text("product_id"),
                    quantity: Int(try row.integer("quantity")),
                    grantedAt: try row.date("granted_at")))
        }
        return (purchases, next)
    }
}

extension SQLConnection {
    /// Moves an account's open orders to another account, with its tokens.
    func moveOpenOrders(from account: String, to other: String) throws(LedgerError) {
        try write(
            "UPDATE orders SET account = $2, idempotency_key = NULL WHERE account = $1 AND transaction_id IS NULL",
            [.text(account), .text(other)])
    }

    /// Returns the orders that meet a condition.
    fileprivate func orders(
        _ condition: String, _ values: [SQLValue], _ orderTime: Duration, at now: Instant
    ) throws(LedgerError) -> [Order] {
        try run(
            """
            SELECT orders.id, orders.account, orders.environment, orders.bundle_id, orders.product_id,
                orders.token, orders.created_at, orders.transaction_id, grants.quantity, orders.shop_order_id
            FROM orders LEFT JOIN identifiers ON identifiers.environment = orders.environment
                AND identifiers.bundle_id = orders.bundle_id AND identifiers.transaction_id = orders.transaction_id
            LEFT JOIN grants ON grants.identifier_id = identifiers.id
            WHERE \(condition)
            """, values
        ).map { (row) throws(LedgerError) in
            let createdAt = try row.date("created_at")
            let transactionID = try row.optionalText("transaction_id")
            let state: Order.State =
                if transactionID == nil {
                    createdAt + orderTime > now ? .open : .abandoned
                } else {
                    try row.integer("quantity") > 0 ? .granted : .refunded
                }
            return Order(
                id: try row.text("id"), account: try row.text("account"), environment: try row.environment,
                bundleID: try row.text("bundle_id"), productID: try row.text("product_id"),
                token: AppAccountToken(signed: try row.text("token")), createdAt: createdAt, state: state,
                transactionID: transactionID, shopOrderID: try row.optionalText("shop_order_id"))
        }
    }
}

extension LedgerEvent {
    /// The query for the order that is known to be the purchase's, which ``readOrder(_:)`` reads.
    var orderQuery: SQLStatement {
        SQLStatement(
            """
            SELECT id, shop_order_id FROM orders WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3
                AND account = $4 AND is_named = 1
            """, [.text(environment.rawValue), .text(bundleID), .text(transactionID), .text(account)])
    }

    mutating func readOrder(_ rows: [SQLRow]) throws(LedgerError) {
        if let row = rows.first { (orderID, shopOrderID) = (try row.text(0), try row.optionalText(1)) }
    }
}

extension NewPurchase {
    /// Returns the statements that close its order, or record that there is none. The account must be locked.
    ///
    /// DANGEROUS: shops deliver the order that is named, whatever it costs. An order is named only if it is the only
    /// open one of the product with the purchase's token or, if the purchase has none, the only open one. Otherwise,
    /// the oldest is closed without being named. An abandoned order never belongs to a later purchase.
    func closingOrder(_ policy: OrderPolicy, at now: Instant) -> [SQLStatement] {
        let open = """
            FROM orders WHERE account = $4 AND environment = $1 AND bundle_id = $2 AND product_id = $5
                AND transaction_id IS NULL AND created_at > $6
            """
        let named = """
            SELECT CASE WHEN COUNT(*) = 1 THEN MIN(id) END \(open)\(token == nil ? "" : " AND token = $7")
            """
        let parameters =
            grant.transaction.columns + [
                .text(grant.account), .text(grant.productID), SQLValue(now - policy.orderTime),
            ] + (token.map { [.text($0.description)] } ?? [])
        return [
            SQLStatement(
                """
                UPDATE orders SET transaction_id = $3, is_named = CASE WHEN id = (\(named)) THEN 1 END
                WHERE id = COALESCE((\(named)), (SELECT id \(open) ORDER BY created_at, id LIMIT 1))
                """, parameters),
            SQLStatement(
                """
                INSERT INTO unordered_purchases
                SELECT identifier_id, granted_at FROM grants WHERE identifier_id = \(TransactionKey.id) AND NOT EXISTS (
                    SELECT 1 FROM orders WHERE orders.account = $4 AND orders.environment = $1
                        AND orders.bundle_id = $2 AND orders.transaction_id = $3)
                ON CONFLICT DO NOTHING
                """, Array(parameters.prefix(4))),
        ]
    }
}
