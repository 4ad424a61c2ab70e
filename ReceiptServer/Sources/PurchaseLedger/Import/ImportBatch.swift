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
        case .token(let account, let token): return ImportedLine.Result(outcome: try add(token, account))
        case .spent(let transaction): return try add(transaction)
        case .evidence(let account, let evidence): return try add(evidence, account)
        }
    }

    // MARK: Tokens

    private mutating func add(
        _ token: AppAccountToken, _ account: String
    ) throws(LedgerError) -> ImportedLine.Outcome {
        do throws(LedgerError) {
            if try connection.token(of: account, token) != nil { return .known }
        } catch {
            guard error.code == .tokenTaken else { throw error }
            return .conflict("token-taken")
        }
        let name = UTF8Bytes(account)
        let count = if let known = tokenCounts[name] { known } else { try connection.tokenCount(of: account) }
        guard count < PurchaseLedger.maximumTokenCount else { return .conflict("too-many-tokens") }
        notices += try connection.register(
            TokenRegistration(token: token, account: account, isMade: false), policy, import: run, at: now)
        tokenCounts[name] = count + 1
        return .added
    }

    // MARK: Evidence

    private mutating func add(
        _ evidence: VerifiedEvidence, _ account: String
    ) throws(LedgerError) -> ImportedLine.Result {
        let submission = Submission(evidence)
        var seen: Set<TransactionKey> = []
        let claimed = submission.claimed.filter { _, keys in keys.map { seen.insert($0.transaction).inserted } ?? false
        }
        let known = try connection.known(claimed.compactMap(\.keys?.transaction))
        var notes: [String] = []
        for ((signed, _), known) in zip(claimed, known) {
            guard let granted = known.granted, granted.account.hasSameBytes(as: account) else { continue }
            if let difference = signed.purchase.contradictions(of: known).first {
                return ImportedLine.Result(outcome: .conflict(difference))
            }
            guard known.evidence.isEmpty,
                let note = KnownTransaction.difference(signed.purchase.purchaseDate, [granted.date])
            else { continue }
            notes.append(note)
        }
        let request = RedemptionRequest(
            submission: submission, claim: Claim(account: account, token: nil), answered: nil,
            policy: policy, now: now, import: run)
        guard let redemption = try RedemptionRequest.answer([request], connection)[0] else {
            throw LedgerError(.storeFailed, "no answer for a line")
        }
        notices += redemption.notices
        let outcomes = redemption.outcomes.map(\.outcome)
        let conflicts: [Outcome] = [.belongsToAnother, .notYours, .tokenMissing]
        let outcome: ImportedLine.Outcome =
            if let conflict = outcomes.first(where: conflicts.contains) {
                .conflict(conflict.rawValue)
            } else {
                outcomes.contains(.granted) ? .added : .known
            }
        return ImportedLine.Result(outcome: outcome, notes: notes)
    }

    // MARK: Transactions

    private mutating func add(_ spent: SpentTransaction) throws(LedgerError) -> ImportedLine.Result {
        let key = spent.keys.transaction
        let found = try connection.known([key] + spent.keys.relatives.filter { $0 != key })
        let known = found[0]
        let original = known.isOfMember ? nil : found.dropFirst().first
        if SupportID.isReserved(key.transactionID.string), known.granted == nil {
            return ImportedLine.Result(outcome: .fault("'transaction_id' is none that this ledger has made"))
        }
        let contradictions = spent.contradictions(of: known, original)
        // If the line names the wrong original transaction, the owner of that one doesn't matter.
        let concerned = known.lineage != nil && contradictions.original != nil ? [known] : [known, original]
        let owners = concerned.compactMap(\.self).flatMap { [$0.owner, $0.granted?.account] }.compactMap(\.self)
        guard owners.allSatisfy({ $0.hasSameBytes(as: spent.account) }) else {
            return ImportedLine.Result(outcome: .conflict(Outcome.belongsToAnother.rawValue))
        }
        var notes = [spent.dateNote(known)].compactMap(\.self)
        // Refusing a purchase without an owner would leave it, though spent, to the next client that submits it.
        if !owners.isEmpty, let first = contradictions.all.first {
            return ImportedLine.Result(outcome: .conflict(first), notes: notes)
        }
        guard known.granted == nil else { return ImportedLine.Result(outcome: .known, notes: notes) }
        notes = contradictions.all + notes
        if owners.isEmpty, let note = try otherToken(of: known, spent.account) { notes.insert(note, at: 0) }
        let isAlone = contradictions.original != nil || known.isOfMember
        try insert(spent, isAlone ? PurchaseKeys(granted: key) : spent.keys)
        return ImportedLine.Result(outcome: .added, notes: notes)
    }

    private func otherToken(of known: KnownTransaction, _ account: String) throws(LedgerError) -> String? {
        for token in known.evidence.compactMap(\.accountToken) {
            do throws(LedgerError) { _ = try connection.token(of: account, token) } catch {
                guard error.code == .tokenTaken else { throw error }
                return "token: it was bought with the token of another account"
            }
        }
        return nil
    }

    private func grant(_ spent: SpentTransaction) -> Grant {
        var grant = Grant(
            transaction: spent.keys.transaction, account: spent.account, productID: spent.productID,
            quantity: Int64(spent.quantity ?? 1), until: nil, isVoided: false)
        (grant.importRun, grant.importedOriginal) = (run, spent.originalTransactionID)
        return grant
    }

    private mutating func insert(_ spent: SpentTransaction, _ keys: PurchaseKeys) throws(LedgerError) {
        var loader = LineageLoader(
            connection: connection, submissions: [Submission(spent: [keys])], policy: policy, now: now)
        loader.isWhole = true
        let settled = try loader.settle(.redeem, import: run) {
            [grant = grant(spent)] (decision, _) throws(LedgerError) in
            // Another account claimed it since the line was decided, or it was granted. Decide the line again.
            guard decision.grantWithoutEvidence(grant, in: .stated, at: spent.date) else { throw .conflict }
            // There can be events for the account's other purchases, and for a refund that was already known.
            decision.settle()
        }
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
            let rows = dialect.rows(of: keys.map(\.transactionID.string), in: "identifiers")
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
