@_spi(Ledger) package import AppStoreReceipt
import StrictText

/// A signed transaction that Apple doesn't know. That isn't proof of a forgery.
package struct UnknownTransaction: Sendable {
    package let app: AskedApp
    package let transactionID: String
    /// The owner, or `nil` if there is none.
    package let account: String?
    /// The SHA-256 of the certificate that signed it first, or `nil` if only the id was submitted.
    package let signer: String?
    package let since: Instant
}

/// A purchase without an owner. Only a client that submits it can claim it.
package struct UnownedPurchase: Sendable {
    package let app: AskedApp
    package let transactionID: String
    package let originalTransactionID: String
    package let productID: String
    package let purchaseDate: Instant
    /// Whether it has a token that belongs to no account.
    package let hasToken: Bool
}

/// Confirmations that Apple knows transactions.
extension PurchaseLedger {
    /// The next step after Apple answered that it doesn't know a transaction.
    package enum UnknownStep: Sendable {
        case again(at: Instant, attempts: Int64)
        /// Request a transaction that Apple knows, to check that the key, app and host are right.
        case control(String)
        case unknown(UnknownTransaction)
        /// The answer means nothing: Apple knew the transaction before, or it is from the sandbox.
        case ended
        case failed
    }

    /// Apple's reports can be late: inquiries repeat after these times, and five consecutive answers must agree.
    static let unknownDelays: [Duration] = [300, 3600, 21_600, 86_400, 259_200].map { .seconds($0) }
    /// The age below which Apple may not know a purchase yet.
    static let unknownAge = Duration.seconds(259_200)
    /// The maximum number of attempts for an inquiry that isn't about notifications.
    package static let maximumAttempts: Int64 = 20

    /// Records that Apple doesn't know a transaction, and returns the next step.
    ///
    /// - Parameter isRepeated: Whether the answer was already recorded, and the control transaction was requested.
    package func recordNotFound(
        _ inquiry: Inquiry, isRepeated: Bool = false, at now: Instant
    ) throws(LedgerError) -> UnknownStep {
        let key = inquiry.app.key(inquiry.subject)
        return try store.write { (connection) throws(LedgerError) in
            if !isRepeated {
                try connection.write(
                    """
                    INSERT INTO confirmations VALUES ($1, $2, $3, $4, $4, 1, NULL, NULL)
                    ON CONFLICT (environment, bundle_id, transaction_id) DO UPDATE
                    SET asked_at = excluded.asked_at, answers = confirmations.answers + 1
                    """, key.columns + [SQLValue(now)])
            }
            let rows = try connection.run(
                """
                SELECT answers, confirmed_at FROM confirmations
                WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3
                """, key.columns)
            guard let row = rows.first else { throw .conflict }
            let answers = Int(try row.integer("answers"))
            // According to Apple, known ids can disappear in rare cases.
            if try !row.isNull("confirmed_at") { return .ended }
            if answers <= Self.unknownDelays.count {
                return .again(at: now + Self.unknownDelays[max(answers, 1) - 1], attempts: 0)
            }
            guard inquiry.app.environment == .production else { return .ended }
            let tomorrow = now + .seconds(86_400)
            let later = inquiry.attempts + 1
            let isLast = later >= Self.maximumAttempts
            let known = try connection.purchase(key)
            if let date = known?.purchaseDate, date > now - Self.unknownAge {
                return isLast ? .failed : .again(at: tomorrow, attempts: later)
            }
            if try !connection.hasAnswer(about: inquiry.app, at: now) {
                let control = try connection.run(
                    """
                    SELECT transaction_id FROM confirmations WHERE environment = $1 AND bundle_id = $2
                        AND confirmed_at IS NOT NULL ORDER BY confirmed_at DESC LIMIT 1
                    """, inquiry.app.columns)
                if !isRepeated, let id = try control.first?.text(0) { return .control(id) }
                return isLast ? .failed : .again(at: tomorrow, attempts: later)
            }
            try connection.write(
                """
                UPDATE confirmations SET unknown_since = COALESCE(unknown_since, $4)
                WHERE environment = $1 AND bundle_id = $2 AND transaction_id = $3
                """, key.columns + [SQLValue(now)])
            return .unknown(
                UnknownTransaction(
                    app: inquiry.app, transactionID: inquiry.subject, account: known?.account, signer: known?.signer,
                    since: now))
        }
    }

    /// Records that Apple knew another transaction of the app.
    package func noteControl(of app: AskedApp, at now: Instant) throws(LedgerError) {
        try store.write { (connection) throws(LedgerError) in try connection.countAnswer(about: app, at: now) }
    }

