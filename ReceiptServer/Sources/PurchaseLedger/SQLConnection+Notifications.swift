import AppStoreReceipt

extension SQLConnection {
    /// Records the arrival of a notification of any type. Returns whether it is the first time.
    ///
    /// Its purchase is stored as evidence. Without one, the payload is kept, so that no data of a new type is lost.
    func isNew(
        _ notification: VerifiedNotification, _ purchase: Purchase?, at now: Instant
    ) throws(LedgerError) -> Bool {
        let payload = notification.notification.payload
        guard let uuid = payload.notificationUUID, LedgerText.isStorable(uuid),
            let type = payload.type?.rawValue, LedgerText.isStorable(type)
        else {
            // It has no key to store it under. Its purchases still count.
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

    /// Returns whether a notification has arrived before. One without a UUID can't be recognized.
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

    /// Settles a notification.
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

    /// Returns the query for a later-signed notification about the same refund request, or `nil` if this one is about
    /// none. Run it while the lineage is locked: otherwise, another could be recorded meanwhile.
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
