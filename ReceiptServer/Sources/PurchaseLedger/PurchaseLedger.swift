public import AppStoreReceipt

/// A record of accounts and the purchases they were granted. Each purchase is granted once, to one owner.
///
/// Make one when the program starts, and share it. It is thread-safe, and several processes may use one PostgreSQL
/// database, or one file. Changes are durable when a method returns.
///
/// Methods wait for the disk or the database. Call them on threads of your own, not on an event loop or in Swift's pool
/// of threads.
///
/// Answers and events carry a `sequence`. It only grows, and starts at the current time in milliseconds. Opening a
/// ledger raises the numbers of all accounts, so that events after a restored backup are newer than all events before.
///
/// It takes verified evidence only. It cannot know who sends evidence: an account is the one that your backend has
/// authenticated.
public final class PurchaseLedger: Sendable {
    /// What the ledger grants.
    public let policy: LedgerPolicy
    /// The version of the tables that was found, and that of today, if opening the ledger changed them.
    package let upgrade: (found: Int, now: Int)?
    let store: any LedgerStore
    /// The floor of the numbers when it was opened.
    let firstFloor: Int64
    /// Called with the conflicts of tokens that became known, after they were recorded.
    private let onTokenConflict: @Sendable (TokenConflict) -> Void
    /// Called with the products of non-renewing subscriptions that were granted without an end, after they were
    /// recorded.
    private let onUnknownLength: @Sendable (String) -> Void

