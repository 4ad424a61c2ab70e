package import AppStoreReceipt
import StrictText

/// Answers from the App Store, which count like any other evidence. They give a purchase an owner only by its token.
extension PurchaseLedger {
    /// Records the signed parts of an answer.
    ///
    /// - Parameters:
    ///   - transactions: The transactions in the answer, which confirms that Apple knows them.
    ///   - asked: The requested transaction, if the answer is about its lineage.
    /// - Returns: Whether anything was recorded that grants or revokes.
    @discardableResult
    package func record(
        answered transactions: [Verified<TransactionInfo>], _ renewals: [Verified<RenewalInfo>] = [],
        confirming asked: String? = nil, about app: AskedApp, at now: Instant
    ) throws(LedgerError) -> Bool {
        let submission = Submission(
            transactions.compactMap(\.purchase).map(SubmittedPurchase.init), renewals.map(\.renewal))
        let share = WorkShare(weight: max(1, submission.purchases.count))
        let effects = try store.write(share) { [policy] (connection) throws(LedgerError) in
            let settled = try connection.settle(submission, policy, .reconciliation, at: now) {
                (decision) throws(LedgerError) in decision.settle()
            }
            var confirmed = Set(submission.purchases.compactMap(\.keys?.transaction))
            if let asked { confirmed.insert(app.key(asked)) }
            for key in confirmed.sorted() { try connection.confirm(key, policy.surroundings, at: now) }
            if !confirmed.isEmpty { try connection.countAnswer(about: app, at: policy.surroundings.leaseDate(now)) }
            return settled.effects
        }
        report(effects.notices)
        return effects.events.contains { $0.lifecycle == nil }
    }

    /// Records a notification from Apple's history.
    ///
    /// - Returns: Whether the ledger lacked it, and the periods of owned subscriptions that had already ended.
    package func record(
        fromHistory notification: VerifiedNotification, of app: AskedApp, at now: Instant
    ) throws(LedgerError) -> (isNew: Bool, endedUnnotified: [String]) {
        let submission = Submission(.notification(notification))
        if notification.isUnnamed {
            let isNew = try store.write { (connection) throws(LedgerError) in
                try connection.keepUnnamed(notification, at: now)
            }
            return (isNew, [])
        }
        let keys = Set(submission.purchases.compactMap(\.keys?.transaction)).sorted()
        let purchases = submission.purchases.map(\.signed.purchase)
        let (isKnown, isPriced) = try store.read(WorkShare(weight: purchases.count)) {
            (connection) throws(LedgerError) -> (Bool, Bool) in
            (try connection.isKnown(notification), try connection.priceFillings(of: purchases).isEmpty)
        }
        var (isNew, ended, notices) = (false, [String](), LedgerNotices())
        if !isKnown || !isPriced {
            (isNew, ended, notices) = try store.write {
                [policy] (connection) throws(LedgerError) -> (Bool, [String], LedgerNotices) in
                guard try connection.isNew(notification, purchases.first, at: now) else {
                    try connection.fillPrices(of: purchases)
                    return (false, [], LedgerNotices())
                }
                let settled = try connection.settle(notification, submission, policy, .reconciliation, at: now)
                for key in keys { try connection.confirm(key, policy.surroundings, at: now) }
                return (true, settled.effects.endedUnnotified.map(\.transactionID.string), settled.effects.notices)
            }
        }
        report(notices)
        if !isNew, let confirm = policy.inquiries?.confirm, confirm != .unnotified, confirm != .none {
            // The notification that arrived earlier may have been forged. This one came from Apple.
            let unconfirmed = try store.read { (connection) throws(LedgerError) in
                var unconfirmed: [TransactionKey] = []
                for key in keys { if try !connection.isConfirmed(key) { unconfirmed.append(key) } }
                return unconfirmed
            }
            guard !unconfirmed.isEmpty else { return (isNew, ended) }
            try store.write { [policy] (connection) throws(LedgerError) in
                for key in unconfirmed { try connection.confirm(key, policy.surroundings, at: now) }
            }
        }
        return (isNew, ended)
    }

