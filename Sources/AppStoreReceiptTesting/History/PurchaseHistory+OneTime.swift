public import AppStoreReceipt

// Purchases other than subscriptions, and what happens to any purchase.

extension PurchaseHistory {
    /// The default price, in thousandths of the currency's unit.
    public static let defaultPrice: Int64 = 1990

    /// Records the purchase of a consumable.
    ///
    /// Receipts contain it until the app finishes it: see ``finish(_:at:)``.
    ///
    /// - Parameters:
    ///   - productID: The product's identifier.
    ///   - quantity: The quantity.
    ///   - date: The purchase date.
    ///   - price: The price, in thousandths of the currency's unit.
    @discardableResult
    public mutating func buyConsumable(
        _ productID: String, quantity: Int = 1, at date: Instant, price: Int64 = defaultPrice
    ) -> Transaction {
        buy(productID, .consumable, quantity, at: date, price, .purchased)
    }

    /// Records the purchase of a non-consumable.
    ///
    /// - Parameters:
    ///   - productID: The product's identifier.
    ///   - date: The purchase date.
    ///   - price: The price, in thousandths of the currency's unit.
    ///   - ownershipType: A value that says whether the customer bought the product or a family member shares it.
    @discardableResult
    public mutating func buyNonConsumable(
        _ productID: String, at date: Instant, price: Int64 = defaultPrice, ownershipType: OwnershipType = .purchased
    ) -> Transaction {
        buy(productID, .nonConsumable, 1, at: date, price, ownershipType)
    }

    /// Records the purchase of a non-renewing subscription. Only the app knows its length.
    ///
    /// - Parameters:
    ///   - productID: The product's identifier.
    ///   - date: The purchase date.
    ///   - price: The price, in thousandths of the currency's unit.
    @discardableResult
    public mutating func buyNonRenewing(
        _ productID: String, at date: Instant, price: Int64 = defaultPrice
    ) -> Transaction {
        buy(productID, .nonRenewingSubscription, 1, at: date, price, .purchased)
    }

    private mutating func buy(
        _ productID: String, _ type: ProductType, _ quantity: Int, at date: Instant, _ price: Int64,
        _ ownershipType: OwnershipType
    ) -> Transaction {
        let specification = Specification(
            productID: productID, productType: type, quantity: quantity, purchaseDate: date, originalPurchaseDate: date,
            price: price, ownershipType: ownershipType,
            appAccountToken: ownershipType == .familyShared ? nil : appAccountToken)
        return append(
            specification, isOriginal: true, at: date, .purchase(isUpgrade: false), NotificationKind(.oneTimeCharge))
    }

    /// Records that the app finished a transaction. Later receipts do not contain it if it is a consumable.
    public mutating func finish(_ transaction: Transaction, at date: Instant) {
        record(.finish, of: transaction, at: date)
    }

    /// Records that the customer restored a transaction.
    ///
    /// The restored transaction has a new id, and keeps the original transaction id and the web order line item id. A
    /// period keeps its purchase date; the purchase date of any other product is the date it was restored. Changing
    /// either changes both.
    ///
    /// - Parameters:
    ///   - transaction: The transaction to restore.
    ///   - date: The date it is restored.
    /// - Returns: The transaction with the new id.
    @discardableResult
    public mutating func restore(_ transaction: Transaction, at date: Instant) -> Transaction {
        var specification = transaction.specification
        if specification.expiresDate == nil { specification.purchaseDate = date }
        return append(specification, isOriginal: false, isRestored: true, at: date, .restore, nil)
    }

    // MARK: Refunds

    /// Records that Apple refunded a transaction.
    ///
    /// - Parameters:
    ///   - transaction: The transaction.
    ///   - date: The date of the refund.
    ///   - reason: The reason of the refund.
    ///   - percentage: The refunded part of the price, in thousandths of a percent; 100,000 for a full refund.
    public mutating func refund(
        _ transaction: Transaction, at date: Instant, reason: RevocationReason = .other, percentage: Int64 = 100_000
    ) {
        let type = percentage == 100_000 ? RevocationType.fullRefund : .proratedRefund
        record(
            .revocation(Revocation(date: date, reason: reason, type: type, percentage: percentage)), of: transaction,
            at: date, NotificationKind(.refund))
    }

