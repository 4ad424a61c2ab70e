import AppStoreReceipt
import StrictText

/// Which transactions belong together, by what is submitted and by the identifiers that are known.
package struct Gathering {
    /// A member's transaction that receipts had put into the lineage of another's purchase.
    package struct Split {
        let transaction: TransactionKey
        /// The lineage that it leaves.
        package var lineage: Int64
    }

    /// The keys of the purchases, as they count.
    private(set) var purchases: [PurchaseKeys]
    /// The keys that count, in their order.
    package private(set) var keys: [TransactionKey]
    /// The lineages of the keys that have one.
    package private(set) var identifiers: [TransactionKey: Int64]
    /// Names of a member's original transactions, for purchases that are not the member's.
    package private(set) var renamed: [TransactionKey: TransactionKey] = [:]
    package private(set) var splits: [Split] = []
    private let members: Set<Int64>

    /// - Parameters:
    ///   - keys: Those of the submissions, and of the subscriptions that renewal information is about.
    ///   - identifiers: The lineages of those that have one, and of names that ``renamed`` has.
    ///   - members: The lineages of members.
    package init(
        _ submissions: [Submission], _ keys: Set<TransactionKey>, _ identifiers: [TransactionKey: Int64],
        members: Set<Int64>
    ) {
        purchases = submissions.flatMap(\.purchaseKeys)
        self.keys = keys.sorted()
        self.identifiers = identifiers
        self.members = members
        findSplits()
        separateMembers()
    }

    /// All lineages that are involved.
    package var lineages: Set<Int64> { Set(identifiers.values).union(splits.map(\.lineage)) }

    /// Takes what turns out to be a member's out of the lineages in which receipts put it.
    private mutating func findSplits() {
        for purchase in purchases where purchase.isOfMember {
            guard let lineage = identifiers[purchase.transaction], !members.contains(lineage) else { continue }
            identifiers[purchase.transaction] = nil
            splits.append(Split(transaction: purchase.transaction, lineage: lineage))
        }
    }

    /// Keeps what receipts and other purchases say of a member's transactions from joining them with what is not the
    /// member's.
    ///
    /// The original transaction that a receipt gives to a member's transaction does not count. A transaction that is
    /// not the member's, but has the member's as its original, gets a name of its own for it: a customer who was a
    /// member and buys later may have one original transaction for both.
    private mutating func separateMembers() {
        let submitted = Set(purchases.lazy.filter(\.isOfMember).map(\.transaction))
        guard !members.isEmpty || !submitted.isEmpty else { return }
        let named = Set(purchases.lazy.flatMap(\.all))
        let known = identifiers
        func isOfMember(_ key: TransactionKey) -> Bool {
            submitted.contains(key) || known[key].map(members.contains) ?? false
        }
        for index in purchases.indices where !purchases[index].isOfMember {
            let transaction = purchases[index].transaction
            if isOfMember(transaction) {
                purchases[index] = PurchaseKeys(granted: transaction)
                continue
            }
            for key in purchases[index].relatives where isOfMember(key) {
                renamed[key] = key.sibling(MemberID.bought(key.transactionID.string))
            }
            purchases[index].rename(renamed)
        }
        // What is split off now has no such name yet.
        for split in splits {
            if let name = renamed[split.transaction] { identifiers[name] = split.lineage }
        }
        let counting = Set(purchases.lazy.flatMap(\.all))
        for key in named.subtracting(counting) { identifiers[key] = nil }
        // Those of renewal information are of no purchase.
        keys = Set(keys.lazy.filter { counting.contains($0) || !named.contains($0) }).union(renamed.values).sorted()
    }

    /// The keys that belong together: those of one purchase, and those that are in one lineage already.
    package var groups: [[TransactionKey]] {
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
        var firstOfLineage: [Int64: TransactionKey] = [:]
        for key in keys {
            guard let lineage = identifiers[key] else { continue }
            if let first = firstOfLineage[lineage] { unite(first, key) } else { firstOfLineage[lineage] = key }
        }
        var groups = [[TransactionKey]](repeating: [], count: keys.count)
        for index in keys.indices { groups[root(index)].append(keys[index]) }
        return groups.filter { !$0.isEmpty }
    }
}

extension Gathering {
    /// The lineages that a submission is about.
    package func numbers(of submission: Submission, in lineages: Lineages) -> [Int64] {
        let identifiers = lineages.identifiers
        var numbers = Set(submission.keys.lazy.compactMap { identifiers[$0] })
        // What a split leaves is decided again.
        let submitted = Set(submission.purchaseKeys.map(\.transaction))
        numbers.formUnion(lineages.structure.splits.lazy.filter { submitted.contains($0.transaction) }.map(\.lineage))
        for renewal in submission.renewals {
            let id = UTF8Bytes(renewal.originalTransactionID)
            let ids = [id, UTF8Bytes(MemberID.bought(id.string))]
            for (key, number) in identifiers
            where key.environment == renewal.environment && ids.contains(key.transactionID) {
                numbers.insert(number)
            }
        }
        return numbers.sorted()
    }
}

// MARK: - Joining and splitting

