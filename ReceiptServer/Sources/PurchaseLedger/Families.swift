import AppStoreReceipt
import StrictText

/// A lineage: all transactions of one purchase, including its renewals, restored transactions, and those that a
/// migration renamed. They have one owner. It has nothing to do with Family Sharing.
struct Family {
    let id: Int64
    /// The account that submitted one of its transactions first; `nil` if none has.
    var account: String?
    var claimedAt: Instant?
    var claimOrder = ClaimOrder.last
    /// The original transaction, if this is a large subscription that is divided; see ``SubscriptionParts``.
    var subscription: UTF8Bytes?
    /// Whether a seat is assigned to a member by its transactions.
    var isOfMember = false
    /// What the claim of the account rests on; `nil` if it was made before that was recorded.
    var basis: ClaimBasis?
    /// The state of the subscription after the account's last event, a ``LifecycleState``; `nil` before the first.
    var lifecycle: String?
}

extension Family {
    /// The columns that ``init(_:)`` reads first.
    static let columns = """
        families.id, families.account, families.claimed_at, families.subscription, families.is_member, families.basis,
            families.claim_number, families.lifecycle
        """
    static let columnCount = 8

    /// - Parameter row: Begins with ``columns``.
    fileprivate init(_ row: SQLRow) throws(LedgerError) {
        id = try row.integer(0)
        account = try row.optionalText(1)
        claimedAt = account == nil ? nil : try row.date(2)
        subscription = try row.optionalText(3).map(UTF8Bytes.init)
        isOfMember = try row.optionalInteger(4) != nil
        if let json = try row.optionalText(5) { basis = try ClaimBasis(json) }
        claimOrder = ClaimOrder(try row.optionalInteger(6))
        lifecycle = try row.optionalText(7)
    }
}

/// The families of what some requests bring, locked until the end of the transaction, with what the tables have about
/// them.
struct Families {
    private(set) var byID: [Int64: Family] = [:]
    /// Of a subscription that is divided, the parts that decide.
    var contents: [Int64: FamilyContents] = [:]
    private(set) var identifiers: [TransactionKey: Int64] = [:]
    /// The original transactions of those that were divided before they were locked.
    private(set) var divided: [Int64: TransactionKey] = [:]
    /// The rows of what was asked besides.
    private(set) var answers: [[SQLRow]] = []
    /// How they are divided, if that can change.
    var stored: [Int64: StoredParts] = [:]
    /// The names of original transactions that are a member's, for what is not.
    private(set) var renamed: [TransactionKey: TransactionKey] = [:]
    /// The families of members that were found.
    private var members: Set<Int64> = []
    /// Numbers that no family has.
    private var freeNumbers: ArraySlice<Int64> = []
    /// Keys that are not in the tables yet.
    private var newKeys: [TransactionKey] = []
    let connection: any SQLConnection
    /// Transactions that were known from receipts, and are a member's.
    private var splits: [MemberSplit] = []
    /// What accounts had of families that lost their owner, or of transactions that are a member's, and that nobody has
    /// now; with the family that was split.
    private(set) var lost: [(family: Int64, grant: Grant)] = []
    /// The families that others were split off from.
    var splitFamilies: Set<Int64> { Set(splits.map(\.family)) }
    /// What the tables have about the tokens of the families; `nil` if the ledger does not use tokens.
    private(set) var tokens: AccountTokens?

