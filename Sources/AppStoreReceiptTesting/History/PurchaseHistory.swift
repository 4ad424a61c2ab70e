public import AppStoreReceipt

/// The purchases that one customer made in one app, and what happened to them.
///
/// Describe what happened once, and mint what Apple would have signed about it at any date: a receipt, transactions,
/// renewal information and notifications.
///
/// ```swift
/// var history = PurchaseHistory(bundleID: "com.example.app")
/// let subscription = history.subscribe(to: "monthly", in: "group", for: .month, at: start)
/// let second = history.renew(subscription)
/// history.refund(second, at: refund)
/// let receipt = try history.receipt(signedAt: date).signed(by: authority)
/// ```
///
/// What happened after the signing date is absent. You can record changes in any order, but each method takes what was
/// recorded before into account. Identifiers are the same in each run, and differ between customers.
public struct PurchaseHistory: Sendable {
    /// The app's bundle id.
    public let bundleID: String
    /// The environment.
    public let environment: AppStoreEnvironment
    /// The UUID that the app sets for purchases from now on. Receipts do not contain it.
    public var appAccountToken: String?
    /// A Boolean value that indicates whether receipts have a cancellation date [1712] for periods that an upgrade
    /// replaced.
    ///
    /// By default, it is `true` in production and `false` in the other environments.
    public var cancelsUpgradedPeriodsInReceipts: Bool

    /// The number of the customer, which is part of all identifiers.
    let customer: Int
    var events: [Event] = []
    /// All transactions in the order in which they were recorded. Their numbers are their indices.
    public internal(set) var transactions: [Transaction] = []

    /// Creates a history without purchases.
    ///
    /// - Parameters:
    ///   - bundleID: The app's bundle id.
    ///   - environment: The environment. Histories from Xcode have no notifications.
    ///   - customer: The number of the customer, 1 to 499. Different customers have different transaction ids.
    ///   - appAccountToken: The UUID that the app sets for purchases; `nil` for none.
    public init(
        bundleID: String, environment: AppStoreEnvironment = .production, customer: Int = 1,
        appAccountToken: String? = nil
    ) {
        precondition(1...499 ~= customer, "a customer's number is 1 to 499")
        self.bundleID = bundleID
        self.environment = environment
        self.customer = customer
        self.appAccountToken = appAccountToken
        cancelsUpgradedPeriodsInReceipts = environment == .production
    }

    /// A transaction of a history, as it was recorded.
    public struct Transaction: Hashable, Sendable {
        /// The transaction id.
        public let transactionID: String
        /// The original transaction id.
        public let originalTransactionID: String
        /// The identifier of the period of a subscription; `nil` for other products. A restored transaction keeps it.
        public let webOrderLineItemID: String?
        /// The product's identifier.
        public let productID: String
        /// The product's type.
        public let productType: ProductType
        /// The identifier of the subscription group; `nil` for other products.
        public let subscriptionGroupID: String?
        /// The quantity; of a subscription, the seats that the transaction bought.
        public let quantity: Int
        /// The purchase date.
        public let purchaseDate: Instant
        /// The date of the original transaction.
        public let originalPurchaseDate: Instant
        /// The date the period ends, without later extensions; `nil` for products other than auto-renewable
        /// subscriptions.
        public let expiresDate: Instant?
        /// The price, in thousandths of the currency's unit.
        public let price: Int64
        /// The offer; `nil` for none.
        public let offer: SubscriptionOffer?
        /// A value that says whether the customer bought the product, shares it, or was assigned it.
        public let ownershipType: OwnershipType
        /// A value that says whether the customer bought the product or Apple renewed it.
        public let reason: TransactionReason
        /// The UUID that the app set for the purchase.
        public let appAccountToken: String?

        let specification: Specification
    }

    /// A subscription of a history: all periods with one original transaction id.
    ///
    /// Renewals, upgrades and downgrades do not change it.
    public struct Subscription: Hashable, Sendable {
        /// The transaction of the first period.
        public let firstPeriod: Transaction
        /// The original transaction id of all periods.
        public var originalTransactionID: String { firstPeriod.originalTransactionID }
        /// The identifier of the subscription group.
        public var subscriptionGroupID: String { firstPeriod.subscriptionGroupID ?? "" }
    }

    /// What a transaction is made from, in numbers that are the same for all customers.
    struct Specification: Hashable {
        var number = 0
        /// The number of the original transaction.
        var original = 0
        /// The number of the transaction that this one restores, or its own number. Both are one purchase.
        var purchase = 0
        var productID: String
        var productType: ProductType
        var subscriptionGroupID: String?
        var quantity = 1
        var purchaseDate: Instant
        var originalPurchaseDate: Instant
        var period: BillingPeriod?
        var expiresDate: Instant?
        var price: Int64
        var offer: SubscriptionOffer?
        var ownershipType = OwnershipType.purchased
        var reason = TransactionReason.purchase
        var appAccountToken: String?
        /// The party that invites members to the seats; `nil` for a purchase without seats.
        var invitationManagement: InvitationManagement?
        /// The number of the transaction to whose period this one added seats.
        var addsTo: Int?
    }

