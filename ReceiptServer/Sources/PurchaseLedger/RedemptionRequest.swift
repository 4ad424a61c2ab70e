import AppStoreReceipt
import StrictText

/// A request to redeem evidence.
struct RedemptionRequest: Sendable {
    let brought: BroughtEvidence
    let claim: LedgerTransaction.Claim
    /// With an idempotency key.
    let answered: AnsweredRequest?
    let policy: LedgerPolicy
    let now: Instant
    /// The number of the import whose line it is: the backend knows what it grants.
    var `import`: Int64?

    /// Answers requests that have no transaction, and no idempotency key of an account, in common, as if one ran after
    /// the other: one load, a decision for each, one write.
    ///
    /// All locks are taken before, and in the order of ``Families``, or two groups could wait for each other.
    ///
    /// - Returns: The answers; `nil` for a request whose idempotency key belongs to another.
    /// - Throws: A conflict also if two requests are about one family. Run them alone.
    static func answer(
        _ requests: [RedemptionRequest], _ connection: any SQLConnection
    ) throws(LedgerError) -> [Redemption?] {
        guard let now = requests.map(\.now).max(), let policy = requests.first?.policy else {
            return []
        }
        try connection.lockAccounts(requests.map(\.claim.account))
        let questions = requests.compactMap { $0.answered?.question }
        // A snapshot says the same at any time.
        let early =
            connection.isSnapshot ? questions + requests.map { SQLStatement.sequence(of: $0.claim.account) } : []
        let families = try Families(
            of: requests.map(\.brought), connection, at: now,
            usingTokens: requests.contains { $0.policy.orders != nil },
            whole: requests.contains { $0.policy.lifecycleEvents }, asking: early)
        let numbers = requests.map { families.numbers(of: $0.brought) }
        guard Set(numbers.joined()).count == numbers.reduce(0, { $0 + $1.count }) else { throw .conflict }
        var records = try connection.isSnapshot ? families.answers[...] : connection.run(questions)[...]
        var answers: [[TransactionOutcome]?] = []
        var repeated: [Redemption?] = []
        var events: [LedgerEvent] = []
        var transactions: [LedgerTransaction] = []
        for (request, numbers) in zip(requests, numbers) {
            // What the evidence says counts, whatever the answer is.
            var transaction = try LedgerTransaction(
                recording: request.brought, families, numbers, request.policy, connection, .redeem, at: request.now)
            transaction.importRun = request.import
            let record = try request.answered?.record(records.popFirst() ?? []) ?? .none
            if case .none = record {
                answers.append(try transaction.redeem(request.claim))
            } else {
                try transaction.decide()
                answers.append(nil)
            }
            if case .answer(let answer) = record { repeated.append(answer) } else { repeated.append(nil) }
            events += transaction.events
            transactions.append(transaction)
            GroupPoint.member.pass()
        }
        let sequences =
            try connection.isSnapshot && events.isEmpty
            ? families.answers.suffix(requests.count).map(SQLStatement.sequence)
            : connection.post(
                events, closingOrdersOf: transactions.flatMap(\.newPurchases),
                answering: requests.map(\.claim.account), policy, at: now
            ).numbers
        let redemptions = requests.indices.map { number in
            var redemption =
                answers[number].map { Redemption(outcomes: $0, sequence: sequences[number], isRepeated: false) }
                ?? repeated[number]
            redemption?.notices = transactions[number].notices
            return redemption
        }
        // A new row waits for another transaction that has the same key: this is a lock, too.
        let recorded = zip(requests, redemptions).compactMap { request, redemption in
            request.answered.map { (request, $0, redemption) }
        }
        for case (let request, let answered, let redemption?) in recorded.sorted(by: { $0.1 < $1.1 })
        where !redemption.isRepeated {
            try answered.record(redemption, connection, at: request.now)
        }
        for (request, transaction) in zip(requests, transactions) {
            // What is imported was granted long ago.
            let questions = transaction.questions.filter { request.import == nil || $0.reason == .ending }
            try connection.ask(questions, at: request.now)
        }
        return redemptions
    }
}
