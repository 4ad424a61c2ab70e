@_spi(Ledger) import AppStoreReceipt
import StrictText

/// Loads the lineages that submissions are about. Decisions load them in no other way.
///
/// All transactions take locks in the same order, so that they can't deadlock: the names of the requesting accounts,
/// lineages by number, token locks by number, new identifiers by bytes, then accounts.
struct LineageLoader {
    let connection: any SQLConnection
    var submissions: [Submission]
    let policy: LedgerPolicy
    let now: Instant
    /// Other lineages to load.
    var numbers: [Int64] = []
    /// Whether to read and lock tokens.
    var readsTokens = true
    /// Whether to read evidence and renewal information. Without them, nothing but names of accounts may change.
    var readsEvidence = true
    /// Whether to load whole lineages, even where a part would decide.
    var isWhole = false
    /// The token to register for an account.
    var registration: TokenRegistration?
    /// Other statements to run in the same round trip.
    var statements: [SQLStatement] = []

    struct Loaded {
        /// As they are stored.
        let stored: Lineages
        /// With every submitted transaction in its lineage.
        let gathered: Lineages
        /// The lineages that each submission is about.
        let numbers: [[Int64]]
        /// The rows of ``statements``.
        let answers: [[SQLRow]]
    }

    private var dialect: SQLDialect { connection.dialect }
    private var usesTokens: Bool { policy.orders != nil || registration != nil }

    /// The identifiers found before locking.
    private struct Found {
        var identifiers: [TransactionKey: Int64] = [:]
        var members: Set<Int64> = []
        /// The original transactions of divided lineages that can be loaded in part.
        var divided: [Int64: TransactionKey] = [:]
    }

    // MARK: Ways to load

    /// Loads lineages, and locks them until the end of the transaction.
    ///
    /// - Throws: A conflict if another transaction made or joined one of them at the same time.
    func load(isLocking: Bool = true) throws(LedgerError) -> Loaded {
        let keys = try keys().union
        var found = Found()
        let numbers = SQLStatement(dialect.freeNumbers, [.integer(Int64(keys.count))])
        let free = try find(keys, &found, and: isLocking && !keys.isEmpty ? [numbers] : [])
        var gathering = Gathering(submissions, keys, found.identifiers, members: found.members)
        let names = Set(gathering.renamed.values).subtracting(keys)
        if !names.isEmpty {
            _ = try find(names, &found)
            gathering = Gathering(submissions, keys, found.identifiers, members: found.members)
        }
        let ids = gathering.lineages.union(self.numbers).sorted()
        var (stored, answers) = try read(ids, found, gathering, isLocking: isLocking)
        stored.identifiers = found.identifiers
        stored.freeNumbers = try free.map { (row) throws(LedgerError) in try row.integer(0) }[...]
        try readTokens(&stored, isLocking: isLocking)
        return Loaded(stored, gathering, submissions, answers)
    }

    /// Loads lineages without locks, from a snapshot.
    ///
    /// - Returns: The lineages of each submission, or `nil` if something of it must be recorded.
    func look() throws(LedgerError) -> [Loaded?] {
        let keys = try keys()
        // PostgreSQL answers everything in one round trip. SQLite has no round trips, so don't ask what a new purchase
        // doesn't need.
        let early = dialect.isServer ? statements : []
        let renewals = renewalKeys(of: submissions).map(LineageStatements.renewal)
        let apps = Array(Self.byApp(keys.union))
        let rows = try connection.run(
            apps.map { LineageStatements.whole(of: $1.map(\.transactionID), in: $0.environment, $0.bundleID, dialect) }
                + renewals + early)
        var stored = Lineages()
        for row in rows.prefix(apps.count).joined() { try add(row, to: &stored) }
        try read(rows.dropFirst(apps.count).prefix(renewals.count), &stored)
        var found = Found(
            identifiers: stored.identifiers,
            members: Set(stored.byID.values.lazy.filter(\.isOfMember).map(\.id)))
        let isDivided = stored.byID.values.contains { $0.division != nil }
        if isDivided { _ = try find(keys.union, &found) }
        let gatherings = gatherings(keys.each, found)
        var recorded = self
        recorded.submissions = zip(submissions, gatherings).filter { $1 != nil }.map(\.0)
        guard !recorded.submissions.isEmpty else { return gatherings.map { _ in nil } }
        let ids = Set(gatherings.lazy.compactMap(\.self).flatMap(\.counting))
        stored.byID = stored.byID.only(ids)
        var answers = Array(rows.suffix(early.count))
        if stored.byID.values.contains(where: { $0.division != nil }) {
            found.divided = found.divided.filter { ids.contains($0.key) }
            let all = Gathering(recorded.submissions, keys.union, found.identifiers, members: found.members)
            (stored, answers) = try recorded.read(ids.sorted(), found, all, isLocking: false, readsClaims: false)
            stored.identifiers = found.identifiers
        } else if !dialect.isServer {
            answers = try connection.run(statements)
        }
        try recorded.readTokens(&stored, isLocking: false)
        return zip(submissions, gatherings).map { [stored] submission, gathering in
            gathering.map {
                Loaded(stored.only($0, renewalKeys(of: [submission])), $0, [submission], answers)
            }
        }
    }

