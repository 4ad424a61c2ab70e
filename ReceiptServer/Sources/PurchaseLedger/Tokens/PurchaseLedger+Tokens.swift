@_spi(Ledger) public import AppStoreReceipt
import StrictText

/// The tokens (`appAccountToken`) that accounts use for purchases.
extension PurchaseLedger {
    /// Returns the token that the account's app uses for purchases: always the same one, and initially random.
    ///
    /// Call it before `purchase()`. Known purchases with the token and without an owner become the account's.
    ///
    /// - Parameters:
    ///   - account: The account that your backend has authenticated.
    ///   - stored: An additional token to store, which the app created, or `nil` to get the ledger's own.
    ///   - now: The date of the request.
    /// - Returns: The token, and whether it is new to the ledger.
    /// - Throws: `token-taken` if it belongs to another account, even a deleted one; `too-many-tokens` if the account
    ///   has ``maximumTokenCount``; `invalid-text` if it isn't a UUID.
    @available(*, noasync)
    public func token(
        for account: String, storing stored: AppAccountToken? = nil, at now: Instant = .now
    ) throws(LedgerError) -> (token: AppAccountToken, isNew: Bool) {
        try LedgerText.check(account, "account")
        if let stored, AppAccountToken(uuid: stored.description) == nil {
            throw LedgerError(.invalidText, "token: a UUID that is not nil")
        }
        let made = stored ?? .random(policy.surroundings)
        // Most accounts have one already.
        if let known = try store.read({ (connection) throws(LedgerError) in try connection.token(of: account, stored) })
        {
            return (known, false)
        }
        let (isNew, token, notices) = try store.write {
            [policy] (connection) throws(LedgerError) -> (Bool, AppAccountToken, LedgerNotices) in
            try connection.lockAccount(account, .shared)
            if let known = try connection.token(of: account, stored) { return (false, known, LedgerNotices()) }
            if stored != nil, try connection.tokenCount(of: account) >= Self.maximumTokenCount {
                throw LedgerError(.tooManyTokens, "")
            }
            let notices = try connection.register(
                TokenRegistration(token: made, account: account, isMade: stored == nil), policy, at: now)
            return (true, made, notices)
        }
        report(notices)
        return (token, isNew)
    }

    /// The maximum number of tokens of an account. An app needs one; some shops create one for each order.
    public static let maximumTokenCount = 10_000
}

extension SQLConnection {
    func tokenCount(of account: String) throws(LedgerError) -> Int64 {
        try run("SELECT COUNT(*) FROM account_tokens WHERE account = $1", [.text(account)])[0].integer(0)
    }

    /// Returns the account's token, which is `stored` or the one that the ledger created.
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

    /// Registers a token for an account, and claims the purchases that wait for the token, in order of purchase (R3).
    /// The account must already be locked.
    ///
    /// - Parameter importRun: The id of the import that contains the line, or `nil` if there is none.
    func register(
        _ registration: TokenRegistration, _ policy: LedgerPolicy, import importRun: Int64? = nil, at now: Instant
    ) throws(LedgerError) -> LedgerNotices {
        let waiting = try run(
            "SELECT family_id FROM waiting_tokens WHERE token = $1", [.text(registration.token.description)]
        ).map { (row) throws(LedgerError) in try row.integer("family_id") }
        var loader = LineageLoader(connection: self, submissions: [Submission()], policy: policy, now: now)
        (loader.numbers, loader.registration) = (waiting, registration)
        return try loader.settle(.token, import: importRun) { (decision, _) throws(LedgerError) in
            decision.settle()
        }.effects.notices
    }

    /// Keeps the tokens of a deleted account (R13).
    func retireTokens(of account: String, as name: String, at now: Instant) throws(LedgerError) {
        try write(
            "UPDATE account_tokens SET account = $2, retired_at = $3 WHERE account = $1",
            [.text(account), .text(name), SQLValue(now)])
    }

    /// Moves an account's tokens, which must be locked, to another account, so that pending purchases follow (R12).
    func moveTokens(from account: String, to other: String) throws(LedgerError) {
        try write(
            "UPDATE account_tokens SET account = $2, kind = 'stored', retired_at = NULL WHERE account = $1",
            [.text(account), .text(other)])
    }
}

extension PurchaseLedger {
    /// Returns whether all the transactions were bought with a token of an account. Without ``LedgerPolicy/orders``, no
    /// tokens are known, and the result is `false`.
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

    /// Returns the number of purchases that wait for a token without an account.
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
