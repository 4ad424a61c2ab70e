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

    /// Returns whether a notification has arrived before. One without a UUID has no name under which it is known.
    func isKnown(_ notification: VerifiedNotification) throws(LedgerError) -> Bool {
        let payload = notification.notification.payload
        guard let uuid = payload.notificationUUID, LedgerText.isStorable(uuid) else { return false }
        if notification.isUnnamed {
            return try !run("SELECT 1 FROM unnamed_notifications WHERE uuid = $1", [.text(uuid)]).isEmpty
        }
        return try !run(
            "SELECT 1 FROM notifications WHERE environment = $1 AND uuid = $2",
            [.text(payload.environment?.rawValue ?? ""), .text(uuid)]
        ).isEmpty
    }

    /// Settles what a notification says.
    func settle(
        _ notification: VerifiedNotification, _ submission: Submission, _ policy: LedgerPolicy,
        _ cause: LedgerEvent.Cause, at now: Instant
    ) throws(LedgerError) -> Settled<Void> {
        var loader = LineageLoader(connection: self, submissions: [submission], policy: policy, now: now)
        loader.statements = [newerAboutRefund(notification, submission, policy)].compactMap(\.self)
        return try loader.settle(cause) { (decision, answers) throws(LedgerError) in
            decision.settle()
            decision.notifyRefund(notification, isNewest: answers.allSatisfy(\.isEmpty))
        }
    }

    /// Asks for a notification about the same request for a refund that Apple signed later; `nil` if it is about none.
    /// It is asked while the lineage is locked: otherwise another one could be recorded meanwhile.
    func newerAboutRefund(
        _ notification: VerifiedNotification, _ submission: Submission, _ policy: LedgerPolicy
    ) -> SQLStatement? {
        guard policy.lifecycleEvents, let type = notification.type,
            [.consumptionRequest, .refundDeclined].contains(type), let date = notification.signedDate,
            let key = submission.purchases.first?.keys?.transaction
        else { return nil }
        return SQLStatement(
            """
            SELECT 1 FROM notifications WHERE transaction_id = $1 AND environment = $2 AND signed_date > $3
                AND type IN ('CONSUMPTION_REQUEST', 'REFUND_DECLINED', 'REFUND', 'REFUND_REVERSED') LIMIT 1
            """, [.text(key.transactionID.string), .text(key.environment.rawValue), SQLValue(date)])
    }
}