    /// Returns what each submission alone is about, or `nil` if something of it must be recorded.
    private func gatherings(_ keys: [Set<TransactionKey>], _ found: Found) -> [Gathering?] {
        let transactions = submissions.count == 1 ? [:] : Dictionary(grouping: found.identifiers, by: \.value)
        return zip(submissions, keys).map { submission, keys in
            var own = found.identifiers
            if submissions.count > 1 {
                let lineages = Set(keys.lazy.compactMap { found.identifiers[$0] })
                own = Dictionary(
                    uniqueKeysWithValues: lineages.lazy.flatMap { transactions[$0] ?? [] }.map { ($0.key, $0.value) })
            }
            let gathering = Gathering([submission], keys, own, members: found.members)
            return gathering.isRecorded ? gathering : nil
        }
    }

    // MARK: Identifiers

    private struct App: Hashable {
        let environment: AppStoreEnvironment
        let bundleID: UTF8Bytes
    }

    private static func byApp(_ keys: Set<TransactionKey>) -> [App: [TransactionKey]] {
        Dictionary(grouping: keys) { App(environment: $0.environment, bundleID: $0.bundleID) }
    }

    /// Returns the keys of each submission, and those of all.
    private func keys() throws(LedgerError) -> (each: [Set<TransactionKey>], union: Set<TransactionKey>) {
        let keys = try submissions.map { (submission) throws(LedgerError) in try self.keys(of: submission) }
        return (keys, keys.count == 1 ? keys[0] : Set(keys.joined()))
    }

    /// Returns the keys of a submission, and those of the subscriptions in renewal information without a purchase. It
    /// names no app; the id is unique in an environment.
    private func keys(of submission: Submission) throws(LedgerError) -> Set<TransactionKey> {
        var keys = submission.keys
        for renewal in submission.renewals {
            guard let key = RenewalKey(renewal),
                !submission.keys.contains(where: {
                    $0.environment == key.environment && $0.transactionID == key.originalTransactionID
                })
            else { continue }
            let id = key.originalTransactionID.string
            let rows = try connection.run(
                """
                SELECT environment, bundle_id, transaction_id FROM identifiers
                WHERE environment = $1 AND transaction_id IN ($2, $3)
                """, [.text(key.environment.rawValue), .text(id), .text(MemberID.bought(id))])
            for row in rows { keys.insert(try row.transactionKey) }
        }
        return keys
    }

    /// - Returns: The rows of `others`.
    private func find(
        _ keys: Set<TransactionKey>, _ found: inout Found, and others: [SQLStatement] = []
    ) throws(LedgerError) -> [SQLRow] {
        let statements = Self.byApp(keys).map { app, keys in
            LineageStatements.identifiers(keys.map(\.transactionID), in: app.environment, app.bundleID, dialect)
        }
        let rows = try connection.run(statements + others)
        for row in rows.prefix(statements.count).joined() {
            let (key, id) = (try row.transactionKey, try row.integer("family_id"))
            found.identifiers[key] = id
            if try !row.isNull("is_member") { found.members.insert(id) }
            if let division = try Division(row), isLoadedInPart(division) {
                found.divided[id] = key.sibling(division.original.string)
            }
        }
        return Array(rows.dropFirst(statements.count).joined())
    }

