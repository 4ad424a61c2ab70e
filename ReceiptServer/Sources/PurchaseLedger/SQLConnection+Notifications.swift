import AppStoreReceipt

extension SQLConnection {
    /// Stores that a notification has arrived, whatever its type; returns whether it is the first time.
    ///
    /// What it says about a purchase is in the evidence. Of a notification without one, the payload is kept, so that
    /// nothing is lost of a type that Apple adds.
    func isNew(
        _ notification: VerifiedNotification, _ purchase: Purchase?, at now: Instant
    ) throws(LedgerError) -> Bool {
        let payload = notification.notification.payload
        guard let uuid = payload.notificationUUID, LedgerText.isStorable(uuid),
            let type = payload.type?.rawValue, LedgerText.isStorable(type)
        else {
            // It has no name under which to store it. Its statements about purchases still count.
            return true
        }
        let environment = SQLValue.text(payload.environment?.rawValue ?? "")
        if isSnapshot {
            let known = try run(
                "SELECT 1 FROM notifications WHERE environment = $1 AND uuid = $2", [environment, .text(uuid)])
            guard known.isEmpty else { return false }
        }
        func text(_ text: String?) -> SQLValue { SQLValue(text.flatMap { LedgerText.isStorable($0) ? $0 : nil }) }
        let rows = try run(
            """
            INSERT INTO notifications VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING uuid
            """,
            [
                environment, .text(uuid), .text(type), text(payload.subtype?.rawValue), text(purchase?.transactionID),
                payload.signedDate.map(SQLValue.init) ?? .null, SQLValue(now),
                purchase == nil ? SQLValue(payload.object.text) : .null,
            ])
        return !rows.isEmpty
    }
}