    /// Opens a ledger, and changes its tables if an older version made them.
    ///
    /// - Parameters:
    ///   - location: The path of a file of SQLite, or the `postgresql:` URI of a database.
    ///   - policy: What the ledger grants.
    ///   - onTokenConflict: Called on any thread when a transaction became known that has the token of another account
    ///     than the owner's.
    ///   - onUnknownLength: Called on any thread with the product of a non-renewing subscription that was granted
    ///     without an end: ``LedgerPolicy/productTypes`` does not state its length.
    /// - Throws: `no-ledger` if there is none. In a new one, everything that was granted before could be claimed again:
    ///   restore a back-up instead.
    public convenience init(
        _ location: String, policy: LedgerPolicy = LedgerPolicy(),
        onTokenConflict: @escaping @Sendable (TokenConflict) -> Void = { _ in },
        onUnknownLength: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(LedgerError) {
        try self.init(
            LedgerLocation(location).open(), policy, onTokenConflict: onTokenConflict, onUnknownLength: onUnknownLength)
    }

    /// Makes a new, empty ledger, and opens it.
    ///
    /// Call it once, when you install the program, and not where the program starts: see
    /// ``init(_:policy:onTokenConflict:onUnknownLength:)``.
    ///
    /// - Parameters:
    ///   - location: The path of a file of SQLite, or the `postgresql:` URI of a database.
    ///   - policy: What the ledger grants.
    ///   - onTokenConflict: Called on any thread when a transaction became known that has the token of another account
    ///     than the owner's.
    ///   - onUnknownLength: Called on any thread with the product of a non-renewing subscription that was granted
    ///     without an end: ``LedgerPolicy/productTypes`` does not state its length.
    /// - Throws: `ledger-exists` if there is one.
    public convenience init(
        creating location: String, policy: LedgerPolicy = LedgerPolicy(),
        onTokenConflict: @escaping @Sendable (TokenConflict) -> Void = { _ in },
        onUnknownLength: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(LedgerError) {
        try self.init(
            LedgerLocation(location).open(.creating), policy, .creating, onTokenConflict: onTokenConflict,
            onUnknownLength: onUnknownLength)
    }

    /// Opens a ledger.
    ///
    /// - Parameter asItIs: Whether nothing is made or changed, not even the numbers of accounts.
    /// - Throws: If it is opened as it is: `older-schema` if its tables would have to be changed.
    package convenience init(_ location: String, policy: LedgerPolicy, asItIs: Bool) throws(LedgerError) {
        let opening = asItIs ? LedgerOpening.asItIs : .existing
        try self.init(LedgerLocation(location).open(opening), policy, opening)
    }

    init(
        _ store: any LedgerStore, _ policy: LedgerPolicy, _ opening: LedgerOpening = .existing,
        at now: Instant? = nil,
        onTokenConflict: @escaping @Sendable (TokenConflict) -> Void = { _ in },
        onUnknownLength: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(LedgerError) {
        self.store = store
        (self.onTokenConflict, self.onUnknownLength) = (onTokenConflict, onUnknownLength)
        self.policy = policy
        switch opening {
        case .asItIs:
            try Schema.check(store)
            (upgrade, firstFloor) = (nil, 0)
            return
        case .creating:
            try Schema.create(store)
            upgrade = nil
        case .existing:
            let version = try Schema.migrate(store)
            upgrade = version.found == version.now ? nil : version
        }
        let now = now ?? policy.surroundings.date()
        let opened = try store.write { [policy] (connection) throws(LedgerError) in
            try CommitMarks.clean(connection)
            try connection.raiseSequenceFloor(to: now.millisecondsSince1970)
            try LedgerSummary.identify(connection, policy.surroundings, at: now)
            return (floor: try connection.sequenceFloor(), migrated: try connection.run(SeatTables.marked))
        }
        firstFloor = opened.floor
        settleMigrated(opened.migrated, at: now)
    }

    /// Makes the file of SQLite complete: what is in its log is moved into it. A database elsewhere needs nothing.
    ///
    /// Call it when the program ends. Nothing is lost without it, unless somebody then copies the file alone.
    ///
    /// - Throws: `store-unavailable` also if another process reads or writes for as long as SQLite waits.
    public func completeFile() throws(LedgerError) { try store.completeFile() }

    func report(_ notices: LedgerNotices) {
        for conflict in notices.tokenConflicts { onTokenConflict(conflict) }
        for productID in notices.unknownLengths { onUnknownLength(productID) }
    }

    // MARK: Evidence

    /// Redeems all purchases of evidence for an account.
    ///
    /// The account becomes the owner of those that nobody has brought before, and of their renewals. A purchase is
    /// granted if it gives access now.
    ///
    /// - Parameters:
    ///   - evidence: What the client sent, verified.
    ///   - account: The account that your backend has authenticated, 1 to 255 bytes. Never take it from the device
    ///     alone.
    ///   - accountToken: The `appAccountToken` with which the app buys for this account; `nil` not to compare it. A
    ///     purchase with another token does not become the account's, nor does one without a token if another
    ///     transaction of it, or of its renewals, has another token.
    ///   - idempotencyKey: A text of 1 to 255 bytes that is the same when the request is sent again; `nil` for none.
    ///     The same key gets the same answer if the account had everything that it brought. Otherwise the request is
    ///     decided anew, since its outcomes can change for the better.
    ///   - now: The date of the request.
    /// - Throws: `idempotency-key-reused` if the key belongs to a request of the account for other transactions. The
    ///   evidence is still recorded, but the account claims nothing.
    public func redeem(
        _ evidence: VerifiedEvidence, for account: String, accountToken: AppAccountToken? = nil,
        idempotencyKey: String? = nil, at now: Instant = .now
    ) throws(LedgerError) -> Redemption {
        try redeem(
            BroughtEvidence(evidence), for: account, accountToken: accountToken, idempotencyKey: idempotencyKey,
            at: now)
    }

    /// Redeems several transactions as one piece of evidence: the tokens of all of them count for each.
    ///
    /// - Parameter related: Transactions that count, too, and that the account does not bring.
    package func redeem(
        _ transactions: [Verified<TransactionInfo>], with related: [Verified<TransactionInfo>], for account: String,
        at now: Instant
    ) throws(LedgerError) -> Redemption {
        func signed(_ transactions: [Verified<TransactionInfo>]) -> [SignedPurchase] {
            transactions.flatMap { BroughtEvidence(.transaction($0)).purchases }.map(\.signed)
        }
        return try redeem(
            BroughtEvidence(signed(transactions), related: signed(related)), for: account, accountToken: nil,
            idempotencyKey: nil, at: now)
    }

    private func redeem(
        _ brought: BroughtEvidence, for account: String, accountToken: AppAccountToken?, idempotencyKey: String?,
        at now: Instant
    ) throws(LedgerError) -> Redemption {
        try LedgerText.check(account, "account")
        if let idempotencyKey { try LedgerText.check(idempotencyKey, "idempotency_key") }
        let request = RedemptionRequest(
            brought: brought, claim: LedgerTransaction.Claim(account: account, token: accountToken),
            answered: try idempotencyKey.map { (key) throws(LedgerError) in
                try AnsweredRequest(key, account, accountToken, brought.purchases.map(\.signed.purchase))
            }, policy: policy, now: now)
        let answer = try store.decide(
            about: brought.purchases.count,
            { (connection) throws(LedgerError) in try RedemptionRequest.answer([request], connection)[0] },
            else: { () throws(LedgerError) in try store.redeem(request) })
        guard let answer else { throw LedgerError(.idempotencyKeyReused, "") }
        report(answer.notices)
        return answer
    }

    /// Records a notification of Apple's server: refunds, reversals, renewals, grace periods, whatever its type.
    ///
    /// Notifications may arrive in any order and any number of times. One about purchases that nobody has brought is
    /// kept for when somebody does. One that names neither an app nor an environment, such as `UNCLAIM_SEATS`, decides
    /// nothing: at most 1000 are kept, for 30 days.
    ///
    /// - Parameters:
    ///   - notification: The verified notification.
    ///   - now: The date it arrived.
    public func record(_ notification: VerifiedNotification, at now: Instant = .now) throws(LedgerError) {
        let brought = BroughtEvidence(.notification(notification))
        if notification.isUnnamed, brought.purchases.isEmpty, brought.renewals.isEmpty {
            return try store.write { (connection) throws(LedgerError) in
                _ = try connection.keepUnnamed(notification, at: now)
            }
        }
        let notices = try store.decide(about: brought.purchases.count) {
            [policy] (connection) throws(LedgerError) -> LedgerNotices in
            guard try connection.isNew(notification, brought.purchases.first?.signed.purchase, at: now) else {
                return LedgerNotices()
            }
            var transaction = try LedgerTransaction(
                recording: brought, policy, connection, .notification, at: now)
            try transaction.settle()
            if let questions = policy.questions {
                for key in brought.purchases.compactMap(\.keys?.transaction) {
                    try connection.heard(key, questions, policy.surroundings, at: now)
                }
            }
            return transaction.notices
        }
        report(notices)
    }

    // MARK: Questions

    /// Returns what an account is entitled to at a date, by all evidence about the purchases that it owns or was
    /// granted.
    ///
    /// Purchases of products that are not for sale, and those that an operator took back, are not among them. Purchases
    /// that they replaced stay ended.
    ///
    /// - Parameters:
    ///   - account: The account.
    ///   - environment: The environment of the purchases.
    ///   - date: The date to decide for.
    public func entitlements(
        of account: String, in environment: AppStoreEnvironment = .production, at date: Instant = .now
    ) throws(LedgerError) -> Entitlements {
        try LedgerText.check(account, "account")
        return try store.read { (connection) throws(LedgerError) in
            // All of a family is in one environment.
            let rows = try connection.run(
                """
                SELECT id, account FROM families WHERE id IN (\(Self.familiesOfAccount))
                AND EXISTS (SELECT 1 FROM identifiers WHERE family_id = families.id AND environment = $2)
                """, [.text(account), .text(environment.rawValue)])
            var isOwned: [Int64: Bool] = [:]
            for row in rows {
                isOwned[try row.integer(0)] = try row.optionalText(1)?.hasSameBytes(as: account) ?? false
            }
            var evidence = FamilyEvidence()
            var owned: Set<TransactionKey> = []
            var grants: [TransactionKey: Grant] = [:]
            for (family, contents) in try FamilyContents.load(Array(isOwned.keys), connection) {
                evidence.add(contents)
                if isOwned[family] == true { owned.formUnion(contents.variants.keys) }
                for grant in contents.grants { grants[grant.transaction] = grant }
            }
            return policy.entitlements(evidence, at: date) { [policy] items in
                let keys = Grant.keys(
                    of: items.compactMap { item in PurchaseKeys(item.purchase).map { ($0.transaction, item) } })
                let granted = keys.compactMap { grants[$0] }
                let isTheirs =
                    granted.isEmpty
                    ? !owned.isDisjoint(with: keys)
                    : granted.contains { $0.account.hasSameBytes(as: account) && !$0.isTakenBack }
                return !isTheirs || !policy.isForSale(items[0].productID)
            }
        }
    }
}
