import AppStoreReceipt
import SpanASN1

/// An import that changes nothing: its lines are imported into an empty ledger, to which everything is copied before that they are about.
extension PurchaseLedger {
    /// Families of a trial that its own lines make have numbers from here on.
    private static let firstTrialFamily: Int64 = 1 << 62

    /// Prepares an empty ledger for ``copy(about:to:without:)``.
    package func prepareTrial() throws(LedgerError) {
        try store.write { (connection) throws(LedgerError) in
            try connection.write("INSERT INTO families (id) VALUES ($1)", [.integer(Self.firstTrialFamily)])
        }
    }

    /// Copies what lines are about, as far as it decides what becomes of them.
    ///
    /// - Parameter copied: The families that were copied before.
    package func copy(
        about lines: [ImportedLine], to trial: PurchaseLedger, without copied: inout Set<Int64>
    ) throws(LedgerError) {
        var (keys, tokens): (Set<TransactionKey>, Set<AppAccountToken>) = ([], [])
        var (registered, accounts): (Set<AppAccountToken>, Set<String>) = ([], [])
        for line in lines {
            switch line {
            case .token(let account, let token):
                registered.insert(token)
                // Some count against the limit.
                accounts.insert(account)
            case .spent(let transaction): keys.formUnion(transaction.keys.all)
            case .evidence(_, let evidence):
                let brought = BroughtEvidence(evidence)
                keys.formUnion(brought.keys)
                tokens.formUnion(brought.purchases.compactMap { AccountTokens.token(of: $0.signed.purchase) })
            }
        }
        tokens.formUnion(registered)
        let known = copied
        let (families, rows) = try store.read {
            (connection) throws(LedgerError) -> ([Int64], [(insertion: String, rows: [SQLRow])]) in
            let families = try connection.families(of: keys, waitingFor: registered).subtracting(known).sorted()
            var found: [(insertion: String, rows: [SQLRow])] = []
            func add(_ table: String, _ columnCount: Int, _ rows: [SQLRow]) {
                let values = (1...columnCount).map { "$\($0)" }.joined(separator: ", ")
                found.append(("INSERT INTO \(table) VALUES (\(values)) ON CONFLICT DO NOTHING", rows))
            }
            var all = tokens
            for family in families {
                for table in Self.copiedTables {
                    let rows = try connection.run(
                        "SELECT \(table.columns) FROM \(table.rows) WHERE \(table.family) = $1", [.integer(family)])
                    add(table.name, table.columnCount, rows)
                    guard table.name == "evidence" else { continue }
                    for row in rows {
                        let purchase: Purchase = try StoredJSON.decode(row.text(5))
                        if let token = AccountTokens.token(of: purchase) { all.insert(token) }
                    }
                }
            }
            let columns = "token, account, kind, made_at, retired_at"
            for (column, values) in [("token", all.map(\.description)), ("account", Array(accounts))] {
                for value in values {
                    let rows = try connection.run(
                        "SELECT \(columns) FROM account_tokens WHERE \(column) = $1", [.text(value)])
                    if !rows.isEmpty { add("account_tokens", 5, rows) }
                }
            }
            return (families, found)
        }
        copied.formUnion(families)
        try trial.store.write { (connection) throws(LedgerError) in
            for (insertion, rows) in rows {
                for row in rows { try connection.write(insertion, row.values) }
            }
        }
    }

    /// What is copied of a family. Subscriptions are whole in a trial.
    private static let copiedTables: [(name: String, columnCount: Int, columns: String, rows: String, family: String)] =
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
