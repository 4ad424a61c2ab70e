import Instants
import SpanASN1
import StrictText

/// The version of the schema of stored purchases and renewals.
let storedSchema = 1

/// One line of a record's table: the name of a field, its place in the record, and all that is done with it.
struct StoredField<Record>: Sendable {
    let key: StoredKey
    let isRequired: Bool
    /// What outputs show.
    let kind: OutputMember.Kind
    let read: @Sendable (inout JSONCursor, inout Record) throws(JSONError) -> Void
    /// Writes the member, unless its value is `nil`.
    let write: @Sendable (Record, inout JSONWriter) -> Void
    /// Writes the member as outputs show it: with dates in RFC 3339.
    let show: @Sendable (Record, inout JSONWriter) -> Void
    let decode: @Sendable (KeyedDecodingContainer<StoredKey>, inout Record) throws -> Void
    let encode: @Sendable (Record, inout KeyedEncodingContainer<StoredKey>) throws -> Void
    let isSame: @Sendable (Record, Record) -> Bool
    let hash: @Sendable (Record, inout Hasher) -> Void
    /// Takes the field of a record that was signed later.
    let merge: Merge

    /// The value of a field after merging a record with one that was signed later.
    typealias Merge = @Sendable (inout Record, _ later: Record) -> Void

    // The compiler inlines a key path literal, also in an autoclosure; each use of a stored key path takes 500
    // instructions.

    /// A field that every record has.
    ///
    /// - Parameter merge: The rule for merging; by default, the later value counts.
    static func required<Value: StoredValue>(
        _ name: StaticString, _ path: @escaping @autoclosure @Sendable () -> WritableKeyPath<Record, Value>,
        merge: Merge? = nil
    ) -> Self {
        let key = StoredKey(name)
        return Self(
            key: key, isRequired: true, kind: Value.kind,
            read: { (cursor, record) throws(JSONError) in record[keyPath: path()] = try Value.read(&cursor) },
            write: { record, writer in
                writer.name(name)
                record[keyPath: path()].write(to: &writer)
            },
            show: { record, writer in
                writer.name(name)
                record[keyPath: path()].show(in: &writer)
            },
            decode: { values, record in record[keyPath: path()] = try values.decode(Value.self, forKey: key) },
            encode: { record, values in try values.encode(record[keyPath: path()], forKey: key) },
            isSame: { Value.isSame($0[keyPath: path()], $1[keyPath: path()]) },
            hash: { record, hasher in record[keyPath: path()].combine(into: &hasher) },
            merge: merge ?? { record, later in record[keyPath: path()] = later[keyPath: path()] })
    }

    /// A field that is `nil` if the evidence cannot say it.
    ///
    /// - Parameter merge: The rule for merging; by default, the later value counts, unless it is `nil`.
    static func optional<Value: StoredValue>(
        _ name: StaticString, _ path: @escaping @autoclosure @Sendable () -> WritableKeyPath<Record, Value?>,
        merge: Merge? = nil
    ) -> Self {
        let key = StoredKey(name)
        return Self(
            key: key, isRequired: false, kind: Value.kind,
            read: { (cursor, record) throws(JSONError) in record[keyPath: path()] = try Value.read(&cursor) },
            write: { record, writer in
                guard let value = record[keyPath: path()] else { return }
                writer.name(name)
                value.write(to: &writer)
            },
            show: { record, writer in
                guard let value = record[keyPath: path()] else { return }
                writer.name(name)
                value.show(in: &writer)
            },
            decode: { values, record in record[keyPath: path()] = try values.decodeIfPresent(Value.self, forKey: key) },
            encode: { record, values in try values.encodeIfPresent(record[keyPath: path()], forKey: key) },
            isSame: { left, right in
                switch (left[keyPath: path()], right[keyPath: path()]) {
                case (let left?, let right?): Value.isSame(left, right)
                case (nil, nil): true
                default: false
                }
            },
            hash: { record, hasher in
                let value = record[keyPath: path()]
                hasher.combine(value == nil)
                value?.combine(into: &hasher)
            },
            merge: merge ?? { record, later in
                if let value = later[keyPath: path()] { record[keyPath: path()] = value }
            })
    }

    /// The version of the schema, which must be ``storedSchema``.
    static var schema: Self {
        let key = StoredKey("schema")
        return Self(
            key: key, isRequired: true, kind: .number,
            read: { (cursor, _) throws(JSONError) in
                let number = try cursor.readNumber()
                guard try number.int64() == storedSchema else {
                    throw JSONError(.unexpectedValue, offset: number.offset)
                }
            },
            write: { _, writer in
                writer.member("schema", Int64(storedSchema))
            },
            show: { _, _ in },
            decode: { values, _ in
                let schema = try values.decode(Int.self, forKey: key)
                guard schema == storedSchema else {
                    throw DecodingError.dataCorruptedError(
                        forKey: key, in: values, debugDescription: "version \(schema) of the schema is not known")
                }
            },
            encode: { _, values in try values.encode(storedSchema, forKey: key) },
            isSame: { _, _ in true }, hash: { _, _ in }, merge: unchanged)
    }

