import FoundationEssentials

/// The JSON in the tables. The library's own types say what it looks like (`Codable`).
enum StoredJSON {
    static func encode(_ value: some Encodable) throws(LedgerError) -> String {
        let encoder = JSONEncoder()
        // The same value has the same text.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(value), as: UTF8.self)
        } catch {
            throw LedgerError(.storeFailed, "cannot be written as JSON")
        }
    }

    static func decode<Value: Decodable>(_ text: String) throws(LedgerError) -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
        } catch {
            throw LedgerError(.storeFailed, "a row has JSON that the ledger did not write")
        }
    }
}