    /// Records that Apple reversed a refund, after a dispute.
    public mutating func reverseRefund(of transaction: Transaction, at date: Instant) {
        record(.reversal, of: transaction, at: date, NotificationKind(.refundReversed))
    }

    /// Records that the customer requested a refund. Apple asks how much was consumed.
    public mutating func requestRefund(
        of transaction: Transaction, at date: Instant, reason: ConsumptionRequestReason = .unintendedPurchase
    ) {
        record(.message(reason), of: transaction, at: date, NotificationKind(.consumptionRequest))
    }

    /// Records that Apple declined a refund.
    public mutating func declineRefund(of transaction: Transaction, at date: Instant) {
        record(.message(nil), of: transaction, at: date, NotificationKind(.refundDeclined))
    }

    // MARK: Family Sharing

    /// Records that a transaction is no longer shared: the customer left the family, or its owner stopped sharing.
    ///
    /// - Parameters:
    ///   - transaction: A transaction of a family member, whose ownership type is `familyShared`.
    ///   - date: The date it ended.
    ///   - reason: The reason; if the owner received a refund, that of the refund.
    public mutating func endFamilySharing(
        of transaction: Transaction, at date: Instant, reason: RevocationReason = .other
    ) {
        record(
            .revocation(Revocation(date: date, reason: reason, type: .familyRevoke)), of: transaction, at: date,
            NotificationKind(.revoke))
    }

    /// Returns the history of a family member with whom the customer shares the purchases from a date on.
    ///
    /// It has the non-consumables and the subscriptions whose periods end after the date, with other ids and without
    /// the account token. A refund is a revocation in it. It is a copy: later changes of either history do not change
    /// the other.
    ///
    /// - Parameters:
    ///   - customer: The number of the family member.
    ///   - date: The date from which the purchases are shared.
    public func sharedWithFamilyMember(customer: Int, from date: Instant) -> PurchaseHistory {
        var member = PurchaseHistory(bundleID: bundleID, environment: environment, customer: customer)
        member.cancelsUpgradedPeriodsInReceipts = cancelsUpgradedPeriodsInReceipts
        // The numbers in the member's history by those in this one.
        var numbers: [Int: Int] = [:]
        var originals: [Int: Transaction] = [:]
        let end = state(at: .distantFuture)
        for event in events {
            var event = event
            event.date = max(event.date, date)
            switch event.change {
            case .finish, .restore, .message, .unclaimedSeats, .accountToken: continue
            case .purchase:
                var shared = transactions[event.transaction].specification
                let isShareable = [.nonConsumable, .autoRenewableSubscription].contains(shared.productType)
                let expiry = end.transactions[event.transaction].expiresDate ?? .distantFuture
                guard isShareable, expiry > date, shared.ownershipType == .purchased,
                    shared.invitationManagement == nil
                else { continue }
                shared.ownershipType = .familyShared
                shared.appAccountToken = nil
                let original = originals[shared.original]
                shared.original = original?.specification.number ?? 0
                shared.originalPurchaseDate = original?.purchaseDate ?? shared.purchaseDate
                if original == nil, shared.expiresDate != nil {
                    event.notification = NotificationKind(.subscribed, .initialBuy)
                }
                let transaction = member.append(
                    shared, isOriginal: original == nil, at: event.date, event.change, event.notification)
                numbers[event.transaction] = transaction.specification.number
                if original == nil {
                    originals[transactions[event.transaction].specification.original] = transaction
                }
                continue
            case .revocation(var revocation):
                revocation.date = event.date
                (revocation.type, revocation.percentage) = (.familyRevoke, nil)
                event.change = .revocation(revocation)
                event.notification = NotificationKind(.revoke)
            default: break
            }
            guard let number = numbers[event.transaction] else { continue }
            event.transaction = number
            member.events.append(event)
        }
        return member
    }
}
