package import AppStoreReceipt
import StrictText

/// The ledger's data about a transaction in a line of an import.
package struct KnownTransaction {
    /// The grant for it.
    package struct Granted {
        let account: String
        let productID: String
        /// The quantity that was granted or imported, which a refund doesn't change.
        let quantity: Int64
        let date: Instant
        /// The first transaction of the purchase, if it was imported with one.
        let originalTransactionID: String?

        package init(
            account: String, productID: String, quantity: Int64, date: Instant, originalTransactionID: String?
        ) {
            (self.account, self.productID, self.quantity) = (account, productID, quantity)
            (self.date, self.originalTransactionID) = (date, originalTransactionID)
        }
    }

    /// The number and the owner of its lineage.
    package var lineage: Int64?
    package var owner: String?
    package var granted: Granted?
    package var evidence: [Purchase] = []

    package init() {}

    var isAutoRenewable: Bool { evidence.contains(where: \.isAutoRenewable) }

    /// Whether it assigns a seat to a member, in which case its original transaction is the buyer's.
    var isOfMember: Bool { evidence.contains { $0.ownershipType == .assigned } }

    /// Whether it is known only as the original transaction of others.
    fileprivate var isOriginalAlone: Bool { lineage != nil && granted == nil && evidence.isEmpty }

    /// Returns the ids of its original transaction according to evidence or a grant.
    fileprivate func originals(_ id: String) -> [String] {
        if isOriginalAlone { return [id] }
        return [granted?.originalTransactionID].compactMap(\.self)
            + evidence.flatMap {
                [$0.originalTransactionID, $0.previousOriginalTransactionID].compactMap(\.self)
            }
    }

    /// Returns a text for a value in a line that differs from the ledger, or `nil` if it doesn't.
    static func difference(_ column: String, _ said: String, _ known: [String]) -> String? {
        guard let first = known.first, !known.contains(where: { $0.hasSameBytes(as: said) }) else { return nil }
        return "\(column): the line has '\(said.printable)', the ledger '\(first.printable)'"
    }

    static func difference(_ said: Int64, _ known: [Int64]) -> String? {
        guard let first = known.first, !known.contains(said) else { return nil }
        return "quantity: the line has \(said), the ledger \(first)"
    }

    /// Dates in a shop's database have seconds; those in Apple's evidence, milliseconds.
    static func difference(_ said: Instant, _ known: [Instant]) -> String? {
        guard let first = known.first,
            !known.contains(where: { abs($0.millisecondsSince1970 - said.millisecondsSince1970) < 1000 })
        else { return nil }
        return "date: the line has \(said), the ledger \(first)"
    }
}

extension SpentTransaction {
    /// The contradictions between a line and the ledger. Omitted values contradict nothing.
    struct Contradictions {
        /// The contradiction if the purchase's first transaction can't be the one in the line.
        var original: String?
        var others: [String] = []

        var all: [String] { [original].compactMap(\.self) + others }
    }

    /// Returns the contradictions of the line. If imported data and signed evidence differ, which has already been
    /// reported, the line must agree with one of them.
    ///
    /// - Parameters:
    ///   - known: The data about its transaction.
    ///   - original: The data about its first transaction, if the line names a different one.
    func contradictions(of known: KnownTransaction, _ original: KnownTransaction?) -> Contradictions {
        var found = Contradictions()
        let granted = known.granted
        if let originalTransactionID {
            let originals = known.originals(keys.transaction.transactionID.string)
            found.original = KnownTransaction.difference(
                "original_transaction_id", originalTransactionID, originals)
            if let original, found.original == nil {
                let id = originalTransactionID.printable
                // A transaction that is itself a renewal, or a consumable, can't be the original of another one.
                let isFirst = original.originals(originalTransactionID).allSatisfy {
                    $0.hasSameBytes(as: originalTransactionID)
                }
                if let one = known.lineage, let other = original.lineage, one != other {
                    found.original = "original_transaction_id: '\(id)' is another purchase"
                } else if !isFirst || original.evidence.contains(where: { $0.productType == .consumable }) {
                    found.original = "original_transaction_id: '\(id)' is not the first of a purchase"
                }
            }
        }
        if let difference = KnownTransaction.difference(
            "product_id", productID, [granted?.productID].compactMap(\.self) + known.evidence.map(\.productID))
        {
            found.others.append(difference)
        }
        if let quantity, !known.isAutoRenewable, !(original?.isAutoRenewable ?? false),
            let difference = KnownTransaction.difference(
                Int64(quantity),
                [granted?.quantity].compactMap(\.self) + known.evidence.compactMap { $0.quantity.map(Int64.init) })
        {
            found.others.append(difference)
        }
        return found
    }

    func dateNote(_ known: KnownTransaction) -> String? {
        // Unless it was imported first, a grant with evidence has the date it was redeemed.
        let dates = known.evidence.map(\.purchaseDate) + [known.granted?.date].compactMap(\.self)
        return KnownTransaction.difference(date, dates)
    }
}

extension Purchase {
    /// Whether its quantity is a number of seats.
    fileprivate var isAutoRenewable: Bool {
        productType.map { $0 == .autoRenewableSubscription } ?? (expiresDate != nil)
    }

    /// Returns the contradictions between this evidence and data that was imported without evidence.
    func contradictions(of known: KnownTransaction) -> [String] {
        guard let granted = known.granted, known.evidence.isEmpty else { return [] }
        return [
            KnownTransaction.difference("product_id", productID, [granted.productID]),
            granted.originalTransactionID.flatMap {
                [originalTransactionID, previousOriginalTransactionID ?? originalTransactionID]
                    .contains(where: $0.hasSameBytes)
                    ? nil : KnownTransaction.difference("original_transaction_id", originalTransactionID, [$0])
            },
            isAutoRenewable ? nil : quantity.flatMap { KnownTransaction.difference(Int64($0), [granted.quantity]) },
        ].compactMap(\.self)
    }
}
