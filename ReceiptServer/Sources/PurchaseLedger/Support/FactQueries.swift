import AppStoreReceipt
import StrictText

// The queries for facts. A condition can contain parameters and an ORDER BY clause.
extension SQLConnection {
    func grants(
        _ condition: String, _ parameters: [SQLValue], limit: Int = TransactionStory.maximumCount
    ) throws(LedgerError) -> [GrantFact] {
        try run(
            """
            SELECT environment, bundle_id, transaction_id, \(Grant.columns), granted_quantity, changed_at
            FROM grants JOIN identifiers ON identifiers.id = identifier_id \(condition)
            ORDER BY granted_at DESC, environment || ' ' || bundle_id || ' ' || transaction_id DESC LIMIT \(limit)
            """, parameters
        ).map { (row) throws(LedgerError) in
            GrantFact(
                grant: try Grant(row), grantedQuantity: try row.integer("granted_quantity"),
                changedAt: try row.date("changed_at"), takenBackAt: try row.optionalDate("voided_at"))
        }
    }

    func events(
        _ condition: String, _ parameters: [SQLValue], limit: Int = TransactionStory.maximumCount
    ) throws(LedgerError) -> [EventFact] {
        try run(
            """
            SELECT id, account, sequence, event, made_at, state, delivered_at, attempts, failure
            FROM outbox \(condition) ORDER BY made_at DESC, id DESC LIMIT \(limit)
            """, parameters
        ).map { (row) throws(LedgerError) in
            let event: LedgerEvent = try StoredJSON.decode(row.text("event"))
            return EventFact(
                id: try row.text("id"), account: try row.text("account"), sequence: try row.integer("sequence"),
                kind: event.kind.rawValue, cause: event.cause.rawValue,
                name: TransactionName(
                    environment: event.environment, bundleID: event.bundleID, transactionID: event.transactionID),
                productID: event.productID, quantity: Int64(event.quantity),
                previousQuantity: Int64(event.previousQuantity), seats: event.seats.map(Int64.init),
                madeAt: try row.date("made_at"),
                state: EventFact.Delivery(rawValue: try row.text("state")) ?? .pending,
                deliveredAt: try row.optionalDate("delivered_at"), attempts: try row.integer("attempts"),
                failure: try row.optionalText("failure"))
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
                id: try row.integer("id"), from: try row.text("from_account"), to: try row.text("to_account"),
                reason: try row.text("reason"), at: try row.date("transferred_at"))
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
                id: try row.integer("id"), kind: ActFact.Kind(rawValue: try row.text("kind")) ?? .adjust,
                account: try row.text("account"), name: try row.isNull("transaction_id") ? nil : row.transactionName,
                productID: try row.optionalText("product_id"), eventID: try row.optionalText("event_id"),
                previousQuantity: try row.optionalInteger("previous_quantity"),
                quantity: try row.optionalInteger("quantity"),
                reason: try row.text("reason"), answer: try row.optionalText("answer"), at: try row.date("acted_at"))
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
