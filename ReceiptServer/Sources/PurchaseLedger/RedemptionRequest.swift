import AppStoreReceipt
import StrictText

/// A request to redeem evidence.
struct RedemptionRequest: Sendable {
    let submission: Submission
    let claim: Claim
    /// Set with an idempotency key.
    let answered: AnsweredRequest?
    let policy: LedgerPolicy
    let now: Instant
    /// The id of the import whose line this is. The backend already knows its grants.
    var `import`: Int64?

    /// The result of deciding several requests.
    private struct Decided {
        var lineages: Lineages
        var effects = LedgerDecision.Effects()
        /// The answers, without their numbers; `nil` if the idempotency key belongs to another request.
        var answers: [(redemption: Redemption?, isRepeated: Bool)] = []
    }

    /// Answers requests as if one ran after the other: one load, a decision for each, one write. They must share no
    /// transaction, and no idempotency key of an account.
    ///
    /// Takes all locks first, in the order of ``LineageLoader``. Otherwise, two groups could deadlock.
    ///
    /// - Returns: The answers, or `nil` if the idempotency key belongs to another request.
    /// - Throws: A conflict also if two requests are about one lineage. Run them alone.
    static func answer(
        _ requests: [RedemptionRequest], _ connection: any SQLConnection
    ) throws(LedgerError) -> [Redemption?] {
        guard let now = requests.map(\.now).max(), let policy = requests.first?.policy else { return [] }
        try connection.lockAccounts(requests.map(\.claim.account))
        var loader = LineageLoader(
            connection: connection, submissions: requests.map(\.submission), policy: policy, now: now)
        loader.statements = requests.compactMap { $0.answered?.query }
        let loaded = try loader.load()
        let decided = try decide(requests, loaded)
        let numbers = try connection.apply(
            decided.effects, from: loaded.stored, to: decided.lineages, policy, .redeem,
            answering: requests.map(\.claim.account), isImport: requests.contains { $0.import != nil }, at: now
        ).numbers
        let redemptions = zip(decided.answers, numbers).map { answer, number in
            answer.redemption?.numbered(answer.isRepeated ? nil : number)
        }
        // Inserting a row waits for a transaction with the same key, so it is a lock, too.
        let recorded = zip(requests, redemptions).compactMap { request, redemption in
            request.answered.map { (request, $0, redemption) }
        }
        for case (let request, let answered, let redemption?) in recorded.sorted(by: { $0.1 < $1.1 })
        where redemption.isRecordable { try answered.record(redemption, connection, at: request.now) }
        return redemptions
    }

    /// An answer from a snapshot.
    struct Look {
        /// `nil` if the idempotency key belongs to another request.
        let redemption: Redemption?
    }

    /// Answers from a snapshot, without waiting for a lock or the disk.
    ///
    /// The contents of a snapshot are durable. Anything else that happens meanwhile counts as later, because the
    /// answer's number comes from the same snapshot.
    ///
    /// - Returns: `nil` if there is something to record.
    func look(_ connection: any SQLConnection) throws(LedgerError) -> Look? {
        var loader = LineageLoader(connection: connection, submissions: [submission], policy: policy, now: now)
        loader.statements = [answered?.query, .sequence(of: claim.account)].compactMap(\.self)
        guard let loaded = try loader.look() else { return nil }
        let decided = try Self.decide([self], loaded)
        guard try connection.isUnchanged(decided.effects, from: loaded.stored, to: decided.lineages, policy, at: now)
        else { return nil }
        let answer = decided.answers[0]
        let number = answer.isRepeated ? nil : try SQLStatement.sequence(loaded.answers.last ?? [])
        let redemption = answer.redemption?.numbered(number)
        return answered != nil && redemption?.isRecordable ?? false ? nil : Look(redemption: redemption)
    }

    private static func decide(
        _ requests: [RedemptionRequest], _ loaded: LineageLoader.Loaded
    ) throws(LedgerError) -> Decided {
        guard Set(loaded.numbers.joined()).count == loaded.numbers.reduce(0, { $0 + $1.count }) else {
            throw .conflict
        }
        var decided = Decided(lineages: loaded.gathered)
        var records = loaded.answers[...]
        for (request, numbers) in zip(requests, loaded.numbers) {
            // The evidence counts, whatever the answer is.
            var decision = LedgerDecision(
                request.submission, about: numbers, in: decided.lineages, request.policy.rules, .redeem,
                import: request.import, at: request.now)
            let record = try request.answered?.record(records.popFirst() ?? []) ?? .none
            switch record {
            case .none:
                let outcomes = decision.redeem(request.claim)
                decided.answers.append((Redemption(outcomes: outcomes, sequence: 0, isRepeated: false), false))
            case .answer(let redemption):
                decision.settle()
                decided.answers.append((redemption, true))
            case .anotherRequest:
                decision.settle()
                decided.answers.append((nil, false))
            }
            decided.answers[decided.answers.count - 1].redemption?.notices = decision.effects.notices
            decided.lineages = decision.lineages
            decided.effects += decision.effects
            GroupPoint.member.pass()
        }
        return decided
    }
}

extension Redemption {
    /// Whether to record the answer for its idempotency key, because it can't improve. Evidence without purchases, such
    /// as a new receipt, can have some later.
    fileprivate var isRecordable: Bool {
        !isRepeated && !outcomes.isEmpty
            && outcomes.allSatisfy { $0.outcome == .granted || $0.outcome == .alreadyYours }
    }

    /// - Parameter number: `nil` to keep that of a recorded answer.
    fileprivate func numbered(_ number: Int64?) -> Redemption {
        var redemption = Redemption(outcomes: outcomes, sequence: number ?? sequence, isRepeated: isRepeated)
        redemption.notices = notices
        return redemption
    }
}
