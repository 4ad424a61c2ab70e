import AppStoreReceiptTesting
import StrictText

extension JSONValue {
    /// Parses a JSON text. Members that are `null` are omitted.
    ///
    /// - Returns: `nil` if the text isn't JSON, has a repeated name, or has a number that isn't an integer.
    init?(json: [UInt8]) {
        var value: JSONValue?
        do throws(JSONError) {
            try JSONCursor.decode(json.span) { (cursor) throws(JSONError) in value = try Self.read(&cursor) }
        } catch {
            return nil
        }
        guard let value else { return nil }
        self = value
    }

    /// Recursion is safe: the cursor limits the depth.
    private static func read(_ cursor: inout JSONCursor) throws(JSONError) -> JSONValue? {
        switch try cursor.peekType() {
        case .string: return .string(try cursor.readString().value)
        case .number: return .integer(try cursor.readInt64())
        case .boolean: return .boolean(try cursor.readBool())
        case .null:
            _ = try cursor.readIfNull()
            return nil
        case .array:
            var values: [JSONValue] = []
            try cursor.readArray { (cursor) throws(JSONError) in
                guard let value = try read(&cursor) else { throw JSONError(.unexpectedType, offset: cursor.offset) }
                values.append(value)
            }
            return .array(values)
        case .object:
            var members: [Member] = []
            try cursor.readObject { (cursor, name) throws(JSONError) in
                let text = name.value
                guard !members.contains(where: { $0.name.hasSameBytes(as: text) }) else {
                    throw JSONError(.duplicateMember, offset: name.offset)
                }
                if let value = try read(&cursor) { members.append(Member(text, value)) }
            }
            return .object(members)
        }
    }

    func string(_ name: String) -> String? { if case .string(let text)? = self[name] { text } else { nil } }
    func integer(_ name: String) -> Int64? { if case .integer(let number)? = self[name] { number } else { nil } }
    func boolean(_ name: String) -> Bool? { if case .boolean(let value)? = self[name] { value } else { nil } }
    func array(_ name: String) -> [JSONValue]? { if case .array(let values)? = self[name] { values } else { nil } }
}

extension FakeRequest {
    /// The body as JSON.
    func json() throws(FakeRefusal) -> JSONValue {
        guard let value = JSONValue(json: body), case .object = value else { throw .badRequest }
        return value
    }
}

extension FakeRefusal {
    static func check(_ code: Int64, _ message: String, _ holds: Bool) throws(FakeRefusal) {
        guard holds else { throw FakeRefusal(code, message) }
    }
}
