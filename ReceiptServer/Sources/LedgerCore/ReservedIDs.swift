import StrictText

/// The ids of support's grants. No evidence contains one: a purchase with such an id isn't from Apple, and
/// ``PurchaseKeys`` refuses it.
package enum SupportID {
    package static let prefix = "support-"

    package static func isReserved(_ transactionID: String) -> Bool { transactionID.utf8.starts(with: prefix.utf8) }
}

/// Identifiers that no evidence can contain, for the purchases of members.
package enum MemberID {
    package static let prefix = "assigned-"
    package static let boughtPrefix = "bought-"

    /// Returns the identifier that the transactions of a member with an assigned seat share.
    static func name(_ originalTransactionID: String, of appTransactionID: String) -> String {
        "\(prefix)\(appTransactionID)-\(originalTransactionID)"
    }

    /// Returns the identifier for a buyer's original transaction if that transaction is itself a member's.
    package static func bought(_ originalTransactionID: String) -> String { boughtPrefix + originalTransactionID }

    /// Returns whether an identifier is from ``name(_:of:)``.
    static func isName(_ id: String) -> Bool { id.utf8.starts(with: prefix.utf8) }

    static func isReserved(_ transactionID: String) -> Bool {
        [prefix, boughtPrefix].contains { transactionID.utf8.starts(with: $0.utf8) }
    }
}
