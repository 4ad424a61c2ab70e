@_spi(Ledger) import AppStoreReceipt
import StrictText

/// Lifecycle events: what became of subscriptions and of requests for refunds. ``LifecycleState`` has the rules.
extension LedgerTransaction {
    /// How long a developer may answer a request for a refund.
    static let refundAnswerTime = Duration.seconds(12 * 3600)

    /// Adds the lifecycle events of subscriptions, after the events of quantities.
    mutating func tellLifecycles() throws(LedgerError) {
        guard policy.lifecycleEvents else { return }
        for (family, key, subscription) in newestSubscriptions() {
            let account = family.account
            let isGranted = account.map { account in
                subscription.periods.contains { item in
                    PurchaseKeys(item.purchase).map { !grants(of: $0.transaction, account).isEmpty } ?? false
                }
            }
            let before: LifecycleState? = try family.lifecycle.map { (text) throws(LedgerError) in
                try StoredJSON.decode(text)
            }
            let (kinds, told) = LifecycleState(subscription).following(before, isGranted: isGranted ?? true)
            try families.keepLifecycle(StoredJSON.encode(told), of: family.id)
            let item = subscription.newestPeriod
            for kind in kinds { try tell(kind, key, item, account, LedgerEvent.Lifecycle(kind, of: subscription)) }
        }
    }

    /// Tells the owner of a purchase of a request for a refund, or that it was declined.
    ///
    /// What Apple signed later about the refund makes it old: another request, a refusal, or the refund.
    mutating func tellRefund(_ notification: VerifiedNotification) throws(LedgerError) {
        let kinds: [NotificationType: LedgerEvent.Kind] = [
            .consumptionRequest: .refundRequested, .refundDeclined: .refundDeclined,
        ]
        guard policy.lifecycleEvents, let kind = notification.type.flatMap({ kinds[$0] }),
            let uuid = notification.notificationUUID, LedgerText.isStorable(uuid),
            let date = notification.signedDate, let key = brought.purchases.first?.keys?.transaction,
            let family = families[key], let item = item(of: key), policy.isForSale(item.productID),
            !item.purchase.isShared,
            item.quantity > 0 || item.purchase.signedDate <= date,
            isAfterRefund(date, item)
        else { return }
        let newer = try connection.run(
            """
            SELECT 1 FROM notifications WHERE transaction_id = $1 AND environment = $2 AND signed_date > $3
                AND type IN ('CONSUMPTION_REQUEST', 'REFUND_DECLINED', 'REFUND', 'REFUND_REVERSED') LIMIT 1
            """, [.text(key.transactionID.string), .text(key.environment.rawValue), SQLValue(date)])
        guard newer.isEmpty else { return }
        var facts = LedgerEvent.Lifecycle(at: date)
        facts.requestID = uuid
        if kind == .refundRequested {
            facts.reason = notification.data?.consumptionRequestReason
            facts.deadline = date + Self.refundAnswerTime
        }
        // Of two families that turned out to be one, each account has what it was granted.
        let grants = existingGrants(ofPurchaseWith: key)
        let holder = (grants.first { $0.transaction == key } ?? grants.first)?.account
        try tell(kind, key, item, family.account.map { holder ?? $0 }, facts)
    }

    /// Whether a date is not before that of a refund, also of a part. An upgrade is none.
    private func isAfterRefund(_ date: Instant, _ item: Entitlements.Item) -> Bool {
        guard case .revoked(let details) = item.purchase.revocation, let refunded = details.date,
            !(item.purchase.isUpgraded == true && item.quantity > 0)
        else { return true }
        return refunded <= date
    }

    /// The subscription of each family that was bought last, with its newest period. Nothing is known of the renewal
    /// for whom another customer pays.
    private func newestSubscriptions() -> [(family: Family, key: TransactionKey, subscription: Subscription)] {
        var newest: [Int64: (family: Family, key: TransactionKey, subscription: Subscription)] = [:]
        for subscription in subscriptions {
            let purchase = subscription.newestPeriod.purchase
            guard !purchase.isShared,
                policy.isForSale(purchase.productID), let key = PurchaseKeys(purchase)?.transaction,
                let family = families[key]
            else { continue }
            let date = newest[family.id]?.subscription.newestPeriod.purchase.purchaseDate
            if date.map({ $0 < purchase.purchaseDate }) ?? true { newest[family.id] = (family, key, subscription) }
        }
        return newest.values.sorted { $0.family.id < $1.family.id }
    }

    /// What an account was granted of a purchase, under any of its transactions.
    private func grants(of key: TransactionKey, _ account: String) -> [Grant] {
        existingGrants(ofPurchaseWith: key).filter { $0.account.hasSameBytes(as: account) }
    }

    /// - Parameter account: `nil` if nobody owns the purchase: it is only counted and listed.
    private mutating func tell(
        _ kind: LedgerEvent.Kind, _ key: TransactionKey, _ item: Entitlements.Item, _ account: String?,
        _ facts: LedgerEvent.Lifecycle
    ) throws(LedgerError) {
        let own = account.map { grants(of: key, $0) } ?? []
        let grant =
            own.first { $0.transaction == key }
            ?? Grant(
                transaction: key, account: account ?? "", productID: item.productID, quantity: 0, until: nil,
                isVoided: false)
        var event = grant.event(kind, cause, item, before: grant.quantity, at: now)
        event.lifecycle = facts
        event.lifecycle?.grantedAs =
            (own.first { $0.transaction == key } ?? own.first)?.transaction.transactionID.string
        if account == nil {
            try connection.write(
                "INSERT INTO unowned_events VALUES ($1, $2, $3)",
                [.text(policy.surroundings.makeID()), SQLValue(now), .text(event.json)])
        } else {
            events.append(event)
        }
    }
}
