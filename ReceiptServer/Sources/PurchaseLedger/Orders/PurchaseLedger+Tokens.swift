@_spi(Ledger) public import AppStoreReceipt
import StrictText

/// The tokens (`appAccountToken`) with which accounts buy.
extension PurchaseLedger {
    /// Returns a token of an account, with which its app buys: the same each time, a random one if it has none.
    ///
    /// Ask for it before `purchase()`. Known purchases with the token that have no owner become the account's at once.
    ///
    /// - Parameters:
    ///   - account: The account that your backend has authenticated.
    ///   - stored: A token that the app made, to be stored besides; `nil` for one that the ledger makes.
    ///   - now: The date of the request.
    /// - Returns: The token, and whether the ledger did not have it.
    /// - Throws: `token-taken` if it is another account's, also that of a deleted one; `too-many-tokens` if the account
    ///   has ``maximumTokenCount``; `invalid-text` if it is no UUID.
    @available(*, noasync)
    public func token(
        for account: String, storing stored: AppAccountToken? = nil, at now: Instant = .now
    ) throws(LedgerError) -> (token: AppAccountToken, isNew: Bool) {
        try LedgerText.check(account, "account")
        if let stored, AppAccountToken(uuid: stored.description) == nil {
            throw LedgerError(.invalidText, "token: a UUID that is not nil")
        }
        let made = stored ?? .random(policy.surroundings)
        let (isNew, token, notices) = try store.decide {
            [policy] (connection) throws(LedgerError) -> (Bool, AppAccountToken, LedgerNotices) in
            try connection.lockAccount(account, .shared)
            if let known = try connection.token(of: account, stored) { return (false, known, LedgerNotices()) }
            if connection.isSnapshot { throw .write }
            if stored != nil, try connection.tokenCount(of: account) >= Self.maximumTokenCount {
                throw LedgerError(.tooManyTokens, "")
            }
            let notices = try connection.register(
                AccountTokens.Registration(token: made, account: account, isMade: stored == nil), policy, at: now)
            return (true, made, notices)
        }
        report(notices)
        return (token, isNew)
    }

    /// The number of tokens that an account can have. An app needs one; some shops make one for each order.
    public static let maximumTokenCount = 10_000
}

extension SQLConnection {
    func tokenCount(of account: String) throws(LedgerError) -> Int64 {
        try run("SELECT COUNT(*) FROM account_tokens WHERE account = $1", [.text(account)])[0].integer(0)
    }

    /// Returns the token that an account has: `stored`, or that which the ledger made.
    func token(of account: String, _ stored: AppAccountToken?) throws(LedgerError) -> AppAccountToken? {
        if let stored {
            let rows = try run(
                "SELECT account, retired_at FROM account_tokens WHERE token = $1", [.text(stored.description)])
            guard let row = rows.first else { return nil }
            guard try row.text(0).hasSameBytes(as: account), try row.optionalDate(1) == nil else {
                throw LedgerError(.tokenTaken, "")
            }
            return stored
        }
        return try run(
            "SELECT token FROM account_tokens WHERE account = $1 AND kind = 'made' AND retired_at IS NULL",
            [.text(account)]
        ).first.map { (row) throws(LedgerError) in AppAccountToken(signed: try row.text(0)) }
    }

    /// Makes a token an account's, and claims for it what waits for the token, in the order of purchase (R3). The
    /// account is locked already.
    ///
    /// - Parameter importRun: The number of the import whose line it is; `nil` for none.
    func register(
        _ registration: AccountTokens.Registration, _ policy: LedgerPolicy, import importRun: Int64? = nil,
        at now: Instant
    ) throws(LedgerError) -> LedgerNotices {
        let waiting = try run(
            "SELECT family_id FROM waiting_tokens WHERE token = $1", [.text(registration.token.description)])
        let numbers = try waiting.map { (row) throws(LedgerError) in try row.integer(0) }
        let brought = BroughtEvidence(try onePurchase(ofEach: numbers))
        let families = try Families(of: [brought], self, at: now, usingTokens: true, registering: registration)
        var transaction = try LedgerTransaction(
            recording: brought, families, families.numbers(of: brought), policy, self, .token, at: now)
        transaction.importRun = importRun
        try transaction.settle()
        return transaction.notices
    }

    /// Returns a stored purchase of each family, by which the family is found and locked.
    func onePurchase(ofEach families: [Int64]) throws(LedgerError) -> [SignedPurchase] {
        let rows = try run(
            families.map { family in
                SQLStatement(
                    """
                    SELECT evidence.signed_date, evidence.purchase FROM identifiers
                    JOIN evidence ON evidence.environment = identifiers.environment
                        AND evidence.bundle_id = identifiers.bundle_id
                        AND evidence.transaction_id = identifiers.transaction_id
                    WHERE identifiers.family_id = $1 LIMIT 1
                    """, [.integer(family)])
            })
        return try rows.joined().map { (row) throws(LedgerError) in
            var purchase: Purchase = try StoredJSON.decode(row.text(1))
            purchase.signedDate = try row.date(0)
            return SignedPurchase(purchase)
        }
    }

    /// Keeps the tokens of an account that is deleted (R13).
    func retireTokens(of account: String, as name: String, at now: Instant) throws(LedgerError) {
        try write(
            "UPDATE account_tokens SET account = $2, retired_at = $3 WHERE account = $1",
            [.text(account), .text(name), SQLValue(now)])
    }

    /// Gives the tokens of an account, which are locked, to another one, and its open orders: purchases that are under
    /// way follow (R12).
    func moveTokens(from account: String, to other: String) throws(LedgerError) {
        try write(
            "UPDATE account_tokens SET account = $2, kind = 'stored', retired_at = NULL WHERE account = $1",
            [.text(account), .text(other)])
        try write(
            "UPDATE orders SET account = $2, idempotency_key = NULL WHERE account = $1 AND transaction_id IS NULL",
            [.text(account), .text(other)])
    }
}

extension PurchaseLedger {
    /// Whether each of some transactions was bought with a token of an account. Without ``LedgerPolicy/orders``, none
    /// is known.
    package func areBought(
        _ transactions: [Verified<TransactionInfo>], for account: String
    ) throws(LedgerError) -> Bool {
        guard policy.orders != nil else { return false }
        var tokens: Set<AppAccountToken> = []
        for transaction in transactions {
            guard let token = transaction.appAccountToken else { return false }
            tokens.insert(token)
        }
        return try store.read { (connection) throws(LedgerError) in
            for token in tokens {
                guard LedgerText.isStorable(token.description) else { return false }
                let owned = try connection.run(
                    "SELECT 1 FROM account_tokens WHERE token = $1 AND account = $2 AND retired_at IS NULL",
                    [.text(token.description), .text(account)])
                if owned.isEmpty { return false }
            }
            return true
        }
    }

    /// The number of purchases that wait for a token that no account has.
    package func waitingPurchaseCount() throws(LedgerError) -> Int {
        try store.read { (connection) throws(LedgerError) in
            let rows = try connection.run(
                """
                SELECT COUNT(DISTINCT family_id) FROM waiting_tokens WHERE told_at IS NULL
                    AND NOT EXISTS (SELECT 1 FROM account_tokens WHERE account_tokens.token = waiting_tokens.token)
                """)
            return try Int(rows[0].integer(0))
        }
    }
}
