public import AppStoreReceipt
import StrictText

extension PurchaseHistory {
    /// A notification that Apple sends about a history.
    public struct Notification: Hashable, Sendable {
        /// The type.
        public let type: NotificationType
        /// The subtype; `nil` for none.
        public let subtype: NotificationSubtype?
        /// The date Apple signs the notification and its parts.
        public let signedDate: Instant
        /// The transaction in the notification.
        public let transaction: Transaction
        /// The reason of a request for a refund; `nil` in other notifications.
        public let consumptionRequestReason: ConsumptionRequestReason?
        /// The ids of the seat claims that Apple ended, in `UNCLAIM_SEATS`; empty in other notifications.
        public var unclaimedSeatIDs: [String] { seatIDs.map(\.string) }
        fileprivate let seatIDs: [UTF8Bytes]
    }

    /// Returns the notifications that Apple would have sent by a date, in their order.
    ///
    /// They include those that no action causes: `EXPIRED` when a subscription ends, and `GRACE_PERIOD_EXPIRED`. They
    /// exclude those about many subscriptions at once, and those that are not about purchases: see ``JWSBuilder``.
    public func notifications(through date: Instant) -> [Notification] {
        let caused = events.compactMap { event in
            event.notification.map { kind in
                var reason: ConsumptionRequestReason?
                var seats: [String] = []
                if case .message(let requestReason) = event.change { reason = requestReason }
                if case .unclaimedSeats(let ids) = event.change { seats = ids }
                return Notification(
                    type: kind.type, subtype: kind.subtype, signedDate: event.date,
                    transaction: transactions[event.transaction], consumptionRequestReason: reason,
                    seatIDs: seats.map(UTF8Bytes.init))
            }
        }
        let all = caused.filter { $0.signedDate <= date } + subscriptions.flatMap { ends(of: $0, through: date) }
        return all.indices.sorted { (all[$0].signedDate, $0) < (all[$1].signedDate, $1) }.map { all[$0] }
    }

    /// The notifications about the ends of a subscription and of its grace periods, by a date.
    private func ends(of subscription: Subscription, through date: Instant) -> [Notification] {
        let original = number(of: subscription.firstPeriod)
        let end = state(at: .distantFuture)
        var dates = Set(end.periods(of: original).compactMap(\.expiresDate))
        for event in events {
            guard case .billingFailure(let gracePeriodEnd) = event.change,
                transactions[event.transaction].specification.original == original
            else { continue }
            dates.insert(event.date + HistoryState.billingRetryPeriod)
            if let gracePeriodEnd { dates.insert(gracePeriodEnd) }
        }
        var states = HistoryStates(self)
        return dates.filter { $0 <= date }.sorted().compactMap { date in
            let old = states.advance(to: date - .milliseconds(1)).status(of: original)
            let after = states.advance(to: date)
            guard let old, let new = after.status(of: original), old != .expired,
                old != .revoked, let current = after.currentPeriod(of: original)
            else { return nil }
            let kind: NotificationKind
            switch new {
            case .expired: kind = NotificationKind(.expired, after.expirationIntent(of: original)?.subtype)
            case .inBillingRetry where old == .inGracePeriod: kind = NotificationKind(.gracePeriodExpired)
            default: return nil
            }
            return Notification(
                type: kind.type, subtype: kind.subtype, signedDate: date, transaction: current.transaction,
                consumptionRequestReason: nil, seatIDs: [])
        }
    }

    /// Returns a builder for a notification of this history, with its parts signed.
    ///
    /// - Parameters:
    ///   - notification: One of ``notifications(through:)``.
    ///   - authority: The authority that signs the parts. It is usually also the one that signs the notification.
    public func builder(
        for notification: Notification, partsSignedBy authority: TestCertificateAuthority
    ) throws(MintingError) -> JWSBuilder {
        if notification.type == .unclaimSeats {
            // It names neither an app nor an environment.
            typealias Member = NotificationUnclaimInfo.Member
            var builder = JWSBuilder.notification(
                .unclaimSeats, about: AppStoreNotification.Member.unclaimInfo.rawValue,
                [Member.unclaimSeatIds.rawValue: .array(notification.unclaimedSeatIDs.map { .string($0) })],
                signedDate: notification.signedDate)
            builder.notificationUUID = uuid(
                [notification.type.rawValue, notification.transaction.transactionID] + notification.unclaimedSeatIDs)
            return builder
        }
        var builder = try self.notification(
            notification.type, subtype: notification.subtype, about: notification.transaction,
            signedAt: notification.signedDate, partsSignedBy: authority)
        if let reason = notification.consumptionRequestReason {
            builder.payload["data"]?["consumptionRequestReason"] = .string(reason.rawValue)
        }
        return builder
    }

    /// Returns a builder for a notification of any type about a transaction, with the transaction and the renewal
    /// information signed at the same date.
    ///
    /// - Parameters:
    ///   - type: The type of the notification.
    ///   - subtype: The subtype; `nil` for none.
    ///   - transaction: The transaction.
    ///   - date: The signing date. If the transaction was made later, the notification does not contain it.
    ///   - authority: The authority that signs the parts. It is usually also the one that signs the notification.
    public func notification(
        _ type: NotificationType, subtype: NotificationSubtype? = nil, about transaction: Transaction,
        signedAt date: Instant, partsSignedBy authority: TestCertificateAuthority
    ) throws(MintingError) -> JWSBuilder {
        let state = state(at: date)
        let original = transaction.specification.original
        let signed = try self.transaction(transaction, signedAt: date).map { (part) throws(MintingError) in
            try part.signed(by: authority)
        }
        let renewal = try renewalInfo(of: original, state).map { (part) throws(MintingError) in
            try part.signed(by: authority)
        }
        var builder = JWSBuilder.notification(
            type, subtype: subtype, bundleID: bundleID,
            appAppleID: environment == .production ? "1234567890" : nil, environment: environment,
            transaction: signed, renewalInfo: renewal, signedDate: date)
        builder.payload["data"]?["status"] = state.status(of: original).map { .integer($0.rawValue) }
        builder.notificationUUID = uuid([
            type.rawValue, subtype?.rawValue ?? "", transaction.transactionID, String(date.millisecondsSince1970),
        ])
        return builder
    }

    /// Returns a UUID that is the same for the same texts.
    private func uuid(_ texts: [String]) -> String {
        var generator = SeededGenerator(seed: texts.joined(separator: "/").stableHash)
        let digits = (0..<32).map { index in
            switch index {
            // The version and the variant (RFC 9562, 5.4).
            case 12: "4"
            case 16: "8"
            default: String(UInt8.random(in: 0..<16, using: &generator), radix: 16)
            }
        }.joined()
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text += "-" }
            text.append(digit)
        }
        return text
    }
}

extension ExpirationIntent {
    /// The subtype of `EXPIRED`.
    fileprivate var subtype: NotificationSubtype? {
        switch self {
        case .cancelled: .voluntary
        case .billingError: .billingRetry
        case .priceIncreaseNotAccepted: .priceIncrease
        case .productUnavailable: .productNotForSale
        default: nil
        }
    }
}
