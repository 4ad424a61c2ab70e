@_spi(Ledger) import AppStoreReceipt
import StrictText

extension LedgerDecision {
    /// Makes the accounts of tokens the owners of what nobody owns, and reconciles the grants with the evidence.
    package mutating func settle() {
        claimByTokens()
        grantAndRevoke()
    }

    /// Reconciles the grants with the evidence, for all purchases that have an owner.
    ///
    /// - Parameter account: The account of the import's line that submits: the backend granted the line's own
    ///   transactions long ago, as they were bought.
    mutating func grantAndRevoke(importingFor account: String? = nil) {
        let submitted = Set(submission.claimed.compactMap(\.keys?.transaction))
        for group in groups { settle(group, submitted, importingFor: account) }
        let unreported = noteTokens()
        notifyLifecycles()
        divide(unreported)
    }

    private mutating func settle(
        _ group: Copies, _ submitted: Set<TransactionKey>, importingFor account: String?
    ) {
        // If a restored transaction is submitted, it is the one that is answered with `granted`.
        guard let (key, item) = group.items.first(where: { submitted.contains($0.key) }) ?? group.items.first
        else { return }
        if let date = item.nextChange, lineages[key]?.owner != nil {
            effects.dueDates[group.items[0].key] = date
        }
        var existing = grants(of: group)
        if existing.isEmpty, submitted.contains(key), let account, let bought = grantAsBought(key, item, account) {
            existing = [bought]
        }
        if existing.isEmpty {
            grant(key, item)
            if submitted.contains(key) { noteEnded(key, item) }
        } else {
            let repeated = repeatedGrants(existing, of: group)
            for grant in existing { change(grant, item, isRepeated: repeated.contains(grant.transaction)) }
        }
        guard !existing.isEmpty || granted.contains(key) else { return }
        for (key, item) in group.items {
            if let type = item.statedType, let id = lineages.identifiers[key] { lineages.byID[id]?.keep(type, of: key) }
        }
    }

    // MARK: Granting

    private mutating func grant(_ key: TransactionKey, _ item: Entitlements.Item) {
        // A non-renewing subscription whose length only the app knows is granted once, as a consumable is.
        guard item.access.isGrantable || item.access == .lengthUnknown, let quantity = item.ownedQuantity,
            let account = lineages[key]?.owner?.account, rules.isForSale(item.productID)
        else { return }
        let grant = add(key, item, account, Int64(quantity))
        // Renewals, and what else follows a first purchase, have its id as the original one.
        if key.transactionID == UTF8Bytes(item.originalTransactionID), !item.purchase.isShared {
            effects.newPurchases.append(NewPurchase(grant: grant, token: item.purchase.accountToken))
        }
        effects.events.append(grant.event(.granted, cause, item, before: 0, at: now))
        effects.granted.append((key, Self.original(of: key, item)))
        notePeriodEnd(of: grant, item)
    }

    /// Grants a line's own transaction as bought, without an event: the backend granted it itself. Any refund since
    /// changes this grant.
    ///
    /// - Returns: `nil` if it gives the account nothing.
    private mutating func grantAsBought(
        _ key: TransactionKey, _ item: Entitlements.Item, _ account: String
    ) -> Grant? {
        guard lineages[key]?.isOwned(by: account) ?? false, rules.isForSale(item.productID),
            let owned = item.ownedQuantity,
            owned == 0 || item.access.isGrantable || item.access == .lengthUnknown
        else { return nil }
        let quantity =
            item.purchase.productType == .autoRenewableSubscription ? 1 : Int64(max(1, item.purchase.quantity ?? 1))
        let grant = add(key, item, account, quantity)
        notePeriodEnd(of: grant, item)
        return grant
    }

    private mutating func add(
        _ key: TransactionKey, _ item: Entitlements.Item, _ account: String, _ quantity: Int64
    ) -> Grant {
        var grant = Grant(
            transaction: key, account: account, productID: item.productID, quantity: quantity,
            until: item.accessEndDate, seats: item.periodSeats.map(Int64.init))
        grant.importRun = importRun
        granted.insert(key)
        // Something is granted without an end, because nobody stated how long it lasts.
        if item.length == .unknown { effects.notices.unknownLengths.append(item.productID) }
        return add(grant, at: now)
    }

