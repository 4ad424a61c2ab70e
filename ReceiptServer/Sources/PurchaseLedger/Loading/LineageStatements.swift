import AppStoreReceipt
import StrictText

/// The statements that read lineages, and the rows of their results.
enum LineageStatements {
    static let columns = """
        \(boundedColumns), families.basis
        """

    /// All but the basis of the claim, which can have all transactions of the lineage.
    private static let boundedColumns = """
        families.id, families.account, families.claimed_at, families.subscription, families.is_member,
            families.claim_number, families.lifecycle, families.tokens_noted
        """

    /// One statement for all lineages of some transactions of an app. A divided subscription has a row without
    /// contents. Of the rows of any other lineage, only those of one transaction have the basis of its claim.
    static func whole(
        of transactions: [UTF8Bytes], in environment: AppStoreEnvironment, _ bundleID: UTF8Bytes, _ dialect: SQLDialect
    ) -> SQLStatement {
        let ids = transactions.map { SQLValue.text($0.string) }
        let text = ids.count == 1 ? wholeOfOne : dialect.isServer ? wholeInPostgreSQL : wholeInSQLite
        return SQLStatement(
            text, [.text(environment.rawValue), .text(bundleID.string), ids.count == 1 ? ids[0] : .array(ids)])
    }

    /// The texts, each made once: every redemption has this statement.
    private static let wholeOfOne = whole(
        "SELECT family_id, transaction_id AS id FROM \(SQLDialect.identifier) AS asked")
    private static let wholeInSQLite = whole(of: SQLDialect.sqlite.identifiers)
    private static let wholeInPostgreSQL = whole(of: SQLDialect.postgreSQL.identifiers)

    private static func whole(of identifiers: String) -> String {
        whole("SELECT family_id, MIN(transaction_id) AS id FROM \(identifiers) AS asked GROUP BY family_id")
    }

    /// - Parameter asked: A query for lineages, and a transaction of each.
    private static func whole(_ asked: String) -> String {
        """
        SELECT \(boundedColumns),
            CASE WHEN known.transaction_id IS NULL OR known.transaction_id = asked.id THEN families.basis END
                AS basis, known.environment, known.bundle_id, known.transaction_id,
            evidence.variant, \(Purchase.columns), \(Grant.columns), renewals.renewal
        FROM (\(asked)) AS asked
        JOIN families ON families.id = asked.family_id
        LEFT JOIN identifiers AS known
            ON known.family_id = CASE WHEN families.subscription IS NULL THEN families.id END
        LEFT JOIN evidence ON evidence.identifier_id = known.id
        LEFT JOIN grants ON grants.identifier_id = known.id
        LEFT JOIN renewals ON renewals.environment = known.environment
            AND renewals.original_transaction_id = \(MemberID.original("known"))
        """
    }

    /// The lineages of some transactions of an app.
    static func identifiers(
        _ transactions: [UTF8Bytes], in environment: AppStoreEnvironment, _ bundleID: UTF8Bytes, _ dialect: SQLDialect
    ) -> SQLStatement {
        let rows = dialect.identifiers(of: transactions.map(\.string))
        return SQLStatement(
            """
            SELECT identifiers.environment, identifiers.bundle_id, identifiers.transaction_id, identifiers.family_id,
                families.subscription, families.tokens_noted, families.is_member
            FROM \(rows.table) AS identifiers JOIN families ON families.id = identifiers.family_id
            """, [.text(environment.rawValue), .text(bundleID.string), rows.parameter])
    }

    /// Lineages by their numbers.
    static func lineages(_ ids: [Int64], _ dialect: SQLDialect, isLocking: Bool = false) -> SQLQuery {
        SQLQuery(
            "SELECT \(columns) FROM families WHERE id \(dialect.oneOf("$1", ids.count))"
                + " ORDER BY id\(isLocking ? dialect.rowLock : "")", oneOf: ids.map(SQLValue.integer), dialect)
    }

    /// The contents of lineages: grants and, unless nothing else is needed, evidence and renewal information.
    static func contents(_ ids: [Int64], _ dialect: SQLDialect, withEvidence: Bool = true) -> [SQLQuery] {
        let renewals = """
            SELECT DISTINCT identifiers.family_id, renewals.renewal FROM identifiers
            JOIN renewals ON renewals.environment = identifiers.environment
                AND renewals.original_transaction_id = \(MemberID.original("identifiers"))
            """
        let evidence = """
            SELECT family_id, evidence.variant, \(Purchase.columns)
            FROM identifiers JOIN evidence ON evidence.identifier_id = identifiers.id
            """
        let others = withEvidence ? [evidence, renewals] : []
        return ([grants] + others).map {
            SQLQuery(
                $0 + " WHERE identifiers.family_id \(dialect.oneOf("$1", ids.count))",
                oneOf: ids.map(SQLValue.integer), dialect)
        }
    }

    /// The contents of some parts of a divided subscription.
    static func contents(_ id: Int64, parts: [Int64], _ dialect: SQLDialect) -> [SQLQuery] {
        [
            """
            SELECT variant, \(Purchase.columns)
            FROM periods JOIN evidence ON evidence.identifier_id = periods.identifier_id
            """,
            "\(grants) JOIN periods ON periods.identifier_id = identifiers.id",
        ].map {
            SQLQuery(
                $0 + " WHERE periods.family_id = $1 AND periods.part \(dialect.oneOf("$2", parts.count))",
                [.integer(id)], oneOf: parts.map(SQLValue.integer), dialect)
        }
    }

