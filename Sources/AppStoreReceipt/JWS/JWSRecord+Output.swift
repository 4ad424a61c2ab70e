import StrictText

// Decoding has already read all of this, so reading it again cannot fail.
extension JWSRecord {
    func write(to writer: inout JSONWriter) {
        let text = members.text
        var cursor = JSONCursor(text.span, from: members.range.lowerBound)
        do throws(JSONError) { try Self.write(text, &cursor, to: &writer) } catch {}
    }

    private static func write(
        _ text: [UInt8], _ cursor: inout JSONCursor, to writer: inout JSONWriter
    ) throws(JSONError) {
        writer.beginObject()
        try cursor.readObject { (cursor, name) throws(JSONError) in
            let type = valueType(of: name, cursor)
            if case .jws = type { return }
            let bytes = name.bytes
            writer.name(utf8: bytes.span)
            guard try !cursor.readIfNull() else { return writer.null() }
            switch type {
            case .date: writer.date(try cursor.readInstant())
            case .object(let type): try type.write(text, &cursor, to: &writer)
            case .objects(let type):
                writer.beginArray()
                try cursor.readArray { (cursor) throws(JSONError) in try type.write(text, &cursor, to: &writer) }
                writer.endArray()
            default: writer.compact(text.span.extracting(try cursor.skipValue()))
            }
        }
        writer.endObject()
    }

    /// The type of a member whose value is next; `nil` for an unknown one.
    private static func valueType(of name: borrowing JSONString, _ cursor: JSONCursor) -> JWSValueType? {
        // Compare bytes, because Swift treats names as equal that differ in Unicode normalization.
        guard let member = Member.names.member(of: name), !member.isInformative || cursor.has(member) else {
            return nil
        }
        return member.valueType
    }

    /// All fields in their order, without the parts that are signed separately.
    var fields: [EvidenceField] {
        var fields: [EvidenceField] = []
        let text = members.text
        var cursor = JSONCursor(text.span, from: members.range.lowerBound)
        do throws(JSONError) { try Self.append(text, &cursor, to: &fields, within: "") } catch {}
        return fields
    }

    private static func append(
        _ text: [UInt8], _ cursor: inout JSONCursor, to fields: inout [EvidenceField], within path: String
    ) throws(JSONError) {
        try cursor.readObject { (cursor, name) throws(JSONError) in
            let type = valueType(of: name, cursor)
            if case .jws = type { return }
            let path = path + name.value
            guard try !cursor.readIfNull() else { return }
            switch type {
            case .date: fields.append(EvidenceField(name: path, value: .date(try cursor.readInstant())))
            case .string: fields.append(EvidenceField(name: path, value: .string(try cursor.readString().value)))
            case .object(let type): try type.append(text, &cursor, to: &fields, within: path + ".")
            case .objects(let type):
                var index = 0
                try cursor.readArray { (cursor) throws(JSONError) in
                    try type.append(text, &cursor, to: &fields, within: "\(path)[\(index)].")
                    index += 1
                }
            default:
                let value = String(decoding: text[try cursor.skipValue()], as: UTF8.self)
                fields.append(EvidenceField(name: path, value: .json(value)))
            }
        }
    }
}
