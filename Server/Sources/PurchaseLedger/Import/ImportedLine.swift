public import AppStoreReceipt
public import SpanASN1

/// What a line of an imported file says of an account.
public enum ImportedLine: Sendable {
    /// The account buys with the token.
    case token(account: String, AppAccountToken)
    /// The account was granted the transaction before there was a ledger.
    case spent(SpentTransaction)
    /// Evidence that was stored for the account.
    case evidence(account: String, VerifiedEvidence)

    /// What became of a line.
    public enum Outcome: Sendable {
        /// The ledger did not have it.
        case added
        /// The ledger had it.
        case known
        /// It contradicts what the ledger has, which stays.
        case conflict(String)
    }
}

/// A transaction that was granted before there was a ledger, without its evidence.
public struct SpentTransaction: Sendable {
    /// The account that was granted it.
    public let account: String
    /// The product's identifier.
    public let productID: String
    /// What the account has of it.
    public let quantity: Int64
    /// The date it was granted.
    public let date: Instant
    let keys: PurchaseKeys

    /// Creates a transaction. Returns `nil` if the tables cannot hold one of the texts, or if the quantity is not positive.
    public init?(
        account: String, environment: AppStoreEnvironment, bundleID: String, transactionID: String,
        originalTransactionID: String?, productID: String, quantity: Int64, date: Instant
    ) {
        var purchase = Purchase(
            productID: productID, transactionID: transactionID, originalTransactionID: originalTransactionID,
            purchaseDate: date, signedDate: date)
        (purchase.environment, purchase.bundleID) = (environment, bundleID)
        guard LedgerText.isStorable(account), quantity > 0, let keys = PurchaseKeys(purchase) else { return nil }
        (self.account, self.productID, self.quantity, self.date, self.keys) = (account, productID, quantity, date, keys)
    }
}

/// How far a file was imported.
public struct ImportProgress: Sendable {
    /// The bytes that were read.
    public var byteCount: Int64 = 0
    /// The lines that were read.
    public var lineCount: Int64 = 0
    /// The lines by which something was granted, or recorded as spent.
    public var addedCount: Int64 = 0
    /// The lines that granted nothing new.
    public var knownCount: Int64 = 0
    /// The lines of which a part contradicts the ledger. That part is not applied.
    public var conflictCount: Int64 = 0
    /// The lines that cannot be read, or have evidence that is not accepted.
    public var faultCount: Int64 = 0

    /// Creates the progress of a file of which nothing was read.
    public init() {}
}
