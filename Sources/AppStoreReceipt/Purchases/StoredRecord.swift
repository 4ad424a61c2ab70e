import StrictText

/// A value whose fields are in one table, by which it is compared, hashed, merged, and written as JSON and read from
/// it.
///
/// The JSON is an object with the fields' names. A field whose value is `nil` is missing. Names that are not in the
/// table are ignored, so that a later version can add fields.
protocol StoredRecord: StoredValue {
    static var table: StoredTable<Self> { get }
    /// A value without its required fields, to be set later.
    static var blank: Self { get }
}

/// The fields of a record, in the order of their declaration and by name.
struct StoredTable<Record>: Sendable {
    let fields: [StoredField<Record>]
    /// The order in JSON, so that one value has one text.
    fileprivate let sorted: [StoredField<Record>]
    fileprivate let names: JSONNames
    /// Bit *n* for the required field *n*.
    fileprivate let required: UInt64

    init(_ fields: [StoredField<Record>]) {
        self.fields = fields
        let sorted = fields.sorted { $0.key.stringValue.utf8.lexicographicallyPrecedes($1.key.stringValue.utf8) }
        self.sorted = sorted
        names = JSONNames(sorted.map(\.key.stringValue))
        required = sorted.indices.reduce(0) { sorted[$1].isRequired ? $0 | 1 << $1 : $0 }
    }
}

// MARK: - What the table gives

// What the ledger does often uses fields in place: a copy of one would retain and release its eight closures.
extension StoredRecord {
    static func isSame(_ left: Self, _ right: Self) -> Bool {
        let fields = table.fields
        return fields.indices.allSatisfy { fields[$0].isSame(left, right) }
    }

    func hashFields(into hasher: inout Hasher) {
        let fields = Self.table.fields
        for index in fields.indices { fields[index].hash(self, &hasher) }
    }

    /// Takes the values of a record that was signed later, and keeps those that its evidence cannot have.
    mutating func merge(_ later: Self) {
        let fields = Self.table.fields
        for index in fields.indices { fields[index].merge(&self, later) }
    }

    func write(to writer: inout JSONWriter) {
        let fields = Self.table.sorted
        writer.beginObject()
        for index in fields.indices { fields[index].write(self, &writer) }
        writer.endObject()
    }

    static func read(_ cursor: inout JSONCursor) throws(JSONError) -> Self {
        let table = Self.table
        var record = blank
        var seen: UInt64 = 0
        // Passes over the whitespace before the object.
        _ = try cursor.peekType()
        let start = cursor.offset
        try cursor.readObject { (cursor, name) throws(JSONError) in
            guard let index = table.names.index(of: name) else { return }
            guard seen >> index & 1 == 0 else { throw JSONError(.duplicateMember, offset: name.offset) }
            seen |= 1 << index
            if !table.sorted[index].isRequired, try cursor.readIfNull() { return }
            try table.sorted[index].read(&cursor, &record)
        }
        guard seen & table.required == table.required else { throw JSONError(.missingMember, offset: start) }
        return record
    }

    /// The value as one line of JSON. The same value has the same text.
    var text: [UInt8] {
        var writer = JSONWriter(capacity: 1024)
        write(to: &writer)
        return writer.bytes
    }

    /// Reads a value from JSON that is nothing else.
    init(text: String) throws(DecodingError) {
        do throws(JSONError) {
            self = try text.withUTF8Bytes { (text) throws(JSONError) in
                try JSONCursor.decode(text) { (cursor) throws(JSONError) in try Self.read(&cursor) }
            }
        } catch {
            throw .dataCorrupted(
                .init(
                    codingPath: [], debugDescription: "\(error.kind.explanation), at byte \(error.offset)",
                    underlyingError: error))
        }
    }

    init(fieldsFrom decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: StoredKey.self)
        self = .blank
        for field in Self.table.fields { try field.decode(values, &self) }
    }

    func encodeFields(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: StoredKey.self)
        for field in Self.table.fields { try field.encode(self, &values) }
    }
}

/// The JSON of stored values, for the ledger, which reads and writes many: a tenth of what `Codable` costs, and the
/// same text.
@_spi(Ledger)
extension Purchase {
    /// The purchase as one line of JSON, with the names in the order of their bytes. The same purchase has the same
    /// text.
    public var storedJSON: String { String(decoding: text, as: UTF8.self) }

    /// Decodes a purchase. This verifies nothing.
    ///
    /// - Throws: `dataCorrupted` if the version of the schema is unknown, or a value is missing or has the wrong type.
    public init(storedJSON: String) throws(DecodingError) { try self.init(text: storedJSON) }
}

/// The JSON of stored values, for the ledger.
@_spi(Ledger)
extension SubscriptionRenewal {
    /// The renewal information as one line of JSON, with the names in the order of their bytes. The same information
    /// has the same text.
    public var storedJSON: String { String(decoding: text, as: UTF8.self) }

    /// Decodes renewal information. This verifies nothing.
    ///
    /// - Throws: `dataCorrupted` if the version of the schema is unknown, or a value is missing or has the wrong type.
    public init(storedJSON: String) throws(DecodingError) { try self.init(text: storedJSON) }
}