    private static let grants = """
        SELECT identifiers.family_id, environment, bundle_id, transaction_id, \(Grant.columns)
        FROM identifiers JOIN grants ON grants.identifier_id = identifiers.id
        """

    /// The stored renewal information of a subscription.
    static func renewal(_ key: RenewalKey) -> SQLStatement {
        SQLStatement(
            "SELECT renewal FROM renewals WHERE environment = $1 AND original_transaction_id = $2",
            [.text(key.environment.rawValue), .text(key.originalTransactionID.string)])
    }
}

// MARK: - Rows

extension SQLRow {
    /// The key of the columns `environment`, `bundle_id` and `transaction_id`.
    var transactionKey: TransactionKey {
        get throws(LedgerError) {
            TransactionKey(
                environment: try environment, bundleID: try text("bundle_id"),
                transactionID: try text("transaction_id"))
        }
    }

    var environment: AppStoreEnvironment {
        get throws(LedgerError) {
            guard let environment = AppStoreEnvironment(rawValue: try text("environment")) else {
                throw LedgerError(.storeFailed, "a row has an unknown environment")
            }
            return environment
        }
    }
}

extension Lineage {
    /// - Parameters:
    ///   - row: Has the columns of ``LineageStatements/columns``.
    ///   - readsClaim: Whether to read all that a lasting claim rests on, which only changes of the lineage need.
    init(_ row: SQLRow, readsClaim: Bool) throws(LedgerError) {
        self.init(id: try row.integer("id"))
        if let account = try row.optionalText("account") {
            owner = Ownership(
                account: account, claimedAt: try row.date("claimed_at"),
                order: ClaimOrder(try row.optionalInteger("claim_number")),
                basis: nil)
            try addBasis(row, readsClaim: readsClaim)
        }
        isOfMember = try !row.isNull("is_member")
        lifecycle = try row.optionalText("lifecycle").map { (text) throws(LedgerError) in try StoredJSON.decode(text) }
        division = try Division(row)
    }

    /// Adds the basis of the claim if the row has it.
    private mutating func addBasis(_ row: SQLRow, readsClaim: Bool) throws(LedgerError) {
        guard owner != nil, owner?.basis == nil, let json = try row.optionalText("basis") else { return }
        owner?.basis = try ClaimBasis(json, isWhole: readsClaim)
    }

    mutating func addEvidence(_ row: SQLRow) throws(LedgerError) {
        let purchase = try Purchase(row)
        guard let key = PurchaseKeys(purchase)?.transaction else { return }
        if evidence[key] == nil { storedTransactionCount += 1 }
        evidence[key, default: []].append(Variant(number: try row.integer("variant"), purchase: purchase))
    }

    mutating func addGrant(_ row: SQLRow) throws(LedgerError) {
        let grant = try Grant(row)
        grants[grant.transaction] = grant
    }

    /// Adds a transaction from a row of ``LineageStatements/whole(of:in:_:_:)``, which has one for each variant.
    ///
    /// - Parameter isFirst: Whether no other row was about the same transaction.
    mutating func add(_ row: SQLRow, isFirst: Bool) throws(LedgerError) {
        if try !row.isNull("variant") { try addEvidence(row) }
        guard isFirst else { return }
        try addBasis(row, readsClaim: false)
        if try !row.isNull("granted_account") { try addGrant(row) }
        if let renewal = try row.optionalText("renewal") { renewals.append(try StoredJSON.decode(renewal)) }
    }
}

extension Division {
    /// - Parameter row: Has the columns `subscription` and `tokens_noted`.
    init?(_ row: SQLRow) throws(LedgerError) {
        guard let original = try row.optionalText("subscription") else { return nil }
        self.init(original: UTF8Bytes(original), areTokensNoted: try !row.isNull("tokens_noted"), nil)
    }
}

extension ClaimBasis {
    /// - Parameters:
    ///   - json: The value of ``json``.
    ///   - isWhole: Whether to read the transactions of a lasting claim: after a receipt, these can be all of a long
    ///     subscription.
    init(_ json: String, isWhole: Bool) throws(LedgerError) {
        if !isWhole, json.utf8.starts(with: #"["""#.utf8) {
            self = .lasting
            return
        }
        let words: [String] = try StoredJSON.decode(json)
        self.init(isLasting: words.contains(""), Set(words.filter { !$0.isEmpty }.map(UTF8Bytes.init)))
    }

    /// The transaction ids, and an empty one if the basis is lasting.
    var json: String { StoredJSON.encode((isLasting ? [""] : []) + transactions.sorted().map(\.string)) }
}

extension ClaimOrder {
    private static let statedNumber: Int64 = -1

    /// The column `claim_number`.
    init(_ number: Int64?) { self = number == Self.statedNumber ? .stated : .number(number ?? 0) }

    /// The value of the column; `nil` if the database numbers the claim.
    var column: SQLValue? {
        switch self {
        case .number(let number): number == 0 ? .null : .integer(number)
        case .last: nil
        case .stated: .integer(Self.statedNumber)
        }
    }

    static func statements(_ dialect: SQLDialect) -> [String] {
        ["ALTER TABLE families ADD COLUMN claim_number BIGINT", dialect.claimNumbers]
            // The floor after the deletion. Earlier answers to the account have lower numbers.
            + ["ALTER TABLE deletions ADD COLUMN number BIGINT"]
    }
}
