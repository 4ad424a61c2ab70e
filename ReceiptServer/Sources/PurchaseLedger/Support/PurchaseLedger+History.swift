import AppStoreReceipt
import StrictText

extension PurchaseLedger {
    /// The maximum number of facts in one page of a history.
    package static let maximumHistoryCount = 500

    /// Returns a page of an account's history, or `nil` if the ledger doesn't know the account.
    ///
    /// - Parameters:
    ///   - cursor: ``AccountHistory/next`` of the previous page, or `nil` for the newest facts.
    ///   - limit: The maximum number of facts, from 1 to ``maximumHistoryCount``.
    /// - Throws: `invalid-text` for an invalid cursor.
    package func history(
        of account: String, after cursor: String? = nil, limit: Int = 100
    ) throws(LedgerError) -> AccountHistory? {
        try LedgerText.check(account, "account")
        guard 1...Self.maximumHistoryCount ~= limit else {
            throw LedgerError(.invalidText, "limit: 1 to \(Self.maximumHistoryCount)")
        }
        var place: HistoryPlace?
        if let cursor {
            place = HistoryPlace(cursor)
            if place == nil { throw LedgerError(.invalidText, "after: not a 'next' of this history") }
        }
        return try store.read { (connection) throws(LedgerError) in
            var found: [(place: HistoryPlace, fact: AccountHistory.Entry.Fact)] = []
            // Use only two limits, so that each statement stays prepared.
            let count = (limit <= 100 ? 100 : Self.maximumHistoryCount) + 1
            for source in HistoryPlace.Source.allCases {
                found += try connection.facts(of: account, source, after: place, limit: count)
            }
            guard !found.isEmpty || place != nil else {
                return try connection.knows(account) ? AccountHistory(account: account, entries: [], next: nil) : nil
            }
            found.sort { $0.place < $1.place }
            let part = found.prefix(limit)
            return AccountHistory(
                account: account,
                entries: part.map { AccountHistory.Entry(at: $0.place.date, fact: $0.fact) },
                next: found.count > limit ? part.last?.place.text : nil)
        }
    }
}

extension SQLConnection {
    /// Returns the facts of an account in one table that follow a position.
    fileprivate func facts(
        of account: String, _ source: HistoryPlace.Source, after place: HistoryPlace?, limit: Int
    ) throws(LedgerError) -> [(place: HistoryPlace, fact: AccountHistory.Entry.Fact)] {
        // A fact with the same date follows if its table does, or if its key does.
        var date = place?.date ?? .distantFuture
        var key: SQLValue =
            switch source {
            case .transfer, .act: .integer(.min)
            case .grant, .event, .attempt: .text("")
            }
        if let place, place.source.rawValue < source.rawValue {
            date = date + .milliseconds(1)
        } else if let place, place.source == source {
            switch place.key {
            case .number(let number): key = .integer(number)
            case .text(let text): key = .text(text.string)
            }
        }
        let parameters: [SQLValue] = [.text(account), SQLValue(date), key]
        func condition(_ date: String, _ key: String, of account: String = "account = $1") -> String {
            "WHERE (\(account)) AND (\(date) < $2 OR (\(date) = $2 AND \(key) < $3))"
        }
        switch source {
        case .grant:
            let key = "environment || ' ' || bundle_id || ' ' || transaction_id"
            return try grants(condition("granted_at", key), parameters, limit: limit).map { fact in
                let name = fact.name
                return (
                    HistoryPlace(
                        fact.grantedAt, source, "\(name.environment.rawValue) \(name.bundleID) \(name.transactionID)"),
                    .grant(fact)
                )
            }
        case .event:
            return try events(condition("made_at", "id"), parameters, limit: limit).map { fact in
                (HistoryPlace(fact.madeAt, source, fact.id), .event(fact))
            }
        case .attempt:
            return try attempts(
                condition("attempted_at", "attempts.request_id"), parameters, limit: PurchaseLedger.maximumAttemptCount
            ).map { fact in (HistoryPlace(fact.at, source, fact.requestID), .attempt(fact)) }
        case .transfer:
            let either = "from_account = $1 OR to_account = $1"
            return try transfers(condition("transferred_at", "id", of: either), parameters, limit: limit).map { fact in
                (HistoryPlace(fact.at, source, fact.id), .transfer(fact))
            }
        case .act:
            return try acts(condition("acted_at", "id"), parameters, limit: limit).map { fact in
                (HistoryPlace(fact.at, source, fact.id), .act(fact))
            }
        }
    }
}
