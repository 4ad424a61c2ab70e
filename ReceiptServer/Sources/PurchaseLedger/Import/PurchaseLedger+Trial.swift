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
    /// The first number for lineages and transactions that the trial's own lines create.
    private static let firstNumber = SQLValue.integer(1 << 62)

    /// Prepares an empty ledger for ``copy(about:to:without:)``.
    package func prepareTrial() throws(LedgerError) {
        try store.write { (connection) throws(LedgerError) in
            try connection.write("INSERT INTO families (id) VALUES ($1)", [Self.firstNumber])
            try connection.write("INSERT INTO identifiers VALUES ($1, '', '', '', $1)", [Self.firstNumber])
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
        let (lineages, found) = try store.read {
            (connection) throws(LedgerError) -> ([Int64], [(table: String, rows: [SQLRow])]) in
            let lineages = try connection.lineageNumbers(of: keys, waitingFor: registered).subtracting(known).sorted()
            var found: [(table: String, rows: [SQLRow])] = []
            var all = tokens
            for lineage in lineages {
                for (table, query) in Self.copiedTables {
                    let rows = try connection.run(query, [.integer(lineage)])
                    found.append((table, rows))
                    guard table == "evidence" else { continue }
                    for row in rows {
                        let purchase: Purchase = try StoredJSON.decode(row.text("purchase"))
                        if let token = purchase.accountToken { all.insert(token) }
                    }
                }
            }
            for token in all {
                let query = "SELECT * FROM account_tokens WHERE token = $1"
                found.append(("account_tokens", try connection.run(query, [.text(token.description)])))
            }
            return (lineages, found)
        }
        copied.lineages.formUnion(lineages)
        try trial.store.write { (connection) throws(LedgerError) in
            for (table, rows) in found { try connection.copy(rows, to: table) }
            // Subscriptions aren't divided in a trial.
            for lineage in lineages {
                try connection.write(
                    "UPDATE families SET subscription = NULL, tokens_noted = NULL WHERE id = $1", [.integer(lineage)])
            }
        }
        while !accounts.isEmpty { try copyTokens(of: &accounts, to: trial) }
    }

    /// Copies the tokens of some accounts, about as many as one can have, and removes them from `accounts`.
    private func copyTokens(of accounts: inout [String], to trial: PurchaseLedger) throws(LedgerError) {
        let (count, rows) = try store.read { [accounts] (connection) throws(LedgerError) -> (Int, [SQLRow]) in
            var (count, rows): (Int, [SQLRow]) = (0, [])
            for account in accounts.reversed() where rows.count < Self.maximumTokenCount {
                rows += try connection.run("SELECT * FROM account_tokens WHERE account = $1", [.text(account)])
                count += 1
            }
            return (count, rows)
        }
        accounts.removeLast(count)
        guard !rows.isEmpty else { return }
        try trial.store.write { (connection) throws(LedgerError) in try connection.copy(rows, to: "account_tokens") }
    }

    /// The tables with rows about a lineage, and the queries for them, in the order in which they refer to each other.
    private static let copiedTables: [(table: String, query: String)] = {
        func ofTransactions(_ table: String) -> String {
            """
            SELECT \(table).* FROM \(table) JOIN identifiers ON identifiers.id = \(table).identifier_id
            WHERE identifiers.family_id = $1
            """
        }
        return [
            ("families", "SELECT * FROM families WHERE id = $1"),
            ("identifiers", "SELECT * FROM identifiers WHERE family_id = $1"),
            ("evidence", ofTransactions("evidence")),
            (
                "renewals",
                """
                SELECT DISTINCT renewals.* FROM renewals
                JOIN identifiers ON identifiers.environment = renewals.environment
                    AND renewals.original_transaction_id = \(MemberID.original("identifiers"))
                WHERE identifiers.family_id = $1
                """
            ),
            ("grants", ofTransactions("grants")),
            ("waiting_tokens", "SELECT * FROM waiting_tokens WHERE family_id = $1"),
        ]
    }()
}

extension SQLConnection {
    /// Inserts the rows of another ledger, except those that are there.
    fileprivate func copy(_ rows: [SQLRow], to table: String) throws(LedgerError) {
        for row in rows {
            let names = row.columns.names
            let parameters = names.indices.map { "$\($0 + 1)" }
            try write(
                """
                INSERT INTO \(table) (\(names.joined(separator: ", "))) VALUES (\(parameters.joined(separator: ", ")))
                ON CONFLICT DO NOTHING
                """, row.values)
        }
    }
}
