public import AppStoreReceipt

extension PurchaseHistory {
    // MARK: Receipts

    /// Returns the receipt that Apple would have signed at a date.
    ///
    /// Receipts contain neither the subscription group nor the ownership type, the account token, the part of a refund,
    /// and whether a period was upgraded. A refunded purchase has a cancellation date. A consumable is absent once it
    /// is finished.
    ///
    /// - Parameters:
    ///   - date: The receipt's creation date.
    ///   - transactions: The transactions that the receipt may contain, such as those of one device; `nil` for all.
    public func receipt(signedAt date: Instant, of transactions: [Transaction]? = nil) -> ReceiptBuilder {
        let state = state(at: date)
        let numbers = transactions.map { $0.map(number(of:)) } ?? Array(self.transactions.indices)
        let purchases = numbers.map { state.transactions[$0] }.filter { state in
            state.isMade && !(state.isFinished && state.transaction.productType == .consumable)
        }
        return ReceiptBuilder(
            bundleID: bundleID, environment: receiptType, purchases: purchases.map(purchase), creationDate: date)
    }

    private func purchase(_ state: HistoryState.TransactionState) -> ReceiptBuilder.Purchase {
        let transaction = state.transaction
        var purchase = ReceiptBuilder.Purchase(
            productID: transaction.productID, transactionID: transaction.transactionID,
            productType: transaction.productType, purchaseDate: transaction.purchaseDate,
            originalTransactionID: transaction.originalTransactionID,
            originalPurchaseDate: transaction.originalPurchaseDate)
        purchase.quantity = transaction.quantity
        purchase.expiresDate = state.expiresDate
        purchase.webOrderLineItemID = transaction.webOrderLineItemID ?? "0"
        if transaction.expiresDate != nil {
            let isIntroductory = transaction.offer?.type == .introductory
            let isFree = transaction.offer?.discountType == .freeTrial
            purchase.isTrialPeriod = isIntroductory && isFree
            purchase.isInIntroOfferPeriod = isIntroductory && !isFree
            if transaction.offer?.type == .promotional { purchase.promotionalOfferID = transaction.offer?.id }
        }
        if let revocation = state.revocation {
            (purchase.revocationDate, purchase.revocationReason) = (revocation.date, revocation.reason)
        } else if cancelsUpgradedPeriodsInReceipts, let date = state.upgradeDate {
            (purchase.revocationDate, purchase.revocationReason) = (date, .other)
        }
        return purchase
    }

    // MARK: Transactions

    /// Returns the transactions that Apple would have signed at a date, in the order in which they were recorded.
    public func transactions(signedAt date: Instant) -> [JWSBuilder] {
        let state = state(at: date)
        return state.made.map { builder($0, in: state) }
    }

    /// Returns a transaction as Apple would have signed it at a date; `nil` if it was made later.
    public func transaction(_ transaction: Transaction, signedAt date: Instant) -> JWSBuilder? {
        let history = state(at: date)
        let state = history.transactions[number(of: transaction)]
        return state.isMade ? builder(state, in: history) : nil
    }

    private func builder(_ state: HistoryState.TransactionState, in history: HistoryState) -> JWSBuilder {
        let transaction = state.transaction
        var builder = JWSBuilder.transaction(
            bundleID: bundleID, productID: transaction.productID, transactionID: transaction.transactionID,
            environment: environment, signedDate: history.date)
        builder.originalTransactionID = transaction.originalTransactionID
        builder.webOrderLineItemID = transaction.webOrderLineItemID
        builder.subscriptionGroupID = transaction.subscriptionGroupID
        builder.purchaseDate = transaction.purchaseDate
        builder.originalPurchaseDate = transaction.originalPurchaseDate
        builder.expiresDate = state.expiresDate
        builder.quantity = transaction.quantity
        builder.productType = transaction.productType
        builder.ownershipType = transaction.ownershipType
        builder.reason = transaction.reason
        builder.appAccountToken = state.appAccountToken
        builder.appTransactionID = appTransactionID
        builder.price = transaction.offer?.discountType == .freeTrial ? 0 : transaction.price
        builder.isUpgraded = state.upgradeDate == nil ? nil : true
        builder.set(transaction.offer, for: transaction.specification.period)
        if let revocation = state.revocation {
            builder.revocationDate = revocation.date
            builder.revocationReason = revocation.reason
            builder.revocationType = revocation.type
            builder.revocationPercentage = revocation.percentage
        }
        if let management = transaction.specification.invitationManagement {
            builder.setSeats(state, management, price: builder.price ?? 0)
            if history.transactions(ofPeriodOf: transaction.specification.number).count > 1 {
                builder.payload[TransactionInfo.Member.additionalTransactionReason.rawValue] =
                    .string(AdditionalTransactionReason.seatAddition.rawValue)
            }
        }
        return builder
    }

