public import AppStoreReceipt

extension PurchaseHistory {
    // MARK: Periods

    /// Records the first period of a subscription.
    ///
    /// - Parameters:
    ///   - productID: The product's identifier.
    ///   - group: The identifier of the subscription group.
    ///   - period: The length of the period.
    ///   - date: The start of the period.
    ///   - price: The price, in thousandths of the currency's unit. A free trial costs nothing, whatever the price.
    ///   - offer: The offer for the period; `nil` for none.
    ///   - ownershipType: A value that says whether the customer bought the product or a family member shares it.
    public mutating func subscribe(
        to productID: String, in group: String, for period: BillingPeriod, at date: Instant,
        price: Int64 = defaultPrice, offer: SubscriptionOffer? = nil, ownershipType: OwnershipType = .purchased
    ) -> Subscription {
        let specification = Specification(
            productID: productID, productType: .autoRenewableSubscription, subscriptionGroupID: group,
            purchaseDate: date, originalPurchaseDate: date, period: period, expiresDate: period.end(from: date),
            price: price, offer: offer, ownershipType: ownershipType,
            appAccountToken: ownershipType == .familyShared ? nil : appAccountToken)
        return Subscription(
            firstPeriod: append(
                specification, isOriginal: true, at: date, .purchase(isUpgrade: false),
                NotificationKind(.subscribed, .initialBuy)))
    }

    /// Records that the customer subscribed again after a subscription had expired, to any product of its group.
    ///
    /// - Parameters:
    ///   - subscription: The expired subscription.
    ///   - productID: The product's identifier; `nil` for the product of the last period.
    ///   - period: The length of the period; `nil` for that of the last period.
    ///   - date: The start of the period.
    ///   - price: The price, in thousandths of the currency's unit; `nil` for that of the last period.
    ///   - offer: The offer for the period; `nil` for none.
    @discardableResult
    public mutating func resubscribe(
        _ subscription: Subscription, to productID: String? = nil, for period: BillingPeriod? = nil, at date: Instant,
        price: Int64? = nil, offer: SubscriptionOffer? = nil
    ) -> Transaction {
        append(
            to: subscription, productID, period, from: date, at: date, price, offer, .purchase,
            .purchase(isUpgrade: false), NotificationKind(.subscribed, .resubscribe))
    }

    /// Records a renewal.
    ///
    /// The next period begins when the last period ends. If Apple charges later, it begins on that date, unless a grace
    /// period is running. A downgrade, and the offer that the customer redeemed, take effect.
    ///
    /// - Parameters:
    ///   - subscription: The subscription.
    ///   - date: The date Apple charges, at which the transaction is made; `nil` for the end of the last period. Apple
    ///     also charges some hours earlier.
    ///   - offer: The offer for the period; `nil` for the offer that the customer redeemed, if any.
    @discardableResult
    public mutating func renew(
        _ subscription: Subscription, at date: Instant? = nil, offer: SubscriptionOffer? = nil
    ) -> Transaction {
        let end = expiry(of: subscription)
        let charge = date ?? end
        let state = subscriptionState(of: subscription, at: charge)
        let isInGracePeriod = state.billingFailure?.gracePeriodEnd.map { charge < $0 } ?? false
        let next = state.nextProduct
        return append(
            to: subscription, next?.productID, next?.period, from: isInGracePeriod ? end : max(charge, end),
            at: charge, next?.price ?? state.renewalPrice, offer ?? state.nextOffer, .renewal,
            .purchase(isUpgrade: false),
            NotificationKind(.didRenew, state.billingFailure == nil ? nil : .billingRecovery))
    }

    // MARK: Changes of the product

