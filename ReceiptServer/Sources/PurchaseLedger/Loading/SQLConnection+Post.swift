import AppStoreReceipt

extension LedgerEvent {
    /// Queries for the order, and whether the token is the account's.
    fileprivate var naming: [SQLStatement] {
        guard let token else { return [orderQuery] }
        return [
            orderQuery,
            SQLStatement(
                "SELECT 1 FROM account_tokens WHERE token = $1 AND account = $2 AND retired_at IS NULL",
                [.text(token.description), .text(account)]),
        ]
    }

    /// Takes the answers to ``naming`` from those of several events.
    fileprivate mutating func readNames(_ answers: inout ArraySlice<[SQLRow]>) throws(LedgerError) {
        try readOrder(answers.popFirst() ?? [])
        if let token, let found = answers.popFirst(), !found.isEmpty { accountToken = token }
    }
}

extension SQLConnection {
    /// Posts events, with the orders and tokens of the purchases that they are about, and closes the orders of new
    /// purchases.
    ///
    /// - Parameters:
    ///   - purchases: The new purchases that were granted.
    ///   - accounts: The accounts that get an answer.
    /// - Returns: The numbers of the answers, and the events as they are delivered.
    func post(
        _ events: [LedgerEvent], closingOrdersOf purchases: [NewPurchase] = [], answering accounts: [String] = [],
        _ policy: LedgerPolicy, at now: Instant
    ) throws(LedgerError) -> (numbers: [Int64], posted: [LedgerEvent]) {
        let due = policy.surroundings.dueDate(now)
        var posting = Posting(events, answering: accounts, at: now, due: due, dialect)
        // The accounts are locked before their orders: no other transaction closes one of them.
        var (closing, naming): ([SQLStatement], [SQLStatement]) = ([], [])
        if let orders = policy.orders {
            closing = purchases.flatMap { $0.closingOrder(orders, at: now) }
            naming = posting.events.flatMap(\.naming)
        }
        let answers = try run(posting.statements + closing + naming)
        let numbers = try posting.number(answers.prefix(posting.statements.count), policy.surroundings)
        var names = answers.suffix(naming.count)
        for index in posting.events.indices where !names.isEmpty { try posting.events[index].readNames(&names) }
        for statement in posting.insertions(at: now, due: due) { try write(statement.text, statement.parameters) }
        return (numbers, posting.events)
    }
}
