package import AppStoreReceipt
package import StrictText

/// What identifies a transaction: the sandbox never meets production, and apps never meet each other.
package struct TransactionKey: Hashable, Comparable, Sendable {
    package let environment: AppStoreEnvironment
    package let bundleID: UTF8Bytes
    package let transactionID: UTF8Bytes

    package init(environment: AppStoreEnvironment, bundleID: UTF8Bytes, transactionID: UTF8Bytes) {
        self.environment = environment
        self.bundleID = bundleID
        self.transactionID = transactionID
    }

    package init(environment: AppStoreEnvironment, bundleID: String, transactionID: String) {
        self.init(
            environment: environment, bundleID: UTF8Bytes(bundleID), transactionID: UTF8Bytes(transactionID))
    }

    /// The key of another transaction of the same app.
    package func sibling(_ transactionID: String) -> TransactionKey {
        TransactionKey(environment: environment, bundleID: bundleID, transactionID: UTF8Bytes(transactionID))
    }

    /// The order in which locks are taken.
    package static func < (left: TransactionKey, right: TransactionKey) -> Bool {
        if left.environment != right.environment {
            return left.environment.rawValue.utf8.lexicographicallyPrecedes(right.environment.rawValue.utf8)
        }
        return (left.bundleID, left.transactionID) < (right.bundleID, right.transactionID)
    }

    package static func == (left: TransactionKey, right: TransactionKey) -> Bool {
        left.transactionID == right.transactionID && left.bundleID == right.bundleID
            && left.environment == right.environment
    }

    /// Few keys have a transaction id in common.
    package func hash(into hasher: inout Hasher) { hasher.combine(transactionID) }
}

/// The keys of a purchase.
package struct PurchaseKeys: Sendable {
    package let transaction: TransactionKey
    /// The original transaction, and the one before Apple moved it; of a member, what all the member's have in common.
    /// All are in one lineage.
    package private(set) var relatives: [TransactionKey]
    /// Whether a seat is assigned to a member by it. A receipt does not say it.
    let isOfMember: Bool

    /// Returns `nil` for a purchase that names no app or environment, or has an id that the tables cannot hold, or that
    /// is reserved. Apple signs none.
    package init?(_ purchase: Purchase) {
        guard let environment = purchase.environment, let bundleID = purchase.bundleID,
            LedgerText.isStorable(bundleID), LedgerText.isStorable(purchase.productID)
        else { return nil }
        func key(_ id: String) -> TransactionKey? {
            guard LedgerText.isStorable(id), !SupportID.isReserved(id), !MemberID.isReserved(id) else { return nil }
            return TransactionKey(environment: environment, bundleID: bundleID, transactionID: id)
        }
        guard let transaction = key(purchase.transactionID), let original = key(purchase.originalTransactionID) else {
            return nil
        }
        self.transaction = transaction
        isOfMember = purchase.ownershipType == .assigned
        guard isOfMember else {
            relatives = [original, purchase.previousOriginalTransactionID.flatMap(key)].compactMap(\.self)
            return
        }
        let name = purchase.appTransactionID.map { MemberID.name(purchase.originalTransactionID, of: $0) }
        guard name.map(LedgerText.isStorable) ?? true else { return nil }
        relatives =
            name.map { [TransactionKey(environment: environment, bundleID: bundleID, transactionID: $0)] } ?? []
    }

    /// The keys of a grant without other known facts.
    package init(granted transaction: TransactionKey) {
        self.transaction = transaction
        relatives = []
        isOfMember = false
    }

    package var all: [TransactionKey] { [transaction] + relatives }

    /// Gives relatives other names.
    mutating func rename(_ names: [TransactionKey: TransactionKey]) {
        relatives = relatives.map { names[$0] ?? $0 }
    }
}

/// The texts that the tables hold as keys.
package enum LedgerText {
    /// PostgreSQL stores no NUL, and both databases keep keys short.
    static let maximumByteCount = 255

    package static func isStorable(_ text: String) -> Bool {
        1...maximumByteCount ~= text.utf8.count && !text.utf8.contains(0)
    }

    package static func check(_ text: String, _ name: StaticString) throws(LedgerError) {
        guard isStorable(text) else {
            throw LedgerError(.invalidText, "\(name): 1 to \(maximumByteCount) bytes without NUL")
        }
    }
}
