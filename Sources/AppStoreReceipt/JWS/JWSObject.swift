import StrictText

/// A JSON object that Apple signed, as it was received: for what this library has no field for, and for a log.
public struct JWSObject: Sendable {
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
    public subscript(name: String) -> String? { members.first { $0.name.hasSameBytes(as: name) }?.json }

    /// The members that this library has no field for, in their order.
    public var unknownMembers: [Member] {
        let names = Set(names.map(UTF8Bytes.init))
        return members.filter { !names.contains(UTF8Bytes($0.name)) }
    }

    /// A member of a signed object.
    public struct Member: Sendable {
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

/// Two are equal when their texts are, byte for byte.
extension JWSObject: Hashable {
    public static func == (lhs: JWSObject, rhs: JWSObject) -> Bool { lhs.bytes == rhs.bytes }
    public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

/// Two are equal when their names and values are, byte for byte.
extension JWSObject.Member: Hashable {
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.name.hasSameBytes(as: rhs.name) && lhs.json.hasSameBytes(as: rhs.json)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(UTF8Bytes(name))
        hasher.combine(UTF8Bytes(json))
    }
}
