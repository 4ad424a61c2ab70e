/// A transaction with the token of another account than the one that owns the purchase (R5). The owner stays.
public struct TokenConflict: Sendable {
    /// The transaction's identifier.
    public let transactionID: String
}

/// The reports to the operator about a database transaction, when it is committed.
struct LedgerNotices: Sendable {
    /// What is known since to have the token of another account than its owner's.
    var tokenConflicts: [TokenConflict] = []
    /// The products of non-renewing subscriptions that were granted without an end.
    var unknownLengths: [String] = []

    static func += (notices: inout LedgerNotices, more: LedgerNotices) {
        notices.tokenConflicts += more.tokenConflicts
        notices.unknownLengths += more.unknownLengths
    }
}