    /// Returns the transactions that Apple doesn't know, oldest first.
    package func unknownTransactions(limit: Int = 1000) throws(LedgerError) -> [UnknownTransaction] {
        let rows = try store.read { (connection) throws(LedgerError) in
            try connection.run(
                """
                SELECT confirmations.environment, confirmations.bundle_id, confirmations.transaction_id,
                    confirmations.unknown_since,
                    (SELECT account FROM grants WHERE identifier_id = identifiers.id) AS account,
                    (SELECT signer FROM evidence WHERE identifier_id = identifiers.id
                        ORDER BY variant LIMIT 1) AS signer
                FROM confirmations LEFT JOIN identifiers ON identifiers.environment = confirmations.environment
                    AND identifiers.bundle_id = confirmations.bundle_id
                    AND identifiers.transaction_id = confirmations.transaction_id
                WHERE unknown_since IS NOT NULL
                ORDER BY unknown_since, confirmations.transaction_id LIMIT $1
                """, [.integer(Int64(limit))])
        }
        return try rows.map { (row) throws(LedgerError) in
            UnknownTransaction(
                app: try AskedApp(row), transactionID: try row.text("transaction_id"),
                account: try row.optionalText("account"),
                signer: try row.optionalText("signer"), since: try row.date("unknown_since"))
        }
    }

    /// Returns the number of transactions that Apple doesn't know, by app and signer, among the first thousand.
    package func unknownCounts() throws(LedgerError) -> [(app: AskedApp, signer: String, count: Int)] {
        struct Signer: Hashable {
            let app: AskedApp
            let signer: UTF8Bytes
        }
        var counts: [Signer: Int] = [:]
        for unknown in try unknownTransactions() {
            counts[Signer(app: unknown.app, signer: UTF8Bytes(unknown.signer ?? "")), default: 0] += 1
        }
        return counts.map { ($0.app, $0.signer.string, $1) }
    }

    // MARK: Owners

    /// Calls a closure with each purchase without an owner, newest first.
    package func forEachPurchaseWithoutOwner(_ body: (UnownedPurchase) -> Void) throws(LedgerError) {
        var last = Int64.max
        while case let rows = try purchasesWithoutOwner(before: last), let row = rows.last {
            last = try row.integer("id")
            for row in rows {
                let purchase: Purchase = try StoredJSON.decode(row.text("purchase"))
                body(
                    UnownedPurchase(
                        app: try AskedApp(row), transactionID: try row.text("transaction_id"),
                        originalTransactionID: purchase.originalTransactionID, productID: purchase.productID,
                        purchaseDate: purchase.purchaseDate, hasToken: purchase.appAccountToken != nil))
            }
        }
    }

    /// Returns such purchases from some lineages.
    private func purchasesWithoutOwner(before lineage: Int64) throws(LedgerError) -> [SQLRow] {
        try store.read { (connection) throws(LedgerError) in
            try connection.run(
                """
                SELECT identifiers.environment, identifiers.bundle_id, identifiers.transaction_id, evidence.purchase,
                    unowned.id
                FROM (
                    SELECT families.id FROM families WHERE account IS NULL AND families.id < $1
                        AND EXISTS (SELECT 1 FROM identifiers
                            JOIN evidence ON evidence.identifier_id = identifiers.id
                            WHERE identifiers.family_id = families.id)
                    ORDER BY families.id DESC LIMIT 1000) AS unowned
                JOIN identifiers ON identifiers.family_id = unowned.id
                JOIN evidence ON evidence.identifier_id = identifiers.id
                WHERE evidence.variant = (SELECT MIN(variant) FROM evidence WHERE identifier_id = identifiers.id)
                ORDER BY unowned.id DESC, identifiers.transaction_id
                """, [.integer(lineage)])
        }
    }

    /// Returns the inquiries that cover everything an account owns: its subscriptions, and each other purchase.
    package func subjects(
        of account: String, in app: AskedApp, at now: Instant
    ) throws(LedgerError) -> [(kind: Inquiry.Kind, id: String)] {
        let items = try entitlements(of: account, in: app.environment, at: now).items
        var seen: Set<UTF8Bytes> = []
        var subjects: [(kind: Inquiry.Kind, id: String)] = []
        for item in items where item.purchase.bundleID?.hasSameBytes(as: app.bundleID) ?? false {
            let isSubscription = item.purchase.productType == .autoRenewableSubscription
            let id = isSubscription ? item.originalTransactionID : item.firstTransactionID
            if seen.insert(UTF8Bytes(id)).inserted { subjects.append((isSubscription ? .statuses : .transaction, id)) }
        }
        return subjects
    }
}

extension SQLConnection {
    fileprivate func purchase(
        _ key: TransactionKey
    ) throws(LedgerError) -> (purchaseDate: Instant, account: String?, signer: String?)? {
        let rows = try run(
            """
            SELECT evidence.purchase, evidence.signer, grants.account
            FROM evidence LEFT JOIN grants ON grants.identifier_id = evidence.identifier_id
            WHERE evidence.identifier_id = \(TransactionKey.id) ORDER BY variant LIMIT 1
            """, key.columns)
        guard let row = rows.first else { return nil }
        let purchase: Purchase = try StoredJSON.decode(row.text("purchase"))
        return (purchase.purchaseDate, try row.optionalText("account"), try row.optionalText("signer"))
    }
}