    /// Loads and locks the families of these purchases and renewals. Creates missing families and merges families that
    /// share a transaction.
    ///
    /// Locks are taken in one order everywhere, so that two transactions never wait for each other: the names of the
    /// accounts that ask, families by their number, new identifiers by their bytes, tokens by their bytes, then
    /// accounts.
    ///
    /// - Parameters:
    ///   - isWhole: Whether all of each family is loaded, also where a part would decide.
    ///   - statements: What is asked besides, so that nobody waits for it alone.
    /// - Throws: A conflict if another transaction made or joined one of the families at the same time.
    init(
        of requests: [BroughtEvidence], _ connection: any SQLConnection, at now: Instant, usingTokens: Bool = false,
        whole isWhole: Bool = false, asking statements: [SQLStatement] = [],
        registering registration: AccountTokens.Registration? = nil
    ) throws(LedgerError) {
        self.connection = connection
        var found: Set<TransactionKey> = []
        for request in requests {
            let known = request.keys
            if requests.count == 1 { found = known } else { found.formUnion(known) }
            for renewal in request.renewals {
                found.formUnion(try connection.transactions(of: renewal, besides: known))
            }
        }
        var keys = found.sorted()
        if connection.isSnapshot {
            // PostgreSQL answers everything in one round trip. SQLite has none to save: what a new purchase does not
            // need is not asked.
            let isServer = connection.dialect.isServer
            try look(keys, isServer ? statements : [])
        } else {
            try find(keys)
        }
        var purchaseKeys = requests.flatMap(\.purchaseKeys)
        try findSplits(purchaseKeys)
        keys = try separateMembers(keys, &purchaseKeys)
        if connection.isSnapshot {
            if keys.contains(where: { identifiers[$0] == nil }) { throw .write }
            if !connection.dialect.isServer, divided.isEmpty { answers = try connection.run(statements) }
        }
        let groups = groups(keys, purchaseKeys)
        // Tokens are those of all that was signed of a family.
        let usesTokens = usingTokens || registration != nil
        if !connection.isSnapshot || !divided.isEmpty {
            try lock(
                Set(identifiers.values).union(splitFamilies).sorted(),
                usesTokens || isWhole ? [] : partsQuestions(requests, groups, at: now),
                statements)
        }
        var new = try make(groups.count { $0.allSatisfy { identifiers[$0] == nil } })[...]
        for group in groups { try unite(group, &new, at: now) }
        try insert(newKeys.sorted())
        try markMembers(purchaseKeys)
        for split in splits { try self.split(split, at: now) }
        guard usesTokens else { return }
        let brought = requests.flatMap { $0.purchases.compactMap { AccountTokens.token(of: $0.signed.purchase) } }
        let known = contents.values.flatMap { $0.variants.values.joined() }
        let lookup = AccountTokens.Lookup(
            Set(brought + known.compactMap { AccountTokens.token(of: $0.purchase) }), byID.keys.sorted(),
            registering: registration, connection.dialect, at: now)
        tokens = try lookup.read(connection.run(lookup.statements))
    }

    /// The numbers of the families of what one of the requests brings.
    func numbers(of request: BroughtEvidence) -> [Int64] {
        var numbers = Set(request.keys.lazy.compactMap { identifiers[$0] })
        numbers.formUnion(renamed.values.lazy.compactMap { identifiers[$0] })
        // What is left of them is decided again.
        let brought = Set(request.purchaseKeys.map(\.transaction))
        numbers.formUnion(splits.lazy.filter { brought.contains($0.transaction) }.map(\.family))
        for renewal in request.renewals {
            let id = UTF8Bytes(renewal.originalTransactionID)
            let ids = [id, UTF8Bytes(MemberID.bought(id.string))]
            for (key, number) in identifiers
            where key.environment == renewal.environment && ids.contains(key.transactionID) {
                numbers.insert(number)
            }
        }
        return numbers.sorted()
    }

    /// The families with some numbers.
    func with(_ numbers: [Int64]) -> [(Family, FamilyContents)] {
        numbers.compactMap { id in byID[id].map { ($0, contents[id] ?? FamilyContents()) } }
    }

    subscript(key: TransactionKey) -> Family? { identifiers[key].flatMap { byID[$0] } }

    /// Records that the family of a transaction has others, which were not asked for.
    mutating func add(_ keys: some Sequence<TransactionKey>, to family: Int64) {
        // Nothing is copied where nothing is new.
        for key in keys where identifiers[key] != family { identifiers[key] = family }
    }

