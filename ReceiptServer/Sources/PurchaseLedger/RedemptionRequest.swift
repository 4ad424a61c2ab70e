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
        let decided = try decide(requests, loaded, loaded.answers)
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

    /// Answers requests from a snapshot, each as if it came alone, without waiting for a lock or the disk.
    ///
    /// The contents of a snapshot are durable. Anything else that happens meanwhile counts as later, because the
    /// answers' numbers come from the same snapshot.
    ///
    /// - Parameter whenLoaded: Called when most has been read, before deciding.
    /// - Returns: The answers, or `nil` for a request that has something to record.
    static func look(
        _ requests: [RedemptionRequest], _ connection: any SQLConnection, whenLoaded: () -> Void = {}
    ) throws(LedgerError) -> [Look?] {
        guard let now = requests.map(\.now).max(), let policy = requests.first?.policy else { return [] }
        var loader = LineageLoader(
            connection: connection, submissions: requests.map(\.submission), policy: policy, now: now)
        loader.statements =
            requests.compactMap { $0.answered?.query }
            + [.sequences(of: requests.map(\.claim.account), connection.dialect)]
        let loaded = try loader.look()
        whenLoaded()
        guard let answers = loaded.lazy.compactMap(\.self).first?.answers else { return requests.map { _ in nil } }
        let sequences = try Sequences(answers.last ?? [])
        var records = answers[...]
        var looks: [Look?] = []
        for (request, loaded) in zip(requests, loaded) {
            let record = request.answered == nil ? [] : records.prefix(1)
            records = records.dropFirst(record.count)
            looks.append(
                try loaded.flatMap { (loaded) throws(LedgerError) in
                    try request.look(loaded, record, sequences, connection)
                })
        }
        return looks
    }

    /// - Parameter record: The rows of the answer for the idempotency key.
    private func look(
        _ loaded: LineageLoader.Loaded, _ record: ArraySlice<[SQLRow]>, _ sequences: Sequences,
        _ connection: any SQLConnection
    ) throws(LedgerError) -> Look? {
        let decided = try Self.decide([self], loaded, record)
        guard try connection.isUnchanged(decided.effects, from: loaded.stored, to: decided.lineages, policy, at: now)
        else { return nil }
        let answer = decided.answers[0]
        let number = answer.isRepeated ? nil : try sequences[claim.account]
        let redemption = answer.redemption?.numbered(number)
        return answered != nil && redemption?.isRecordable ?? false ? nil : Look(redemption: redemption)
    }

    /// - Parameter records: The rows of the answers for the idempotency keys.
    private static func decide(
        _ requests: [RedemptionRequest], _ loaded: LineageLoader.Loaded, _ records: some Collection<[SQLRow]>
    ) throws(LedgerError) -> Decided {
        guard Set(loaded.numbers.joined()).count == loaded.numbers.reduce(0, { $0 + $1.count }) else {
            throw .conflict
        }
        var decided = Decided(lineages: loaded.gathered)
        var records = records[...]
        for (request, numbers) in zip(requests, loaded.numbers) {
            // Each decision takes the lineages. Otherwise, it would copy those of all requests.
            var lineages = Lineages()
            swap(&lineages, &decided.lineages)
            // The evidence counts, whatever the answer is.
            var decision = LedgerDecision(
                request.submission, about: numbers, in: consume lineages, request.policy.rules, .redeem,
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
