/// A transaction with the token of another account than the one that owns the purchase (R5). The owner stays.
public struct TokenConflict: Sendable {
    /// The transaction's identifier.
    public let transactionID: String
}