    /// Makes an account the owner of a family.
    mutating func claim(
        _ id: Int64, for account: String, restingOn basis: ClaimBasis, in order: ClaimOrder = .last, at now: Instant
    ) throws(LedgerError) {
        byID[id]?.account = account
        byID[id]?.claimedAt = now
        byID[id]?.claimOrder = order
        byID[id]?.basis = basis
        // The account has had no event.
        byID[id]?.lifecycle = nil
        let number = order.column("$5", connection.dialect)
        try connection.write(
            """
            UPDATE families SET account = $2, claimed_at = $3, basis = $4, claim_number = \(number.text),
                lifecycle = NULL
            WHERE id = $1
            """,
            [.integer(id), .text(account), SQLValue(now), .text(basis.json)] + number.parameters)
    }

    /// Records what else the claim of a family's owner rests on.
    mutating func extendClaim(_ id: Int64, by more: @autoclosure () -> ClaimBasis) throws(LedgerError) {
        guard let basis = byID[id]?.basis, !basis.isLasting else { return }
        let extended = basis.union(more())
        guard extended != basis else { return }
        try keepBasis(extended, of: id)
    }

    /// Records the state of a family's subscription after its owner's last event.
    mutating func keepLifecycle(_ text: String, of id: Int64) throws(LedgerError) {
        guard !(byID[id]?.lifecycle?.hasSameBytes(as: text) ?? false) else { return }
        byID[id]?.lifecycle = text
        try connection.write("UPDATE families SET lifecycle = $2 WHERE id = $1", [.integer(id), .text(text)])
    }

    private mutating func keepBasis(_ basis: ClaimBasis, of id: Int64) throws(LedgerError) {
        byID[id]?.basis = basis
        try connection.write("UPDATE families SET basis = $2 WHERE id = $1", [.integer(id), .text(basis.json)])
    }

    // MARK: Implementation

    private struct App: Hashable {
        let environment: AppStoreEnvironment
        let bundleID: UTF8Bytes
    }

    private static func byApp(_ keys: [TransactionKey]) -> [App: [TransactionKey]] {
        Dictionary(grouping: keys) { App(environment: $0.environment, bundleID: $0.bundleID) }
    }

    /// Finds families, and reads what a snapshot has about them if none is divided: nothing is locked, so that nothing
    /// has to be known before.
    private mutating func look(_ keys: [TransactionKey], _ statements: [SQLStatement]) throws(LedgerError) {
        let apps = Array(Self.byApp(keys))
        let questions = apps.map { app, keys in
            FamilyContents.question(
                of: keys.map(\.transactionID), in: app.environment, app.bundleID, connection.dialect)
        }
        let rows = try connection.run(questions + statements)
        answers = Array(rows.dropFirst(questions.count))
        for ((app, _), rows) in zip(apps, rows) {
            for row in rows {
                // Each row of a family repeats it.
                let family = if let known = byID[try row.integer(0)] { known } else { try Family(row) }
                guard family.subscription == nil else { return try find(keys) }
                byID[family.id] = family
                if family.isOfMember { members.insert(family.id) }
                let key = TransactionKey(
                    environment: app.environment, bundleID: app.bundleID,
                    transactionID: UTF8Bytes(try row.text(Family.columnCount)))
                try contents[family.id, default: FamilyContents()].add(row, of: key, isFirst: identifiers[key] == nil)
                identifiers[key] = family.id
            }
        }
    }

