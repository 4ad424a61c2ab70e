import AppStoreReceipt
import StrictText

/// What the tables have about a family.
struct FamilyContents {
    private(set) var variants: [TransactionKey: [FamilyEvidence.Variant]] = [:]
    private(set) var renewals: [SubscriptionRenewal] = []
    private(set) var grants: [Grant] = []

    /// Returns the contents of families by their numbers, each of which it has.
    static func load(
        _ families: [Int64], _ connection: any SQLConnection
    ) throws(LedgerError) -> [Int64: FamilyContents] {
        try contents(of: families, connection.run(questions(families, connection.dialect)))
    }

    /// The questions whose answers ``contents(of:_:)`` reads.
    static func questions(_ families: [Int64], _ dialect: SQLDialect) -> [SQLQuestion] {
        [
            evidence(of: "identifiers"),
            """
            SELECT DISTINCT identifiers.family_id, renewals.renewal FROM identifiers
            JOIN renewals ON renewals.environment = identifiers.environment
                AND renewals.original_transaction_id = \(MemberID.original("identifiers"))
            """,
            grants(of: "identifiers"),
        ].map { text in
            SQLQuestion(
                text + " WHERE identifiers.family_id \(dialect.oneOf("$1", families.count))",
                oneOf: families.map(SQLValue.integer), dialect)
        }
    }

    /// The questions about some parts of a divided subscription, whose answers ``init(parts:_:)`` reads.
    static func questions(_ family: Int64, parts: [Int64], _ dialect: SQLDialect) -> [SQLQuestion] {
        [evidence(of: "periods"), grants(of: "periods")].map { text in
            SQLQuestion(
                text + " WHERE periods.family_id = $1 AND periods.part \(dialect.oneOf("$2", parts.count))",
                [.integer(family)],
                oneOf: parts.map(SQLValue.integer), dialect)
        }
    }

    init() {}

    init(parts answers: some Collection<[SQLRow]>, _ renewal: SubscriptionRenewal?) throws(LedgerError) {
        renewals = renewal.map { [$0] } ?? []
        for (question, rows) in answers.enumerated() {
            for row in rows { if question == 0 { try addEvidence(row, from: 1) } else { try addGrant(row) } }
        }
    }

    /// - Parameter table: Has transactions and their families.
    private static func evidence(of table: String) -> String {
        """
        SELECT \(table).family_id, evidence.variant, evidence.signed_date, evidence.purchase FROM \(table)
        JOIN evidence ON evidence.environment = \(table).environment AND evidence.bundle_id = \(table).bundle_id
            AND evidence.transaction_id = \(table).transaction_id
        """
    }

    private static func grants(of table: String) -> String {
        """
        SELECT \(table).family_id, grants.environment, grants.bundle_id, grants.transaction_id, grants.account,
            grants.product_id, grants.quantity, grants.until, grants.voided_at,
            grants.adjusted_quantity, grants.adjusted_from, grants.seats, grants.granted_at
        FROM \(table) JOIN grants ON grants.environment = \(table).environment
            AND grants.bundle_id = \(table).bundle_id AND grants.transaction_id = \(table).transaction_id
        """
    }

    /// One question about all families of some transactions of an app, whose rows ``add(_:of:isFirst:)`` reads. Of a
    /// subscription that is divided, nothing but the family is found.
    static func question(
        of transactions: [UTF8Bytes], in environment: AppStoreEnvironment, _ bundleID: UTF8Bytes, _ dialect: SQLDialect
    ) -> SQLStatement {
        let asked = dialect.rows(of: transactions.map(\.string), in: "identifiers")
        return SQLStatement(
            """
            SELECT \(Family.columns), known.transaction_id,
                evidence.variant, evidence.signed_date, evidence.purchase,
                grants.account, grants.product_id, grants.quantity, grants.until, grants.voided_at,
                grants.adjusted_quantity, grants.adjusted_from, grants.seats, grants.granted_at, renewals.renewal
            FROM (SELECT DISTINCT \(Family.columns),
                    CASE WHEN families.subscription IS NULL THEN families.id END AS whole
                FROM \(asked.table) AS asked JOIN families ON families.id = asked.family_id) AS families
            LEFT JOIN identifiers AS known ON known.family_id = families.whole
            LEFT JOIN evidence ON evidence.environment = known.environment
                AND evidence.bundle_id = known.bundle_id AND evidence.transaction_id = known.transaction_id
            LEFT JOIN grants ON grants.environment = known.environment
                AND grants.bundle_id = known.bundle_id AND grants.transaction_id = known.transaction_id
            LEFT JOIN renewals ON renewals.environment = known.environment
                AND renewals.original_transaction_id = \(MemberID.original("known"))
            """, [.text(environment.rawValue), .text(bundleID.string), asked.parameter])
    }

