@_spi(Ledger) import AppStoreReceipt
import StrictText

/// Lines that are written in one database transaction. Each is decided after the previous one was written, so the
/// result is the same as for separate transactions.
struct ImportBatch {
    let connection: any SQLConnection
    let policy: LedgerPolicy
    /// The id of the import.
    let run: Int64
    let now: Instant
    private(set) var notices = LedgerNotices()
    private var tokenCounts: [UTF8Bytes: Int64] = [:]

    init(_ connection: any SQLConnection, _ policy: LedgerPolicy, run: Int64, at now: Instant) {
        (self.connection, self.policy, self.run, self.now) = (connection, policy, run, now)
    }

    /// Locks the subjects of the lines in the same order as all other transactions. Later locks, such as that of a
    /// lineage that a line creates, can deadlock with a server. PostgreSQL ends the deadlock, and the lines are written
    /// again.
    func lock(_ lines: [ImportedLine]) throws(LedgerError) {
        guard connection.dialect.isServer else { return }
        try connection.lockAccounts(lines.map(\.account))
        var (keys, read, written): (Set<TransactionKey>, Set<AppAccountToken>, Set<AppAccountToken>) = ([], [], [])
        for line in lines {
            switch line {
            case .token(_, let token): written.insert(token)
            case .spent(let transaction): keys.formUnion(transaction.keys.all)
            case .evidence(_, let evidence):
                for purchase in evidence.signedPurchases.map(\.purchase) {
                    keys.formUnion(PurchaseKeys(purchase)?.all ?? [])
                    if let token = purchase.accountToken { read.insert(token) }
                }
            }
        }
        let lineages = try connection.lineageNumbers(of: keys, waitingFor: written)
        try connection.run(
            "SELECT id FROM families WHERE id = ANY($1) ORDER BY id FOR UPDATE",
            [.array(lineages.sorted().map(SQLValue.integer))])
        for statement in TokenLocks.statements(reading: read, writing: written, connection.dialect) {
            try connection.write(statement.text, statement.parameters)
        }
    }

    mutating func add(_ line: ImportedLine) throws(LedgerError) -> ImportedLine.Result {
        try LedgerText.check(line.account, "account")
        switch line {
        case .token(let account, let token): return ImportedLine.Result(try add(token, account))
        case .spent(let transaction): return try add(transaction)
        case .evidence(let account, let evidence): return try add(evidence, account)
        }
    }

    // MARK: Tokens

    private mutating func add(
        _ token: AppAccountToken, _ account: String
    ) throws(LedgerError) -> ImportedLine.Outcome {
        if let isOfAnother = try isOfAnother(token, than: account) {
            return isOfAnother ? .conflict("token-taken") : .known
        }
        let name = UTF8Bytes(account)
        let count = if let known = tokenCounts[name] { known } else { try connection.tokenCount(of: account) }
        guard count < PurchaseLedger.maximumTokenCount else { return .conflict("too-many-tokens") }
        notices += try connection.register(
            TokenRegistration(token: token, account: account, isMade: false), policy, import: run, at: now)
        tokenCounts[name] = count + 1
        return .added
    }

    /// Returns whether a token is that of another account, or `nil` if it is nobody's.
    private func isOfAnother(_ token: AppAccountToken, than account: String) throws(LedgerError) -> Bool? {
        do throws(LedgerError) {
            return try connection.token(of: account, token).map { _ in false }
        } catch {
            guard error.code == .tokenTaken else { throw error }
            return true
        }
    }

    // MARK: Evidence

    private mutating func add(
        _ evidence: VerifiedEvidence, _ account: String
    ) throws(LedgerError) -> ImportedLine.Result {
        let submission = Submission(evidence)
        let known = try connection.known(submission.claimedTransactions.map(\.key))
        let (conflict, notes) = submission.comparison(with: known, for: account)
        if let conflict { return conflict }
        let request = RedemptionRequest(
            submission: submission, claim: Claim(account: account, token: nil), answered: nil,
            policy: policy, now: now, import: run)
        guard let redemption = try RedemptionRequest.answer([request], connection)[0] else {
            throw LedgerError(.storeFailed, "no answer for a line")
        }
        notices += redemption.notices
        return ImportedLine.Result(ImportedLine.Outcome(redemption.outcomes.map(\.outcome)), notes: notes)
    }

    // MARK: Transactions

    private mutating func add(_ spent: SpentTransaction) throws(LedgerError) -> ImportedLine.Result {
        let key = spent.keys.transaction
        let found = try connection.known([key] + spent.keys.relatives.filter { $0 != key })
        let decision = try spent.decision(found[0], found.dropFirst().first) { (token) throws(LedgerError) in
            try isOfAnother(token, than: spent.account) == true
        }
        switch decision {
        case .ends(let result): return result
        case .grants(let keys, let notes):
            try insert(spent, keys)
            return ImportedLine.Result(.added, notes: notes)
        }
    }

    private mutating func insert(_ spent: SpentTransaction, _ keys: PurchaseKeys) throws(LedgerError) {
        var loader = LineageLoader(
            connection: connection, submissions: [Submission(spent: [keys])], policy: policy, now: now)
        loader.isWhole = true
        let settled = try loader.settle(.redeem, import: run) { (decision, _) throws(LedgerError) in
            // Another account claimed it since the line was decided, or it was granted. Decide the line again.
            guard decision.grant(spent) else { throw .conflict }
        }
        // There can be events for the account's other purchases, and for a refund that was already known.
        notices += settled.effects.notices
    }
}

private struct App: Hashable {
    let environment: AppStoreEnvironment
    let bundleID: UTF8Bytes
}

extension SQLConnection {
    /// Returns the lineages of transactions, and those that wait for tokens.
    func lineageNumbers(
        of keys: Set<TransactionKey>, waitingFor tokens: Set<AppAccountToken>
    ) throws(LedgerError) -> Set<Int64> {
        let apps = Dictionary(grouping: keys) { App(environment: $0.environment, bundleID: $0.bundleID) }
        var statements = apps.map { app, keys in
            let rows = dialect.identifiers(of: keys.map(\.transactionID.string))
            return SQLStatement(
                "SELECT family_id FROM \(rows.table) AS identifiers",
                [.text(app.environment.rawValue), .text(app.bundleID.string), rows.parameter])
        }
        if !tokens.isEmpty {
            let names = dialect.names(tokens.map(\.description))
            statements.append(
                SQLStatement(
                    "SELECT family_id FROM waiting_tokens WHERE token IN (SELECT value FROM \(names.table))",
                    [names.parameter]))
        }
        var lineages: Set<Int64> = []
        for row in try run(statements).joined() { lineages.insert(try row.integer(0)) }
        return lineages
    }
}
