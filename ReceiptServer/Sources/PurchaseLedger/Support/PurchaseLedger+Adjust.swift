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
        if case .product(_, _, let productID, _) = adjustment.change, !policy.rules.isForSale(productID) {
            throw LedgerError(.invalidText, "product_id: not for sale")
        }
        let digest = try adjustment.digest
        return try store.write { [policy] (connection) throws(LedgerError) in
            try connection.lockAccount(account, .shared)
            if let answer = try connection.answer(to: adjustment, of: account, digest) { return answer }
            let settled =
                switch adjustment.change {
                case .quantity(let name, let quantity):
                    try connection.adjust(name.key, to: quantity, of: account, policy, at: now)
                case .asSigned(let name): try connection.adjust(name.key, to: nil, of: account, policy, at: now)
                case .product(let environment, let bundleID, let productID, let quantity):
                    try connection.add(
                        Grant(
                            transaction: Adjustment.key(
                                environment, bundleID, account, adjustment.idempotencyKey ?? ""),
                            account: account, productID: productID, quantity: quantity, until: nil, isVoided: false),
                        for: adjustment, digest, policy, at: now)
                }
            let (grant, previousQuantity) = settled.result
            let answer = Adjustment.Answer(
                name: TransactionName(grant.transaction), productID: grant.productID,
                previousQuantity: previousQuantity, quantity: grant.quantity,
                sequence: settled.numbers.first ?? 0, isRepeated: false)
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
        guard try row.text("request").hasSameBytes(as: digest) else { throw LedgerError(.idempotencyKeyReused, "") }
        return Adjustment.Answer(
            name: try row.transactionName, productID: try row.text("product_id"),
            previousQuantity: try row.integer("previous_quantity"), quantity: try row.integer("quantity"),
            sequence: try row.integer("sequence"), isRepeated: true)
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

    /// Sets the quantity of a grant of an account.
    fileprivate func adjust(
        _ key: TransactionKey, to quantity: Int64?, of account: String, _ policy: LedgerPolicy, at now: Instant
    ) throws(LedgerError) -> Settled<(grant: Grant, previousQuantity: Int64)> {
        let found = try run(
            """
            SELECT grants.account, identifiers.family_id FROM grants
            JOIN identifiers ON identifiers.id = grants.identifier_id
            WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3
            """, key.columns)
        // Don't reveal what another account has.
        guard let row = found.first, try row.text("account").hasSameBytes(as: account) else {
            try TransactionName(key).checkForm()
            throw LedgerError(.notFound, "grant of the account")
        }
        var loader = LineageLoader(connection: self, submissions: [Submission()], policy: policy, now: now)
        (loader.numbers, loader.isWhole) = ([try row.integer("family_id")], true)
        return try loader.settle(.support, answering: [account]) { (decision, _) throws(LedgerError) in
            guard let before = decision.grant(of: key), before.account.hasSameBytes(as: account) else {
                throw .conflict
            }
            return (try decision.adjust(key, to: quantity), before.quantity)
        }
    }

    /// Adds a grant without evidence, with its lineage.
    fileprivate func add(
        _ grant: Grant, for adjustment: Adjustment, _ digest: String, _ policy: LedgerPolicy, at now: Instant
    ) throws(LedgerError) -> Settled<(grant: Grant, previousQuantity: Int64)> {
        let submission = Submission(spent: [PurchaseKeys(granted: grant.transaction)])
        let loader = LineageLoader(connection: self, submissions: [submission], policy: policy, now: now)
        return try loader.settle(.support, answering: [grant.account]) { (decision, _) throws(LedgerError) in
            guard decision.grantWithoutEvidence(grant, in: .last, at: now) else {
                // The same request was answered meanwhile: the next try returns that answer.
                if try answer(to: adjustment, of: grant.account, digest) != nil { throw .conflict }
                // It was answered long ago. The account was deleted since, with its key, and may have its grants back.
                throw LedgerError(.idempotencyKeyReused, "")
            }
            var event = grant.event(.granted, .support, nil, before: 0, at: now)
            event.originalTransactionID = event.transactionID
            decision.effects.events.append(event)
            return (grant, 0)
        }
    }
}
