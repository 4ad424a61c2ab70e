import AppStoreReceipt
import StrictText

/// The data copied for a trial.
package struct TrialCopies {
    var lineages: Set<Int64> = []
    /// The accounts whose tokens have all been copied.
    var accounts: Set<UTF8Bytes> = []

    package init() {}
}

/// A trial import, which changes nothing: the lines are imported into an empty ledger, into which all data about them
/// is copied first.
extension PurchaseLedger {
    /// The first number for lineages that the trial's own lines create.
    private static let firstTrialLineage: Int64 = 1 << 62

    /// Prepares an empty ledger for ``copy(about:to:without:)``.
    package func prepareTrial() throws(LedgerError) {
        try store.write { (connection) throws(LedgerError) in
            try connection.write("INSERT INTO families (id) VALUES ($1)", [.integer(Self.firstTrialLineage)])
        }
    }

    /// Copies the data about lines that affects their results.
    ///
    /// - Parameter copied: The data copied so far.
    package func copy(
        about lines: [ImportedLine], to trial: PurchaseLedger, without copied: inout TrialCopies
    ) throws(LedgerError) {
        var (keys, tokens): (Set<TransactionKey>, Set<AppAccountToken>) = ([], [])
        var registered: Set<AppAccountToken> = []
        var accounts: [String] = []
        for line in lines {
            switch line {
            case .token(let account, let token):
                registered.insert(token)
                // All of the account's tokens count against the limit.
                if copied.accounts.insert(UTF8Bytes(account)).inserted { accounts.append(account) }
            case .spent(let transaction): keys.formUnion(transaction.keys.all)
            case .evidence(_, let evidence):
                let submission = Submission(evidence)
                keys.formUnion(submission.keys)
                tokens.formUnion(submission.purchases.compactMap(\.signed.purchase.accountToken))
            }
        }
        tokens.formUnion(registered)
        let known = copied.lineages
        let (lineages, rows) = try store.read {
            (connection) throws(LedgerError) -> ([Int64], [(insertion: String, rows: [SQLRow])]) in
            let lineages = try connection.lineageNumbers(of: keys, waitingFor: registered).subtracting(known).sorted()
            var found: [(insertion: String, rows: [SQLRow])] = []
            func add(_ table: String, _ columnCount: Int, _ rows: [SQLRow]) {
                let values = (1...columnCount).map { "$\($0)" }.joined(separator: ", ")
                found.append(("INSERT INTO \(table) VALUES (\(values)) ON CONFLICT DO NOTHING", rows))
            }
            var all = tokens
            for lineage in lineages {
                for table in Self.copiedTables {
                    let rows = try connection.run(
                        "SELECT \(table.columns) FROM \(table.rows) WHERE \(table.number) = $1", [.integer(lineage)])
                    add(table.name, table.columnCount, rows)
                    guard table.name == "evidence" else { continue }
                    for row in rows {
                        let purchase: Purchase = try StoredJSON.decode(row.text(5))
                        if let token = purchase.accountToken { all.insert(token) }
                    }
                }
            }
            for token in all {
                let rows = try connection.run("\(Self.tokens) WHERE token = $1", [.text(token.description)])
                if !rows.isEmpty { add("account_tokens", 5, rows) }
            }
            return (lineages, found)
        }
        copied.lineages.formUnion(lineages)
        try trial.store.write { (connection) throws(LedgerError) in
            for (insertion, rows) in rows {
                for row in rows { try connection.write(insertion, row.values) }
            }
        }
        while !accounts.isEmpty { try copyTokens(of: &accounts, to: trial) }
    }

    private static let tokens = "SELECT token, account, kind, made_at, retired_at FROM account_tokens"

    /// Copies the tokens of some accounts, about as many as one can have, and removes them from `accounts`.
    private func copyTokens(of accounts: inout [String], to trial: PurchaseLedger) throws(LedgerError) {
        let (count, rows) = try store.read { [accounts] (connection) throws(LedgerError) -> (Int, [SQLRow]) in
            var (count, rows): (Int, [SQLRow]) = (0, [])
            for account in accounts.reversed() where rows.count < Self.maximumTokenCount {
                rows += try connection.run("\(Self.tokens) WHERE account = $1", [.text(account)])
                count += 1
            }
            return (count, rows)
        }
        accounts.removeLast(count)
        guard !rows.isEmpty else { return }
        try trial.store.write { (connection) throws(LedgerError) in
            for row in rows {
                try connection.write(
                    "INSERT INTO account_tokens VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING", row.values)
            }
        }
    }

    /// The data copied for a lineage. Subscriptions aren't divided in a trial.
    private static let copiedTables: [(name: String, columnCount: Int, columns: String, rows: String, number: String)] =
        {
            func ofTransactions(_ table: String) -> String {
                """
                \(table) JOIN identifiers ON identifiers.environment = \(table).environment
                    AND identifiers.bundle_id = \(table).bundle_id
                    AND identifiers.transaction_id = \(table).transaction_id
                """
            }
            func columns(_ table: String, _ names: String) -> String {
                names.split(separator: " ").map { "\(table).\($0)" }.joined(separator: ", ")
            }
            let transaction = "environment bundle_id transaction_id"
            let grants = """
                \(transaction) product_id account quantity granted_quantity granted_at changed_at voided_at until
                adjusted_quantity adjusted_from seats import_id original_transaction_id
                """
            return [
                (
                    "families (id, account, claimed_at, is_member, basis, claim_number)", 6,
                    "id, account, claimed_at, is_member, basis, claim_number", "families", "id"
                ),
                ("identifiers", 4, columns("identifiers", "\(transaction) family_id"), "identifiers", "family_id"),
                (
                    "evidence", 7, columns("evidence", "\(transaction) variant signed_date purchase signer"),
                    ofTransactions("evidence"), "identifiers.family_id"
                ),
                (
                    "renewals", 4,
                    "DISTINCT " + columns("renewals", "environment original_transaction_id signed_date renewal"),
                    """
                    renewals JOIN identifiers ON identifiers.environment = renewals.environment
                        AND renewals.original_transaction_id = \(MemberID.original("identifiers"))
                    """, "identifiers.family_id"
                ),
                (
                    "grants (\(grants.split { $0 == " " || $0 == "\n" }.joined(separator: ", ")))", 16,
                    grants.split { $0 == " " || $0 == "\n" }.map { "grants.\($0)" }.joined(separator: ", "),
                    ofTransactions("grants"), "identifiers.family_id"
                ),
                ("waiting_tokens", 3, "token, family_id, told_at", "waiting_tokens", "family_id"),
            ]
        }()
}
