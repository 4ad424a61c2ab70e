import StrictText

/// A request whose body has been received, or a part of one in a test.
package struct Request: Sendable {
    /// The name of the request in the log, in its answer, and in what is recorded of it.
    package let id = RequestID.make()
    /// The method, such as `POST`.
    package var method: String
    /// The path without its query, as received: nothing is decoded.
    package var path: String
    /// The values of the placeholders of the route's path, decoded, in their order.
    package var parameters: [String] = []
    /// The headers and members of the query that the route reads, by ``Route/headers`` and ``Route/queryItems``.
    package var fields: [Field] = []
    /// The body, no larger than the limit.
    package var body: [UInt8]

    package init(method: String, path: String, fields: [Field] = [], body: [UInt8] = []) {
        self.method = method
        self.path = path
        self.fields = fields
        self.body = body
    }

    /// A header, or a member of the query.
    package struct Field: Sendable {
        package enum Place: Sendable { case header, query }

        package let place: Place
        /// As the route names it.
        package let name: String
        /// As received. A member of the query is decoded.
        package let value: String

        package init(_ place: Place, _ name: String, _ value: String) {
            self.place = place
            self.name = name
            self.value = value
        }
    }

    /// Returns a header that the route reads.
    package func header(_ name: StaticString) -> String? { value(of: name, in: .header) }

    /// Returns a member of the query that the route reads.
    package func queryItem(_ name: StaticString) -> String? { value(of: name, in: .query) }

    private func value(of name: StaticString, in place: Field.Place) -> String? {
        let name = "\(name)"
        return fields.first { $0.place == place && $0.name.hasSameBytes(as: name) }?.value
    }
}