    /// Returns the effect of a notification from the history after those tried before, without changing anything.
    ///
    /// - Returns: The kinds of events to post, or `nil` if the ledger has the notification or it was tried before.
    package func trial(
        fromHistory notification: VerifiedNotification, after earlier: inout TriedNotifications, at now: Instant
    ) throws(LedgerError) -> [String]? {
        let submission = Submission(.notification(notification))
        guard earlier.isNew(notification) else { return nil }
        let isKnown = try store.read { (connection) throws(LedgerError) in try connection.isKnown(notification) }
        if isKnown { return nil }
        let before = earlier.add(submission)
        return try store.read { [policy] (connection) throws(LedgerError) in
            var loader = LineageLoader(
                connection: connection, submissions: [before, submission].compactMap(\.self), policy: policy, now: now)
            loader.statements = [connection.newerAboutRefund(notification, submission, policy)].compactMap(\.self)
            let loaded = try loader.load(isLocking: false)
            var lineages = loaded.gathered
            var last = submission
            if let before {
                var decision = LedgerDecision(
                    before, about: loaded.numbers[0], in: lineages, policy.rules, .reconciliation, at: now)
                decision.settle()
                lineages = decision.lineages
                // The first decision revoked the lost grants. Its renewal information counts for both.
                lineages.structure.lost.removeAll { loaded.numbers[0].contains($0.lineage) }
                last = Submission(submission.purchases.map(\.signed), before.renewals + submission.renewals)
            }
            var decision = LedgerDecision(
                last, about: loaded.numbers[loaded.numbers.count - 1], in: lineages, policy.rules, .reconciliation,
                at: now)
            decision.settle()
            decision.notifyRefund(notification, isNewest: loaded.answers.allSatisfy(\.isEmpty))
            return decision.effects.events.map(\.kind.rawValue)
        }
    }

    /// Returns whether any of the ids belongs to the lineage of another transaction.
    package func isRelated(
        _ ids: [String], to asked: String, in app: AskedApp
    ) throws(LedgerError) -> Bool {
        if ids.contains(where: { $0.hasSameBytes(as: asked) }) { return true }
        return try store.read { (connection) throws(LedgerError) in
            guard let number = try connection.lineageNumber(of: app.key(asked)) else { return false }
            for id in ids { if try connection.lineageNumber(of: app.key(id)) == number { return true } }
            return false
        }
    }

    // MARK: Subscriptions

    /// The next step for a subscription.
    package enum SubscriptionStep: Sendable, Equatable {
        case ask
        case wait(until: Instant)
        /// No more information is expected.
        case drop
    }

    /// Returns the next step for a subscription, based on all evidence.
    ///
    /// - Parameter isAnswered: Whether Apple has just answered.
    /// - Returns: The step, and whether the subscription is active, or `nil` if it has no owner.
    package func subscriptionStep(
        of originalTransactionID: String, in app: AskedApp, isAnswered: Bool, at now: Instant
    ) throws(LedgerError) -> (step: SubscriptionStep, isActive: Bool?) {
        try store.read { [policy] (connection) throws(LedgerError) in
            guard let number = try connection.lineageNumber(of: app.key(originalTransactionID)),
                let lineage = try connection.lineages([number]).first, lineage.owner != nil
            else { return (.drop, nil) }
            let items = policy.rules.entitlements(of: [lineage], at: now).items.filter {
                $0.purchase.productType == .autoRenewableSubscription
            }
            var ends: [Instant] = []
            var isActive = false
            for item in items {
                switch item.access {
                case .active(let until):
                    ends.append(until)
                    isActive = true
                case .expired, .notYet: if let until = item.accessEndDate { ends.append(until) }
                default: break
                }
            }
            guard let end = ends.max() else { return (.drop, isActive) }
            let renewal = lineage.renewals.max { $0.signedDate < $1.signedDate }
            var schedule = SubscriptionSchedule(end: end)
            schedule.isInBillingRetry = renewal?.isInBillingRetryPeriod ?? false
            if now < schedule.first { return (.wait(until: schedule.first), isActive) }
            if renewal?.autoRenewStatus == .off, !schedule.isInBillingRetry { return (.drop, isActive) }
            if isAnswered {
                return (schedule.next(after: now).map { .wait(until: $0) } ?? .drop, isActive)
            }
            return (.ask, isActive)
        }
    }

    // MARK: Refunds

    /// Returns whether a lineage has a grant from the last 90 days that can be refunded.
    package func isRefundable(
        _ originalTransactionID: String, in app: AskedApp, at now: Instant
    ) throws(LedgerError) -> Bool {
        try store.read { (connection) throws(LedgerError) in
            guard let number = try connection.lineageNumber(of: app.key(originalTransactionID)) else { return false }
            return try !connection.run(
                """
                SELECT 1 FROM identifiers JOIN grants ON grants.identifier_id = identifiers.id
                WHERE identifiers.family_id = $1 AND grants.quantity > 0 AND grants.granted_at > $2 LIMIT 1
                """, [.integer(number), SQLValue(now - InquiryPolicy.refundTime)]
            ).isEmpty
        }
    }

