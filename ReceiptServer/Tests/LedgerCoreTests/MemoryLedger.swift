import AppStoreReceipt
@testable import LedgerCore
import LedgerModels
import StrictText

/// A ledger in memory, whose lineages are a value that each decision replaces. It loads all of a lineage, and divides
/// none.
final class MemoryLedger {
    let rules: LedgerRules
    private(set) var lineages = Lineages()
    private(set) var effects = LedgerDecision.Effects()
    private(set) var transfers: [StructuralChanges.Transfer] = []
    /// Lineages whose owner an operator has to confirm.
    private(set) var uncertain: [Int64] = []
    private(set) var lastOutcomes: [TransactionOutcome] = []
    private var lastNumber: Int64 = 0
    private var claimCount: Int64 = 0

    init(
        forSale: [String]? = nil, usesTokens: Bool = false, requiresTokenSince date: Instant? = nil,
        notifiesLifecycles: Bool = false, productTypes: ProductCatalog = [:]
    ) {
        rules = LedgerRules(
            forSale: forSale.map { Set($0.map(UTF8Bytes.init)) }, clockAllowance: .seconds(300),
            productTypes: productTypes,
            usesTokens: usesTokens, requiresTokenSince: date, notifiesLifecycles: notifiesLifecycles,
            wholeLineageLimit: 24)
        if usesTokens { lineages.holders = [:] }
    }

    private init(_ other: MemoryLedger) {
        (rules, lineages, effects, transfers) = (other.rules, other.lineages, other.effects, other.transfers)
        (uncertain, lastOutcomes) = (other.uncertain, other.lastOutcomes)
        (lastNumber, claimCount) = (other.lastNumber, other.claimCount)
    }

    /// Returns a ledger that goes on from here.
    func copy() -> MemoryLedger { MemoryLedger(self) }

    var events: [LedgerEvent] { effects.events }

    var grants: [Grant] { lineages.byID.values.flatMap(\.grants.values) }

    var state: LedgerState {
        var state = LedgerState()
        for grant in grants {
            state.set(grant.quantity, of: grant.transaction.transactionID.string, for: grant.account)
        }
        return state
    }

    /// The owners of some original transactions.
    func owners(of originals: Set<String>) -> [String: String] {
        var owners: [String: String] = [:]
        for (key, number) in lineages.identifiers where originals.contains(key.transactionID.string) {
            owners[key.transactionID.string] = lineages.byID[number]?.owner?.account
        }
        return owners
    }

    /// What the events add up to.
    var stateByEvents: LedgerState {
        var state = LedgerState()
        for event in events { state.set(Int64(event.quantity), of: event.transactionID, for: event.account) }
        return state
    }

    /// What accounts have, by account and transaction: `buyer 1`. A transaction can be in two accounts' books.
    var balances: [String: Int64] {
        let held = grants.filter { $0.quantity > 0 }
        return Dictionary(
            uniqueKeysWithValues: held.map { ("\($0.account) \($0.transaction.transactionID.string)", $0.quantity) })
    }

    /// What the events add up to for each account.
    var balancesByEvents: [String: Int64] {
        var balances: [String: Int64] = [:]
        for event in events {
            balances["\(event.account) \(event.transactionID)"] = event.quantity == 0 ? nil : Int64(event.quantity)
        }
        return balances
    }

    // MARK: Requests

    @discardableResult
    func redeem(
        _ evidence: VerifiedEvidence, for account: String, token: AppAccountToken? = nil, at now: Instant
    ) -> [Outcome] {
        redeem(Submission(evidence), for: account, token: token, at: now)
    }

    func redeem(
        _ submission: Submission, for account: String, token: AppAccountToken? = nil, at now: Instant
    ) -> [Outcome] {
        lastOutcomes = decide(submission, .redeem, at: now) { $0.redeem(Claim(account: account, token: token)) }
        return lastOutcomes.map(\.outcome)
    }

    /// - Parameter isNewest: Whether a notification is the newest about its refund.
    func record(_ evidence: VerifiedEvidence, isNewest: Bool = true, at now: Instant) {
        decide(Submission(evidence), .notification, at: now) { decision in
            decision.settle()
            guard case .notification(let notification) = evidence else { return }
            decision.notifyRefund(notification, isNewest: isNewest)
        }
    }

    func record(_ submission: Submission, at now: Instant) {
        decide(submission, .notification, at: now) { $0.settle() }
    }