    /// Adds what a row of ``question(of:in:_:_:)`` has about a transaction.
    ///
    /// - Parameter isFirst: Whether no other row was about the same transaction. Each of its variants has one.
    mutating func add(_ row: SQLRow, of key: TransactionKey, isFirst: Bool) throws(LedgerError) {
        let first = Family.columnCount + 1
        if try row.optionalInteger(first) != nil { try addEvidence(row, from: first) }
        guard isFirst else { return }
        if try row.optionalText(first + 3) != nil { try addGrant(of: key, row, from: first + 3) }
        if let renewal = try row.optionalText(first + 12) { renewals.append(try StoredJSON.decode(renewal)) }
    }

    static func contents(
        of families: [Int64], _ answers: some Collection<[SQLRow]>
    ) throws(LedgerError) -> [Int64: FamilyContents] {
        var contents = Dictionary(uniqueKeysWithValues: families.map { ($0, FamilyContents()) })
        for (question, rows) in answers.enumerated() {
            for row in rows {
                let family = try row.integer(0)
                switch question {
                case 0: try contents[family, default: FamilyContents()].addEvidence(row, from: 1)
                case 1:
                    let renewal: SubscriptionRenewal = try StoredJSON.decode(row.text(1))
                    contents[family, default: FamilyContents()].renewals.append(renewal)
                default: try contents[family, default: FamilyContents()].addGrant(row)
                }
            }
        }
        return contents
    }

    private mutating func addEvidence(_ row: SQLRow, from column: Int) throws(LedgerError) {
        var purchase: Purchase = try StoredJSON.decode(row.text(column + 2))
        purchase.signedDate = try row.date(column + 1)
        guard let key = PurchaseKeys(purchase)?.transaction else { return }
        variants[key, default: []].append((try row.integer(column), purchase))
    }

    private mutating func addGrant(_ row: SQLRow) throws(LedgerError) {
        guard let environment = AppStoreEnvironment(rawValue: try row.text(1)) else { return }
        let key = TransactionKey(
            environment: environment, bundleID: try row.text(2), transactionID: try row.text(3))
        try addGrant(of: key, row, from: 4)
    }

    private mutating func addGrant(of key: TransactionKey, _ row: SQLRow, from column: Int) throws(LedgerError) {
        var grant = Grant(
            transaction: key, account: try row.text(column), productID: try row.text(column + 1),
            quantity: try row.integer(column + 2), until: try row.optionalDate(column + 3),
            isVoided: try row.optionalDate(column + 4) != nil)
        grant.seats = try row.optionalInteger(column + 7)
        grant.grantedAt = try row.date(column + 8)
        if let quantity = try row.optionalInteger(column + 5) {
            grant.adjusted = AdjustedQuantity(quantity: quantity, signedThen: try row.integer(column + 6))
        }
        grants.append(grant)
    }

    /// Takes what is known of a transaction out.
    mutating func remove(_ key: TransactionKey) -> FamilyContents {
        var removed = FamilyContents()
        removed.variants[key] = variants.removeValue(forKey: key)
        removed.grants = grants.filter { $0.transaction == key }
        grants.removeAll { $0.transaction == key }
        return removed
    }

    mutating func removeGrants(_ isRemoved: (Grant) -> Bool) { grants.removeAll(where: isRemoved) }

    /// Adds the contents of another family of the same purchase.
    mutating func formUnion(_ other: FamilyContents) {
        variants.merge(other.variants) { $0 + $1 }
        renewals += other.renewals
        grants += other.grants
    }
}
