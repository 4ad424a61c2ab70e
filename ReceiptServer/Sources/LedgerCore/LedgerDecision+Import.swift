package import AppStoreReceipt
import StrictText

/// The rules of a line of an import.
extension SpentTransaction {
    /// What a line does.
    package enum Decision {
        /// It changes nothing.
        case ends(ImportedLine.Result)
        /// It grants its transaction, whose lineage is that of the keys.
        case grants(PurchaseKeys, notes: [String])
    }

    /// Decides what the line does. A line about a purchase that nobody owns always grants it: what was spent would be
    /// granted again to the next client that submits it.
    ///
    /// - Parameters:
    ///   - known: The data about its transaction.
    ///   - original: The data about its first transaction, if the line names a different one.
    ///   - isOfAnother: Whether a token is that of another account.
    package func decision<Failure: Error>(
        _ known: KnownTransaction, _ original: KnownTransaction?,
        isOfAnother: (AppAccountToken) throws(Failure) -> Bool
    ) throws(Failure) -> Decision {
        let key = keys.transaction
        let original = known.isOfMember ? nil : original
        if SupportID.isReserved(key.transactionID.string), known.granted == nil {
            return .ends(ImportedLine.Result(.fault("'transaction_id' is none that this ledger has made")))
        }
        let contradictions = contradictions(of: known, original)
        // If the line names the wrong original transaction, the owner of that one doesn't matter.
        let concerned = known.lineage != nil && contradictions.original != nil ? [known] : [known, original]
        let owners = concerned.compactMap(\.self).flatMap { [$0.owner, $0.granted?.account] }.compactMap(\.self)
        guard owners.allSatisfy({ $0.hasSameBytes(as: account) }) else {
            return .ends(ImportedLine.Result(.conflict(Outcome.belongsToAnother.rawValue)))
        }
        var notes = [dateNote(known)].compactMap(\.self)
        if !owners.isEmpty, let first = contradictions.all.first {
            return .ends(ImportedLine.Result(.conflict(first), notes: notes))
        }
        guard known.granted == nil else { return .ends(ImportedLine.Result(.known, notes: notes)) }
        notes = contradictions.all + notes
        if owners.isEmpty {
            for token in known.evidence.compactMap(\.accountToken) where try isOfAnother(token) {
                notes.insert("token: it was bought with the token of another account", at: 0)
                break
            }
        }
        let isAlone = contradictions.original != nil || known.isOfMember
        return .grants(isAlone ? PurchaseKeys(granted: key) : keys, notes: notes)
    }
}

extension LedgerDecision {
    /// Grants what a line says was spent, and settles what the ledger already knew about it, such as a refund.
    ///
    /// - Returns: `false` if another account owns the lineage, or the transaction had a grant already.
    package mutating func grant(_ spent: SpentTransaction) -> Bool {
        var grant = Grant(
            transaction: spent.keys.transaction, account: spent.account, productID: spent.productID,
            quantity: Int64(spent.quantity ?? 1))
        (grant.importRun, grant.importedOriginal) = (importRun, spent.originalTransactionID)
        guard grantWithoutEvidence(grant, in: .stated, at: spent.date) else { return false }
        settle()
        return true
    }
}

extension Submission {
    /// The claimed purchases with their transactions, each transaction once.
    package var claimedTransactions: [(signed: SubmittedPurchase, key: TransactionKey)] {
        var seen: Set<TransactionKey> = []
        return claimed.compactMap { signed, keys in
            keys.flatMap { seen.insert($0.transaction).inserted ? (signed, $0.transaction) : nil }
        }
    }

    /// Compares the evidence of a line with what the account was granted without evidence.
    ///
    /// - Parameter known: The data about ``claimedTransactions``, in their order.
    /// - Returns: The result if the line contradicts it and changes nothing; otherwise `nil`, and the notes.
    package func comparison(
        with known: [KnownTransaction], for account: String
    ) -> (conflict: ImportedLine.Result?, notes: [String]) {
        var notes: [String] = []
        for ((signed, _), known) in zip(claimedTransactions, known) {
            guard let granted = known.granted, granted.account.hasSameBytes(as: account) else { continue }
            if let difference = signed.purchase.contradictions(of: known).first {
                return (ImportedLine.Result(.conflict(difference)), [])
            }
            guard known.evidence.isEmpty,
                let note = KnownTransaction.difference(signed.purchase.purchaseDate, [granted.date])
            else { continue }
            notes.append(note)
        }
        return (nil, notes)
    }
}

extension ImportedLine.Outcome {
    /// The outcome of a line with evidence whose purchases have these outcomes.
    package init(_ outcomes: [Outcome]) {
        self =
            if let conflict = outcomes.first(where: { $0.row.ground == .owner }) {
                .conflict(conflict.rawValue)
            } else {
                outcomes.contains(.granted) ? .added : .known
            }
    }
}
