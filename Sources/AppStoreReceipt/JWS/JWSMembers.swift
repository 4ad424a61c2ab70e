import StrictText

/// The members of a JSON object that Apple signed: the text as received, and the range of each known member.
///
/// Decoding checks everything: the syntax of the whole object, the type of every known member, and that none of them is
/// repeated. Therefore reading a member later cannot fail. A member that is `null` counts as absent.
package struct JWSMembers<Member>: Sendable
where Member: RawRepresentable<String> & CaseIterable & Hashable & Sendable {
    struct Entry: Sendable {
        let member: Member
        let value: ByteRange
    }

    let text: [UInt8]
    /// The range of the object in the text.
    let range: Range<Int>
    /// The known members that are there, in their order.
    let entries: [Entry]

    /// The members that are there and known, in their order.
    package var known: [Member] { entries.map(\.member) }

    package var object: JWSObject { JWSObject(text: text, range: range, names: Member.allCases.map(\.rawValue)) }

    package func value(of member: Member) -> Range<Int>? {
        for entry in entries where entry.member == member { return entry.value.range }
        return nil
    }
}

/// Two are equal when their texts are, byte for byte.
extension JWSMembers: Hashable {
    package static func == (lhs: JWSMembers, rhs: JWSMembers) -> Bool {
        lhs.text[lhs.range] == rhs.text[rhs.range]
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(text[range].span) }
}

// MARK: - Reading

extension JWSMembers {
    private func read<Value>(
        _ member: Member, _ body: (inout JSONCursor) throws(JSONError) -> Value
    ) -> Value? {
        guard let value = value(of: member) else { return nil }
        let text = text
        var cursor = JSONCursor(text.span, from: value.lowerBound)
        do throws(JSONError) { return try body(&cursor) } catch { return nil }
    }

    func string(_ member: Member) -> String? {
        read(member) { (cursor) throws(JSONError) in try cursor.readString().value }
    }

    /// The UTF-8 of a string.
    func bytes(_ member: Member) -> [UInt8]? {
        read(member) { (cursor) throws(JSONError) in try cursor.readString().bytes }
    }

    func integer(_ member: Member) -> Int64? {
        read(member) { (cursor) throws(JSONError) in try cursor.readInt64() }
    }

    /// A number that is an identifier.
    func id(_ member: Member) -> String? { integer(member).map { String($0) } }

    func date(_ member: Member) -> Instant? {
        read(member) { (cursor) throws(JSONError) in try cursor.readInstant() }
    }

    func environment(_ member: Member) -> AppStoreEnvironment? {
        string(member).flatMap(AppStoreEnvironment.init(signedName:))
    }

    func boolean(_ member: Member) -> Bool? {
        read(member) { (cursor) throws(JSONError) in try cursor.readBool() }
    }

    func strings(_ member: Member) -> [String]? {
        read(member) { (cursor) throws(JSONError) in
            var strings: [String] = []
            try cursor.readArray { (cursor) throws(JSONError) in strings.append(try cursor.readString().value) }
            return strings
        }
    }

    /// A value of one of the types that keep unknown values.
    func value<Value: RawRepresentable<String>>(_ member: Member) -> Value? {
        string(member).flatMap(Value.init(rawValue:))
    }

    func value<Value: RawRepresentable<Int64>>(_ member: Member) -> Value? {
        integer(member).flatMap(Value.init(rawValue:))
    }

    func object<Record: JWSRecord>(_ member: Member) -> Record? {
        let text = text
        return read(member) { (cursor) throws(JSONError) in
            Record(members: try JWSMembers<Record.Member>(text, &cursor))
        }
    }

    func objects<Record: JWSRecord>(_ member: Member) -> [Record]? {
        let text = text
        return read(member) { (cursor) throws(JSONError) in
            var records: [Record] = []
            try cursor.readArray { (cursor) throws(JSONError) in
                records.append(Record(members: try JWSMembers<Record.Member>(text, &cursor)))
            }
            return records
        }
    }
}

// MARK: - Decoding

/// The required type of a value.
enum JWSForm: Sendable {
    case string, integer, boolean
    /// A string that is a JWS, which is verified separately.
    case jws
    /// Milliseconds since 1970; Xcode writes fractions of them.
    case date
    case strings
    case object(any JWSRecord.Type)
    case objects(any JWSRecord.Type)

    /// Whether a value of one form is of the other, too; not told of objects.
    func isSame(as other: JWSForm) -> Bool {
        switch (self, other) {
        case (.string, .string), (.string, .jws), (.jws, .string), (.jws, .jws), (.integer, .integer),
            (.boolean, .boolean), (.date, .date), (.strings, .strings):
            true
        default: false
        }
    }
}

/// The names of the members of one kind of object, with their types.
protocol JWSMember: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
    static var names: JSONMembers<Self> { get }
    var form: JWSForm { get }
}

/// A JSON object with known members.
protocol JWSRecord: Hashable, Sendable {
    associatedtype Member: JWSMember
    var members: JWSMembers<Member> { get }
    init(members: JWSMembers<Member>)
}

extension JWSMembers where Member: JWSMember {
    /// Decodes a text that is one object.
    init(decoding text: [UInt8]) throws(JSONError) {
        self = try JSONCursor.decode(text.span) { (cursor) throws(JSONError) in try JWSMembers(text, &cursor) }
    }

    init(_ text: [UInt8], _ cursor: inout JSONCursor) throws(JSONError) {
        // Repeated names are refused, so there are never more entries than known members.
        var entries: [Entry] = []
        guard try cursor.peekType() == .object else { throw JSONError(.unexpectedType, offset: cursor.offset) }
        let start = cursor.offset
        try cursor.readObject(of: Member.names) { (cursor, member) throws(JSONError) in
            let start = cursor.offset
            guard try !cursor.readIfNull() else { return }
            try cursor.check(member.form)
            entries.append(Entry(member: member, value: ByteRange(start..<cursor.offset)))
        }
        self.init(text: text, range: start..<cursor.offset, entries: entries)
    }
}

extension JWSRecord {
    static func check(_ cursor: inout JSONCursor) throws(JSONError) {
        try cursor.readObject(of: Member.names) { (cursor, member) throws(JSONError) in
            guard try !cursor.readIfNull() else { return }
            try cursor.check(member.form)
        }
    }
}

extension JSONCursor {
    /// Reads a value that must have a form. Nested objects are as deep as the types that describe them.
    mutating func check(_ form: JWSForm) throws(JSONError) {
        switch form {
        case .string, .jws: _ = try readString()
        case .integer: _ = try readInt64()
        case .boolean: _ = try readBool()
        case .date: _ = try readInstant()
        case .strings: try readArray { (cursor) throws(JSONError) in _ = try cursor.readString() }
        case .object(let type): try type.check(&self)
        case .objects(let type): try readArray { (cursor) throws(JSONError) in try type.check(&cursor) }
        }
    }
}
