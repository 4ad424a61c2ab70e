@_spi(Ledger) public import AppStoreReceipt

/// What a line of an imported file says of an account.
@nonexhaustive
public enum ImportedLine: Sendable {
    /// The account buys with the token.
    case token(account: String, AppAccountToken)
    /// The account was granted the transaction before there was a ledger.
    case spent(SpentTransaction)
    /// Evidence that was stored for the account.
    case evidence(account: String, VerifiedEvidence)

    /// What became of a line.
    @nonexhaustive
    public enum Outcome: Sendable {
        /// The ledger did not have it.
        case added
        /// The ledger had it.
        case known
        /// It contradicts what the ledger has, which stays. The text says what differs.
        case conflict(String)
        /// It names what this ledger never made.
        case fault(String)
    }

    /// What became of a line, and what else is to be said of it.
    public struct Result: Sendable {
        /// What became of the line.
        public let outcome: Outcome
        /// What differs from the ledger and decides nothing.
        public var notes: [String] = []
    }

    /// How much of a batch it takes: a receipt can have hundreds of purchases, each of which is as much work as a line
    /// of one.
    package var weight: Int {
        switch self {
        case .evidence(_, let evidence): max(1, evidence.signedPurchases.count)
        case .token, .spent: 1
        }
    }

    var account: String {
        switch self {
        case .token(let account, _), .evidence(let account, _): account
        case .spent(let transaction): transaction.account
        }
    }
}

/// A transaction that was granted before there was a ledger, without its evidence.
public struct SpentTransaction: Sendable {
    /// The account that was granted it.
    public let account: String
    /// The product's identifier.
    public let productID: String
    /// What the account has of it, if the line says so. Without it, it is 1.
    public let quantity: Int?
    /// The date it was granted.
    public let date: Instant
    /// The first transaction of the purchase, if the line says so.
    let originalTransactionID: String?
    let keys: PurchaseKeys

    /// Creates a transaction. Returns `nil` if the tables cannot hold one of the texts, if an id is none that Apple has
    /// given in the environment or this ledger makes (`support-…`), or if the quantity is not positive.
    public init?(
        account: String, environment: AppStoreEnvironment, bundleID: String, transactionID: String,
        originalTransactionID: String?, productID: String, quantity: Int?, date: Instant
    ) {
        guard LedgerText.isStorable(account), LedgerText.isStorable(bundleID), LedgerText.isStorable(productID),
            quantity ?? 1 > 0
        else { return nil }
        let key = TransactionKey(environment: environment, bundleID: bundleID, transactionID: transactionID)
        if SupportID.isOne(transactionID) {
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

    /// Whether an id is one that this ledger makes. Lines may name it where the ledger has it.
    package static func isOfSupport(_ transactionID: String) -> Bool { SupportID.isOne(transactionID) }
}

/// How far a file was imported.
public struct ImportProgress: Sendable, Equatable {
    /// The bytes that were read.
    public var byteCount: Int64 = 0
    /// The lines that were read.
    public var lineCount: Int64 = 0
    /// The lines by which something was granted, or recorded as spent.
    public var addedCount: Int64 = 0
    /// The lines that granted nothing new.
    public var knownCount: Int64 = 0
    /// The lines that contradict the ledger. Of evidence, the part that is another account's is not applied; of
    /// everything else, nothing is.
    public var conflictCount: Int64 = 0
    /// The lines that cannot be read, or have evidence that is not accepted.
    public var faultCount: Int64 = 0
    /// The lines that differ from the ledger in what decides nothing.
    public var noteCount: Int64 = 0
    /// The fields around which there was white space.
    public var trimmedCount: Int64 = 0

    /// Creates the progress of an unread file.
    public init() {}

    package mutating func count(_ results: [ImportedLine.Result]) {
        for result in results {
            switch result.outcome {
            case .added: addedCount += 1
            case .known: knownCount += 1
            case .conflict: conflictCount += 1
            case .fault: faultCount += 1
            }
            if !result.notes.isEmpty { noteCount += 1 }
        }
    }
}
