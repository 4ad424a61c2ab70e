import AppStoreReceipt
import SpanASN1

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
                AND renewals.original_transaction_id = identifiers.transaction_id
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
            for row in rows { if question == 0 { try addEvidence(row) } else { try addGrant(row) } }
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
            grants.adjusted_quantity, grants.adjusted_from
        FROM \(table) JOIN grants ON grants.environment = \(table).environment
            AND grants.bundle_id = \(table).bundle_id AND grants.transaction_id = \(table).transaction_id
        """
    }

    static func contents(
        of families: [Int64], _ answers: some Collection<[SQLRow]>
    ) throws(LedgerError) -> [Int64: FamilyContents] {
        var contents = Dictionary(uniqueKeysWithValues: families.map { ($0, FamilyContents()) })
        for (question, rows) in answers.enumerated() {
            for row in rows {
                let family = try row.integer(0)
                switch question {
                case 0: try contents[family, default: FamilyContents()].addEvidence(row)
                case 1:
                    let renewal: SubscriptionRenewal = try StoredJSON.decode(row.text(1))
                    contents[family, default: FamilyContents()].renewals.append(renewal)
                default: try contents[family, default: FamilyContents()].addGrant(row)
                }
            }
        }
        return contents
    }

    private mutating func addEvidence(_ row: SQLRow) throws(LedgerError) {
        var purchase: Purchase = try StoredJSON.decode(row.text(3))
        purchase.signedDate = try row.date(2)
        guard let key = PurchaseKeys(purchase)?.transaction else { return }
        variants[key, default: []].append((try row.integer(1), purchase))
    }

    private mutating func addGrant(_ row: SQLRow) throws(LedgerError) {
        guard let environment = AppStoreEnvironment(rawValue: try row.text(1)) else { return }
        let key = TransactionKey(
            environment: environment, bundleID: try row.text(2), transactionID: try row.text(3))
        var grant = Grant(
            transaction: key, account: try row.text(4), productID: try row.text(5), quantity: try row.integer(6),
            until: try row.optionalDate(7), isVoided: try row.optionalDate(8) != nil)
        if let quantity = try row.optionalInteger(9) {
            grant.adjusted = AdjustedQuantity(quantity: quantity, signedThen: try row.integer(10))
        }
        grants.append(grant)
    }

    /// Adds the contents of another family of the same purchase.
    mutating func formUnion(_ other: FamilyContents) {
        variants.merge(other.variants) { $0 + $1 }
        renewals += other.renewals
        grants += other.grants
    }
}
