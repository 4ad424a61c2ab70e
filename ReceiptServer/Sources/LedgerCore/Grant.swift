package import AppStoreReceipt
import StrictText

/// What was granted for a transaction. It is never granted again.
package struct Grant: Sendable {
    package let transaction: TransactionKey
    package var account: String
    package let productID: String
    /// What the account has of it now.
    package var quantity: Int64
    /// The date access ends, by the last event.
    package var until: Instant?
    /// The seats of the period, by the last event.
    package var seats: Int64?
    package var grantedAt = Instant.distantFuture
    /// The quantity that was granted, and the date of a change; both `nil` in what was just loaded.
    package var grantedQuantity: Int64?
    package var changedAt: Instant?
    /// Whether an operator took it back, which no signature changes.
    package let isVoided: Bool
    /// What an operator set; `nil` if the evidence alone decides.
    package var adjusted: AdjustedQuantity?
    /// The number of the import that makes it, and the first transaction of the purchase that its line named; not
    /// read again.
    package var importRun: Int64?
    package var importedOriginal: String?

    package init(
        transaction: TransactionKey, account: String, productID: String, quantity: Int64, until: Instant? = nil,
        seats: Int64? = nil, isVoided: Bool = false
    ) {
        (self.transaction, self.account, self.productID) = (transaction, account, productID)
        (self.quantity, self.until, self.seats, self.isVoided) = (quantity, until, seats, isVoided)
    }

    /// Whether no signature gives it back.
    package var isTakenBack: Bool { isVoided || adjusted?.quantity == 0 }

    /// The transactions under which a purchase with these items can have been granted. Of a non-consumable that was
    /// restored, an operator may have recorded the first transaction without evidence.
    package static func keys(of items: [(key: TransactionKey, item: Entitlements.Item)]) -> Set<TransactionKey> {
        var keys = Set(items.map(\.key))
        for (key, item) in items where item.purchase.productType == .nonConsumable {
            keys.insert(key.sibling(item.originalTransactionID))
        }
        return keys
    }

    /// The kind of event for a change from another state of the same grant; `nil` for none.
    func kind(after old: Grant) -> LedgerEvent.Kind? {
        switch (old.quantity, quantity) {
        case (let before, let after) where before == after:
            old.until == until && old.seats == seats ? nil : .changed
        case (_, 0): .revoked
        case (0, _): .restored
        default: .adjusted
        }
    }

    /// What the account has of it if the evidence says `signed`.
    func quantity(signed: Int64) -> Int64 { adjusted?.quantity(signed: signed) ?? signed }

    /// The event for the grant's account.
    ///
    /// - Parameter item: What the evidence says of the transaction; `nil` if there is none.
    package func event(
        _ kind: LedgerEvent.Kind, _ cause: LedgerEvent.Cause, _ item: Entitlements.Item?, before: Int64, at now: Instant
    ) -> LedgerEvent {
        LedgerEvent(
            account: account, kind: kind, cause: cause,
            environment: transaction.environment, bundleID: transaction.bundleID.string, productID: productID,
            transactionID: transaction.transactionID.string, originalTransactionID: item?.originalTransactionID,
            quantity: Int(quantity), previousQuantity: Int(before), seats: seats.map(Int.init), until: until,
            purchaseDate: item?.purchase.purchaseDate, length: item?.length?.code, at: now,
            token: item.flatMap { $0.purchase.accountToken })
    }
}

/// The quantity that an operator set for a grant.
package struct AdjustedQuantity: Equatable, Sendable {
    package let quantity: Int64
    /// What the evidence said then.
    package let signedThen: Int64

    package init(quantity: Int64, signedThen: Int64) { (self.quantity, self.signedThen) = (quantity, signedThen) }

    /// What Apple refunds later is taken back from what the operator set: all of it, or a part. A grant that an
    /// operator revoked stays revoked.
    package func quantity(signed: Int64) -> Int64 {
        if quantity == 0 || signed == 0 { return 0 }
        return max(quantity - signedThen + signed, 0)
    }

    /// The quantity of a subscription, whose signed quantity was the number of its seats until version 0.3.0.
    var ofSubscription: AdjustedQuantity {
        AdjustedQuantity(quantity: min(quantity, 1), signedThen: min(signedThen, 1))
    }
}
