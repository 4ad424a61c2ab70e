package import AppStoreReceipt
import StrictText

/// The identity of a transaction.
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

    /// Returns whether a text may be an order id from Apple's e-mail, such as `MX1A2B3C4D`. One in twenty has no digit.
    /// Only Apple knows the transactions of the order.
    package static func isAppleOrder(_ id: String) -> Bool {
        let bytes = id.utf8
        return 8...20 ~= bytes.count && bytes.first == UInt8(ascii: "M")
            && bytes.allSatisfy { 0x30...0x39 ~= $0 || 0x41...0x5A ~= $0 }
    }

    /// Whether this is an Apple order, which Apple was asked about.
    package var isAppleOrder: Bool { Self.isAppleOrder(transactionID) }

    // Strings from outside are compared byte for byte.
    package static func == (lhs: TransactionName, rhs: TransactionName) -> Bool { lhs.key == rhs.key }
}

extension MemberID {
    /// An SQL condition that a table's identifier isn't one of these.
    static let isNone = "transaction_id NOT LIKE '\(prefix)%' AND transaction_id NOT LIKE '\(boughtPrefix)%'"

    /// Returns an SQL expression for the original transaction that a table's identifier represents.
    static func original(_ table: StaticString) -> String {
        let id = "\(table).transaction_id"
        return
            "CASE WHEN \(id) LIKE '\(boughtPrefix)%' THEN substr(\(id), \(boughtPrefix.utf8.count + 1)) ELSE \(id) END"
    }
}

extension TransactionKey {
    /// The values of the columns `environment`, `bundle_id` and `transaction_id`.
    var columns: [SQLValue] {
        [.text(environment.rawValue), .text(bundleID.string), .text(transactionID.string)]
    }

    /// An SQL expression for the number in `identifiers` of the transaction whose ``columns`` are `$1` to `$3`. The
    /// number is NULL if there is none.
    static let id = id(at: 1)

    /// - Parameter parameter: The first of the three parameters.
    static func id(at parameter: Int) -> String {
        "(SELECT id FROM identifiers WHERE environment = $\(parameter)"
            + " AND bundle_id = $\(parameter + 1) AND transaction_id = $\(parameter + 2))"
    }
}

extension SQLRow {
    /// The name of the columns `environment`, `bundle_id` and `transaction_id`.
    var transactionName: TransactionName {
        get throws(LedgerError) { TransactionName(try transactionKey) }
    }
}
