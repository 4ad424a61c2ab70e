import AppStoreReceipt
import StrictText

extension SQLConnection {
    /// Writes a decision, posts its events, closes orders and creates inquiries.
    ///
    /// - Parameters:
    ///   - stored: The lineages as they were loaded, and locked.
    ///   - accounts: The accounts that get an answer.
    ///   - isImport: Whether the grants are old: Apple isn't asked to confirm them.
    /// - Returns: The numbers of the answers, and the events as they are delivered.
    @discardableResult
    func apply(
        _ effects: LedgerDecision.Effects, from stored: Lineages, to decided: Lineages, _ policy: LedgerPolicy,
        _ cause: LedgerEvent.Cause, answering accounts: [String] = [], isImport: Bool = false, at now: Instant
    ) throws(LedgerError) -> (numbers: [Int64], posted: [LedgerEvent]) {
        for statement in try LineageWriter(from: stored, to: decided, dialect, at: now).statements {
            try write(statement.text, statement.parameters)
        }
        try remember(effects.dueDates)
        for event in effects.unownedEvents {
            try write(
                "INSERT INTO unowned_events VALUES ($1, $2, $3)",
                [.text(policy.surroundings.makeID()), SQLValue(now), .text(event.json)])
        }
        let posted = try post(
            effects.events, closingOrdersOf: effects.newPurchases, answering: accounts, policy, at: now)
        try inquire(after: effects, policy, cause, isImport: isImport, at: now)
        return posted
    }

    /// Whether there is nothing to write.
    func isUnchanged(
        _ effects: LedgerDecision.Effects, from stored: Lineages, to decided: Lineages, _ policy: LedgerPolicy,
        at now: Instant
    ) throws(LedgerError) -> Bool {
        guard effects.events.isEmpty, effects.unownedEvents.isEmpty,
            try LineageWriter(from: stored, to: decided, dialect, at: now).statements.isEmpty,
            try remembers(effects.dueDates)
        else { return false }
        return try hasInquired(after: effects, policy, at: now)
    }

    /// Loads lineages, and applies a decision.
    func settle<Result>(
        _ submission: Submission, _ policy: LedgerPolicy, _ cause: LedgerEvent.Cause, at now: Instant,
        _ decide: (inout LedgerDecision) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Settled<Result> {
        try LineageLoader(connection: self, submissions: [submission], policy: policy, now: now).settle(cause) {
            (decision, _) throws(LedgerError) in try decide(&decision)
        }
    }
}

extension LineageLoader {
    /// Loads the lineages of one submission, and applies a decision.
    ///
    /// - Parameters:
    ///   - importRun: The id of the import that makes the grants, or `nil`.
    ///   - accounts: The accounts that get an answer.
    ///   - decide: Makes the decision, given the rows of ``statements``.
    /// - Returns: The result of `decide`, and its effects.
    func settle<Result>(
        _ cause: LedgerEvent.Cause, import importRun: Int64? = nil, answering accounts: [String] = [],
        _ decide: (inout LedgerDecision, _ answers: [[SQLRow]]) throws(LedgerError) -> Result
    ) throws(LedgerError) -> Settled<Result> {
        let loaded = try load()
        if let registration {
            try connection.write(
                "INSERT INTO account_tokens VALUES ($1, $2, $3, $4, NULL)",
                [
                    .text(registration.token.description), .text(registration.account),
                    .text(registration.isMade ? "made" : "stored"), SQLValue(now),
                ])
        }
        var decision = LedgerDecision(
            submissions[0], about: Set(loaded.numbers[0] + numbers).sorted(), in: loaded.gathered, policy.rules, cause,
            import: importRun, at: now)
        let result = try decide(&decision, loaded.answers)
        let (sequences, posted) = try connection.apply(
            decision.effects, from: loaded.stored, to: decision.lineages, policy, cause, answering: accounts, at: now)
        return Settled(result: result, effects: decision.effects, numbers: sequences, posted: posted)
    }
}

/// A decision that was applied.
struct Settled<Result> {
    let result: Result
    let effects: LedgerDecision.Effects
    /// The numbers of the answers.
    let numbers: [Int64]
    /// The events, as they are delivered.
    let posted: [LedgerEvent]
}