    // MARK: Contents

    private func add(_ row: SQLRow, to lineages: inout Lineages) throws(LedgerError) {
        let id = try row.integer("id")
        // Each row repeats the lineage.
        if lineages.byID[id] == nil { lineages.byID[id] = try Lineage(row, readsClaim: false) }
        guard try !row.isNull("transaction_id") else { return }
        let key = try row.transactionKey
        try lineages.byID[id]?.add(row, isFirst: lineages.identifiers[key] == nil)
        lineages.identifiers[key] = id
    }

    /// Reads lineages, whole or only the parts that decide, and may lock them.
    ///
    /// - Parameter readsClaims: Whether to read all that lasting claims rest on.
    private func read(
        _ ids: [Int64], _ found: Found, _ gathering: Gathering, isLocking: Bool, readsClaims: Bool = true
    ) throws(LedgerError) -> (Lineages, answers: [[SQLRow]]) {
        let parts = partSelections(found, gathering)
        let whole = ids.filter { id in !parts.contains { $0.lineage == id } }
        let lock = LineageStatements.lineages(ids, dialect, isLocking: isLocking)
        let contents = LineageStatements.contents(whole, dialect, withEvidence: readsEvidence)
        let renewals = renewalKeys(of: submissions).map { SQLQuery(LineageStatements.renewal($0)) }
        let partQueries = parts.flatMap { $0.queries(dialect) }
        var rows = try connection.run(
            [lock] + contents + renewals + partQueries + statements.map(SQLQuery.init))[...]
        func next(_ count: Int) -> ArraySlice<[SQLRow]> {
            defer { rows = rows.dropFirst(count) }
            return rows.prefix(count)
        }
        var lineages = Lineages()
        for row in next(1).joined() {
            let lineage = try Lineage(row, readsClaim: readsClaims)
            lineages.byID[lineage.id] = lineage
        }
        // A lineage was joined with another after its identifiers were read.
        guard lineages.byID.count == ids.count else { throw .conflict }
        try Self.read(next(contents.count), into: &lineages.byID)
        try read(next(renewals.count), &lineages)
        try readParts(parts, next(partQueries.count), into: &lineages, isLocking: isLocking)
        return (lineages, Array(rows))
    }

    /// - Parameter answers: Rows of ``LineageStatements/contents(_:_:withEvidence:)``.
    fileprivate static func read(
        _ answers: ArraySlice<[SQLRow]>, into lineages: inout [Int64: Lineage]
    ) throws(LedgerError) {
        for (index, rows) in answers.enumerated() {
            for row in rows {
                let id = try row.integer("family_id")
                switch index {
                case 0: try lineages[id]?.addGrant(row)
                case 1: try lineages[id]?.addEvidence(row)
                default: lineages[id]?.renewals.append(try StoredJSON.decode(row.text("renewal")))
                }
            }
        }
    }

    // MARK: Renewal information

    /// The subscriptions whose stored renewal information decides, whatever lineages are known.
    private func renewalKeys(of submissions: [Submission]) -> [RenewalKey] {
        var keys = Set(submissions.lazy.flatMap(\.renewals).compactMap { RenewalKey($0) })
        if policy.lifecycleEvents {
            for purchase in submissions.lazy.flatMap(\.purchases).map(\.signed.purchase)
            where purchase.expiresDate != nil && LedgerText.isStorable(purchase.originalTransactionID) {
                guard let environment = purchase.environment else { continue }
                keys.insert(
                    RenewalKey(
                        environment: environment, originalTransactionID: UTF8Bytes(purchase.originalTransactionID)))
            }
        }
        return keys.sorted()
    }

    private func read(_ answers: ArraySlice<[SQLRow]>, _ lineages: inout Lineages) throws(LedgerError) {
        for (key, rows) in zip(renewalKeys(of: submissions), answers) {
            lineages.renewals[key] = try rows.first.map { (row) throws(LedgerError) in
                try StoredJSON.decode(row.text("renewal"))
            }
        }
    }
}

