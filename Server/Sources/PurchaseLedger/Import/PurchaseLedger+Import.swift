public import AppStoreReceipt
public import SpanASN1
import StrictText

/// What existed before the ledger. Every line may be imported any number of times.
extension PurchaseLedger {
    /// The number of lines that are imported together: as many as share a sync of SQLite's file well, and few enough for PostgreSQL's table of locks, which has a few thousand.
    public var importedTogether: Int { store is SQLiteStore ? 4096 : 256 }

    /// Imports lines. What an imported line grants to its account is told to no backend, which knows it already; what it causes besides is told.
    ///
    /// - Parameters:
    ///   - lines: At most ``importedTogether`` lines.
    ///   - file: What identifies the file.
    ///   - progress: The bytes, lines and faults of the file up to the last of these lines. What becomes of these lines is counted in it, and recorded with them.
    ///   - now: The date of the import.
    /// - Returns: What became of each line.
    public func `import`(
        _ lines: [ImportedLine], of file: String, _ progress: inout ImportProgress, at now: Instant = .now
    ) throws(LedgerError) -> [ImportedLine.Outcome] {
        var outcomes = [ImportedLine.Outcome](repeating: .known, count: lines.count)
        var spent: [(index: Int, transaction: SpentTransaction)] = []
        var tokens: [(index: Int, account: String, token: AppAccountToken)] = []
        for (index, line) in lines.enumerated() {
            switch line {
            case .evidence(let account, let evidence):
                outcomes[index] = try importEvidence(evidence, for: account, at: now)
            case .spent(let transaction): spent.append((index, transaction))
            case .token(let account, let token):
                try LedgerText.check(account, "account")
                tokens.append((index, account, token))
            }
        }
        if !spent.isEmpty {
            let transactions = spent.map(\.transaction)
            let found = try store.write { [policy] (connection) throws(LedgerError) in
                try connection.importSpent(transactions, policy, at: now)
            }
            for (item, outcome) in zip(spent, found) { outcomes[item.index] = outcome }
        }
        let waiting = try waitingTokens(tokens.map(\.token))
        for (index, account, token) in tokens where waiting.contains(token) {
            do throws(LedgerError) {
                outcomes[index] = try self.token(for: account, storing: token, at: now).isNew ? .added : .known
            } catch {
                guard error.code == .tokenTaken else { throw error }
                outcomes[index] = .tokenTaken
            }
        }
        let others = tokens.filter { !waiting.contains($0.token) }
        let before = (progress, outcomes)
        (progress, outcomes) = try store.write { (connection) throws(LedgerError) in
            var (progress, outcomes) = before
            let found = try connection.importTokens(others.map { ($0.account, $0.token) }, at: now)
            for (item, outcome) in zip(others, found) { outcomes[item.index] = outcome }
            progress.count(outcomes)
            try connection.record(progress, of: file)
            return (progress, outcomes)
        }
        return outcomes
    }

    /// Returns what would become of lines, as far as the ledger says, and changes nothing.
    public func check(_ lines: [ImportedLine]) throws(LedgerError) -> [ImportedLine.Outcome] {
        try store.read { (connection) throws(LedgerError) in
            try lines.map { (line) throws(LedgerError) in
                switch line {
                case .token(let account, let token):
                    return try connection.outcome(of: token, for: account) ?? .added
                case .spent(let transaction):
                    return try connection.outcome(of: [transaction.keys], for: transaction.account)
                case .evidence(let account, let evidence):
                    let keys = evidence.purchases.compactMap { PurchaseKeys($0.purchase) }
                    return try connection.outcome(of: keys, for: account)
                }
            }
        }
    }

    /// How far a file was imported; `nil` if it was not begun, or is complete.
    public func importProgress(of file: String) throws(LedgerError) -> ImportProgress? {
        try store.read { (connection) throws(LedgerError) in
            try connection.run(
                "SELECT bytes, lines, added, known, conflicts, faults FROM imports WHERE file = $1", [.text(file)]
            ).first.map { (row) throws(LedgerError) in
                var progress = ImportProgress()
                (progress.byteCount, progress.lineCount) = (try row.integer(0), try row.integer(1))
                (progress.addedCount, progress.knownCount) = (try row.integer(2), try row.integer(3))
                (progress.conflictCount, progress.faultCount) = (try row.integer(4), try row.integer(5))
                return progress
            }
        }
    }