    /// The rule for a field that merged records share, or that the rule of another field sets.
    static var unchanged: Merge { { _, _ in } }
}

/// The name of a field in JSON.
struct StoredKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: StaticString) { stringValue = "\(name)" }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
}

// MARK: - Values

/// A value of a field: how it is compared, and its JSON, which is what `Codable` makes of it.
protocol StoredValue: Codable, Hashable, Sendable {
    /// What outputs show of it; by default, a text.
    static var kind: OutputMember.Kind { get }
    static func read(_ cursor: inout JSONCursor) throws(JSONError) -> Self
    func write(to writer: inout JSONWriter)
    /// Writes the value as outputs show it.
    func show(in writer: inout JSONWriter)
    static func isSame(_ left: Self, _ right: Self) -> Bool
    func combine(into hasher: inout Hasher)
}

extension StoredValue {
    static var kind: OutputMember.Kind { .text }
    func show(in writer: inout JSONWriter) { write(to: &writer) }
    static func isSame(_ left: Self, _ right: Self) -> Bool { left == right }
    func combine(into hasher: inout Hasher) { hash(into: &hasher) }
}

extension String: StoredValue {
    static func read(_ cursor: inout JSONCursor) throws(JSONError) -> String { try cursor.readString().value }
    func write(to writer: inout JSONWriter) { writer.string(self) }
    static func isSame(_ left: String, _ right: String) -> Bool { left.hasSameBytes(as: right) }
    func combine(into hasher: inout Hasher) { hasher.combine(UTF8Bytes(self)) }
}

extension Int64: StoredValue {
    static var kind: OutputMember.Kind { .number }
    static func read(_ cursor: inout JSONCursor) throws(JSONError) -> Int64 { try cursor.readInt64() }
    func write(to writer: inout JSONWriter) { writer.integer(self) }
}

extension Int: StoredValue {
    static var kind: OutputMember.Kind { .number }
    static func read(_ cursor: inout JSONCursor) throws(JSONError) -> Int { Int(try cursor.readInt64()) }
    func write(to writer: inout JSONWriter) { writer.integer(Int64(self)) }
}

extension Bool: StoredValue {
    static var kind: OutputMember.Kind { .flag }
    static func read(_ cursor: inout JSONCursor) throws(JSONError) -> Bool { try cursor.readBool() }
    func write(to writer: inout JSONWriter) { writer.bool(self) }
}

/// Milliseconds since 1970.
extension Instant: StoredValue {
    static var kind: OutputMember.Kind { .date }
    static func read(_ cursor: inout JSONCursor) throws(JSONError) -> Instant {
        Instant(millisecondsSince1970: try cursor.readInt64())
    }
    func write(to writer: inout JSONWriter) { writer.integer(millisecondsSince1970) }
    func show(in writer: inout JSONWriter) { writer.date(self) }
}

/// The string in lowercase.
extension AppAccountToken: StoredValue {
    static func read(_ cursor: inout JSONCursor) throws(JSONError) -> AppAccountToken {
        AppAccountToken(signed: try cursor.readString().value)
    }
    func write(to writer: inout JSONWriter) { writer.string(description) }
}

/// The raw value.
extension StoredValue where Self: RawRepresentable, RawValue: StoredValue {
    static func read(_ cursor: inout JSONCursor) throws(JSONError) -> Self {
        let offset = cursor.offset
        guard let value = Self(rawValue: try RawValue.read(&cursor)) else {
            throw JSONError(.unexpectedValue, offset: offset)
        }
        return value
    }
    func write(to writer: inout JSONWriter) { rawValue.write(to: &writer) }
}

/// The text.
extension CatalogType: StoredValue {
    static func read(_ cursor: inout JSONCursor) throws(JSONError) -> CatalogType {
        let offset = cursor.offset
        guard let type = CatalogType(try cursor.readString().value) else {
            throw JSONError(.unexpectedValue, offset: offset)
        }
        return type
    }
    func write(to writer: inout JSONWriter) { writer.string(description) }
}

extension AppStoreEnvironment: StoredValue {
    static var kind: OutputMember.Kind { .word(.environment) }
}
extension ProductType: StoredValue {}
extension OwnershipType: StoredValue {}
extension AdditionalTransactionReason: StoredValue {}
extension InvitationManagement: StoredValue {}
extension RevocationReason: StoredValue {}
extension RevocationType: StoredValue {}
extension OfferType: StoredValue {}
extension OfferDiscountType: StoredValue {}
extension AutoRenewStatus: StoredValue {}
extension ExpirationIntent: StoredValue {}
extension PriceIncreaseStatus: StoredValue {}

// MARK: - Codable, for users

extension RevocationReason: Codable {}
extension OfferType: Codable {}
extension AutoRenewStatus: Codable {}
extension ExpirationIntent: Codable {}
extension PriceIncreaseStatus: Codable {}

extension AppAccountToken: Codable {
    /// Decodes the token from a string, which was encoded. The syntax is not checked again.
    public init(from decoder: any Decoder) throws {
        self.init(signed: try decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the token as a string in lowercase.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