    func settleDue(at now: Instant) {
        func isDue(_ date: Instant) -> Bool { date <= now }
        while let (key, _) = effects.dueDates.filter({ isDue($0.value) })
            .min(by: { ($0.value, $0.key) < ($1.value, $1.key) })
        {
            effects.dueDates[key] = nil
            let purchases = lineages[key]?.evidence[key]?.prefix(1).map { SubmittedPurchase($0.purchase) } ?? []
            decide(Submission(purchases), .beginning, at: now) { $0.settle() }
        }
    }

    /// Stores a token with an account.
    func register(_ token: AppAccountToken, for account: String, isRetired: Bool = false, at now: Instant) {
        lineages.holders?[token] = TokenHolder(account: account, isRetired: isRetired)
        let waiting = lineages.byID.values.filter { $0.tokenNotes[token] == .waiting }.map(\.id).sorted()
        decide(Submission(), about: waiting, .token, at: now) { $0.settle() }
    }

    func adjust(_ key: TransactionKey, to quantity: Int64?, at now: Instant) throws(LedgerError) {
        let result = decide(Submission(spent: [PurchaseKeys(granted: key)]), .support, at: now) { decision in
            Result { () throws(LedgerError) in try decision.adjust(key, to: quantity) }
        }
        _ = try result.get()
    }

    /// - Parameter original: The original transaction of the lineage to transfer, or `nil` for all of the account's.
    func transfer(
        from account: String, to other: String, _ original: String? = nil, moving tokens: [AppAccountToken] = [],
        at now: Instant
    ) {
        for token in tokens { lineages.holders?[token] = TokenHolder(account: other, isRetired: false) }
        let numbers = numbers(of: account).filter { number in
            guard let original else { return true }
            return lineages.identifiers.contains { $0.value == number && Self.original($0.key) == original }
        }
        decide(Submission(), about: numbers, .transfer, at: now) {
            $0.transfer(from: account, to: other, reason: "test", moving: tokens)
        }
    }

    /// Removes what claims rest on, which 0.3.0 did not record.
    func removeBases() {
        for id in lineages.byID.keys { lineages.byID[id]?.owner?.basis = nil }
    }

    /// Deletes an account.
    func forget(_ account: String, as name: String, at now: Instant) {
        lineages.holders = lineages.holders?.mapValues { holder in
            holder.account.hasSameBytes(as: account) ? TokenHolder(account: name, isRetired: true) : holder
        }
        decide(Submission(), about: numbers(of: account), .support, at: now) { $0.forget(account, as: name) }
    }

    private func numbers(of account: String) -> [Int64] {
        lineages.byID.values.filter { lineage in
            lineage.isOwned(by: account) || lineage.grants.values.contains { $0.account.hasSameBytes(as: account) }
        }.map(\.id).sorted()
    }

    /// Records what was granted without evidence.
    ///
    /// - Returns: Whether it could be.
    func grant(_ grant: Grant, at date: Instant) -> Bool {
        decide(Submission(spent: [PurchaseKeys(granted: grant.transaction)]), .redeem, at: date) { decision in
            decision.grantWithoutEvidence(grant, in: .stated, at: date)
        }
    }

    // MARK: Imports

    func importLine(
        _ spent: SpentTransaction, at now: Instant, takenTokens: [AppAccountToken: String] = [:]
    ) -> ImportedLine.Result {
        let key = spent.keys.transaction
        let original = spent.keys.relatives.first { $0 != key }
        let decision = spent.decision(known(key), original.map(known)) { token in
            takenTokens[token].map { !$0.hasSameBytes(as: spent.account) } ?? false
        }
        switch decision {
        case .ends(let result): return result
        case .grants(let keys, let notes):
            let isGranted = decide(Submission(spent: [keys]), .redeem, import: 1, at: now) { $0.grant(spent) }
            precondition(isGranted)
            return ImportedLine.Result(.added, notes: notes)
        }
    }

    func importLine(_ evidence: Submission, for account: String, at now: Instant) -> ImportedLine.Result {
        let (conflict, notes) = evidence.comparison(
            with: evidence.claimedTransactions.map { known($0.key) }, for: account)
        if let conflict { return conflict }
        let outcomes = decide(evidence, .redeem, import: 1, at: now) { decision in
            decision.redeem(Claim(account: account, token: nil)).map(\.outcome)
        }
        return ImportedLine.Result(ImportedLine.Outcome(outcomes), notes: notes)
    }

