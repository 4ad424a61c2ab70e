import AppStoreReceipt
import StrictText

/// A JSON value to sign. The members of objects keep their order, and may be repeated.
public enum JSONValue: Sendable {
    /// A string, which is escaped when it is written.
    case string(String)
    /// An integer.
    case integer(Int64)
    /// `true` or `false`.
    case boolean(Bool)
    /// `null`.
    case null
    /// An array.
    case array([JSONValue])
    /// An object with members in an order.
    case object([Member])
    /// Any text, which is written as it is.
    case raw(String)

    /// A member of an object.
    public struct Member: Sendable {
        /// The name. Repeated names are written repeatedly.
        public var name: String
        /// The value.
        public var value: JSONValue

        /// Creates a member for ``object(_:)``.
        public init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    /// Accesses the first member of an object with a name.
    ///
    /// Setting a value replaces that member or appends one. Setting `nil` removes all members with the name.
    public subscript(name: String) -> JSONValue? {
        get {
            guard case .object(let members) = self else { return nil }
            return members.first { $0.name.hasSameBytes(as: name) }?.value
        }
        set {
            guard case .object(var members) = self else { return }
            if let newValue {
                if let index = members.firstIndex(where: { $0.name.hasSameBytes(as: name) }) {
                    members[index].value = newValue
                } else {
                    members.append(Member(name, newValue))
                }
            } else {
                members.removeAll { $0.name.hasSameBytes(as: name) }
            }
            self = .object(members)
        }
    }

    /// Returns an Apple id as Apple writes it: a number, if it is one.
    static func identifier(_ id: String) -> JSONValue { Int64(id).map { .integer($0) } ?? .string(id) }

    /// Appends a member to an object, even if it already has one with the same name.
    public mutating func append(_ name: String, _ value: JSONValue) {
        guard case .object(let members) = self else { return }
        self = .object(members + [Member(name, value)])
    }

    /// The value as compact JSON.
    public var bytes: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }

    private func write(to writer: inout JSONWriter) {
        switch self {
        case .string(let value): writer.string(value)
        case .integer(let value): writer.integer(value)
        case .boolean(let value): writer.bool(value)
        case .null: writer.null()
        case .raw(let text): text.withUTF8Bytes { writer.raw($0) }
        case .array(let elements):
            writer.beginArray()
            for element in elements { element.write(to: &writer) }
            writer.endArray()
        case .object(let members):
            writer.beginObject()
            for member in members {
                member.name.withUTF8Bytes { writer.name(utf8: $0) }
                member.value.write(to: &writer)
            }
            writer.endObject()
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// Creates a ``boolean(_:)`` from a literal.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    /// Creates an ``array(_:)`` from a literal.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Creates an ``object(_:)`` from a literal, with its members in the written order.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(elements.map { Member($0.0, $0.1) })
    }
}

/// Two values are equal if their JSON is equal byte for byte.
extension JSONValue: Hashable {
    public static func == (lhs: JSONValue, rhs: JSONValue) -> Bool { lhs.bytes == rhs.bytes }
    public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}

extension JSONValue.Member: Hashable {
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.name.hasSameBytes(as: rhs.name) && lhs.value == rhs.value
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(UTF8Bytes(name))
        hasher.combine(value)
    }
}
