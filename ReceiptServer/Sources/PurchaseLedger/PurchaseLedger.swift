@_spi(Ledger) public import AppStoreReceipt
import ServerThreads
import StrictText

/// A record of accounts and the purchases they were granted. Each purchase is granted once, to one owner.
///
/// Make one when the program starts, and share it. It is thread-safe, and several processes may use one PostgreSQL
/// database, or one file. Changes are durable when a method returns.
///
/// A call without `await` waits for the disk or the database: make it on a thread of your own, not on an event loop. In
/// asynchronous code, await the same call, which waits on a thread of the ledger.
///
/// Answers and events carry a `sequence`. It only grows, and starts at the current time in milliseconds. Opening a
/// ledger raises the numbers of all accounts, so that events after a restored backup are newer than all events before.
///
/// It takes only verified evidence. It can't know who sent the evidence: pass the account that your backend has
/// authenticated.
public final class PurchaseLedger: Sendable {
    /// What the ledger grants.
    public let policy: LedgerPolicy
    /// The found and the current version of the tables, if opening the ledger upgraded them.
    package let upgrade: (found: Int, now: Int)?
    let store: any LedgerStore
    private let recent = RecentPurchases()
    /// The floor of event numbers at opening.
    let firstFloor: Int64
    /// Called with new token conflicts, after they were recorded.
    private let onTokenConflict: @Sendable (TokenConflict) -> Void
    /// Called with the products of non-renewing subscriptions that were granted without an end, after they were
    /// recorded.
    private let onUnknownLength: @Sendable (String) -> Void

    /// Opens a ledger, and upgrades the tables of an older version.
    ///
    /// - Parameters:
    ///   - location: The path of an SQLite file, or the `postgresql:` URI of a database.
    ///   - policy: What the ledger grants.
    ///   - onTokenConflict: Called on any thread if a transaction has the token of an account other than the owner.
    ///   - onUnknownLength: Called on any thread with the product of a non-renewing subscription that was granted
    ///     without an end, because ``LedgerPolicy/productTypes`` lacks its length.
    /// - Throws: `no-ledger` if there is none. Restore a backup: in a new ledger, everything that was granted before
    ///   could be claimed again.
    @available(*, noasync)
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
    /// Call it once, when you install the program, not each time it starts: see
    /// `init(_:policy:onTokenConflict:onUnknownLength:)`.
    ///
    /// - Parameters:
    ///   - location: The path of an SQLite file, or the `postgresql:` URI of a database.
    ///   - policy: What the ledger grants.
    ///   - onTokenConflict: Called on any thread if a transaction has the token of an account other than the owner.
    ///   - onUnknownLength: Called on any thread with the product of a non-renewing subscription that was granted
    ///     without an end, because ``LedgerPolicy/productTypes`` lacks its length.
    /// - Throws: `ledger-exists` if there is one.
    @available(*, noasync)
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
    /// - Parameter asItIs: Whether to change nothing, not even the floor of event numbers.
    /// - Throws: `older-schema` if `asItIs` is `true` and the tables must be upgraded.
    package convenience init(_ location: String, policy: LedgerPolicy, asItIs: Bool) throws(LedgerError) {
        let opening = asItIs ? LedgerOpening.asItIs : .existing
        try self.init(LedgerLocation(location).open(opening), policy, opening)
    }