    private mutating func find(_ keys: [TransactionKey]) throws(LedgerError) {
        let apps = Self.byApp(keys)
        let questions = apps.map { app, keys in
            let rows = connection.dialect.rows(of: keys.map(\.transactionID.string), in: "identifiers")
            return SQLStatement(
                """
                SELECT identifiers.transaction_id, identifiers.family_id, families.subscription, families.is_member
                FROM \(rows.table) AS identifiers JOIN families ON families.id = identifiers.family_id
                """, [.text(app.environment.rawValue), .text(app.bundleID.string), rows.parameter])
        }
        let reservation = connection.dialect.familyNumbers.map { SQLStatement($0, [.integer(Int64(keys.count))]) }
        let answers = try connection.run(questions + (reservation.map { [$0] } ?? []))
        freeNumbers = try answers.dropFirst(questions.count).joined().map { (row) throws(LedgerError) in
            try row.integer(0)
        }[...]
        for (app, rows) in zip(apps.keys, answers) {
            for row in rows {
                let key = TransactionKey(
                    environment: app.environment, bundleID: app.bundleID, transactionID: UTF8Bytes(try row.text(0)))
                let family = try row.integer(1)
                identifiers[key] = family
                if try row.optionalInteger(3) != nil { members.insert(family) }
                if let original = try row.optionalText(2) {
                    divided[family] = TransactionKey(
                        environment: app.environment, bundleID: app.bundleID, transactionID: UTF8Bytes(original))
                }
            }
        }
    }

    /// Locks families, and reads what the tables have about them.
    private mutating func lock(
        _ ids: [Int64], _ divided: [PartsQuestion], _ statements: [SQLStatement]
    ) throws(LedgerError) {
        let dialect = connection.dialect
        let lock = SQLQuestion(
            "SELECT \(Family.columns) FROM families WHERE id \(dialect.oneOf("$1", ids.count))"
                + " ORDER BY id\(dialect.rowLock)", oneOf: ids.map(SQLValue.integer), dialect)
        let whole = ids.filter { id in !divided.contains { $0.family == id } }
        let questions = [lock] + FamilyContents.questions(whole, dialect)
        let besides = statements.map { SQLQuestion($0.text, $0.parameters) }
        let all = try connection.run(questions + divided.flatMap { $0.questions(dialect) } + besides)
        let answers = all.dropLast(besides.count)
        self.answers = all.suffix(besides.count)
        for row in answers[0] {
            let family = try Family(row)
            byID[family.id] = family
        }
        // One was joined with another after its identifiers were read.
        guard byID.count == ids.count else { throw .conflict }
        contents = try FamilyContents.contents(of: whole, answers[1..<questions.count])
        try loadParts(divided, answers[questions.count...])
    }

    /// Returns the keys that belong together: those of one purchase, and those that are in one family already.
    private func groups(_ keys: [TransactionKey], _ purchases: [PurchaseKeys]) -> [[TransactionKey]] {
        let numbers = Dictionary(uniqueKeysWithValues: keys.enumerated().map { ($1, $0) })
        var parents = Array(keys.indices)
        func root(_ index: Int) -> Int {
            var index = index
            while parents[index] != index {
                parents[index] = parents[parents[index]]
                index = parents[index]
            }
            return index
        }
        func unite(_ first: TransactionKey, _ second: TransactionKey) {
            guard let first = numbers[first], let second = numbers[second] else { return }
            parents[root(second)] = root(first)
        }
        for purchase in purchases { for key in purchase.relatives { unite(purchase.transaction, key) } }
        var firstOfFamily: [Int64: TransactionKey] = [:]
        for key in keys {
            guard let family = identifiers[key] else { continue }
            if let first = firstOfFamily[family] { unite(first, key) } else { firstOfFamily[family] = key }
        }
        let groups = Dictionary(grouping: keys.indices) { root($0) }
        return groups.sorted { $0.key < $1.key }.map { $0.value.map { keys[$0] } }
    }

