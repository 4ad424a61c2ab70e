public import AppStoreReceipt

// Subscriptions of several seats. The methods note behavior that Apple does not document.

extension PurchaseHistory {
    /// Records the first period of a subscription of several seats.
    ///
    /// - Parameters:
    ///   - productID: The product's identifier.
    ///   - group: The identifier of the subscription group.
    ///   - period: The length of the period.
    ///   - seats: The number of seats.
    ///   - invitationManagement: The party that invites the members.
    ///   - date: The start of the period.
    ///   - price: The price of one seat, in thousandths of the currency's unit.
    public mutating func subscribe(
        to productID: String, in group: String, for period: BillingPeriod, seats: Int,
        invitedBy invitationManagement: InvitationManagement = .apple, at date: Instant, price: Int64 = defaultPrice
    ) -> Subscription {
        Subscription(
            firstPeriod: append(
                Specification(
                    productID: productID, productType: .autoRenewableSubscription, subscriptionGroupID: group,
                    quantity: seats, purchaseDate: date, originalPurchaseDate: date, period: period,
                    expiresDate: period.end(from: date), price: price, appAccountToken: appAccountToken,
                    invitationManagement: invitationManagement),
                isOriginal: true, at: date, .purchase(isUpgrade: false), NotificationKind(.subscribed, .initialBuy)))
    }

    /// Records that the buyer added seats to the running period, which from then on has several transactions.
    ///
    /// Apple does not document the notification: here it is `DID_CHANGE_RENEWAL_PREF` with the subtype
    /// `INCREASE_QUANTITY`.
    ///
    /// - Parameters:
    ///   - count: The number of seats to add.
    ///   - subscription: A subscription of several seats.
    ///   - date: A date in its last period.
    ///   - price: The price of one seat, in thousandths of the currency's unit; `nil` for that of the period.
    /// - Returns: The transaction of the added seats, which ends with the period.
    @discardableResult
    public mutating func addSeats(
        _ count: Int, to subscription: Subscription, at date: Instant, price: Int64? = nil
    ) -> Transaction {
        let period = latestPeriod(of: subscription)
        var added = period.specification
        (added.quantity, added.purchaseDate, added.addsTo) = (count, date, period.specification.number)
        added.expiresDate = state(at: .distantFuture).transactions[added.number].expiresDate
        (added.price, added.offer, added.reason) = (price ?? added.price, nil, .purchase)
        added.appAccountToken = appAccountToken ?? state(at: date).transactions[added.number].appAccountToken
        return append(
            added, isOriginal: false, at: date, .purchase(isUpgrade: false),
            NotificationKind(.didChangeRenewalPreference, .increaseQuantity))
    }

    /// Records that the buyer wants another number of seats from the next period on: fewer than now, or more than were
    /// wanted before.
    ///
    /// Apple does not document the notification: here it is `DID_CHANGE_RENEWAL_PREF` with the subtype
    /// `DECREASE_QUANTITY` or `INCREASE_QUANTITY`.
    ///
    /// - Parameters:
    ///   - count: The number of seats of the next period.
    ///   - subscription: A subscription of several seats.
    ///   - date: The date of the change.
    public mutating func renewSeats(_ count: Int, of subscription: Subscription, at date: Instant) {
        let period = latestPeriod(of: subscription).specification.number
        let state = state(at: date)
        let now = state.subscriptions[subscription.firstPeriod.specification.number]?.renewalSeats
        let isFewer = count < now ?? state.seats(ofPeriodOf: period)
        record(
            .renewalSeats(count), of: subscription, at: date,
            NotificationKind(.didChangeRenewalPreference, isFewer ? .decreaseQuantity : .increaseQuantity))
    }

    /// Returns the seats of the running period that were not refunded.
    public func seats(of subscription: Subscription, at date: Instant) -> Int {
        let state = state(at: date)
        let original = number(of: subscription.firstPeriod)
        return state.currentPeriod(of: original).map { state.seats(ofPeriodOf: $0.transaction.specification.number) }
            ?? 0
    }

    /// Records that Apple refunded some seats of a transaction, which stays valid unless they are all of them.
    ///
    /// - Parameters:
    ///   - count: The number of seats.
    ///   - transaction: A transaction of the buyer.
    ///   - date: The date of the refund.
    ///   - reason: The reason of the refund.
    public mutating func refundSeats(
        _ count: Int, of transaction: Transaction, at date: Instant, reason: RevocationReason = .other
    ) {
        record(.seatRefund(count, reason), of: transaction, at: date, NotificationKind(.refund, .seats))
    }

    /// Records that Apple ended seat claims of a subscription to whose seats the developer invites.
    ///
    /// - Parameters:
    ///   - ids: The UUIDs of the claims, which the developer's server made.
    ///   - subscription: The subscription of the buyer.
    ///   - date: The date of the end.
    public mutating func unclaimSeats(_ ids: [String], of subscription: Subscription, at date: Instant) {
        record(.unclaimedSeats(ids), of: subscription, at: date, NotificationKind(.unclaimSeats))
    }

    // MARK: Members

    /// Records in a member's history that a seat of a buyer's subscription was assigned to the member.
    ///
    /// The member gets a transaction until the end of the buyer's period, with the buyer's number of seats and price.
    /// Its ids are the member's own. Apple does not document whether they are, nor the notification, which is
    /// `SUBSCRIBED` here, as in Family Sharing. It is a copy: a renewal of the buyer's subscription does not renew it.
    ///
    /// - Parameters:
    ///   - subscription: A subscription of the buyer.
    ///   - buyer: The history of the buyer.
    ///   - date: The date of the assignment, in a period of the subscription.
    public mutating func assignSeat(
        of subscription: Subscription, in buyer: PurchaseHistory, at date: Instant
    ) -> Subscription {
        let state = buyer.state(at: date)
        let period = state.currentPeriod(of: buyer.number(of: subscription.firstPeriod))
        var assigned = (period?.transaction ?? subscription.firstPeriod).specification
        assigned.quantity = max(1, state.seats(ofPeriodOf: assigned.number))
        assigned.expiresDate = period?.expiresDate ?? assigned.expiresDate
        (assigned.purchaseDate, assigned.originalPurchaseDate) = (date, date)
        (assigned.ownershipType, assigned.appAccountToken) = (.assigned, nil)
        (assigned.reason, assigned.offer, assigned.addsTo) = (.purchase, nil, nil)
        return Subscription(
            firstPeriod: append(
                assigned, isOriginal: true, at: date, .purchase(isUpgrade: false),
                NotificationKind(.subscribed, .initialBuy)))
    }

    /// Records that the buyer, or an organization, took an assigned seat back.
    ///
    /// - Parameters:
    ///   - transaction: A transaction of a member, whose ownership type is `assigned`.
    ///   - date: The date it ended.
    public mutating func endAssignment(of transaction: Transaction, at date: Instant) {
        record(
            .revocation(Revocation(date: date, reason: .other, type: .assignmentRevoke)), of: transaction, at: date,
            NotificationKind(.revoke))
    }

    // MARK: Account tokens

    /// Records that the developer's server set the account token of a purchase (Set App Account Token): of a
    /// subscription, that of the running period and of later ones.
    ///
    /// - Parameters:
    ///   - token: The UUID.
    ///   - transaction: Any transaction of the purchase.
    ///   - date: The date of the call.
    public mutating func setAppAccountToken(_ token: String, of transaction: Transaction, at date: Instant) {
        record(.accountToken(token), of: transaction, at: date)
    }
}
