@_spi(Ledger) package import AppStoreReceipt
import StrictText

/// What support, a transfer and an import change without new evidence.
extension LedgerDecision {
    /// Sets the quantity of a grant, or has it follow the evidence again.
    ///
    /// - Parameter quantity: `nil` for what the evidence says.
    /// - Returns: What the account has of it now.
    package mutating func adjust(_ key: TransactionKey, to quantity: Int64?) throws(LedgerError) -> Grant {
        guard let grant = grant(of: key) else { throw LedgerError(.notFound, "grant of the account") }
        guard !grant.isVoided else { throw LedgerError(.notAdjustable, "an operator took it back in the database") }
        // A restored non-consumable can have been granted under its first transaction, without evidence.
        let item =
            item(of: key)
            ?? groups.first { grants(of: $0).contains { $0.transaction == key } }?.items.first?.item
        if let group = group(of: key), repeatedGrants(grants(of: group), of: group).contains(key) {
            throw LedgerError(.notAdjustable, "the account has the period under another transaction")
        }
        let signed = item?.ownedQuantity.map(Int64.init) ?? grant.adjusted?.signedThen ?? grant.quantity
        var changed = grant
        changed.adjusted = quantity.map { AdjustedQuantity(quantity: $0, signedThen: signed) }
        if let quantity, quantity > 0 {
            guard signed > 0 else { throw LedgerError(.notAdjustable, "Apple took it back") }
            guard quantity == 1 || item?.purchase.productType ?? .consumable == .consumable else {
                throw LedgerError(.invalidText, "quantity: 0 or 1 of what is no consumable")
            }
        }
        changed.quantity = changed.quantity(signed: signed)
        if let item { (changed.until, changed.seats) = (item.accessEndDate, item.periodSeats.map(Int64.init)) }
        change(changed)
        if let kind = changed.kind(after: grant) {
            effects.events.append(changed.event(kind, cause, item, before: grant.quantity, at: now))
        }
        return changed
    }

    /// Gives what an account owns, or was granted, to another account.
    ///
    /// - Parameter tokens: The account's tokens, if they move, too (R12).
    package mutating func transfer(
        from account: String, to other: String, reason: String, moving tokens: [AppAccountToken]
    ) {
        let firstEvent = effects.events.count
        for lineage in lineages.with(numbers) {
            if lineage.isOwned(by: account) {
                // What was granted without evidence cannot be split off.
                let isLasting = lineage.grants.keys.contains { lineage.evidence[$0] == nil }
                let basis = ClaimBasis(lineage.evidence.keys, of: lineage).union(ClaimBasis(isLasting: isLasting))
                lineages.byID[lineage.id]?.owner?.account = other
                lineages.byID[lineage.id]?.owner?.basis = basis
                // All its tokens are compared with the new owner's.
                lineages.byID[lineage.id]?.division?.areTokensNoted = false
            }
            lineages.structure.transfers.append(
                StructuralChanges.Transfer(lineage: lineage.id, from: account, to: other, reason: reason))
            let hasSeveral = lineage.purchases.contains(where: \.isOneOfSeveral)
            for (key, grant) in lineage.grants.sorted(by: { $0.key < $1.key })
            where grant.account.hasSameBytes(as: account) {
                transfer(grant, to: other)
                // Both accounts can have had a part of one period.
                if hasSeveral { effects.dueDates[key] = now }
            }
            if lineage.isOwned(by: account) { lineages.byID[lineage.id]?.lifecycle = nil }
        }
        notifyLifecycles()
        guard rules.usesTokens else { return }
        for index in effects.events.indices[firstEvent...] {
            let event = effects.events[index]
            if let token = event.token, event.account.hasSameBytes(as: other), tokens.contains(token) {
                effects.events[index].accountToken = token
            }
        }
    }

    /// Gives what an account owns, or was granted, a name that nobody has, and notifies nobody (R13).
    package mutating func forget(_ account: String, as name: String) {
        for lineage in lineages.with(numbers) {
            if lineage.isOwned(by: account) { lineages.byID[lineage.id]?.owner?.account = name }
            for (key, grant) in lineage.grants where grant.account.hasSameBytes(as: account) {
                lineages.byID[lineage.id]?.grants[key]?.account = name
            }
        }
    }

    private mutating func transfer(_ grant: Grant, to other: String) {
        var (taken, given) = (grant, grant)
        (taken.quantity, taken.seats, given.account) = (0, nil, other)
        change(given)
        let item = item(of: grant.transaction)
        if grant.quantity > 0 {
            effects.events.append(taken.event(.revoked, cause, item, before: grant.quantity, at: now))
        }
        // A deleted account that gets a purchase back may know it from before, and not know of a refund since.
        let kind = grant.quantity > 0 ? LedgerEvent.Kind.granted : .revoked
        effects.events.append(given.event(kind, cause, item, before: 0, at: now))
    }

    /// Records what a backend granted before there was a ledger, or support grants, without evidence.
    ///
    /// - Returns: `false` if another account owns the lineage, or the transaction had a grant already.
    package mutating func grantWithoutEvidence(_ grant: Grant, in order: ClaimOrder, at date: Instant) -> Bool {
        guard let lineage = lineages[grant.transaction], lineage.grants[grant.transaction] == nil,
            lineage.owner == nil || lineage.isOwned(by: grant.account)
        else { return false }
        // A grant without evidence belongs to no part of a divided subscription.
        lineages.undivide(lineage.id)
        if lineage.owner == nil {
            lineages.claim(lineage.id, for: grant.account, restingOn: .lasting, in: order, at: date)
        }
        add(grant, at: date)
        return true
    }
}
