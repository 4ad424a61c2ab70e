@_spi(Ledger) @_spi(Surfaces) package import AppStoreReceipt
import StrictText

/// The account that submits purchases.
package struct Claim: Sendable {
    package let account: String
    /// The token with which the account buys; `nil` if the caller does not say.
    package let token: AppAccountToken?

    package init(account: String, token: AppAccountToken?) { (self.account, self.token) = (account, token) }
}

extension LedgerDecision {
    /// Makes an account the owner of the purchases that it submits and nobody owns, settles, and returns the outcomes.
    package mutating func redeem(_ claim: Claim) -> [TransactionOutcome] {
        claimByTokens()
        let submitted = Dictionary(grouping: submission.claimed.compactMap(\.keys?.transaction)) {
            lineages.identifiers[$0]
        }
        claimPurchases(claim, submitted)
        for case (let id?, let keys) in submitted {
            guard let lineage = lineages.byID[id], lineage.isOwned(by: claim.account) else { continue }
            lineages.extendClaim(of: id, by: ClaimBasis(keys, of: lineage))
        }
        grantAndRevoke(importingFor: importRun == nil ? nil : claim.account)
        var seen: Set<TransactionKey> = []
        var outcomes: [TransactionOutcome] = []
        for (signed, keys) in submission.claimed {
            if let keys, !seen.insert(keys.transaction).inserted { continue }
            let outcome = outcome(of: signed.purchase, keys, claim)
            if let keys, [.undetermined, .notYours, .belongsToAnother].contains(outcome.outcome) {
                dispute(keys.transaction)
            }
            outcomes.append(outcome)
        }
        return outcomes
    }

    private mutating func claimPurchases(_ claim: Claim, _ submitted: [Int64?: [TransactionKey]]) {
        var lineagesForOthers: Set<Int64> = []
        for (key, item) in groups.lazy.flatMap(\.items) where hasTokenOfAnother(item.purchase, claim) {
            if let id = lineages.identifiers[key] { lineagesForOthers.insert(id) }
        }
        for (_, keys) in submission.claimed {
            // DANGEROUS (R4, R9): whoever submits evidence first owns the purchase for good, since nothing in most
            // evidence says whose it is. A purchase claimed too easily here is lost to its buyer. Claim only a purchase
            // that is for sale, has no owner, and was not bought with the token of another account, as far as anything
            // known of its lineage says; it may have ended. Old evidence without a token, such as a receipt, claims no
            // lineage with a purchase for another account.
            guard let keys, let lineage = lineages[keys.transaction], lineage.owner == nil,
                let item = item(of: keys.transaction), rules.isForSale(item.productID), tokenRefusal(of: item) == nil,
                hasToken(of: claim, item.purchase) || !lineagesForOthers.contains(lineage.id)
            else { continue }
            let basis = ClaimBasis(submitted[lineage.id] ?? [], of: lineage)
            lineages.claim(lineage.id, for: claim.account, restingOn: basis, at: now)
        }
    }

    private func hasTokenOfAnother(_ purchase: Purchase, _ claim: Claim) -> Bool {
        if let holder = holder(of: purchase) { return !holder.account.hasSameBytes(as: claim.account) }
        guard let token = purchase.appAccountToken, let expected = claim.token else { return false }
        return token != expected
    }

    private func hasToken(of claim: Claim, _ purchase: Purchase) -> Bool {
        if let holder = holder(of: purchase) { return holder.account.hasSameBytes(as: claim.account) }
        return claim.token.map { $0 == purchase.appAccountToken } ?? false
    }

    // MARK: Outcomes

    private func outcome(of purchase: Purchase, _ keys: PurchaseKeys?, _ claim: Claim) -> TransactionOutcome {
        guard let keys, let group = group(of: keys.transaction), let item = item(of: keys.transaction) else {
            return answer(.undetermined, purchase, nil, claim)
        }
        let existing = grants(of: group)
        if !existing.isEmpty {
            let repeated = repeatedGrants(existing, of: group)
            let own = existing.filter {
                $0.account.hasSameBytes(as: claim.account) && !repeated.contains($0.transaction)
            }
            // There are several if it became known later that they are of one purchase.
            let grant = own.first { $0.transaction == keys.transaction } ?? own.first { $0.quantity > 0 } ?? own.first
            guard let grant else { return answer(.belongsToAnother, purchase, item, claim) }
            if granted.contains(keys.transaction) { return answer(.granted, purchase, item, claim, grant) }
            return answer(grant.quantity > 0 ? .alreadyYours : .revoked, purchase, item, claim, grant)
        }
        return answer(outcome(ofUngranted: item, keys.transaction, claim), purchase, item, claim)
    }

    private func outcome(ofUngranted item: Entitlements.Item, _ key: TransactionKey, _ claim: Claim) -> Outcome {
        let owner = lineages[key]?.owner?.account
        // R2, R10
        if let owner, !owner.hasSameBytes(as: claim.account) { return .belongsToAnother }
        if !rules.isForSale(item.productID) { return .notForSale }
        if owner == nil { return tokenRefusal(of: item) ?? .notYours }
        return switch item.access {
        case .notYet: .tooEarly
        case .expired, .upgraded: .expired
        case .revoked, .consumable: .revoked
        case .active, .owned, .lengthUnknown, .undetermined: .undetermined
        @unknown default: .undetermined
        }
    }

    /// - Parameter own: The account's grant. Another account's grant must not be revealed.
    private func answer(
        _ outcome: Outcome, _ purchase: Purchase, _ item: Entitlements.Item?, _ claim: Claim, _ own: Grant? = nil
    ) -> TransactionOutcome {
        let reason: String? =
            switch outcome.row.ground {
            case .had: nil
            case .evidence: (item?.reason ?? purchase.undecidable)?.rawValue ?? outcome.rawValue
            case .owner, .sale: outcome.rawValue
            }
        let priced = own.flatMap { _ in item?.purchase } ?? purchase
        return TransactionOutcome(
            transactionID: purchase.transactionID, originalTransactionID: purchase.originalTransactionID,
            grantedAs: own?.transaction.transactionID.string, productID: purchase.productID,
            bundleID: purchase.bundleID, environment: purchase.environment, outcome: outcome,
            access: item?.access, reason: reason, quantity: Int(own?.quantity ?? 0),
            seats: own?.seats.map(Int.init), until: item?.accessEndDate,
            purchaseDate: own.flatMap { self.item(of: $0.transaction) }?.purchase.purchaseDate
                ?? purchase.purchaseDate,
            length: item?.length?.code, price: priced.price, currency: priced.currency,
            storefront: priced.storefront,
            isTypeStated: item.flatMap { $0.purchase.productType == nil ? nil : $0.isTypeStated },
            isOwnerConflict: outcome == .belongsToAnother && item.map { hasToken(of: claim, $0.purchase) } ?? false)
    }
}