    /// Records an upgrade, which begins at once and ends the running period.
    ///
    /// - Parameters:
    ///   - subscription: The subscription.
    ///   - productID: The identifier of the new product.
    ///   - period: The length of its period.
    ///   - date: The date of the upgrade.
    ///   - price: The price, in thousandths of the currency's unit; `nil` for the price until now.
    ///   - offer: The offer for the period; `nil` for none.
    @discardableResult
    public mutating func upgrade(
        _ subscription: Subscription, to productID: String, for period: BillingPeriod, at date: Instant,
        price: Int64? = nil, offer: SubscriptionOffer? = nil
    ) -> Transaction {
        append(
            to: subscription, productID, period, from: date, at: date, price, offer, .purchase,
            .purchase(isUpgrade: true), NotificationKind(.didChangeRenewalPreference, .upgrade))
    }

    /// Records a change to a product of the same level.
    ///
    /// If its period has the length of the running period, it begins at once, as an upgrade does. Otherwise it begins
    /// at the next renewal, as a downgrade does.
    ///
    /// - Parameters:
    ///   - subscription: The subscription.
    ///   - productID: The identifier of the new product.
    ///   - period: The length of its period.
    ///   - date: The date of the change.
    ///   - price: The price, in thousandths of the currency's unit; `nil` for the price until now.
    /// - Returns: The new period if it begins at once, or `nil`.
    @discardableResult
    public mutating func crossgrade(
        _ subscription: Subscription, to productID: String, for period: BillingPeriod, at date: Instant,
        price: Int64? = nil
    ) -> Transaction? {
        if latestPeriod(of: subscription).specification.period == period {
            return upgrade(subscription, to: productID, for: period, at: date, price: price)
        }
        downgrade(subscription, to: productID, for: period, at: date, price: price)
        return nil
    }

    /// Records a downgrade, which begins with the next renewal.
    ///
    /// - Parameters:
    ///   - subscription: The subscription.
    ///   - productID: The identifier of the new product.
    ///   - period: The length of its period.
    ///   - date: The date of the change.
    ///   - price: The price, in thousandths of the currency's unit; `nil` for the price until now.
    public mutating func downgrade(
        _ subscription: Subscription, to productID: String, for period: BillingPeriod, at date: Instant,
        price: Int64? = nil
    ) {
        let next = NextProduct(
            productID: productID, period: period, price: price ?? latestPeriod(of: subscription).price)
        record(
            .nextProduct(next), of: subscription, at: date,
            NotificationKind(.didChangeRenewalPreference, .downgrade))
    }

    /// Records that the customer took back a downgrade before it began.
    public mutating func cancelDowngrade(of subscription: Subscription, at date: Instant) {
        record(.nextProduct(nil), of: subscription, at: date, NotificationKind(.didChangeRenewalPreference))
    }

    /// Records that the customer redeemed an offer for the next period.
    public mutating func redeem(_ offer: SubscriptionOffer, for subscription: Subscription, at date: Instant) {
        record(.nextOffer(offer), of: subscription, at: date, NotificationKind(.offerRedeemed))
    }

    // MARK: Renewal

    /// Records that renewal was turned off. The subscription expires at the end of its period.
    public mutating func turnOffRenewal(of subscription: Subscription, at date: Instant) {
        record(
            .renewalStatus(.off), of: subscription, at: date,
            NotificationKind(.didChangeRenewalStatus, .autoRenewDisabled))
    }

    /// Records that renewal was turned on again.
    public mutating func turnOnRenewal(of subscription: Subscription, at date: Instant) {
        record(
            .renewalStatus(.on), of: subscription, at: date,
            NotificationKind(.didChangeRenewalStatus, .autoRenewEnabled))
    }

    /// Records that Apple could not charge for the next period. Apple keeps trying for 60 days: see
    /// ``renew(_:at:offer:)``.
    ///
    /// - Parameters:
    ///   - subscription: The subscription.
    ///   - date: The date of the charge; `nil` for the end of the last period.
    ///   - gracePeriod: The duration for which the customer keeps access from the end of the last period; `nil` for no
    ///     grace period.
    public mutating func failToRenew(
        _ subscription: Subscription, at date: Instant? = nil, gracePeriod: Duration? = nil
    ) {
        let end = expiry(of: subscription)
        record(
            .billingFailure(gracePeriodEnd: gracePeriod.map { end + $0 }), of: subscription, at: date ?? end,
            NotificationKind(.didFailToRenew, gracePeriod == nil ? nil : .gracePeriod))
    }

