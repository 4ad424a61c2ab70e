import AppStoreReceipt

/// A purchase as the table `evidence` has it.
extension Purchase {
    /// The columns that ``init(_:)`` reads.
    static let columns = storedColumns.map { "evidence.\($0)" }.joined(separator: ", ")

    /// Before version 17 of the tables, the JSON had the price, the currency and the storefront.
    init(_ row: SQLRow) throws(LedgerError) {
        self = try StoredJSON.decode(row.text("purchase"))
        signedDate = try row.date("signed_date")
        price = try row.optionalInteger("price") ?? price
        currency = try row.optionalText("currency") ?? currency
        storefront = try row.optionalText("storefront") ?? storefront
    }

    static let storedColumns = ["signed_date", "purchase", "price", "currency", "storefront"]

    var storedValues: [SQLValue] {
        var rest = self
        rest.signedDate = Instant(millisecondsSince1970: 0)
        rest.price = nil
        let names = [Self.take(&rest.currency), Self.take(&rest.storefront)]
        let json = SQLValue.text(StoredJSON.encode(rest))
        return [SQLValue(signedDate), json, price.map(SQLValue.integer) ?? .null] + names
    }

    /// Returns a text for its column, and removes it from the JSON. One with a NUL stays: PostgreSQL refuses it.
    private static func take(_ text: inout String?) -> SQLValue {
        guard let taken = text, !taken.utf8.contains(0) else { return .null }
        text = nil
        return .text(taken)
    }

    /// The assignments of a change. The key and the variant have the first four parameters.
    static let changes = storedColumns.enumerated().map { "\($1) = $\($0 + 5)" }.joined(separator: ", ")
}
