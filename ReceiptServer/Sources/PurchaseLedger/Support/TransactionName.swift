package import AppStoreReceipt
import StrictText

/// What names a transaction.
package struct TransactionName: Sendable, Equatable {
    package let environment: AppStoreEnvironment
    package let bundleID: String
    package let transactionID: String

    package init(environment: AppStoreEnvironment, bundleID: String, transactionID: String) {
        (self.environment, self.bundleID, self.transactionID) = (environment, bundleID, transactionID)
    }

    init(_ key: TransactionKey) {
        self.init(
            environment: key.environment, bundleID: key.bundleID.string, transactionID: key.transactionID.string)
    }

    var key: TransactionKey {
        TransactionKey(environment: environment, bundleID: bundleID, transactionID: transactionID)
    }

    /// Whether a text can be the order id of Apple's e-mail, such as `MX1A2B3C4D`: one of twenty has no digit. Only
    /// Apple knows its transactions.
    package static func isAppleOrder(_ id: String) -> Bool {
        let bytes = id.utf8
        return 8...20 ~= bytes.count && bytes.first == UInt8(ascii: "M")
            && bytes.allSatisfy { 0x30...0x39 ~= $0 || 0x41...0x5A ~= $0 }
    }

    /// Whether it names an order of Apple's, about which Apple was asked.
    package var isAppleOrder: Bool { Self.isAppleOrder(transactionID) }

    // Strings from outside are compared by their bytes.
    package static func == (lhs: TransactionName, rhs: TransactionName) -> Bool { lhs.key == rhs.key }
}

/// The ids of what support grants, which no evidence has: a purchase with such an id is none of Apple's, and
/// ``PurchaseKeys`` refuses it.
enum SupportID {
    static let prefix = "support-"

    static func isOne(_ transactionID: String) -> Bool { transactionID.utf8.starts(with: prefix.utf8) }
}

/// Names of purchases that no evidence can have.
enum MemberID {
    private static let prefix = "assigned-"
    private static let boughtPrefix = "bought-"

    /// What the transactions of a member to whom a seat is assigned have in common.
    static func name(_ originalTransactionID: String, of appTransactionID: String) -> String {
        "\(prefix)\(appTransactionID)-\(originalTransactionID)"
    }

    /// The original transaction of what is not the member's, where the transaction itself is.
    static func bought(_ originalTransactionID: String) -> String { boughtPrefix + originalTransactionID }

    /// Whether an identifier of a table is no such name, in SQL.
    static let isNone = "transaction_id NOT LIKE '\(prefix)%' AND transaction_id NOT LIKE '\(boughtPrefix)%'"

    /// The original transaction that an identifier of a table stands for, in SQL.
    static func original(_ table: StaticString) -> String {
        let id = "\(table).transaction_id"
        return
            "CASE WHEN \(id) LIKE '\(boughtPrefix)%' THEN substr(\(id), \(boughtPrefix.utf8.count + 1)) ELSE \(id) END"
    }

    /// Whether an identifier is a ``name(_:of:)``.
    static func isMembers(_ id: String) -> Bool { id.utf8.starts(with: prefix.utf8) }

    static func isOne(_ transactionID: String) -> Bool {
        [prefix, boughtPrefix].contains { transactionID.utf8.starts(with: $0.utf8) }
    }
}