    // MARK: Renewal information

    /// Returns the renewal information that Apple would have signed at a date; `nil` if the subscription began later.
    public func renewalInfo(of subscription: Subscription, signedAt date: Instant) -> JWSBuilder? {
        renewalInfo(of: number(of: subscription.firstPeriod), state(at: date))
    }

    /// Returns the status of a subscription at a date, as notifications have it; `nil` if the subscription began later.
    public func status(of subscription: Subscription, at date: Instant) -> SubscriptionStatus? {
        state(at: date).status(of: number(of: subscription.firstPeriod))
    }

    func renewalInfo(of original: Int, _ state: HistoryState) -> JWSBuilder? {
        guard let current = state.currentPeriod(of: original), let subscription = state.subscriptions[original],
            let status = state.status(of: original)
        else { return nil }
        let transaction = current.transaction
        var builder = JWSBuilder.renewalInfo(
            productID: transaction.productID, originalTransactionID: transaction.originalTransactionID,
            environment: environment, signedDate: state.date)
        builder.autoRenewProductID = subscription.nextProduct?.productID ?? transaction.productID
        builder.autoRenewStatus = status == .expired ? .off : subscription.renewalStatus
        builder.expirationIntent = state.expirationIntent(of: original)
        if subscription.billingFailure != nil {
            builder.isInBillingRetryPeriod = status == .inGracePeriod || status == .inBillingRetry
            builder.gracePeriodExpiresDate = subscription.billingFailure?.gracePeriodEnd
        }
        builder.renewalDate = current.expiresDate
        builder.renewalPrice = subscription.nextProduct?.price ?? subscription.renewalPrice ?? transaction.price
        builder.recentSubscriptionStartDate = state.recentStart(of: original)
        builder.priceIncreaseStatus = subscription.priceIncreaseStatus
        builder.appAccountToken = current.appAccountToken
        builder.appTransactionID = appTransactionID
        if transaction.specification.invitationManagement != nil {
            let seats = subscription.renewalSeats ?? state.seats(ofPeriodOf: transaction.specification.number)
            builder.payload[RenewalInfo.Member.renewalQuantity.rawValue] = .integer(Int64(seats))
            builder.payload[RenewalInfo.Member.multiSeatInfo.rawValue] = [
                RenewalMultiSeatInfo.Member.renewalPriceTiers.rawValue: .seatPrices(seats, builder.renewalPrice ?? 0)
            ]
        }
        builder.set(
            subscription.nextOffer,
            for: subscription.nextProduct?.period ?? transaction.specification.period)
        return builder
    }

    func number(of transaction: Transaction) -> Int {
        let number = transaction.specification.number
        precondition(
            transactions.indices.contains(number) && transactions[number] == transaction,
            "a transaction of another history")
        return number
    }
}

extension JSONValue {
    /// The one price tier of a number of seats.
    fileprivate static func seatPrices(_ seats: Int, _ price: Int64) -> JSONValue {
        typealias Member = SeatPriceTier.Member
        return [[Member.price.rawValue: .integer(price), Member.quantity.rawValue: .integer(Int64(seats))]]
    }
}

extension JWSBuilder {
    fileprivate mutating func setSeats(
        _ state: HistoryState.TransactionState, _ management: InvitationManagement, price: Int64
    ) {
        typealias Member = MultiSeatInfo.Member
        var info: JSONValue = [
            Member.priceTiers.rawValue: .seatPrices(state.transaction.quantity, price),
            Member.invitationManagement.rawValue: .string(management.rawValue),
        ]
        if state.revokedSeats > 0 { info[Member.revokedSeatQuantity.rawValue] = .integer(Int64(state.revokedSeats)) }
        payload[TransactionInfo.Member.multiSeatInfo.rawValue] = info
    }

    fileprivate mutating func set(_ offer: SubscriptionOffer?, for period: BillingPeriod?) {
        guard let offer else { return }
        offerType = offer.type
        offerID = offer.id
        offerDiscountType = offer.discountType
        offerPeriod = period?.iso8601
    }
}