    /// Something that happened.
    struct Event: Sendable {
        var date: Instant
        /// The number of the transaction it happened to, or that began.
        var transaction: Int
        var change: Change
        var notification: NotificationKind?
    }

    enum Change: Sendable {
        /// The customer was charged; an upgrade also ends the running periods of the subscription.
        case purchase(isUpgrade: Bool)
        case restore
        case finish
        case revocation(Revocation)
        case reversal
        case extend(to: Instant)
        case renewalStatus(AutoRenewStatus)
        case nextProduct(NextProduct?)
        case nextOffer(SubscriptionOffer)
        case billingFailure(gracePeriodEnd: Instant?)
        case productUnavailable
        case priceIncrease(PriceIncreaseStatus, price: Int64?)
        case seatRefund(Int, RevocationReason)
        /// The seats of the next period.
        case renewalSeats(Int)
        case accountToken(String)
        /// Only a notification.
        case message(ConsumptionRequestReason?)
        /// Only a notification.
        case unclaimedSeats([String])
    }

    struct NotificationKind: Hashable, Sendable {
        var type: NotificationType
        var subtype: NotificationSubtype?

        init(_ type: NotificationType, _ subtype: NotificationSubtype? = nil) {
            (self.type, self.subtype) = (type, subtype)
        }
    }

    struct NextProduct: Hashable, Sendable {
        var productID: String
        var period: BillingPeriod
        var price: Int64
    }

    struct Revocation: Hashable, Sendable {
        var date: Instant
        var reason: RevocationReason
        var type: RevocationType
        /// In thousandths of a percent; `nil` where Family Sharing or an assignment ended.
        var percentage: Int64?
    }
}

// MARK: - Recording

extension PurchaseHistory {
    /// Appends a transaction and its event.
    ///
    /// - Parameter isOriginal: whether it is its own original transaction.
    mutating func append(
        _ specification: Specification, isOriginal: Bool, isRestored: Bool = false, at date: Instant, _ change: Change,
        _ notification: NotificationKind?
    ) -> Transaction {
        var specification = specification
        specification.number = transactions.count
        if isOriginal { specification.original = specification.number }
        if !isRestored { specification.purchase = specification.number }
        let transaction = Transaction(specification, in: self)
        transactions.append(transaction)
        events.append(
            Event(date: date, transaction: specification.number, change: change, notification: notification))
        return transaction
    }

    /// Records a change to a transaction.
    mutating func record(
        _ change: Change, of transaction: Transaction, at date: Instant, _ notification: NotificationKind? = nil
    ) {
        events.append(
            Event(date: date, transaction: number(of: transaction), change: change, notification: notification))
    }

    /// Records a change to a subscription.
    mutating func record(
        _ change: Change, of subscription: Subscription, at date: Instant, _ notification: NotificationKind? = nil
    ) {
        record(change, of: latestPeriod(of: subscription), at: date, notification)
    }
}

extension PurchaseHistory.Transaction {
    init(_ specification: PurchaseHistory.Specification, in history: PurchaseHistory) {
        self.specification = specification
        transactionID = history.identifier(specification.number)
        originalTransactionID = history.identifier(specification.original)
        webOrderLineItemID =
            specification.expiresDate == nil ? nil : history.identifier(specification.purchase, isLineItem: true)
        productID = specification.productID
        productType = specification.productType
        subscriptionGroupID = specification.subscriptionGroupID
        quantity = specification.quantity
        purchaseDate = specification.purchaseDate
        originalPurchaseDate = specification.originalPurchaseDate
        expiresDate = specification.expiresDate
        price = specification.price
        offer = specification.offer
        ownershipType = specification.ownershipType
        reason = specification.reason
        appAccountToken = specification.appAccountToken
    }
}

extension PurchaseHistory {
    /// Returns a transaction id, or the id of a period. No two are equal.
    ///
    /// Those of production have 15 digits, and those of the sandbox have 16 digits and begin with 2000000. Xcode counts
    /// from 0.
    func identifier(_ number: Int, isLineItem: Bool = false) -> String {
        let offset = (isLineItem ? 500_000_000 : 0) + customer * 1_000_000 + number + 1
        return switch environment {
        case .production: String(340_000_000_000_000 + offset)
        case .sandbox: String(2_000_000_000_000_000 + offset)
        case .xcode, .localTesting: String(number + (isLineItem ? 1_000_000 : 0))
        }
    }

    /// The customer's download of the app.
    var appTransactionID: String { String(700_000_000_000_000_000 + customer) }

    /// The type of the receipts.
    var receiptType: ReceiptBuilder.ReceiptType {
        switch environment {
        case .production: .production
        case .sandbox: .sandbox
        case .xcode, .localTesting: .xcode
        }
    }
}
