import StrictText

/// A JSON object as it was received, of a payload or around evidence, for members without a property and for logs.
public struct JSONObject: Sendable {
    private let bytes: ArraySlice<UInt8>
    /// The names of the members that a property shows.
    private let names: [String]

    init(text: [UInt8], range: Range<Int>, names: [String]) {
        bytes = text[range]
        self.names = names
    }

    /// The JSON text of the object.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    /// Returns the value of the first member with a name, as JSON; `nil` if there is none.
    public func json(of name: String) -> String? { members.first { $0.name.hasSameBytes(as: name) }?.json }

    /// Returns the value of the first member with a name, if it is a string; otherwise `nil`.
    public func text(of name: String) -> String? {
        guard let json = json(of: name) else { return nil }
        // The object was read before: only a value that is no string fails here.
        return try? JSONCursor.decode(Array(json.utf8).span) { (cursor) throws(JSONError) in
            try cursor.readString().value
        }
    }

    /// The members that no property shows, in their order: those that this library does not know, and those that decide
    /// nothing and have a value of another type than Apple documents.
    public var unknownMembers: [Member] {
        let names = Set(names.map(UTF8Bytes.init))
        return members.filter { !names.contains(UTF8Bytes($0.name)) }
    }

    /// A member of the object.
    public struct Member: Sendable {
        /// The name, as Apple writes it.
        public let name: String
        /// The value as it was received, as JSON.
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

/// Two objects are equal if their texts are equal byte for byte.
extension JSONObject: Hashable {
    public static func == (lhs: JSONObject, rhs: JSONObject) -> Bool { lhs.bytes == rhs.bytes }
    public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

/// Two members are equal if their names and values are equal byte for byte.
extension JSONObject.Member: Hashable {
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.name.hasSameBytes(as: rhs.name) && lhs.json.hasSameBytes(as: rhs.json)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(UTF8Bytes(name))
        hasher.combine(UTF8Bytes(json))
    }
}
