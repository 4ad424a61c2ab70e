import AppStoreReceipt
import StrictText

extension LedgerEvent {
    /// Queries for the order, and whether the token is the account's.
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
            (orderID, shopOrderID) = (try row.text(0), try row.optionalText(1))
        }
        if let token, let found = answers.popFirst(), !found.isEmpty { accountToken = token }
    }
}

extension SQLConnection {
    /// Numbers events and writes them to the outbox, in the transaction that they are about.
    ///
    /// - Parameters:
    ///   - purchases: The new purchases that were granted: their orders are closed.
    ///   - accounts: The accounts that get an answer.
    /// - Returns: The numbers of the answers, and the events as they are delivered.
    func post(
        _ events: [LedgerEvent], closingOrdersOf purchases: [NewPurchase] = [], answering accounts: [String] = [],
        _ policy: LedgerPolicy, at now: Instant
    ) throws(LedgerError) -> (numbers: [Int64], posted: [LedgerEvent]) {
        // Accounts are locked in one order, after all lineages.
        let notified = Dictionary(grouping: events) { UTF8Bytes($0.account) }.sorted { $0.key < $1.key }
        // One statement for adjacent accounts with equal numbers of events.
        var runs: [(count: Int, accounts: [String])] = []
        for (account, events) in notified {
            if runs.last?.count != events.count { runs.append((events.count, [])) }
            runs[runs.count - 1].accounts.append(account.string)
        }
        let notifiedAccounts = Set(notified.map(\.key))
        let others = accounts.filter { !notifiedAccounts.contains(UTF8Bytes($0)) }
        let locks = runs.isEmpty ? [] : dialect.sharedFloorLock.map { SQLStatement($0, []) }
        // The accounts are locked before their orders: no other transaction closes one of them.
        let closing =
            policy.orders.map { orders in
                purchases.flatMap { $0.closingOrder(orders, at: now) }
            } ?? []
        let naming = policy.orders == nil ? [] : notified.flatMap { $0.value.flatMap(\.naming) }
        let all = try run(
            locks + runs.map { SQLStatement.takingSequences($0.count, of: $0.accounts, at: now, dialect) }
                + others.map(SQLStatement.sequence) + closing + naming)
        let numbered = all.dropFirst(locks.count)
        var names = all.suffix(naming.count)
        // The last event of an answered account has the number of its answer.
        var numbers: [UTF8Bytes: Int64] = [:]
        for row in numbered.prefix(runs.count).joined() { numbers[UTF8Bytes(try row.text(0))] = try row.integer(1) }
        var posted: [LedgerEvent] = []
        var rows: [[SQLValue]] = []
        for (account, events) in notified {
            guard let last = numbers[account] else { throw LedgerError(.storeFailed, "no number for an event") }
            for (offset, event) in events.enumerated() {
                var event = event
                event.id = policy.surroundings.makeID()
                if policy.orders != nil { try event.readNames(&names) }
                event.sequence = last - Int64(events.count - 1 - offset)
                posted.append(event)
                // A request for a refund waits for no other event: Apple asks for an answer within hours.
                let isUrgent = event.kind == .refundRequested
                rows.append([
                    .text(event.id), .text(event.account), .integer(event.sequence), .text(event.json),
                    SQLValue(now), .text(isUrgent ? "urgent" : "pending"), .integer(0),
                    isUrgent ? SQLValue(now) : .null,
                ])
            }
        }
        let insertion = SQLInsertion("outbox (id, account, sequence, event, made_at, state, attempts, due_at)")
        for statement in insertion.statements(rows) { try write(statement.text, statement.parameters) }
        for (account, row) in zip(others, numbered.dropFirst(runs.count).prefix(others.count)) {
            numbers[UTF8Bytes(account)] = try SQLStatement.sequence(row)
        }
        return (accounts.map { numbers[UTF8Bytes($0)] ?? 0 }, posted)
    }
}
