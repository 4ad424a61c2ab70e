import AppStoreReceipt
@testable import LedgerCore
@testable import PurchaseLedger
import StrictText

/// A ledger in memory, whose lineages are a value that each decision replaces.
struct MemoryLedger {
    private let rules: LedgerRules
    private var lineages = Lineages()
    private var dueDates: [TransactionKey: Instant] = [:]
    private var lastNumber: Int64 = 0
    private(set) var events: [LedgerEvent] = []

    init(_ policy: LedgerPolicy = LedgerPolicy()) { rules = policy.rules }

    var state: LedgerState {
        var state = LedgerState()
        for grant in lineages.byID.values.flatMap(\.grants.values) {
            state.set(grant.quantity, of: grant.transaction.transactionID.string, for: grant.account)
        }
        return state
    }

    /// What the events add up to.
    var stateByEvents: LedgerState {
        var state = LedgerState()
        for event in events { state.set(Int64(event.quantity), of: event.transactionID, for: event.account) }
        return state
    }

    mutating func redeem(_ evidence: VerifiedEvidence, for account: String, at now: Instant) -> [Outcome] {
        decide(Submission(evidence), .redeem, at: now) { decision in
            decision.redeem(Claim(account: account, token: nil)).map(\.outcome)
        }
    }

    mutating func record(_ evidence: VerifiedEvidence, at now: Instant) {
        decide(Submission(evidence), .notification, at: now) { $0.settle() }
    }

    mutating func settleDue(at now: Instant) {
        while let (key, _) = dueDates.filter({ $0.value <= now }).min(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
            dueDates[key] = nil
            let purchases = lineages[key]?.evidence[key]?.prefix(1).map { SubmittedPurchase($0.purchase) } ?? []
            decide(Submission(purchases), .beginning, at: now) { $0.settle() }
        }
    }

    /// Loads a submission's lineages, and applies a decision.
    private mutating func decide<Result>(
        _ submission: Submission, _ cause: LedgerEvent.Cause, at now: Instant,
        _ body: (inout LedgerDecision) -> Result
    ) -> Result {
        var loaded = Lineages()
        loaded.identifiers = lineages.identifiers
        loaded.freeNumbers = Array(lastNumber + 1...lastNumber + Int64(submission.keys.count) + 1)[...]
        let members = Set(lineages.byID.values.filter(\.isOfMember).map(\.id))
        let gathering = Gathering([submission], submission.keys, lineages.identifiers, members: members)
        for id in Set(gathering.keys.compactMap { gathering.identifiers[$0] }) {
            loaded.byID[id] = lineages.byID[id]
            let keys = lineages.identifiers.filter { $0.value == id }.map {
                RenewalKey(environment: $0.key.environment, originalTransactionID: $0.key.transactionID)
            }
            loaded.byID[id]?.renewals = keys.compactMap { lineages.renewals[$0] }
        }
        loaded.renewals = lineages.renewals
        loaded.gather(gathering)
        var decision = LedgerDecision(
            submission, about: gathering.numbers(of: submission, in: loaded), in: loaded, rules, cause, at: now)
        let result = body(&decision)
        apply(decision)
        return result
    }

    private mutating func apply(_ decision: LedgerDecision) {
        lastNumber = max(lastNumber, decision.lineages.structure.created.max() ?? 0)
        for (from, _) in decision.lineages.structure.merged { lineages.byID[from] = nil }
        lineages.byID.merge(decision.lineages.byID) { $1 }
        lineages.identifiers = decision.lineages.identifiers
        lineages.renewals = decision.lineages.renewals
        dueDates.merge(decision.effects.dueDates) { $1 }
        events += decision.effects.events
    }
}
