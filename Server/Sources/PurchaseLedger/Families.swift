import AppStoreReceipt
import ServerText
import SpanASN1

/// All transactions of one purchase: its renewals, restored transactions, and what a migration renamed. They have one owner.
struct Family {
    let id: Int64
    /// Who brought one of its transactions first; `nil` if nobody has.
    var account: String?
    var claimedAt: Instant?
}

/// The families of some purchases, locked until the end of the transaction.
struct Families {
    private var byID: [Int64: Family] = [:]
    private var identifiers: [TransactionKey: Int64] = [:]
    /// Keys that are not in the tables yet.
    private var newKeys: [TransactionKey] = []
    private let connection: any SQLConnection

    /// Finds and locks the families of purchases, and of subscriptions whose renewal information came without a purchase, makes those that are missing, and joins those that turn out to be one.
    ///
    /// Locks are taken in one order everywhere, so that two transactions never wait for each other: the name of the account that asks, families by their
    /// number, new identifiers by their bytes, then accounts.
    ///
    /// - Throws: A conflict if another transaction made or joined one of the families at the same time.
    init(
        of purchases: [PurchaseKeys], _ renewals: [SubscriptionRenewal], _ connection: any SQLConnection,
        at now: Instant
    ) throws(LedgerError) {
        self.connection = connection
        var found = Set(purchases.flatMap(\.all))
        for renewal in renewals { found.formUnion(try connection.transactions(of: renewal, besides: found)) }
        let keys = found.sorted()
        for key in keys {
            let rows = try connection.run(
                "SELECT family_id FROM identifiers WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3",
                key.columns)
            if let row = rows.first { identifiers[key] = try row.integer(0) }
        }
        for id in Set(identifiers.values).sorted() { byID[id] = try lock(id) }
        for group in groups(keys, purchases) { try unite(group, at: now) }
        for key in newKeys.sorted() { try insert(key) }
    }

    var all: [Family] { byID.values.sorted { $0.id < $1.id } }

    subscript(key: TransactionKey) -> Family? { identifiers[key].flatMap { byID[$0] } }

    /// Records that the family of a transaction has others, which were not asked for.
    mutating func add(_ keys: [TransactionKey], to family: Int64) {
        for key in keys { identifiers[key] = family }
    }

    /// Makes an account the owner of a family.
    mutating func claim(_ id: Int64, for account: String, at now: Instant) throws(LedgerError) {
        byID[id] = Family(id: id, account: account, claimedAt: now)
        try connection.run(
            "UPDATE families SET account = $2, claimed_at = $3 WHERE id = $1",
            [.integer(id), .text(account), SQLValue(now)])
    }

    // MARK: Implementation

    private func lock(_ id: Int64) throws(LedgerError) -> Family {
        let rows = try connection.run(
            "SELECT account, claimed_at FROM families WHERE id = $1" + connection.dialect.rowLock, [.integer(id)])
        // It was joined with another one after its identifiers were read.
        guard let row = rows.first else { throw .conflict }
        let account = try row.optionalText(0)
        return Family(id: id, account: account, claimedAt: account == nil ? nil : try row.date(1))
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

    /// Puts keys into one family.
    private mutating func unite(_ keys: [TransactionKey], at now: Instant) throws(LedgerError) {
        let families = Set(keys.compactMap { identifiers[$0] }).compactMap { byID[$0] }.sorted {
            ($0.claimedAt ?? .distantFuture, $0.id) < ($1.claimedAt ?? .distantFuture, $1.id)
        }
        let family = if let first = families.first { first } else { try make() }
        for other in families.dropFirst() { try join(other, into: family, at: now) }
        newKeys += keys.filter { identifiers[$0] == nil }
        for key in keys { identifiers[key] = family.id }
    }

    private mutating func make() throws(LedgerError) -> Family {
        guard let row = try connection.run("INSERT INTO families (account) VALUES (NULL) RETURNING id").first else {
            throw LedgerError(.storeFailed, "no number for a new family")
        }
        let family = Family(id: try row.integer(0))
        byID[family.id] = family
        return family
    }

    private func insert(_ key: TransactionKey) throws(LedgerError) {
        guard let family = identifiers[key] else { return }
        let rows = try connection.run(
            "INSERT INTO identifiers VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING family_id",
            key.columns + [.integer(family)])
        if rows.isEmpty { throw .conflict }
    }

    /// Both are one purchase, of which the one that was claimed first decides the owner. What was granted stays granted.
    private mutating func join(_ other: Family, into family: Family, at now: Instant) throws(LedgerError) {
        try connection.run(
            "UPDATE identifiers SET family_id = $2 WHERE family_id = $1", [.integer(other.id), .integer(family.id)])
        try connection.run("DELETE FROM families WHERE id = $1", [.integer(other.id)])
        byID[other.id] = nil
        if let from = other.account, let to = family.account, !from.hasSameBytes(as: to) {
            try connection.run(
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

extension SQLConnection {
    /// Returns the original transaction that renewal information is about, unless it is among `known`. Renewal information names no app; the id is unique in an environment.
    fileprivate func transactions(
        of renewal: SubscriptionRenewal, besides known: Set<TransactionKey>
    ) throws(LedgerError) -> [TransactionKey] {
        let id = UTF8Bytes(renewal.originalTransactionID)
        guard let environment = renewal.environment, LedgerText.isStorable(id.string),
            !known.contains(where: { $0.environment == environment && $0.transactionID == id })
        else { return [] }
        let rows = try run(
            "SELECT bundle_id FROM identifiers WHERE environment = $1 AND transaction_id = $2",
            [.text(environment.rawValue), .text(id.string)])
        return try rows.map { (row) throws(LedgerError) in
            TransactionKey(environment: environment, bundleID: try row.text(0), transactionID: id.string)
        }
    }
}