    /// Puts keys into one family, which is the next of `new` if none of them has one.
    private mutating func unite(
        _ keys: [TransactionKey], _ new: inout ArraySlice<Family>, at now: Instant
    ) throws(LedgerError) {
        let families = Set(keys.compactMap { identifiers[$0] }).compactMap { byID[$0] }.sorted { $0.id < $1.id }
        // A member's transaction that was signed without an app transaction goes to the member's group.
        let named = members.isEmpty ? nil : keys.first { MemberID.isMembers($0.transactionID.string) }
        let group = named.flatMap { self[$0] }.flatMap { $0.account == nil ? nil : $0 }
        guard let family = group ?? ClaimOrder.first(families) ?? new.popFirst() else { return }
        for other in families where other.id != family.id { try join(other, into: family, at: now) }
        newKeys += keys.filter { key in
            identifiers[key] == nil && !splits.contains { $0.transaction == key }
        }
        for key in keys { identifiers[key] = family.id }
    }

    private mutating func make(_ count: Int) throws(LedgerError) -> [Family] {
        var families: [Family] = []
        for _ in 0..<count {
            let family: Family
            if let number = freeNumbers.popFirst() {
                family = Family(id: number)
                try connection.write("INSERT INTO families (id) VALUES ($1)", [.integer(number)])
            } else {
                let rows = try connection.run("INSERT INTO families (account) VALUES (NULL) RETURNING id")
                guard let row = rows.first else { throw LedgerError(.storeFailed, "no number for a new family") }
                family = Family(id: try row.integer(0))
            }
            byID[family.id] = family
            families.append(family)
        }
        return families
    }

    /// Inserts keys. If another transaction made one of them, that is a conflict when they are written.
    private func insert(_ keys: [TransactionKey]) throws(LedgerError) {
        for key in keys {
            try connection.write(
                "INSERT INTO identifiers VALUES ($1, $2, $3, $4)",
                key.columns + [identifiers[key].map(SQLValue.integer) ?? .null])
        }
    }

    /// Both are one purchase. The one that was claimed first decides the owner. Grants stay.
    private mutating func join(_ other: Family, into family: Family, at now: Instant) throws(LedgerError) {
        for id in [other.id, family.id] where byID[id]?.subscription != nil {
            try undivide(id)
            byID[id]?.subscription = nil
            stored[id] = nil
        }
        try connection.write(
            "UPDATE identifiers SET family_id = $2 WHERE family_id = $1", [.integer(other.id), .integer(family.id)])
        try connection.moveNotes(from: other.id, to: family.id)
        try connection.write(
            """
            UPDATE uncertain_claims SET family_id = $2 WHERE family_id = $1
                AND NOT EXISTS (SELECT 1 FROM uncertain_claims WHERE family_id = $2)
            """, [.integer(other.id), .integer(family.id)])
        if let basis = family.basis, let account = family.account, other.account?.hasSameBytes(as: account) ?? false,
            let more = other.basis
        {
            try keepBasis(basis.union(more), of: family.id)
        }
        // SQLite gives the number to another family.
        try connection.write(
            "UPDATE transfers SET family_id = $2 WHERE family_id = $1", [.integer(other.id), .integer(family.id)])
        try connection.write("DELETE FROM families WHERE id = $1", [.integer(other.id)])
        byID[other.id] = nil
        // Keep the state of the subscription with the newest period. Otherwise, its events would be posted again.
        func newest(_ id: Int64) -> Instant {
            contents[id]?.variants.values.joined().map(\.purchase.purchaseDate).max() ?? .distantPast
        }
        if let lifecycle = other.lifecycle, newest(family.id) < newest(other.id),
            family.account.map(UTF8Bytes.init) == other.account.map(UTF8Bytes.init)
        {
            try keepLifecycle(lifecycle, of: family.id)
        }
        for index in splits.indices where splits[index].family == other.id { splits[index].family = family.id }
        contents[family.id, default: FamilyContents()].formUnion(
            contents.removeValue(forKey: other.id) ?? FamilyContents())
        if let from = other.account, let to = family.account, !from.hasSameBytes(as: to) {
            try connection.write(
                """
                INSERT INTO transfers (family_id, from_account, to_account, reason, transferred_at)
                VALUES ($1, $2, $3, $4, $5)
                """,
                [
                    .integer(family.id), .text(from), .text(to),
                    .text("both brought transactions of one purchase before it was known that they are"),
                    SQLValue(now),
                ])
        }
    }
}

