import AppStoreReceipt
import StrictText

// The queries for facts. A condition can contain parameters and an ORDER BY clause.
extension SQLConnection {
    func grants(
        _ condition: String, _ parameters: [SQLValue], limit: Int = TransactionStory.maximumCount
    ) throws(LedgerError) -> [GrantFact] {
        try run(
            """
            SELECT environment, bundle_id, transaction_id, account, product_id, quantity, granted_quantity, granted_at,
                changed_at, until, voided_at, adjusted_quantity, adjusted_from, seats
            FROM grants \(condition)
            ORDER BY granted_at DESC, environment || ' ' || bundle_id || ' ' || transaction_id DESC LIMIT \(limit)
            """, parameters
        ).map { (row) throws(LedgerError) in
            var adjusted: GrantFact.Adjusted?
            if let quantity = try row.optionalInteger(11) {
                adjusted = GrantFact.Adjusted(quantity: quantity, signedQuantity: try row.integer(12))
            }
            return GrantFact(
                name: try row.transactionName(0), account: try row.text(3), productID: try row.text(4),
                quantity: try row.integer(5), seats: try row.optionalInteger(13), grantedQuantity: try row.integer(6),
                grantedAt: try row.date(7),
                changedAt: try row.date(8), until: try row.optionalDate(9), takenBackAt: try row.optionalDate(10),
                adjusted: adjusted)
        }
    }

    func events(
        _ condition: String, _ parameters: [SQLValue], limit: Int = TransactionStory.maximumCount
    ) throws(LedgerError) -> [EventFact] {
        try run(
            """
            SELECT id, account, sequence, event, made_at, state, attempts, failure
            FROM outbox \(condition) ORDER BY made_at DESC, id DESC LIMIT \(limit)
            """, parameters
        ).map { (row) throws(LedgerError) in
            let event: LedgerEvent = try StoredJSON.decode(row.text(3))
            return EventFact(
                id: try row.text(0), account: try row.text(1), sequence: try row.integer(2), kind: event.kind.rawValue,
                cause: event.cause.rawValue,
                name: TransactionName(
                    environment: event.environment, bundleID: event.bundleID, transactionID: event.transactionID),
                productID: event.productID, quantity: Int64(event.quantity),
                previousQuantity: Int64(event.previousQuantity), seats: event.seats.map(Int64.init),
                madeAt: try row.date(4),
                state: EventFact.Delivery(rawValue: try row.text(5)) ?? .pending,
                attempts: try row.integer(6), failure: try row.optionalText(7))
        }
    }

    func transfers(
        _ condition: String, _ parameters: [SQLValue], limit: Int = TransactionStory.maximumCount
    ) throws(LedgerError) -> [TransferFact] {
        try run(
            """
            SELECT id, from_account, to_account, reason, transferred_at FROM transfers \(condition)
            ORDER BY transferred_at DESC, id DESC LIMIT \(limit)
            """, parameters
        ).map { (row) throws(LedgerError) in
            TransferFact(
                id: try row.integer(0), from: try row.text(1), to: try row.text(2), reason: try row.text(3),
                at: try row.date(4))
        }
    }

    func acts(
        _ condition: String, _ parameters: [SQLValue], limit: Int = TransactionStory.maximumCount
    ) throws(LedgerError) -> [ActFact] {
        try run(
            """
            SELECT id, kind, account, environment, bundle_id, transaction_id, product_id, event_id,
                previous_quantity, quantity, reason, answer, acted_at
            FROM acts \(condition) ORDER BY acted_at DESC, id DESC LIMIT \(limit)
            """, parameters
        ).map { (row) throws(LedgerError) in
            ActFact(
                id: try row.integer(0), kind: ActFact.Kind(rawValue: try row.text(1)) ?? .adjust,
                account: try row.text(2), name: try row.optionalText(5) == nil ? nil : row.transactionName(3),
                productID: try row.optionalText(6), eventID: try row.optionalText(7),
                previousQuantity: try row.optionalInteger(8), quantity: try row.optionalInteger(9),
                reason: try row.text(10), answer: try row.optionalText(11), at: try row.date(12))
        }
    }
}

extension SQLConnection {
    /// Records that an event was sent again.
    func recordSending(_ eventID: String, _ reason: String, at now: Instant) throws(LedgerError) {
        guard let event = try events("WHERE id = $1", [.text(eventID)]).first else { return }
        try write(
            """
            INSERT INTO acts (kind, account, environment, bundle_id, transaction_id, product_id, event_id, reason, acted_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
            """,
            [.text(ActFact.Kind.send.rawValue), .text(event.account)] + event.name.key.columns + [
                .text(event.productID), .text(eventID), .text(reason), SQLValue(now),
            ])
    }
}

extension SQLRow {
    /// Returns the name of a transaction from three columns.
    func transactionName(_ column: Int) throws(LedgerError) -> TransactionName {
        guard let environment = AppStoreEnvironment(rawValue: try text(column)) else {
            throw LedgerError(.storeFailed, "a row has an environment that the ledger did not write")
        }
        return TransactionName(
            environment: environment, bundleID: try text(column + 1), transactionID: try text(column + 2))
    }
}

extension EventFact {
    /// Returns a pattern for `LIKE … ESCAPE '!'` that matches the events of a transaction, and possibly others.
    static func pattern(_ transactionID: String) throws(LedgerError) -> String {
        let json = try StoredJSON.encode(["transaction_id": transactionID])
        let escaped = json.utf8.dropFirst().dropLast().flatMap {
            "!%_".utf8.contains($0) ? [UInt8(ascii: "!"), $0] : [$0]
        }
        return "%" + String(decoding: escaped, as: UTF8.self) + "%"
    }
}
