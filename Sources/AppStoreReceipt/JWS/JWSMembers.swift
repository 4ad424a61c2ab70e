import StrictText

/// The members of a JSON object that Apple signed: the text as received, and the range of each known member.
///
/// Decoding checks everything: the syntax of the whole object, the type of every known member, and that none of them is
/// repeated. Therefore reading a member later cannot fail. A member that is `null` counts as absent, and so does one
/// that decides nothing and has another type than Apple documents: it is unknown.
package struct JWSMembers<Member>: Sendable
where Member: RawRepresentable<String> & CaseIterable & Hashable & Sendable {
    struct Entry: Sendable {
        let member: Member
        let value: ByteRange
        /// Whether the value has the member's type.
        let isKnown: Bool
    }

    let text: [UInt8]
    /// The range of the object in the text.
    let range: Range<Int>
    /// The members that are there and have a property, in their order.
    let entries: [Entry]

    /// The members that are there and known, in their order.
    package var known: [Member] { entries.lazy.filter(\.isKnown).map(\.member) }

    package var object: JSONObject {
        let unknown = entries.filter { !$0.isKnown }.map(\.member)
        return JSONObject(
            text: text, range: range, names: Member.allCases.filter { !unknown.contains($0) }.map(\.rawValue))
    }

    package func value(of member: Member) -> Range<Int>? {
        for entry in entries where entry.member == member { return entry.isKnown ? entry.value.range : nil }
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

    /// An identifier. Apple writes an empty string for none, as of
    /// [`appAccountToken`](https://developer.apple.com/documentation/appstoreserverapi/appaccounttoken).
    func identifier(_ member: Member) -> String? { string(member).flatMap { $0.isEmpty ? nil : $0 } }

    /// The UTF-8 of a string.
    func bytes(_ member: Member) -> [UInt8]? {
        read(member) { (cursor) throws(JSONError) in try cursor.readString().bytes }
    }

    func integer(_ member: Member) -> Int64? {
        read(member) { (cursor) throws(JSONError) in try cursor.readInt64() }
    }

    /// A number that is an identifier.
    func id(_ member: Member) -> String? { integer(member).map { String(decimal: $0) } }

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

    /// An object without properties.
    func json(_ member: Member) -> JSONObject? where Member: JWSMember {
        guard case .object(let record) = member.valueType, let range = value(of: member) else { return nil }
        return record.object(text, at: range.lowerBound)
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
enum JWSValueType: Sendable {
    case string, integer, boolean
    /// A string that is a JWS, which is verified separately.
    case jws
    /// Milliseconds since 1970; Xcode writes fractions of them.
    case date
    case strings
    case object(any JWSRecord.Type)
    case objects(any JWSRecord.Type)

    /// Returns whether every value of one type is of the other, too; `false` for objects, which are not compared.
    func isSame(as other: JWSValueType) -> Bool {
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
    var valueType: JWSValueType { get }
    /// Whether the member decides nothing. If its value has another type, it is unknown, and the payload is not
    /// refused.
    var isInformative: Bool { get }
    /// The values that this version knows; `nil` if the member is no enumeration.
    var knownValues: KnownValues? { get }
}

extension JWSMember {
    var isInformative: Bool { false }
    var knownValues: KnownValues? { nil }
}

/// The members of an object that decides nothing.
protocol JWSInformativeMember: JWSMember {}

extension JWSInformativeMember {
    var isInformative: Bool { true }
}

/// A JSON object with known members.
protocol JWSRecord: EvidenceContents, Hashable {
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
        // Passes over the whitespace before the object.
        _ = try cursor.peekType()
        let start = cursor.offset
        try cursor.readObject(of: Member.names) { (cursor, member) throws(JSONError) in
            let start = cursor.offset
            guard try !cursor.readIfNull() else { return }
            let isKnown = try cursor.check(member)
            entries.append(Entry(member: member, value: ByteRange(start..<cursor.offset), isKnown: isKnown))
        }
        self.init(text: text, range: start..<cursor.offset, entries: entries)
    }
}

extension JWSRecord {
    /// The object at a place of a text that was decoded before, so that reading it again cannot fail.
    static func object(_ text: [UInt8], at start: Int) -> JSONObject? {
        var cursor = JSONCursor(text.span, from: start)
        do throws(JSONError) { return try JWSMembers<Member>(text, &cursor).object } catch { return nil }
    }

    static func check(_ cursor: inout JSONCursor) throws(JSONError) {
        try cursor.readObject(of: Member.names) { (cursor, member) throws(JSONError) in
            if try !cursor.readIfNull() { _ = try cursor.check(member) }
        }
    }
}

extension JSONCursor {
    /// Reads the value of a member, and returns whether it has the member's type, which only an informative member may
    /// lack.
    mutating func check(_ member: some JWSMember) throws(JSONError) -> Bool {
        guard member.isInformative else {
            try check(member.valueType)
            return true
        }
        var attempt = self
        do throws(JSONError) {
            try attempt.check(member.valueType)
            move(to: attempt.offset)
            return true
        } catch {
            guard error.kind.isAboutType else { throw error }
            try skipValue()
            return false
        }
    }

    /// Whether the next value is not `null` and has the type of a member.
    func has(_ member: some JWSMember) -> Bool {
        var attempt = self
        do throws(JSONError) {
            try attempt.check(member.valueType)
            return true
        } catch {
            return false
        }
    }

    /// Reads a value that must have a type. Nested objects are as deep as the types that describe them.
    mutating func check(_ type: JWSValueType) throws(JSONError) {
        switch type {
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

extension JSONError.Kind {
    /// Whether the text is JSON, but a value is not of the type that was asked for.
    fileprivate var isAboutType: Bool {
        switch self {
        case .unexpectedType, .unexpectedValue, .numberOutOfRange: true
        default: false
        }
    }
}
