import AppStoreReceipt
import StrictText

extension PurchaseLedger {
    /// The maximum number of findings for one word.
    private static let maximumFindingCount = 20

    /// Returns everything that has a word as its name: a transaction, an order of the ledger or the shop, an account
    /// token, a request, a digest of evidence, or an account. Names are compared byte for byte.
    package func find(_ word: String) throws(LedgerError) -> [SupportFinding] {
        guard LedgerText.isStorable(word) else { return [] }
        let limit = "LIMIT \(Self.maximumFindingCount)"
        return try store.read { (connection) throws(LedgerError) in
            let parameter = [SQLValue.text(word)]
            var found: [SupportFinding] = []
            // A transaction that Apple was asked about may be in no other table.
            for row in try connection.run(
                """
                SELECT environment, bundle_id, transaction_id FROM identifiers WHERE transaction_id = $1
                UNION SELECT environment, bundle_id, transaction_id FROM acts WHERE transaction_id = $1 \(limit)
                """, parameter)
            {
                found.append(.transaction(try row.transactionName))
            }
            // If an order was closed by a purchase that may belong to another order, it leads only to its account.
            for row in try connection.run(
                """
                SELECT id, account, environment, bundle_id, transaction_id, is_named FROM orders
                WHERE id = $1 OR shop_order_id = $1 ORDER BY id
                """, parameter)
            {
                let name = try row.isNull("is_named") ? nil : row.transactionName
                found.append(.order(id: try row.text("id"), account: try row.text("account"), transaction: name))
            }
            if let token = AppAccountToken(uuid: word),
                let row = try connection.run(
                    "SELECT account FROM account_tokens WHERE token = $1", [.text(token.description)]
                ).first
            {
                found.append(.account(try row.text(0)))
            }
            found += try connection.attempts("WHERE attempts.request_id = $1", parameter).map { .attempt($0) }
            found += try connection.attempts(
                AttemptQuery.withDigest, parameter, limit: Self.maximumFindingCount
            ).map { .attempt($0) }
            if try connection.knows(word) { found.append(.account(word)) }
            return Array(found.prefix(Self.maximumFindingCount))
        }
    }
}
