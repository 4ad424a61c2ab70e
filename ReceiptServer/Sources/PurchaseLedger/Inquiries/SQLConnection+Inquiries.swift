import AppStoreReceipt
import StrictText

/// The changes to inquiries in transactions of the ledger. A transaction writes them last, and only for lineages that
/// it has locked, so a transaction that waits for a lineage never holds an inquiry.
extension SQLConnection {
    /// Creates the inquiries after a decision, and records the periods that ended without a notification.
    ///
    /// - Parameter isImport: Whether the grants are old: Apple isn't asked to confirm them.
    func inquire(
        after effects: LedgerDecision.Effects, _ policy: LedgerPolicy, _ cause: LedgerEvent.Cause, isImport: Bool,
        at now: Instant
    ) throws(LedgerError) {
        let due = policy.surroundings.dueDate(now)
        let inquiries = policy.inquiries?.inquiries(after: effects, cause, policy.surroundings, at: due) ?? []
        try ask(inquiries.filter { !isImport || $0.reason == .ending }, at: now)
        // A redeeming account learns it from the outcome.
        if cause != .redeem { for key in effects.endedUnnotified { try noteEnded(key, at: now) } }
    }

    /// Returns whether all inquiries after a redemption have been made. Those about disputed transactions aren't made
    /// again while one is pending, or was answered recently.
    func hasInquired(
        after effects: LedgerDecision.Effects, _ policy: LedgerPolicy, at now: Instant
    ) throws(LedgerError) -> Bool {
        let inquiries = policy.inquiries?.inquiries(after: effects, .redeem, policy.surroundings, at: now) ?? []
        guard inquiries.allSatisfy({ $0.reason == .disputed }) else { return false }
        let queries = inquiries.map { SQLStatement(InquiryStatement.pending, $0.columns) }
        let recent = inquiries.map {
            SQLStatement(InquiryStatement.asked, $0.key.columns + [SQLValue(now - NewInquiry.disputeTime)])
        }
        let answers = try run(queries + recent)
        return zip(answers.prefix(queries.count), answers.suffix(recent.count)).allSatisfy {
            !$0.isEmpty || !$1.isEmpty
        }
    }

    /// Creates inquiries, each once.
    func ask(_ inquiries: [NewInquiry], at now: Instant) throws(LedgerError) {
        for inquiry in inquiries {
            let insert =
                switch inquiry.reason {
                case .disputed: InquiryStatement.insertDisputed
                case .unnotified: InquiryStatement.insertUnnotified
                case .ending: InquiryStatement.insertEnding
                case .granted, .notifications, .refundable: InquiryStatement.insert
                }
            let values: [SQLValue] =
                inquiry.columns + [
                    .integer(inquiry.priority), .text(inquiry.reason.rawValue), SQLValue(now),
                    SQLValue(inquiry.dueAt),
                ]
            try write(
                insert, inquiry.reason == .disputed ? values + [SQLValue(now - NewInquiry.disputeTime)] : values)
        }
    }

    /// Records that a notification has mentioned a transaction, so that no inquiry about it is needed.
    func noteNotified(
        _ key: TransactionKey, _ policy: InquiryPolicy, _ surroundings: Surroundings, at now: Instant
    ) throws(LedgerError) {
        guard policy.apps.contains(AskedApp(key)) else { return }
        if policy.isInSample(surroundings) {
            let inquiry = policy.confirmation(of: key, at: surroundings.dueDate(now))
            try write(
                """
                UPDATE questions SET priority = $4, reason = $5, due_at = $6 WHERE environment = $1 AND bundle_id = $2
                    AND kind = 'transaction' AND subject = $3 AND reason = 'unheard' AND attempts = 0
                """,
                key.columns + [
                    .integer(inquiry.priority), .text(inquiry.reason.rawValue), SQLValue(inquiry.dueAt),
                ])
        } else {
            try write(
                """
                DELETE FROM questions WHERE environment = $1 AND bundle_id = $2 AND kind = 'transaction'
                    AND subject = $3 AND reason = 'unheard'
                """, key.columns)
        }
    }

    /// Records that Apple confirmed a transaction in answer to an inquiry.
    func confirm(_ key: TransactionKey, _ surroundings: Surroundings, at now: Instant) throws(LedgerError) {
        try write(
            """
            INSERT INTO confirmations VALUES ($1, $2, $3, $4, $4, 0, $4, NULL)
            ON CONFLICT (environment, bundle_id, transaction_id) DO UPDATE SET asked_at = excluded.asked_at, answers = 0,
                confirmed_at = COALESCE(confirmations.confirmed_at, excluded.confirmed_at), unknown_since = NULL
            """, key.columns + [SQLValue(now)])
        // An inquiry that is under way is finished by its holder.
        let inquiry =
            AskedApp(key).columns + [.text(Inquiry.Kind.transaction.rawValue), .text(key.transactionID.string)]
        try write(
            LeasedQueue.inquiries.remove(inquiry, if: "leased_until <= $5", [SQLValue(surroundings.leaseDate(now))]))
    }
}

/// The statements that create inquiries. If the inquiry exists, the earlier date and the lower priority apply, unless
/// it was sent and not answered.
private enum InquiryStatement {
    static let pending = """
        SELECT 1 FROM questions WHERE environment = $1 AND bundle_id = $2 AND kind = $3 AND subject = $4
        """
    static let asked = """
        SELECT 1 FROM confirmations
        WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3 AND asked_at > $4
        """

    private static let values = """
        INSERT INTO questions (environment, bundle_id, kind, subject, priority, reason, made_at, due_at, attempts,
            leased_until, state)
        SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS BIGINT),
            CAST($6 AS TEXT), CAST($7 AS BIGINT), CAST($8 AS BIGINT), 0, 0, 'pending'
        """
    private static let earlier = """
        ON CONFLICT (environment, bundle_id, kind, subject) DO UPDATE SET
            reason = CASE WHEN excluded.priority < questions.priority THEN excluded.reason ELSE questions.reason END,
            priority = CASE WHEN excluded.priority < questions.priority THEN excluded.priority ELSE questions.priority END,
            due_at = CASE WHEN excluded.due_at < questions.due_at THEN excluded.due_at ELSE questions.due_at END
        WHERE questions.state = 'pending' AND questions.attempts = 0
            AND (excluded.priority < questions.priority OR excluded.due_at < questions.due_at)
        """

    static let insert = values + " WHERE 1 = 1 " + earlier

    /// Inserts only if no notification has mentioned the transaction.
    static let insertUnnotified =
        values + """
             WHERE NOT EXISTS (
                SELECT 1 FROM notifications WHERE notifications.environment = $1 AND notifications.transaction_id = $4)

            """ + earlier

    /// Inserts only if Apple wasn't asked after `$9`.
    static let insertDisputed =
        values + """
             WHERE NOT EXISTS (
                SELECT 1 FROM confirmations WHERE confirmations.environment = $1 AND confirmations.bundle_id = $2
                    AND confirmations.transaction_id = $4 AND confirmations.asked_at > $9)

            """ + earlier

    /// For a subscription, the latest end of a period applies.
    static let insertEnding =
        values + """
             WHERE 1 = 1
            ON CONFLICT (environment, bundle_id, kind, subject) DO UPDATE SET due_at = excluded.due_at, attempts = 0,
                state = 'pending', failure = NULL
            WHERE questions.due_at < excluded.due_at OR questions.state <> 'pending'
            """
}