    /// Forgets how far a file was imported: it is complete, and begins anew the next time.
    public func endImport(of file: String) throws(LedgerError) {
        try store.write { (connection) throws(LedgerError) in
            try connection.write("DELETE FROM imports WHERE file = $1", [.text(file)])
        }
    }

    private func importEvidence(
        _ evidence: VerifiedEvidence, for account: String, at now: Instant
    ) throws(LedgerError) -> ImportedLine.Outcome {
        let outcomes = try redeem(evidence, for: account, isImported: true, at: now).outcomes.map(\.outcome)
        let conflicts: [Outcome] = [.belongsToAnother, .notYours, .tokenMissing]
        if let conflict = outcomes.first(where: conflicts.contains) { return .conflict(conflict.rawValue) }
        return outcomes.contains(.granted) ? .added : .known
    }

    /// The tokens among some for which purchases wait.
    private func waitingTokens(_ tokens: [AppAccountToken]) throws(LedgerError) -> Set<AppAccountToken> {
        try store.read { (connection) throws(LedgerError) in try connection.waitingTokens(tokens) }
    }
}

extension ImportedLine.Outcome {
    fileprivate static let tokenTaken = Self.conflict("token-taken")
    fileprivate static let belongsToAnother = Self.conflict(Outcome.belongsToAnother.rawValue)
}

extension ImportProgress {
    fileprivate mutating func count(_ outcomes: [ImportedLine.Outcome]) {
        for outcome in outcomes {
            switch outcome {
            case .added: addedCount += 1
            case .known: knownCount += 1
            case .conflict: conflictCount += 1
            }
        }
    }
}

extension SQLConnection {
    fileprivate func record(_ progress: ImportProgress, of file: String) throws(LedgerError) {
        let numbers = [
            progress.byteCount, progress.lineCount, progress.addedCount, progress.knownCount, progress.conflictCount,
            progress.faultCount,
        ]
        try write(
            """
            INSERT INTO imports VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (file) DO UPDATE
            SET bytes = excluded.bytes, lines = excluded.lines, added = excluded.added, known = excluded.known,
                conflicts = excluded.conflicts, faults = excluded.faults
            """, [.text(file)] + numbers.map(SQLValue.integer))
    }

    // MARK: Tokens

    fileprivate func waitingTokens(_ tokens: [AppAccountToken]) throws(LedgerError) -> Set<AppAccountToken> {
        // In most ledgers, none waits.
        guard !tokens.isEmpty, try !run("SELECT 1 FROM waiting_tokens LIMIT 1").isEmpty else { return [] }
        let question = SQLQuestion(
            "SELECT token FROM waiting_tokens WHERE token \(dialect.oneOf("$1", tokens.count))",
            oneOf: tokens.map { .text($0.description) }, dialect)
        var waiting: Set<AppAccountToken> = []
        for row in try run([question])[0] { waiting.insert(AppAccountToken(try row.text(0))) }
        return waiting
    }

    /// What the ledger has about a token; `nil` for nothing.
    fileprivate func outcome(
        of token: AppAccountToken, for account: String
    ) throws(LedgerError) -> ImportedLine.Outcome? {
        do throws(LedgerError) {
            return try self.token(of: account, token) == nil ? nil : .known
        } catch {
            guard error.code == .tokenTaken else { throw error }
            return .tokenTaken
        }
    }

