@_spi(Ledger) public import AppStoreReceipt
import StrictText

/// The contents of a line of an imported file.
@nonexhaustive
public enum ImportedLine: Sendable {
    /// A token that the account uses for purchases.
    case token(account: String, AppAccountToken)
    /// A transaction that was granted to the account before the ledger existed.
    case spent(SpentTransaction)
    /// Evidence that was stored for the account.
    case evidence(account: String, VerifiedEvidence)

    /// The outcome of a line.
    @nonexhaustive
    public enum Outcome: Sendable {
        /// The ledger didn't have it.
        case added
        /// The ledger already had it.
        case known
        /// It contradicts the ledger's data, which stays unchanged. The text describes the difference.
        case conflict(String)
        /// It names something that this ledger never created.
        case fault(String)
    }

    /// The outcome of a line, with notes.
    public struct Result: Sendable {
        /// The outcome of the line.
        public let outcome: Outcome
        /// Differences from the ledger that affect no decision.
        public var notes: [String] = []

        package init(_ outcome: Outcome, notes: [String] = []) { (self.outcome, self.notes) = (outcome, notes) }
    }

    /// The line's share of a batch: a receipt can contain hundreds of purchases, each of which takes as much work as a
    /// line with one.
    package var weight: Int {
        switch self {
        case .evidence(_, let evidence): max(1, evidence.signedPurchases.count)
        case .token, .spent: 1
        }
    }

    package var account: String {
        switch self {
        case .token(let account, _), .evidence(let account, _): account
        case .spent(let transaction): transaction.account
        }
    }
}

/// A transaction that was granted before the ledger existed, without its evidence.
public struct SpentTransaction: Sendable {
    /// The account that it was granted to.
    public let account: String
    /// The product's identifier.
    public let productID: String
    /// The quantity that the account has, if the line has one. The default is 1.
    public let quantity: Int?
    /// The date it was granted.
    public let date: Instant
    /// The first transaction of the purchase, if the line has it.
    let originalTransactionID: String?
    package let keys: PurchaseKeys

    /// Creates a transaction. Returns `nil` if a text can't be stored; if an id is neither one that Apple assigns in
    /// the environment nor one of this ledger's (`support-…`); or if the quantity isn't positive.
    public init?(
        account: String, environment: AppStoreEnvironment, bundleID: String, transactionID: String,
        originalTransactionID: String?, productID: String, quantity: Int?, date: Instant
    ) {
        guard LedgerText.isStorable(account), LedgerText.isStorable(bundleID), LedgerText.isStorable(productID),
            quantity ?? 1 > 0
        else { return nil }
        let key = TransactionKey(environment: environment, bundleID: bundleID, transactionID: transactionID)
        if SupportID.isReserved(transactionID) {
            guard LedgerText.isStorable(transactionID) else { return nil }
            keys = PurchaseKeys(granted: key)
        } else {
            var purchase = Purchase(
                productID: productID, transactionID: transactionID, originalTransactionID: originalTransactionID,
                purchaseDate: date, signedDate: date)
            (purchase.environment, purchase.bundleID) = (environment, bundleID)
            guard
                [transactionID, originalTransactionID ?? transactionID].allSatisfy({
                    TransactionIDForm.isApples($0, in: environment)
                }), let keys = PurchaseKeys(purchase)
            else { return nil }
            self.keys = keys
        }
        (self.account, self.productID, self.quantity, self.date) = (account, productID, quantity, date)
        self.originalTransactionID = originalTransactionID
    }

    /// Returns whether an id has the form of a ledger's own ids. A line can contain one that the ledger knows.
    package static func isOfSupport(_ transactionID: String) -> Bool { SupportID.isReserved(transactionID) }
}
