import StrictText

/// A member of a payload to mint, read as outputs show it: dates in RFC 3339 or milliseconds, and all other values as
/// Apple signs them.
package struct JWSSpecifiedMember: Sendable {
    package let name: String
    package let value: Value

    package enum Value: Sendable {
        case null
        /// A value as Apple signs it.
        case json([UInt8])
        case object([JWSSpecifiedMember])
    }

    fileprivate func write(to writer: inout JSONWriter) {
        name.withUTF8Bytes { writer.name(utf8: $0) }
        switch value {
        case .null: writer.null()
        case .json(let text): writer.raw(text.span)
        case .object(let members):
            writer.beginObject()
            for member in members { member.write(to: &writer) }
            writer.endObject()
        }
    }
}

/// What is noted while a specification is read.
package struct JWSSpecificationNotes: Sendable {
    /// The names that Apple does not document, and their places. Their values are as they are in the text.
    package var unknownMembers: [(name: String, offset: Int)] = []
    /// What the current value must be; `nil` outside of such a value.
    package var expected: String?

    package init() {}
}

extension JWSValueType {
    /// What its value must be, in words.
    fileprivate var expectation: String {
        switch self {
        case .string, .jws: "a string"
        case .integer: "an integer"
        case .boolean: "true or false"
        case .date: Instant.specifiedSyntax + " or milliseconds since 1970"
        case .strings: "an array of strings"
        case .object: "an object"
        case .objects: "an array of objects"
        }
    }
}

extension JWSRecord {
    static func readMembers(
        _ cursor: inout JSONCursor, of text: [UInt8], _ notes: inout JWSSpecificationNotes
    ) throws(JSONError) -> [JWSSpecifiedMember] {
        var members: [JWSSpecifiedMember] = []
        var seen: Set<UTF8Bytes> = []
        notes.expected = JWSValueType.object(Self.self).expectation
        try cursor.readObject { (cursor, name) throws(JSONError) in
            guard seen.insert(UTF8Bytes(name.bytes[...])).inserted else {
                throw JSONError(.duplicateMember, offset: name.offset)
            }
            let valueType = Member.names.member(of: name)?.valueType
            if valueType == nil { notes.unknownMembers.append((name.value, name.offset)) }
            let name = name.value
            notes.expected = valueType?.expectation
            let value: JWSSpecifiedMember.Value =
                try cursor.readIfNull() ? .null : try readValue(&cursor, of: text, valueType, &notes)
            members.append(JWSSpecifiedMember(name: name, value: value))
        }
        notes.expected = nil
        return members
    }

    private static func readValue(
        _ cursor: inout JSONCursor, of text: [UInt8], _ valueType: JWSValueType?, _ notes: inout JWSSpecificationNotes
    ) throws(JSONError) -> JWSSpecifiedMember.Value {
        switch valueType {
        case .object(let type): return .object(try type.readMembers(&cursor, of: text, &notes))
        case .objects(let type):
            var writer = JSONWriter()
            writer.beginArray()
            try cursor.readArray { (cursor) throws(JSONError) in
                writer.beginObject()
                for member in try type.readMembers(&cursor, of: text, &notes) { member.write(to: &writer) }
                writer.endObject()
            }
            writer.endArray()
            return .json(writer.bytes)
        case .date:
            guard try cursor.peekType() == .string else { break }
            let string = try cursor.readString()
            guard let date = Instant(specified: string.value) else {
                throw JSONError(.unexpectedValue, offset: string.offset)
            }
            return .json(Array(String(date.millisecondsSince1970).utf8))
        default: break
        }
        var start = cursor
        let range = try start.skipValue()
        if let valueType { try cursor.check(valueType) }
        var writer = JSONWriter()
        writer.compact(text.span.extracting(range))
        return .json(writer.bytes)
    }
}
