import AppStoreReceipt
import StrictText

/// What the backend is told: an account has more or less than before.
struct LedgerEvent: Sendable {
    enum Kind: String, Sendable {
        /// The purchase was granted, for the first time to this account.
        case granted
        /// Apple refunded or revoked it, or it went to another account: the quantity is 0.
        case revoked
        /// A refund was reversed.
        case restored
        /// A part was refunded, a part of a refund was reversed, or an operator set the quantity; or two grants turned
        /// out to be one, of which this is the later.
        case adjusted
        /// Access ends at another date, or the number of seats is another, and the quantity is the same: a grace
        /// period, an extension, an upgrade, seats that were added or refunded.
        case changed
        /// A transaction of the purchase has the token of another account. The quantity is the same: an owner stays
        /// until the backend transfers the purchase.
        case conflict
    }

    /// What led to it.
    enum Cause: String, Sendable {
        case redeem, notification, transfer
        /// An operator set the quantity, or granted a product.
        case support
        /// The App Store was asked, and said what it had signed.
        case reconciliation
        /// The token of the purchase became the account's.
        case token
        /// A renewal that Apple had signed before has begun.
        case beginning
        /// A refund or revocation that Apple had dated in the future has come into effect.
        case revocation
        /// A newer version of the ledger corrects what an older one told.
        case migration
    }

    /// The same each time the event is delivered; empty until it is posted.
    var id = ""
    let account: String
    /// Greater than the numbers of everything that the backend was told before: what is told with a greater number is
    /// newer.
    var sequence: Int64 = 0
    let kind: Kind
    let cause: Cause
    let environment: AppStoreEnvironment
    let bundleID: String
    let productID: String
    let transactionID: String
    var originalTransactionID: String?
    /// What the account has of the purchase now, and what it had before.
    let quantity: Int64
    let previousQuantity: Int64
    /// The seats of the period of a subscription; `nil` if nothing says them.
    let seats: Int64?
    /// The date access ends, if it ends and the date is known.
    let until: Instant?
    /// The date of the purchase; `nil` without evidence.
    let purchaseDate: Instant?
    /// How long a non-renewing subscription lasts: an `Entitlements.Length`.
    let length: String?
    let at: Instant
    /// The token that the transaction carries; `nil` if it is not to be named.
    var token: AppAccountToken?
    /// The ``token``, if it is the account's when the event is posted.
    var accountToken: AppAccountToken?
    /// The order of the account that the purchase is known to be of.
    var order: NamedOrder?

