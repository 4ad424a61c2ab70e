public import AppStoreReceipt
import ServerThreads

// The calls for asynchronous code. They wait on threads of the ledger, and never on those of Swift's own pool. A
// canceled task still waits for the answer, because recorded changes can't be undone.

extension PurchaseLedger {
    private static func onThread<Answer: Sendable>(
        _ call: @escaping @Sendable () throws(LedgerError) -> Answer
    ) async throws(LedgerError) -> Answer {
        try await CallThreads.shared.result { Result { () throws(LedgerError) in try call() } }.get()
    }

    func onThread<Answer: Sendable>(
        _ call: @escaping @Sendable (PurchaseLedger) throws(LedgerError) -> Answer
    ) async throws(LedgerError) -> Answer {
        try await Self.onThread { [self] () throws(LedgerError) in try call(self) }
    }

    /// The same as the call without `await`.
    public convenience init(
        _ location: String, policy: LedgerPolicy = LedgerPolicy(),
        onTokenConflict: @escaping @Sendable (TokenConflict) -> Void = { _ in },
        onUnknownLength: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws(LedgerError) {
        try await self.init(location, policy, .existing, onTokenConflict, onUnknownLength)
    }

    /// The same as the call without `await`.
    public convenience init(
        creating location: String, policy: LedgerPolicy = LedgerPolicy(),
        onTokenConflict: @escaping @Sendable (TokenConflict) -> Void = { _ in },
        onUnknownLength: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws(LedgerError) {
        try await self.init(location, policy, .creating, onTokenConflict, onUnknownLength)
    }

    private convenience init(
        _ location: String, _ policy: LedgerPolicy, _ opening: LedgerOpening,
        _ onTokenConflict: @escaping @Sendable (TokenConflict) -> Void,
        _ onUnknownLength: @escaping @Sendable (String) -> Void
    ) async throws(LedgerError) {
        let now = policy.surroundings.date()
        let (store, opened) = try await Self.onThread {
            () throws(LedgerError) -> (any LedgerStore, Opened) in
            let store = try LedgerLocation(location).open(opening)
            return (store, try Opened(store, policy, opening, at: now))
        }
        self.init(store, policy, opened, onTokenConflict, onUnknownLength)
        try await onThread { (ledger) throws(LedgerError) in ledger.settleMigrated(opened.migrated, at: now) }
    }

    /// The same as the call without `await`.
    public func completeFile() async throws(LedgerError) {
        try await onThread { (ledger) throws(LedgerError) in try ledger.completeFile() }
    }

    // MARK: Evidence

    /// The same as the call without `await`.
    public func redeem(
        _ evidence: VerifiedEvidence, for account: String, accountToken: AppAccountToken? = nil,
        idempotencyKey: String? = nil, at now: Instant = .now
    ) async throws(LedgerError) -> Redemption {
        try await onThread { (ledger) throws(LedgerError) in
            try ledger.redeem(
                evidence, for: account, accountToken: accountToken, idempotencyKey: idempotencyKey, at: now)
        }
    }

    /// The same as the call without `await`.
    @discardableResult
    public func record(
        _ notification: VerifiedNotification, at now: Instant = .now
    ) async throws(LedgerError) -> [LedgerEvent] {
        try await onThread { (ledger) throws(LedgerError) in try ledger.record(notification, at: now) }
    }

    // MARK: Inquiries

    /// The same as the call without `await`.
    public func entitlements(
        of account: String, in environment: AppStoreEnvironment = .production, at date: Instant = .now,
        includingConsumables: Bool = true
    ) async throws(LedgerError) -> Entitlements {
        try await onThread { (ledger) throws(LedgerError) in
            try ledger.entitlements(
                of: account, in: environment, at: date, includingConsumables: includingConsumables)
        }
    }

    /// The same as the call without `await`.
    public func owner(
        of transactionID: String, in environment: AppStoreEnvironment = .production, bundleID: String
    ) async throws(LedgerError) -> String? {
        try await onThread { (ledger) throws(LedgerError) in
            try ledger.owner(of: transactionID, in: environment, bundleID: bundleID)
        }
    }

    // MARK: Accounts

    /// The same as the call without `await`.
    @discardableResult
    public func transfer(
        from account: String, to other: String, transactionID: String? = nil,
        in environment: AppStoreEnvironment? = nil, of bundleID: String? = nil, movesTokens: Bool = false,
        reason: String, at now: Instant = .now
    ) async throws(LedgerError) -> Int {
        try await onThread { (ledger) throws(LedgerError) in
            try ledger.transfer(
                from: account, to: other, transactionID: transactionID, in: environment, of: bundleID,
                movesTokens: movesTokens, reason: reason, at: now)
        }
    }

    /// The same as the call without `await`.
    public func deleteAccount(_ account: String, at now: Instant = .now) async throws(LedgerError) -> String {
        try await onThread { (ledger) throws(LedgerError) in try ledger.deleteAccount(account, at: now) }
    }

    /// The same as the call without `await`.
    @discardableResult
    public func settleDue(at now: Instant = .now) async throws(LedgerError) -> Int {
        try await onThread { (ledger) throws(LedgerError) in try ledger.settleDue(at: now) }
    }

    // MARK: Tokens

    /// The same as the call without `await`.
    public func token(
        for account: String, storing stored: AppAccountToken? = nil, at now: Instant = .now
    ) async throws(LedgerError) -> (token: AppAccountToken, isNew: Bool) {
        try await onThread { (ledger) throws(LedgerError) in
            try ledger.token(for: account, storing: stored, at: now)
        }
    }

    // MARK: Events

    /// The same as the call without `await`.
    public func sendAgain(
        eventID: String, reason: String? = nil, at now: Instant = .now
    ) async throws(LedgerError) {
        try await onThread { (ledger) throws(LedgerError) in
            try ledger.sendAgain(eventID: eventID, reason: reason, at: now)
        }
    }

    /// The same as the call without `await`.
    public func removeHistory(before date: Instant) async throws(LedgerError) {
        try await onThread { (ledger) throws(LedgerError) in try ledger.removeHistory(before: date) }
    }
}
