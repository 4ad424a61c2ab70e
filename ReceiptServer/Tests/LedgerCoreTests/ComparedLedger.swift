import AppStoreReceipt
import LedgerCore
import LedgerModels
import Testing

/// A ledger in memory beside the model of R1 to R15 without orders: each request goes to both.
struct ComparedLedger {
    private var ledger: MemoryLedger
    private var model: OrdersModel
    /// The notifications that arrived. One that is repeated changes nothing.
    private var recorded: Set<String> = []
    private var hasForgotten = false
    /// What a failure says, to repeat the history.
    private let words: Comment

    init(_ ledger: MemoryLedger, _ words: Comment) {
        (self.ledger, self.words) = (ledger, words)
        model = OrdersModel(ledger.rules)
    }

    /// Returns a ledger that goes on from here.
    func copy() -> ComparedLedger {
        var copy = self
        copy.ledger = ledger.copy()
        return copy
    }

    mutating func record(_ notification: VerifiedNotification, at now: Instant) {
        let uuid = notification.notification.payload.notificationUUID ?? ""
        guard recorded.insert(uuid).inserted else { return }
        ledger.record(.notification(notification), at: now)
        model.record(.notification(notification), at: now)
    }

    /// What the App Store answered.
    mutating func record(_ evidence: VerifiedEvidence, at now: Instant) {
        ledger.record(evidence, at: now)
        model.record(evidence, at: now)
    }

    mutating func redeem(
        _ evidence: VerifiedEvidence, for account: String, token: AppAccountToken?, at now: Instant
    ) {
        ledger.redeem(evidence, for: account, token: token, at: now)
        let outcomes = ledger.lastOutcomes.map { "\($0.outcome.rawValue) \($0.mayFinish)" }
        #expect(outcomes == model.redeem(evidence, for: account, token, at: now), words)
    }

    mutating func register(_ token: AppAccountToken, for account: String, at now: Instant) {
        guard model.token(token, for: account, at: now) == true else { return }
        ledger.register(token, for: account, at: now)
    }

    mutating func transfer(
        from account: String, to other: String, _ original: String?, movesTokens: Bool, at now: Instant
    ) {
        let tokens = movesTokens ? model.tokens.filter { $0.value.account == account }.map(\.key) : []
        let count = model.transfer(from: account, to: other, original, movesTokens: movesTokens)
        guard count > 0 || movesTokens else { return }
        ledger.transfer(from: account, to: other, original, moving: tokens, at: now)
    }

    mutating func forget(_ account: String, at now: Instant) {
        let name = "forgotten-\(now)"
        model.forget(account, as: name)
        ledger.forget(account, as: name, at: now)
        hasForgotten = true
    }

    mutating func settleDue(at now: Instant) {
        ledger.settleDue(at: now)
        model.settleDue(at: now)
    }

    /// - Parameter originals: The original transactions of what arrived, and of other purchases.
    func compare(_ originals: Set<String>) {
        let grants = ledger.grants.map {
            ($0.transaction.transactionID.string, LedgerState.Row(account: $0.account, quantity: $0.quantity))
        }
        #expect(Dictionary(uniqueKeysWithValues: grants) == model.grants, words)
        #expect(ledger.owners(of: originals) == model.owners, words)
        // A deleted account gets no events.
        if !hasForgotten {
            #expect(ledger.state == ledger.stateByEvents, words)
            #expect(ledger.balances == ledger.balancesByEvents, words)
        }
        let conflicts = ledger.effects.notices.tokenConflicts.map(\.transactionID)
        #expect(conflicts.sorted() == model.conflicts.sorted(), words)
    }
}