    /// Stores tokens for which nothing waits.
    ///
    /// - Throws: A conflict if something waits for one of them meanwhile.
    fileprivate func importTokens(
        _ tokens: [(account: String, token: AppAccountToken)], at now: Instant
    ) throws(LedgerError) -> [ImportedLine.Outcome] {
        guard !tokens.isEmpty else { return [] }
        func sorted(_ texts: [String]) -> [String] {
            Set(texts.map(UTF8Bytes.init)).map(\.string).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        }
        try lockAccounts(tokens.map(\.account))
        for token in sorted(tokens.map(\.token.description)) {
            for lock in dialect.tokenLock { try write(lock, [.text(token)]) }
        }
        guard try waitingTokens(tokens.map(\.token)).isEmpty else { throw .conflict }
        let inserted = try run(
            tokens.map { account, token in
                SQLStatement(
                    """
                    INSERT INTO account_tokens VALUES ($1, $2, 'stored', $3, NULL)
                    ON CONFLICT (token) DO NOTHING RETURNING 1
                    """, [.text(token.description), .text(account), SQLValue(now)])
            })
        return try zip(tokens, inserted).map { (item, rows) throws(LedgerError) in
            rows.isEmpty ? try outcome(of: item.token, for: item.account) ?? .known : .added
        }
    }

    // MARK: Transactions

    /// What the ledger has about the purchases of an account.
    fileprivate func outcome(
        of purchases: [PurchaseKeys], for account: String
    ) throws(LedgerError) -> ImportedLine.Outcome {
        var isKnown = true
        for keys in purchases {
            var families: Set<Int64> = []
            for key in keys.all {
                let rows = try run(
                    """
                    SELECT families.id, families.account FROM identifiers
                    JOIN families ON families.id = identifiers.family_id WHERE environment = $1
                        AND bundle_id = $2 AND transaction_id = $3
                    """, key.columns)
                for row in rows {
                    families.insert(try row.integer(0))
                    if let owner = try row.optionalText(1), !owner.hasSameBytes(as: account) {
                        return .belongsToAnother
                    }
                }
            }
            // A wrong original transaction would make two purchases one.
            if families.count > 1 { return .conflict("two-purchases") }
            let grants = try run(
                "SELECT account FROM grants WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3",
                keys.transaction.columns)
            if let row = grants.first, try !row.text(0).hasSameBytes(as: account) { return .belongsToAnother }
            if grants.isEmpty { isKnown = false }
        }
        return isKnown ? .known : .added
    }

    /// Records transactions that were granted before.
    fileprivate func importSpent(
        _ transactions: [SpentTransaction], _ policy: LedgerPolicy, at now: Instant
    ) throws(LedgerError) -> [ImportedLine.Outcome] {
        try lockAccounts(transactions.map(\.account))
        var outcomes = try transactions.map { (transaction) throws(LedgerError) in
            try outcome(of: [transaction.keys], for: transaction.account)
        }
        let new = transactions.indices.filter { if case .added = outcomes[$0] { true } else { false } }
        let brought = BroughtEvidence(spent: new.map { transactions[$0].keys })
        // With all that is known of them, as where tokens are used.
        var families = try Families(of: [brought], self, at: now, usingTokens: true)
        var grants = Grants()
        var withEvidence: Set<Int64> = []
        for (family, contents) in families.with(families.numbers(of: brought)) {
            // A grant without evidence is in no part.
            if family.subscription != nil { try families.undivide(family.id) }
            grants.add(contents)
            if !contents.variants.isEmpty { withEvidence.insert(family.id) }
        }
        for index in new {
            let transaction = transactions[index]
            let key = transaction.keys.transaction
            guard let family = families[key] else { continue }
            let owner = grants[key]?.account ?? family.account ?? transaction.account
            guard owner.hasSameBytes(as: transaction.account) else {
                outcomes[index] = .belongsToAnother
                continue
            }
            guard grants[key] == nil else {
                outcomes[index] = .known
                continue
            }
            if family.account == nil {
                try families.claim(
                    family.id, for: transaction.account, restingOn: .lasting, at: transaction.date)
            }
            let grant = Grant(
                transaction: key, account: transaction.account, productID: transaction.productID,
                quantity: transaction.quantity, until: nil, isVoided: false)
            try grants.insert(grant, self, at: transaction.date)
        }
        if !withEvidence.isEmpty {
            // A refund that was known before is told now.
            let known = BroughtEvidence(try onePurchase(ofEach: withEvidence.sorted()))
            var transaction = try LedgerTransaction(recording: known, policy, self, .redeem, at: now)
            try transaction.settle()
        }
        return outcomes
    }
}