    private func known(_ key: TransactionKey) -> KnownTransaction {
        var known = KnownTransaction()
        guard let lineage = lineages[key] else { return known }
        (known.lineage, known.owner) = (lineage.id, lineage.owner?.account)
        known.granted = lineage.grants[key].map { grant in
            KnownTransaction.Granted(
                account: grant.account, productID: grant.productID, quantity: grant.grantedQuantity ?? grant.quantity,
                date: grant.grantedAt, originalTransactionID: grant.importedOriginal)
        }
        known.evidence = lineage.evidence[key]?.map(\.purchase) ?? []
        return known
    }

    // MARK: Deciding

    /// Loads a submission's lineages, and others, and applies a decision about them.
    @discardableResult
    private func decide<Result>(
        _ submission: Submission, about numbers: [Int64] = [], _ cause: LedgerEvent.Cause,
        import run: Int64? = nil, at now: Instant, _ body: (inout LedgerDecision) -> Result
    ) -> Result {
        var loaded = Lineages()
        loaded.identifiers = lineages.identifiers
        loaded.holders = lineages.holders
        loaded.freeNumbers = Array(lastNumber + 1...lastNumber + Int64(submission.keys.count) + 1)[...]
        let members = Set(lineages.byID.values.filter(\.isOfMember).map(\.id))
        let renewing = Set(submission.renewals.map(\.originalTransactionID))
        let keys = submission.keys.union(lineages.identifiers.keys.filter { renewing.contains(Self.original($0)) })
        let gathering = Gathering([submission], keys, lineages.identifiers, members: members)
        let involved = Set(gathering.keys.compactMap { gathering.identifiers[$0] }).union(
            gathering.splits.map(\.lineage))
        for id in involved.union(numbers) {
            loaded.byID[id] = lineages.byID[id]
            let keys = lineages.identifiers.filter { $0.value == id }.map { key, _ in
                RenewalKey(
                    environment: key.environment, originalTransactionID: UTF8Bytes(Self.original(key)))
            }
            loaded.byID[id]?.renewals = keys.compactMap { lineages.renewals[$0] }
        }
        loaded.renewals = lineages.renewals
        loaded.gather(gathering)
        let concerned = gathering.numbers(of: submission, in: loaded) + numbers
        var decision = LedgerDecision(submission, about: concerned, in: loaded, rules, cause, import: run, at: now)
        let result = body(&decision)
        apply(decision)
        return result
    }

    /// The id of the original transaction that renewal information names.
    private static func original(_ key: TransactionKey) -> String {
        let id = key.transactionID.string
        return id.hasPrefix(MemberID.boughtPrefix) ? String(id.dropFirst(MemberID.boughtPrefix.count)) : id
    }

    private func apply(_ decision: LedgerDecision) {
        lastNumber = max(lastNumber, decision.lineages.structure.created.max() ?? 0)
        let structure = decision.lineages.structure
        check(decision.lineages)
        lineages.byID.merge(decision.lineages.byID) { $1 }
        for id in structure.claimed where lineages.byID[id]?.owner?.order == .last {
            claimCount += 1
            lineages.byID[id]?.owner?.order = .number(claimCount)
        }
        // As the tables do it: what the decision does not say stays.
        for (from, into) in structure.merged {
            lineages.byID[from] = nil
            for (key, id) in lineages.identifiers where id == from { lineages.identifiers[key] = into }
        }
        for key in structure.inserted + structure.moved {
            lineages.identifiers[key] = decision.lineages.identifiers[key]
        }
        lineages.identifiers.merge(structure.names.map { ($0.key, $0.lineage) }) { known, _ in known }
        lineages.renewals = decision.lineages.renewals
        transfers += structure.transfers
        uncertain += structure.uncertain
        effects += decision.effects
    }

    /// Stops if the tables' writer would miss a change: it writes new rows and lost grants only as they are named.
    private func check(_ decided: Lineages) {
        let structure = decided.structure
        precondition(structure.inserted.allSatisfy { lineages.identifiers[$0] == nil })
        precondition(Set(decided.byID.keys).subtracting(lineages.byID.keys).isSubset(of: structure.created))
        let claimed = Set(structure.claimed)
        precondition(decided.byID.values.allSatisfy { $0.owner?.order != .last || claimed.contains($0.id) })
        let merged = structure.merged.map(\.from)
        let before = (Array(decided.byID.keys) + merged).compactMap { lineages.byID[$0] }.flatMap(\.grants.keys)
        let lost = Set(before).subtracting(decided.byID.values.flatMap(\.grants.keys))
        precondition(lost.isSubset(of: structure.lost.map(\.grant.transaction)))
    }
}
