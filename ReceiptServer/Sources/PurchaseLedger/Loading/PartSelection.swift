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
        let part = "SELECT part FROM periods WHERE family_id = $1"
        var queries = [
            SQLQuery(
                "SELECT renewal FROM renewals WHERE environment = $1 AND original_transaction_id = $2",
                [.text(original.environment.rawValue), .text(original.transactionID.string)]),
            SQLQuery("\(part) AND changes_at <= $2", [lineage, SQLValue(now)]),
        ]
        guard let span else { return queries }
        let identifiers = dialect.identifiers(of: transactions.map(\.transactionID.string))
        queries += [
            // No part overlaps another: of those that begin earlier, only the last can reach into the span.
            SQLQuery(
                """
                \(part) AND ends_at > $2 AND part < $3
                    AND part >= COALESCE((SELECT MAX(part) FROM periods WHERE family_id = $1 AND part < $2), $2)
                """, [lineage, .integer(span.lowerBound), .integer(span.upperBound)]),
            SQLQuery(
                "SELECT part FROM \(identifiers.table) AS identifiers JOIN periods ON identifier_id = id",
                [.text(original.environment.rawValue), .text(original.bundleID.string), identifiers.parameter]),
            SQLQuery(
                "\(part) AND line_item \(dialect.oneOf("$2", lineItems.count))", [lineage],
                oneOf: lineItems.map { .text($0.string) }, dialect),
        ]
        return queries
    }

    /// Returns the parts that decide, and the renewal information, or `nil` if all do.
    func parts(
        _ answers: some Collection<[SQLRow]>
    ) throws(LedgerError) -> (parts: Set<Int64>, renewal: SubscriptionRenewal?)? {
        let renewal: SubscriptionRenewal? = try answers.first?.first.map { (row) throws(LedgerError) in
            try StoredJSON.decode(row.text("renewal"))
        }
        // A grace period can reach into any part.
        guard renewal?.gracePeriodExpiresDate == nil else { return nil }
        let parts = try answers.dropFirst().map { (rows) throws(LedgerError) in
            Set(try rows.map { (row) throws(LedgerError) in try row.integer("part") })
        }
        guard span != nil else { return (parts[0], renewal) }
        // A transaction, or a copy of it, was stored with dates in another part.
        guard parts[2].union(parts[3]).isSubset(of: parts[1]) else { return nil }
        return (parts[0].union(parts[1]), renewal)
    }
}

extension Division.Period {
    /// The query for the transactions of some parts, or of all, whose rows ``byTransaction(_:)`` reads.
    static func query(_ lineage: Int64, parts: [Int64]?, _ dialect: SQLDialect) -> SQLQuery {
        let text = """
            SELECT environment, bundle_id, transaction_id, part, ends_at, line_item, changes_at FROM periods
            JOIN identifiers ON id = identifier_id WHERE periods.family_id = $1
            """
        guard let parts else { return SQLQuery(text, [.integer(lineage)]) }
        return SQLQuery(
            "\(text) AND part \(dialect.oneOf("$2", parts.count))", [.integer(lineage)],
            oneOf: parts.map(SQLValue.integer), dialect)
    }

    static func byTransaction(_ rows: [SQLRow]) throws(LedgerError) -> [TransactionKey: Division.Period] {
        var periods: [TransactionKey: Division.Period] = [:]
        for row in rows {
            periods[try row.transactionKey] = Division.Period(
                part: try row.integer("part"), end: try row.integer("ends_at"),
                lineItem: try row.optionalText("line_item").map(UTF8Bytes.init),
                changesAt: try row.optionalInteger("changes_at"))
        }
        return periods
    }

    var columns: [SQLValue] {
        [
            .integer(part), .integer(end), SQLValue(lineItem?.string), changesAt.map(SQLValue.integer) ?? .null,
        ]
    }
}
