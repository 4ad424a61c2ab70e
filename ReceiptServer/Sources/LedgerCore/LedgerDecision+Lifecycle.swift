@_spi(Ledger) package import AppStoreReceipt
import StrictText

/// Lifecycle events: what became of subscriptions and of requests for refunds. ``LifecycleState`` has the rules.
extension LedgerDecision {
    /// How long a developer may answer a request for a refund.
    static let refundAnswerTime = Duration.seconds(12 * 3600)

    /// Adds the lifecycle events of subscriptions, after the events of quantities.
    mutating func notifyLifecycles() {
        guard rules.notifiesLifecycles else { return }
        for (lineage, key, subscription) in newestSubscriptions() {
            let account = lineage.owner?.account
            let isGranted = account.map { account in
                subscription.periods.contains { item in
                    PurchaseKeys(item.purchase).map { !grants(of: $0.transaction, account).isEmpty } ?? false
                }
            }
            let (kinds, state) = LifecycleState(subscription).following(
                lineage.lifecycle, isGranted: isGranted ?? true)
            lineages.byID[lineage.id]?.lifecycle = state
            let item = subscription.newestPeriod
            for kind in kinds { notify(kind, key, item, account, LedgerEvent.Lifecycle(kind, of: subscription)) }
        }
    }

    /// Notifies the owner of a purchase of a request for a refund, or that it was declined.
    ///
    /// What Apple signed later about the refund makes it old: another request, a refusal, or the refund.
    ///
    /// - Parameter isNewest: Whether no notification about the refund is known that was signed later.
    package mutating func notifyRefund(_ notification: VerifiedNotification, isNewest: Bool) {
        let kinds: [NotificationType: LedgerEvent.Kind] = [
            .consumptionRequest: .refundRequested, .refundDeclined: .refundDeclined,
        ]
        guard rules.notifiesLifecycles, isNewest, let kind = notification.type.flatMap({ kinds[$0] }),
            let uuid = notification.notificationUUID, LedgerText.isStorable(uuid),
            let date = notification.signedDate, let key = submission.purchases.first?.keys?.transaction,
            let lineage = lineages[key], let item = item(of: key), rules.isForSale(item.productID),
            !item.purchase.isShared, item.quantity > 0 || item.purchase.signedDate <= date,
            isNotBeforeRefund(date, item)
        else { return }
        var facts = LedgerEvent.Lifecycle(at: date)
        facts.requestID = uuid
        if kind == .refundRequested {
            facts.reason = notification.data?.consumptionRequestReason
            facts.deadline = date + Self.refundAnswerTime
        }
        // Of two lineages that turned out to be one, each account has what it was granted.
        let grants = grants(ofPurchaseWith: key)
        let holder = (grants.first { $0.transaction == key } ?? grants.first)?.account
        notify(kind, key, item, lineage.owner.map { holder ?? $0.account }, facts)
    }

    /// Whether no refund, even of a part, came after a date. An upgrade is no refund.
    private func isNotBeforeRefund(_ date: Instant, _ item: Entitlements.Item) -> Bool {
        guard case .revoked(let details) = item.purchase.revocation, let refunded = details.date,
            !(item.purchase.isUpgraded == true && item.quantity > 0)
        else { return true }
        return refunded <= date
    }

    /// Of each lineage, the subscription bought last, and its newest period's key. None that another customer
    /// pays for: its renewal is unknown.
    private func newestSubscriptions() -> [(lineage: Lineage, key: TransactionKey, subscription: Subscription)] {
        var newest: [Int64: (lineage: Lineage, key: TransactionKey, subscription: Subscription)] = [:]
        for subscription in subscriptions {
            let purchase = subscription.newestPeriod.purchase
            guard !purchase.isShared, rules.isForSale(purchase.productID),
                let key = PurchaseKeys(purchase)?.transaction, let lineage = lineages[key]
            else { continue }
            let date = newest[lineage.id]?.subscription.newestPeriod.purchase.purchaseDate
            if date.map({ $0 < purchase.purchaseDate }) ?? true { newest[lineage.id] = (lineage, key, subscription) }
        }
        return newest.keys.sorted().compactMap { newest[$0] }
    }

    /// What an account was granted of a purchase, under any of its transactions.
    private func grants(of key: TransactionKey, _ account: String) -> [Grant] {
        grants(ofPurchaseWith: key).filter { $0.account.hasSameBytes(as: account) }
    }

    /// - Parameter account: `nil` if nobody owns the purchase.
    private mutating func notify(
        _ kind: LedgerEvent.Kind, _ key: TransactionKey, _ item: Entitlements.Item, _ account: String?,
        _ facts: LedgerEvent.Lifecycle
    ) {
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
        if account == nil { effects.unownedEvents.append(event) } else { effects.events.append(event) }
    }
}