    /// The event as one line of JSON, with every member, also one without a value.
    var json: String {
        var writer = JSONWriter(capacity: 512)
        func write(_ name: StaticString, _ text: String?) {
            writer.name(name)
            if let text { writer.string(text) } else { writer.null() }
        }
        func write(_ name: StaticString, _ number: Int64?) {
            writer.name(name)
            if let number { writer.integer(number) } else { writer.null() }
        }
        writer.beginObject()
        write("account", account)
        write("account_token", accountToken?.description)
        // Dates are written as in answers.
        write("at", at.description)
        write("bundle_id", bundleID)
        write("cause", cause.rawValue)
        write("environment", environment.rawValue)
        write("id", id)
        write("kind", kind.rawValue)
        write("length", length)
        write("order_id", order?.id)
        write("original_transaction_id", originalTransactionID)
        write("previous_quantity", previousQuantity)
        write("product_id", productID)
        write("purchase_date", purchaseDate?.description)
        write("quantity", quantity)
        write("seats", seats)
        write("sequence", sequence)
        write("shop_order_id", order?.shopOrderID)
        write("transaction_id", transactionID)
        write("until", until?.description)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension Grant {
    /// What the grant's account is told of it.
    ///
    /// - Parameter item: What the evidence says of the transaction; `nil` if there is none.
    func event(
        _ kind: LedgerEvent.Kind, _ cause: LedgerEvent.Cause, _ item: Entitlements.Item?, before: Int64, at now: Instant
    ) -> LedgerEvent {
        LedgerEvent(
            account: account, kind: kind, cause: cause,
            environment: transaction.environment, bundleID: transaction.bundleID.string, productID: productID,
            transactionID: transaction.transactionID.string, originalTransactionID: item?.originalTransactionID,
            quantity: quantity, previousQuantity: before, seats: seats, until: until,
            purchaseDate: item?.purchase.purchaseDate, length: item?.length?.code, at: now,
            // It is another account's.
            token: kind == .conflict ? nil : item.flatMap { AccountTokens.token(of: $0.purchase) })
    }
}

extension LedgerEvent {
    /// Asks for the order, and whether the token is the account's.
    fileprivate var naming: [SQLStatement] {
        let account = SQLValue.text(account)
        let order = SQLStatement(
            """
            SELECT id, shop_order_id FROM orders WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3
                AND account = $4 AND is_named = 1
            """, [.text(environment.rawValue), .text(bundleID), .text(transactionID), account])
        guard let token else { return [order] }
        return [
            order,
            SQLStatement(
                "SELECT 1 FROM account_tokens WHERE token = $1 AND account = $2 AND retired_at IS NULL",
                [.text(token.description), account]),
        ]
    }

    /// Takes the answers to ``naming`` from those of several events.
    fileprivate mutating func readNames(_ answers: inout ArraySlice<[SQLRow]>) throws(LedgerError) {
        if let row = answers.popFirst()?.first {
            order = NamedOrder(id: try row.text(0), shopOrderID: try row.optionalText(1))
        }
        if let token, let found = answers.popFirst(), !found.isEmpty { accountToken = token }
    }
}

extension SQLConnection {
    /// Numbers events and writes them to the outbox, in the transaction that they are about.
    ///
    /// - Parameters:
    ///   - purchases: What was granted of new purchases: their orders are closed.
    ///   - accounts: Who is answered.
    /// - Returns: The numbers of the answers.
    func post(
        _ events: [LedgerEvent], closingOrdersOf purchases: [NewPurchase] = [], answering accounts: [String] = [],
        _ policy: LedgerPolicy, at now: Instant
    ) throws(LedgerError) -> [Int64] {
        // Accounts are locked in one order, after all families.
        let told = Dictionary(grouping: events) { UTF8Bytes($0.account) }.sorted { $0.key < $1.key }
        // One statement for accounts that are told as much and follow each other.
        var runs: [(count: Int, accounts: [String])] = []
        for (account, events) in told {
            if runs.last?.count != events.count { runs.append((events.count, [])) }
            runs[runs.count - 1].accounts.append(account.string)
        }
        let toldAccounts = Set(told.map(\.key))
        let others = accounts.filter { !toldAccounts.contains(UTF8Bytes($0)) }
        let locks = runs.isEmpty ? [] : dialect.sharedFloorLock.map { SQLStatement($0, []) }
        // The accounts are locked before their orders: no other transaction closes one of them.
        let closing =
            policy.orders.map { orders in
                purchases.flatMap { $0.closingOrder(orders, at: now) }
            } ?? []
        let naming = policy.orders == nil ? [] : told.flatMap { $0.value.flatMap(\.naming) }
        let all = try run(
            locks + runs.map { SQLStatement.takingSequences($0.count, of: $0.accounts, at: now, dialect) }
                + others.map(SQLStatement.sequence) + closing + naming)
        let rows = all.dropFirst(locks.count)
        var names = all.suffix(naming.count)
        // The last event of an account that is told has the number of its answer.
        var numbers: [UTF8Bytes: Int64] = [:]
        for row in rows.prefix(runs.count).joined() { numbers[UTF8Bytes(try row.text(0))] = try row.integer(1) }
        for (account, events) in told {
            guard let last = numbers[account] else { throw LedgerError(.storeFailed, "no number for an event") }
            for (offset, event) in events.enumerated() {
                var event = event
                event.id = policy.surroundings.makeID()
                if policy.orders != nil { try event.readNames(&names) }
                event.sequence = last - Int64(events.count - 1 - offset)
                try write(
                    "INSERT INTO outbox VALUES ($1, $2, $3, $4, $5, 'pending', 0, NULL)",
                    [
                        .text(event.id), .text(event.account), .integer(event.sequence), .text(event.json),
                        SQLValue(now),
                    ])
            }
        }
        for (account, row) in zip(others, rows.dropFirst(runs.count).prefix(others.count)) {
            numbers[UTF8Bytes(account)] = try SQLStatement.sequence(row)
        }
        return accounts.map { numbers[UTF8Bytes($0)] ?? 0 }
    }
}