    /// Creates inquiries about the subscriptions that accounts already have, when notifications are requested for the
    /// first time.
    package func askAboutSubscriptions(of app: AskedApp, at now: Instant) throws(LedgerError) {
        guard let policy = policy.inquiries else { return }
        // Grants aren't in the order of their apps: a page is bounded by what it reads, not by what it finds.
        let page = "(SELECT * FROM grants WHERE identifier_id > $1 ORDER BY identifier_id LIMIT 10000) AS page"
        var after: Int64 = 0
        while true {
            let answers = try store.read { [after] (connection) throws(LedgerError) in
                try connection.run([
                    SQLStatement("SELECT MAX(identifier_id) FROM \(page)", [.integer(after)]),
                    // Skip those that ended long ago: all notifications since then are requested.
                    SQLStatement(
                        """
                        SELECT until, purchase FROM \(page) JOIN identifiers ON id = page.identifier_id
                        JOIN evidence ON evidence.identifier_id = id
                        WHERE environment = $2 AND bundle_id = $3 AND until > $4 AND quantity > 0
                        """, [.integer(after)] + app.columns + [SQLValue(now - .seconds(86_400))]),
                ])
            }
            guard let last = try answers[0].first?.optionalInteger(0) else { return }
            after = last
            var inquiries: [NewInquiry] = []
            for row in answers[1] {
                let purchase: Purchase = try StoredJSON.decode(row.text("purchase"))
                guard purchase.productType == .autoRenewableSubscription, let end = try row.optionalDate("until"),
                    let inquiry = policy.ending(of: app.key(purchase.originalTransactionID), at: end, now: now)
                else { continue }
                inquiries.append(inquiry)
            }
            inquiries.sort { $0.key < $1.key }
            try store.write { [inquiries] (connection) throws(LedgerError) in
                try connection.ask(inquiries, at: now)
            }
        }
    }
}

/// The notifications that a dry run has tried. A real run would have recorded them.
package struct TriedNotifications {
    private var uuids: Set<UTF8Bytes> = []
    /// The evidence from notifications about related purchases.
    private var said:
        [Int: (purchases: [SubmittedPurchase], renewals: [SubscriptionRenewal], keys: Set<TransactionKey>)] =
            [:]
    private var numbers: [TransactionKey: Int] = [:]
    private var count = 0

    package init() {}

    fileprivate mutating func isNew(_ notification: VerifiedNotification) -> Bool {
        guard let uuid = notification.notificationUUID else { return true }
        return uuids.insert(UTF8Bytes(uuid)).inserted
    }

    /// Adds evidence from a notification, and returns earlier evidence about the same purchases, if any.
    fileprivate mutating func add(_ submission: Submission) -> Submission? {
        let earlier = Set(submission.keys.compactMap { numbers[$0] }).sorted().compactMap {
            said.removeValue(forKey: $0)
        }
        let before = (purchases: earlier.flatMap(\.purchases), renewals: earlier.flatMap(\.renewals))
        count += 1
        let keys = earlier.reduce(into: submission.keys) { $0.formUnion($1.keys) }
        for key in keys { numbers[key] = count }
        said[count] = (
            before.purchases + submission.purchases.map(\.signed), before.renewals + submission.renewals, keys
        )
        return earlier.isEmpty ? nil : Submission(before.purchases, before.renewals)
    }
}

extension SQLConnection {
    /// Returns the lineage of an original transaction. If there is also a member's lineage, returns the buyer's.
    fileprivate func lineageNumber(of key: TransactionKey) throws(LedgerError) -> Int64? {
        try run(
            """
            SELECT family_id FROM identifiers WHERE environment = $1 AND bundle_id = $2 AND transaction_id IN ($3, $4)
            ORDER BY CASE WHEN transaction_id = $4 THEN 0 ELSE 1 END
            """, key.columns + [.text(MemberID.bought(key.transactionID.string))]
        ).first?.integer(0)
    }

    fileprivate func isConfirmed(_ key: TransactionKey) throws(LedgerError) -> Bool {
        try !run(
            """
            SELECT 1 FROM confirmations WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3
                AND confirmed_at IS NOT NULL AND unknown_since IS NULL
            """, key.columns
        ).isEmpty
    }
}
