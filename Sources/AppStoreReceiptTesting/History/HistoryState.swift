import AppStoreReceipt

/// A history at a date.
struct HistoryState {
    struct TransactionState {
        let transaction: PurchaseHistory.Transaction
        /// Whether it was made by the date.
        var isMade = false
        var expiresDate: Instant?
        /// The date an upgrade replaced the period.
        var upgradeDate: Instant?
        var revocation: PurchaseHistory.Revocation?
        var revokedSeats = 0
        var appAccountToken: String?
        var isFinished = false
    }

    struct SubscriptionState {
        var renewalStatus = AutoRenewStatus.on
        var nextProduct: PurchaseHistory.NextProduct?
        var nextOffer: SubscriptionOffer?
        var billingFailure: (date: Instant, gracePeriodEnd: Instant?)?
        var isProductUnavailable = false
        var priceIncreaseStatus: PriceIncreaseStatus?
        /// The price of the next period; `nil` for that of the last one.
        var renewalPrice: Int64?
        /// The seats of the next period; `nil` for those of the last one.
        var renewalSeats: Int?
    }

    fileprivate(set) var date: Instant
    /// All transactions by their numbers, also those that are not yet made.
    var transactions: [TransactionState]
    /// By the number of the original transaction.
    var subscriptions: [Int: SubscriptionState] = [:]
}

extension PurchaseHistory {
    /// Returns the state at a date, after everything that happened by then.
    func state(at date: Instant) -> HistoryState {
        var states = HistoryStates(self)
        return states.advance(to: date)
    }

    func subscriptionState(of subscription: Subscription, at date: Instant) -> HistoryState.SubscriptionState {
        state(at: date).subscriptions[subscription.firstPeriod.specification.number] ?? .init()
    }
}

/// The states of a history at dates that only grow.
struct HistoryStates {
    private var state: HistoryState
    /// What has not happened yet, in order.
    private var coming: ArraySlice<PurchaseHistory.Event>

    init(_ history: PurchaseHistory) {
        let events = history.events
        // Events with the same date happened in the order of their recording.
        let order = events.indices.sorted { (events[$0].date, $0) < (events[$1].date, $1) }
        coming = order.map { events[$0] }[...]
        state = HistoryState(
            date: .distantPast,
            transactions: history.transactions.map {
                .init(transaction: $0, expiresDate: $0.expiresDate, appAccountToken: $0.appAccountToken)
            })
    }

    mutating func advance(to date: Instant) -> HistoryState {
        state.date = date
        while let next = coming.first, next.date <= date {
            state.apply(next)
            coming.removeFirst()
        }
        return state
    }
}

extension HistoryState {
    /// The transactions that were made by the date.
    var made: [TransactionState] { transactions.filter(\.isMade) }

    /// The periods that were made by the date, without restored ones and added seats, in the order of their purchase
    /// dates.
    func periods(of original: Int) -> [TransactionState] { periodNumbers(of: original).map { transactions[$0] } }

    private func periodNumbers(of original: Int) -> [Int] {
        transactions.indices.filter {
            transactions[$0].isMade && transactions[$0].transaction.specification.original == original
                && transactions[$0].transaction.specification.isPeriod
        }.sorted { transactions[$0].transaction.purchaseDate < transactions[$1].transaction.purchaseDate }
    }

    /// The transactions of another one's period, made or not: the period's own, and those that added seats.
    private func allTransactions(ofPeriodOf number: Int) -> [TransactionState] {
        let period = transactions[number].transaction.specification.chargedPeriod
        return transactions.filter {
            $0.transaction.specification.chargedPeriod == period && !$0.transaction.specification.isRestored
        }
    }

    /// The transactions of another one's period by the date.
    func transactions(ofPeriodOf number: Int) -> [TransactionState] {
        allTransactions(ofPeriodOf: number).filter(\.isMade)
    }

    /// The seats of a period that were not refunded.
    func seats(ofPeriodOf number: Int) -> Int {
        transactions(ofPeriodOf: number).reduce(0) { seats, state in
            state.revocation == nil ? seats + state.transaction.quantity - state.revokedSeats : seats
        }
    }