extension LineageLoader.Loaded {
    fileprivate init(
        _ stored: Lineages, _ gathering: Gathering, _ submissions: [Submission], _ answers: [[SQLRow]]
    ) {
        var gathered = stored
        gathered.gather(gathering)
        self.init(
            stored: stored, gathered: gathered,
            numbers: submissions.map { gathering.numbers(of: $0, in: gathered) }, answers: answers)
    }
}

extension Gathering {
    /// Whether nothing that was submitted must be recorded, as far as identifiers tell.
    fileprivate var isRecorded: Bool {
        splits.isEmpty && renamed.isEmpty && keys.allSatisfy { identifiers[$0] != nil }
    }

    /// The lineages of what counts. The original transaction that a receipt names for a member doesn't.
    fileprivate var counting: Set<Int64> { Set(keys.lazy.compactMap { identifiers[$0] }) }
}

extension Lineages {
    /// These, without what is of other submissions.
    fileprivate func only(_ gathering: Gathering, _ renewalKeys: [RenewalKey]) -> Lineages {
        var lineages = self
        lineages.identifiers = gathering.identifiers
        lineages.byID = byID.only(gathering.counting)
        lineages.renewals = renewals.only(renewalKeys)
        return lineages
    }
}

extension Dictionary {
    fileprivate func only(_ keys: some Sequence<Key>) -> [Key: Value] {
        var part: [Key: Value] = [:]
        for key in keys { part[key] = self[key] }
        return part
    }
}

extension SQLConnection {
    /// Returns lineages by their numbers, without locks.
    func lineages(_ ids: [Int64]) throws(LedgerError) -> [Lineage] {
        let rows = try run([LineageStatements.lineages(ids, dialect)] + LineageStatements.contents(ids, dialect))
        var lineages: [Int64: Lineage] = [:]
        for row in rows[0] { lineages[try row.integer("id")] = try Lineage(row, readsClaim: false) }
        try LineageLoader.read(rows.dropFirst(), into: &lineages)
        return ids.compactMap { lineages[$0] }
    }
}

// MARK: - Large subscriptions

extension LineageLoader {
    /// Whether some parts of a submitted subscription suffice. Lifecycle events need all of them.
    private func isLoadedInPart(_ division: Division) -> Bool {
        !isWhole && !policy.lifecycleEvents && (policy.orders == nil || division.areTokensNoted)
    }

    /// Returns the parts to load of divided subscriptions that no submission may join with other lineages.
    private func partSelections(_ found: Found, _ gathering: Gathering) -> [PartSelection] {
        // A grace period can reach into any part.
        guard !found.divided.isEmpty, gathering.renamed.isEmpty,
            submissions.allSatisfy({ $0.renewals.allSatisfy { $0.gracePeriodExpiresDate == nil } })
        else { return [] }
        var joined = Set(gathering.splits.map(\.lineage)).union(numbers)
        for group in gathering.groups {
            let lineages = Set(group.compactMap { gathering.identifiers[$0] })
            if lineages.count > 1 { joined.formUnion(lineages) }
        }
        var submitted: [Int64: [(purchase: Purchase, keys: PurchaseKeys)]] = [:]
        for case (let signed, let keys?) in submissions.flatMap(\.purchases) {
            guard let id = keys.all.lazy.compactMap({ gathering.identifiers[$0] }).first, found.divided[id] != nil
            else { continue }
            submitted[id, default: []].append((signed.purchase, keys))
        }
        return found.divided.filter { !joined.contains($0.key) && gathering.lineages.contains($0.key) }
            .sorted { $0.key < $1.key }
            .compactMap { id, original in PartSelection(id, original, submitted[id] ?? [], at: now) }
    }