    private mutating func noteEnded(_ key: TransactionKey, _ item: Entitlements.Item) {
        guard case .expired = item.access, item.purchase.productType == .autoRenewableSubscription,
            rules.isForSale(item.productID), let owner = lineages[key]?.owner, let end = item.accessEndDate,
            owner.claimedAt < end
        else { return }
        effects.endedUnnotified.append(key)
    }

    private mutating func notePeriodEnd(of grant: Grant, _ item: Entitlements.Item) {
        guard item.purchase.productType == .autoRenewableSubscription, grant.quantity > 0, let end = grant.until else {
            return
        }
        effects.periodEnds.append((Self.original(of: grant.transaction, item), end))
    }

    // MARK: Changing

    /// - Parameter isRepeated: Whether the account has the purchase under another transaction.
    private mutating func change(_ grant: Grant, _ item: Entitlements.Item, isRepeated: Bool) {
        guard !grant.isVoided else { return }
        var changed = grant
        if item.purchase.productType == .autoRenewableSubscription { changed.adjusted = grant.adjusted?.ofSubscription }
        changed.quantity = item.ownedQuantity.map { changed.quantity(signed: Int64($0)) } ?? grant.quantity
        // What only a later version may understand takes nothing back.
        if item.access != .undetermined {
            changed.until = item.accessEndDate
            changed.seats = item.periodSeats.map(Int64.init)
        }
        if isRepeated { (changed.quantity, changed.seats) = (0, nil) }
        // The end of what the account does not have is of no interest.
        guard (grant.quantity, changed.quantity) != (0, 0), var kind = changed.kind(after: grant) else { return }
        // Apple took nothing back.
        if isRepeated { kind = .adjusted }
        change(changed)
        notePeriodEnd(of: changed, item)
        // What was granted has begun already.
        let cause = cause == .beginning ? LedgerEvent.Cause.revocation : cause
        effects.events.append(
            changed.event(kind, cause, self.item(of: grant.transaction) ?? item, before: grant.quantity, at: now))
    }

    // MARK: Large subscriptions

    /// Keeps how large subscriptions are divided, and when time alone changes what was decided.
    ///
    /// - Parameter unreported: What ``noteTokens()`` returns.
    private mutating func divide(_ unreported: Set<Int64>?) {
        for lineage in lineages.with(numbers) where lineage.owner != nil && !lineage.isOfMember {
            let areTokensNoted =
                unreported.map { !$0.contains(lineage.id) } ?? lineage.division?.areTokensNoted ?? false
            if let division = lineage.division, division.periods == nil {
                lineages.byID[lineage.id]?.division?.areTokensNoted = areTokensNoted
                continue
            }
            // Nothing of it was loaded: renewal information alone needs no part.
            if lineage.evidence.isEmpty { continue }
            guard lineage.division != nil || lineage.storedTransactionCount > rules.wholeLineageLimit else { continue }
            // A grant without evidence, which was imported, is in no part.
            let isComplete = lineage.grants.keys.allSatisfy { lineage.evidence[$0] != nil }
            guard isComplete, let parts = SubscriptionParts(lineage.evidence),
                lineage.division.map({ $0.original == parts.original }) ?? true
            else {
                lineages.undivide(lineage.id)
                continue
            }
            var changes: [TransactionKey: Instant] = [:]
            for key in lineage.evidence.keys { changes[key] = changeDate(of: key) }
            lineages.byID[lineage.id]?.division = Division(parts, areTokensNoted: areTokensNoted, changes)
        }
    }

    /// When time alone can change what an account has of a transaction; the distant past if settings can change it
    /// at any time.
    private func changeDate(of key: TransactionKey) -> Instant? {
        guard let group = group(of: key), let item = item(of: key) else { return nil }
        if case .notYet = item.access { return .distantPast }
        if item.access.isGrantable, grants(of: group).isEmpty { return .distantPast }
        return item.nextChange
    }
}