    fileprivate mutating func apply(_ event: PurchaseHistory.Event) {
        let specification = transactions[event.transaction].transaction.specification
        switch event.change {
        case .purchase(let isUpgrade):
            if isUpgrade { endPeriods(of: specification.original, at: event.date) }
            transactions[event.transaction].isMade = true
            if specification.addsTo != nil {
                // Added seats renew, too.
                subscriptions[specification.original]?.renewalSeats = nil
            } else {
                // A new period resolves pending changes.
                subscriptions[specification.original] = specification.expiresDate == nil ? nil : SubscriptionState()
            }
        case .restore: transactions[event.transaction].isMade = true
        case .finish: transactions[event.transaction].isFinished = true
        case .revocation(let revocation): change(specification.purchase) { $0.revocation = revocation }
        case .reversal: change(specification.purchase) { ($0.revocation, $0.revokedSeats) = (nil, 0) }
        case .seatRefund(let count, let reason):
            change(specification.purchase) { state in
                state.revokedSeats = min(state.revokedSeats + count, state.transaction.quantity)
                guard state.revokedSeats == state.transaction.quantity else { return }
                state.revocation = PurchaseHistory.Revocation(
                    date: event.date, reason: reason, type: .fullRefund, percentage: 100_000)
            }
        case .accountToken(let token):
            // Periods that have ended never change, and later purchases have the app's token.
            for index in transactions.indices {
                let state = transactions[index]
                guard state.transaction.specification.original == specification.original,
                    state.expiresDate.map({ event.date < $0 }) ?? true,
                    state.isMade || state.transaction.reason == .renewal
                else { continue }
                transactions[index].appAccountToken = token
            }
        case .extend(let end):
            for state in allTransactions(ofPeriodOf: event.transaction) {
                change(state.transaction.specification.number) { $0.expiresDate = end }
            }
        case .renewalSeats(let count): subscriptions[specification.original]?.renewalSeats = count
        case .renewalStatus(let status): subscriptions[specification.original]?.renewalStatus = status
        case .nextProduct(let product): subscriptions[specification.original]?.nextProduct = product
        case .nextOffer(let offer): subscriptions[specification.original]?.nextOffer = offer
        case .billingFailure(let end):
            subscriptions[specification.original]?.billingFailure = (event.date, end)
        case .productUnavailable: subscriptions[specification.original]?.isProductUnavailable = true
        case .priceIncrease(let status, let price):
            subscriptions[specification.original]?.priceIncreaseStatus = status
            if let price { subscriptions[specification.original]?.renewalPrice = price }
        case .message, .unclaimedSeats: break
        }
    }

    /// Changes a purchase and those that restore it, also in the future.
    private mutating func change(_ purchase: Int, _ body: (inout TransactionState) -> Void) {
        for index in transactions.indices where transactions[index].transaction.specification.purchase == purchase {
            body(&transactions[index])
        }
    }

    /// Also a period that is charged but has not begun.
    private mutating func endPeriods(of original: Int, at date: Instant) {
        for index in transactions.indices {
            let state = transactions[index]
            guard state.transaction.specification.original == original, state.upgradeDate == nil,
                transactions[state.transaction.specification.purchase].isMade, let end = state.expiresDate, date < end,
                state.revocation == nil
            else { continue }
            transactions[index].upgradeDate = date
        }
    }
}

extension PurchaseHistory.Specification {
    /// Whether it is neither restored nor adds seats to another one.
    var isPeriod: Bool { !isRestored && addsTo == nil }

    fileprivate var isRestored: Bool { purchase != number }

    /// The number of the period that the customer was charged for.
    fileprivate var chargedPeriod: Int { addsTo ?? purchase }

    /// Whether another customer bought it.
    var isOfMember: Bool { [.familyShared, .assigned].contains(ownershipType) }
}

// MARK: - Subscriptions

extension HistoryState {
    /// Apple tries to charge for 60 days.
    static let billingRetryPeriod = Duration.seconds(60 * 86_400)

    /// The period that has begun last; the first one if none has.
    func currentPeriod(of original: Int) -> TransactionState? {
        let periods = periodNumbers(of: original)
        return (periods.last { transactions[$0].transaction.purchaseDate <= date } ?? periods.first).map {
            transactions[$0]
        }
    }

    func status(of original: Int) -> SubscriptionStatus? {
        guard let current = currentPeriod(of: original), let state = subscriptions[original],
            let end = current.expiresDate
        else { return nil }
        // Seats that were added keep a period whose other transactions were refunded.
        let period = transactions(ofPeriodOf: current.transaction.specification.number)
        if period.allSatisfy({ $0.revocation != nil }) { return .revoked }
        if date < end { return .active }
        guard let failure = state.billingFailure else { return .expired }
        if let gracePeriodEnd = failure.gracePeriodEnd, date < gracePeriodEnd { return .inGracePeriod }
        return date < failure.date + Self.billingRetryPeriod && state.renewalStatus == .on ? .inBillingRetry : .expired
    }

    /// Why the subscription has expired, or why Apple is still trying to charge.
    func expirationIntent(of original: Int) -> ExpirationIntent? {
        guard let state = subscriptions[original], let status = status(of: original) else { return nil }
        switch status {
        case .inBillingRetry, .inGracePeriod: return .billingError
        case .expired:
            if state.renewalStatus == .off { return .cancelled }
            if state.billingFailure != nil { return .billingError }
            if state.priceIncreaseStatus == .pending { return .priceIncreaseNotAccepted }
            return state.isProductUnavailable ? .productUnavailable : .other
        default: return nil
        }
    }

    /// The start of the periods without a gap of more than 60 days.
    func recentStart(of original: Int) -> Instant? {
        var start: Instant?
        var end = Instant.distantPast
        for period in periods(of: original) {
            if start == nil || end + Self.billingRetryPeriod < period.transaction.purchaseDate {
                start = period.transaction.purchaseDate
            }
            end = max(end, period.expiresDate ?? end)
        }
        return start
    }
}