    convenience init(
        _ store: any LedgerStore, _ policy: LedgerPolicy, _ opening: LedgerOpening = .existing,
        at now: Instant? = nil,
        onTokenConflict: @escaping @Sendable (TokenConflict) -> Void = { _ in },
        onUnknownLength: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(LedgerError) {
        let now = now ?? policy.surroundings.date()
        let opened = try Opened(store, policy, opening, at: now)
        self.init(store, policy, opened, onTokenConflict, onUnknownLength)
        settleMigrated(opened.migrated, at: now)
    }

    /// Takes an opened store, without waiting.
    init(
        _ store: any LedgerStore, _ policy: LedgerPolicy, _ opened: Opened,
        _ onTokenConflict: @escaping @Sendable (TokenConflict) -> Void,
        _ onUnknownLength: @escaping @Sendable (String) -> Void
    ) {
        self.store = store
        (self.onTokenConflict, self.onUnknownLength) = (onTokenConflict, onUnknownLength)
        var policy = policy
        policy.surroundings.databaseClock = opened.databaseClock
        self.policy = policy
        (upgrade, firstFloor) = (opened.upgrade, opened.firstFloor)
    }

    /// The result of opening a store.
    struct Opened {
        fileprivate let upgrade: (found: Int, now: Int)?
        fileprivate let firstFloor: Int64
        fileprivate let databaseClock: DatabaseClock?
        /// The grants of an older version to correct.
        let migrated: [SQLRow]

        init(
            _ store: any LedgerStore, _ policy: LedgerPolicy, _ opening: LedgerOpening, at now: Instant
        ) throws(LedgerError) {
            switch opening {
            case .asItIs:
                try Schema.check(store)
                (upgrade, firstFloor, migrated) = (nil, 0, [])
                databaseClock = try store.read { (connection) throws(LedgerError) in
                    try policy.surroundings.databaseClock(connection)
                }
                return
            case .creating:
                try Schema.create(store)
                upgrade = nil
            case .existing:
                let version = try Schema.migrate(store)
                upgrade = version.found == version.now ? nil : version
            }
            (firstFloor, migrated, databaseClock) = try store.write { (connection) throws(LedgerError) in
                try CommitMarks.clean(connection)
                try connection.raiseSequenceFloor(to: now.millisecondsSince1970)
                try LedgerSummary.identify(connection, policy.surroundings, at: now)
                return (
                    try connection.sequenceFloor(), try connection.run(SeatTables.marked),
                    try policy.surroundings.databaseClock(connection)
                )
            }
        }
    }

    /// Moves the changes in SQLite's log into its file. Does nothing for PostgreSQL.
    ///
    /// Call it when the program ends. Without it, a copy of the file alone lacks the latest changes.
    ///
    /// - Throws: `store-unavailable` also if another process reads or writes for as long as SQLite waits.
    @available(*, noasync)
    public func completeFile() throws(LedgerError) { try store.completeFile() }

    /// Reads the clock of the database server again if that was done more than ten seconds ago.
    package func refreshClock() throws(LedgerError) { try policy.surroundings.databaseClock?.refresh(store) }

    func report(_ notices: LedgerNotices) {
        for conflict in notices.tokenConflicts { onTokenConflict(conflict) }
        for productID in notices.unknownLengths { onUnknownLength(productID) }
    }

    // MARK: Evidence

    /// Redeems all purchases in evidence for an account.
    ///
    /// The account becomes the owner of those that have none, and of their renewals. A purchase is granted if it gives
    /// access now.
    ///
    /// - Parameters:
    ///   - evidence: The client's verified evidence.
    ///   - account: The account that your backend has authenticated, 1 to 255 bytes. Never take it from the device
    ///     alone.
    ///   - accountToken: The `appAccountToken` that the app uses for this account, or `nil` to compare none. The
    ///     account can't claim a purchase with another token, or one without a token if another transaction of its
    ///     lineage has another token.
    ///   - idempotencyKey: A text of 1 to 255 bytes that is the same when the request is sent again, or `nil` for none.
    ///     The same key gets the same answer if the account had everything that it submitted. Otherwise, the request is
    ///     decided again, because its outcomes can improve.
    ///   - now: The date of the request.
    /// - Throws: `idempotency-key-reused` if the key belongs to a request of the account for other transactions. The
    ///   evidence is still recorded, but the account claims nothing.
    @available(*, noasync)
    public func redeem(
        _ evidence: VerifiedEvidence, for account: String, accountToken: AppAccountToken? = nil,
        idempotencyKey: String? = nil, at now: Instant = .now
    ) throws(LedgerError) -> Redemption {
        try redeem(
            Submission(evidence), for: account, accountToken: accountToken, idempotencyKey: idempotencyKey,
            at: now)
    }

    /// Redeems evidence, and passes on the result. While another thread commits it, this one doesn't wait.
    ///
    /// - Parameter then: Called once: before this method returns, or later on another thread. It must not wait or use
    ///   the ledger: a connection may be in use, and other requests wait for the thread.
    package func redeem(
        _ evidence: VerifiedEvidence, for account: String, accountToken: AppAccountToken?, idempotencyKey: String?,
        at now: Instant, then: @escaping @Sendable (Result<Redemption, LedgerError>) -> Void
    ) {
        redeem(Submission(evidence), for: account, accountToken: accountToken, idempotencyKey: idempotencyKey, at: now)
        {
            [self] result in
            if case .success(let redemption) = result { report(redemption.notices) }
            then(result)
        }
    }

    /// Redeems several transactions as one piece of evidence, so that the tokens of all apply to each.
    ///
    /// - Parameter related: Transactions that also count, but that the account doesn't submit.
    package func redeem(
        _ transactions: [Verified<TransactionInfo>], with related: [Verified<TransactionInfo>], for account: String,
        at now: Instant
    ) throws(LedgerError) -> Redemption {
        func signed(_ transactions: [Verified<TransactionInfo>]) -> [SubmittedPurchase] {
            transactions.flatMap { Submission(.transaction($0)).purchases }.map(\.signed)
        }
        return try redeem(
            Submission(signed(transactions), related: signed(related)), for: account, accountToken: nil,
            idempotencyKey: nil, at: now)
    }

    private func redeem(
        _ submission: Submission, for account: String, accountToken: AppAccountToken?, idempotencyKey: String?,
        at now: Instant
    ) throws(LedgerError) -> Redemption {
        let result = Eventual<Result<Redemption, LedgerError>>()
        redeem(submission, for: account, accountToken: accountToken, idempotencyKey: idempotencyKey, at: now) {
            result.set($0)
        }
        let redemption = try result.wait().get()
        report(redemption.notices)
        return redemption
    }

    private func redeem(
        _ submission: Submission, for account: String, accountToken: AppAccountToken?, idempotencyKey: String?,
        at now: Instant, then: @escaping @Sendable (Result<Redemption, LedgerError>) -> Void
    ) {
        do throws(LedgerError) {
            try LedgerText.check(account, "account")
            if let idempotencyKey { try LedgerText.check(idempotencyKey, "idempotency_key") }
            let request = RedemptionRequest(
                submission: submission, claim: Claim(account: account, token: accountToken),
                answered: try idempotencyKey.map { (key) throws(LedgerError) in
                    try AnsweredRequest(key, account, accountToken, submission.purchases.map(\.signed.purchase))
                }, policy: policy, now: now)
            @Sendable func answer(_ result: Result<Redemption?, LedgerError>) {
                then(result.flatMap { $0.map { .success($0) } ?? .failure(LedgerError(.idempotencyKeyReused, "")) })
            }
            if !recent.insert(submission, at: now), let look = try store.look(request) {
                return answer(.success(look.redemption))
            }
            store.redeem(request, then: answer)
        } catch {
            then(.failure(error))
        }
    }

    /// Records a notification from Apple's server, of any type: refunds, reversals, renewals, grace periods.
    ///
    /// Notifications may arrive in any order and any number of times. One about purchases that nobody has submitted
    /// is kept for when somebody does. One that names neither an app nor an environment, such as `UNCLAIM_SEATS`,
    /// decides nothing: at most 1000 are kept, for 30 days.
    ///
    /// - Parameters:
    ///   - notification: The verified notification.
    ///   - now: The date it arrived.
    /// - Returns: The events that it caused, in order for each account; none if it changed nothing, or was recorded
    ///   before. ``EventDelivery`` delivers them, too.
    @discardableResult
    @available(*, noasync)
    public func record(
        _ notification: VerifiedNotification, at now: Instant = .now
    ) throws(LedgerError) -> [LedgerEvent] {
        let submission = Submission(.notification(notification))
        if notification.isUnnamed, submission.purchases.isEmpty, submission.renewals.isEmpty {
            try store.write { (connection) throws(LedgerError) in
                _ = try connection.keepUnnamed(notification, at: now)
            }
            return []
        }
        // Apple sends many more than once.
        let isKnown = try store.read(WorkShare(weight: submission.purchases.count)) {
            (connection) throws(LedgerError) in
            try connection.isKnown(notification)
        }
        if isKnown { return [] }
        let (notices, posted) = try store.write {
            [policy] (connection) throws(LedgerError) -> (LedgerNotices, [LedgerEvent]) in
            guard try connection.isNew(notification, submission.purchases.first?.signed.purchase, at: now) else {
                return (LedgerNotices(), [])
            }
            let settled = try connection.settle(notification, submission, policy, .notification, at: now)
            if let inquiries = policy.inquiries {
                for key in submission.purchases.compactMap(\.keys?.transaction) {
                    try connection.noteNotified(key, inquiries, policy.surroundings, at: now)
                }
            }
            return (settled.effects.notices, settled.posted)
        }
        report(notices)
        return posted
    }

    // MARK: Inquiries

    /// Returns an account's entitlements at a date, by all evidence of the purchases that it owns or was granted.
    ///
    /// The result excludes products that are not for sale, and purchases that an operator revoked. Purchases that they
    /// replaced stay ended.
    ///
    /// - Parameters:
    ///   - account: The account.
    ///   - environment: The environment of the purchases.
    ///   - date: The date to decide for.
    ///   - includingConsumables: Whether to include consumables, which give no access. Without them, the time does not
    ///     grow with the number of purchases that Apple signed as consumables.
    @available(*, noasync)
    public func entitlements(
        of account: String, in environment: AppStoreEnvironment = .production, at date: Instant = .now,
        includingConsumables: Bool = true
    ) throws(LedgerError) -> Entitlements {
        try LedgerText.check(account, "account")
        return try store.read { (connection) throws(LedgerError) in
            let ids = includingConsumables ? Self.lineagesOfAccount : Self.lastingLineagesOfAccount
            // A lineage has one environment.
            let rows = try connection.run(
                """
                SELECT id FROM families WHERE id IN (\(ids))
                AND EXISTS (SELECT 1 FROM identifiers WHERE family_id = families.id AND environment = $2)
                """, [.text(account), .text(environment.rawValue)])
            let lineages = try connection.lineages(rows.map { (row) throws(LedgerError) in try row.integer("id") })
            var owned: Set<TransactionKey> = []
            var grants: [TransactionKey: Grant] = [:]
            for lineage in lineages {
                if lineage.isOwned(by: account) { owned.formUnion(lineage.evidence.keys) }
                grants.merge(lineage.grants) { first, _ in first }
            }
            return policy.rules.entitlements(of: lineages, at: date) { [policy] items in
                // It was loaded because the policy states the type, not Apple.
                if !includingConsumables, items[0].purchase.productType == .consumable { return true }
                let keys = Grant.keys(
                    of: items.compactMap { item in PurchaseKeys(item.purchase).map { ($0.transaction, item) } })
                let granted = keys.compactMap { grants[$0] }
                let isTheirs =
                    granted.isEmpty
                    ? !owned.isDisjoint(with: keys)
                    : granted.contains { $0.account.hasSameBytes(as: account) && !$0.isTakenBack }
                return !isTheirs || !policy.rules.isForSale(items[0].productID)
            }
        }
    }

    /// Returns the account that was granted the purchase of a transaction. Without a grant, returns the owner, or `nil`
    /// if there is none.
    ///
    /// A restored copy counts as the purchase that it restores, and a renewal has the owner of its subscription. The
    /// ledger knows only transactions in recorded evidence or notifications, so record them first.
    /// - Parameters:
    ///   - transactionID: The id of any transaction of the purchase.
    ///   - environment: The environment of the purchase.
    ///   - bundleID: The app's bundle id.
    /// - Returns: The account. For a deleted one, the name that `deleteAccount(_:at:)` returned.
    @available(*, noasync)
    public func owner(
        of transactionID: String, in environment: AppStoreEnvironment = .production, bundleID: String
    ) throws(LedgerError) -> String? {
        guard LedgerText.isStorable(transactionID), LedgerText.isStorable(bundleID) else { return nil }
        let key = TransactionKey(environment: environment, bundleID: bundleID, transactionID: transactionID)
        return try store.read { [policy] (connection) throws(LedgerError) in
            let grant = try connection.run(
                "SELECT account FROM grants WHERE identifier_id = \(TransactionKey.id)", key.columns)
            if let row = grant.first { return try row.text(0) }
            let found = try connection.run(
                """
                SELECT families.account, families.id, (
                    SELECT COUNT(*) FROM identifiers AS others
                    JOIN grants ON grants.identifier_id = others.id
                    WHERE others.family_id = families.id AND grants.account <> families.account)
                FROM identifiers JOIN families ON families.id = identifiers.family_id
                WHERE identifiers.environment = $1 AND identifiers.bundle_id = $2 AND identifiers.transaction_id = $3
                """, key.columns)
            guard let row = found.first, let owner = try row.optionalText(0) else { return nil }
            guard try row.integer(2) > 0 else { return owner }
            // After lineages were joined, each account keeps its grants.
            guard let lineage = try connection.lineages([row.integer(1)]).first else { return owner }
            let items = policy.rules.entitlements(of: [lineage], at: policy.surroundings.date()).items.compactMap {
                item in
                PurchaseKeys(item.purchase).map { (key: $0.transaction, item: item) }
            }
            guard let own = items.first(where: { $0.key == key })?.item else { return owner }
            let first = UTF8Bytes(own.firstTransactionID)
            let keys = Grant.keys(of: items.filter { UTF8Bytes($0.item.firstTransactionID) == first })
            return keys.sorted().lazy.compactMap { lineage.grants[$0]?.account }.first ?? owner
        }
    }
}