// MARK: - Members

extension Families {
    /// Keeps what receipts and other purchases say of a member's transactions from joining them with what is not the
    /// member's.
    ///
    /// The original transaction that a receipt gives to a member's transaction does not count. A transaction that is
    /// not the member's, but has the member's as its original, gets a name of its own for it: a customer who was a
    /// member and buys later may have one original transaction for both.
    ///
    /// - Returns: The keys that count.
    private mutating func separateMembers(
        _ keys: [TransactionKey], _ purchases: inout [PurchaseKeys]
    ) throws(LedgerError) -> [TransactionKey] {
        let brought = Set(purchases.lazy.filter(\.isOfMember).map(\.transaction))
        guard !members.isEmpty || !brought.isEmpty else { return keys }
        let named = Set(purchases.lazy.flatMap(\.all))
        func isOfMember(_ key: TransactionKey) -> Bool {
            brought.contains(key) || identifiers[key].map(members.contains) ?? false
        }
        for index in purchases.indices where !purchases[index].isOfMember {
            let transaction = purchases[index].transaction
            if isOfMember(transaction) {
                purchases[index] = PurchaseKeys(granted: transaction)
                continue
            }
            for key in purchases[index].relatives where key != transaction && isOfMember(key) {
                renamed[key] = TransactionKey(
                    environment: key.environment, bundleID: key.bundleID,
                    transactionID: UTF8Bytes(MemberID.bought(key.transactionID.string)))
            }
            if !renamed.isEmpty { purchases[index].rename(renamed) }
        }
        if !renamed.isEmpty {
            if connection.isSnapshot { throw .write }
            try find(renamed.values.sorted())
            // What is split off now has no such name yet.
            for split in splits {
                guard let name = renamed[split.transaction], identifiers[name] == nil else { continue }
                identifiers[name] = split.family
            }
        }
        let counting = Set(purchases.lazy.flatMap(\.all))
        // Those of renewal information are of no purchase.
        let left = keys.filter { counting.contains($0) || !named.contains($0) }
        for key in named.subtracting(counting) { identifiers[key] = nil }
        let families = Set(identifiers.values)
        byID = byID.filter { families.contains($0.key) }
        return Set(left).union(renamed.values).sorted()
    }

    /// Takes what turns out to be a member's out of the families in which receipts put it.
    private mutating func findSplits(_ purchases: [PurchaseKeys]) throws(LedgerError) {
        for purchase in purchases where purchase.isOfMember {
            guard let family = identifiers[purchase.transaction], !members.contains(family) else { continue }
            if connection.isSnapshot { throw .write }
            identifiers[purchase.transaction] = nil
            splits.append(MemberSplit(transaction: purchase.transaction, family: family))
        }
    }

    private mutating func markMembers(_ purchases: [PurchaseKeys]) throws(LedgerError) {
        for purchase in purchases where purchase.isOfMember {
            guard let family = identifiers[purchase.transaction], byID[family]?.isOfMember == false else { continue }
            byID[family]?.isOfMember = true
            try connection.write("UPDATE families SET is_member = 1 WHERE id = $1", [.integer(family)])
        }
    }

