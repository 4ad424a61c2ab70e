@_spi(Ledger) import AppStoreReceipt
import FoundationEssentials
import StrictText

/// The JSON in the tables. Purchases, renewals and arrays of strings, which each grant reads and writes, use the
/// library's own coder: Foundation's is many times slower.
package enum StoredJSON {
    static func encode(_ purchase: Purchase) -> String { purchase.storedJSON }

    static func encode(_ renewal: SubscriptionRenewal) -> String { renewal.storedJSON }

    static func decode(_ text: String) throws(LedgerError) -> Purchase {
        do { return try Purchase(storedJSON: text) } catch { throw unreadable }
    }

    static func decode(_ text: String) throws(LedgerError) -> SubscriptionRenewal {
        do { return try SubscriptionRenewal(storedJSON: text) } catch { throw unreadable }
    }

    static func encode(_ strings: [String]) -> String {
        var writer = JSONWriter()
        writer.beginArray()
        for string in strings { writer.string(string) }
        writer.endArray()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    static func decode(_ text: String) throws(LedgerError) -> [String] {
        do throws(JSONError) {
            return try text.withUTF8Bytes { (text) throws(JSONError) in
                try JSONCursor.decode(text) { (cursor) throws(JSONError) in
                    var strings: [String] = []
                    try cursor.readArray { (cursor) throws(JSONError) in
                        strings.append(try cursor.readString().value)
                    }
                    return strings
                }
            }
        } catch {
            throw unreadable
        }
    }

    package static func encode(_ value: some Encodable) throws(LedgerError) -> String {
        let encoder = JSONEncoder()
        // The same value has the same text.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(value), as: UTF8.self)
        } catch {
            throw LedgerError(.storeFailed, "cannot be written as JSON")
        }
    }

    package static func decode<Value: Decodable>(_ text: String) throws(LedgerError) -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
        } catch {
            throw unreadable
        }
    }

    private static var unreadable: LedgerError {
        LedgerError(.storeFailed, "a row has JSON that the ledger did not write")
    }
}