    /// Loads the parts that decide, or the whole if all do.
    private func readParts(
        _ selections: [PartSelection], _ answers: ArraySlice<[SQLRow]>, into lineages: inout Lineages, isLocking: Bool
    ) throws(LedgerError) {
        var answers = answers
        var loads: [Int64: [Int64]] = [:]
        var whole: [Int64] = []
        for selection in selections {
            let count = selection.queries(dialect).count
            // The answer to a claim of a lineage depends on all its evidence.
            if let lineage = lineages.byID[selection.lineage], lineage.owner != nil, let division = lineage.division,
                division.original == selection.original.transactionID, isLoadedInPart(division),
                let (parts, renewal) = try selection.parts(answers.prefix(count))
            {
                loads[lineage.id] = Array(parts)
                lineages.byID[lineage.id]?.renewals = renewal.map { [$0] } ?? []
            } else {
                whole.append(selection.lineage)
            }
            answers = answers.dropFirst(count)
        }
        // Needed only to change the division.
        let divided = isLocking ? lineages.byID.values.filter { $0.division != nil }.map(\.id) : []
        var queries = whole.isEmpty ? [] : LineageStatements.contents(whole, dialect)
        for (id, parts) in loads { queries += LineageStatements.contents(id, parts: parts, dialect) }
        queries += divided.map { Division.Period.query($0, parts: loads[$0], dialect) }
        guard !queries.isEmpty else { return }
        var rows = try connection.run(queries)[...]
        if !whole.isEmpty { try Self.read(rows.prefix(3), into: &lineages.byID) }
        rows = rows.dropFirst(whole.isEmpty ? 0 : 3)
        for id in loads.keys {
            for row in rows.popFirst() ?? [] { try lineages.byID[id]?.addEvidence(row) }
            for row in rows.popFirst() ?? [] { try lineages.byID[id]?.addGrant(row) }
        }
        for id in divided {
            lineages.byID[id]?.division?.periods = try Division.Period.byTransaction(rows.popFirst() ?? [])
        }
    }
}

// MARK: - Tokens

/// A token to register for an account.
struct TokenRegistration {
    let token: AppAccountToken
    let account: String
    /// Whether the ledger made it.
    let isMade: Bool
}

extension LineageLoader {
    /// Reads the accounts of the tokens in lineages and submissions.
    ///
    /// Readers of a token and its registration exclude each other. Otherwise, a purchase could be noted as waiting just
    /// after its token was registered.
    ///
    /// - Throws: A conflict if another transaction registered the token, or noted that another lineage waits for it, at
    ///   the same time.
    private func readTokens(_ lineages: inout Lineages, isLocking: Bool) throws(LedgerError) {
        guard usesTokens, readsTokens else { return }
        let purchases = submissions.lazy.flatMap(\.purchases).map(\.signed.purchase)
        let tokens = Set(purchases.compactMap { $0.accountToken }).union(
            lineages.byID.values.lazy.flatMap(\.purchases).compactMap(\.accountToken))
        let registered = Set([registration?.token].compactMap(\.self))
        let all = tokens.union(registered).map(\.description).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        let ids = lineages.byID.keys.sorted()
        let locks = isLocking ? TokenLocks.statements(reading: tokens, writing: registered, dialect) : []
        let queries = [
            SQLQuery(
                "SELECT token, account, retired_at FROM account_tokens WHERE token \(dialect.oneOf("$1", all.count))",
                oneOf: all.map(SQLValue.text), dialect),
            SQLQuery(
                "SELECT family_id, token, told_at FROM waiting_tokens WHERE family_id \(dialect.oneOf("$1", ids.count))",
                oneOf: ids.map(SQLValue.integer), dialect),
            SQLQuery(
                "SELECT family_id FROM waiting_tokens WHERE token \(dialect.oneOf("$1", registered.count))",
                oneOf: registered.map { .text($0.description) }, dialect),
        ]
        let rows = try connection.run(locks.map(SQLQuery.init) + queries).dropFirst(locks.count)
        var holders: [AppAccountToken: TokenHolder] = [:]
        for row in rows[rows.startIndex] {
            holders[AppAccountToken(signed: try row.text("token"))] = TokenHolder(
                account: try row.text("account"), isRetired: try !row.isNull("retired_at"))
        }
        for row in rows[rows.startIndex + 1] {
            lineages.byID[try row.integer("family_id")]?.tokenNotes[AppAccountToken(signed: try row.text("token"))] =
                try row.isNull("told_at") ? .waiting : .reported
        }
        if let registration {
            guard holders[registration.token] == nil else { throw .conflict }
            for row in rows[rows.startIndex + 2] where lineages.byID[try row.integer("family_id")] == nil {
                throw .conflict
            }
            holders[registration.token] = TokenHolder(account: registration.account, isRetired: false)
        }
        lineages.holders = holders
    }
}