extension Lineages {
    /// Puts the transactions that belong together into one lineage each: makes those that are missing, joins those that
    /// turn out to be one, and splits off what is a member's.
    package mutating func gather(_ gathering: Gathering) {
        identifiers = gathering.identifiers
        var splits = gathering.splits
        for group in gathering.groups { unite(group, &splits) }
        for purchase in gathering.purchases where purchase.isOfMember {
            if let id = identifiers[purchase.transaction] { byID[id]?.isOfMember = true }
        }
        structure.splits = splits
        for split in splits { self.split(split) }
        for lineage in byID.values {
            for key in lineage.evidence.keys { identifiers[key] = lineage.id }
            for key in lineage.grants.keys { identifiers[key] = lineage.id }
        }
    }

    /// Puts keys into one lineage, which is a new one if none of them has one.
    private mutating func unite(_ keys: [TransactionKey], _ splits: inout [Gathering.Split]) {
        let lineages = with(Set(keys.compactMap { identifiers[$0] }).sorted())
        // A member's transaction that was signed without an app transaction joins the member's lineage.
        let named = keys.first { MemberID.isName($0.transactionID.string) }.flatMap { self[$0] }
        let owned = named.flatMap { $0.owner == nil ? nil : $0 }
        let id = (owned ?? ClaimOrder.first(lineages))?.id ?? make()
        for other in lineages where other.id != id { join(other, into: id, &splits) }
        for key in keys {
            if identifiers[key] == nil, !splits.contains(where: { $0.transaction == key }) {
                structure.inserted.append(key)
            }
            identifiers[key] = id
        }
    }

    /// Makes a lineage, whose number is negative if none is free.
    private mutating func make() -> Int64 {
        let id = freeNumbers.popFirst() ?? -Int64(structure.created.count) - 1
        byID[id] = Lineage(id: id)
        structure.created.append(id)
        return id
    }

    /// R6: Both are one purchase. The one that was claimed first decides the owner. Grants stay.
    private mutating func join(_ other: Lineage, into id: Int64, _ splits: inout [Gathering.Split]) {
        undivide(other.id)
        undivide(id)
        guard var lineage = byID[id] else { return }
        byID[other.id] = nil
        structure.merged.append((other.id, id))
        for index in splits.indices where splits[index].lineage == other.id { splits[index].lineage = id }
        let (mine, theirs) = (lineage.owner?.account, other.owner?.account)
        if let basis = lineage.owner?.basis, let mine, other.isOwned(by: mine), let more = other.owner?.basis {
            lineage.owner?.basis = basis.union(more)
        }
        // Keep the state of the subscription with the newest period. Otherwise, its events would be posted again.
        if let lifecycle = other.lifecycle, lineage.newestPurchaseDate < other.newestPurchaseDate,
            mine.map(UTF8Bytes.init) == theirs.map(UTF8Bytes.init)
        {
            lineage.lifecycle = lifecycle
        }
        lineage.formUnion(other)
        byID[id] = lineage
        if let mine, let theirs, !other.isOwned(by: mine) {
            structure.transfers.append(
                StructuralChanges.Transfer(
                    lineage: id, from: theirs, to: mine,
                    reason: "both submitted transactions of one purchase before it was known that they are"))
        }
    }

    /// Moves a transaction to its member's lineage, with what is known of it and, if the claim of its owner rests on
    /// it, with what was granted for it.
    private mutating func split(_ split: Gathering.Split) {
        let key = split.transaction
        undivide(split.lineage)
        guard let id = identifiers[key], var left = byID[split.lineage], var members = byID[id] else { return }
        structure.moved.append(key)
        // What is left can have it as the original transaction.
        structure.names.append((key.sibling(MemberID.bought(key.transactionID.string)), left.id))
        let grant = left.grants[key]
        left.move(key, to: &members)
        (byID[left.id], byID[id]) = (left, members)
        guard let owner = left.owner else { return }
        guard var basis = owner.basis else {
            // It is not known on what the claim rests: it stays, and an operator decides.
            structure.uncertain.append(left.id)
            if grant?.account.hasSameBytes(as: owner.account) ?? false { claimIfFree(id, as: owner) }
            return
        }
        let isClaimedByIt = basis.transactions.contains(key.transactionID)
        if isClaimedByIt { claimIfFree(id, as: owner) }
        if !(byID[id]?.isOwned(by: owner.account) ?? false) {
            removeGrants(for: [key], of: owner.account, in: id, afterSplitOf: left.id)
        }
        guard isClaimedByIt else { return }
        basis.remove(key.transactionID)
        byID[left.id]?.owner?.basis = basis
        if basis.isEmpty {
            byID[left.id]?.owner = nil
            removeGrants(for: left.grants.keys.sorted(), of: owner.account, in: left.id, afterSplitOf: left.id)
        }
    }

    private mutating func claimIfFree(_ id: Int64, as owner: Lineage.Ownership) {
        guard byID[id]?.owner == nil else { return }
        claim(id, for: owner.account, restingOn: .lasting, in: owner.order, at: owner.claimedAt)
    }

    /// Removes what an account was granted for some transactions of a lineage: the next account is granted it anew.
    /// Grants that an operator revoked, and grants without evidence, stay.
    ///
    /// - Parameter split: The lineage that was split.
    private mutating func removeGrants(
        for keys: [TransactionKey], of account: String, in id: Int64, afterSplitOf split: Int64
    ) {
        guard let lineage = byID[id] else { return }
        for key in keys where lineage.evidence[key] != nil {
            guard let grant = lineage.grants[key], grant.account.hasSameBytes(as: account), !grant.isTakenBack else {
                continue
            }
            structure.lost.append((split, grant))
            byID[id]?.grants[key] = nil
        }
    }
}
