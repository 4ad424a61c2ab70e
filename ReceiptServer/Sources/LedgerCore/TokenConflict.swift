/// A transaction with the token of an account other than the purchase's owner (R5). The owner doesn't change.
public struct TokenConflict: Sendable {
    /// The transaction's identifier.
    public let transactionID: String

    package init(transactionID: String) { self.transactionID = transactionID }
}

/// The reports to the operator about a database transaction, made when it is committed.
package struct LedgerNotices: Sendable {
    /// The transactions newly found to have the token of an account other than the owner.
    package var tokenConflicts: [TokenConflict] = []
    /// The products of non-renewing subscriptions that were granted without an end.
    package var unknownLengths: [String] = []

    package init() {}

    package static func += (notices: inout LedgerNotices, more: LedgerNotices) {
        notices.tokenConflicts += more.tokenConflicts
        notices.unknownLengths += more.unknownLengths
    }
}
