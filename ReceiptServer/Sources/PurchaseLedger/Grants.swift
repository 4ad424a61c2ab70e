import AppStoreReceipt
import StrictText

/// What was granted for a transaction. It is never granted again.
struct Grant {
    let transaction: TransactionKey
    var account: String
    let productID: String
    /// What the account has of it now.
    var quantity: Int64
    /// The date access ends, by the last event.
    var until: Instant?
    /// The seats of the period, by the last event.
    var seats: Int64?
    var grantedAt = Instant.distantFuture
    /// Whether an operator took it back, which no signature changes.
    let isVoided: Bool
    /// What an operator set; `nil` if the evidence alone decides.
    var adjusted: AdjustedQuantity?
    /// The number of the import that makes it, and the first transaction of the purchase as a line of that named it;
    /// not read again.
    var importRun: Int64?
    var importedOriginal: String?

    /// Whether no signature gives it back.
    var isTakenBack: Bool { isVoided || adjusted?.quantity == 0 }

    /// The transactions under which a purchase with these items can have been granted. Of a non-consumable that was
    /// restored, an operator may have recorded the first transaction without evidence.
    static func keys(of items: [(key: TransactionKey, item: Entitlements.Item)]) -> Set<TransactionKey> {
        var keys = Set(items.map(\.key))
        for (key, item) in items where item.purchase.productType == .nonConsumable {
            keys.insert(
                TransactionKey(
                    environment: key.environment, bundleID: key.bundleID,
                    transactionID: UTF8Bytes(item.originalTransactionID)))
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
}

/// The quantity that an operator set for a grant.
struct AdjustedQuantity: Equatable {
    let quantity: Int64
    /// What the evidence said then.
    let signedThen: Int64

    /// What Apple refunds later is taken back from what the operator set: all of it, or a part. A grant that an
    /// operator revoked stays revoked.
    func quantity(signed: Int64) -> Int64 {
        if quantity == 0 || signed == 0 { return 0 }
        return max(quantity - signedThen + signed, 0)
    }

    /// The quantity of a subscription, whose signed quantity was the number of its seats until version 0.3.0.
    var ofSubscription: AdjustedQuantity {
        AdjustedQuantity(quantity: min(quantity, 1), signedThen: min(signedThen, 1))
    }
}

/// The grants of some families.
struct Grants {
    private var byTransaction: [TransactionKey: Grant] = [:]
    subscript(key: TransactionKey) -> Grant? { byTransaction[key] }

    mutating func add(_ family: FamilyContents) {
        for grant in family.grants { byTransaction[grant.transaction] = grant }
    }

    mutating func insert(_ grant: Grant, _ connection: any SQLConnection, at now: Instant) throws(LedgerError) {
        var grant = grant
        grant.grantedAt = now
        byTransaction[grant.transaction] = grant
        try connection.write(
            """
            INSERT INTO grants (environment, bundle_id, transaction_id, product_id, account, quantity,
                granted_quantity, granted_at, changed_at, until, seats, import_id, original_transaction_id)
            VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $7, $8, $9, $10, $11)
            """,
            grant.transaction.columns + [
                .text(grant.productID), .text(grant.account), .integer(grant.quantity), SQLValue(now),
                grant.until.map(SQLValue.init) ?? .null, grant.seats.map(SQLValue.integer) ?? .null,
                grant.importRun.map(SQLValue.integer) ?? .null, SQLValue(grant.importedOriginal),
            ])
    }

    /// Records the quantity, the end and the seats of a grant, and what an operator set.
    mutating func update(_ grant: Grant, _ connection: any SQLConnection, at now: Instant) throws(LedgerError) {
        byTransaction[grant.transaction] = grant
        try connection.write(
            """
            UPDATE grants SET quantity = $4, until = $5, changed_at = $6, adjusted_quantity = $7, adjusted_from = $8,
                seats = $9
            WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3
            """,
            grant.transaction.columns + [
                .integer(grant.quantity), grant.until.map(SQLValue.init) ?? .null, SQLValue(now),
                grant.adjusted.map { .integer($0.quantity) } ?? .null,
                grant.adjusted.map { .integer($0.signedThen) } ?? .null,
                grant.seats.map(SQLValue.integer) ?? .null,
            ])
    }
}
