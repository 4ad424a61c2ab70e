import StrictText

/// A request whose body has been received. Tests can leave out parts.
package struct Request: Sendable {
    /// The id of the request in the log, in its answer, and in records about it.
    package let id = RequestID.make()
    /// The method, such as `POST`.
    package var method: String
    /// The path without its query, as received and not decoded.
    package var path: String
    /// The decoded values of the placeholders of the route's path, in order.
    package var parameters: [String] = []
    /// The headers and query items that the route reads, as listed in ``Route/headers`` and ``Route/queryItems``.
    package var fields: [Field] = []
    /// The body, at most as large as the limit.
    package var body: [UInt8]

    package init(method: String, path: String, fields: [Field] = [], body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.fields = fields
        self.body = body
    }

    /// A header or a query item.
    package struct Field: Sendable {
        package enum Place: Sendable { case header, query }

        package let place: Place
        /// The name as the route spells it.
        package let name: String
        /// The value as received. Query items are decoded.
        package let value: String

        package init(_ place: Place, _ name: String, _ value: String) {
            self.place = place
            self.name = name
            self.value = value
        }
    }

    /// Returns the value of a header that the route reads.
    package func header(_ name: StaticString) -> String? { value(of: name, in: .header) }

    /// Returns the value of a query item that the route reads.
    package func queryItem(_ name: StaticString) -> String? { value(of: name, in: .query) }

    private func value(of name: StaticString, in place: Field.Place) -> String? {
        let name = "\(name)"
        return fields.first { $0.place == place && $0.name.hasSameBytes(as: name) }?.value
    }
}
