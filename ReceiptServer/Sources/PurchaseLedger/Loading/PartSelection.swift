import AppStoreReceipt
import StrictText

/// The parts of a divided subscription that can change the answer to a request, and the queries that find them.
struct PartSelection {
    /// With more purchases, most parts would be loaded, so all are.
    private static let maximumPurchaseCount = 8

    let lineage: Int64
    /// The first transaction of the subscription, by which renewal information is found.
    let original: TransactionKey
    private let transactions: [TransactionKey]
    private let lineItems: [UTF8Bytes]
    /// The span of the submitted periods.
    private let span: Range<Int64>?
    private let now: Instant

    /// Returns `nil` if all parts must be loaded.
    init?(
        _ lineage: Int64, _ original: TransactionKey, _ submitted: [(purchase: Purchase, keys: PurchaseKeys)],
        at now: Instant
    ) {
        guard submitted.count <= Self.maximumPurchaseCount else { return nil }
        var periods: [SubscriptionPeriod] = []
        for (purchase, keys) in submitted {
            guard keys.relatives.allSatisfy({ $0 == original }), let period = SubscriptionPeriod([purchase]) else {
                return nil
            }
            periods.append(period)
        }
        self.lineage = lineage
        self.original = original
        transactions = submitted.map(\.keys.transaction)
        lineItems = Array(Set(periods.compactMap(\.lineItem)))
        span = periods.first.map { periods.dropFirst().map(\.span).reduce($0.span) { $0.joined(with: $1) } }
        self.now = now
    }

    func queries(_ dialect: SQLDialect) -> [SQLQuery] {
        let lineage = SQLValue.integer(lineage)
        let part = "SELECT begins_at, ends_at, changes_at FROM parts WHERE family_id = $1"
        var queries = [
            SQLQuery(
                "SELECT renewal FROM renewals WHERE environment = $1 AND original_transaction_id = $2",
                [.text(original.environment.rawValue), .text(original.transactionID.string)]),
            SQLQuery("\(part) AND changes_at <= $2", [lineage, SQLValue(now)]),
        ]
        guard let span else { return queries }
        let periods = dialect.rows(of: transactions.map(\.transactionID.string), in: "periods")
        let (begin, end) = (SQLValue.integer(span.lowerBound), SQLValue.integer(span.upperBound))
        queries += [
            SQLQuery("\(part) AND begins_at < $2 ORDER BY begins_at DESC LIMIT 1", [lineage, begin]),
            SQLQuery("\(part) AND begins_at >= $2 AND begins_at < $3", [lineage, begin, end]),
            SQLQuery(
                "SELECT part FROM \(periods.table) AS periods",
                [.text(original.environment.rawValue), .text(original.bundleID.string), periods.parameter]),
            SQLQuery(
                "SELECT part FROM periods WHERE family_id = $1 AND line_item \(dialect.oneOf("$2", lineItems.count))",
                [lineage],
                oneOf: lineItems.map { .text($0.string) }, dialect),
        ]
        return queries
    }

    /// Returns the parts that decide, and the renewal information, or `nil` if all do.
    func parts(
        _ answers: some Collection<[SQLRow]>
    ) throws(LedgerError) -> (rows: Division.Rows, renewal: SubscriptionRenewal?)? {
        let answers = Array(answers)
        let renewal: SubscriptionRenewal? = try answers[0].first.map { (row) throws(LedgerError) in
            try StoredJSON.decode(row.text("renewal"))
        }
        // A grace period can reach into any part.
        guard renewal?.gracePeriodExpiresDate == nil else { return nil }
        var parts = Division.Rows()
        if let span {
            for row in answers[2] where try row.integer("ends_at") > span.lowerBound { try parts.addPart(row) }
            for row in answers[3] { try parts.addPart(row) }
            // A transaction, or a copy of it, was stored with dates in another part.
            for row in answers[4] + answers[5] {
                guard parts.parts[try row.integer("part")] != nil else { return nil }
            }
        }
        for row in answers[1] { try parts.addPart(row) }
        return (parts, renewal)
    }
}

extension Division.Rows {
    /// - Parameter row: `begins_at`, `ends_at` and `changes_at`.
    mutating func addPart(_ row: SQLRow) throws(LedgerError) {
        let date = try row.optionalDate("changes_at")
        parts[try row.integer("begins_at")] = Division.PartRow(
            end: try row.integer("ends_at"), changesAt: date?.millisecondsSince1970)
    }

    /// The query for all parts, whose rows ``addPart(_:)`` reads.
    static func parts(_ lineage: Int64) -> SQLQuery {
        SQLQuery("SELECT begins_at, ends_at, changes_at FROM parts WHERE family_id = $1", [.integer(lineage)])
    }

    /// The query for the transactions of some parts, or of all, whose rows ``addPeriods(_:)`` reads.
    static func periods(_ lineage: Int64, parts: [Int64]?, _ dialect: SQLDialect) -> SQLQuery {
        let text = """
            SELECT environment, bundle_id, transaction_id, part, line_item FROM periods WHERE family_id = $1
            """
        guard let parts else { return SQLQuery(text, [.integer(lineage)]) }
        return SQLQuery(
            "\(text) AND part \(dialect.oneOf("$2", parts.count))", [.integer(lineage)],
            oneOf: parts.map(SQLValue.integer), dialect)
    }

    mutating func addPeriods(_ rows: [SQLRow]) throws(LedgerError) {
        for row in rows {
            periods[try row.transactionKey] = Division.PeriodRow(
                part: try row.integer("part"), lineItem: try row.optionalText("line_item").map(UTF8Bytes.init))
        }
    }
}
