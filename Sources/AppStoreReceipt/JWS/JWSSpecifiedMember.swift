package import StrictText

/// A member of a payload to mint, read as outputs show it: dates in RFC 3339 or milliseconds, and all other values as Apple signs them.
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
        writer.name(utf8: name.utf8Span.span)
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

extension JWSPart.Kind {
    /// Reads the members of a payload of this kind. Each must have the type that Apple gives it.
    ///
    /// - Parameter unknown: The names that Apple does not document, and their places. Their values are as they are in the text.
    package func readMembers(
        _ cursor: inout JSONCursor, of text: [UInt8], unknown: inout [(name: String, offset: Int)]
    ) throws(JSONError) -> [JWSSpecifiedMember] {
        switch self {
        case .transaction: try TransactionInfo.readMembers(&cursor, of: text, &unknown)
        case .renewalInfo: try RenewalInfo.readMembers(&cursor, of: text, &unknown)
        case .appTransaction: try AppTransaction.readMembers(&cursor, of: text, &unknown)
        case .notification: try AppStoreNotification.readMembers(&cursor, of: text, &unknown)
        case .realtimeRequest: try RealtimeRequest.readMembers(&cursor, of: text, &unknown)
        }
    }
}

extension JWSRecord {
    fileprivate static func readMembers(
        _ cursor: inout JSONCursor, of text: [UInt8], _ unknown: inout [(name: String, offset: Int)]
    ) throws(JSONError) -> [JWSSpecifiedMember] {
        var members: [JWSSpecifiedMember] = []
        var seen: Set<UTF8Bytes> = []
        var others = unknown
        try cursor.readObject { (cursor, name) throws(JSONError) in
            guard seen.insert(UTF8Bytes(name.bytes[...])).inserted else {
                throw JSONError(.duplicateMember, offset: name.offset)
            }
            let form = Member.names.member(of: name)?.form
            if form == nil { others.append((name.value, name.offset)) }
            let name = name.value
            let value: JWSSpecifiedMember.Value =
                try cursor.readIfNull() ? .null : try readValue(&cursor, of: text, form, &others)
            members.append(JWSSpecifiedMember(name: name, value: value))
        }
        unknown = others
        return members
    }

    private static func readValue(
        _ cursor: inout JSONCursor, of text: [UInt8], _ form: JWSForm?, _ unknown: inout [(name: String, offset: Int)]
    ) throws(JSONError) -> JWSSpecifiedMember.Value {
        switch form {
        case .object(let type): return .object(try type.readMembers(&cursor, of: text, &unknown))
        case .objects(let type):
            var writer = JSONWriter()
            var others = unknown
            writer.beginArray()
            try cursor.readArray { (cursor) throws(JSONError) in
                writer.beginObject()
                for member in try type.readMembers(&cursor, of: text, &others) { member.write(to: &writer) }
                writer.endObject()
            }
            writer.endArray()
            unknown = others
            return .json(writer.bytes)
        case .date:
            guard try cursor.peekType() == .string else { break }
            let string = try cursor.readString()
            guard let date = Instant(rfc3339: string.value) else {
                throw JSONError(.unexpectedValue, offset: string.offset)
            }
            return .json(Array(String(date.millisecondsSince1970).utf8))
        default: break
        }
        var start = cursor
        let range = try start.skipValue()
        if let form { try cursor.check(form) }
        var writer = JSONWriter()
        writer.compact(text.span.extracting(range))
        return .json(writer.bytes)
    }
}