    /// Records that the product of the next period is no longer for sale. The subscription expires at the end of its
    /// period.
    public mutating func endSale(of subscription: Subscription, at date: Instant) {
        record(.productUnavailable, of: subscription, at: date)
    }

    /// Records that the developer extended the running period.
    ///
    /// - Parameters:
    ///   - subscription: The subscription.
    ///   - duration: The duration by which the period ends later.
    ///   - date: The date of the extension.
    public mutating func extend(_ subscription: Subscription, by duration: Duration, at date: Instant) {
        record(
            .extend(to: expiry(of: subscription) + duration), of: subscription, at: date,
            NotificationKind(.renewalExtended))
    }

    /// Records that Apple informed the customer of a price increase.
    ///
    /// - Parameters:
    ///   - subscription: The subscription.
    ///   - price: The price of the next period, in thousandths of the currency's unit.
    ///   - date: The date of the information.
    ///   - needsConsent: Whether the subscription expires unless the customer agrees: see
    ///     ``acceptPriceIncrease(of:at:)``.
    public mutating func raisePrice(
        of subscription: Subscription, to price: Int64, at date: Instant, needsConsent: Bool = true
    ) {
        record(
            .priceIncrease(needsConsent ? .pending : .accepted, price: price), of: subscription, at: date,
            NotificationKind(.priceIncrease, needsConsent ? .pending : .accepted))
    }

    /// Records that the customer agreed to a price increase.
    public mutating func acceptPriceIncrease(of subscription: Subscription, at date: Instant) {
        record(
            .priceIncrease(.accepted, price: nil), of: subscription, at: date,
            NotificationKind(.priceIncrease, .accepted))
    }

    // MARK: Reading

    /// The subscriptions, in the order in which they were recorded.
    public var subscriptions: [Subscription] {
        transactions.filter { $0.expiresDate != nil && $0.specification.original == $0.specification.number }
            .map(Subscription.init)
    }

    /// Returns the periods of a subscription in the order of their purchase dates, without restored ones and added
    /// seats.
    public func periods(of subscription: Subscription) -> [Transaction] {
        let original = number(of: subscription.firstPeriod)
        return transactions.filter { transaction in
            transaction.specification.original == original && transaction.specification.isPeriod
        }.sorted { $0.purchaseDate < $1.purchaseDate }
    }

    /// Returns the last period of a subscription, whether or not it has begun.
    public func latestPeriod(of subscription: Subscription) -> Transaction {
        periods(of: subscription).last ?? subscription.firstPeriod
    }

    // MARK: Implementation

    /// The end of the last period, with its extensions.
    private func expiry(of subscription: Subscription) -> Instant {
        let number = latestPeriod(of: subscription).specification.number
        return state(at: .distantFuture).transactions[number].expiresDate ?? .distantPast
    }

    private mutating func append(
        to subscription: Subscription, _ productID: String?, _ period: BillingPeriod?, from start: Instant,
        at date: Instant, _ price: Int64?, _ offer: SubscriptionOffer?, _ reason: TransactionReason, _ change: Change,
        _ notification: NotificationKind
    ) -> Transaction {
        var next = latestPeriod(of: subscription).specification
        next.productID = productID ?? next.productID
        let length = period ?? next.period ?? .month
        (next.purchaseDate, next.period, next.expiresDate) = (start, length, length.end(from: start))
        next.price = price ?? next.price
        (next.offer, next.reason) = (offer, reason)
        let state = state(at: date)
        next.appAccountToken =
            next.isOfMember ? nil : appAccountToken ?? state.transactions[next.number].appAccountToken
        if next.invitationManagement != nil, !next.isOfMember {
            next.quantity =
                state.subscriptions[next.original]?.renewalSeats ?? max(1, state.seats(ofPeriodOf: next.number))
        }
        return append(next, isOriginal: false, at: date, change, notification)
    }
}
