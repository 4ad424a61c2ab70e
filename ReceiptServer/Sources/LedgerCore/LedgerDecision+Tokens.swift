@_spi(Ledger) import AppStoreReceipt
import StrictText

/// The rules about tokens, whose numbers are those of `ORDERS.md`.
extension LedgerDecision {
    /// R1, R14: The account of the token of a purchase, if it has one. R7: A shared purchase has none.
    func holder(of purchase: Purchase) -> TokenHolder? {
        purchase.isShared ? nil : purchase.accountToken.flatMap { lineages.holders?[$0] }
    }

    /// R1: Makes the accounts of tokens the owners of lineages without an owner, whoever submits the evidence. If a
    /// lineage has several tokens, that of the earliest purchase counts. R11: as Apple last signed it. R13: A deleted
    /// account's tokens claim for its random name.
    mutating func claimByTokens() {
        guard lineages.holders != nil else { return }
        for (key, item) in itemsByDate {
            guard let lineage = lineages[key], lineage.owner == nil, rules.isForSale(item.productID),
                let holder = holder(of: item.purchase)
            else { continue }
            let basis = ClaimBasis(lineage.evidence.keys, of: lineage)
            lineages.claim(lineage.id, for: holder.account, restingOn: basis, at: now)
        }
    }

    /// R4: Returns why a purchase can't be claimed when a token is required, or `nil` if the first account that submits
    /// it becomes its owner.
    func tokenRefusal(of item: Entitlements.Item) -> Outcome? {
        let purchase = item.purchase
        // A customer who restores a non-consumable may have bought it before there were tokens.
        let date =
            purchase.productType == .nonConsumable
            ? purchase.originalPurchaseDate ?? purchase.purchaseDate : purchase.purchaseDate
        guard let since = rules.requiresTokenSince, date >= since, !purchase.isShared else { return nil }
        // An account with the token would own it already.
        if purchase.appAccountToken != nil { return .notYours }
        return !submission.canHaveToken || purchase.offer?.type == .offerCode ? nil : .tokenMissing
    }

    /// R3: Notes the tokens that wait for their account. R5, R11, R15: Reports another account's token to the owner,
    /// once for each token of a lineage, also one that changed at Apple or was stored late.
    ///
    /// - Returns: The lineages with a token that is to be reported once its product is for sale, or its deleted account
    ///   is back; `nil` if no tokens were looked at.
    mutating func noteTokens() -> Set<Int64>? {
        // Time and migrations add no tokens.
        guard cause != .beginning, cause != .migration, let holders = lineages.holders else { return nil }
        var unreported: Set<Int64> = []
        for (key, item) in itemsByDate {
            guard let token = item.purchase.accountToken, let lineage = lineages[key], !item.purchase.isShared
            else { continue }
            guard let holder = holders[token] else {
                // It was never reported: an account's token is never deleted.
                lineages.byID[lineage.id]?.tokenNotes[token] = .waiting
                continue
            }
            guard lineage.tokenNotes[token] != .reported else { continue }
            lineages.byID[lineage.id]?.tokenNotes[token] = nil
            guard let owner = lineage.owner?.account, !owner.hasSameBytes(as: holder.account) else { continue }
            // R13: Nobody is there any more to say that it is theirs.
            if !holder.isRetired, rules.isForSale(item.productID) {
                lineages.byID[lineage.id]?.tokenNotes[token] = .reported
                reportConflict(owner, key, item)
            } else {
                unreported.insert(lineage.id)
            }
        }
        return unreported
    }

    /// Tells the owner of a purchase that a transaction has the token of another account, but not whose.
    private mutating func reportConflict(_ owner: String, _ key: TransactionKey, _ item: Entitlements.Item) {
        let grant =
            grants(ofPurchaseWith: key).first { $0.account.hasSameBytes(as: owner) }
            ?? Grant(
                transaction: key, account: owner, productID: item.productID, quantity: 0, until: item.accessEndDate,
                isVoided: false)
        effects.events.append(grant.event(.conflict, cause, item, before: grant.quantity, at: now))
        effects.notices.tokenConflicts.append(TokenConflict(transactionID: item.transactionID))
        dispute(key)
    }
}