    /// Moves a transaction to its member's family, with what is known of it and, if the claim of its owner rests on it,
    /// with what was granted for it.
    private mutating func split(_ split: MemberSplit, at now: Instant) throws(LedgerError) {
        let key = split.transaction
        guard let number = identifiers[key], let family = byID[split.family], number != family.id else { return }
        if family.subscription != nil {
            try undivide(family.id)
            byID[family.id]?.subscription = nil
            stored[family.id] = nil
        }
        try connection.write(
            "UPDATE identifiers SET family_id = $4 WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3",
            key.columns + [.integer(number)])
        // What is left can have it as the original transaction.
        let name = TransactionKey(
            environment: key.environment, bundleID: key.bundleID,
            transactionID: UTF8Bytes(MemberID.bought(key.transactionID.string)))
        if LedgerText.isStorable(name.transactionID.string) {
            try connection.write(
                "INSERT INTO identifiers VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING",
                name.columns + [.integer(family.id)])
        }
        let moved = contents[family.id]?.remove(key) ?? FamilyContents()
        contents[number, default: FamilyContents()].formUnion(moved)
        guard let account = family.account else { return }
        guard var basis = family.basis else {
            // It is not known on what the claim rests: it stays, and an operator decides.
            try connection.write(
                "INSERT INTO uncertain_claims VALUES ($1, $2) ON CONFLICT DO NOTHING",
                [.integer(family.id), SQLValue(now)])
            if moved.grants.contains(where: { $0.account.hasSameBytes(as: account) }) {
                try claimIfFree(number, account, key, as: family, at: now)
            }
            return
        }
        if !(byID[number]?.account?.hasSameBytes(as: account) ?? true) {
            try lose(account, number, of: family.id) { $0.transaction == key }
        }
        if basis.transactions.contains(key.transactionID) {
            try claimIfFree(number, account, key, as: family, at: now)
            basis.remove(key.transactionID)
            if basis.isEmpty {
                byID[family.id]?.account = nil
                byID[family.id]?.claimedAt = nil
                try connection.write(
                    "UPDATE families SET account = NULL, claimed_at = NULL WHERE id = $1", [.integer(family.id)])
                try lose(account, family.id) { _ in true }
            }
            try keepBasis(basis, of: family.id)
        } else if byID[number]?.account == nil {
            try lose(account, number, of: family.id) { $0.transaction == key }
        }
    }

    private mutating func claimIfFree(
        _ number: Int64, _ account: String, _ key: TransactionKey, as family: Family, at now: Instant
    ) throws(LedgerError) {
        guard byID[number]?.account == nil else { return }
        try claim(
            number, for: account, restingOn: ClaimBasis(isLasting: true), in: family.claimOrder,
            at: family.claimedAt ?? now)
    }

    /// Removes what an account was granted in a family: the next account is granted it anew. Grants that an operator
    /// revoked, and grants without evidence, stay.
    ///
    /// - Parameter split: The family that was split, if it is another one.
    private mutating func lose(
        _ account: String, _ family: Int64, of split: Int64? = nil, where isLost: (Grant) -> Bool
    ) throws(LedgerError) {
        let known = contents[family] ?? FamilyContents()
        let gone = known.grants.filter { grant in
            grant.account.hasSameBytes(as: account) && !grant.isTakenBack && known.variants[grant.transaction] != nil
                && isLost(grant)
        }
        for grant in gone {
            lost.append((split ?? family, grant))
            try connection.write(
                "DELETE FROM grants WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3",
                grant.transaction.columns)
        }
        let keys = Set(gone.map(\.transaction))
        contents[family]?.removeGrants { keys.contains($0.transaction) }
    }
}

extension SQLConnection {
    /// Returns the original transaction that renewal information is about, unless it is among `known`. Renewal
    /// information names no app; the id is unique in an environment.
    fileprivate func transactions(
        of renewal: SubscriptionRenewal, besides known: Set<TransactionKey>
    ) throws(LedgerError) -> [TransactionKey] {
        let id = UTF8Bytes(renewal.originalTransactionID)
        guard let environment = renewal.environment, LedgerText.isStorable(id.string),
            !known.contains(where: { $0.environment == environment && $0.transactionID == id })
        else { return [] }
        let rows = try run(
            "SELECT bundle_id, transaction_id FROM identifiers WHERE environment = $1 AND transaction_id IN ($2, $3)",
            [.text(environment.rawValue), .text(id.string), .text(MemberID.bought(id.string))])
        return try rows.map { (row) throws(LedgerError) in
            TransactionKey(environment: environment, bundleID: try row.text(0), transactionID: try row.text(1))
        }
    }
}
