package import AppStoreReceipt
import StrictText

extension PurchaseLedger {
    /// Sets what an account has of a grant, or grants it a product. It records the change, and posts an event.
    ///
    /// - Throws: `not-found` if the account has no such grant, `not-adjustable` if it was revoked, or
    ///   `idempotency-key-reused` if the key belongs to another request of the account.
    @discardableResult
    package func adjust(
        _ adjustment: Adjustment, of account: String, at now: Instant = .now
    ) throws(LedgerError) -> Adjustment.Answer {
        try LedgerText.check(account, "account")
        try adjustment.check()
        if case .product(_, _, let productID, _) = adjustment.change, !policy.isForSale(productID) {
            throw LedgerError(.invalidText, "product_id: not for sale")
        }
        let digest = try adjustment.digest
        return try store.write { [policy] (connection) throws(LedgerError) in
            try connection.lockAccount(account, .shared)
            if let answer = try connection.answer(to: adjustment, of: account, digest) { return answer }
            let done: (grant: Grant, previousQuantity: Int64, events: [LedgerEvent])
            switch adjustment.change {
            case .quantity(let name, let quantity):
                done = try connection.adjust(name.key, to: quantity, of: account, policy, at: now)
            case .asSigned(let name):
                done = try connection.adjust(name.key, to: nil, of: account, policy, at: now)
            case .product(let environment, let bundleID, let productID, let quantity):
                let key = try Adjustment.key(environment, bundleID, account, adjustment.idempotencyKey ?? "")
                let grant = Grant(
                    transaction: key, account: account, productID: productID, quantity: quantity, until: nil,
                    isVoided: false)
                try connection.insert(grant, at: now)
                var event = grant.event(.granted, .support, nil, before: 0, at: now)
                event.originalTransactionID = event.transactionID
                done = (grant, 0, [event])
            }
            let sequences = try connection.post(done.events, answering: [account], policy, at: now).numbers
            let answer = Adjustment.Answer(
                name: TransactionName(done.grant.transaction), productID: done.grant.productID,
                previousQuantity: done.previousQuantity, quantity: done.grant.quantity,
                sequence: sequences.first ?? 0, isRepeated: false)
            try connection.record(adjustment, of: account, answer, digest, at: now)
            return answer
        }
    }
}

extension SQLConnection {
    /// Returns the answer to an earlier request with the same idempotency key, or `nil` if there is none.
    fileprivate func answer(
        to adjustment: Adjustment, of account: String, _ digest: String
    ) throws(LedgerError) -> Adjustment.Answer? {
        guard let key = adjustment.idempotencyKey else { return nil }
        let rows = try run(
            """
            SELECT request, environment, bundle_id, transaction_id, product_id, previous_quantity, quantity, sequence
            FROM acts WHERE account = $1 AND idempotency_key = $2
            """, [.text(account), .text(key)])
        guard let row = rows.first else { return nil }
        guard try row.text(0).hasSameBytes(as: digest),
            let environment = AppStoreEnvironment(rawValue: try row.text(1))
        else { throw LedgerError(.idempotencyKeyReused, "") }
        return Adjustment.Answer(
            name: TransactionName(
                environment: environment, bundleID: try row.text(2), transactionID: try row.text(3)),
            productID: try row.text(4), previousQuantity: try row.integer(5), quantity: try row.integer(6),
            sequence: try row.integer(7), isRepeated: true)
    }

    fileprivate func record(
        _ adjustment: Adjustment, of account: String, _ answer: Adjustment.Answer, _ digest: String, at now: Instant
    ) throws(LedgerError) {
        var kind = ActFact.Kind.adjust
        if case .product = adjustment.change { kind = .grant }
        // If another thread answers the same request, this row causes a conflict, and the retry returns that answer.
        try write(
            """
            INSERT INTO acts (kind, account, environment, bundle_id, transaction_id, product_id, previous_quantity,
                quantity, reason, acted_at, sequence, idempotency_key, request)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
            """,
            [.text(kind.rawValue), .text(account)] + answer.name.key.columns + [
                .text(answer.productID), .integer(answer.previousQuantity), .integer(answer.quantity),
                .text(adjustment.reason), SQLValue(now), .integer(answer.sequence),
                SQLValue(adjustment.idempotencyKey), .text(digest),
            ])
    }

    /// Sets the quantity of a grant of an account whose lineage is locked.
    fileprivate func adjust(
        _ key: TransactionKey, to quantity: Int64?, of account: String, _ policy: LedgerPolicy, at now: Instant
    ) throws(LedgerError) -> (grant: Grant, previousQuantity: Int64, events: [LedgerEvent]) {
        let found = try run(
            """
            SELECT grants.account, identifiers.family_id FROM grants
            JOIN identifiers ON identifiers.environment = grants.environment
                AND identifiers.bundle_id = grants.bundle_id
                AND identifiers.transaction_id = grants.transaction_id
            WHERE grants.environment = $1 AND grants.bundle_id = $2 AND grants.transaction_id = $3
            """, key.columns)
        // Don't reveal what another account has.
        guard let row = found.first, try row.text(0).hasSameBytes(as: account) else {
            try TransactionName(key).checkForm()
            throw LedgerError(.notFound, "grant of the account")
        }
        var purchases = try purchases(of: key)
        if purchases.isEmpty { purchases = try onePurchase(ofEach: [row.integer(1)]) }
        let brought = BroughtEvidence(purchases, spent: [PurchaseKeys(granted: key)])
        var transaction = try LedgerTransaction(recording: brought, policy, self, .support, at: now)
        guard let before = transaction.grant(of: key), before.account.hasSameBytes(as: account) else { throw .conflict }
        let grant = try transaction.adjust(key, to: quantity)
        return (grant, before.quantity, transaction.events)
    }

    /// Returns the stored purchase with a key, if there is one.
    private func purchases(of key: TransactionKey) throws(LedgerError) -> [SignedPurchase] {
        let rows = try run(
            """
            SELECT signed_date, purchase FROM evidence
            WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3 LIMIT 1
            """, key.columns)
        return try rows.map { (row) throws(LedgerError) in
            var purchase: Purchase = try StoredJSON.decode(row.text(1))
            purchase.signedDate = try row.date(0)
            return SignedPurchase(purchase)
        }
    }

    /// Inserts a grant without evidence, and its lineage.
    fileprivate func insert(_ grant: Grant, at now: Instant) throws(LedgerError) {
        let keys = PurchaseKeys(granted: grant.transaction)
        var families = try Families(of: [BroughtEvidence(spent: [keys])], self, at: now)
        guard let family = families[grant.transaction], family.account == nil else {
            // The same request was answered meanwhile, or long ago and the account's name has been deleted.
            let isOurs = families[grant.transaction]?.account?.hasSameBytes(as: grant.account) ?? false
            throw isOurs ? .conflict : LedgerError(.idempotencyKeyReused, "")
        }
        try families.claim(family.id, for: grant.account, restingOn: .lasting, at: now)
        var grants = Grants()
        try grants.insert(grant, self, at: now)
    }
}
