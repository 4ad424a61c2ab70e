/// A JSON object that Apple signed, as it was received: for what this library has no field for, and for a log.
public struct SignedJSON: Hashable, Sendable {
    private let bytes: ArraySlice<UInt8>
    /// The names of the members that have a field.
    private let names: [String]

    init(text: [UInt8], range: Range<Int>, names: [String]) {
        bytes = text[range]
        self.names = names
    }

    /// The object's text.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// The value of a member as JSON, the first of that name; `nil` where there is none.
    public subscript(name: String) -> String? { members.first { $0.name.utf8.elementsEqual(name.utf8) }?.json }

    /// The members that this library has no field for, in their order.
    public var unknownMembers: [Member] {
        // By bytes: Swift calls strings equal that differ in Unicode normalization.
        let names = Set(names.map { Array($0.utf8) })
        return members.filter { !names.contains(Array($0.name.utf8)) }
    }

    /// A member of a signed object.
    public struct Member: Hashable, Sendable {
        /// As Apple writes it.
        public let name: String
        /// The value as it was received.
        public let json: String
    }

    /// All members, in their order.
    public var members: [Member] {
        var members: [Member] = []
        let bytes = Array(bytes)
        // It was read before, so that reading it again cannot fail.
        try? JSONCursor.decode(bytes.span) { (cursor) throws(JSONError) in
            try cursor.readObject { (cursor, name) throws(JSONError) in
                let name = name.value
                let value = try cursor.skipValue()
                members.append(Member(name: name, json: String(decoding: bytes[value], as: UTF8.self)))
            }
        }
        return members
    }
}
