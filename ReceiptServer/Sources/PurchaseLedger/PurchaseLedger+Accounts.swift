@_spi(Ledger) public import AppStoreReceipt
import StrictText

/// Whether others may lock the name of an account, too.
enum AccountLock { case shared, exclusive }

extension SQLConnection {
    /// Locks the name of an account, before anything else, so that claims for the account and its deletion wait for
    /// each other. Write an account name without this lock only into a locked lineage that already has it.
    func lockAccount(_ account: String, _ lock: AccountLock) throws(LedgerError) {
        guard lock == .exclusive else { return try lockAccounts([account]) }
        for statement in dialect.accountLock { try write(statement, [.text(account)]) }
    }

    /// Locks the names of accounts in one order, shared with others.
    func lockAccounts(_ accounts: some Sequence<String>) throws(LedgerError) {
        if dialect.sharedAccountLocks.isEmpty { return }
        let names = Set(accounts.map(UTF8Bytes.init)).sorted()
        for statement in dialect.sharedAccountLocks {
            try write(statement, [.array(names.map { .text($0.string) })])
        }
    }

    /// Returns whether the ledger knows an account.
    func knows(_ account: String) throws(LedgerError) -> Bool {
        for table in ["families", "grants", "accounts", "attempts", "account_tokens", "orders"] {
            if try !run("SELECT 1 FROM \(table) WHERE account = $1 LIMIT 1", [.text(account)]).isEmpty { return true }
        }
        return false
    }
}

/// An operator's actions on accounts.
extension PurchaseLedger {
    /// The lineages that the account `$1` owns or has grants in. After lineages were joined, its grants can be in
    /// another account's lineage.
    static let lineagesOfAccount = lineagesOfAccount("")
    /// The same without those that give no access, such as consumables.
    static let lastingLineagesOfAccount = lineagesOfAccount(" AND gives_no_access IS NULL")

    private static func lineagesOfAccount(_ condition: String) -> String {
        """
        SELECT id FROM families WHERE account = $1\(condition)
        UNION SELECT identifiers.family_id FROM grants
        JOIN identifiers ON identifiers.id = grants.identifier_id
        WHERE grants.account = $1\(condition)
        """
    }

    /// Transfers purchases that an account owns, or was granted, to another account: one with its renewals, or all.
    ///
    /// The first account's grants are revoked and granted to the second, and both get events.
    ///
    /// - Parameters:
    ///   - account: The account that owns the purchases.
    ///   - other: The new owner.
    ///   - transactionID: The id of any transaction of the purchase, or `nil` for all purchases of the account.
    ///   - environment: The environment of the purchases, or `nil` for both. Pass it with a transaction id: the ids of
    ///     the two environments can be equal.
    ///   - bundleID: The app of the purchases, or `nil` for all.
    ///   - movesTokens: Whether to move the account's tokens and open orders, too, so that pending purchases follow.
    ///     Allowed only for all purchases.
    ///   - reason: The operator and the reason, which are recorded.
    ///   - now: The date of the decision.
    /// - Returns: The number of purchases, with their renewals counted once.
    /// - Throws: `not-found` if the account has no such purchase.
    @discardableResult
    @available(*, noasync)
    public func transfer(
        from account: String, to other: String, transactionID: String? = nil,
        in environment: AppStoreEnvironment? = nil, of bundleID: String? = nil, movesTokens: Bool = false,
        reason: String, at now: Instant = .now
    ) throws(LedgerError) -> Int {
        for (text, name) in [(account, "account"), (other, "to"), (reason, "reason")] as [(String, StaticString)] {
            try LedgerText.check(text, name)
        }
        if let transactionID { try LedgerText.check(transactionID, "transaction_id") }
        guard !account.hasSameBytes(as: other) else {
            throw LedgerError(.invalidText, "to: the account itself")
        }
        if let bundleID { try LedgerText.check(bundleID, "bundle_id") }
        guard !movesTokens || transactionID == nil && environment == nil && bundleID == nil else {
            throw LedgerError(.invalidText, "tokens: only with all purchases of the account")
        }
        var values = [SQLValue.text(account)]
        var named = ""
        for (column, value) in [
            ("transaction_id", transactionID), ("environment", environment?.rawValue), ("bundle_id", bundleID),
        ] {
            guard let value else { continue }
            values.append(.text(value))
            named += " AND \(column) = $\(values.count)"
        }
        var statement = "SELECT id FROM families WHERE id IN (\(Self.lineagesOfAccount))"
        if !named.isEmpty {
            statement += " AND EXISTS (SELECT 1 FROM identifiers WHERE family_id = families.id\(named))"
        }
        statement += " ORDER BY id"
        return try store.write { [policy] (connection) throws(LedgerError) in
            try connection.lockAccount(other, .shared)
            func lineages(_ lock: String) throws(LedgerError) -> [Int64] {
                try connection.run(statement + lock, values).map { (row) throws(LedgerError) in try row.integer(0) }
            }
            let ids = try lineages(connection.dialect.rowLock)
            let tokens = movesTokens ? try connection.lockTokens(of: account) : []
            // Meanwhile, a lineage was joined with another, changed its owner, or became the account's by a token.
            guard try lineages("") == ids else { throw .conflict }
            guard !ids.isEmpty || !tokens.isEmpty else {
                if let transactionID, !SupportID.isReserved(transactionID),
                    !TransactionIDForm.isApples(transactionID, in: environment)
                {
                    throw LedgerError(.invalidText, "transaction_id: \(TransactionIDForm.words)")
                }
                throw LedgerError(.notFound, "purchase of the account")
            }
            var loader = LineageLoader(connection: connection, submissions: [Submission()], policy: policy, now: now)
            // The moving tokens are locked already, and no others may be locked after them.
            (loader.numbers, loader.isWhole, loader.readsTokens) = (ids, true, false)
            _ = try loader.settle(.transfer) { (decision, _) throws(LedgerError) in
                decision.transfer(from: account, to: other, reason: reason, moving: tokens)
            }
            if movesTokens {
                try connection.moveTokens(from: account, to: other)
                try connection.moveOpenOrders(from: account, to: other)
            }
            return ids.count
        }
    }

    /// Deletes an account. Its purchases stay spent: no other account can redeem them.
    ///
    /// A random name replaces the account's everywhere. Its events, answers, orders and attempts are removed, with the
    /// submitted bytes that nobody else sent. Its tokens stay, with the random name, so that nobody can claim purchases
    /// made with them.
    ///
    /// - Parameters:
    ///   - account: The account.
    ///   - now: The date of the deletion.
    /// - Returns: The random name. `transfer(from:to:transactionID:in:of:movesTokens:reason:at:)` can transfer its
    ///   purchases to another account.
    /// - Throws: `not-found` if the ledger doesn't know the account.
    @available(*, noasync)
    public func deleteAccount(_ account: String, at now: Instant = .now) throws(LedgerError) -> String {
        try LedgerText.check(account, "account")
        let name = "forgotten-\(policy.surroundings.makeID())"
        let isKnown = try store.write { [policy] (connection) throws(LedgerError) in
            try connection.lockAccount(account, .exclusive)
            // Waits for transactions that are about to write the name. Later ones no longer find it.
            let lineages = "SELECT id FROM families WHERE id IN (\(Self.lineagesOfAccount)) ORDER BY id"
            func ids(_ statement: String) throws(LedgerError) -> [Int64] {
                try connection.run(statement, [.text(account)]).map { (row) throws(LedgerError) in try row.integer(0) }
            }
            let locked = try ids(lineages + connection.dialect.rowLock)
            // From now on, no token makes the account an owner.
            let tokens = try connection.lockTokens(of: account)
            // Meanwhile, a lineage was joined with another, or became the account's by a token.
            guard try Set(ids(lineages)).isSubset(of: locked) else { throw .conflict }
            var isKnown = !tokens.isEmpty || !locked.isEmpty
            var loader = LineageLoader(connection: connection, submissions: [Submission()], policy: policy, now: now)
            (loader.numbers, loader.isWhole, loader.readsTokens) = (locked, true, false)
            // No name is in what Apple signed: a row of it that can't be read must not prevent the deletion.
            loader.readsEvidence = false
            _ = try loader.settle(.support) { (decision, _) throws(LedgerError) in decision.forget(account, as: name) }
            if !tokens.isEmpty { try connection.retireTokens(of: account, as: name, at: now) }
            for statement in [
                "UPDATE transfers SET from_account = $2 WHERE from_account = $1 RETURNING 1",
                "UPDATE transfers SET to_account = $2 WHERE to_account = $1 RETURNING 1",
                "UPDATE acts SET account = $2, idempotency_key = NULL, request = NULL WHERE account = $1 RETURNING 1",
            ] {
                if try !connection.run(statement, [.text(account), .text(name)]).isEmpty { isKnown = true }
            }
            // If the account returns, its events are newer than those before.
            try connection.raiseSequenceFloor(to: connection.sequence(of: account) + 1)
            // Transactions that take or record events of the account also lock it first.
            for table in ["answers", "accounts", "outbox", "orders"] {
                let rows = try connection.run("DELETE FROM \(table) WHERE account = $1 RETURNING 1", [.text(account)])
                if !rows.isEmpty { isKnown = true }
            }
            // Its attempts can be all there is, and may not be recorded yet.
            if try connection.eraseAttempts(of: account, number: connection.sequenceFloor(), at: now) { isKnown = true }
            return isKnown
        }
        guard isKnown else { throw LedgerError(.notFound, "account") }
        return name
    }
}
